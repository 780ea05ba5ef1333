import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { after, bare } from '../../../test/bare-events.js';
import type { Turn } from '../../../test/scene.js';
import { agentOf, calls, entered, eventsOf, gate, HandClock, lastEvent, scripted, settle, tool, usage } from '../../../test/scene.js';
import { defineGuardrail } from '../../define/guardrail.js';
import { allow, ask, deny } from '../../define/verdict.js';
import { GuardloopError } from '../../errors.js';
import type { Model, ModelEvent, ModelRequest, StreamOptions } from '../../model/types.js';
import type { RunEvent } from '../../state/events.js';
import { resume, run, stream } from '../run.js';
import { callModel, closeModelCall, openModelCall } from './call-model.js';
import { guardInput } from './guard-input.js';

const label = { origin: 'agent:desk', integrity: 'trusted' } as const;
const never = new Promise<never>(() => undefined);
const text = (words: string): ModelEvent => ({ type: 'text.delta', text: words });
const end = (more: object = {}): ModelEvent => ({ type: 'end', stopReason: 'stop', usage, ...more });
const pass = defineGuardrail({ name: 'pass', on: ['output'], check: allow });
const topic = defineGuardrail({ name: 'topic', on: ['input'], beside: 'model', check: () => allow() });

const start = (agent: object, options: object = {}) => run(agentOf(agent), 'hello', { runId: 'r1', clock: new HandClock(), ...options });
const answerOf = (turn: Turn, agent: object = {}, options: object = {}) => start({ model: scripted(turn), ...agent }, options);

/** A model whose stream is made by hand. */
const modelOf = (stream: (request: ModelRequest, options: StreamOptions) => AsyncIterable<ModelEvent>): Model => ({
  id: 'm1',
  provider: 'maker',
  stream,
});

/** As {@link start}, watched: what is told beside the log, too. */
async function told(agent: object, options: object = {}) {
  const events: RunEvent[] = [];
  const result = await start(agent, { ...options, observers: [(event: RunEvent) => events.push(event)] });
  return { result, events, of: <T extends RunEvent['type']>(type: T) => events.filter((event) => event.type === type) };
}

const voidEnd = (more: object) => ({ type: 'model.end', turn: 1, id: 'r1/1', text: '', revision: 0, calls: [], label, ...more });

describe('the request', () => {
  /** The requests of a run whose model calls `look` once and then answers. */
  async function requestsOf(agent: object, options: object = {}) {
    const model = scripted([calls('look')], 'Seen.', 'Once more.');
    const result = await start({ model, tools: [tool('look', () => 'Blue.')], ...agent }, options);
    return { result, requests: model.requests };
  }

  it('holds nothing that was not asked for', async () => {
    const { requests } = await requestsOf({});
    expect(requests[0]).toStrictEqual({
      agent: 'desk',
      turn: 1,
      system: 'Help.',
      messages: [expect.objectContaining({ id: 'r1/i1' })],
      tools: [{ name: 'look', description: 'Does look.', schema: { type: 'object' } }],
      settings: {},
    });
  });

  it('holds the same settings each time, where no tool choice is among them', async () => {
    const { requests } = await requestsOf({ settings: { temperature: 0 } });
    expect(requests[0]?.settings).toEqual({ temperature: 0 });
    expect(requests[1]?.settings).toBe(requests[0]?.settings);
  });

  it.each(['required', { tool: 'look' }])('forces a call by the choice %j in the first turn of a stay alone', async (toolChoice) => {
    const { requests } = await requestsOf({ settings: { temperature: 0, toolChoice } });
    expect(requests.map(({ toolChoice: choice }) => choice)).toEqual([toolChoice, undefined]);
    expect(requests.map(({ settings }) => settings)).toStrictEqual([{ temperature: 0 }, { temperature: 0 }]);
    expect(requests.map((request) => Object.hasOwn(request, 'toolChoice'))).toEqual([true, false]);
  });

  it.each(['auto', 'none'])('keeps the choice %s in each turn', async (toolChoice) => {
    const { requests } = await requestsOf({ settings: { toolChoice } });
    expect(requests.map(({ toolChoice: choice }) => choice)).toEqual([toolChoice, toolChoice]);
  });

  it('forces a call of the agent that took over, in its own first turn', async () => {
    const model = scripted([calls('transfer_to_billing')], [calls('look')], 'Done.');
    const tools = [tool('look', () => 'Blue.')];
    const billing = agentOf({ name: 'billing', model, tools, settings: { toolChoice: 'required' } });
    expect(await start({ model, handoffs: [billing] })).toMatchObject({ status: 'completed' });
    expect(model.requests.map(({ agent, toolChoice }) => [agent, toolChoice])).toEqual([
      ['desk', undefined],
      ['billing', 'required'],
      ['billing', undefined],
    ]);
  });

  it('names what is wanted of the answer after the agent, in what providers take of a name', async () => {
    const model = scripted('{"ok":true}');
    const name = `Über desk/2-${'x'.repeat(50)}`;
    await start({ model, name, output: z.object({ ok: z.boolean() }) });
    expect(model.requests[0]?.output).toMatchObject({
      name: `_ber_desk_2-${'x'.repeat(38)}_answer`,
      schema: { type: 'object', required: ['ok'] },
    });
  });

  it('ends with a note where the last answer was refused, and the log says so', async () => {
    const strict = defineGuardrail({
      name: 'strict',
      on: ['output'],
      check: ({ content }) => (content === 'Bad.' ? deny('too short') : allow()),
    });
    const model = scripted('Bad.', 'A good answer.');
    const result = await start({ model, guardrails: [strict] });
    const note = 'Your last answer was refused: too short. Give another answer.';
    expect(model.requests.map((request) => [Object.hasOwn(request, 'note'), request.note])).toEqual([
      [false, undefined],
      [true, note],
    ]);
    expect(eventsOf(result, 'model.start').map(bare)).toStrictEqual([
      { type: 'model.start', turn: 1, model: 'm1' },
      { type: 'model.start', turn: 2, model: 'm1', note },
    ]);
  });

  it('forbids calls in the last answer after a limit, and says why', async () => {
    const { requests, result } = await requestsOf({ settings: { toolChoice: 'auto' } }, { limits: { turns: 1 }, onLimit: 'finalize' });
    const note =
      'This is your last answer: the limit of the run is reached. Answer now with what you have, without calling tools, and say what is missing.';
    expect(requests[1]).toMatchObject({ toolChoice: 'none', note });
    expect(bare(eventsOf(result, 'model.start')[1] as never)).toStrictEqual({
      type: 'model.start',
      turn: 2,
      model: 'm1',
      note,
      final: 'turns',
    });
    expect(result).toMatchObject({ status: 'exhausted', output: 'Seen.' });
  });

  it('lets no call of the last answer after a limit run', async () => {
    const model = scripted([calls('look')], [calls('look'), text('So far.')]);
    const result = await start({ model, tools: [tool('look', () => 'Blue.')] }, { limits: { turns: 1 }, onLimit: 'finalize' });
    expect(eventsOf(result, 'tool.end').map(({ status }) => status)).toEqual(['ok', 'aborted']);
    expect(result).toMatchObject({ status: 'exhausted', limit: 'turns', output: 'So far.' });
  });

  it('holds no output schema to a last answer of calls alone: the run is exhausted, and they are in the log', async () => {
    const model = scripted([calls('look')], [calls('look')]);
    const agent = { model, tools: [tool('look', () => 'Blue.')], output: z.object({ a: z.number() }) };
    const result = await start(agent, { limits: { turns: 1, repairs: 0 }, onLimit: 'finalize' });
    expect(result).toMatchObject({ status: 'exhausted', limit: 'turns' });
    expect(eventsOf(result, 'tool.end').map(({ status }) => status)).toEqual(['ok', 'aborted']);
  });

  it('shows what a view chose, which the log names with what the view used', async () => {
    const model = scripted('Hello.');
    const turns: number[] = [];
    const used = { model: 'm0', usage };
    const view = (messages: readonly object[], { turn }: { readonly turn: number }) => {
      turns.push(turn);
      return [{ text: 'Summary.', used }, ...messages];
    };
    const result = await start({ model }, { view });
    expect(turns).toEqual([1]);
    const viewLabel = { origin: 'developer', integrity: 'trusted' } as const;
    const parts = [{ type: 'text', text: 'Summary.', label: viewLabel }];
    expect(after(result, 'input.accept')[0]).toStrictEqual({
      type: 'model.start',
      turn: 1,
      model: 'm1',
      view: [{ role: 'user', id: 'r1/1/v1', via: 'view', parts, label: viewLabel }, 'r1/i1'],
      viewUsage: [used],
    });
    expect(model.requests[0]?.messages.map(({ id }) => id)).toEqual(['r1/1/v1', 'r1/i1']);
  });

  it('is not made where a guardrail refused what a view wrote', async () => {
    const used = { model: 'm0', usage };
    const calm = defineGuardrail({
      name: 'calm',
      on: ['input'],
      check: ({ items }) => (items.some(({ via }) => via === 'view') ? deny('a loud summary') : allow()),
    });
    const model = scripted('Hello.');
    const result = await start({ model, guardrails: [calm] }, { view: () => [{ text: 'Summary.', used }] });
    expect(model.requests).toEqual([]);
    expect(after(result, 'guard.verdict')).toStrictEqual([
      {
        type: 'run.end',
        status: 'blocked',
        refusal: { action: 'deny', surface: 'input', by: 'calm', reason: 'a loud summary' },
        viewUsage: [used],
        answers: 'd',
      },
    ]);
  });
});

describe('a model call', () => {
  it('is told when it begins', async () => {
    const { of } = await told({});
    expect(of('turn.start')).toEqual([{ type: 'turn.start', at: 1_000, run: 'r1', agent: 'desk', turn: 1 }]);
  });

  it('is made without asking the view where the run was stopped before', async () => {
    const controller = new AbortController();
    const instructions = gate<string>();
    let views = 0;
    const view = (messages: readonly object[]) => {
      views += 1;
      return messages;
    };
    const ended = start({ instructions: () => instructions.promise }, { signal: controller.signal, view });
    await settle();
    controller.abort();
    instructions.resolve('Help.');
    expect(after(await ended, 'input.accept')).toStrictEqual([
      { type: 'run.end', status: 'cancelled', cause: expect.objectContaining({ name: 'AbortError' }) },
    ]);
    expect(views).toBe(0);
  });

  it('is not made where the run is stopped while its view is asked', async () => {
    const controller = new AbortController();
    const model = scripted('Hello.');
    const ended = start({ model }, { signal: controller.signal, view: () => never });
    await settle();
    controller.abort();
    expect(after(await ended, 'input.accept').map((event) => (event as RunEvent).type)).toEqual(['run.end']);
    expect(model.requests).toEqual([]);
  });

  it('is not made where who was told of it stops the run, and asks for nothing', async () => {
    const controller = new AbortController();
    const model = scripted('Hello.');
    const observers = [{ 'turn.start': () => controller.abort() }];
    const result = await start({ model }, { signal: controller.signal, observers });
    expect(after(result, 'model.start').slice(0, 1)).toStrictEqual([voidEnd({ status: 'aborted', usage: { requests: 0 } })]);
    expect(result.status).toBe('cancelled');
    expect(model.requests).toEqual([]);
  });

  it('is not read where making it stopped the run', async () => {
    const controller = new AbortController();
    let reads = 0;
    let left = 0;
    const model = modelOf(() => {
      controller.abort();
      return {
        [Symbol.asyncIterator]: () => ({
          next: async () => {
            reads += 1;
            return { done: true, value: undefined };
          },
          return: async () => {
            left += 1;
            return { done: true, value: undefined };
          },
        }),
      };
    });
    const result = await start({ model }, { signal: controller.signal });
    expect(after(result, 'model.start').slice(0, 1)).toStrictEqual([voidEnd({ status: 'aborted', usage: { requests: 1 } })]);
    expect([reads, left]).toEqual([0, 1]);
  });

  it('fails where the model throws at once', async () => {
    const model = modelOf(() => {
      throw new TypeError('no key');
    });
    const result = await start({ model });
    const error = {
      code: 'MODEL_FAILED',
      message: 'Model m1 threw TypeError. Look at the cause; resume the run to ask it again.',
      isRetryable: true,
      cause: expect.objectContaining({ name: 'TypeError' }),
    };
    expect(after(result, 'model.start')).toStrictEqual([
      voidEnd({ status: 'failed', usage: { requests: 1 }, chars: 0, error }),
      { type: 'run.end', status: 'failed', error },
    ]);
  });

  it('counts what a failure tells that it used', async () => {
    const details = { usage: { requests: 3, inputTokens: 7 } };
    const model = modelOf(() => {
      throw new GuardloopError('MODEL_FAILED', 'The provider is away.', { details });
    });
    expect(eventsOf(await start({ model }), 'model.end')).toMatchObject([{ usage: { requests: 3, inputTokens: 7 } }]);
  });

  it('fails where its stream ends without an end, and takes back what was shown', async () => {
    const model = modelOf(async function* () {
      yield text('Hel');
    });
    const { result, of } = await told({ model });
    expect(eventsOf(result, 'model.end').map(bare)).toStrictEqual([
      voidEnd({ status: 'failed', usage: { requests: 1 }, chars: 3, error: expect.objectContaining({ code: 'MODEL_PROTOCOL' }) }),
    ]);
    expect(of('text.retract')).toMatchObject([{ chars: 3, reason: 'the model failed' }]);
  });

  it('fails where it goes on after the end of its answer', async () => {
    const result = await answerOf([text('Hello.'), end(), text('And more.'), end()]);
    expect(eventsOf(result, 'model.end').map(bare)).toStrictEqual([
      voidEnd({
        status: 'failed',
        usage,
        chars: 6,
        error: {
          code: 'MODEL_PROTOCOL',
          message: 'Model m1 went on after the end of its answer. Nothing of it was recorded; resume the run to ask again.',
          isRetryable: true,
        },
      }),
    ]);
  });

  it('is made once more where its answer says that it calls tools and holds no call; nothing of that is recorded', async () => {
    const lost: Turn = [text('Let me look.'), end({ stopReason: 'tools' })];
    const tools = [tool('look', () => 'Blue.')];
    const { result, of } = await told({ model: scripted(lost, 'Blue.'), tools });
    expect(result).toMatchObject({ status: 'completed', output: 'Blue.' });
    expect(of('text.retract')).toMatchObject([{ chars: 12 }]);
    expect(of('model.end')[0]).toMatchObject({ status: 'ok', text: '', empty: true, chars: 12, stopReason: 'tools' });
    const note = 'Your last answer was to call a tool, but no call came with it. Give the whole answer again, with its calls.';
    expect(of('model.start')[1]).toMatchObject({ note });
    expect(JSON.stringify(result.log)).not.toContain('Let me look');
    const twice = await start({ model: scripted(lost, lost), tools });
    const message =
      'The model of agent desk answered twice without a whole answer: no call came where the answer says that it calls tools.';
    expect(twice).toMatchObject({ status: 'failed', error: { code: 'MODEL_PROTOCOL', isRetryable: true, message } });
  });

  it('is whole where there was no tool that it could have called, whatever it says of calls', async () => {
    const result = await answerOf([text('Hello.'), end({ stopReason: 'tools' })]);
    expect(result).toMatchObject({ status: 'completed', output: 'Hello.' });
  });

  it('leaves a stream whose answer makes no sense', async () => {
    let isLeft = false;
    const model = modelOf(async function* () {
      try {
        yield { type: 'tool.call', call: {} as never };
        yield end();
      } finally {
        isLeft = true;
      }
    });
    const result = await start({ model });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_PROTOCOL' } });
    expect(isLeft).toBe(true);
  });

  it('is void where its answer was cut by a token limit, and shows nothing of it', async () => {
    const { result, of } = await told({ model: scripted([text('Hel'), end({ stopReason: 'length' })]) });
    const error = {
      code: 'MODEL_FAILED',
      message:
        'The answer of model m1 was cut by its token limit; no call of it ran, and no text of it was recorded. Raise settings.maxTokens of agent desk, or ask for less.',
      isRetryable: false,
      details: { stopReason: 'length' },
    };
    expect(after(result, 'model.start')).toStrictEqual([
      voidEnd({ status: 'failed', usage, chars: 3, error, stopReason: 'length' }),
      { type: 'run.end', status: 'failed', error },
    ]);
    expect(of('text.retract')).toMatchObject([{ chars: 3, reason: 'the answer was cut by its length limit' }]);
  });

  it('is void where the model refused, which blocks the run', async () => {
    const { result, of } = await told({ model: scripted([text('I ca'), end({ stopReason: 'refusal' })]) });
    const refusal = { action: 'deny', surface: 'output', by: 'model', reason: 'the model refused to answer' };
    expect(after(result, 'model.start')).toStrictEqual([
      voidEnd({ status: 'refused', usage, chars: 4, refusal, stopReason: 'refusal' }),
      { type: 'run.end', status: 'blocked', refusal },
    ]);
    expect(of('text.retract')).toMatchObject([{ chars: 4, reason: 'the model refused' }]);
  });

  it('names another model that answered in its place', async () => {
    const by = { id: 'm2', provider: 'other' };
    const cut = await answerOf([end({ stopReason: 'length', by })]);
    expect(cut).toMatchObject({ error: { message: expect.stringContaining('model m2 was cut') } });
    expect(eventsOf(cut, 'model.end')).toMatchObject([{ model: 'm2' }]);
    expect(eventsOf(await answerOf([end({ stopReason: 'refusal', by })]), 'model.end')).toMatchObject([{ model: 'm2' }]);
    const whole = await answerOf([text('Hello.'), end({ native: { id: 1 }, by })]);
    expect(eventsOf(whole, 'model.end')).toMatchObject([{ model: 'm2', native: { provider: 'other', message: { id: 1 } } }]);
  });

  it('names no other model where the one that was asked answered', async () => {
    const by = { id: 'm1', provider: 'elsewhere' };
    for (const more of [{ by, stopReason: 'length' }, { by, stopReason: 'refusal' }, { by }, {}]) {
      const [event] = eventsOf(await answerOf([text('Hello.'), end(more)]), 'model.end');
      expect(Object.hasOwn(event ?? {}, 'model')).toBe(false);
    }
    const whole = await answerOf([text('Hello.'), end({ native: { id: 1 }, by })]);
    expect(eventsOf(whole, 'model.end')).toMatchObject([{ native: { provider: 'elsewhere', message: { id: 1 } } }]);
  });

  it('records a whole answer', async () => {
    const result = await answerOf([text('Hel'), text('lo.'), end({ native: { id: 1 } })]);
    expect(after(result, 'model.start')).toStrictEqual([
      {
        type: 'model.end',
        turn: 1,
        status: 'ok',
        id: 'r1/1',
        text: 'Hello.',
        revision: 0,
        calls: [],
        label,
        usage,
        stopReason: 'stop',
        native: { provider: 'maker', message: { id: 1 } },
      },
      { type: 'run.end', status: 'completed', text: 'Hello.' },
    ]);
  });

  it('tells once that a limit cannot hold', async () => {
    const { of } = await told({ model: scripted([text('Hi.'), end({ usage: { requests: 1 } })]) }, { limits: { tokens: 100 } });
    expect(of('model.warning')).toMatchObject([{ turn: 1, about: 'limit', message: expect.stringContaining('The limit tokens is 100') }]);
    expect((await told({})).of('model.warning')).toEqual([]);
  });

  it('takes back what it showed where finishing the answer fails', async () => {
    const unreadable: ModelEvent = {
      type: 'tool.call',
      call: {
        name: 'look',
        input: {},
        get providerId(): string {
          throw new Error('unreadable');
        },
      },
    };
    const { result, of } = await told({ model: scripted([text('Let me look.'), unreadable]), tools: [tool('look', () => 'Blue.')] });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'INTERNAL' } });
    expect(of('text.retract')).toMatchObject([{ chars: 12, reason: 'the run failed' }]);
  });
});

describe('what of an answer flows', () => {
  const deltas = (events: readonly RunEvent[], type: 'text.delta' | 'reasoning.delta') =>
    events.flatMap((event) => (event.type === type ? [event.text] : []));
  const thinking: Turn = [{ type: 'reasoning.delta', text: 'Hm' }, { type: 'reasoning.delta', text: '.' }, text('Hel'), text('lo.')];

  it('is all of it where nobody guards it', async () => {
    const { events } = await told({ model: scripted(thinking) }, { reasoning: 'show' });
    expect(deltas(events, 'text.delta')).toEqual(['Hel', 'lo.']);
    expect(deltas(events, 'reasoning.delta')).toEqual(['Hm', '.']);
  });

  it('is nothing before its guardrails have let the whole pass', async () => {
    const { events } = await told({ model: scripted(thinking), guardrails: [pass] }, { reasoning: 'show' });
    expect(deltas(events, 'text.delta')).toEqual(['Hello.']);
    expect(deltas(events, 'reasoning.delta')).toEqual(['Hm.']);
  });

  it('is nothing of a structured answer before it fits', async () => {
    const model = scripted([text('{"ok"'), text(':true}')]);
    const { events } = await told({ model, output: z.object({ ok: z.boolean() }) });
    expect(deltas(events, 'text.delta')).toEqual(['{"ok":true}']);
  });

  it('is nothing more once the run is stopped', async () => {
    const controller = new AbortController();
    const goOn = gate<void>();
    const model = modelOf(async function* () {
      yield { type: 'reasoning.delta', text: 'Hm' };
      await goOn.promise;
      yield { type: 'reasoning.delta', text: ' and more' };
      yield text('Hello.');
      yield end();
    });
    const clock = new HandClock();
    const events: RunEvent[] = [];
    const ended = start(
      { model },
      { clock, signal: controller.signal, reasoning: 'show', observers: [(event: RunEvent) => events.push(event)] },
    );
    await settle();
    controller.abort();
    goOn.resolve();
    const result = await ended;
    expect(deltas(events, 'reasoning.delta')).toEqual(['Hm']);
    expect(result.status).toBe('cancelled');
  });
});

describe('a model call of a run that is stopped', () => {
  it('is recorded with what it had said and used, and what it showed is taken back', async () => {
    const controller = new AbortController();
    const reasons: unknown[] = [];
    const model = modelOf(async function* (_request, { signal }) {
      yield text('Hel');
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason);
          reject(new GuardloopError('MODEL_FAILED', 'It was aborted.', { details: { usage: { requests: 2, inputTokens: 9 } } }));
        });
      });
    });
    const events: RunEvent[] = [];
    const ended = start({ model }, { signal: controller.signal, observers: [(event: RunEvent) => events.push(event)] });
    await settle();
    controller.abort('enough');
    const result = await ended;
    expect(after(result, 'model.start').slice(0, 1)).toStrictEqual([
      voidEnd({ status: 'aborted', usage: { requests: 2, inputTokens: 9 }, chars: 3 }),
    ]);
    expect(reasons).toEqual(['enough']);
    expect(events.filter(({ type }) => type === 'text.retract')).toMatchObject([{ chars: 3, reason: 'the run was stopped' }]);
  });

  it('is left alone 40 ms later where it does not notice, and not before', async () => {
    const controller = new AbortController();
    const clock = new HandClock();
    let isLeft = false;
    const model = modelOf(() => ({
      [Symbol.asyncIterator]: () => ({
        next: () => never,
        return: async () => {
          isLeft = true;
          return { done: true, value: undefined };
        },
      }),
    }));
    let isOver = false;
    const ended = start({ model }, { signal: controller.signal, clock }).then((result) => {
      isOver = true;
      return result;
    });
    await settle();
    controller.abort();
    await settle();
    await clock.pass(39);
    expect([isOver, isLeft]).toEqual([false, false]);
    await clock.pass(1);
    expect([isOver, isLeft]).toEqual([true, true]);
    expect(eventsOf(await ended, 'model.end')).toMatchObject([{ status: 'aborted', usage: { requests: 1 } }]);
  });

  it('leaves no timer where it notices, and is told that nobody reads on', async () => {
    const controller = new AbortController();
    const clock = new HandClock();
    let isLeft = false;
    const model = modelOf(async function* (_request, { signal }) {
      try {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        yield text('Too late.');
        yield end();
      } finally {
        isLeft = true;
      }
    });
    const ended = start({ model }, { signal: controller.signal, clock });
    await settle();
    controller.abort();
    await ended;
    expect(isLeft).toBe(true);
    expect(clock.timers).toEqual([]);
  });

  it('is over at once where it notices and its stream cannot be left', async () => {
    const controller = new AbortController();
    const model = modelOf((_request, { signal }) => ({
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      }),
    }));
    const clock = new HandClock();
    const ended = start({ model }, { signal: controller.signal, clock });
    await settle();
    controller.abort();
    expect(eventsOf(await ended, 'model.end')).toMatchObject([{ status: 'aborted' }]);
    expect(clock.timers).toEqual([]);
  });

  it('never fails the run once the run is stopped, whenever it throws', async () => {
    for (let ticks = 0; ticks < 20; ticks += 1) {
      const controller = new AbortController();
      const model = modelOf(() => ({
        [Symbol.asyncIterator]: () => ({
          next: async () => {
            let waiting = Promise.resolve();
            for (let tick = 0; tick < ticks; tick += 1) waiting = waiting.then(() => undefined);
            waiting.then(() => controller.abort());
            throw new Error('away');
          },
        }),
      }));
      const wasStopped: boolean[] = [];
      const observers = [
        { 'model.end': ({ status }: { status: string }) => wasStopped.push(status === 'failed' && controller.signal.aborted) },
      ];
      await start({ model }, { signal: controller.signal, observers });
      expect(wasStopped).toEqual([false]);
    }
  });
});

describe('a model call beside its checks', () => {
  /** A run whose call was opened beside the checks of its input, and nothing of it read yet. */
  async function opened(model: Model, options: object = {}) {
    const clock = new HandClock();
    const handle = await entered(agentOf({ model, guardrails: [topic] }), { clock, ...options });
    await openModelCall(handle, { beside: [] });
    return { handle, clock };
  }

  it('is made at once, and read on where it was begun', async () => {
    const model = scripted('Hello.');
    const handle = await entered(agentOf({ model, guardrails: [topic] }));
    await guardInput(handle);
    expect(model.requests).toHaveLength(1);
    await callModel(handle);
    expect(model.requests).toHaveLength(1);
    expect(handle.openModelCall).toBeUndefined();
    expect(lastEvent(handle)).toMatchObject({ type: 'model.end', status: 'ok', text: 'Hello.' });
  });

  it('shows the model what it was opened with', async () => {
    const model = scripted('Hello.');
    await opened(model);
    expect(model.requests).toMatchObject([{ messages: [] }]);
  });

  it('is aborted alone where a refusal made it useless', async () => {
    const signals: AbortSignal[] = [];
    const model = modelOf(async function* (_request, { signal }) {
      signals.push(signal);
      await new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () =>
          reject(new GuardloopError('MODEL_FAILED', 'It was aborted.', { details: { usage: { requests: 1, inputTokens: 9 } } })),
        ),
      );
      yield end();
    });
    const { handle, clock } = await opened(model);
    await closeModelCall(handle);
    expect(signals[0]?.reason).toMatchObject({ name: 'AbortError', message: 'The answer is not needed any more.' });
    expect(handle.signal.aborted).toBe(false);
    expect(handle.openModelCall).toBeUndefined();
    expect(bare(lastEvent(handle) as never)).toStrictEqual(voidEnd({ status: 'aborted', usage: { requests: 1, inputTokens: 9 } }));
    expect(clock.timers).toEqual([]);
    const { seq } = handle.root.log;
    await closeModelCall(handle);
    expect(handle.root.log.seq).toBe(seq);
  });

  it('listens to the run no longer once it was closed, or read', async () => {
    const signals: AbortSignal[] = [];
    const hello = scripted('Hello.');
    const model = modelOf((request, options) => {
      signals.push(options.signal);
      return hello.stream(request, options);
    });
    const { handle: read } = await opened(model);
    await callModel(read);
    read.abort({ kind: 'cancel', reason: 'enough' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    const { handle: closed } = await opened(model);
    await closeModelCall(closed);
    closed.abort({ kind: 'cancel', reason: 'enough' });
    expect(signals[1]?.reason).toMatchObject({ message: 'The answer is not needed any more.' });
  });

  it('is aborted with the run, for its reason', async () => {
    const signals: AbortSignal[] = [];
    const model = modelOf(async function* (_request, { signal }) {
      signals.push(signal);
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      yield end();
    });
    const { handle } = await opened(model);
    handle.abort({ kind: 'cancel', reason: 'enough' });
    expect(signals[0]?.reason).toBe('enough');
    expect(await callModel(handle)).toBeUndefined();
    expect(handle.openModelCall).toBeUndefined();
    expect(lastEvent(handle)).toMatchObject({ type: 'model.end', status: 'aborted' });
  });

  it('is aborted where its answer makes no sense', async () => {
    const signals: AbortSignal[] = [];
    const model = modelOf(async function* (_request, { signal }) {
      signals.push(signal);
      yield { type: 'tool.call', call: {} as never };
      yield end();
    });
    const { handle } = await opened(model);
    await callModel(handle);
    expect(lastEvent(handle)).toMatchObject({ type: 'model.end', status: 'failed' });
    expect(signals[0]?.aborted).toBe(true);
    expect(handle.signal.aborted).toBe(false);
  });

  it('that fails while its checks are still asked is no unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    const answer = gate<ReturnType<typeof allow>>();
    const slow = defineGuardrail({ name: 'slow', on: ['input'], beside: 'model', check: () => answer.promise });
    const ended = start({
      model: modelOf(() => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('away')) }) })),
      guardrails: [slow],
    });
    await settle();
    await settle();
    process.off('unhandledRejection', note);
    answer.resolve(allow());
    expect(await ended).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED' } });
    expect(unhandled).toEqual([]);
  });
});

describe('an answer in a stream', () => {
  it('that waits for a person is taken back where it was shown', async () => {
    const picky = defineGuardrail({ name: 'picky', on: ['output'], check: () => ask('look at it') });
    const told: RunEvent[] = [];
    const events = stream(agentOf({ guardrails: [picky] }), 'hello', { release: 'live' });
    for await (const event of events) told.push(event as RunEvent);
    expect(told.filter(({ type }) => type.startsWith('text.')).map(({ type }) => type)).toEqual(['text.delta', 'text.retract']);
  });

  it('is asked for again where the run is resumed after it failed', async () => {
    let asked = 0;
    const model = modelOf(async function* () {
      asked += 1;
      if (asked === 1) throw new Error('away');
      yield text('Hello.');
      yield end();
    });
    const agent = agentOf({ model });
    const failed = await run(agent, 'hello');
    expect(await resume(agent, failed.log)).toMatchObject({ status: 'completed', output: 'Hello.' });
  });
});
