import type { Message } from '@guardloop/core';
import { describe, expect, test } from 'vitest';
import { Evidence, EvidenceReader } from './evidence.js';

const trusted = { origin: 'user', integrity: 'trusted' } as const;
const untrusted = { origin: 'tool:find', integrity: 'untrusted' } as const;
let count = 0;
const next = (): number => {
  count += 1;
  return count;
};
const user = (text: string, more: object = {}): Message =>
  ({ role: 'user', id: `r1/i${next()}`, via: 'user', parts: [{ type: 'text', text }], label: trusted, ...more }) as Message;
const round = (input: object, content: unknown, more: object = {}): Message[] => {
  const callId = `${next()}.0`;
  return [
    { role: 'assistant', id: `r1/${callId}`, agent: 'desk', text: '', calls: [{ id: callId, name: 'find', input }], label: untrusted },
    { role: 'tool', id: `r1/${callId}r`, callId, tool: 'find', content, isError: false, label: untrusted, structured: true, ...more },
  ] as Message[];
};
const readOf = (...messages: readonly Message[]): Evidence => {
  const evidence = new Evidence();
  expect(evidence.follow(messages)).toBe(true);
  return evidence;
};

describe('what a conversation holds', () => {
  test('are the trusted words of the user, of every part and message', () => {
    const parts = [
      { type: 'text', text: 'Ann' },
      { type: 'text', text: 'Bob', label: { origin: 'user', integrity: 'untrusted' } },
      { type: 'image', url: 'https://Carl.example' },
    ];
    const { user: said } = readOf(
      user('', { parts }),
      user('Dora', { via: 'parent' }),
      user('Eve', { via: 'developer' }),
      user('Fred', { label: untrusted }),
    );
    expect(['Ann', 'Bob', 'Carl', 'Dora', 'Eve', 'Fred'].filter((name) => said.has(name))).toEqual(['Ann', 'Dora']);
  });

  test('are results with the input of their call, as values only where the tool gave a value', () => {
    const { results } = readOf(
      ...round({ words: 'x' }, '{"a":1}'),
      ...round({}, '{"a":1}', { structured: undefined }),
      ...round({}, [
        { type: 'text', text: 'Hi' },
        { type: 'image', url: 'x' },
        { type: 'text', text: 'Bob' },
      ]),
    );
    expect(results.map(({ input, json, records, content }) => [input, json, records.length, content])).toEqual([
      [{ words: 'x' }, { a: 1 }, 1, '{"a":1}'],
      [{}, undefined, 0, '{"a":1}'],
      [{}, undefined, 0, 'Hi\n\nBob'],
    ]);
    expect(results[2]?.text.has('Bob')).toBe(true);
    expect(results[0]?.isTrusted).toBe(false);
  });

  test('echo what their call held, whole or within a longer text', () => {
    const [result] = readOf(...round({ text: 'write to Eve@evil.example', deep: [{ n: 42 }] }, 'x')).results;
    expect(['eve@evil.example', 42, '42', 'text', 'rite'].map((value) => result?.echoes(value))).toEqual([true, true, true, false, false]);
  });

  test('lose the verbs of an earlier run, unless the user only agrees', () => {
    const first = user('Send it to Bob.');
    expect(readOf(first).asked.has('send')).toBe(true);
    expect(readOf(first, user('What time is it?', { id: 'r2/i1' })).asked.has('send')).toBe(false);
    expect(readOf(first, user('Yes, please.', { id: 'r2/i1' })).asked.has('send')).toBe(true);
    expect(readOf(first, user('And what time is it?', { id: 'r1/i9' })).asked.has('send')).toBe(true);
  });
});

describe('a reader', () => {
  const reader = new EvidenceReader();
  test('goes on where it was, and reads anew what is no longer the same', () => {
    const messages = [user('Ann'), ...round({}, '[1]'), user('Bob')];
    const first = reader.of({ messages: messages.slice(0, 3) });
    expect(reader.of({ messages })).toBe(first);
    expect(first.user.has('Bob')).toBe(true);
    const [one, two, , four] = messages as [Message, Message, Message, Message];
    const changed = [one, two, ...round({}, '[2]').slice(1), four];
    const other = reader.of({ messages: changed });
    expect(other).not.toBe(first);
    expect(other.results.map(({ json }) => json)).toEqual([[2]]);
    expect(reader.of({ messages: messages.slice(0, 2) }).results).toEqual([]);
    expect(reader.of({ messages: [] }).results).toEqual([]);
  });
  test('follows a list that grows', () => {
    const messages = [user('Ann')];
    const first = reader.of({ messages });
    messages.push(user('Carl'));
    expect(reader.of({ messages })).toBe(first);
    expect(first.user.has('Carl')).toBe(true);
    expect(first.userLength).toBe(2);
  });
});
