import type { RunInput } from '@guardloop/core';
import type { QueueLimits, RunRecord, Store } from '@guardloop/store';
import { sqliteStore } from '@guardloop/store-sqlite';
import type { DataOf, Registry } from './agents.js';
import { readAgents, readTimes } from './agents.js';
import { clientOver } from './client.js';
import { embeddedEngine } from './embedded.js';
import type { Engine } from './engine.js';
import { describe, invalid, isLine, longestInterval, longestTime, OptionReader } from './read-options.js';
import { runInfo } from './run-info.js';
import { defaultQueue } from './submit.js';
import type {
  ApprovalTimes,
  ClientOptions,
  DurableClient,
  DurableWorker,
  QueueOptions,
  RunInfo,
  SubmitArguments,
  Submitted,
  WorkerOptions,
} from './types.js';
import { openWorker } from './worker.js';

/** Options of {@link durable}. */
export interface DurableOptions<R extends Registry, Q extends string> extends ClientOptions {
  /** Agents by the names under which runs are submitted for them: of `durableAgent`, or agents as they are where they have no context. */
  readonly agents: R;
  /** The queues beside `default`, which may be given limits too. Workers of other processes must give a queue the same limits. */
  readonly queues?: { readonly [K in Q]: QueueOptions } | undefined;
  /** Reminders and expiry, where an agent has none of its own. */
  readonly approvals?: ApprovalTimes | undefined;
  /**
   * After so many entries into a run without anything that came to an end in it, it is ended `failed`. A whole number from 1; default 20.
   */
  readonly maxAttempts?: number | undefined;
  /** How long a run that could not be taken up waits: twice as long each time. Defaults: 1,000 ms, at most 60,000 ms. */
  readonly retry?: { readonly firstMs?: number | undefined; readonly mostMs?: number | undefined } | undefined;
  /** How often a worker looks after approvals, decisions and runs that nobody takes, milliseconds. From 10 to a day; default 1,000. */
  readonly upkeepMs?: number | undefined;
  /** Told what fails beside runs: the store of a worker that looks for work, `onReminder`. Default: nobody. */
  readonly onError?: ((error: unknown) => unknown) | undefined;
  /**
   * Told of a run when its `trouble` begins, or becomes another, by the worker that writes it down: once over all workers, and not at all
   * where that one dies right then. What it throws is told to `onError`. Default: nobody.
   */
  readonly onTrouble?: ((run: RunInfo) => unknown) | undefined;
}
/** Durable runs of a process that knows agents. */
export interface Durable<R extends Registry, Q extends string = never> extends Omit<DurableClient<Q | 'default'>, 'submit'> {
  /**
   * Writes a run to the store, where a worker finds it. Rejects with CONFIG_INVALID for what is wrong with it, and STORE_FAILED; then
   * nothing was submitted.
   */
  submit<K extends keyof R & string>(
    agent: K,
    input: RunInput,
    ...options: SubmitArguments<DataOf<R[K]>, Q | 'default'>
  ): Promise<Submitted>;
  /** Takes runs in this process. Rejects with CONFIG_INVALID. */
  worker(options?: WorkerOptions<Q | 'default'>): Promise<DurableWorker>;
}

const ofClient = ['store', 'engine'] as const;
const ofDurable = [...ofClient, 'agents', 'queues', 'approvals', 'maxAttempts', 'retry', 'upkeepMs', 'onError', 'onTrouble'] as const;
const defaultFile = 'guardloop.db';
const defaultAttempts = 20;
const defaultRetry = { firstMs: 1_000, mostMs: 60_000 };
const defaultUpkeepMs = 1_000;

/** Submits runs and watches them: for a process that runs no agents. Throws CONFIG_INVALID. */
export function durableClient(options?: ClientOptions): DurableClient {
  const { store, engine, close } = open(new OptionReader('durableClient', options, ofClient));
  return { ...clientOver({ store, engine, agents: undefined, queues: undefined }), close };
}

/** Submits, runs and watches. Throws CONFIG_INVALID. */
export function durable<const R extends Registry, Q extends string = never>(options: DurableOptions<R, Q>): Durable<R, Q> {
  const reader = new OptionReader('durable', options, ofDurable);
  const agents = readAgents(reader.get('agents'));
  const queues = readQueues(reader.get('queues'));
  const retry = readRetry(reader.get('retry'));
  const times = readTimes(reader.get('approvals'), 'durable');
  const maxAttempts = reader.number('maxAttempts', { least: 1, isWhole: true }) ?? defaultAttempts;
  const upkeepMs = reader.number('upkeepMs', { least: 10, most: longestInterval }) ?? defaultUpkeepMs;
  const onError = reader.function<(error: unknown) => unknown>('onError');
  const onTrouble = reader.function<NonNullable<DurableOptions<R, Q>['onTrouble']>>('onTrouble');
  const { store, engine, close } = open(reader);
  const workers = new Set<Promise<DurableWorker>>();
  let isClosed = false;
  const tellError = contained(onError);
  const tellTrouble = (record: RunRecord): void => {
    if (onTrouble) void (async () => onTrouble(runInfo(record)))().catch(tellError);
  };
  const told = { onError: tellError, onTrouble: tellTrouble };
  const place = { store, engine, agents, queues, times, retry, maxAttempts, upkeepMs, ...told };
  const client = clientOver({ store, engine, agents, queues: new Set(queues.map(({ queue }) => queue)) });
  return {
    ...client,
    submit: (agent, input, ...rest) => client.submit(agent, input, rest[0]),
    async worker(given) {
      if (isClosed) invalid('durable: it was closed, and takes no runs any more. Make another one.');
      const worker = openWorker(place, given);
      workers.add(worker);
      return worker;
    },
    async close(given) {
      isClosed = true;
      const opened = await Promise.allSettled(workers);
      await Promise.all(opened.map((worker) => (worker.status === 'fulfilled' ? worker.value.stop(given) : undefined)));
      await close();
    },
  };
}

/** The store and the engine, and what closes those that were made here. */
function open(reader: OptionReader<'store' | 'engine'>): { readonly store: Store; readonly engine: Engine; close(): Promise<void> } {
  const given = reader.get('store');
  if (given !== undefined && !hasMethods(given, ['load', 'append', 'watch', 'now']))
    reader.refuse('store', "Give a store, for example sqliteStore({ file: 'runs.db' }), or leave it out for an SQLite file.");
  const engine = reader.get('engine');
  if (engine !== undefined && !hasMethods(engine, ['kick', 'work', 'close']))
    reader.refuse('engine', 'Give an engine, for example embeddedEngine(), or leave it out.');
  const store = (given as Store | undefined) ?? sqliteStore({ file: defaultFile });
  const used = (engine as Engine | undefined) ?? embeddedEngine();
  return {
    store,
    engine: used,
    async close() {
      await used.close();
      if (given === undefined) await store.close();
    },
  };
}

function hasMethods(value: unknown, methods: readonly string[]): boolean {
  return (
    typeof value === 'object' && value !== null && methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
  );
}

function readQueues(given: unknown): readonly QueueLimits[] {
  if (given !== undefined && (typeof given !== 'object' || given === null || Array.isArray(given)))
    invalid(`durable: \`queues\` is ${describe(given)}. Give the queues by name: { mail: { concurrency: 2 } }.`);
  const queues = Object.entries(given ?? {}).map(([queue, limits]) => {
    if (!isLine(queue)) invalid('durable: a queue has a blank name. Give it one.');
    const reader = new OptionReader(`The queue ${queue}`, limits, ['concurrency', 'tenantConcurrency']);
    return {
      queue,
      concurrency: reader.number('concurrency', { least: 1, isWhole: true }),
      tenantConcurrency: reader.number('tenantConcurrency', { least: 1, isWhole: true }),
    };
  });
  return queues.some(({ queue }) => queue === defaultQueue) ? queues : [{ queue: defaultQueue }, ...queues];
}

function readRetry(given: unknown): { readonly firstMs: number; readonly mostMs: number } {
  const reader = new OptionReader('durable, `retry`', given, ['firstMs', 'mostMs']);
  const firstMs = reader.number('firstMs', { least: 1, most: longestTime }) ?? defaultRetry.firstMs;
  return { firstMs, mostMs: reader.number('mostMs', { least: firstMs, most: longestTime }) ?? Math.max(firstMs, defaultRetry.mostMs) };
}

/** What is told of failures cannot make more of them. */
function contained(onError: ((error: unknown) => unknown) | undefined): (error: unknown) => void {
  return (error) => {
    // What the listener throws, or rejects with later, is its own business.
    void (async () => onError?.(error))().catch(() => undefined);
  };
}
