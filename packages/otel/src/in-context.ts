import type { Context } from '@opentelemetry/api';
import { context } from '@opentelemetry/api';
import { safely } from './safely.js';

/** As `context.with`. Whatever that does by itself, `work` is called once, and what it gives or throws is given or thrown. */
export function inContext<T>(within: Context, work: () => T): T {
  const outcomes: (() => T)[] = [];
  safely('setting the context', () => {
    context.with(within, () => {
      outcomes.push(outcomeOf(work));
    });
  });
  const [outcome = outcomeOf(work)] = outcomes;
  return outcome();
}

function outcomeOf<T>(work: () => T): () => T {
  try {
    const value = work();
    return () => value;
  } catch (thrown) {
    return () => {
      throw thrown;
    };
  }
}
