// Every example runs to its end without network, key or terminal: each `main.ts`, as it was built.

import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const examples = fileURLToPath(new URL('../examples', import.meta.url));
const mains = readdirSync(examples, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(join(examples, entry.name, 'main.ts')))
  .map((entry) => entry.name);

function start(name) {
  const file = join(examples, 'dist', name, 'main.js');
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--enable-source-maps', file],
      { cwd: dirname(file), timeout: 60_000 },
      (error, stdout, stderr) => resolve({ code: error ? (error.code ?? 1) : 0, output: stdout + stderr }),
    );
    child.stdin?.end();
  });
}

test.each(mains)('example %s runs', async (name) => {
  const { code, output } = await start(name);
  expect(code, output).toBe(0);
  expect(output).not.toBe('');
});
