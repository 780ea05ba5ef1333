import type { Message } from '../model/types.js';
import type { Entry } from '../run/enter.js';
import { enter } from '../run/enter.js';
import type { RunHandle } from '../run/handle.js';
import type { GuardVerdictEvent, LogEvent } from '../state/events.js';
import type { RecordedVerdicts } from './recorded.js';
import { keyOf } from './recorded.js';
import type { UnknownWhy } from './types.js';

/** What one event of a log committed, to be judged again before the event is folded. */
export interface Site {
  readonly event: LogEvent;
  readonly handle: RunHandle;
  /** The recorded verdicts that it commits. */
  readonly was: readonly GuardVerdictEvent[];
  /** What cannot be judged again, by key. */
  readonly unknown?: ReadonlyMap<string, UnknownWhy> | undefined;
  /** The subject of the checks of an entry, and of the answer. */
  readonly entry?: string | undefined;
  readonly answer?: string | undefined;
  /** Asks the guardrails of the set: by what a run would ask them. */
  readonly ask?: (() => unknown) | undefined;
}

/** What of a replay the sites are found in. */
export interface Replayed {
  readonly recorded: RecordedVerdicts;
  /** Of answers in quarantine, by run: committed by the approval, their text not yet recorded. */
  readonly quarantined: Map<string, Pick<Site, 'event' | 'was'>>;
}

/** All that these verdicts are about, for one reason. */
export function everything(verdicts: readonly GuardVerdictEvent[], why: UnknownWhy): ReadonlyMap<string, UnknownWhy> {
  return new Map(verdicts.map((verdict) => [keyOf(verdict), why]));
}

/** Puts what enters a view to the guardrails, those beside the model after the others. */
export async function enterAll(handle: RunHandle, entry: Entry<Message>): Promise<void> {
  const beside = entry.guards.filter(({ spec }) => spec.beside);
  const first = await enter(handle, { ...entry, guards: entry.guards.filter(({ spec }) => !spec.beside) });
  if (beside.length === 0 || first.isStopped || first.refusal) return;
  await enter(handle, { ...entry, fresh: first.items, guards: beside, revision: first.revision });
}
