import { GuardloopError } from '../errors.js';
import { readDamaged } from '../state/log.js';
import { recordError } from './answer.js';
import { endOpenRun } from './end-run.js';
import type { Door } from './make-root.js';
import { fence, inTurn, loadSession, makeRoot } from './make-root.js';
import { readOptions, readSession } from './options.js';
import type { SessionReference } from './types.js';

/** How an unfinished run is ended. */
export type UnfinishedEnding =
  | { readonly status: 'cancelled'; readonly reason?: unknown }
  | { readonly status: 'failed'; readonly error: GuardloopError };

/**
 * Ends the unfinished last run of a session without its agents: its open calls end, its approvals are void. For a run that nobody wants or
 * can go on with any more. Gives whether there was one; with `runId`, whether it was that one, and no other is touched. Like every writer it
 * takes the run over from whoever is at work on it. Rejects with LOG_CONFLICT where another writer was faster, LOG_INVALID, STORE_FAILED, or
 * CONFIG_INVALID.
 */
export async function endUnfinished(session: SessionReference, ending: UnfinishedEnding, runId?: string): Promise<boolean> {
  const place = readSession(session);
  if (place === undefined) throw new GuardloopError('CONFIG_INVALID', 'endUnfinished was given no session. Give { store, id }.');
  const door: Door = { options: readOptions('resume', {}, undefined) };
  const { root, isEnded } = await inTurn(place, door, async (at) => {
    const { root } = makeRoot(door, await loadSession(place, door), at);
    const run = root.log.root;
    if (run === undefined || run.ended || (runId !== undefined && run.id !== runId)) return { root, isEnded: false };
    readDamaged(() =>
      endOpenRun(
        { root, run },
        ending.status === 'failed'
          ? { status: 'failed', error: recordError(ending.error) }
          : { status: 'cancelled', reason: ending.reason },
      ),
    );
    await fence(root, door);
    return { root, isEnded: true };
  });
  root.remember?.();
  root.leave?.();
  return isEnded;
}
