import type { RunResult } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import type { RunChange, RunRecord } from '@guardloop/store';

type Told = NonNullable<RunRecord['trouble']>;

/** What a worker came to with a run. */
export type Outcome =
  | { readonly kind: 'ended'; readonly status: NonNullable<RunRecord['status']>; readonly trouble?: Told }
  | { readonly kind: 'waiting'; readonly trouble?: Told }
  /** Somebody else has it. */
  | { readonly kind: 'lost' }
  /** Given back as it stands. */
  | { readonly kind: 'handBack' }
  /** It is tried again later. */
  | ({ readonly kind: 'trouble' } & Told);

/** `hasEnded`: the end of the run is in the store. */
export function outcomeOfResult(result: RunResult, hasEnded: boolean): Outcome {
  // Without a question it was paused.
  if (result.status === 'interrupted') return { kind: result.approvals.length > 0 ? 'waiting' : 'handBack' };
  // A failure that the log does not hold is the store's, or of ending the run: it stands where the log leaves it.
  if (result.status === 'failed' && !hasEnded) return troubleOf(result.error);
  return { kind: 'ended', status: result.status };
}

export function outcomeOfError(thrown: unknown): Outcome {
  if (GuardloopError.is(thrown)) return troubleOf(thrown);
  return {
    kind: 'trouble',
    code: 'INTERNAL',
    message: 'The run could not be taken up, for a reason that Guardloop does not know. It is tried again.',
  };
}

/** The messages of core name names, never content. */
function troubleOf({ code, message, details }: GuardloopError): Outcome {
  return { kind: 'trouble', code, message, ...(code === 'RESUME_MISMATCH' && details.accept === 'changed' ? { accept: true } : {}) };
}

interface Now {
  readonly record: RunRecord;
  /** The store's time. */
  readonly at: number;
  readonly retry: { readonly firstMs: number; readonly mostMs: number };
}

/** How the record is changed. */
export function changeFor(outcome: Exclude<Outcome, { readonly kind: 'lost' }>, { record, at, retry }: Now): RunChange {
  switch (outcome.kind) {
    case 'ended':
      return { state: 'ended', status: outcome.status, trouble: outcome.trouble ?? null };
    case 'waiting':
      return { state: record.cancel ? 'queued' : 'waiting', dueAt: at, trouble: outcome.trouble ?? null };
    case 'handBack':
      return { state: 'queued', dueAt: at };
    case 'trouble': {
      const waitMs = Math.min(retry.mostMs, retry.firstMs * 2 ** Math.min(30, Math.max(0, record.attempts - 1)));
      const { kind: _, ...trouble } = outcome;
      return { state: 'queued', dueAt: Math.ceil(at + waitMs), trouble };
    }
    default:
      return outcome satisfies never;
  }
}

const tries = 4;
const firstWaitMs = 50;

/** Tries again a few times what the store refuses now. */
export async function afterTrouble<T>(act: () => Promise<T>): Promise<T> {
  for (let tried = 1, waitMs = firstWaitMs; ; tried += 1, waitMs *= 3) {
    try {
      return await act();
    } catch (thrown) {
      if (tried === tries) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}
