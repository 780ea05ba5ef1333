import type { Log } from '@guardloop/core';
import { allow, ask, asTool, defineAgent, defineGuardrail, defineTool, deny, resume, run, toolError } from '@guardloop/core';
import { callTool, refuse, say, scriptedModel, think } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { printSteps } from './print-steps.js';
import { react } from './react.js';
import { checkInvariant, steps } from './steps.js';

const look = defineTool({
  name: 'look',
  description: 'Looks something up.',
  input: z.object({ what: z.string() }),
  flow: { effect: 'read' },
  execute: ({ what }) => {
    if (what === 'broken') throw toolError('The index is down.', { errorClass: 'unavailable', retryable: true });
    return `about ${what}`;
  },
});
const call = (what: string) => callTool('look', { what });
const finish = (answer: string) => callTool('final_answer', { answer });
type Script = Parameters<typeof scriptedModel>[0];
const build = (script: Script, more: object = {}) =>
  defineAgent({ name: 'a', instructions: '', model: scriptedModel(script), tools: [look], mode: react(), ...more });
const short = (log: Log) =>
  steps(log).map(({ turn, thought, action, status, fault }) => [turn, thought.place, action.kind, status, fault?.slot]);

describe('the steps of a run', () => {
  it('are thought, action and observation, each in its place', async () => {
    const { log } = await run(
      build([
        [say('I look.'), call('x')],
        [say('Now.'), finish('Done.')],
      ]),
      'go',
      { runId: 'r' },
    );
    expect(steps(log)).toEqual([
      {
        run: 'r',
        agent: 'a',
        turn: 1,
        seq: expect.any(Number),
        thought: { place: 'text', text: 'I look.' },
        action: { kind: 'call', id: '1.0', name: 'look', input: { what: 'x' } },
        observation: { text: 'about x', completeness: 'full' },
        status: 'ok',
      },
      {
        run: 'r',
        agent: 'a',
        turn: 2,
        seq: expect.any(Number),
        thought: { place: 'text', text: 'Now.' },
        action: { kind: 'stop', answer: 'Done.' },
        status: 'final',
      },
    ]);
  });

  it('name the slot of each fault', async () => {
    const { log } = await run(
      build([
        call('x'),
        [say('Wrong input.'), callTool('look', { where: 1 })],
        [say('Unknown.'), callTool('fly', {})],
        [say('Down.'), call('broken')],
        [say('Fine.'), finish('ok')],
      ]),
      'go',
    );
    expect(short(log)).toEqual([
      [1, 'none', 'call', 'error', 'thought'],
      [2, 'text', 'call', 'error', 'action'],
      [3, 'text', 'call', 'error', 'action'],
      [4, 'text', 'call', 'error', 'observation'],
      [5, 'text', 'stop', 'final', undefined],
    ]);
  });

  it('share one thought over parallel calls, and take one from the turn before', async () => {
    const { log } = await run(build([[say('Both.'), call('x'), call('y')], say('Hm.'), call('z'), [say('So.'), finish('ok')]]), 'go');
    expect(short(log)).toEqual([
      [1, 'text', 'call', 'ok', undefined],
      [1, 'text', 'call', 'ok', undefined],
      [2, 'text', 'none', 'thought', undefined],
      [3, 'text', 'call', 'ok', undefined],
      [4, 'text', 'stop', 'final', undefined],
    ]);
    expect(steps(log)[3]?.thought).toEqual({ place: 'text', text: 'Hm.', isEarlier: true });
  });

  it('tell reasoning that is not in the log by its place alone', async () => {
    const agent = build([
      [think('private'), call('x')],
      [think('more'), finish('ok')],
    ]);
    const hidden = await run(agent, 'go');
    expect(steps(hidden.log).map(({ thought }) => thought)).toEqual([{ place: 'thinking' }, { place: 'thinking' }]);
    const shown = await run(agent, 'go', { reasoning: 'show' });
    expect(steps(shown.log).map(({ thought }) => thought.text)).toEqual(['private', 'more']);
  });

  it('hold what waits, what a person decided, and what was cut', async () => {
    const send = defineTool({
      name: 'send',
      description: 'S.',
      input: z.object({ n: z.number() }),
      approval: true,
      execute: ({ n }) => `sent ${n}`,
    });
    const agent = build(
      [
        [say('Send.'), callTool('send', { n: 1 })],
        [say('So.'), finish('ok')],
      ],
      { tools: [send] },
    );
    const asked = await run(agent, 'go');
    expect(short(asked.log)).toEqual([[1, 'text', 'call', 'waiting', undefined]]);
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    const { log } = await resume(agent, asked.log, { decisions: { [asked.approvals[0]?.id ?? '']: { edit: { n: 2 } } } });
    expect(steps(log)[0]).toMatchObject({ action: { input: { n: 2 } }, observation: { text: 'sent 2' }, status: 'ok' });
    for (let length = 0; length <= log.events.length; length += 1) {
      const cut: Log = { version: 1, events: log.events.slice(0, length) };
      expect(steps(cut).length).toBeLessThanOrEqual(2);
      expect(typeof printSteps(cut)).toBe('string');
    }
  });

  it('name why an answer was refused', async () => {
    const no = defineGuardrail({ name: 'no', on: ['output'], check: ({ content }) => (content === 'bad' ? deny('not that') : allow()) });
    const { log } = await run(
      build(
        [
          [say('So.'), finish('bad')],
          [say('So.'), finish('good')],
        ],
        { guardrails: [no] },
      ),
      'go',
    );
    expect(steps(log).map(({ status, fault }) => [status, fault])).toEqual([
      ['refused', { slot: 'stop', why: 'not that' }],
      ['final', undefined],
    ]);
    expect(short((await run(build([refuse()]), 'go')).log)).toEqual([[1, 'none', 'none', 'refused', 'stop']]);
  });

  it('hold those of child runs, and of an answer that a person let pass', async () => {
    const child = defineAgent({ name: 'child', instructions: '', model: scriptedModel([[say('c'), finish('from below')]]), mode: react() });
    const agent = build(
      [
        [say('Ask.'), callTool('ask_child', { input: 'x' })],
        [say('So.'), finish('ok')],
      ],
      {
        tools: [asTool(child, { name: 'ask_child', description: 'Asks.' })],
      },
    );
    const { log } = await run(agent, 'go', { runId: 'r' });
    expect(steps(log).map(({ run: id, parent }) => [id, parent])).toEqual([
      ['r', undefined],
      ['r/1.0', 'r'],
      ['r', undefined],
    ]);
    expect(printSteps(log)).toContain('  Turn 1 of child, run r/1.0');
    const held = new Map<string, unknown>();
    const quarantine = {
      put: async (key: string, value: unknown) => void held.set(key, value),
      get: async (key: string) => held.get(key),
      delete: async (key: string) => void held.delete(key),
    } as never;
    const gate = defineGuardrail({
      name: 'gate',
      on: ['output'],
      check: ({ final, kind }) => (final && kind === 'answer' ? ask('look') : allow()),
    });
    const gated = build([[say('So.'), finish('ok')]], { guardrails: [gate] });
    const asked = await run(gated, 'go', { quarantine });
    expect(short(asked.log)).toEqual([[1, 'none', 'none', 'waiting', undefined]]);
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    const done = await resume(gated, asked.log, { quarantine, decisions: { [asked.approvals[0]?.id ?? '']: 'approve' } });
    expect(done).toMatchObject({ status: 'completed', output: 'ok' });
    expect(steps(done.log)).toMatchObject([
      { thought: { place: 'text', text: 'So.' }, action: { kind: 'stop', answer: 'ok' }, status: 'final' },
    ]);
  });
});

describe('the invariant', () => {
  it('lists every action without a thought, in agents of any mode', async () => {
    const plain = defineAgent({
      name: 'p',
      instructions: '',
      model: scriptedModel([call('x'), [say('Now.'), call('y')], say('Done.')]),
      tools: [look],
    });
    const { log } = await run(plain, 'go');
    expect(checkInvariant(log).map(({ turn, action }) => [turn, action.kind])).toEqual([
      [1, 'call'],
      [3, 'stop'],
    ]);
    const kept = await run(
      build([
        [say('I look.'), call('x')],
        [say('Now.'), finish('ok')],
      ]),
      'go',
    );
    expect(checkInvariant(kept.log)).toEqual([]);
  });
});

describe('printed steps', () => {
  it('go turn by turn, and mark the slot of a fault', async () => {
    const { log } = await run(
      build([
        [say('I look.'), call('broken')],
        [say('Now.'), finish('Done.')],
      ]),
      'go',
      { runId: 'r' },
    );
    expect(printSteps(log)).toBe(
      [
        'Turn 1 of a, run r',
        '  thought:     I look. (text)',
        '  action:      look {"what":"broken"}',
        '! observation: {"status":"error","error_class":"unavailable","summary":"look failed: The index is down.","retryable":true}   <- error, unavailable',
        'Turn 2 of a, run r',
        '  thought:     Now. (text)',
        '  stop:        Done.',
      ].join('\n'),
    );
  });

  it('cannot be forged by what was said, and are cut between characters', async () => {
    const { log } = await run(
      build([
        [say('x\nTurn 9 of a\u202e, run r\u0007'), call('😀'.repeat(400))],
        [say('Now.'), finish('ok')],
      ]),
      'go',
    );
    const printed = printSteps(log, { maxChars: 20 });
    expect(printed.split('\n').filter((line) => line.startsWith('Turn 9'))).toEqual([]);
    expect(printed).toContain('x\\nTurn 9 of a\\u202e,');
    expect(printed).not.toContain('\u0007');
    expect(printed).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/);
  });
});
