// Child processes: started, waited for, ended; never left behind.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ChildConfig } from './child-config.js';

export interface Life {
  readonly pid: number;
  /** Resolves when it works. Rejects if it ends before, with what it wrote to stderr. */
  readonly ready: Promise<void>;
  /** How it ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** What it wrote to stderr. */
  complaints(): string;
  isOver(): boolean;
  signal(signal: NodeJS.Signals): void;
  /** Kills it, also where it is stopped, and waits for its end. */
  end(): Promise<void>;
}

/** Tests are run from the source; child processes always from what was built. */
const program = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../dist/faults/child.js' : 'child.js', import.meta.url));
const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

let count = 0;
/** Starts a child; its config is written into `folder`. */
export function startChild(folder: string, config: ChildConfig): Life {
  count += 1;
  const file = join(folder, `child-${count}.json`);
  writeFileSync(file, JSON.stringify(config));
  return startProgram(program, [file]);
}

/** Starts a program of Node's, which says `ready` once it works. */
export function startProgram(path: string, parameters: readonly string[]): Life {
  const child = spawn(process.execPath, [path, ...parameters], { stdio: ['ignore', 'pipe', 'pipe'] });
  living.add(child);
  let said = '';
  let complained = '';
  let isOver = false;
  let isReady: () => void = () => undefined;
  child.stdout.on('data', (piece) => {
    said += String(piece);
    if (said.includes('ready')) isReady();
  });
  child.stderr.on('data', (piece) => {
    complained += String(piece);
  });
  const ended = new Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => {
      isOver = true;
      living.delete(child);
      resolve({ code, signal });
    });
  });
  const ready = new Promise<void>((resolve, reject) => {
    isReady = resolve;
    void ended.then(({ signal }) => (signal === null ? reject(new Error(`The child ended before it worked.\n${complained}`)) : resolve()));
  });
  ready.catch(() => undefined);
  return {
    pid: child.pid ?? -1,
    ready,
    ended,
    complaints: () => complained,
    isOver: () => isOver,
    signal: (signal) => void child.kill(signal),
    async end() {
      if (isOver) return;
      child.kill('SIGKILL');
      await ended;
    },
  };
}
