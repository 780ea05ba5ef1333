import { GuardloopError } from '@guardloop/core';
import type { RunRecord } from '@guardloop/store';
import { checkRunOptions } from './agent-options.js';
import type { Registered } from './agents.js';
import { checkData } from './agents.js';
import type { Submission } from './submission.js';
import type { SubmittedRun } from './types.js';

/** What a process makes for a run of what was submitted. */
export interface RunMaterials {
  /** Options of `run`, the context among them. */
  readonly options: object;
  readonly observers: readonly unknown[];
}

/** Calls the functions of the registered agent. Rejects with what goes into the run's trouble: without content. */
export async function makeMaterials(
  registered: Registered,
  { id, session, agent, queue, owner, tenant }: RunRecord,
  { submission: { data, traceparent }, worker }: { readonly submission: Submission; readonly worker: string },
): Promise<RunMaterials> {
  const run: SubmittedRun = {
    id,
    session,
    agent,
    queue,
    data: await checkData(registered, data),
    worker,
    ...(owner === undefined ? {} : { owner }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
  const made = await inOwnWords(`The options of the agent ${agent}`, () =>
    typeof registered.options === 'function' ? registered.options(run) : registered.options,
  );
  checkRunOptions(agent, made);
  const context = registered.context && (await inOwnWords(`The context of the agent ${agent}`, () => registered.context?.(run)));
  const { observers = [], ...options } = (made ?? {}) as { readonly observers?: readonly unknown[] };
  return { options: { ...options, ...(context === undefined ? {} : { context }) }, observers };
}

/** What a user's function throws may quote content: told by its name alone. */
async function inOwnWords<T>(what: string, make: () => T): Promise<Awaited<T>> {
  try {
    return await make();
  } catch (thrown) {
    throw new GuardloopError(
      'INTERNAL',
      `${what} could not be made: its function threw. The run is tried again later; look at the function.`,
      {
        cause: thrown,
      },
    );
  }
}

/** Options for going on with a run: its limits stand in the log since it began. */
export function forResume(options: object): object {
  const { limits: _, onLimit: __, ...rest } = options as { readonly limits?: unknown; readonly onLimit?: unknown };
  return rest;
}
