// Type tests: `*.test-d.ts` files must compile, and every `@ts-expect-error` in them must be needed, under each compiler.

import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const packages = readdirSync(`${root}/packages`).map((name) => `packages/${name}`);
/** Users compile against the packages with either; the tests across packages are ours alone. */
const compilers = {
  'TypeScript 7': { path: 'node_modules/typescript/bin/tsc', members: [...packages, 'test'] },
  'TypeScript 5.9': { path: 'scripts/node_modules/typescript-5.9/bin/tsc', members: packages },
};

function compile(compiler, member) {
  const child = spawn(process.execPath, [compiler, '--project', `${member}/tsconfig.test.json`], { cwd: root });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })));
}

describe.each(Object.entries(compilers))('under %s', (_name, { path, members }) => {
  test.each(members)('the types of %s hold', async (member) => {
    expect(await compile(path, member)).toEqual({ code: 0, output: '' });
  });
});
