import type { Message } from '@guardloop/core/model';
import { describe, expect, it } from 'vitest';
import { checkMessagesRequest } from '../../testing/src/requests/anthropic.js';
import { assistant, callOf, lookup, textOf, toolResult, user } from '../test/fake-api.js';
import type { WireMessage } from './blocks.js';
import { encodeHistory } from './encode-history.js';

const wireLookup = { name: lookup.name, input_schema: { type: 'object' } };

function problemsOf(messages: readonly WireMessage[]): readonly string[] {
  return checkMessagesRequest({ model: 'claude-opus-4-8', max_tokens: 100, messages, tools: [wireLookup] });
}

function encode(...items: Message[]): readonly WireMessage[] {
  const { messages } = encodeHistory(items);
  expect(problemsOf(messages)).toEqual([]);
  return messages;
}

function native(item: ReturnType<typeof assistant>, message: readonly object[], provider = 'anthropic.messages') {
  return { ...item, native: { provider, message: message as never } };
}

const thinking = { type: 'thinking', thinking: 'a', signature: 'S1' };
const two = [
  { id: '1.0', name: 'lookup', providerId: 'toolu_a' },
  { id: '1.1', name: 'lookup', providerId: 'toolu_b' },
];

describe('the grammar of messages', () => {
  it('S003: an empty answer is left out, and what stands around it is joined', () => {
    expect(encode(user('thanks'), assistant(''), user('are you there?'))).toEqual([
      { role: 'user', content: [textOf('thanks'), textOf('are you there?')] },
    ]);
    expect(encode(user('thanks'), assistant(' \n'), user('hello'))).toHaveLength(1);
  });

  it('S004: text without a readable character is left out everywhere', () => {
    const [, answered] = encode(user('', 'x', '  '), assistant('\n', ...two), toolResult('1.0', ''), toolResult('1.1', ' '));
    expect(answered?.content.map(({ type }) => type)).toEqual(['tool_use', 'tool_use']);
  });

  it('S002: results stand before notes, briefs and the next question, in one message', () => {
    const messages = encode(user('go'), assistant('', ...two), toolResult('1.0', 'A'), toolResult('1.1', 'B'), user('note'), user('more'));
    expect(messages.at(-1)).toEqual({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_a', content: 'A' },
        { type: 'tool_result', tool_use_id: 'toolu_b', content: 'B' },
        textOf('note'),
        textOf('more'),
      ],
    });
  });

  it('S023: results stand in call order, whatever order they are recorded in', () => {
    const messages = encode(user('go'), assistant('', ...two), toolResult('1.1', 'B'), toolResult('1.0', 'A'));
    expect(messages[2]?.content.map(({ content }) => content)).toEqual(['A', 'B']);
  });

  it.each([
    ['a call without a result', [user('go'), assistant('', ...two), toolResult('1.1', 'B'), user('so?')], /Call 1\.0 \(tool lookup\)/],
    ['a call at the end without a result', [user('go'), assistant('', ...two), toolResult('1.1', 'B')], /Call 1\.0 \(tool lookup\)/],
    ['a result without a call', [{ ...toolResult('0.0', 'old'), id: 'stray' }, user('go')], /Tool message stray/],
    [
      'a result of an earlier turn',
      [
        user('go'),
        assistant('', ...two),
        toolResult('1.0', 'A'),
        toolResult('1.1', 'B'),
        user('so'),
        { ...toolResult('1.0', 'A'), id: 'late' },
      ],
      /Tool message late/,
    ],
    [
      'a second result',
      [user('go'), assistant('', ...two), toolResult('1.0', 'A'), { ...toolResult('1.0', 'A'), id: 'again' }],
      /Tool message again/,
    ],
  ] as const)('S031: %s is an error that names the item, and the same again', (_, items, words) => {
    const history: readonly Message[] = items;
    for (let time = 0; time < 2; time += 1)
      expect(() => encodeHistory(history)).toThrow(expect.objectContaining({ code: 'INTERNAL', message: expect.stringMatching(words) }));
  });

  it('a history that was broken encodes once it is whole', () => {
    const items: Message[] = [user('go'), assistant('', ...two), toolResult('1.1', 'B')];
    expect(() => encodeHistory(items)).toThrow('Call 1.0');
    items.push(toolResult('1.0', 'A'));
    expect(encodeHistory(items).messages[2]?.content.map(({ content }) => content)).toEqual(['A', 'B']);
    expect(problemsOf(encodeHistory(items).messages)).toEqual([]);
  });

  it('a history that begins or ends with an answer gets the user message that the API wants there', () => {
    expect(encode(assistant('hello')).map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(encode().map(({ role }) => role)).toEqual(['user']);
  });

  it("a result's note stands after its content, inside the result", () => {
    const [, , results] = encode(
      user('go'),
      assistant('', ...two),
      toolResult('1.0', 'A', { note: 'cut' }),
      toolResult('1.1', 'bad', { isError: true }),
    );
    expect(results?.content).toEqual([
      { type: 'tool_result', tool_use_id: 'toolu_a', content: [textOf('A'), textOf('cut')] },
      { type: 'tool_result', tool_use_id: 'toolu_b', content: 'bad', is_error: true },
    ]);
  });
});

describe('ids of calls', () => {
  it('S191: ids that the API refuses are replaced, and call and result agree', () => {
    for (const providerId of ['Bash:0', 'x'.repeat(65), '', 'call id', 'ä', undefined]) {
      const call = { id: '1.0', name: 'lookup', ...(providerId === undefined ? {} : { providerId }) };
      const [, called, answered] = encode(user('go'), assistant('', call), toolResult('1.0', 'A'));
      expect(called?.content[0]?.id).toBe(answered?.content[0]?.tool_use_id);
      expect(called?.content[0]?.id).not.toBe(providerId);
    }
  });

  it('S191: ids that the API takes are kept', () => {
    const call = { id: '1.0', name: 'lookup', providerId: 'call_PTLP8xhu3uwZk4l3nlnrrJha' };
    expect(encode(user('go'), assistant('', call), toolResult('1.0', 'A'))[1]?.content[0]?.id).toBe('call_PTLP8xhu3uwZk4l3nlnrrJha');
  });

  it('S191: an id that comes twice is unique in the request, and the same items have the same ids in later turns', () => {
    const items: Message[] = [user('go')];
    const idsSoFar: unknown[][] = [];
    for (let turn = 1; turn <= 4; turn += 1) {
      const calls = [
        { id: `${turn}.0`, name: 'lookup', providerId: 'call_0' },
        { id: `${turn}.1`, name: 'lookup', providerId: 'call_0' },
      ];
      items.push(assistant('', ...calls), toolResult(`${turn}.0`, 'A'), toolResult(`${turn}.1`, 'B'));
      const grown = encodeHistory(items).messages;
      expect(problemsOf(grown)).toEqual([]);
      expect(encodeHistory([...items]).messages).toEqual(grown);
      idsSoFar.push(grown.flatMap(({ content }) => content.flatMap(({ id }) => (id === undefined ? [] : [id]))));
    }
    for (const [index, ids] of idsSoFar.entries()) expect(idsSoFar.at(-1)?.slice(0, ids.length), `turn ${index + 1}`).toEqual(ids);
  });

  it('a native message whose ids come again keeps everything but those ids', () => {
    const blocks = [thinking, callOf('toolu_a', 'lookup', { key: 'a' })];
    const turn = (id: string) => [native(assistant('', { id, name: 'lookup', providerId: 'toolu_a' }), blocks), toolResult(id, 'A')];
    const messages = encode(user('go'), ...turn('1.0'), ...turn('2.0'));
    expect(messages[1]?.content).toEqual(blocks);
    expect(messages[3]?.content[0]).toEqual(thinking);
    expect(messages[3]?.content[1]?.id).not.toBe('toolu_a');
  });
});

describe('S028, S139: damaged histories', () => {
  it('S028: the input of a call is always an object; what is none is wrapped', () => {
    const call = { id: '1.0', name: 'lookup', providerId: 'c1', input: '{bad' as never };
    const messages = encode(user('go'), assistant('', call), toolResult('1.0', 'invalid arguments', { isError: true }));
    expect(messages[1]?.content[0]?.input).toEqual({ unparsable_input: '{bad' });
  });

  it('S139: halves of surrogate pairs are replaced in text, arguments, keys, results, names and native messages', () => {
    const half = 'x\ud83d';
    const call = { id: '1.0', name: `lookup${half}`, providerId: half, input: { [half]: [half] } };
    const messages = encode(
      user(half),
      assistant(half, call),
      toolResult('1.0', half, { note: half }),
      user({ type: 'file', mediaType: 'text/plain', data: 'YQ==', name: half }),
      native(assistant(half), [textOf(half)]),
    );
    expect(JSON.stringify(messages)).not.toMatch(/\\ud83d/);
    expect(JSON.stringify(messages)).toContain('x\uFFFD');
  });
});

describe('native messages', () => {
  it('S013: interleaved and redacted thinking come back in their order, byte for byte', () => {
    const blocks = [
      thinking,
      callOf('t1', 'lookup', { n: 1 }),
      { type: 'redacted_thinking', data: 'ENC' },
      callOf('t2', 'lookup', { n: 2 }),
    ];
    const item = native(
      assistant(
        '',
        { id: '1.0', name: 'lookup', providerId: 't1', input: { n: 1 } },
        { id: '1.1', name: 'lookup', providerId: 't2', input: { n: 2 } },
      ),
      blocks,
    );
    const messages = encode(user('go'), item, toolResult('1.0', 'A'), toolResult('1.1', 'B'));
    expect(JSON.stringify(messages[1]?.content)).toBe(JSON.stringify(blocks));
  });

  it('an answer that joins one without thinking comes without its own, since a message must begin with what it has of it', () => {
    const messages = encode(user('go'), assistant('one'), user(' '), native(assistant('two'), [thinking, textOf('two')]), user('so'));
    expect(messages[1]?.content).toEqual([textOf('one'), textOf('two')]);
  });

  it('another provider’s message is never sent', () => {
    const item = native(assistant('hello'), [{ type: 'text', text: 'theirs' }], 'openai.chat');
    expect(encode(user('go'), item, user('so'))[1]?.content).toEqual([textOf('hello')]);
  });

  it.each([
    ['thinking without its signature', [{ type: 'thinking', thinking: 'a' }, textOf('hello')]],
    ['a call that the item does not have', [textOf('hello'), callOf('t1', 'lookup')]],
    ['no list of blocks', { role: 'assistant' }],
    ['blocks without types', [{ text: 'hello' }]],
  ])('a native message with %s is not sent; the item is', (_, message) => {
    expect(encode(user('go'), native(assistant('hello'), message as never), user('so'))[1]?.content).toEqual([textOf('hello')]);
  });

  it('S004: what the API never takes back is left out of a native message', () => {
    const item = native(assistant('', { id: '1.0', name: 'lookup', providerId: 't1' }), [
      textOf(''),
      callOf('t1', 'lookup'),
      textOf('\n\n'),
    ]);
    expect(encode(user('go'), item, toolResult('1.0', 'A'))[1]?.content).toEqual([callOf('t1', 'lookup')]);
    expect(encode(user('go'), native(assistant(''), [thinking]), user('so'))).toHaveLength(1);
  });

  it('the current turn tells whether an answer has lost its native message or has no thinking', () => {
    const kept = native(assistant('', { id: '1.0', name: 'lookup', providerId: 't1' }), [thinking, callOf('t1', 'lookup')]);
    const lost = assistant('', { id: '2.0', name: 'lookup', providerId: 't2' });
    const turn = (...items: Message[]) => encodeHistory(items).currentTurn;
    expect(turn(user('go'), kept, toolResult('1.0', 'A'))).toMatchObject({ lostNative: false, lacksThinking: false });
    expect(turn(user('go'), kept, toolResult('1.0', 'A'), lost, toolResult('2.0', 'B'))).toMatchObject({
      lostNative: true,
      lacksThinking: true,
    });
    expect(turn(user('go'), lost, toolResult('2.0', 'B'), user('brief'))).toMatchObject({ lostNative: true, lacksThinking: true });
    expect(turn(user('go'), lost, toolResult('2.0', 'B'), assistant('done'), user('next'))).toMatchObject({
      lostNative: false,
      lacksThinking: false,
    });
  });
});

describe('parts', () => {
  it('S047: an image result is an image block with its media type, never text', () => {
    const shot = toolResult('1.0', [{ type: 'image', mediaType: 'image/webp', data: 'AAAA' }]);
    const [, , results] = encode(user('go'), assistant('', { id: '1.0', name: 'lookup', providerId: 'c1' }), shot);
    expect(results?.content).toEqual([
      {
        type: 'tool_result',
        content: [{ type: 'image', source: { type: 'base64', media_type: 'image/webp', data: 'AAAA' } }],
        tool_use_id: 'c1',
      },
    ]);
  });

  it('images and documents are blocks in user messages too, by data or by address', () => {
    const [message] = encode(
      user(
        'see',
        { type: 'image', url: 'https://example.org/a.png' },
        { type: 'image', mediaType: 'IMAGE/JPG', data: 'AAAA' },
        { type: 'image', url: 'data:image/png;base64,AAAA' },
        { type: 'file', mediaType: 'application/pdf', data: 'AAAA', name: 'a.pdf' },
        { type: 'file', mediaType: 'application/pdf', url: 'https://example.org/a.pdf' },
        { type: 'file', mediaType: 'text/csv', data: btoa('a,b'), name: 'a.csv' },
        { type: 'file', mediaType: 'image/png', data: 'AAAA' },
      ),
    );
    expect(message?.content.map(({ type, source }) => [type, source])).toEqual([
      ['text', undefined],
      ['image', { type: 'url', url: 'https://example.org/a.png' }],
      ['image', { type: 'base64', media_type: 'image/jpeg', data: 'AAAA' }],
      ['image', { type: 'base64', media_type: 'image/png', data: 'AAAA' }],
      ['document', { type: 'base64', media_type: 'application/pdf', data: 'AAAA' }],
      ['document', { type: 'url', url: 'https://example.org/a.pdf' }],
      ['document', { type: 'text', media_type: 'text/plain', data: 'a,b' }],
      ['image', { type: 'base64', media_type: 'image/png', data: 'AAAA' }],
    ]);
  });

  it('what the API does not take is named, and its data is not sent as text', () => {
    const [message] = encode(
      user(
        { type: 'image', mediaType: 'image/svg+xml', data: 'U0VDUkVU' },
        { type: 'image', url: 'file:///etc/passwd' },
        { type: 'file', mediaType: 'application/zip', data: 'U0VDUkVU' },
        { type: 'file', mediaType: 'text/plain', data: '*' },
        { type: 'file', mediaType: 'x', url: 'https://example.org' },
      ),
    );
    expect(message?.content.every(({ type, text }) => type === 'text' && /cannot be shown it/.test(String(text)))).toBe(true);
    expect(JSON.stringify(message)).not.toMatch(/U0VDUkVU|passwd/);
  });
});

describe('a growing history', () => {
  it('messages that were given out never change', () => {
    const items: Message[] = [user('go'), assistant('', ...two), toolResult('1.0', 'A'), toolResult('1.1', 'B')];
    const first = encodeHistory(items).messages;
    const before = JSON.stringify(first);
    items.push(user('more'));
    expect(encodeHistory(items).messages.at(-1)?.content).toHaveLength(3);
    items.push(assistant('so'), user('on'));
    encodeHistory(items);
    expect(JSON.stringify(first)).toBe(before);
  });

  it('what was encoded before is the very same object in the next turn', () => {
    const items: Message[] = [user('go'), assistant('hello'), user('more')];
    const first = encodeHistory(items).messages;
    items.push(assistant('so'), user('on'));
    const second = encodeHistory(items).messages;
    for (const index of first.keys()) expect(second[index]).toBe(first[index]);
  });

  it('an array that was changed otherwise than at its end is encoded anew', () => {
    const items: Message[] = [user('one'), assistant('two'), user('three')];
    encodeHistory(items);
    items.splice(0, 1, user('zero'));
    expect(encodeHistory(items).messages[0]).toEqual({ role: 'user', content: [textOf('zero')] });
    items.splice(2, 1, user('four'));
    expect(encodeHistory(items).messages[2]).toEqual({ role: 'user', content: [textOf('four')] });
    items.splice(0, 3, user('other'));
    expect(encodeHistory(items).messages).toEqual([{ role: 'user', content: [textOf('other')] }]);
  });
});
