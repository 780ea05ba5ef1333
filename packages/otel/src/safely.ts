import { diag } from '@opentelemetry/api';

/**
 * Does what touches a tracer, a meter or a user's function. What it throws is told to OpenTelemetry's `diag`, without its words, and
 * nowhere else: a run must come out as if nobody watched. What should answer at once and gives a promise instead may reject: nobody else
 * would hear it, and the process would end.
 */
export function safely<T>(what: string, work: () => T): T | undefined {
  try {
    const made = work();
    if (made instanceof Promise) made.catch(() => tell(what));
    return made;
  } catch {
    tell(what);
    return undefined;
  }
}

function tell(what: string): void {
  try {
    diag.warn(`@guardloop/otel: ${what} failed. The run goes on without it.`);
  } catch {
    // A diag that throws is left alone.
  }
}
