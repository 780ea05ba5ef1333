// `npm run bench:durable [-- --runs 400] [--tools 4] [--store sqlite] [--peer]`: runs and steps a second of durable runs, with 1 and 4 processes. A
// step is a model call or a tool. The model answers at once, so that what is measured is the framework and its store. `--peer` installs LangGraph
// into a temporary folder and gives it the same work on the same PostgreSQL.
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { durableClient } from '@guardloop/durable';
import type { Field, StoreKind } from '../faults/field.js';
import { openField } from '../faults/field.js';
import { openStore } from '../faults/open-store.js';
import { forAll } from '../faults/report.js';
import type { BenchConfig } from './worker.js';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '400' },
    tools: { type: 'string', default: '4' },
    store: { type: 'string', multiple: true },
    peer: { type: 'boolean', default: false },
  },
});
const runs = Number(values.runs);
const tools = Number(values.tools);
const stepsEach = 2 * tools + 1;
const atOnce = 16;
const kinds = (['sqlite', 'postgres', 'redis'] as const).filter((kind) => values.store === undefined || values.store.includes(kind));
const peers = ['@langchain/langgraph@1.7.3', '@langchain/langgraph-checkpoint-postgres@1.0.5', '@langchain/core@1.4.0', 'zod@4.6.7'];
const worker = fileURLToPath(new URL('worker.js', import.meta.url));
const peerWorker = fileURLToPath(new URL('../../bench-durable/langgraph-worker.mjs', import.meta.url));

/** A process that says `ready`, and perhaps `done MS`. */
function start(program: string, config: object): { readonly child: ChildProcess; said(word: string): Promise<string> } {
  const child = spawn(process.execPath, [program, JSON.stringify(config)], { stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (piece) => {
    text += String(piece);
  });
  return {
    child,
    async said(word) {
      while (!text.includes(word)) {
        if (child.exitCode !== null) throw new Error(`A process of the benchmark ended with ${child.exitCode} before it said ${word}.`);
        await sleep(5);
      }
      return text;
    },
  };
}

/** Runs of `run` or of a peer, shared between processes that begin together. Milliseconds until the last one is done. */
async function measureShares(program: string, processes: number, config: (name: string, share: number) => object): Promise<number> {
  const started = Array.from({ length: processes }, (_, index) =>
    start(program, config(`p${processes}-${index}`, Math.round(runs / processes))),
  );
  try {
    await Promise.all(started.map(({ said }) => said('ready')));
    for (const { child } of started) child.stdin?.write('go\n');
    const times = await Promise.all(started.map(async ({ said }) => Number(/done ([\d.]+)/.exec(await said('done'))?.[1])));
    return Math.max(...times);
  } finally {
    for (const { child } of started) child.kill('SIGKILL');
  }
}

/** Runs that are submitted to workers: milliseconds from the first submission until none is left. */
async function measureWorkers(field: Field, processes: number): Promise<number> {
  const address = field.address(`workers-${processes}`);
  const store = await openStore(address);
  const client = durableClient({ store });
  const config = (index: number): BenchConfig => ({ store: address, does: 'worker', runs: 0, tools, atOnce, name: `w${index}` });
  const started = Array.from({ length: processes }, (_, index) => start(worker, config(index)));
  try {
    await Promise.all(started.map(({ said }) => said('ready')));
    await sleep(500);
    const limits = { turns: tools + 2, repeats: 100 };
    const began = performance.now();
    await forAll(
      Array.from({ length: runs }, (_, index) => index),
      atOnce,
      (index) => client.submit('desk', 'Pay the order o-4711 back, please.', { id: `${field.store}-${processes}-${index}`, limits }),
    );
    for (;;) {
      const left = await Promise.all((['queued', 'running'] as const).map((state) => store.runs.list({ state, limit: 1 })));
      if (left.every(({ items }) => items.length === 0)) break;
      await sleep(20);
    }
    const ms = performance.now() - began;
    const failed = await store.sessions.list({ status: 'failed', limit: 1 });
    if (failed.items.length > 0) throw new Error('a run has failed');
    return ms;
  } finally {
    for (const { child } of started) child.kill('SIGKILL');
    await client.close();
    await store.close();
  }
}

function show(what: string, processes: number, ms: number): void {
  const seconds = ms / 1_000;
  process.stdout.write(
    `${what.padEnd(46)}${String(processes).padStart(9)}${(runs / seconds).toFixed(0).padStart(9)}${((runs * stepsEach) / seconds).toFixed(0).padStart(10)}${(ms / runs / stepsEach).toFixed(2).padStart(12)}\n`,
  );
}

async function measurePeer(field: Field): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'guardloop-peer-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
    execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...peers], { cwd: folder, stdio: 'ignore' });
    const program = join(folder, 'langgraph-worker.mjs');
    copyFileSync(peerWorker, program);
    for (const durability of ['sync', 'async'])
      for (const processes of [1, 4]) {
        const connectionString = field.postgres?.createDatabase(`peer-${durability}-${processes}`);
        const config = (name: string, share: number) => ({ connectionString, runs: share, tools, atOnce, durability, name });
        // Its tables are made by one process: several that make them at once fail.
        await measureShares(program, 1, (name) => config(name, 0));
        show(`LangGraph, PostgresSaver, durability ${durability}`, processes, await measureShares(program, processes, config));
      }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.stdout.write(
  `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, load ${loadavg()[0]?.toFixed(1)} before the start.
${runs} runs of ${tools + 1} model calls and ${tools} tools, ${atOnce} at once in each process; commits wait for the disk.\n
${''.padEnd(46)}processes   runs/s   steps/s  ms per step\n`,
);
for (const kind of kinds satisfies readonly StoreKind[]) {
  const field = await openField(kind);
  try {
    for (const processes of [1, 4]) show(`${kind}, submitted to workers`, processes, await measureWorkers(field, processes));
    for (const processes of [1, 4]) {
      const config = (name: string, share: number): BenchConfig => ({
        store: field.address('plain'),
        does: 'runs',
        runs: share,
        tools,
        atOnce,
        name,
      });
      show(`${kind}, run over the store`, processes, await measureShares(worker, processes, config));
    }
    if (kind === 'postgres' && values.peer) await measurePeer(field);
  } finally {
    await field.close();
  }
}
