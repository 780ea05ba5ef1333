import { collect, GuardloopError } from '@guardloop/core/model';
import { expect, it } from 'vitest';
import { drain, typesOf } from './drain.js';
import { hello, requestOf } from './items.js';
import type { ModelBench } from './model-bench.js';

export function testModelAnswers(use: () => ModelBench): void {
  it('a text streams, then ends once, last, with what was used', async () => {
    const bench = use();
    bench.reply({ type: 'answer', text: ['Hel', 'lo ', 'wörld 😀', '.'] });
    const { text, events, end } = await drain(bench.model, requestOf(hello));
    expect(text).toBe('Hello wörld 😀.');
    expect(typesOf(events).filter((type) => type === 'text.delta').length).toBeGreaterThan(1);
    expect(events.at(-1)).toBe(end);
    expect(end).toMatchObject({ stopReason: 'stop', usage: { requests: 1, inputTokens: 12, outputTokens: 5 } });
    expect(bench.requests).toHaveLength(1);
  });

  it('numbers that the provider did not give stay missing, and are not zero', async () => {
    const bench = use();
    bench.reply({ type: 'answer', text: ['Hello.'], usage: false });
    const { end } = await drain(bench.model, requestOf(hello));
    expect(Object.entries(end?.usage ?? {}).filter(([, value]) => value !== undefined)).toEqual([['requests', 1]]);
  });

  it('parallel calls come complete, parsed and in order, after the text', async () => {
    const bench = use();
    const calls = [
      { id: 'call_a', name: 'find', arguments: '{"id":"a 😀"}' },
      { id: 'call_b', name: 'send', arguments: '{"to": "b"}' },
      { id: 'call_c', name: 'find', arguments: '{}' },
    ];
    bench.reply({ type: 'answer', text: ['Let me look.'], calls });
    const answer = await drain(bench.model, requestOf(hello));
    expect(answer.text).toBe('Let me look.');
    expect(answer.calls).toEqual([
      { providerId: 'call_a', name: 'find', input: { id: 'a 😀' } },
      { providerId: 'call_b', name: 'send', input: { to: 'b' } },
      { providerId: 'call_c', name: 'find', input: {} },
    ]);
    expect(answer.end?.stopReason).toBe('tools');
  });

  it('pieces of arguments, where they are passed on, make up the arguments of the call with their index', async () => {
    const bench = use();
    const calls = [
      { id: 'call_a', name: 'find', arguments: '{"id": "a 😀", "more": [1, {"two": "three"}]}' },
      { id: 'call_b', name: 'send', arguments: '{"to":  "b"}' },
    ];
    bench.reply({ type: 'answer', calls });
    const { events } = await drain(bench.model, requestOf(hello));
    const pieces: string[] = [];
    for (const event of events) if (event.type === 'tool.delta') pieces[event.index] = `${pieces[event.index] ?? ''}${event.text}`;
    for (const [index, text] of pieces.entries()) expect(text).toBe(calls[index]?.arguments);
  });

  it('arguments that are no JSON are marked as unparsable, with their text', async () => {
    const bench = use();
    bench.reply({ type: 'answer', calls: [{ id: 'call_a', name: 'find', arguments: '{"id": "a' }] });
    const { calls } = await drain(bench.model, requestOf(hello));
    expect(calls).toEqual([{ providerId: 'call_a', name: 'find', unparsable: '{"id": "a' }]);
  });

  it('an answer without a word is an answer', async () => {
    const bench = use();
    bench.reply({ type: 'answer', text: [] });
    const { text, calls, end } = await drain(bench.model, requestOf(hello));
    expect([text, calls, end?.stopReason]).toEqual(['', [], 'stop']);
  });

  it('an answer cut by the token limit gives out no call, also where its arguments would parse', async () => {
    const bench = use();
    bench.reply(
      { type: 'length', text: 'Hel' },
      { type: 'length', text: '', calls: [{ id: 'call_a', name: 'find', arguments: '{"id": "a' }] },
      { type: 'length', text: 'Look:', calls: [{ id: 'call_a', name: 'find', arguments: '{"id": "a"}' }] },
    );
    for (const text of ['Hel', '', 'Look:']) {
      const answer = await drain(bench.model, requestOf(hello));
      expect(answer).toMatchObject({ text, calls: [], end: { stopReason: 'length' } });
      expect(answer.end?.native).toBeUndefined();
    }
  });

  it('a refusal is told from a whole answer', async () => {
    const bench = use();
    bench.reply({ type: 'refusal' });
    const { calls, end } = await drain(bench.model, requestOf(hello));
    expect(end?.stopReason).toBe('refusal');
    expect(end?.native).toBeUndefined();
    expect(calls).toEqual([]);
  });

  it('calls at the same time are kept apart', async () => {
    const bench = use();
    const texts = Array.from({ length: 20 }, (_, index) => [`answer `, `number ${index}`, '.']);
    bench.reply(...texts.map((text) => ({ type: 'answer', text }) as const));
    const answers = await Promise.all(texts.map(() => drain(bench.model, requestOf(hello))));
    expect(answers.map(({ text }) => text).toSorted()).toEqual(texts.map((text) => text.join('')).toSorted());
  });

  it('a structured answer is asked for, or refused before any request', async () => {
    const bench = use();
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
    bench.reply({ type: 'answer', text: ['{"city":', '"Ulm"}'] });
    const asked = bench.model.stream(requestOf(hello, { output: { name: 'place', schema } }), { signal: new AbortController().signal });
    try {
      expect((await collect(asked)).text).toBe('{"city":"Ulm"}');
    } catch (error) {
      expect(GuardloopError.is(error) && error.code).toBe('CONFIG_INVALID');
      expect(bench.requests).toEqual([]);
      return;
    }
    expect(JSON.stringify(bench.requests[0]?.body)).toContain('city');
  });
}
