import type { ToolSpec } from '@guardloop/core/model';
import { describe, expect, it } from 'vitest';
import type { ToolRanker } from './select-tools-ranker.js';
import { byWords, wordsOf } from './select-tools-words.js';

const toolOf = (name: string, description = '', names: readonly string[] = []): ToolSpec => ({
  name,
  description,
  schema: { type: 'object', properties: Object.fromEntries(names.map((each) => [each, {}])) },
});
const info = { limit: 10, signal: new AbortController().signal };
const rank = (words: string, tools: readonly ToolSpec[], by: ToolRanker = byWords()) => by(words, tools, info) as readonly string[];

describe('the words of a text', () => {
  it.each([
    ['get_order-status', ['get', 'order', 'status']],
    ['getOrderStatus', ['get', 'order', 'status']],
    ['HTTPServer2Go', ['http', 'server2', 'go']],
    ['Über-Größe', ['über', 'größe']],
    ['ｆｕｌｌ', ['full']],
    ['найтиЗаказ', ['найти', 'заказ']],
    ['', []],
    ['🙂 …', []],
  ])('of %j are %j', (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  it('are found where no spaces stand between them', () => {
    expect(wordsOf('天気を調べる')).toContain('天気');
  });
});

describe('ranking by words', () => {
  const tools = [
    toolOf('send_email', 'Sends a message to somebody.', ['recipient']),
    toolOf('findOrder', 'Finds an order.', ['order_id']),
    toolOf('天気', '天気を調べる'),
    toolOf('найти_заказ', 'Находит заказ.'),
    toolOf('constructor', 'Constructs a house.'),
    toolOf('__proto__', 'Prototype of an engine.'),
  ];

  it.each([
    ['please email Anna', 'send_email'],
    ['who is the recipient?', 'send_email'],
    ['where is my order?', 'findOrder'],
    ['今日の天気は？', '天気'],
    ['где мой заказ', 'найти_заказ'],
    ['constructor', 'constructor'],
    ['__proto__', '__proto__'],
  ])('finds for %j the tool %s', (words, name) => {
    expect(rank(words, tools)[0]).toBe(name);
  });

  it.each(['', '   ', '!?', 'the of and', 'quantum'])('finds nothing for %j', (words) => {
    expect(rank(words, tools)).toEqual([]);
  });

  it('finds words that begin with one of four letters or more, and ranks names above descriptions', () => {
    const two = [toolOf('other', 'About invoices.'), toolOf('list_invoices', 'Lists.')];
    expect(rank('invoice', two)).toEqual(['list_invoices', 'other']);
    expect(rank('inv', two)).toEqual([]);
  });

  it('keeps the agent’s order between equals, and the limit', () => {
    const equal = Array.from({ length: 40 }, (_, index) => toolOf(`t${index}`, 'Sends parcels.'));
    expect(rank('parcels', equal)).toEqual(equal.slice(0, 10).map(({ name }) => name));
  });

  it('gives a description that names everything one place at most', () => {
    const honest = ['email', 'order', 'weather', 'flight'].map((thing) => toolOf(`find_${thing}`, `Finds a ${thing}.`));
    const greedy = toolOf('take_me', 'email order weather flight '.repeat(5_000));
    for (const thing of ['email', 'order', 'weather', 'flight'])
      expect(rank(`find my ${thing}`, [greedy, ...honest]).slice(0, 2)).toContain(`find_${thing}`);
  });

  it('bears words and descriptions of any length', () => {
    const long = [toolOf('find_email', 'x'.repeat(1_000_000)), toolOf('a', `${'y '.repeat(500_000)}`)];
    const before = process.cpuUsage();
    expect(rank(`email ${'z'.repeat(1_000_000)} ${'word '.repeat(200_000)}`, long)).toEqual(['find_email']);
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
  });

  it('looks at a list of tools once', () => {
    let reads = 0;
    const counted = tools.map((tool) => ({
      ...tool,
      get description() {
        reads += 1;
        return tool.description;
      },
    }));
    const by = byWords();
    rank('email', counted, by);
    const { length } = tools;
    expect(reads).toBe(length);
    rank('order', counted, by);
    expect(reads).toBe(length);
  });
});
