import { nextStep } from '../state/next-step.js';
import type { Ending } from '../state/state.js';
import { endingOfStop, endRun } from './end-run.js';
import type { RunHandle, Stop } from './handle.js';
import { faultStop } from './handle.js';
import { watchRun } from './monitors.js';
import { callModel } from './stages/call-model.js';
import { guardInput } from './stages/guard-input.js';
import { handOff } from './stages/hand-off.js';
import { releaseQuarantine } from './stages/release-quarantine.js';
import { runTools } from './stages/run-tools.js';

/** Whether this stop has nothing to stop where the answer is recorded and every call has its end. */
const comesTooLate = ({ kind }: Stop): boolean => kind === 'cancel' || kind === 'limit' || kind === 'parent';

/** The only loop: takes one step after another until the run has ended or waits for people. Never rejects. */
export async function loop(handle: RunHandle): Promise<void> {
  const { state } = handle;
  for (;;) {
    let ending: Ending | undefined;
    try {
      const step = nextStep(state);
      if (step.type === 'ended') return;
      if (handle.stop && step.type !== 'end' && !(step.type === 'complete' && comesTooLate(handle.stop))) {
        endRun(handle, endingOfStop(handle));
        return;
      }
      switch (step.type) {
        case 'guardInput':
          ending = await guardInput(handle);
          break;
        case 'callModel':
          // What a monitor finds may change what comes next.
          if (state.turn > 0 && watchRun(handle)) break;
          ending = await callModel(handle);
          break;
        case 'finalize':
          ending = await callModel(handle, step.limit);
          break;
        case 'runTools':
          ending = await runTools(handle);
          break;
        case 'releaseQuarantine':
          ending = await releaseQuarantine(handle);
          break;
        case 'handOff':
          ending = await handOff(handle, step.call);
          break;
        case 'wait':
          return;
        case 'complete':
          endRun(handle, { status: 'completed' });
          return;
        case 'exhaust':
          endRun(handle, { status: 'exhausted', limit: step.limit });
          return;
        case 'end':
          endRun(handle, step.ending);
          return;
        default:
          step satisfies never;
      }
    } catch (thrown) {
      // A fault while ending leaves nothing more to try.
      if (handle.stop?.kind === 'fault') return;
      handle.abort(faultStop(handle, thrown));
    }
    if (ending) {
      endRun(handle, ending);
      return;
    }
  }
}
