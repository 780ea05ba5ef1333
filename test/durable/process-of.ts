// Durable runs in this process, as the tests of odd moments and of isolation have them.
import type { LogEvent } from '@guardloop/core';
import type { Durable, DurableClient, DurableResult, Registry } from '@guardloop/durable';
import { durable, embeddedEngine } from '@guardloop/durable';
import type { Store } from '@guardloop/store';
import { auditLog } from '@guardloop/testing';
import { expect, onTestFinished } from 'vitest';

/** Upkeep and second tries that no test waits long for. */
export const quick = { upkeepMs: 20, retry: { firstMs: 20, mostMs: 200 } };

export function processOf(store: Store, agents: { readonly [name: string]: unknown }): DurableClient & Pick<Durable<Registry>, 'worker'> {
  const runs = durable({ ...quick, store, engine: embeddedEngine({ pollMs: 20 }), agents: agents as Registry });
  onTestFinished(() => runs.close({ graceMs: 0 }));
  return runs as unknown as DurableClient & Pick<Durable<Registry>, 'worker'>;
}

/** The events of a whole result, whose log holds to the rules. */
export function sound(result: DurableResult): readonly LogEvent[] {
  if (!('log' in result)) throw new Error(`The run is ${result.status}.`);
  expect(auditLog(result.log)).toEqual([]);
  return result.events;
}
