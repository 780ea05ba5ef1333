// Workers in processes of their own, and what they have done.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DbosOptions } from '@guardloop/durable/dbos';
import type { RestateOptions } from '@guardloop/durable/restate';
import { expect, vi } from 'vitest';

export interface WorkerSettings {
  readonly name: string;
  readonly ledger: string;
  readonly store: { readonly postgres: { readonly connectionString: string } } | { readonly sqlite: { readonly file: string } };
  readonly leaseMs?: number | undefined;
  readonly concurrency?: number | undefined;
  readonly queues?: { readonly [queue: string]: { readonly concurrency?: number; readonly tenantConcurrency?: number } } | undefined;
  readonly dbos?: DbosOptions | undefined;
  readonly restate?: RestateOptions | undefined;
  /** What the agent's function makes for each run. */
  readonly options?: object | undefined;
}
export interface WorkerProcess {
  readonly name: string;
  kill(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
  /** As a deployment does. Rejects if it ended otherwise than by itself. */
  stop(): Promise<void>;
}

const children = new Set<ChildProcess>();
/** Ends whatever a test has left. */
export async function endWorkers(): Promise<void> {
  await Promise.all(
    [...children].map(async (child) => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await ended;
    }),
  );
  children.clear();
}

/** Starts a worker and waits until it takes runs. */
export async function startWorker(settings: WorkerSettings): Promise<WorkerProcess> {
  const script = new URL('worker-process.mjs', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, JSON.stringify(settings)], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      output += String(data);
    });
  await vi.waitFor(() => expect(output).toMatch(/^ready$/m), { timeout: 60_000, interval: 20 });
  return {
    name: settings.name,
    kill: (signal) => void child.kill(signal),
    async stop() {
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      const code = await ended;
      if (code !== 0 || !output.includes('stopped')) throw new Error(`worker ${settings.name} ended with ${code}:\n${output}`);
    },
  };
}

export interface LedgerLine {
  readonly word: string;
  readonly key: string;
  readonly worker: string;
}
/** A file that all workers of a test write to. */
export function openLedger() {
  const folder = mkdtempSync(join(tmpdir(), 'guardloop-ledger-'));
  const file = join(folder, 'ledger');
  return {
    file,
    folder,
    lines(): readonly LedgerLine[] {
      if (!existsSync(file)) return [];
      const lines = readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '');
      return lines.map((line) => {
        const [word = '', key = '', worker = ''] = line.split(' ');
        return { word, key, worker };
      });
    },
    /** Lets tools go that were called for 0 milliseconds. */
    openGate: () => writeFileSync(`${file}.open`, ''),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Waits for a condition with all the time in the world. */
export const until = (condition: () => unknown | Promise<unknown>): Promise<void> =>
  vi.waitFor(async () => expect(await condition()).toBe(true), { timeout: 60_000, interval: 25 });
