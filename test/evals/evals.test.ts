import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';

const command = fileURLToPath(new URL('../dist/evals/main.js', import.meta.url));
const baseline = readFileSync(fileURLToPath(new URL('baseline.json', import.meta.url)), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'evals-'));
afterAll(() => rmSync(folder, { recursive: true }));

function evals(...parameters: readonly string[]) {
  const { GUARDLOOP_RETAIL: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...parameters], { encoding: 'utf8', env });
  return { status, stdout, stderr };
}

it('the command holds the baseline, prints the modes side by side, and says what it skipped', () => {
  const { status, stdout, stderr } = evals();
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/\| tools \|.*\n\| react \|.*\n\| text-react \|/);
  expect(stdout).toContain('retail tasks were skipped');
  expect(stdout).toContain('Every score is as in the baseline.');
});

it('a score that is worse fails the command, and it says which score fell on which task', () => {
  const file = join(folder, 'baseline.json');
  const better = JSON.parse(baseline) as { results: { react: { [task: string]: { modelCalls: number } } } };
  const task = better.results.react['long-chain'];
  if (task) task.modelCalls = 1;
  writeFileSync(file, JSON.stringify(better));
  const { status, stdout, stderr } = evals('--baseline', file);
  expect(status).toBe(1);
  expect(stdout).toContain('worse: modelCalls of task long-chain (react) 1 → 5');
  expect(stderr).toContain('a score is worse than in the baseline');
});

it('recorded retail tasks are played and scored where their folder is given', () => {
  const pack = (name: string, rows: readonly object[]) =>
    writeFileSync(join(folder, name), gzipSync(rows.map((row) => JSON.stringify(row)).join('\n')));
  const parameters = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };
  pack('tools.jsonl.gz', [
    { name: 'get', type: 'read', schema: { type: 'function', function: { name: 'get', description: 'Gets.', parameters } } },
  ]);
  const step = (id: string, error: string | null) => ({
    name: 'get',
    arguments: { id },
    result: error === null ? { id, is: 'there' } : null,
    error,
  });
  pack('traces.jsonl.gz', [
    { task: '0', steps: [step('a', 'ValueError: a not found'), step('b', null), step('b', null)], communicate_info: ['12.50'] },
    { task: '1', steps: [step('a', null)], communicate_info: [] },
  ]);
  const { status, stdout, stderr } = evals('--retail', folder);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  // Success, steps, calls, precision, recall, redundant (one call of three in one of two tasks), recovery, false blocks.
  expect(stdout).toContain('| retail | 100 | 3 | 2 | 100 | 100 | 16.7 | 100 | 0 |');
});

it('misused, the command says how it is used', () => {
  expect(evals('--trials', 'many')).toMatchObject({ status: 2, stderr: expect.stringContaining('Usage: npm run evals') });
});
