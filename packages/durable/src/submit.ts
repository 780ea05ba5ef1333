import type { JsonValue } from '@guardloop/core';
import type { NewRun, RunRecord, Store } from '@guardloop/store';
import type { Registered } from './agents.js';
import { agentOf, checkData } from './agents.js';
import type { Engine } from './engine.js';
import { plainJson } from './plain-json.js';
import { describe, invalid, isLine, OptionReader } from './read-options.js';
import { runInfo } from './run-info.js';
import { isSameSubmission, writeInput, writeLimits, writeSubmission } from './submission.js';
import type { Submitted } from './types.js';

export const defaultQueue = 'default';
const defaultPriority = 100;
const lastTime = 8_640_000_000_000_000;

const names = [
  'id',
  'session',
  'queue',
  'priority',
  'delayMs',
  'at',
  'limits',
  'onLimit',
  'unfinished',
  'traceparent',
  'owner',
  'tenant',
  'data',
] as const;
type Reader = OptionReader<(typeof names)[number]>;

/** Where runs are submitted. */
export interface SubmitPlace {
  readonly store: Store;
  readonly engine: Engine;
  /** Undefined: this process knows no agents. */
  readonly agents: ReadonlyMap<string, Registered> | undefined;
  /** Undefined: it knows no queues. */
  readonly queues: ReadonlySet<string> | undefined;
}

/** Writes a run to the store and tells the engine. Throws CONFIG_INVALID before anything is written. */
export async function submitRun(place: SubmitPlace, agent: unknown, given: readonly unknown[]): Promise<Submitted> {
  const [input, options] = given;
  const run = await readRun(place, agent, { input, reader: new OptionReader('submit', options, names) });
  const { store, engine } = place;
  const { created, run: record } = await store.runs.create(run);
  const same = created || (isForSame(record, run) && (await isSameSubmission(record.submission, run.submission)));
  // A kick that did not get through is made up for by the workers, who look for what is due.
  if (created) await engine.kick(record).catch(() => undefined);
  return { created, same, run: runInfo(record) };
}

const places = ['agent', 'session', 'owner', 'tenant'] as const;
const isForSame = (record: RunRecord, run: NewRun): boolean => places.every((place) => record[place] === run[place]);

async function readRun(
  place: SubmitPlace,
  agent: unknown,
  { input, reader }: { readonly input: unknown; readonly reader: Reader },
): Promise<NewRun> {
  if (!isLine(agent)) return invalid(`submit: the agent is ${describe(agent)}. Give the name under which workers have it registered.`);
  const id = readId(reader);
  const queue = reader.text('queue', 200) ?? defaultQueue;
  if (place.queues && !place.queues.has(queue)) reader.refuse('queue', `Give one of ${[...place.queues].join(', ')}, or leave it out.`);
  const owner = reader.text('owner', 1_000);
  const tenant = reader.text('tenant', 1_000);
  const submission = await readKept(place, agent, { input, reader });
  return {
    id,
    session: reader.text('session', 1_000) ?? id,
    agent,
    queue,
    priority: reader.number('priority', { least: 0, most: 1_000_000, isWhole: true }) ?? defaultPriority,
    dueAt: await readDue(place.store, reader),
    submission,
    abandons: reader.choice('unfinished', ['abandon']) === 'abandon',
    ...(owner === undefined ? {} : { owner }),
    ...(tenant === undefined ? {} : { tenant }),
  };
}

function readId(reader: Reader): string {
  const id = reader.text('id', 200);
  if (id?.includes('/')) reader.refuse('id', 'Give a text without /, or leave it out.');
  return id ?? `r${globalThis.crypto.randomUUID().replaceAll('-', '').slice(0, 16)}`;
}

/** Input, data and options, as the record keeps them. */
async function readKept(
  { agents }: SubmitPlace,
  agent: string,
  { input, reader }: { readonly input: unknown; readonly reader: Reader },
): Promise<JsonValue> {
  const given = reader.get('data');
  const data = given === undefined ? undefined : plainJson(given);
  if (given !== undefined && data === undefined)
    invalid('submit: `data` is no plain JSON, and cannot be kept. Give texts, finite numbers, booleans, null, lists and plain objects.');
  if (agents) await checkData(agentOf(agents, agent), data);
  return writeSubmission({
    input: writeInput(input),
    data,
    limits: writeLimits(reader.get('limits')),
    onLimit: reader.choice('onLimit', ['stop', 'finalize']),
    traceparent: reader.text('traceparent', 200),
  });
}

async function readDue(store: Store, reader: Reader): Promise<number> {
  const delayMs = reader.number('delayMs', { least: 0, most: lastTime });
  const at = reader.get('at');
  if (at === undefined) return Math.floor((await store.now()) + (delayMs ?? 0));
  if (delayMs !== undefined) reader.refuse('at', 'Give `at` or `delayMs`, not both.');
  const time = at instanceof Date ? at.getTime() : at;
  if (typeof time !== 'number' || !(time >= 0 && time <= lastTime))
    return reader.refuse('at', 'Give a Date, or milliseconds since 1970, or leave it out.');
  return Math.floor(time);
}
