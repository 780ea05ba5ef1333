import { describe, expect, it } from 'vitest';
import { after, bare } from '../../../test/bare-events.js';
import { agentOf, entered, eventsOf, gate, HandClock, lastEvent, scripted, settle } from '../../../test/scene.js';
import { defineGuardrail } from '../../define/guardrail.js';
import type { Guardrail } from '../../define/types.js';
import { allow, deny, rewrite } from '../../define/verdict.js';
import { memorySession } from '../../session/memory.js';
import type { LogEvent } from '../../state/events.js';
import { run } from '../run.js';
import { guardInput } from './guard-input.js';

const label = { origin: 'user', integrity: 'trusted' } as const;
const item = (text: string, id = 'r1/i1') => ({ role: 'user', id, via: 'user', parts: [{ type: 'text', text, label }], label });
const typesOf = ({ events }: { readonly events: readonly LogEvent[] }) => events.map(({ type }) => type);

const check = (name: string, answer: () => unknown, more: object = {}): Guardrail =>
  defineGuardrail({ name, on: ['input'], check: answer as () => ReturnType<typeof allow>, ...more });
const beside = (name: string, answer: () => unknown): Guardrail => check(name, answer, { beside: 'model' });
const upper = defineGuardrail({ name: 'upper', on: ['input'], rewrite: ({ content }) => rewrite(content.toUpperCase(), 'louder') });

const verdict = (guardrail: string, more: object = {}) => ({
  type: 'guard.verdict',
  guardrail,
  level: 'agent',
  surface: 'input',
  subject: 'r1/input',
  revision: 0,
  phase: 'check',
  action: 'allow',
  ms: 0,
  ...more,
});

const start = (guardrails: readonly Guardrail[], options: object = {}) =>
  run(agentOf({ guardrails }), 'hello', { runId: 'r1', clock: new HandClock(), ...options });

describe('what a run was given', () => {
  it('is accepted as it is where nobody guards it', async () => {
    const { events } = await start([]);
    expect(events[1]).toStrictEqual({
      type: 'input.accept',
      seq: 2,
      at: 1_000,
      run: 'r1',
      agent: 'desk',
      subject: 'r1/input',
      revision: 0,
      items: [item('hello')],
    });
  });

  it('is accepted once its guardrails have let it pass, in the form in which they did', async () => {
    const { events } = await start([upper, check('calm', allow)]);
    expect(events.slice(1, 4).map(bare)).toStrictEqual([
      verdict('upper', { subject: 'r1/i1', phase: 'rewrite', action: 'rewrite', reason: 'louder' }),
      verdict('calm', { revision: 1 }),
      { type: 'input.accept', subject: 'r1/input', revision: 1, items: [item('HELLO')], revisions: { 'r1/i1': 1 }, answers: 'ra' },
    ]);
  });

  it('is nowhere where it is refused', async () => {
    const refusal = { action: 'deny', surface: 'input', by: 'calm', reason: 'too loud' };
    const result = await start([check('calm', () => deny('too loud'))]);
    expect(after(result, 'run.start')).toStrictEqual([
      verdict('calm', { action: 'deny', reason: 'too loud' }),
      { type: 'run.end', status: 'blocked', refusal, answers: 'd' },
    ]);
  });

  it('is nowhere where the run is stopped while a guardrail looks', async () => {
    const controller = new AbortController();
    const ended = start([check('slow', () => new Promise(() => undefined))], { signal: controller.signal });
    await settle();
    controller.abort('enough');
    expect(typesOf(await ended)).toEqual(['run.start', 'run.end']);
    expect(await ended).toMatchObject({ status: 'cancelled' });
  });

  it('is given once', async () => {
    const handle = await entered(agentOf());
    await guardInput(handle);
    expect(handle.input).toBeUndefined();
    await guardInput(handle);
    expect(lastEvent(handle)).toMatchObject({ type: 'input.accept', items: [] });
  });
});

describe('what a session holds', () => {
  /** A second run of a session, whose agent has got these guardrails meanwhile. */
  async function again(guardrails: readonly Guardrail[]) {
    const model = scripted('Hello.', 'Hello again.');
    const session = { store: memorySession(), id: 's' };
    const clock = new HandClock();
    await run(agentOf({ model }), 'hello', { runId: 'r0', session, clock });
    const result = await run(agentOf({ model, guardrails }), 'And now?', { runId: 'r1', session, clock });
    const [accept] = eventsOf(result, 'input.accept');
    return { result, model, accept: accept && bare(accept) };
  }
  const accepted = { type: 'input.accept', subject: 'r1/input', items: [item('And now?')], revision: 0 };

  it('is not judged where nobody new stands there', async () => {
    const { accept } = await again([]);
    expect(accept).toStrictEqual(accepted);
  });

  it('is judged by who has not seen it, and named with what they made of it', async () => {
    const { accept, model } = await again([upper]);
    expect(accept).toStrictEqual({
      ...accepted,
      revision: 3,
      items: [item('AND NOW?')],
      changed: [
        { id: 'r0/i1', text: 'HELLO' },
        { id: 'r0/1', text: 'HELLO.' },
      ],
      judged: ['r0/i1', 'r0/1'],
      revisions: { 'r0/i1': 1, 'r0/1': 1, 'r1/i1': 1 },
      answers: 'rrr',
    });
    expect(model.requests[1]?.messages).toMatchObject([
      { id: 'r0/i1', parts: [{ text: 'HELLO' }] },
      { id: 'r0/1', text: 'HELLO.' },
      { id: 'r1/i1', parts: [{ text: 'AND NOW?' }] },
    ]);
  });

  it('is named as judged where only guardrails beside the model looked at it', async () => {
    const { accept } = await again([beside('topic', allow)]);
    expect(accept).toStrictEqual({ ...accepted, judged: ['r0/i1', 'r0/1'], answers: 'a' });
  });

  it('is named once where guardrails before the model and beside it looked at it', async () => {
    const seen: unknown[] = [];
    const topic = defineGuardrail({
      name: 'topic',
      on: ['input'],
      beside: 'model',
      check: ({ items }, { messages }) => {
        seen.push(
          items.map(({ text }) => text),
          messages.length,
        );
        return allow();
      },
    });
    const { accept, model } = await again([upper, topic]);
    expect(accept).toMatchObject({ revision: 3, judged: ['r0/i1', 'r0/1'], answers: 'rrra' });
    expect(model.requests[1]?.messages).toMatchObject([
      { id: 'r0/i1', parts: [{ text: 'HELLO' }] },
      { id: 'r0/1', text: 'HELLO.' },
      { id: 'r1/i1', parts: [{ text: 'AND NOW?' }] },
    ]);
    expect(seen).toEqual([['HELLO', 'HELLO.', 'AND NOW?'], 2]);
  });
});

describe('guardrails beside the model', () => {
  it('are asked once, after those before the model, on what those made of the input', async () => {
    const seen: string[] = [];
    const topic = defineGuardrail({
      name: 'topic',
      on: ['input'],
      beside: 'model',
      check: ({ content }) => {
        seen.push(content);
        return allow();
      },
    });
    const result = await start([topic, upper]);
    expect(after(result, 'run.start').slice(0, 4)).toStrictEqual([
      verdict('upper', { subject: 'r1/i1', phase: 'rewrite', action: 'rewrite', reason: 'louder' }),
      { type: 'model.start', turn: 1, model: 'm1', beside: true },
      verdict('topic', { revision: 1, beside: true }),
      { type: 'input.accept', subject: 'r1/input', revision: 1, items: [item('HELLO')], revisions: { 'r1/i1': 1 }, answers: 'ra' },
    ]);
    expect(typesOf(result).filter((type) => type === 'model.start')).toHaveLength(1);
    expect(seen).toEqual(['HELLO']);
  });

  it('end the run where they refuse, and the call with it', async () => {
    const refusal = { action: 'deny', surface: 'input', by: 'topic', reason: 'off topic' };
    const result = await start([beside('topic', async () => deny('off topic'))]);
    expect(after(result, 'run.start')).toStrictEqual([
      { type: 'model.start', turn: 1, model: 'm1', beside: true },
      verdict('topic', { action: 'deny', reason: 'off topic', beside: true }),
      {
        type: 'model.end',
        turn: 1,
        id: 'r1/1',
        text: '',
        revision: 0,
        calls: [],
        label: { origin: 'agent:desk', integrity: 'trusted' },
        status: 'aborted',
        usage: { requests: 1 },
        answers: 'd',
      },
      { type: 'run.end', status: 'blocked', refusal },
    ]);
  });

  it('hold nothing up once the run is stopped, which ends as it was stopped', async () => {
    const controller = new AbortController();
    const ended = start([beside('slow', () => new Promise(() => undefined))], { signal: controller.signal });
    await settle();
    controller.abort('enough');
    const result = await ended;
    expect(typesOf(result)).toEqual(['run.start', 'model.start', 'model.end', 'run.end']);
    expect(result).toMatchObject({ status: 'cancelled' });
  });

  it('are not asked where the run was stopped before the model was', async () => {
    let asked = 0;
    const controller = new AbortController();
    const instructions = gate<string>();
    const topic = beside('topic', () => {
      asked += 1;
      return allow();
    });
    const agent = agentOf({ guardrails: [topic], instructions: () => instructions.promise });
    const ended = run(agent, 'hello', { signal: controller.signal });
    await settle();
    controller.abort();
    instructions.resolve('Help.');
    expect(typesOf(await ended)).toEqual(['run.start', 'run.end']);
    expect(asked).toBe(0);
  });

  it('are not asked where the text of a view was refused', async () => {
    let asked = 0;
    const topic = beside('topic', () => {
      asked += 1;
      return asked === 1 ? deny('a bad summary') : allow();
    });
    const result = await start([topic], { view: () => [{ text: 'Summary.' }] });
    expect(after(result, 'run.start')).toStrictEqual([
      verdict('topic', { subject: 'r1/1/view', action: 'deny', reason: 'a bad summary', beside: true }),
      {
        type: 'run.end',
        status: 'blocked',
        refusal: { action: 'deny', surface: 'input', by: 'topic', reason: 'a bad summary' },
        answers: 'd',
      },
    ]);
    expect(asked).toBe(1);
  });
});
