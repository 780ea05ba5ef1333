import type { Message, ModelEvent, ModelRequest } from '@guardloop/core/model';
import { collect, GuardloopError } from '@guardloop/core/model';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Script } from './script.js';
import { attempts, callTool, callUnparsable, cutOff, endWith, failWith, refuse, say, think, wait, warn } from './script.js';
import type { ScriptedModelOptions } from './scripted-model.js';
import { scriptedModel } from './scripted-model.js';

const request = (turn: number, more: Partial<ModelRequest> = {}): ModelRequest => ({
  agent: 'triage',
  turn,
  system: '',
  messages: [],
  tools: [],
  settings: {},
  ...more,
});
const user = (id: string, via: 'user' | 'handoff' | 'parent'): Message => ({
  role: 'user',
  id,
  via,
  parts: [{ type: 'text', text: 'x' }],
  label: { origin: 'user', integrity: 'trusted' },
});
const signal = new AbortController().signal;
const answer = (script: Script, asked: ModelRequest, options?: ScriptedModelOptions) =>
  collect(scriptedModel(script, options).stream(asked, { signal }));
const drain = async (events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> => {
  const all: ModelEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
};

describe('scriptedModel', () => {
  it.each([
    ['delay', 'Did you mean delayMs? '],
    ['provider_tools', 'Did you mean providerTools? '],
    ['tools', ''],
  ])('refuses an option %s, which does not exist', (option, hint) => {
    expect(() => scriptedModel([], { [option]: 1 } as never)).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: `scriptedModel(…): there is no option ${option}. ${hint}The options are id, provider, providerTools, chunks, delayMs, pace, clock, usage, native, record.`,
      }),
    );
  });

  it('refuses options that are none', () => {
    expect(() => scriptedModel([], 'scripted' as never)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  it('goes otherwise each time a step of attempts is asked for, and the last way for good', async () => {
    const script = [attempts(failWith(new Error('down')), [warn('setting', 'seed was left out.', 'r/i1'), say('half')], say('ok'))];
    const model = scriptedModel(script);
    const ask = () => drain(model.stream(request(1), { signal }));
    await expect(ask()).rejects.toThrow('down');
    expect((await ask()).slice(0, 2)).toEqual([
      { type: 'warning', about: 'setting', message: 'seed was left out.', item: 'r/i1' },
      { type: 'text.delta', text: 'half' },
    ]);
    for (let again = 0; again < 2; again += 1) expect((await ask())[0]).toEqual({ type: 'text.delta', text: 'ok' });
    model.assertSpent();
    expect((await drain(scriptedModel([warn('name', 'x')]).stream(request(1), { signal })))[0]).toEqual({
      type: 'warning',
      about: 'name',
      message: 'x',
    });
  });

  it('plays a turn as text, reasoning, calls in order, and one end last', async () => {
    const model = scriptedModel([
      [think('hm'), say('Let me look.'), callTool('find', { id: 1 }, 'c1'), callUnparsable('find', '{"id":', 'c2')],
    ]);
    const events = await drain(model.stream(request(1), { signal }));
    expect(events.map(({ type }) => type)).toEqual([
      'reasoning.delta',
      'text.delta',
      'tool.delta',
      'tool.call',
      'tool.delta',
      'tool.call',
      'end',
    ]);
    expect(events.flatMap((event) => (event.type === 'tool.call' ? [event.call] : []))).toEqual([
      { name: 'find', input: { id: 1 }, providerId: 'c1' },
      { name: 'find', unparsable: '{"id":', providerId: 'c2' },
    ]);
    expect(events.flatMap((event) => (event.type === 'tool.delta' ? [event.index] : []))).toEqual([0, 1]);
    expect(events.at(-1)).toMatchObject({ stopReason: 'tools', usage: { requests: 1 } });
  });

  it('gives a repeated call of a turn the same answer', async () => {
    const model = scriptedModel([say('one'), say('two')]);
    const texts: string[] = [];
    for (const turn of [1, 1, 2, 1]) texts.push((await collect(model.stream(request(turn), { signal }))).text);
    expect(texts).toEqual(['one', 'one', 'two', 'one']);
  });

  it('says how a step is written where it is a bare text', async () => {
    const script = ['Hello.'] as unknown as Parameters<typeof scriptedModel>[0];
    await expect(collect(scriptedModel(script).stream(request(1), { signal }))).rejects.toThrow("Give say('…')");
  });

  it('fails with MODEL_FAILED, naming agent and turn, where the script has no step', async () => {
    const error = await answer([say('one')], request(2)).catch((thrown: unknown) => thrown);
    expect(GuardloopError.is(error) && error.code).toBe('MODEL_FAILED');
    expect(String(error)).toContain('turn 2 of agent triage');
    await expect(answer({ billing: [say('x')] }, request(1))).rejects.toThrow('no steps for agent triage');
    await expect(answer({ billing: [say('x')] }, request(1, { agent: 'toString' }))).rejects.toThrow('no steps for agent toString');
  });

  it('counts the steps of an agent from the handoff to it', async () => {
    const script = { triage: [callTool('transfer_to_billing')], billing: [say('first'), say('second')] };
    const messages = [user('r1/i1', 'user'), user('r1/2.0/brief', 'handoff')];
    expect((await answer(script, request(3, { agent: 'billing', messages }))).text).toBe('first');
    expect((await answer(script, request(4, { agent: 'billing', messages }))).text).toBe('second');
    const nextRun = [...messages, user('r2/i1', 'user')];
    expect((await answer(script, request(1, { agent: 'billing', messages: nextRun }))).text).toBe('first');
  });

  it('takes a step, or a whole script, as a function of the request', async () => {
    expect((await answer([(asked) => say(`turn ${asked.turn}`)], request(1))).text).toBe('turn 1');
    expect((await answer(async (asked) => [say(asked.agent)], request(7))).text).toBe('triage');
  });

  it('cuts every text into chunks that join to it, in the number asked for', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme', maxLength: 30 }),
        fc.oneof(fc.integer({ min: 1, max: 40 }), fc.array(fc.nat(40))),
        async (text, chunks) => {
          const events = await drain(scriptedModel([say(text)], { chunks }).stream(request(1), { signal }));
          const deltas = events.flatMap((event) => (event.type === 'text.delta' ? [event.text] : []));
          expect(deltas.join('')).toBe(text);
          expect(deltas).not.toContain('');
          if (typeof chunks === 'number') expect(deltas).toHaveLength(Math.min(chunks, text.length));
        },
      ),
    );
    const listed = await drain(scriptedModel([say(['a', 'bc'])], { chunks: 3 }).stream(request(1), { signal }));
    expect(listed.slice(0, 2)).toEqual([
      { type: 'text.delta', text: 'a' },
      { type: 'text.delta', text: 'bc' },
    ]);
  });

  it('refuses, ends otherwise, fails before and in the middle, and ends without a terminal event when told to', async () => {
    expect((await answer([refuse('policy')], request(1))).end).toMatchObject({ stopReason: 'refusal', detail: 'policy' });
    expect((await answer([[say('cut'), endWith({ stopReason: 'length', native: { id: 1 } })]], request(1))).end).toMatchObject({
      stopReason: 'length',
      native: { id: 1 },
    });
    const lost = new Error('lost');
    await expect(answer([failWith(lost)], request(1))).rejects.toBe(lost);
    const seen: ModelEvent[] = [];
    const half = (async () => {
      for await (const event of scriptedModel([[say('half'), failWith(lost)]]).stream(request(1), { signal })) seen.push(event);
    })();
    await expect(half).rejects.toBe(lost);
    expect(seen).toEqual([{ type: 'text.delta', text: 'half' }]);
    expect((await answer([[say('half'), cutOff()]], request(1))).end).toBeUndefined();
  });

  it('stops at once when aborted, before the call, in a wait and between events', async () => {
    const reason = new Error('stop');
    await expect(collect(scriptedModel([say('x')]).stream(request(1), { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    const controller = new AbortController();
    const began = performance.now();
    const waiting = collect(scriptedModel([[wait(10_000), say('late')]]).stream(request(1), { signal: controller.signal }));
    setTimeout(() => controller.abort(reason), 5);
    await expect(waiting).rejects.toBe(reason);
    expect(performance.now() - began).toBeLessThan(8_000);
    const between = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of scriptedModel([say('abcdef')], { chunks: 6, delayMs: 1 }).stream(request(1), { signal: between.signal })) {
        seen.push(event.type);
        if (seen.length === 2) between.abort(reason);
      }
    })();
    await expect(reading).rejects.toBe(reason);
    expect(seen).toEqual(['text.delta', 'text.delta']);
  });

  it('keeps each request as it was asked, and none when told not to', async () => {
    const messages = [user('r1/i1', 'user')];
    const model = scriptedModel([say('a'), say('b')]);
    await collect(model.stream(request(1, { messages }), { signal }));
    messages.push(user('r1/i2', 'user'));
    await collect(model.stream(request(2, { messages }), { signal }));
    expect(model.requests.map((kept) => kept.messages.length)).toEqual([1, 2]);
    const silent = scriptedModel([say('a')], { record: false });
    await collect(silent.stream(request(1), { signal }));
    expect(silent.requests).toEqual([]);
  });

  it('says which steps were never asked for', async () => {
    const model = scriptedModel({ triage: [say('a'), say('b')], billing: [say('c')] });
    await collect(model.stream(request(1), { signal }));
    expect(() => model.assertSpent()).toThrow('step 2 of triage, step 1 of billing');
    const spent = scriptedModel([say('a')]);
    await collect(spent.stream(request(1), { signal }));
    expect(() => spent.assertSpent()).not.toThrow();
  });

  it('reports usage and native messages as given', async () => {
    const usage = { requests: 2, inputTokens: 1, outputTokens: 1 };
    expect((await answer([say('a')], request(1), { usage })).end?.usage).toEqual(usage);
    expect((await answer([say('a')], request(3, { turn: 1 }), { native: true })).end?.native).toEqual({ turn: 1, text: 'a', calls: [] });
    expect((await answer([say('a')], request(1), { native: ({ turn }) => `n${turn}` })).end?.native).toBe('n1');
  });
});
