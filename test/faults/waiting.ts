// Very many runs that wait for a person: what they cost while they wait, and how long they take to end once somebody has decided.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { durableClient } from '@guardloop/durable';
import type { Store } from '@guardloop/store';
import { auditLog } from '@guardloop/testing';
import type { StoreAddress } from './child-config.js';
import type { Field, StoreKind } from './field.js';
import { openField } from './field.js';
import { startProgram } from './lives.js';
import { openStore } from './open-store.js';
import type { Row } from './report.js';
import { forAll } from './report.js';

const program = fileURLToPath(new URL('waiting-child.js', import.meta.url));
/** What a waiting run may take in the store, bytes. */
const mostBytes = 10 * 1_024;
/** What a worker may take more with all of them waiting than with none, MB. */
const mostMegabytes = 20;
const patienceMs = 20 * 60_000;

export async function waitingRuns(store: StoreKind, count: number): Promise<readonly Row[]> {
  const field = await openField(store);
  try {
    return [await measure(field, count)];
  } finally {
    await field.close();
  }
}

async function measure(field: Field, count: number): Promise<Row> {
  const address = field.address('waiting');
  const store = await openStore(address);
  const runs = durableClient({ store });
  const failures: string[] = [];
  const began = performance.now();
  try {
    await store.runs.list({ limit: 1 });
    const idle = await restart(address);
    const empty = await bytesOf(field, address, store);
    const worker = startProgram(program, [JSON.stringify(address)]);
    const numbers = Array.from({ length: count }, (_, index) => index);
    await forAll(numbers, 16, (index) =>
      runs.submit('desk', `The order o-4711 came broken, what now? (${index})`, { id: `waiting-${index}` }),
    );
    const submitted = performance.now();
    await nothingIs(store, ['queued', 'running']);
    const asked = performance.now();
    await worker.end();
    const full = await bytesOf(field, address, store);
    const each = (full - empty) / count;
    if (each > mostBytes) failures.push(`a waiting run takes ${Math.round(each)} bytes in the store`);
    const waiting = await restart(address);
    if (waiting.megabytes - idle.megabytes > mostMegabytes)
      failures.push(`the worker takes ${waiting.megabytes} MB with them, ${idle.megabytes} MB without`);

    const last = startProgram(program, [JSON.stringify(address)]);
    await last.ready;
    const deciding = performance.now();
    const askedAt: number[] = [];
    for (let after: string | undefined; ; ) {
      const page = await runs.approvals.list({ state: 'open', limit: 500, after });
      askedAt.push(...page.items.map(({ requestedAt }) => requestedAt));
      await forAll(page.items, 16, ({ id }) => runs.approvals.decide(id, 'approve', { by: 'anna' }));
      after = page.next;
      if (after === undefined) break;
    }
    const decided = performance.now();
    await nothingIs(store, ['queued', 'running', 'waiting']);
    const ended = performance.now();
    await last.end();
    for (const index of [0, Math.floor(count / 2), count - 1]) {
      const result = await runs.result(`waiting-${index}`, { waitMs: 0 });
      if (result.status !== 'completed') failures.push(`run ${index} ended ${result.status}`);
      else failures.push(...auditLog(result.log));
    }
    const note = [
      `${(each / 1_024).toFixed(1)} KB each in the store`,
      `worker ${waiting.megabytes} MB with them, ${idle.megabytes} MB without`,
      `start ${waiting.ms} ms with them, ${idle.ms} ms without`,
      `submitted in ${seconds(submitted - began)}, all asked after ${seconds(asked - began)}: the first tenth in ${spanOf(askedAt, 0)}, the last in ${spanOf(askedAt, 0.9)}`,
      `decided in ${seconds(decided - deciding)}, all ended after ${seconds(ended - deciding)}`,
    ].join('; ');
    return { fault: `${count} runs wait`, where: `${field.store}, worker`, tried: count, failures, note };
  } finally {
    await runs.close();
    await store.close();
  }
}

/** A worker that finds nothing to do: how soon it works, and what it takes then. */
async function restart(address: StoreAddress): Promise<{ readonly ms: number; readonly megabytes: number }> {
  const began = performance.now();
  const life = startProgram(program, [JSON.stringify(address)]);
  try {
    await life.ready;
    const ms = Math.round(performance.now() - began);
    await sleep(4_000);
    const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${life.pid}/status`, 'utf8'))?.[1] ?? 0);
    return { ms, megabytes: Math.round(kilobytes / 1_024) };
  } finally {
    await life.end();
  }
}

async function bytesOf(field: Field, address: StoreAddress, store: Store): Promise<number> {
  switch (address.kind) {
    case 'sqlite': {
      await store.now();
      return statSync(address.file).size + (statSync(join(`${address.file}-wal`), { throwIfNoEntry: false })?.size ?? 0);
    }
    case 'postgres':
      return Number(
        field.postgres
          ?.sql(
            `vacuum; checkpoint; select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = '${address.schema}' and c.relkind = 'r'`,
          )
          ?.trim()
          .split('\n')
          .at(-1),
      );
    case 'redis':
      throw new Error('Redis is not measured here.');
    default:
      return address satisfies never;
  }
}

async function nothingIs(store: Store, states: readonly ('queued' | 'running' | 'waiting')[]): Promise<void> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const found = await Promise.all(states.map((state) => store.runs.list({ state, limit: 1 })));
    if (found.every(({ items }) => items.length === 0)) return;
    if (Date.now() > deadline) throw new Error(`there are still runs ${states.join(' or ')}`);
    await sleep(100);
  }
}

/** How long a tenth of them took, from this part on. */
function spanOf(times: readonly number[], from: number): string {
  const at = (part: number): number => times[Math.floor(part * (times.length - 1))] ?? 0;
  return seconds(at(from + 0.1) - at(from));
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
