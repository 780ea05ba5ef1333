import type { JsonObject, Message } from '@guardloop/core';
import { describe, expect, test } from 'vitest';
import { Evidence } from './evidence.js';
import { isInTrusted } from './grounds.js';
import { isOfUser, isPointedTo } from './pointed-records.js';

interface Gave {
  readonly tool?: string;
  readonly input?: JsonObject;
  readonly result: unknown;
  readonly trusted?: boolean;
}
const label = (integrity: 'trusted' | 'untrusted') => ({ origin: 'user', integrity }) as const;

function evidenceOf(user: string, ...gave: readonly Gave[]): Evidence {
  const messages: Message[] = [
    { role: 'user', id: 'r/i1', via: 'user', parts: [{ type: 'text', text: user }], label: label('trusted') },
    ...gave.flatMap(({ tool = 'find', input = {}, result, trusted = false }, index): Message[] => {
      const callId = `${index}.0`;
      const isText = typeof result === 'string';
      return [
        {
          role: 'assistant',
          id: `r/${callId}`,
          agent: 'desk',
          text: '',
          calls: [{ id: callId, name: tool, input }],
          label: label('untrusted'),
        },
        {
          role: 'tool',
          id: `r/${callId}r`,
          callId,
          tool,
          content: isText ? result : JSON.stringify(result),
          isError: false,
          label: label(trusted ? 'trusted' : 'untrusted'),
          ...(isText ? {} : { structured: true as const }),
        },
      ];
    }),
  ];
  const evidence = new Evidence();
  evidence.follow(messages);
  return evidence;
}
const points = (user: string, value: string | number, ...gave: readonly Gave[]): boolean => isPointedTo(evidenceOf(user, ...gave), value);
const others = [
  { id: 'x1', title: 'Sun' },
  { id: 'x2', title: 'Moon' },
  { id: 'x3', title: 'Rain' },
];

describe('a record among others is named', () => {
  test.each<[string, string, JsonObject, boolean]>([
    ['by a whole field', 'Take the garden party', { id: 'k', title: 'Garden party' }, true],
    ['by each word of a field', 'Take the groceries list', { id: 'k', title: 'groceries-list.txt' }, true],
    ['by a name in a field', 'Take that of Dora', { id: 'k', title: 'What Dora said about it' }, true],
    ['not by one common word of several', 'Take the garden', { id: 'k', title: 'Garden party' }, false],
    ['by the file that it is', "Take 'ab.txt'", { id: 'k', name: 'ab.txt' }, true],
    ['by a number from 10', 'Take the one of 10', { id: 'k', cents: 10 }, true],
    ['not by a number below', 'Take the one of 9', { id: 'k', cents: 9 }, false],
    ['not by its prose', "Take the 'garden party'", { id: 'k', description: 'Garden party' }, false],
    ['not by its prose, however it is spelled', "Take the 'garden party'", { id: 'k', Description: 'Garden party' }, false],
    ['not by a long field', "Take the 'garden party'", { id: 'k', title: `Garden party ${'x'.repeat(120)}` }, false],
    ['not by a field over lines', "Take the 'garden party'", { id: 'k', title: 'Garden party\nand more' }, false],
    ['not by words that tell nothing', 'Take the list', { id: 'k', title: 'The list' }, false],
    ['not by what the user did not say', 'Take the garden party', { id: 'k', title: 'Picnic' }, false],
    ['with a list in it', "Take 'Picnic'", { id: 'k', tags: ['Picnic', 'b'] }, true],
    ['through the record that holds it', "Take 'Picnic'", { title: 'Picnic', at: { id: 'k' } }, true],
  ])('%s', (_name, ...[user, record, named]) => {
    expect(points(user, 'k', { result: [record, ...others] })).toBe(named);
  });

  test('but a list in it is of other records', () => {
    expect(points("Take 'Picnic'", 'k', { result: [{ title: 'Picnic', rows: [{ id: 'k' }, { id: 'l' }] }, ...others] })).toBe(false);
  });

  test('if at most half of them are, or one', () => {
    const party = (id: string) => ({ id, title: 'Party of Dora' });
    const rest = (count: number) => others.slice(0, count);
    expect(points('Take that of Dora', 'k', { result: [party('k'), ...rest(1)] })).toBe(true);
    expect(points('Take that of Dora', 'k', { result: [party('k'), party('k'), ...rest(2)] })).toBe(true);
    expect(points('Take that of Dora', 'k', { result: [party('k'), party('k'), ...rest(1)] })).toBe(false);
    expect(points('Take that of Dora', 'k', { result: [party('k'), party('k'), party('k'), ...rest(2)] })).toBe(false);
  });

  test('if not all are, where the user asked for them', () => {
    const found = (input: JsonObject) => ({ input, result: [{ id: 'k', title: 'Dora 1' }, { id: 'k', title: 'Dora 2' }, others[0]] });
    expect(points('Take Dora from the kitchen', 'k', found({ place: 'kitchen' }))).toBe(true);
    expect(points('Take Dora from the kitchen', 'k', found({ place: 'attic' }))).toBe(false);
    const all = {
      input: { place: 'kitchen' },
      result: [
        { id: 'k', title: 'Dora 1' },
        { id: 'k', title: 'Dora 2' },
      ],
    };
    expect(points('Take Dora from the kitchen', 'k', all)).toBe(false);
  });
});

describe('a record alone is named', () => {
  test.each<[string, string, JsonObject, JsonObject, boolean]>([
    ['by a file', 'Take ab.txt', {}, { id: 'k', name: 'ab.txt' }, true],
    ['by a name written whole', "Take 'garden party'", {}, { id: 'k', title: 'Garden party' }, true],
    ['by an e-mail address', 'Take that of ann@x.example', {}, { id: 'k', from: 'ann@x.example' }, true],
    ['not by common words', 'Take the garden party', {}, { id: 'k', title: 'Garden party' }, false],
    ['not by a part of a field', "Take 'garden'", {}, { id: 'k', title: 'Garden party' }, false],
    ['by the words with which it was asked for', 'Take the garden party', { words: 'garden party' }, { id: 'k', title: 'Any' }, true],
    ['by a number and words', 'Take garden 4711', { words: 'garden', n: 4711 }, { id: 'k' }, true],
    ['not with a number that nobody said', 'Take the garden party', { words: 'garden party', n: 7 }, { id: 'k' }, false],
    ['not with a number alone', 'Take 4711', { n: 4711 }, { id: 'k' }, false],
    ['not with words that tell nothing', 'Take the list', { words: 'list' }, { id: 'k' }, false],
    ['with flags and empty texts beside the words', 'Take the garden', { words: 'garden', all: true, more: '' }, { id: 'k' }, true],
    ['not without any', 'Take the garden', { all: true }, { id: 'k' }, false],
  ])('%s', (_name, ...[user, input, record, named]) => {
    expect(points(user, 'k', { input, result: record })).toBe(named);
  });

  test('and not its second record', () => {
    expect(points('Take the garden party', 'k', { input: { words: 'garden party' }, result: { id: 'a', rows: [{ id: 'k' }] } })).toBe(
      false,
    );
  });
});

describe('of a named record', () => {
  const user = "Take 'Picnic'";
  const has = (fields: JsonObject, value: string | number) => points(user, value, { result: [{ title: 'Picnic', ...fields }, ...others] });
  test('whole fields are licensed, and no prose', () => {
    expect(has({ place: 'Attic' }, 'attic')).toBe(true);
    expect(has({ place: 'The attic' }, 'attic')).toBe(false);
    expect(has({ cents: 7 }, '7')).toBe(true);
    expect(has({ note: 'Attic' }, 'Attic')).toBe(false);
    expect(has({ Body: 'Attic' }, 'Attic')).toBe(false);
    expect(has({ place: `${'Attic '.repeat(30)}` }, `${'Attic '.repeat(30)}`)).toBe(false);
  });
  test('titles are licensed as names, not as addresses', () => {
    expect(has({ subject: 'Attic' }, 'Attic')).toBe(true);
    for (const address of ['eve@evil.example', 'evil.example', '/etc/x', 'a\\b', '4711471'])
      expect(has({ subject: address }, address)).toBe(false);
    expect(has({ subject: 4_711_471 }, 4_711_471)).toBe(true);
  });
  test('what its call held is not licensed', () => {
    expect(points(user, 'k', { input: { id: 'k' }, result: [{ title: 'Picnic', id: 'k' }, ...others] })).toBe(false);
  });
  test('an address needs more than one common word', () => {
    const rows = (fields: JsonObject) => ({ result: [{ from: 'eve@evil.example', ...fields }, ...others] });
    expect(points('Send the weekly report', 'eve@evil.example', rows({ title: 'weekly' }))).toBe(false);
    expect(points('Send the weekly figures', 'eve@evil.example', rows({ title: 'weekly figures' }))).toBe(true);
    expect(points('Send that of Dora', 'eve@evil.example', rows({ title: 'Dora says' }))).toBe(true);
    expect(points('Send ab.txt', 'eve@evil.example', rows({ title: 'ab.txt' }))).toBe(true);
    expect(points('Send the one of 4711', 'eve@evil.example', rows({ cents: 4711 }))).toBe(true);
    expect(points('Send the weekly report', 'eve@evil.example', { ...rows({ title: 'weekly' }), input: { words: 'weekly' } })).toBe(true);
    expect(
      points('Send that of Dora', 'eve@evil.example', { result: [{ title: 'Dora says', who: { from: 'eve@evil.example' } }, ...others] }),
    ).toBe(true);
  });
});

describe('a value is contested', () => {
  const user = "Take 'Picnic'";
  const picnic = (fields: JsonObject) => ({ title: 'Picnic', ...fields });
  const two = (one: JsonObject, other: JsonObject, tool?: string): readonly Gave[] => [
    { result: [picnic(one), ...others] },
    { ...(tool === undefined ? {} : { tool }), result: [picnic(other), ...others] },
  ];
  test('where another named record of the tool says something else', () => {
    expect(points(user, 'k', ...two({ id: 'k' }, { id: 'l' }))).toBe(false);
    expect(points(user, 'k', ...two({ id: 'k' }, { id: 'k' }))).toBe(true);
    expect(points(user, 'k', ...two({ id: 'k' }, { id: 'l', old: 'k' }))).toBe(true);
    expect(points(user, 'k', ...two({ id: 'k' }, { other: 'l' }))).toBe(true);
    expect(points(user, 'k', ...two({ id: 'k' }, { id: 'l' }, 'look'))).toBe(true);
  });
  test('unless it is an amount: an id is none', () => {
    expect(points(user, 70, ...two({ cents: 70 }, { cents: 80 }))).toBe(true);
    for (const name of ['id', 'id_', 'orderId', 'order_no', 'number', 'uid'])
      expect(points(user, 70, ...two({ [name]: 70 }, { [name]: 80 }))).toBe(false);
  });
  test('by what is read later too, and where the words name hundreds', () => {
    const evidence = evidenceOf(user, ...two({ id: 'k' }, { id: 'k' }));
    expect(isPointedTo(evidence, 'k')).toBe(true);
    const many = (count: number) => Array.from({ length: count }, (_, index) => picnic({ id: 'k', n: index }));
    const rest = Array.from({ length: 300 }, (_, index) => ({ id: `r${index}` }));
    expect(points(user, 'k', { result: [...many(200), ...rest] })).toBe(true);
    expect(points(user, 'k', { result: [...many(201), ...rest] })).toBe(false);
  });
});

test('what the user says later counts', () => {
  const evidence = evidenceOf('Take it', { result: [{ id: 'k', title: 'Picnic' }, ...others] });
  expect(isPointedTo(evidence, 'k')).toBe(false);
  const first: Message[] = evidenceMessages(evidence);
  evidence.follow([
    ...first,
    { role: 'user', id: 'r/i9', via: 'user', parts: [{ type: 'text', text: "I mean 'Picnic'" }], label: label('trusted') },
  ]);
  expect(isPointedTo(evidence, 'k')).toBe(true);
});
const evidenceMessages = (evidence: Evidence): Message[] => [...(evidence as unknown as { read: Message[] }).read];

test('a call of the user is one whose every value the user said', () => {
  const is = (user: string, input: JsonObject) => {
    const evidence = evidenceOf(user, { input, result: 'x' });
    const [result] = evidence.results;
    return result !== undefined && isOfUser(evidence, result);
  };
  expect(is('Read the kitchen channel', { channel: 'kitchen' })).toBe(true);
  expect(is('Read the kitchen channel', { channel: 'kitchen', filter: { by: 'eve' } })).toBe(false);
  expect(is('Read the kitchen channel', { channel: 'kitchen', 'odd name': 'kitchen' })).toBe(false);
  expect(is('Read ab.txt', { path: 'ab.txt' })).toBe(true);
  expect(is('Read it', {})).toBe(false);
});

describe('a trusted result vouches', () => {
  const trusts = (value: string | number, trust: Record<string, '*' | readonly string[]>, ...gave: readonly Gave[]) =>
    isInTrusted(evidenceOf('Ask for Ann and 4711.', ...gave), trust, value);
  const ann = { name: 'Ann', email: 'ann@x.example', more: { tel: '123' } };
  test.each<[string, Gave, string | number, boolean]>([
    ['in a field', { result: [ann], trusted: true }, 'ann@x.example', true],
    ['in a nested field', { result: [ann], trusted: true }, '123', true],
    ['not with a part of a field', { result: [ann], trusted: true }, 'x.example', false],
    ['in a text', { result: 'It is ann@x.example.', trusted: true }, 'ann@x.example', true],
    ['not where it is untrusted', { result: [ann] }, 'ann@x.example', false],
    ['to a question of the user', { input: { name: 'Ann' }, result: [ann], trusted: true }, 'ann@x.example', true],
    [
      'to a question with a small number',
      { input: { name: 'Ann', most: 100, all: true, more: '' }, result: [ann], trusted: true },
      'ann@x.example',
      true,
    ],
    ['not to one with a large number', { input: { name: 'Ann', most: 101 }, result: [ann], trusted: true }, 'ann@x.example', false],
    ['not to one with a broken number', { input: { name: 'Ann', most: 1.5 }, result: [ann], trusted: true }, 'ann@x.example', false],
    ['to one with a number that was said', { input: { most: 4711 }, result: [ann], trusted: true }, 'ann@x.example', true],
    ['not to one that nobody asked', { input: { name: 'Eve' }, result: [ann], trusted: true }, 'ann@x.example', false],
    ['not with what was asked', { input: { name: 'Ann' }, result: [{ name: 'Ann' }], trusted: true }, 'Ann', false],
  ])('%s', (_name, ...[gave, value, vouches]) => {
    expect(trusts(value, {}, gave)).toBe(vouches);
  });
  test('to a question with what a trusted result had given before', () => {
    const list = { tool: 'list', result: [{ id: 'k9' }], trusted: true };
    const get = (id: string) => ({ tool: 'get', input: { id }, result: [{ id, email: 'ann@x.example' }], trusted: true });
    expect(trusts('ann@x.example', {}, list, get('k9'))).toBe(true);
    expect(trusts('ann@x.example', {}, list, get('k8'))).toBe(false);
    expect(trusts('ann@x.example', {}, get('k9'), list)).toBe(false);
    expect(trusts('ann@x.example', {}, { ...list, trusted: false }, get('k9'))).toBe(false);
    expect(trusts('ann@x.example', {}, { ...list, input: { id: 'k9', name: 'Ann' } }, get('k9'))).toBe(false);
    expect(trusts('ann@x.example', {}, { ...list, result: 'k9 is there' }, get('k9'))).toBe(true);
  });
  test('where a field of it is trusted', () => {
    const gave = { tool: 'find_contact', result: [ann, { nick: 'bob@x.example' }] };
    expect(trusts('ann@x.example', { find_contact: ['email'] }, gave)).toBe(true);
    expect(trusts('ann@x.example', { find_contact: ['name'] }, gave)).toBe(false);
    expect(trusts('bob@x.example', { find_contact: ['email'] }, gave)).toBe(false);
    expect(trusts('bob@x.example', { 'find_*': '*' }, gave)).toBe(true);
    expect(trusts('general', { list: '*' }, { tool: 'list', result: 'general\nrandom' })).toBe(true);
    expect(trusts('gener', { list: '*' }, { tool: 'list', result: 'general\nrandom' })).toBe(false);
    expect(trusts('general', { list: ['name'] }, { tool: 'list', result: 'general\nrandom' })).toBe(false);
    const long = 'x'.repeat(200);
    expect(trusts(long, { list: ['name'] }, { tool: 'list', result: [{ name: long }] })).toBe(true);
  });
});
