import type { Message, ModelRequest } from '@guardloop/core/model';
import { OpenCalls } from '@guardloop/core/model';
import { expect, it } from 'vitest';
import { drain, failure, lastBody, patient } from './drain.js';
import { foreignWords, freeze, heapFrom, historyFrom } from './histories.js';
import { assistantItem, hello, requestOf, resultItem, userItem } from './items.js';
import type { ModelBench } from './model-bench.js';

const seeds = Array.from({ length: 100 }, (_, index) => index + 1);

export function testModelHistories(use: () => ModelBench): void {
  it('any history that core can hold makes a legal request, is not changed by it, and makes the same one again', patient, async () => {
    const bench = use();
    for (const seed of seeds) {
      const request = around(historyFrom(seed, bench.model.provider), seed);
      const stored = JSON.stringify(request);
      bench.reply({ type: 'answer', text: ['ok'] }, { type: 'answer', text: ['ok'] });
      expect((await drain(bench.model, freeze(request))).text).toBe('ok');
      expectLegal(bench, seed);
      const first = lastBody(bench);
      expect((await drain(bench.model, JSON.parse(stored) as ModelRequest)).text).toBe('ok');
      expect(lastBody(bench), `the request of history ${seed}, made again`).toBe(first);
      expect(JSON.stringify(request)).toBe(stored);
    }
  });

  it('any heap of items makes a legal request, or fails before any request with an error that names the item', patient, async () => {
    const bench = use();
    let refused = 0;
    for (const seed of seeds) {
      const request = freeze(around(heapFrom(seed, bench.model.provider), seed));
      const before = bench.requests.length;
      if (arePaired(request.messages)) {
        bench.reply({ type: 'answer', text: ['ok'] });
        expect((await drain(bench.model, request)).text).toBe('ok');
        expectLegal(bench, seed);
      } else {
        refused += 1;
        const { error } = await failure(bench.model, request);
        expect(error.code, `heap ${seed}`).toBe('INTERNAL');
        expect(
          request.messages.some(({ id }) => error.message.includes(id)),
          error.message,
        ).toBe(true);
        expect(bench.requests.length, `requests made of heap ${seed}`).toBe(before);
      }
    }
    expect(refused).toBeGreaterThan(10);
  });

  it.each([
    ['a call without its result', [assistantItem('r/1', { calls: [{ id: '1.0', name: 'find', input: {} }] })], '1.0'],
    [
      'a call whose result stands behind another message',
      [assistantItem('r/1', { calls: [{ id: '1.0', name: 'find', input: {} }] }), userItem('r/i2', 'Well?'), resultItem('1.0', 'found')],
      '1.0',
    ],
    ['a result without its call', [resultItem('1.0', 'found'), userItem('r/i2', 'Well?')], 'r/1.0'],
    [
      'a second result',
      [
        assistantItem('r/1', { calls: [{ id: '1.0', name: 'find', input: {} }] }),
        resultItem('1.0', 'found'),
        resultItem('1.0', 'again', { id: 'r/second' }),
      ],
      'r/second',
    ],
  ] as const)('%s fails before any request, and is named', async (_what, messages, named) => {
    const bench = use();
    const { error } = await failure(bench.model, requestOf([...hello, ...messages]));
    expect(error).toMatchObject({ code: 'INTERNAL', message: expect.stringContaining(named) as string });
    expect(bench.requests).toEqual([]);
  });

  it('results in another order than their calls are taken', async () => {
    const bench = use();
    bench.reply({ type: 'answer', text: ['ok'] });
    const calls = ['1.0', '1.1', '1.2'].map((id) => ({ id, name: 'find', input: {} }));
    const results = ['1.2', '1.0', '1.1'].map((id) => resultItem(id, `result of ${id}`));
    await drain(bench.model, requestOf([...hello, assistantItem('r/1', { calls }), ...results]));
    const places = calls.map(({ id }) => lastBody(bench).indexOf(`result of ${id}`));
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(places[0]).toBeGreaterThan(0);
  });
}

/** What core may put around a history, different from seed to seed. */
function around(messages: readonly Message[], seed: number): ModelRequest {
  return requestOf(messages, {
    turn: seed,
    system: ['Help.', '', ' ', 'x\ud83d'][seed % 4] ?? '',
    ...(seed % 5 === 0 ? { tools: [] } : {}),
    ...(seed % 3 === 0 ? { note: 'Again.' } : {}),
    ...(seed % 7 === 0 ? { toolChoice: 'none' } : {}),
  });
}

function expectLegal(bench: ModelBench, seed: number): void {
  const request = bench.requests.at(-1);
  expect(request === undefined ? ['there is none'] : bench.check(request), `the request of history ${seed}`).toEqual([]);
  expect(lastBody(bench)).not.toContain(foreignWords);
}

function arePaired(messages: readonly Message[]): boolean {
  const calls = new OpenCalls();
  try {
    for (const message of messages) {
      if (message.role === 'assistant') calls.open(message);
      else if (message.role === 'tool') calls.answer(message);
      else calls.close();
    }
    calls.close();
    return true;
  } catch {
    return false;
  }
}
