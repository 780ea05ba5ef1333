import { diag } from '@opentelemetry/api';

/**
 * Does what touches a tracer, a meter or a user's function. What it throws is told to OpenTelemetry's `diag`, without its words, and
 * nowhere else: a run must come out as if nobody watched.
 */
export function safely<T>(what: string, work: () => T): T | undefined {
  try {
    return work();
  } catch {
    try {
      diag.warn(`@guardloop/otel: ${what} failed. The run goes on without it.`);
    } catch {
      // A diag that throws is left alone.
    }
    return undefined;
  }
}
