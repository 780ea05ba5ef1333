import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A process that waits for its turn. */
export interface Child {
  /** The next thing it tells. */
  next(): Promise<unknown>;
  /** Lets it go on. */
  go(): void;
}

const children: ChildProcess[] = [];

/** Starts `child.mjs` with a task; resolves when it is ready. */
export async function startChild(task: object, account: { readonly uid?: number } = {}): Promise<Child> {
  const script = fileURLToPath(new URL('./child.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(task)], { stdio: ['pipe', 'pipe', 'inherit'], ...account });
  children.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => {
    const line = await lines.next();
    if (line.done) throw new Error(`The process ended before it told anything more (${child.exitCode}).`);
    return JSON.parse(line.value);
  };
  if ((await next()) !== 'ready') throw new Error('The process told something before it was ready.');
  return { next, go: () => child.stdin.write('\n') };
}

/** Ends what a test left. */
export function endChildren(): void {
  for (const child of children.splice(0)) child.kill('SIGKILL');
}
