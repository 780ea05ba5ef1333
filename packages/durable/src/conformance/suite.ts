import type { LogEvent } from '@guardloop/core';
import { defineTool } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import { auditLog } from '@guardloop/testing';
import { expect, onTestFinished } from 'vitest';
import type { Registry } from '../agents.js';
import type { Durable, DurableOptions } from '../durable.js';
import { durable } from '../durable.js';
import type { Engine } from '../engine.js';
import type { DurableResult } from '../types.js';
import type { FrailStore } from './frail-store.js';
import { frailStore } from './frail-store.js';

/** What the suite needs of an engine and a store: opened for each test, fresh or with nothing in it that is due. */
export interface DurableHarness {
  /** The storage as one more process sees it: a store of its own, or the same object where it lasts only in memory. */
  openStore(): PromiseLike<Store> | Store;
  /** The engine of one more process, over this store. Left out: the embedded one. */
  openEngine?: ((store: Store) => PromiseLike<Engine> | Engine) | undefined;
  close?: (() => PromiseLike<void> | void) | undefined;
}
/** Opens one for a test. */
export type MakeHarness = () => PromiseLike<DurableHarness> | DurableHarness;

/** One process of a test. */
export interface Process<R extends Registry> {
  readonly runs: Durable<R, string>;
  readonly frail: FrailStore;
}
/** The processes of one test, over one storage. Closed with it. */
export interface World {
  start<const R extends Registry>(agents: R, options?: Partial<DurableOptions<R, string>>): Promise<Process<R>>;
}

/** Of workers whose death is waited for; the machines of CI are slow. */
export const shortLeaseMs = 1_500;
export const quick = { upkeepMs: 50, retry: { firstMs: 50, mostMs: 400 } };
const deadlineMs = 30_000;

export async function openWorld(makeHarness: MakeHarness): Promise<World> {
  const harness = await makeHarness();
  const endings: (() => Promise<unknown>)[] = [];
  onTestFinished(async () => {
    for (const end of endings.reverse()) await end();
    await harness.close?.();
  }, 60_000);
  const shared = new Set<Store>();
  return {
    async start(agents, options) {
      const store = await harness.openStore();
      const frail = frailStore(store);
      const engine = await harness.openEngine?.(frail.store);
      const runs = durable({ ...quick, store: frail.store, agents, ...(engine ? { engine } : {}), ...options });
      const isNew = !shared.has(store);
      shared.add(store);
      endings.push(async () => {
        frail.bury();
        await runs.close({ graceMs: 0 });
        if (isNew) await store.close();
      });
      return { runs, frail };
    },
  };
}

/** Waits until something holds. */
export async function until<T>(look: () => T | PromiseLike<T>): Promise<NonNullable<Awaited<T>>> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen as NonNullable<Awaited<T>>;
    if (performance.now() > deadline) throw new Error(`What was waited for did not happen in ${deadlineMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

/** Something that happens once, for all who wait for it. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}
export function gate(): Gate {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

const anything = { type: 'object', properties: {} } as const;
/** A tool that counts its calls by their idempotency keys: as an effect in the world would. */
export function ledgerTool(
  name: string,
  options: {
    readonly approval?: boolean;
    readonly repeatable?: boolean;
    readonly during?: () => Promise<unknown> | undefined;
    readonly ledger?: string[];
    readonly input?: { readonly type: 'object' };
  } = {},
) {
  const { approval, repeatable, during, ledger = [], input = anything } = options;
  const tool = defineTool({
    name,
    description: `Does ${name}.`,
    input,
    ...(approval ? { approval } : {}),
    ...(repeatable ? { repeatable } : {}),
    execute: async (_given: unknown, { idempotencyKey }: { readonly idempotencyKey: string }) => {
      ledger.push(idempotencyKey);
      await during?.();
      return `${name} done`;
    },
  });
  return { tool, ledger };
}

/** The log of a result is as it should be; gives its events. */
export function audited(result: DurableResult): readonly LogEvent[] {
  if (!('log' in result)) throw new Error(`The run is ${result.status}, and has no log.`);
  expect(auditLog(result.log)).toEqual([]);
  return result.events;
}

export const types = (events: readonly LogEvent[]): readonly string[] => events.map(({ type }) => type);
