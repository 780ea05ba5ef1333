import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/** A process that runs agents whose guardrails refuse a word, keeps all results, and then looks for the word in its own heap. */
const script = fileURLToPath(new URL('./heap-process.mjs', import.meta.url));

it('what is refused is not even in the memory that results, sessions, agents and streams keep', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
  });
  const told = JSON.parse(stdout) as {
    readonly control: number;
    readonly refused: readonly string[];
    readonly statuses: readonly string[];
  };
  // A word that is kept on purpose is found: the search works.
  expect(told.control).toBeGreaterThan(0);
  expect(told.statuses).toEqual(['blocked', 'blocked', 'completed', 'completed', 'completed', 'completed', 'completed', 'completed']);
  expect(told.refused).toEqual([]);
});
