import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CallApproval, Decision, Message } from '@guardloop/core';
import { expect, it, onTestFinished } from 'vitest';

interface Told {
  readonly status: string;
  readonly output?: string;
  readonly by?: string;
  readonly approvals: readonly CallApproval[];
  readonly effects: readonly string[];
  readonly faults: readonly string[];
  readonly asked: readonly string[];
  readonly usage: { readonly requests: number };
  readonly messages: readonly Message[];
}

const worker = fileURLToPath(new URL('./worker.mjs', import.meta.url));

/** A folder with one session, and the processes that take its run on, one after another. */
async function desk() {
  const folder = await mkdtemp(join(tmpdir(), 'nested-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const spawn = (...words: readonly string[]): Promise<number> =>
    new Promise((resolve) => {
      execFile(process.execPath, [worker, folder, ...words], { cwd: fileURLToPath(new URL('..', import.meta.url)) }, (error) =>
        resolve(typeof error?.code === 'number' ? error.code : error ? 1 : 0),
      );
    });
  const step = async (command: 'run' | 'resume', decisions: Readonly<Record<string, Decision>> = {}): Promise<Told> => {
    expect(await spawn(command, JSON.stringify(decisions))).toBe(0);
    const told = JSON.parse(await readFile(join(folder, 'told.json'), 'utf8')) as Told;
    expect(told.faults).toEqual([]);
    return told;
  };
  return {
    step,
    crash: (decisions: Readonly<Record<string, Decision>>) => spawn('crash', JSON.stringify(decisions)),
    effects: async () => (await readFile(join(folder, 'effects.txt'), 'utf8')).trim().split('\n').sort(),
  };
}

const idsFor = (told: Told, ...wanted: readonly string[]): Record<string, Decision> =>
  Object.fromEntries(told.approvals.filter(({ input }) => wanted.includes(String(input.id))).map(({ id }) => [id, 'approve']));
const open = (told: Told): readonly string[] => told.approvals.map(({ input }) => String(input.id)).sort();
const all = ['clerk r/1.0/1.1/1.0', 'clerk too r/1.0/1.1/1.1', 'desk r/1.0/1.0', 'front r/1.1'];

it.each([
  ['the deepest first', [['clerk too'], ['clerk'], ['desk', 'front']]],
  ['the outermost first', [['front'], ['desk', 'clerk too'], ['clerk']]],
  ['all together', [['front', 'desk', 'clerk', 'clerk too']]],
] as const)('approvals of three levels are decided in other processes, with nothing but a file between them: %s', async (_name, rounds) => {
  const { step, effects } = await desk();
  let told = await step('run');
  expect(told).toMatchObject({ status: 'interrupted', effects: [], asked: ['front 1', 'desk 1', 'clerk 1'] });
  expect(open(told)).toEqual(['clerk', 'clerk too', 'desk', 'front']);
  let left = open(told);
  for (const round of rounds) {
    told = await step('resume', idsFor(told, ...round));
    expect(told.effects.map((effect) => effect.split(' r')[0]).sort()).toEqual([...round].sort());
    left = left.filter((id) => !(round as readonly string[]).includes(id));
    expect(open(told)).toEqual(left);
  }
  expect(told).toMatchObject({ status: 'completed', output: 'All is paid.', usage: { requests: 6 } });
  expect(await effects()).toEqual(all);
  expect(told.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant']);
});

it('a halt over an edit two levels down, given in another process, ends the root there', async () => {
  const { step } = await desk();
  const first = await step('run');
  const decisions = Object.fromEntries(
    first.approvals.map(({ id, input }): [string, Decision] => [id, input.id === 'clerk' ? { edit: { id: 'evil' } } : 'approve']),
  );
  expect(await step('resume', decisions)).toMatchObject({ status: 'blocked', by: 'of-run', effects: [], approvals: [] });
});

it('a process that dies in the middle of an effect two levels down leaves a question, and what a person says of it is the end of it', async () => {
  const { step, crash, effects } = await desk();
  const first = await step('run');
  expect(await crash(idsFor(first, 'clerk'))).toBe(9);
  const asked = await step('resume');
  expect(open(asked)).toEqual(['clerk', 'clerk too', 'desk', 'front']);
  const doubtful = asked.approvals.find(({ input }) => input.id === 'clerk');
  expect(doubtful).toMatchObject({ mayHaveRun: true, agentPath: ['front', 'desk', 'clerk'] });
  const decisions = { ...idsFor(asked, 'clerk too', 'desk', 'front'), [doubtful?.id ?? '']: { result: 'paid clerk' } };
  const last = await step('resume', decisions);
  expect(last).toMatchObject({ status: 'completed', output: 'All is paid.' });
  expect(await effects()).toEqual(all);
});
