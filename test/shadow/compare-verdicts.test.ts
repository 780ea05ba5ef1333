import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ComparedSubject, Comparison, Log, RunResult, Subject, ToolInputSubject } from '@guardloop/core';
import {
  allow,
  ask,
  asTool,
  compareVerdicts,
  comparisonMarkdown,
  defineAgent,
  defineGuardrail,
  definePolicy,
  defineTool,
  deny,
  halt,
  handoff,
  headTail,
  jsonFields,
  memorySession,
  resume,
  rewrite,
  run,
  withContext,
  withDetails,
} from '@guardloop/core';
import { callTool, say, scriptedModel, think } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { memoryQuarantine } from '../promises/drive.js';

const everywhere = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'] as const;
const input = z.object({ id: z.string() });
const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input,
  flow: { effect: 'read' },
  execute: ({ id }) => ({ id, state: 'late' }),
});
const rowOf = ({ subjects }: Comparison, surface: string, end: string): ComparedSubject => {
  const row = subjects.find((each) => each.surface === surface && each.subject.endsWith(end));
  if (row === undefined)
    throw new Error(`no ${surface} ${end} among ${subjects.map((each) => `${each.surface} ${each.subject}`).join(', ')}`);
  return row;
};
const short = ({ surface, subject, status, recorded, replayed, why }: ComparedSubject) =>
  [surface, subject.slice(subject.indexOf('/') + 1), status, recorded.action, replayed?.action ?? why].join(' ');
const refusing = (what: string, on: readonly (typeof everywhere)[number][] = everywhere, name = `no-${what}`) =>
  defineGuardrail({
    name,
    on: on as typeof everywhere,
    check: ({ content }) => (content.includes(what) ? deny(`no ${what} here`) : allow()),
  });
/** Keeps every subject that it is shown, and allows it. */
const watching = (seen: Subject[]) =>
  defineGuardrail({
    name: 'watching',
    on: everywhere,
    check: (subject) => {
      seen.push(subject);
      return allow();
    },
  });

const model = scriptedModel({
  desk: [
    [say('Let me look.'), callTool('look', { id: 'o1' })],
    callTool('ask_child', { input: 'is o1 late?' }),
    callTool('transfer_to_billing'),
  ],
  child: [say('It is late.')],
  billing: [say('A refund is on its way.')],
});
const child = defineAgent({ name: 'child', instructions: '', model });
const billing = defineAgent({ name: 'billing', instructions: '', model });
const desk = defineAgent({
  name: 'desk',
  instructions: '',
  model,
  tools: [look, asTool(child, { name: 'ask_child', description: 'Asks.' })],
  handoffs: [billing],
});
const recordedRun = (): Promise<RunResult> => run(desk, 'Where is my order?');

describe('what is compared', () => {
  it('every subject of a run with a tool, a child run and a handoff, in the order of the log', async () => {
    const comparison = await compareVerdicts((await recordedRun()).log, []);
    expect(comparison.subjects.map(short)).toEqual([
      'input input same allow allow',
      'output 1 same allow allow',
      'toolInput 1.0 same allow allow',
      'toolOutput 1.0 same allow allow',
      'toolInput 2.0 same allow allow',
      'input 2.0/input same allow allow',
      'output 2.0/1 same allow allow',
      'toolOutput 2.0 same allow allow',
      'handoff 3.0 same allow allow',
      'input 3.0/input same allow allow',
      'output 4 same allow allow',
    ]);
    expect(comparison.total).toEqual({ subjects: 11, same: 11, changed: 0, unknown: 0 });
    expect(comparison.runs.map(({ agent, subjects, parent }) => [agent, subjects, parent !== undefined])).toEqual([
      ['desk', 9, false],
      ['child', 2, true],
    ]);
  });

  it('what changes, by whom and why, and from where on it may not have come to pass', async () => {
    const comparison = await compareVerdicts((await recordedRun()).log, [refusing('late')]);
    expect(rowOf(comparison, 'toolOutput', '/1.0')).toMatchObject({
      status: 'changed',
      agent: 'desk',
      tool: 'look',
      recorded: { action: 'allow' },
      replayed: { action: 'deny', by: 'no-late', reason: 'no late here' },
    });
    expect(comparison.subjects.filter(({ status }) => status === 'changed').map(short)).toEqual([
      'toolOutput 1.0 changed allow deny',
      'toolInput 2.0 changed allow deny',
      'input 2.0/input changed allow deny',
      'output 2.0/1 changed allow deny',
      'toolOutput 2.0 changed allow deny',
    ]);
    expect(comparison.subjects.map(({ afterDivergence }) => afterDivergence === true)).toEqual([
      ...Array(4).fill(false),
      ...Array(7).fill(true),
    ]);
    expect(comparison.runs[0]?.divergence).toMatchObject({ surface: 'toolOutput', tool: 'look', replayed: { by: 'no-late' } });
    expect(comparison.changes).toEqual({ 'allow → deny': 5 });
    expect(comparison.surfaces.output).toEqual({ subjects: 3, same: 2, changed: 1, unknown: 0 });
    expect(comparison.guardrails).toMatchObject([{ guardrail: 'no-late', answers: { allow: 6, deny: 5 }, changed: 5, failed: 0 }]);
  });

  it('guardrails of an agent are asked while it is active, those of a tool about its calls', async () => {
    const { log } = await recordedRun();
    const closed = defineGuardrail({ name: 'closed', on: everywhere, check: () => deny('closed') });
    const ofAgent = await compareVerdicts(log, { agents: { billing: [closed] } });
    expect(ofAgent.subjects.filter(({ status }) => status === 'changed').map(short)).toEqual([
      'handoff 3.0 changed allow deny',
      'input 3.0/input changed allow deny',
      'output 4 changed allow deny',
    ]);
    const ofTool = await compareVerdicts(log, {
      tools: { look: [defineGuardrail({ name: 'dry', on: ['toolInput'], check: () => halt('dry') })] },
    });
    expect(ofTool.subjects.filter(({ status }) => status === 'changed').map(short)).toEqual(['toolInput 1.0 changed allow halt']);
  });

  it('runs of a session one by one: what was seen in one is not new in the next', async () => {
    const session = { store: memorySession(), id: 's' };
    const talker = defineAgent({ name: 'talker', instructions: '', model: scriptedModel(() => say('Yes.')) });
    await run(talker, 'A poem?', { session });
    await run(talker, 'And?', { session });
    const { log } = await run(talker, 'Well?', { session });
    const seen: Subject[] = [];
    const comparison = await compareVerdicts(log, [watching(seen), refusing('poem')]);
    expect(seen.flatMap((subject) => (subject.surface === 'input' ? [subject.items.map(({ text }) => text)] : []))).toEqual([
      ['A poem?'],
      ['And?'],
      ['Well?'],
    ]);
    expect(comparison.runs.map(({ changed, divergence }) => [changed, divergence !== undefined])).toEqual([
      [1, true],
      [0, false],
      [0, false],
    ]);
    expect(comparison.subjects.filter(({ afterDivergence }) => afterDivergence)).toHaveLength(1);
  });

  it('approvals: an edit, and the checks after an approval', async () => {
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      input,
      flow: { effect: 'write' },
      approval: true,
      execute: ({ id }) => `paid ${id}`,
    });
    const payer = defineAgent({
      name: 'payer',
      instructions: '',
      model: scriptedModel([callTool('pay', { id: 'o1' }), callTool('pay', { id: 'o2' }), say('Done.')]),
      tools: [pay],
    });
    let result: RunResult = await run(payer, 'Pay.');
    for (const decision of [{ edit: { id: 'o9' } }, 'approve'] as const) {
      if (result.status !== 'interrupted') throw new Error(result.status);
      result = await resume(payer, result.log, { decisions: { [result.approvals[0]?.id ?? '']: decision } });
    }
    expect(result.status).toBe('completed');
    const { subjects } = await compareVerdicts(JSON.parse(JSON.stringify(result.log)) as Log, [
      refusing('o9'),
      refusing('o2', ['toolInput']),
    ]);
    expect(subjects.filter(({ surface }) => surface.startsWith('tool')).map(short)).toEqual([
      'toolInput 1.0 same allow allow',
      'toolInput 1.0 changed allow deny',
      'toolOutput 1.0 changed allow deny',
      'toolInput 2.0 changed allow deny',
      'toolInput 2.0 changed allow deny',
      'toolOutput 2.0 same allow allow',
    ]);
  });

  it('a call that was refused after its approval, since what was judged is recorded', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', input, approval: true, execute: ({ id }) => `paid ${id}` });
    let isClosed = false;
    const gate = defineGuardrail({ name: 'gate', on: ['toolInput'], check: () => (isClosed ? deny('closed') : allow()) });
    const payer = defineAgent({
      name: 'payer',
      instructions: '',
      model: scriptedModel([callTool('pay', { id: 'o1' }), say('Done.')]),
      tools: [pay],
      guardrails: [gate],
    });
    const paused = await run(payer, 'Pay.');
    if (paused.status !== 'interrupted') throw new Error(paused.status);
    isClosed = true;
    const done = await resume(payer, paused.log, { decisions: { [paused.approvals[0]?.id ?? '']: 'approve' } });
    isClosed = false;
    const { subjects } = await compareVerdicts(done.log, { agents: { payer: [gate] } });
    expect(subjects.filter(({ surface }) => surface === 'toolInput').map(short)).toEqual([
      'toolInput 1.0 same allow allow',
      'toolInput 1.0 changed deny allow',
    ]);
  });

  it('an answer in quarantine, once it was let out', async () => {
    const careful = defineGuardrail({ name: 'careful', on: ['output'], check: () => ask('may this be said?') });
    const talker = defineAgent({ name: 'talker', instructions: '', model: scriptedModel([say('A bold claim.')]), guardrails: [careful] });
    const quarantine = memoryQuarantine();
    const paused = await run(talker, 'Well?', { quarantine });
    if (paused.status !== 'interrupted') throw new Error(paused.status);
    const waiting = await compareVerdicts(paused.log, { agents: { talker: [careful] } });
    expect(waiting.subjects.map(short)).toEqual(['input input same allow allow', 'output 1 unknown ask waiting']);
    const id = paused.approvals[0]?.id ?? '';
    const said = await resume(talker, paused.log, { quarantine, decisions: { [id]: 'approve' } });
    expect((await compareVerdicts(said.log, { agents: { talker: [careful] } })).subjects.map(short)).toEqual([
      'input input same allow allow',
      'output 1 same ask ask',
    ]);
    expect((await compareVerdicts(said.log, [])).subjects.map(short)[1]).toBe('output 1 changed ask allow');
  });

  it('shown reasoning, structured answers, details, projections, errors, returned handoffs and answers of tools', async () => {
    const seen: Subject[] = [];
    const tools = [
      defineTool({ name: 'detail', description: 'D.', input: z.object({}), execute: () => withDetails('short', { rows: [1, 2] }) }),
      defineTool({ name: 'projected', description: 'P.', input: z.object({}), execute: () => 'a long text', project: () => 'a summary' }),
      defineTool({ name: 'whole', description: 'W.', input: z.object({}), execute: () => 'fits', project: headTail({ maxChars: 500 }) }),
      defineTool({
        name: 'fields',
        description: 'F.',
        input: z.object({}),
        execute: () => ({ a: 1, b: 2 }),
        project: jsonFields({ keep: ['a'] }),
      }),
      defineTool({
        name: 'broken',
        description: 'B.',
        input: z.object({}),
        execute: () => {
          throw new Error('no stock');
        },
      }),
      defineTool({ name: 'json', description: 'J.', input: z.object({}), execute: () => '{"a":1}' }),
      defineTool({ name: 'pass', description: 'X.', input: z.object({}), execute: () => handoff(last, { brief: 'take over' }) }),
    ];
    const answer = defineTool({ name: 'answer', description: 'A.', input: z.object({}), endsRun: true, execute: () => ({ ok: true }) });
    const script = scriptedModel({
      first: [
        [think('Hm.'), say('One moment.'), ...['detail', 'projected', 'whole', 'fields', 'broken', 'json'].map((name) => callTool(name))],
        callTool('pass'),
      ],
      last: [callTool('answer')],
    });
    const last = defineAgent({ name: 'last', instructions: '', model: script, tools: [answer], output: z.object({ ok: z.boolean() }) });
    const first = defineAgent({ name: 'first', instructions: '', model: script, tools });
    const result = await run(first, 'Go.', { reasoning: 'show' });
    expect(result.status).toBe('completed');
    const comparison = await compareVerdicts(result.log, [watching(seen)]);
    const unknown = comparison.subjects.filter(({ status }) => status === 'unknown');
    expect(unknown.map(({ tool, why }) => `${tool} ${why}`).sort()).toEqual(['fields cut', 'projected cut']);
    const told = (surface: string) => seen.flatMap((subject) => (subject.surface === surface ? [subject] : []));
    expect(told('output')).toMatchObject([
      { content: 'Hm.', kind: 'reasoning', final: false },
      { content: 'One moment.', kind: 'answer', final: false },
      { content: '{"ok":true}', kind: 'answer', final: true, value: { ok: true } },
    ]);
    const outputs = told('toolOutput').map(
      (subject) => subject.surface === 'toolOutput' && [subject.tool, subject.form, subject.output, subject.isError],
    );
    expect(outputs).toEqual(
      expect.arrayContaining([
        ['detail', 'output', 'short', false],
        ['detail', 'details', { rows: [1, 2] }, false],
        ['projected', 'projected', 'a summary', false],
        ['whole', 'output', 'fits', false],
        ['broken', 'output', 'broken failed: no stock', true],
        ['json', 'output', '{"a":1}', false],
        ['pass', 'output', 'take over', false],
        ['answer', 'output', { ok: true }, false],
      ]),
    );
    expect(outputs).toHaveLength(8);
  });

  it('what a view wrote, and a history that a filter chose', async () => {
    const script = scriptedModel({ a: [callTool('look', { id: 'o1' }), callTool('transfer_to_b')], b: [say('Here.')] });
    const b = defineAgent({ name: 'b', instructions: '', model: script });
    const filtered = handoff(b, {
      history: (messages) =>
        messages.slice(0, 1).map((message) => ({ ...message, parts: [{ type: 'text', text: 'in short' }] }) as typeof message),
    });
    const a = defineAgent({ name: 'a', instructions: '', model: script, tools: [look], handoffs: [filtered] });
    const result = await run(a, 'A long story.', { view: (messages) => (messages.length > 2 ? [{ text: 'a summary' }] : messages) });
    expect(result).toMatchObject({ status: 'completed', agent: 'b' });
    const seen: Subject[] = [];
    await compareVerdicts(result.log, [watching(seen)]);
    const entries = seen.flatMap((subject) =>
      subject.surface === 'input' ? [subject.items.map(({ via, text }) => `${via}: ${text}`)] : [],
    );
    expect(entries).toEqual([
      ['user: A long story.'],
      ['view: a summary'],
      ['session: in short', 'handoff: Handed off from a.'].map((text) => text.replace('session', 'user')),
    ]);
  });
});

describe('logs of every kind', () => {
  it('standing decisions, three levels deep, decided in other processes', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', input, execute: ({ id }) => `paid ${id}` });
    const script = scriptedModel({
      clerk: [callTool('pay', { id: 'o1' }), callTool('pay', { id: 'o2' }), say('Paid.')],
      desk: [callTool('ask_clerk', { input: 'pay' }), say('It is paid.')],
      front: [callTool('ask_desk', { input: 'pay' }), say('Done.')],
    });
    const clerk = defineAgent({ name: 'clerk', instructions: '', model: script, tools: [pay] });
    const middle = defineAgent({
      name: 'desk',
      instructions: '',
      model: script,
      tools: [asTool(clerk, { name: 'ask_clerk', description: 'C.' })],
    });
    const front = defineAgent({
      name: 'front',
      instructions: '',
      model: script,
      tools: [asTool(middle, { name: 'ask_desk', description: 'D.' })],
    });
    const careful = defineGuardrail({ name: 'careful', on: ['toolInput'], tools: ['pay'], check: () => ask('may this be paid?') });
    const paused = await run(front, 'Pay.', { guardrails: [careful] });
    if (paused.status !== 'interrupted') throw new Error(paused.status);
    const decisions = { [paused.approvals[0]?.id ?? '']: { approve: 'standing', when: {} } } as const;
    const done = await resume(front, JSON.parse(JSON.stringify(paused.log)) as Log, { guardrails: [careful], decisions });
    expect(done.status).toBe('completed');
    const same = await compareVerdicts(done.log, [careful]);
    expect(same.subjects.filter(({ status }) => status !== 'same')).toEqual([]);
    expect(same.runs.map(({ agent }) => agent)).toEqual(['front', 'desk', 'clerk']);
    expect(same.subjects.filter(({ recorded }) => recorded.action === 'ask')).toHaveLength(4);
    const open = await compareVerdicts(done.log, []);
    expect(open.changes).toEqual({ 'ask → allow': 4 });
    expect(open.runs.map(({ divergence }) => divergence?.agent)).toEqual([undefined, undefined, 'clerk']);
  });

  it('a log of version 0.1.0', async () => {
    const log = JSON.parse(readFileSync(new URL('../fixtures/log-0.1.0.json', import.meta.url), 'utf8')) as Log;
    const seen: Subject[] = [];
    const beside = await compareVerdicts(log, [watching(seen)], { recorded: 'kept' });
    expect(beside.total.changed).toBe(0);
    expect(beside.total.same).toBeGreaterThan(10);
    expect(new Set(seen.map(({ surface }) => surface)).size).toBeGreaterThan(3);
  });

  it('no logs at all', async () => {
    const comparison = await compareVerdicts([], [refusing('x')]);
    expect(comparison).toMatchObject({ subjects: [], runs: [], total: { subjects: 0 }, changes: {}, isComplete: true });
    expect(comparisonMarkdown(comparison)).toContain('0 answers of 0 would change');
  });
});

describe('what is not known is said, not guessed', () => {
  it('refused input, a rewritten answer, a refused call and a repaired answer', async () => {
    const refused = await run(desk, 'A poem.', { guardrails: [refusing('poem')] });
    expect((await compareVerdicts(refused.log, [])).subjects.map(short)).toEqual(['input input unknown deny refused']);
    const masks = defineGuardrail({ name: 'masks', on: ['output'], rewrite: () => rewrite('[masked]', 'masked') });
    const talker = defineAgent({
      name: 'talker',
      instructions: '',
      model: scriptedModel([callTool('look', { id: 'bad' }), say('rude'), say('Fine.')]),
      tools: [look],
    });
    const mixed = await run(talker, 'Well?', {
      guardrails: [refusing('bad', ['toolInput']), refusing('rude', ['output'], 'polite'), masks].reverse(),
    });
    const comparison = await compareVerdicts(mixed.log, []);
    expect(comparison.subjects.map(short)).toEqual([
      'input input same allow allow',
      'toolInput 1.0 unknown deny refused',
      'output 2 unknown rewrite rewritten',
    ]);
    expect(
      comparison.subjects
        .filter(({ status }) => status === 'unknown')
        .every(({ replayed, verdicts }) => replayed === undefined && verdicts.length === 0),
    ).toBe(true);
    const repaired = await run(talker, 'Well?', { guardrails: [refusing('rude', ['output'], 'polite')] });
    expect((await compareVerdicts(repaired.log, [])).subjects.map(short).slice(-2)).toEqual([
      'output 2 unknown deny refused',
      'output 3 same allow allow',
    ]);
  });

  it('beside what was recorded, what was refused stays refused unless its guardrail is the one that is replaced', async () => {
    const refused = await run(desk, 'A poem.', { guardrails: [refusing('poem')] });
    const beside = await compareVerdicts(refused.log, [refusing('other')], { recorded: 'kept' });
    expect(beside.subjects.map(short)).toEqual(['input input same deny deny']);
    const instead = await compareVerdicts(refused.log, [refusing('other', everywhere, 'no-poem')], { recorded: 'kept' });
    expect(instead.subjects.map(short)).toEqual(['input input unknown deny refused']);
  });

  it('a rewritten form can be judged beside the one that rewrote it', async () => {
    const masks = defineGuardrail({ name: 'masks', on: ['output'], rewrite: () => rewrite('[masked]', 'masked') });
    const talker = defineAgent({ name: 'talker', instructions: '', model: scriptedModel([say('A name.')]) });
    const { log } = await run(talker, 'Well?', { guardrails: [masks] });
    const { subjects } = await compareVerdicts(log, [refusing('[masked]', ['output'], 'no-masks')], { recorded: 'kept' });
    expect(subjects.map(short)[1]).toBe('output 1 changed rewrite deny');
  });
});

describe('guardrails are asked as in a run', () => {
  it('with frozen subjects, labels, paths, messages, reads and the context of their log', async () => {
    interface Shop {
      readonly user: string;
    }
    const shop = withContext<Shop>();
    const users: string[] = [];
    const told: unknown[] = [];
    const guard = shop.defineGuardrail({
      name: 'own',
      on: ['toolInput', 'toolOutput', 'output'],
      check: (subject, { context, agentPath, labels, untrustedReads, messages }) => {
        users.push(context.user);
        told.push([subject.surface, subject.label, agentPath.join('>'), labels.view.integrity, untrustedReads.length, messages.length]);
        expect(Object.isFrozen(subject)).toBe(true);
        if (subject.surface === 'toolInput') expect(() => Object.assign(subject.raw, { id: 'x' })).toThrow(TypeError);
        if (subject.surface === 'toolOutput') expect(() => Object.assign(subject.output as object, { id: 'x' })).toThrow(TypeError);
        return allow();
      },
    });
    const { log } = await recordedRun();
    const logs = [JSON.parse(JSON.stringify(log)) as Log, log];
    await compareVerdicts(logs, [guard], { contextOf: (_, index) => ({ user: `u${index}` }), concurrency: 1 });
    expect([...new Set(users)]).toEqual(['u0', 'u1']);
    expect(told.slice(0, 5)).toEqual([
      ['output', { origin: 'agent:desk', integrity: 'trusted' }, 'desk', 'trusted', 0, 1],
      ['toolInput', { origin: 'agent:desk', integrity: 'trusted' }, 'desk', 'trusted', 0, 1],
      ['toolOutput', { origin: 'tool:look', integrity: 'untrusted' }, 'desk', 'trusted', 0, 2],
      ['toolInput', { origin: 'agent:desk', integrity: 'untrusted' }, 'desk', 'untrusted', 1, 3],
      ['output', { origin: 'agent:child', integrity: 'untrusted' }, 'desk>child', 'untrusted', 0, 1],
    ]);
    // @ts-expect-error a guardrail with a context cannot be asked without one
    await compareVerdicts(logs, [guard]).catch(() => undefined);
    await compareVerdicts(logs, [guard], { context: { user: 'all' } });
    expect(users.at(-1)).toBe('all');
  });

  it('with parsed inputs and what tools declare, where their agent is given', async () => {
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({ cents: z.string().transform(Number), note: z.string().default('none') }),
      flow: { effect: 'send' },
      execute: () => 'paid',
    });
    const payer = defineAgent({
      name: 'payer',
      instructions: '',
      model: scriptedModel([callTool('pay', { cents: '70' }), say('Done.')]),
      tools: [pay],
    });
    const { log } = await run(payer, 'Pay.');
    const seen: ToolInputSubject[] = [];
    const watch = defineGuardrail({
      name: 'watch',
      on: ['toolInput'],
      check: (subject) => {
        seen.push(subject);
        return allow();
      },
    });
    const policy = definePolicy({
      name: 'policy',
      rules: [{ tool: pay, when: ({ cents }) => cents > 50, then: 'ask' }],
      otherwise: 'allow',
    });
    await compareVerdicts(log, [watch]);
    const known = await compareVerdicts(log, [watch, policy], { agent: payer });
    expect(seen).toMatchObject([
      { input: { cents: '70' }, flow: { effect: 'write', declared: false } },
      { input: { cents: 70, note: 'none' }, raw: { cents: '70' }, flow: { effect: 'send', declared: true } },
    ]);
    expect(rowOf(known, 'toolInput', '/1.0')).toMatchObject({ status: 'changed', replayed: { action: 'ask', by: 'policy' } });
  });

  it('failures count as in a run, and are told', async () => {
    const { log } = await recordedRun();
    const hangs = defineGuardrail({ name: 'hangs', on: ['output'], timeoutMs: 5, check: () => new Promise<never>(() => undefined) });
    const throws = defineGuardrail({
      name: 'throws',
      on: ['input'],
      onError: 'halt',
      check: () => {
        throw new Error('my secret');
      },
    });
    const nonsense = defineGuardrail({ name: 'nonsense', on: ['toolInput'], check: () => true as never });
    const open = defineGuardrail({
      name: 'open',
      on: ['toolOutput'],
      onError: 'allow',
      check: async () => {
        throw new Error('down');
      },
    });
    const comparison = await compareVerdicts(log, [hangs, throws, nonsense, open]);
    expect(rowOf(comparison, 'output', '/4').replayed).toEqual({
      action: 'deny',
      by: 'hangs',
      reason: 'guardrail hangs failed',
      failed: true,
    });
    expect(rowOf(comparison, 'input', '/input').replayed).toMatchObject({ action: 'halt', by: 'throws', failed: true });
    expect(rowOf(comparison, 'toolInput', '/1.0').replayed).toMatchObject({ action: 'deny', by: 'nonsense', failed: true });
    expect(rowOf(comparison, 'toolOutput', '/1.0')).toMatchObject({
      status: 'same',
      verdicts: [{ guardrail: 'open', action: 'allow', failed: true }],
    });
    expect(comparison.guardrails.map(({ guardrail, failed }) => [guardrail, failed])).toEqual([
      ['hangs', 3],
      ['throws', 3],
      ['nonsense', 2],
      ['open', 2],
    ]);
    expect(JSON.stringify(comparison)).not.toContain('my secret');
  });

  it('a shadow is told and changes nothing, a rewrite is told by its places, and windows see the text', async () => {
    const { log } = await recordedRun();
    const shadow = defineGuardrail({ name: 'shadow', on: ['output'], shadow: true, check: () => deny('no') });
    const masks = defineGuardrail({
      name: 'masks',
      on: ['output'],
      window: 10,
      rewrite: ({ content }) =>
        content.includes('refund')
          ? rewrite([{ start: content.indexOf('refund'), end: content.indexOf('refund') + 6, with: '…' }], 'masked')
          : allow(),
    });
    const both = await compareVerdicts(log, [shadow]);
    expect(both.total.changed).toBe(0);
    expect(both.guardrails).toMatchObject([{ answers: { deny: 3 }, changed: 0 }]);
    const windows = await compareVerdicts(log, [masks]);
    expect(rowOf(windows, 'output', '/4')).toMatchObject({
      replayed: { action: 'rewrite', by: 'masks', reason: 'masked' },
      verdicts: [{ places: 1 }],
    });
    expect(JSON.stringify(windows)).not.toContain('refund');
  });
});

describe('the replay itself', () => {
  it('takes a few logs at a time, and tells them in their order', async () => {
    const { log } = await run(defineAgent({ name: 'a', instructions: '', model: scriptedModel(() => say('Yes.')) }), 'Hi.');
    let [now, most] = [0, 0];
    const slow = defineGuardrail({
      name: 'slow',
      on: ['output'],
      check: async () => {
        now += 1;
        most = Math.max(most, now);
        await delay(Math.random() * 4);
        now -= 1;
        return allow();
      },
    });
    const comparison = await compareVerdicts(
      Array.from({ length: 12 }, () => log),
      [slow],
      { concurrency: 3 },
    );
    expect(most).toBe(3);
    expect(comparison.subjects.map((row) => row.log)).toEqual(Array.from({ length: 12 }, (_, index) => [index, index]).flat());
  });

  it('ends at its signal with what there is, and its guardrails are told', async () => {
    const { log } = await recordedRun();
    const controller = new AbortController();
    let isTold = false;
    const hangs = defineGuardrail({
      name: 'hangs',
      on: ['toolOutput'],
      check: (_, { signal }) => {
        signal.addEventListener('abort', () => {
          isTold = true;
        });
        queueMicrotask(() => controller.abort());
        return new Promise<never>(() => undefined);
      },
    });
    const began = Date.now();
    const comparison = await compareVerdicts([log, log], [hangs], { signal: controller.signal, concurrency: 1 });
    expect(comparison.isComplete).toBe(false);
    expect(isTold).toBe(true);
    expect(Date.now() - began).toBeLessThan(1_000);
    expect(comparison.subjects.map(short)).toEqual([
      'input input same allow allow',
      'output 1 same allow allow',
      'toolInput 1.0 same allow allow',
    ]);
    expect(comparisonMarkdown(comparison)).toContain('stopped before its end');
  });

  it('tells how well answers fit what was expected', async () => {
    const talker = defineAgent({ name: 'talker', instructions: '', model: scriptedModel(() => say('Fine.')) });
    const texts = ['spam one', 'spam two', 'ham one', 'ham spam'];
    const old = defineGuardrail({ name: 'filter', on: ['input'], onError: 'allow', shadow: true, check: () => allow() });
    const logs = await Promise.all(texts.map(async (text) => (await run(talker, text, { guardrails: [old] })).log));
    const expected = (subject: Subject, { surface, log }: { readonly surface: string; readonly log: number }) => {
      expect(subject.content === texts[log] || surface === 'output').toBe(true);
      return surface === 'input' ? (log < 2 ? ('deny' as const) : ('allow' as const)) : undefined;
    };
    const { expectations } = await compareVerdicts(logs, [refusing('spam', ['input'])], { expected });
    expect(expectations?.recorded).toEqual({ caught: 0, missed: 2, wrong: 0, passed: 2, recall: 0 });
    expect(expectations?.replayed).toEqual({ caught: 2, missed: 0, wrong: 1, passed: 1, precision: 2 / 3, recall: 1 });
  });

  it('refuses what it cannot use, in words', async () => {
    const { log } = await recordedRun();
    const twice = refusing('x');
    await expect(compareVerdicts(log, [twice, twice])).rejects.toMatchObject({ code: 'NAME_TAKEN' });
    await expect(compareVerdicts(log, { run: [twice], agents: { desk: [twice] } })).rejects.toMatchObject({ code: 'NAME_TAKEN' });
    await expect(compareVerdicts({ version: 2, events: [] } as never, [])).rejects.toMatchObject({ code: 'LOG_INVALID' });
    await expect(compareVerdicts(log, 'all' as never)).rejects.toThrow(/guardrails of compareVerdicts are "all"/);
    await expect(compareVerdicts(log, { agent: {} } as never)).rejects.toThrow(/"agent"/);
    await expect(compareVerdicts(log, { agents: { desk: twice } } as never)).rejects.toThrow(/agent desk/);
    await expect(compareVerdicts(log, [], { concurrency: 0 })).rejects.toThrow(/concurrency/);
    await expect(compareVerdicts(log, [], { mode: 'x' } as never)).rejects.toThrow(/mode/);
  });

  it('names what was given for agents and tools that no log names', async () => {
    const { log } = await recordedRun();
    const closed = defineGuardrail({ name: 'closed', on: ['toolInput'], check: () => deny('closed') });
    const comparison = await compareVerdicts(log, {
      agents: { biling: [closed], billing: [] },
      tools: { lok: [closed], look: [], ask_child: [] },
    });
    expect(comparison.unmatched).toEqual(['agent biling', 'tool lok']);
    expect(comparisonMarkdown(comparison)).toContain('No log names agent biling, tool lok:');
  });

  it('is a page of Markdown without any content, whatever stands in names and reasons', async () => {
    const { log } = await run(desk, 'My secret is 1234.');
    const odd = defineGuardrail({ name: 'odd|name', on: ['output'], check: () => deny('no | pipes\n# and <b>lines</b>') });
    const comparison = await compareVerdicts([log, (await run(desk, 'A poem.', { guardrails: [refusing('poem')] })).log], [odd]);
    const page = comparisonMarkdown(comparison);
    expect(page).toContain('# What would change\n');
    expect(page).toContain('deny by odd\\|name: no \\| pipes \\# and \\<b\\>lines\\</b\\>');
    expect(page).toContain('- 1: was refused');
    expect(page).not.toContain('secret');
    for (const line of page.split('\n').filter((each) => each.startsWith('|'))) expect(line.endsWith('|')).toBe(true);
    expect(comparisonMarkdown(comparison, { most: 1 })).toContain('and 2 more.');
    expect(JSON.parse(JSON.stringify(comparison))).toEqual(comparison);
    expect(Object.isFrozen(comparison.subjects)).toBe(true);
  });
});
