import type { Log, LogEvent } from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import { normalLog } from './normal-log.js';

type Draft = LogEvent extends infer E ? (E extends LogEvent ? Omit<E, 'seq' | 'at' | 'agent'> : never) : never;
const logOf = (at: number, drafts: readonly Draft[]): Log => ({
  version: 1,
  events: drafts.map((draft, index) => ({ ...draft, agent: 'a', at: at + index, seq: index + 1 }) as LogEvent),
});

const manifest = { run: [], agent: [], tools: {} };
const limits = { turns: 8, toolCalls: null, tokens: null, cost: null, ms: null, handoffs: 8, repairs: 1, repeats: 3 };
const label = { origin: 'user', integrity: 'trusted' } as const;
const start = (run: string): Draft => ({ type: 'run.start', run, writer: `w-${run}`, limits, manifest });
const resume = (run: string): Draft => ({ type: 'run.resume', run, writer: 'w9', manifest });
const verdict = (run: string, surface: 'input' | 'output' | 'toolInput' | 'toolOutput', subject: string): Draft => ({
  type: 'guard.verdict',
  run,
  guardrail: 'g',
  level: 'run',
  surface,
  subject,
  revision: 0,
  phase: 'check',
  action: 'allow',
  ms: Math.random(),
});
const accept = (run: string, text = 'hi'): Draft => ({
  type: 'input.accept',
  run,
  subject: `${run}/input`,
  revision: 0,
  items: [{ role: 'user', id: `${run}/i1`, via: 'user', parts: [{ type: 'text', text }], label }],
  answers: 'a',
});
const modelStart = (run: string, turn: number): Draft => ({ type: 'model.start', run, turn, model: 'm' });
const modelEnd = (run: string, turn: number, calls: readonly string[] = []): Draft => ({
  type: 'model.end',
  run,
  turn,
  status: 'ok',
  id: `${run}/${turn}`,
  text: 'x',
  revision: 0,
  calls: calls.map((id) => ({ id, name: 'find', input: {}, kind: 'tool', revision: 0 })),
  label,
  usage: { requests: 1, inputTokens: 1, outputTokens: 1 },
});
const toolStart = (run: string, callId: string): Draft => ({
  type: 'tool.start',
  run,
  callId,
  tool: 'find',
  revision: 0,
  input: {},
  idempotencyKey: `${run}/${callId}`,
});
const toolEnd = (run: string, callId: string): Draft => ({
  type: 'tool.end',
  run,
  callId,
  tool: 'find',
  id: `${run}/${callId}`,
  status: 'ok',
  content: callId,
  label,
  revision: 0,
  chars: 1,
});
const end = (run: string): Draft => ({ type: 'run.end', run, status: 'completed', text: 'x' });

const types = (log: Log): readonly string[] => normalLog(log).map(({ type }) => type);

describe('normalLog', () => {
  it('is equal for runs that differ in times, ids and writers only', () => {
    const made = (run: string, at: number) =>
      logOf(at, [
        start(run),
        verdict(run, 'input', `${run}/input`),
        accept(run),
        modelStart(run, 1),
        modelEnd(run, 1, ['1.0']),
        toolStart(run, '1.0'),
        toolEnd(run, '1.0'),
        end(run),
      ]);
    expect(normalLog(made('one', 0))).toEqual(normalLog(made('another/run', 5_000)));
    expect(JSON.stringify(normalLog(made('one', 0)))).not.toMatch(/"at"|"ms":0|"writer"|one/);
  });

  it('names the runs of a session r1, r2, and child runs after them', () => {
    const log = logOf(0, [
      start('x'),
      accept('x'),
      end('x'),
      start('xx'),
      accept('xx'),
      { ...start('xx/1.0'), parent: 'xx', call: '1.0' } as Draft,
    ]);
    expect(normalLog(log).map(({ run }) => run)).toEqual(['r1', 'r1', 'r1', 'r2', 'r2', 'r2/1.0']);
    expect(normalLog(log).at(-1)).toMatchObject({ parent: 'r2', call: '1.0' });
  });

  it('changes nothing of what was said, even where it holds the id of a run', () => {
    const [, item] = normalLog(logOf(0, [start('x'), accept('x', 'x/i1 and x')]));
    expect(item).toMatchObject({ items: [{ id: 'r1/i1', parts: [{ text: 'x/i1 and x' }] }] });
  });

  it('tells runs apart in which anything else differs', () => {
    expect(normalLog(logOf(0, [start('x'), accept('x', 'hi')]))).not.toEqual(normalLog(logOf(0, [start('x'), accept('x', 'ho')])));
    expect(normalLog(logOf(0, [start('x'), accept('x')]))).not.toEqual(normalLog(logOf(0, [start('x')])));
  });

  it('puts the events of parallel calls in call order, of ten and more too', () => {
    const ids = ['1.0', '1.1', '1.2', '1.10'];
    const mixed = logOf(0, [
      start('x'),
      accept('x'),
      modelStart('x', 1),
      verdict('x', 'toolInput', 'x/1.10'),
      verdict('x', 'toolInput', 'x/1.0'),
      modelEnd('x', 1, ids),
      ...['1.2', '1.10', '1.0', '1.1'].map((id) => toolStart('x', id)),
      ...['1.10', '1.1', '1.2', '1.0'].flatMap((id) => [verdict('x', 'toolOutput', `x/${id}`), toolEnd('x', id)]),
      modelStart('x', 2),
    ]);
    const found = normalLog(mixed).map(({ type, callId, subject }) => `${type} ${String(callId ?? subject ?? '')}`.trim());
    expect(found).toEqual([
      'run.start',
      'input.accept r1/input',
      'model.start',
      'guard.verdict r1/1.0',
      'guard.verdict r1/1.10',
      'model.end',
      ...ids.flatMap((id) => [`tool.start ${id}`, `guard.verdict r1/${id}`, `tool.end ${id}`]),
      'model.start',
    ]);
    expect(normalLog(mixed).map(({ seq }) => seq)).toEqual(found.map((_, index) => index + 1));
  });

  it('puts the events of child runs that ran side by side behind one another', () => {
    const child = (id: string, event: Draft): Draft => ({ ...event, run: `x/${id}`, parent: 'x' }) as Draft;
    const log = logOf(0, [
      start('x'),
      modelStart('x', 1),
      modelEnd('x', 1, ['1.0', '1.1']),
      toolStart('x', '1.1'),
      toolStart('x', '1.0'),
      child('1.1', start('')),
      child('1.0', start('')),
      child('1.1', modelStart('', 1)),
      child('1.0', modelStart('', 1)),
      toolEnd('x', '1.0'),
      toolEnd('x', '1.1'),
    ]);
    expect(normalLog(log).map(({ type, run }) => `${run} ${type}`)).toEqual([
      'r1 run.start',
      'r1 model.start',
      'r1 model.end',
      ...['1.0', '1.1'].flatMap((id) => ['r1 tool.start', `r1/${id} run.start`, `r1/${id} model.start`, 'r1 tool.end']),
    ]);
  });

  it('leaves out what a cut made void: verdicts without their event, repeated starts, and the resume itself', () => {
    const whole = [
      start('x'),
      verdict('x', 'input', 'x/input'),
      accept('x'),
      modelStart('x', 1),
      verdict('x', 'output', 'x/1'),
      modelEnd('x', 1, ['1.0']),
      toolStart('x', '1.0'),
      toolEnd('x', '1.0'),
    ];
    const cut = [
      start('x'),
      verdict('x', 'input', 'x/input'),
      resume('x'),
      verdict('x', 'input', 'x/input'),
      accept('x'),
      modelStart('x', 1),
      verdict('x', 'output', 'x/1'),
      resume('x'),
      modelStart('x', 1),
      verdict('x', 'output', 'x/1'),
      modelEnd('x', 1, ['1.0']),
      toolStart('x', '1.0'),
      verdict('x', 'toolOutput', 'x/1.0'),
      resume('x'),
      toolStart('x', '1.0'),
      toolEnd('x', '1.0'),
    ];
    expect(normalLog(logOf(0, cut))).toEqual(normalLog(logOf(7, whole)));
  });

  it('keeps the verdicts that an event commits, also of one that ends the run at its input', () => {
    const refusal = { action: 'deny', surface: 'input', by: 'g', reason: 'no' } as const;
    const blocked: Draft = { type: 'run.end', run: 'x', status: 'blocked', refusal };
    expect(types(logOf(0, [start('x'), verdict('x', 'input', 'x/input'), blocked]))).toEqual(['run.start', 'guard.verdict', 'run.end']);
    expect(types(logOf(0, [start('x'), verdict('x', 'input', 'x/input')]))).toEqual(['run.start']);
    const failed = { ...modelEnd('x', 1), status: 'failed' } as Draft;
    expect(types(logOf(0, [start('x'), accept('x'), modelStart('x', 1), verdict('x', 'output', 'x/1'), failed]))).not.toContain(
      'guard.verdict',
    );
    expect(types(logOf(0, [start('x'), accept('x'), modelStart('x', 1), verdict('x', 'output', 'x/10'), modelEnd('x', 1)]))).not.toContain(
      'guard.verdict',
    );
  });
});
