import { describe, expect, it } from 'vitest';
import { agentOf, calls, eventsOf, scripted, settle, tool, usage } from '../../test/scene.js';
import { defineGuardrail } from '../define/guardrail.js';
import { allow, deny, rewrite } from '../define/verdict.js';
import type { AssistantMessage, Message, ToolMessage, UserMessage } from '../model/types.js';
import { keepPairs } from './make-view.js';
import { run } from './run.js';

const label = { origin: 'user', integrity: 'trusted' } as const;
const developer = { origin: 'developer', integrity: 'trusted' } as const;
const user = (id: string): UserMessage => ({ role: 'user', id, via: 'user', parts: [], label });
const answer = (id: string, ...made: string[]): AssistantMessage => ({
  role: 'assistant',
  id,
  agent: 'desk',
  text: '',
  calls: made.map((call) => ({ id: call, name: 'look', input: {} })),
  label,
});
const result = (callId: string): ToolMessage => ({
  role: 'tool',
  id: `r${callId}`,
  callId,
  tool: 'look',
  content: '',
  isError: false,
  label,
});

type View = (
  messages: readonly Message[],
  info: { readonly context: unknown; readonly agent: string; readonly turn: number; readonly signal: AbortSignal },
) => unknown;

/** A run of two turns, whose view is asked before each. */
async function viewed(view: View, { agent = {}, options = {} }: { readonly agent?: object; readonly options?: object } = {}) {
  const model = scripted([calls('look', { at: 'sky' })], 'Done.');
  const made = agentOf({ model, tools: [tool('look', () => 'Blue.', { flow: { effect: 'read', results: 'trusted' } })], ...agent });
  const outcome = await run(made, 'hello', { runId: 'r1', view: view as () => [], ...options });
  return {
    outcome,
    shown: model.requests.map(({ messages }) =>
      messages.map((message) =>
        message.role === 'user'
          ? `${message.id} ${message.parts.map((part) => (part.type === 'text' ? part.text : '')).join()}`
          : message.id,
      ),
    ),
    starts: eventsOf(outcome.log, 'model.start').map(({ view: entries }) => entries),
    model,
  };
}
const failure = (outcome: unknown) =>
  (outcome as { readonly error?: { readonly code: string; readonly message: string; readonly cause?: unknown } }).error;

describe('a view', () => {
  it('is everything where there is none: nothing is recorded of it', async () => {
    const { starts, shown } = await viewed(undefined as never);
    expect(starts).toEqual([undefined, undefined]);
    expect(shown).toEqual([['r1/i1 hello'], ['r1/i1 hello', 'r1/1', 'r1/1.0']]);
  });

  it('is asked before each turn with what there is, and who asks', async () => {
    const asked: unknown[] = [];
    const { starts, shown } = await viewed(
      (messages, { context, agent, turn, signal }) => {
        asked.push({ ids: messages.map(({ id }) => id), context, agent, turn, isAborted: signal.aborted });
        return messages;
      },
      { options: { context: { user: 'u1' } } },
    );
    const who = { context: { user: 'u1' }, agent: 'desk', isAborted: false };
    expect(asked).toEqual([
      { ids: ['r1/i1'], turn: 1, ...who },
      { ids: ['r1/i1', 'r1/1', 'r1/1.0'], turn: 2, ...who },
    ]);
    expect(starts).toEqual([undefined, undefined]);
    expect(shown[1]).toEqual(['r1/i1 hello', 'r1/1', 'r1/1.0']);
  });

  it('is shown one list that grows, and is recorded where it gives another one', async () => {
    const lists: unknown[] = [];
    const { starts } = await viewed((messages) => {
      lists.push(messages);
      return [...messages];
    });
    expect(lists[1]).toBe(lists[0]);
    expect(starts).toEqual([['r1/i1'], ['r1/i1', 'r1/1', 'r1/1.0']]);
  });

  it('may leave messages out, in pairs, and gives each once', async () => {
    const { shown } = await viewed((messages) => (messages.length > 1 ? [messages[0], messages[0], messages[1]] : messages));
    expect(shown).toEqual([['r1/i1 hello'], ['r1/i1 hello']]);
  });

  it('may give messages in another order, copies of them, and holes are refused', async () => {
    const { shown } = await viewed((messages) => {
      const [first, ...rest] = messages;
      return [...rest, { ...first }, ...rest, first];
    });
    expect(shown[1]).toEqual(['r1/1', 'r1/1.0', 'r1/i1 hello']);
    const { outcome } = await viewed((messages) => [...messages, undefined]);
    expect(failure(outcome)?.message).toContain('neither a message it was given nor { text }');
  });

  it('may write texts of its own, which are recorded and judged once', async () => {
    let judged = 0;
    const sees = defineGuardrail({
      name: 'sees',
      on: ['input'],
      check: ({ content }) => {
        if (content === 'So far.') judged += 1;
        return allow();
      },
    });
    const { starts, shown, outcome } = await viewed((messages) => [{ text: 'So far.' }, ...messages, { text: 'So far.' }], {
      agent: { guardrails: [sees] },
    });
    const item = {
      role: 'user',
      id: 'r1/1/v1',
      via: 'view',
      parts: [{ type: 'text', text: 'So far.', label: developer }],
      label: developer,
    };
    expect(starts[0]).toEqual([item, 'r1/i1', { ...item, id: 'r1/1/v2' }]);
    expect(starts[1]).toHaveLength(4);
    expect(shown[0]).toEqual(['r1/1/v1 So far.', 'r1/i1 hello', 'r1/1/v2 So far.']);
    expect(judged).toBe(0);
    expect(eventsOf(outcome.log, 'guard.verdict').map(({ subject }) => subject)).toEqual(['r1/input', 'r1/1/view']);
    expect(eventsOf(outcome.log, 'model.start').map(({ answers }) => answers)).toEqual(['a', undefined]);
  });

  it('writes nothing that is more trusted than what there is', async () => {
    const { starts } = await viewed((messages) => [{ text: `${messages.length}` }], { agent: { tools: [tool('look', () => 'Blue.')] } });
    const integrity = starts.map((entries) => (entries?.[0] as UserMessage | undefined)?.label.integrity);
    expect(integrity).toEqual(['trusted', 'untrusted']);
  });

  it('has its texts in the form that a guardrail gave them', async () => {
    const mends = defineGuardrail({
      name: 'mends',
      on: ['input'],
      rewrite: ({ content }) => (content === 'secret' ? rewrite('***', 'hidden') : allow()),
    });
    const { shown, starts } = await viewed((messages) => [{ text: 'secret' }, ...messages], { agent: { guardrails: [mends] } });
    expect(shown[0]).toEqual(['r1/1/v1 ***', 'r1/i1 hello']);
    expect(starts[0]?.[0]).toMatchObject({ id: 'r1/1/v1', parts: [{ text: '***' }] });
  });

  it('tells what its texts took, together', async () => {
    const used = { model: 'small', usage: { requests: 1, inputTokens: 3, outputTokens: 2 } };
    const { outcome } = await viewed((messages) =>
      messages.length === 1 ? [...messages, { text: 'a', used }, { text: 'b', used }, { text: 'c' }] : messages,
    );
    expect(eventsOf(outcome.log, 'model.start').map(({ viewUsage }) => viewUsage)).toEqual([[used, used], undefined]);
    expect(outcome.usage).toMatchObject({ inputTokens: 2 * 10 + 2 * 3, requests: 4 });
  });

  it('ends the run where a guardrail refuses what it wrote, with what that took', async () => {
    const refuses = defineGuardrail({
      name: 'refuses',
      on: ['input'],
      check: ({ content }) => (content === 'secret' ? deny('no') : allow()),
    });
    const used = { model: 'small', usage };
    const { outcome, starts } = await viewed((messages) => [...messages, { text: 'secret', used }], { agent: { guardrails: [refuses] } });
    expect(outcome).toMatchObject({ status: 'blocked', by: 'refuses', surface: 'input' });
    expect(starts).toEqual([]);
    expect(eventsOf(outcome.log, 'run.end')[0]).toMatchObject({ viewUsage: [used], answers: 'd' });
  });

  it.each([
    ['no list', () => 7, 'gave no list before turn 1'],
    ['something that it was not given', () => [{ id: 'other' }], 'neither a message it was given nor { text }'],
    ['nothing', () => [null], 'neither a message it was given nor { text }'],
    ['a number', () => [7], 'neither a message it was given nor { text }'],
    ['a text that is none', () => [{ text: 7 }], 'neither a message it was given nor { text }'],
    ['what it took, without a model', () => [{ text: 'x', used: { usage } }], 'whose `used` does not fit'],
    ['what it took, without usage', () => [{ text: 'x', used: { model: 'm' } }], 'whose `used` does not fit'],
    ['what it took, without requests', () => [{ text: 'x', used: { model: 'm', usage: {} } }], 'whose `used` does not fit'],
    ['nothing that it took', () => [{ text: 'x', used: null }], 'whose `used` does not fit'],
  ])('fails the run where it gives %s', async (_what, view, message) => {
    const { outcome, model } = await viewed(view);
    expect(outcome.status).toBe('failed');
    expect(failure(outcome)).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) });
    expect(model.requests).toEqual([]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new TypeError('secret');
      },
    ],
    ['rejects', () => Promise.reject(new TypeError('secret'))],
  ])('fails the run where it %s, and its words are not told', async (_how, view) => {
    const { outcome } = await viewed(view);
    const error = failure(outcome);
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('threw before turn 1 of agent desk') });
    expect(error?.cause).toMatchObject({ name: 'TypeError' });
    expect(error?.message).not.toContain('secret');
  });

  it('may take its time', async () => {
    expect((await viewed(async (messages) => messages)).outcome).toMatchObject({ status: 'completed' });
  });

  it.each([
    ['it is asked', () => new Promise(() => undefined), {}],
    [
      'what it wrote is judged',
      () => [{ text: 'slow' }],
      {
        guardrails: [
          defineGuardrail({
            name: 'slow',
            on: ['input'],
            check: ({ content }) => (content === 'slow' ? new Promise<never>(() => undefined) : allow()),
          }),
        ],
      },
    ],
  ])('is stopped with the run while %s', async (_what, view, agent) => {
    const controller = new AbortController();
    const going = viewed(view, { agent, options: { signal: controller.signal } });
    for (let turns = 0; turns < 5; turns += 1) await settle();
    controller.abort();
    const { outcome, starts } = await going;
    expect(outcome.status).toBe('cancelled');
    expect(starts).toEqual([]);
  });
});

describe('calls and their results', () => {
  const ids = (messages: readonly Message[]) => keepPairs(messages).map(({ id }) => id);
  it.each<[string, readonly Message[], readonly string[]]>([
    ['stay where all are there', [user('u'), answer('a', '1', '2'), result('1'), result('2'), answer('b')], ['u', 'a', 'r1', 'r2', 'b']],
    ['are left out where a result is missing', [answer('a', '1', '2'), result('1'), user('u')], ['u']],
    ['are left out where the last result is missing', [user('u'), answer('a', '1', '2'), result('1')], ['u']],
    ['are left out where results are in another order', [answer('a', '1', '2'), result('2'), result('1')], []],
    ['are left out where something stands between', [answer('a', '1'), user('u'), result('1')], ['u']],
    ['are left out where the result is of another call', [answer('a', '1'), result('2')], []],
    ['are left out where the call is missing', [result('1'), user('u')], ['u']],
    ['leave alone what comes after', [answer('a', '1'), result('1'), result('1'), answer('b', '2'), result('2')], ['a', 'r1', 'b', 'r2']],
  ])('%s', (_what, messages, expected) => {
    expect(ids(messages)).toEqual(expected);
  });
});
