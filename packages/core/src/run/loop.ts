import type { Step } from '../state/next-step.js';
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
import { takeSteer } from './stages/take-steer.js';

/** Whether this stop has nothing to stop where the answer is recorded and every call has its end. */
const comesTooLate = ({ kind }: Stop): boolean => kind === 'cancel' || kind === 'limit' || kind === 'parent';

const isStopped = (stop: Stop, { type }: Step): boolean => type !== 'end' && !(type === 'complete' && comesTooLate(stop));

/** What comes before a model call: the answer before it is stored, a pause, what a person said meanwhile, what a monitor finds. It may change what comes next. */
function interject(handle: RunHandle, next: Step['type']): undefined | 'pause' | 'again' | Promise<Ending | 'again'> {
  const { root, state } = handle;
  // A store that falls behind holds the run up: after a cut no more than the call under way is made again.
  if ((next === 'callModel' || next === 'finalize') && root.writer?.hasLastAnswer === false) return handle.barrier().then(() => 'again');
  if (next !== 'callModel' && next !== 'complete') return undefined;
  const steering = handle.parent === undefined ? root.steering : undefined;
  const isCall = next === 'callModel';
  if (isCall && steering?.isPaused) return 'pause';
  if (steering?.hasMessages) return takeSteer(handle).then((ending) => ending ?? 'again');
  return isCall && state.turn > 0 && watchRun(handle) ? 'again' : undefined;
}

/** The stage that takes a step; undefined where nothing is left to take. */
function stageOf(handle: RunHandle, step: Step): Promise<Ending | undefined> | undefined {
  switch (step.type) {
    case 'guardInput':
      return guardInput(handle);
    case 'callModel':
      return callModel(handle);
    case 'finalize':
      return callModel(handle, step.limit);
    case 'runTools':
      return runTools(handle);
    case 'releaseQuarantine':
      return releaseQuarantine(handle);
    case 'handOff':
      return handOff(handle, step.call);
    case 'complete':
      endRun(handle, { status: 'completed' });
      return undefined;
    case 'exhaust':
      endRun(handle, { status: 'exhausted', limit: step.limit });
      return undefined;
    case 'end':
      endRun(handle, step.ending);
      return undefined;
    case 'ended':
    case 'wait':
      return undefined;
    default:
      return step satisfies never;
  }
}

/** The only loop: takes one step after another until the run has ended or waits for people. Never rejects. */
export async function loop(handle: RunHandle): Promise<void> {
  const { state } = handle;
  for (;;) {
    let ending: Ending | undefined;
    try {
      const step = nextStep(state);
      if (step.type === 'ended') return;
      if (handle.stop && isStopped(handle.stop, step)) {
        endRun(handle, endingOfStop(handle));
        return;
      }
      const interjected = interject(handle, step.type);
      const first = interjected instanceof Promise ? await interjected : interjected;
      if (first === 'pause') return;
      if (first === 'again') continue;
      if (first === undefined) {
        const stage = stageOf(handle, step);
        if (stage === undefined) return;
        ending = await stage;
      } else ending = first;
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
