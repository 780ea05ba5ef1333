import type { Store } from '@guardloop/store';
import type { Engine } from './engine.js';
import { OptionReader } from './read-options.js';
import { changeRun, hasBegun } from './run-changes.js';
import { runInfo } from './run-info.js';
import type { CancelOutcome } from './types.js';

const longestReason = 1_000;
const defaultReason = 'cancelled';

/** Ends a run that has not begun at once; of any other it is noted for the worker that has it, or that takes it up now. */
export async function cancelRun(
  { store, engine }: { readonly store: Store; readonly engine: Engine },
  id: string,
  options?: { readonly reason?: string | undefined },
): Promise<CancelOutcome> {
  const reader = new OptionReader('cancel', options, ['reason']);
  const reason = reader.text('reason', longestReason) ?? defaultReason;
  const changed = await changeRun(store, id, async (record, now) => {
    const { state, cancel } = record;
    if (state === 'ended') return undefined;
    const words = cancel ?? { reason };
    // Whoever has it begins it, or has begun it.
    if (state === 'running') return cancel ? undefined : { cancel: words };
    // Asked for each form of the record: since the one before, a worker may have begun the run and handed it back.
    if (state === 'queued' && !(await hasBegun(store, record)))
      return { state: 'ended', status: 'cancelled', cancel: words, trouble: null };
    return cancel && state === 'queued' ? undefined : { state: 'queued', cancel: words, dueAt: now };
  });
  if (changed === undefined) return { status: 'unknown' };
  const { record, isChanged } = changed;
  const run = runInfo(record);
  if (record.state === 'ended') return { status: isChanged ? 'cancelled' : 'ended', run };
  if (isChanged && record.state === 'queued') await engine.kick(record);
  return { status: 'cancelling', run };
}
