import { describe, expect, it } from 'vitest';
import { enterRun, modelOf, recordAnswer, recordedCall } from '../../test/enter-run.js';
import { defineAgent } from '../define/agent.js';
import { toolSpecOf } from '../define/definition.js';
import { defineGuardrail } from '../define/guardrail.js';
import { defineTool } from '../define/tool.js';
import type { ToolOutputSubject } from '../define/types.js';
import { allow, deny, rewrite } from '../define/verdict.js';
import type { Label } from '../model/types.js';
import type { CallState } from '../state/state.js';
import type { Ruling } from './guard.js';
import type { Output } from './tool-output.js';
import { judgeOutput, textOutput, toOutput } from './tool-output.js';

const label: Label = { origin: 'tool:look', integrity: 'untrusted' };
const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const;
const mixed = [{ type: 'text', text: 'See.' }, image] as const;

/** A call of the tool `look` under guardrails that answer so, and what they were asked about. */
async function looking(answer: (subject: ToolOutputSubject) => unknown = () => allow(), phase: 'rewrite' | 'check' = 'rewrite') {
  const asked: ToolOutputSubject[] = [];
  const guardrail = defineGuardrail({
    name: 'words',
    on: ['toolOutput'],
    [phase]: (subject: ToolOutputSubject) => {
      asked.push(subject);
      return answer(subject);
    },
  } as never);
  const elsewhere = defineGuardrail({ name: 'elsewhere', on: ['toolOutput'], tools: ['send'], check: () => deny('Not here.') });
  const tool = defineTool({ name: 'look', description: 'Looks.', input: { type: 'object' }, execute: () => 'seen' });
  const agent = defineAgent({ name: 'a', instructions: '', model: modelOf(), tools: [tool], guardrails: [guardrail, elsewhere] });
  const entered = await enterRun(agent);
  recordAnswer(entered.handle, [recordedCall('look', { input: { at: 'door' } })]);
  const call = entered.handle.state.calls.get('1.0') as CallState;
  return { ...entered, call, asked, open: { handle: entered.handle, call, tool: toolSpecOf(tool, 'look') } };
}
type Looking = Awaited<ReturnType<typeof looking>>;
const matter = (output: Output, form: ToolOutputSubject['form'] = 'output') => ({ output, form, isError: false, label });
/** What a rewrite by this makes of an output: the value that results, or the refusal. */
async function rewritten(value: unknown, by: unknown): Promise<Ruling<Output>> {
  const { open } = await looking(() => ({ action: 'rewrite', reason: 'Why.', value: by }));
  return judgeOutput(open, matter(toOutput(value)));
}
const outcome = async (value: unknown, by: unknown) => (await rewritten(value, by)).value;

it('a text is an output that is no more than that', () => {
  expect(textOutput('a')).toStrictEqual({ content: 'a', value: 'a', isStructured: false });
});

it.each<[string, unknown, Output]>([
  ['a text', 'a', { content: 'a', value: 'a', isStructured: false }],
  ['an object', { a: 1 }, { content: '{"a":1}', value: { a: 1 }, isStructured: true }],
  ['parts', mixed, { content: mixed, value: mixed as never, isStructured: true }],
])('%s that a tool gave is an output', (_what, value, output) => {
  expect(toOutput(value)).toStrictEqual(output);
});

describe('guardrails on a tool', () => {
  it('are told the tool, the call, its input and what it gave', async () => {
    const { open, asked } = await looking();
    await judgeOutput(open, { ...matter(toOutput({ a: 1 })), isError: true });
    expect(asked).toStrictEqual([
      {
        surface: 'toolOutput',
        content: '{"a":1}',
        label,
        tool: 'look',
        callId: '1.0',
        input: { at: 'door' },
        output: { a: 1 },
        isError: true,
        form: 'output',
      },
    ]);
    expect(Object.isFrozen(asked[0])).toBe(true);
  });

  it('are told the text of parts', async () => {
    const { open, asked } = await looking();
    await judgeOutput(open, matter(toOutput(mixed)));
    expect(asked[0]).toMatchObject({ content: 'See.\n[image image/png, 8 bytes]', output: mixed, isError: false });
  });

  it('are asked about each form under its own subject', async () => {
    const { open, asked, handle } = await looking();
    for (const form of ['output', 'details', 'projected'] as const) await judgeOutput(open, matter(textOutput('a'), form));
    expect(asked.map(({ form, projected }) => [form, projected])).toEqual([
      ['output', undefined],
      ['details', undefined],
      ['projected', true],
    ]);
    expect(asked[0]).not.toHaveProperty('projected');
    const verdicts = handle.root.events.filter((event) => event.type === 'guard.verdict');
    expect(verdicts.map(({ subject, surface, revision, projected }) => [subject, surface, revision, projected])).toEqual([
      ['r/1.0', 'toolOutput', 0, undefined],
      ['r/1.0/details', 'toolOutput', 0, undefined],
      ['r/1.0/projected', 'toolOutput', 0, true],
    ]);
  });

  it('can refuse, and cannot ask a person', async () => {
    const { open } = await looking(() => deny('Secret.'));
    expect(await judgeOutput(open, matter(textOutput('a')))).toMatchObject({
      refusal: { action: 'deny', surface: 'toolOutput', by: 'words', reason: 'Secret.' },
    });
    const asking = await looking(() => ({ action: 'ask', reason: 'May it?' }));
    expect(await judgeOutput(asking.open, matter(textOutput('a')))).toMatchObject({ refusal: { failed: true }, asks: [] });
  });

  it('answer with rewrites and checks, whose verdicts the end of the call commits', async () => {
    const { open, handle, asked } = await looking(() => allow(), 'check');
    expect(await judgeOutput(open, matter(textOutput('a')))).toMatchObject({ refusal: undefined });
    expect(asked).toHaveLength(1);
    handle.append({
      type: 'tool.end',
      callId: '1.0',
      tool: 'look',
      id: 'r/1.0',
      status: 'ok',
      content: 'a',
      label,
      revision: 0,
      chars: 1,
    });
    expect(handle.root.events.at(-1)?.answers).toBe('a');
  });

  it('still count for a while after the run was stopped', async () => {
    const slow = async (run: Looking, ms: number): Promise<Ruling<Output>> => {
      run.handle.abort({ kind: 'halt' });
      const judging = judgeOutput(run.open, matter(textOutput('a')));
      run.clock.pass(ms);
      return judging;
    };
    let pass: (verdict: unknown) => void = () => undefined;
    const waiting = () =>
      looking(
        () =>
          new Promise((resolve) => {
            pass = resolve;
          }),
      );
    expect((await slow(await waiting(), 2_000)).isStopped).toBe(true);
    const ruling = slow(await waiting(), 1_999);
    pass(allow());
    expect((await ruling).isStopped).toBe(false);
  });
});

describe('a rewrite of an output', () => {
  it('gives a text anew, or in places', async () => {
    expect(await outcome('abc', 'x')).toStrictEqual(textOutput('x'));
    expect(await outcome('abc', [{ start: 0, end: 1, with: '-' }])).toStrictEqual(textOutput('-bc'));
  });

  it('gives another value', async () => {
    expect(await outcome('abc', { a: 1 })).toStrictEqual({ content: '{"a":1}', value: { a: 1 }, isStructured: true });
    expect(await outcome({ a: 1 }, { b: 2 })).toStrictEqual({ content: '{"b":2}', value: { b: 2 }, isStructured: true });
  });

  it('changes the JSON of a value in places, where it stays JSON', async () => {
    expect(await outcome({ a: 1 }, [{ start: 5, end: 6, with: '2' }])).toStrictEqual({
      content: '{"a":2}',
      value: { a: 2 },
      isStructured: true,
    });
    expect(await outcome({ a: 1 }, '[1]')).toStrictEqual({ content: '[1]', value: [1], isStructured: true });
    expect(await outcome({ a: 1 }, 'null')).toStrictEqual({ content: 'null', value: null, isStructured: true });
  });

  it('puts a text in the place of parts, and keeps images beside places that were changed', async () => {
    const whole = await outcome(mixed, 'x');
    expect(whole).toStrictEqual({ content: [{ type: 'text', text: 'x' }], value: 'x', isStructured: false });
    expect(Object.isFrozen(whole.content)).toBe(true);
    const text = 'Look.\n[image image/png, 8 bytes]';
    expect(await outcome(mixed, [{ start: 0, end: 3, with: 'Look' }])).toStrictEqual({
      content: [{ type: 'text', text }, image],
      value: text,
      isStructured: false,
    });
  });

  it.each<[string, unknown, unknown]>([
    ['places that do not exist', 'abc', [{ start: 0, end: 9, with: '' }]],
    ['a text that is no JSON for a value', { a: 1 }, 'no'],
    ['places that leave no JSON', { a: 1 }, [{ start: 0, end: 1, with: '' }]],
    ['a list that is no places', 'abc', [1]],
    ['nothing', 'abc', undefined],
    ['null', 'abc', null],
    ['a number', 'abc', 5],
    ['a function', 'abc', () => 'x'],
  ])('fails the guardrail with %s', async (_what, value, by) => {
    expect(await rewritten(value, by)).toMatchObject({ refusal: { by: 'words', failed: true }, value: toOutput(value) });
  });

  it('made by the function for rewrites is one', async () => {
    const { open } = await looking(({ content }) => rewrite(content.toUpperCase(), 'Louder.'));
    expect((await judgeOutput(open, matter(textOutput('abc')))).value).toStrictEqual(textOutput('ABC'));
  });
});
