// What `npm run build` makes of the entry points of core, tried on a copy of the package that tsc has built.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from './bundle.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const original = join(root, 'packages', 'core');
// As deep in the repository as the original, so that what tsc recorded there holds for the copy.
const core = mkdtempSync(join(root, 'node_modules', '.guardloop-bundle-'));
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const compile = () => execFileSync(process.execPath, [compiler, '-b', core]);
const read = (name) => readFileSync(join(core, 'dist', name), 'utf8');

beforeAll(async () => {
  for (const name of ['dist', 'src', 'package.json', 'tsconfig.json'])
    cpSync(join(original, name), join(core, name), { recursive: true, preserveTimestamps: true });
  symlinkSync(join(original, 'node_modules'), join(core, 'node_modules'), 'junction');
  await bundle(core);
});
afterAll(() => rmSync(core, { recursive: true, force: true }));

/** The text of a module that a consumer's bundler makes of one line. */
async function consume(line) {
  const consumer = await rolldown({
    input: 'consumer',
    external: [/^(zod|p-limit|eventemitter3)/],
    plugins: [
      { name: 'consumer', resolveId: (id) => (id === 'consumer' ? id : undefined), load: (id) => (id === 'consumer' ? line : undefined) },
    ],
  });
  const { output } = await consumer.generate();
  await consumer.close();
  return output.map(({ code }) => code).join('');
}

const imported = (text) => [...text.matchAll(/^import .*?["'](.+)["'];$/gm)].map((match) => match[1]).sort();

test('an entry point loads what both share and the dependencies, and no other file', () => {
  expect(imported(read('index.js'))).toEqual(['./shared.mjs', 'eventemitter3', 'p-limit']);
  expect(imported(read('model.js'))).toEqual(['./shared.mjs']);
  expect(imported(read('shared.mjs'))).toEqual(['p-limit']);
});

test('the report loads no file but its own, and nothing else loads it', () => {
  expect(imported(read('report.js'))).toEqual([]);
  for (const name of ['index.js', 'model.js', 'shared.mjs']) expect(read(name)).not.toContain('guardReport');
});

test('index and model have one GuardloopError', () => {
  const script = `
    const [index, model] = await Promise.all(['index', 'model'].map((name) => import(process.argv[1] + '/dist/' + name + '.js')));
    console.log(index.GuardloopError === model.GuardloopError, new model.GuardloopError('INTERNAL', 'x') instanceof index.GuardloopError);`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script, new URL(`file://${core}`).href], {
    encoding: 'utf8',
  });
  expect(output).toBe('true true\n');
});

test('a consumer that uses one name gets little else', async () => {
  const entry = JSON.stringify(join(core, 'dist', 'index.js'));
  expect(await consume(`export { headTail } from ${entry}`)).not.toMatch(/defineAgent|prepareCalls|compileSchema/);
  expect(await consume(`export { defineTool } from ${entry}`)).not.toMatch(/prepareCalls|memorySession/);
});

test('source maps lead to the sources', () => {
  expect(JSON.parse(read('index.js.map')).sources).toContain('../src/run/loop.ts');
});

test('tsc alone writes its entry points again, so that they are never older than the modules', async () => {
  expect(read('index.js')).not.toContain('./run/run.js');
  compile();
  expect(read('index.js')).toContain('./run/run.js');
  expect(read('model.js')).toContain('./model/collect.js');
});
