// Starting a run for a caller, from whichever route.
import type { RunInput } from '@guardloop/core';
import type { RunInfo } from '@guardloop/durable';
import type { Caller } from './caller.js';
import { isOwn } from './caller.js';
import { freshRunId, sessionId } from './ids.js';
import type { Call } from './operation.js';
import type { OfferedAgent } from './options.js';
import { Problem } from './problem.js';
import type { RunsService } from './runs-service.js';

export interface Start {
  readonly agent: string;
  readonly input: RunInput;
  readonly session: string | undefined;
  readonly unfinished?: 'abandon' | undefined;
  /** Made of what the client gave to tell its requests apart; left out: a new run each time. */
  readonly id?: string | undefined;
}

/** The agent, if it is offered to this caller. Throws the problem that there is none. */
export async function offeredAgent<U extends Caller>({ settings, caller }: Call<U>, name: string): Promise<OfferedAgent<U>> {
  const agent = settings.agents.get(name);
  if (agent === undefined || (agent.allow !== undefined && (await agent.allow(caller)) !== true))
    throw new Problem('not-found', { errors: [{ path: 'agent', expected: 'an agent that you may start' }] });
  return agent;
}

/** Queues the run, or finds the one that was started under the same key. */
export async function startRun<U extends Caller>(
  call: Call<U>,
  start: Start,
): Promise<{ readonly created: boolean; readonly run: RunInfo }> {
  const { settings, caller, request } = call;
  const { runs, maxParts } = settings;
  const agent = await offeredAgent(call, start.agent);
  if (typeof start.input !== 'string' && start.input.length > maxParts)
    throw new Problem('bad-body', { errors: [{ path: 'input', expected: `at most ${maxParts}` }] });
  const session = await sessionOf(call, start.session);
  const named = { ...start, session: start.session && session };
  if (start.id !== undefined) {
    const known = await runs.status(start.id);
    if (known !== undefined) return { created: false, run: await sameRun(call, known, named) };
  }
  const traceparent = settings.traceparent?.(caller, request) ?? undefined;
  const { created, run } = await withinQueue(call, async () =>
    runs.submit(start.agent, start.input, {
      id: start.id ?? freshRunId(),
      session,
      owner: caller.user,
      tenant: caller.tenant,
      ...(agent.data === undefined ? {} : { data: await agent.data(caller, request) }),
      ...(agent.queue === undefined ? {} : { queue: agent.queue }),
      ...(agent.priority === undefined ? {} : { priority: agent.priority }),
      ...(start.unfinished === undefined ? {} : { unfinished: start.unfinished }),
      ...(traceparent !== undefined && /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(traceparent) ? { traceparent } : {}),
    }),
  );
  return created ? { created, run } : { created, run: await sameRun(call, run, named) };
}

/**
 * The session that a caller means: one of theirs by its id, else one of theirs by the name they gave it. Another's id is a name like any.
 */
export async function sessionOf<U extends Caller>({ settings, caller }: Call<U>, name: string | undefined): Promise<string> {
  const known = name === undefined ? undefined : await settings.runs.store.sessions.get(name);
  return known !== undefined && isOwn(known, caller) ? known.id : sessionId(caller, name);
}

/** How many starts of each caller are under way: the store does not know of them yet. */
const starting = new WeakMap<RunsService, Map<string, number>>();

/** Starts, if not too many runs of the caller wait: those that are being started at the same time count. */
async function withinQueue<U extends Caller, T>({ settings: { runs, maxQueued }, caller }: Call<U>, start: () => Promise<T>): Promise<T> {
  const { user: owner, tenant } = caller;
  const key = JSON.stringify([tenant ?? null, owner]);
  const counts = starting.get(runs) ?? new Map<string, number>();
  starting.set(runs, counts);
  const before = counts.get(key) ?? 0;
  counts.set(key, before + 1);
  try {
    // A store takes a tenant that is left out for any: a page may hold others, and does not say how many of theirs follow.
    let waiting = before;
    for (let after: string | undefined, isLast = false; waiting < maxQueued && !isLast; ) {
      const { items, next } = await runs.list({
        owner,
        ...(tenant === undefined ? {} : { tenant }),
        state: 'queued',
        limit: maxQueued,
        ...(after === undefined ? {} : { after }),
      });
      waiting += items.filter((run) => isOwn(run, caller)).length;
      after = next;
      isLast = next === undefined;
    }
    if (waiting >= maxQueued) throw new Problem('queue-full', { headers: { 'retry-after': '10' } });
    return await start();
  } finally {
    const left = (counts.get(key) ?? 1) - 1;
    if (left > 0) counts.set(key, left);
    else counts.delete(key);
  }
}

/** A key stands for one request: what comes under it again must be the same. */
async function sameRun<U extends Caller>({ caller, settings }: Call<U>, run: RunInfo, { agent, input, session }: Start): Promise<RunInfo> {
  if (!isOwn(run, caller)) throw new Problem('not-found');
  const isSame =
    run.agent === agent && (session === undefined || run.session === session) && (await settings.runs.hasInput(run.id, input)) !== false;
  if (!isSame) throw new Problem('key-reused');
  return run;
}
