import { agentSpecOf } from '../define/definition.js';
import type { Agent, Answer } from '../define/types.js';
import { GuardloopError } from '../errors.js';
import { beginResume, beginRun } from './begin.js';
import { Channel } from './channel.js';
import type { RunHandle } from './handle.js';
import { faultStop } from './handle.js';
import { loop } from './loop.js';
import type { Door } from './make-root.js';
import { openApprovals } from './open-approvals.js';
import type { Options } from './options.js';
import { readInput, readOptions } from './options.js';
import { deleteUndecided } from './quarantine.js';
import { resultOf } from './result.js';
import { applyDecisions } from './stages/apply-decisions.js';
import { Steering } from './steering.js';
import type { Completed, ResumeFunction, RunFunction, RunInput, RunResult, RunStream, StreamFunction } from './types.js';
import { whenAborted } from './when-aborted.js';

/** Takes an entered run to its end, or to where it waits. Never rejects. */
async function drive(handle: RunHandle, options: Options): Promise<RunResult> {
  const { leave, remember, writer } = handle.root;
  if (handle.state.ended) {
    remember?.();
    leave?.();
    return resultOf(handle);
  }
  const { signal } = options;
  const cancel = (): void => handle.abort({ kind: 'cancel', reason: signal?.reason });
  const off = signal && !signal.aborted ? whenAborted(signal, cancel) : undefined;
  if (signal?.aborted) cancel();
  const disarm = handle.armTimeLimit();
  try {
    if (handle.root.given) await applyDecisions(handle).catch((thrown: unknown) => handle.abort(faultStop(handle, thrown)));
    await loop(handle);
    if (handle.root.undecided) await deleteUndecided(handle);
    if (writer) await handle.lastBarrier();
    if (handle.state.ended && writer?.failure === undefined) remember?.();
    if (handle.state.ended === undefined && writer?.failure === undefined && handle.stop?.kind !== 'fault')
      handle.tell({ type: 'run.wait', approvals: Object.freeze(openApprovals(handle.state).map(({ id }) => id)) });
  } finally {
    disarm();
    off?.();
    leave?.();
  }
  return resultOf(handle);
}

/** A run to watch. */
class Watched implements RunStream {
  private readonly promise: Promise<RunResult>;
  private isRead = false;

  constructor(
    private readonly channel: Channel,
    private readonly steering: Steering,
    promise: Promise<RunResult>,
  ) {
    this.promise = promise;
    // Whoever watches sees a failure to begin; it is no unhandled rejection for who does not.
    promise.catch(() => undefined);
  }

  get result(): Promise<RunResult> {
    this.channel.free();
    return this.promise;
  }

  async steer(input: RunInput): Promise<boolean> {
    const [message] = readInput(input, [], { run: '', agent: '' });
    return message?.role === 'user' ? this.steering.add(message) : false;
  }

  pause(): void {
    this.steering.isPaused = true;
  }

  then<A = RunResult, B = never>(
    onResult?: ((result: RunResult) => A | PromiseLike<A>) | null,
    onError?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.result.then(onResult, onError);
  }

  [Symbol.asyncIterator](): AsyncIterator<never, undefined> {
    if (this.isRead)
      throw new GuardloopError(
        'CONFIG_INVALID',
        'This stream is being read already, and has one iterator. Read it once, or give an observer to the run.',
      );
    this.isRead = true;
    return this.channel as AsyncIterator<never, undefined>;
  }
}

function watch(options: Options, begin: (door: Door) => Promise<RunHandle>): Watched {
  let handle: RunHandle | undefined;
  let hasLeft = false;
  let tellLeft: (() => void) | undefined;
  let reason: unknown;
  const channel = new Channel((thrown) => {
    hasLeft = true;
    reason = thrown === undefined ? new DOMException('The reader left the stream.', 'AbortError') : thrown.error;
    tellLeft?.();
    handle?.abort({ kind: 'cancel', reason });
  });
  const steering = new Steering();
  const onLeave = (listener: () => void): void => {
    tellLeft = listener;
    if (hasLeft) listener();
  };
  const go = async (): Promise<RunResult> => {
    try {
      handle = await begin({ options, channel, onLeave, steering });
      if (hasLeft) handle.abort({ kind: 'cancel', reason });
      const result = await drive(handle, options);
      channel.close();
      return result;
    } catch (error) {
      channel.close({ error });
      throw error;
    } finally {
      steering.end();
    }
  };
  return new Watched(channel, steering, go());
}

/** Runs an agent until it ends or asks. Rejects only before the run is entered, with CONFIG_INVALID, NAME_TAKEN, LOG_INVALID, LOG_CONFLICT, RESUME_MISMATCH or STORE_FAILED; outcomes are values. */
export const run: RunFunction = (async (agent: Agent<never, Answer>, input: unknown, given?: unknown) => {
  const start = agentSpecOf(agent, 'The first argument of run');
  const options = readOptions('run', given, start);
  return drive(await beginRun(start, input, { options }), options);
}) as RunFunction;

/** As `run`, to be watched while it goes on. Leaving the iterator cancels the run. Throws what is wrong with the arguments at once. */
export const stream: StreamFunction = ((agent: Agent<never, Answer>, input: unknown, given?: unknown) => {
  const start = agentSpecOf(agent, 'The first argument of stream');
  const options = readOptions('stream', given, start);
  readInput(input, options.history, { run: 'r', agent: start.name });
  return watch(options, (door) => beginRun(start, input, door));
}) as StreamFunction;

/** Goes on with the last run of a log or session, with people's decisions. Gives back the result of a run that has ended. */
export const resume: ResumeFunction = ((agent: Agent<never, Answer>, target: unknown, given?: unknown) => {
  const start = agentSpecOf(agent, 'The first argument of resume');
  const options = readOptions('resume', given, start);
  return watch(options, (door) => beginResume(start, target, door));
}) as ResumeFunction;

/** Throws CONFIG_INVALID unless the run completed. */
export function assertCompleted<A extends Answer>(result: RunResult<A>): asserts result is Completed<A> {
  if (result.status !== 'completed')
    throw new GuardloopError(
      'CONFIG_INVALID',
      `The run ended ${result.status}, where a completed one was expected. Look at result.status before result.output.`,
    );
}
