import type { AssistantMessage, JsonObject, JsonValue, Message, ModelRequest, ModelSettings, Part, ToolSpec } from '@guardloop/core/model';
import { mergeSettings } from '@guardloop/core/model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkChatRequest } from '../../../testing/src/requests/openai-chat.js';
import { answers, asks, lookup, result, withNative } from '../../test/chat-items.js';
import type { ChatDialect } from './dialect.js';
import { dialectOf } from './dialect.js';
import { RequestMaker } from './request.js';

type Body = { readonly messages: Record<string, unknown>[] } & Record<string, unknown>;

function maker(dialect: ChatDialect = {}): (request: Partial<ModelRequest>) => Body {
  const requests = new RequestMaker('gpt-5', dialectOf(dialect), 'api.openai.com');
  return (request) => {
    const full: ModelRequest = { agent: 'a', turn: 1, system: '', messages: [asks('u', 'hi')], tools: [], settings: {}, ...request };
    return JSON.parse(JSON.stringify(requests.make(full, full.settings).body)) as Body;
  };
}

/** The body of a request that must be legal. */
function make(request: Partial<ModelRequest>, dialect: ChatDialect = {}): Body {
  const body = maker(dialect)(request);
  expect(checkChatRequest(body)).toEqual([]);
  return body;
}
const withSettings = (settings: ModelSettings, dialect: ChatDialect = {}): Body => make({ settings }, dialect);

describe('messages', () => {
  test('instructions go first and core’s note last; empty ones are not there (S223)', () => {
    expect(make({ system: 'Be brief.', note: 'Answer again.' }).messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hi' },
      { role: 'user', content: 'Answer again.' },
    ]);
    expect(make({ system: '', note: '' }).messages).toEqual([{ role: 'user', content: 'hi' }]);
    expect(make({ system: 'x' }, { systemRole: 'developer' }).messages[0]).toEqual({ role: 'developer', content: 'x' });
  });

  test('images and files of the user go as parts', () => {
    const parts: readonly Part[] = [
      { type: 'image', mediaType: 'image/webp', data: 'QUJD' },
      { type: 'image', url: 'https://example.com/cat.png' },
      { type: 'file', mediaType: 'application/pdf', data: 'QUJD', name: 'bill.pdf' },
      { type: 'file', mediaType: 'audio/mpeg', data: 'QUJD' },
      { type: 'file', mediaType: 'text/csv', url: 'https://example.com/a.csv', name: 'a.csv' },
    ];
    expect(make({ messages: [asks('u', 'see', ...parts)] }).messages[0]?.content).toEqual([
      { type: 'text', text: 'see' },
      { type: 'image_url', image_url: { url: 'data:image/webp;base64,QUJD' } },
      { type: 'image_url', image_url: { url: 'https://example.com/cat.png' } },
      { type: 'file', file: { filename: 'bill.pdf', file_data: 'data:application/pdf;base64,QUJD' } },
      { type: 'input_audio', input_audio: { data: 'QUJD', format: 'mp3' } },
      {
        type: 'text',
        text: '[file a.csv (text/csv) is not attached: it is at https://example.com/a.csv, and this API takes files as data only]',
      },
    ]);
  });

  test('S019: text and call stand in one assistant message, the result directly after', () => {
    const messages = [asks('u', 'number please'), answers('1', 'I will fetch a number.', [['call_1', {}]]), result('1.0', '20')];
    expect(make({ messages, tools: [lookup] }).messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: 'I will fetch a number.',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'lookup', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '20' },
    ]);
  });

  test('S023: every one of four parallel results goes, in call order', () => {
    const ids = ['c1', 'c2', 'c3', 'c4'];
    const messages = [
      asks('u', 'go'),
      answers(
        '1',
        '',
        ids.map((id, index) => [id, { k: index }] as const),
      ),
      ...ids.map((_id, index) => result(`1.${index}`, `r${index}`)),
    ];
    const body = make({ messages, tools: [lookup] });
    expect(body.messages.slice(2)).toEqual(ids.map((id, index) => ({ role: 'tool', tool_call_id: id, content: `r${index}` })));
    expect(body.messages[1]?.content).toBeNull();
  });

  test('history that holds calls is legal where no tools are offered', () => {
    const body = make({ messages: [asks('u', 'go'), answers('1', '', [['c1', {}]]), result('1.0', 'r')] });
    expect(body).not.toHaveProperty('tools');
  });

  test('a note of core stands after the content of the result', () => {
    const messages = [
      asks('u', 'go'),
      answers('1', '', [
        ['c1', {}],
        ['c2', {}],
      ]),
      result('1.0', 'r', 'Third equal call.'),
      result('1.1', '', 'Cut.'),
    ];
    expect(
      make({ messages })
        .messages.slice(2)
        .map((message) => message.content),
    ).toEqual(['r\nThird equal call.', 'Cut.']);
  });

  test('S047: an image in a result is a stand-in there, and follows all results of the turn in one user message', () => {
    const image: Part = { type: 'image', mediaType: 'image/webp', data: 'QUJD' };
    const messages = [
      asks('u', 'go'),
      answers('1', '', [
        ['c1', {}],
        ['c2', {}],
      ]),
      result('1.0', [{ type: 'text', text: 'a shot' }, image]),
      result('1.1', 'r'),
      answers('2', 'I see a cat'),
    ];
    const body = make({ messages, tools: [lookup] });
    expect(body.messages.slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: 'a shot\n[image image/webp: in the user message after the results]' },
      { role: 'tool', tool_call_id: 'c2', content: 'r' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'From the result of tool lookup (call c1):' },
          { type: 'image_url', image_url: { url: 'data:image/webp;base64,QUJD' } },
        ],
      },
      { role: 'assistant', content: 'I see a cat' },
    ]);
  });

  test('S196: an answer without text and calls is left out, so that no placeholder reaches a server', () => {
    expect(make({ messages: [asks('u', 'go'), answers('1', ''), asks('v', 'and?')] }).messages).toEqual([
      { role: 'user', content: 'go' },
      { role: 'user', content: 'and?' },
    ]);
  });

  test('a call without its result and a result without its call never leave', () => {
    const broken: readonly (readonly Message[])[] = [
      [
        asks('u', 'go'),
        answers('1', '', [
          ['c1', {}],
          ['c2', {}],
        ]),
        result('1.0', 'r'),
      ],
      [asks('u', 'go'), answers('1', '', [['c1', {}]]), asks('v', 'next'), result('1.0', 'r')],
      [asks('u', 'go'), result('1.0', 'r')],
      [asks('u', 'go'), answers('1', '', [['c1', {}]]), result('1.0', 'r'), result('1.0', 'r')],
    ];
    for (const messages of broken) expect(() => make({ messages })).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
  });
});

describe('ids', () => {
  const idsOf = (body: Body): string[][] =>
    body.messages
      .filter((message) => message.role === 'assistant')
      .map((message) => ((message.tool_calls ?? []) as { id: string }[]).map((call) => call.id));
  const results = (body: Body): unknown[] =>
    body.messages.filter((message) => message.role === 'tool').map((message) => [message.tool_call_id, message.content]);

  test('S031: empty, missing and repeated ids get ids of their own, and results keep their calls', () => {
    for (const providerIds of [
      ['', ''],
      [undefined, undefined],
      ['same', 'same'],
    ]) {
      const messages = [
        asks('u', 'go'),
        answers(
          '1',
          '',
          providerIds.map((id, index) => [id, { n: index }] as const),
        ),
        result('1.0', 'r0'),
        result('1.1', 'r1'),
      ];
      const body = make({ messages });
      const [first, second] = idsOf(body)[0] ?? [];
      expect(first).not.toBe(second);
      expect(results(body)).toEqual([
        [first, 'r0'],
        [second, 'r1'],
      ]);
    }
  });

  test('S191: ids that the API refuses are mapped apart, the same in every later turn and in another process', () => {
    const long = 'x'.repeat(43);
    const given = ['Bash:0', `${long}a`, `${long}b`, 'call_PTLP8xhu3uwZk4l3nlnrrJha', ''];
    const turn = [
      answers(
        '1',
        '',
        given.map((id) => [id, {}] as const),
      ),
      ...given.map((_id, index) => result(`1.${index}`, `r${index}`)),
    ];
    const messages: Message[] = [asks('u', 'go'), ...turn];
    const request = maker();
    const first = idsOf(request({ messages }))[0];
    expect(new Set(first).size).toBe(given.length);
    expect(first?.[3]).toBe('call_PTLP8xhu3uwZk4l3nlnrrJha');
    messages.push(
      answers('2', '', [
        ['Bash:0', {}],
        ['call_PTLP8xhu3uwZk4l3nlnrrJha', {}],
      ]),
      result('2.0', 'r'),
      result('2.1', 'r'),
    );
    const later = request({ messages });
    expect(idsOf(later)[0]).toEqual(first);
    expect(new Set(idsOf(later).flat()).size).toBe(given.length + 2);
    expect(idsOf(make({ messages: JSON.parse(JSON.stringify(messages)) as Message[] }))).toEqual(idsOf(later));
  });

  test('calls that meet in a view only later do not share an id', () => {
    const one = [answers('1', '', [['c', {}]]), result('1.0', 'r1')];
    const two = [answers('2', '', [['c', {}]]), result('2.0', 'r2')];
    const request = maker();
    request({ messages: [asks('u', 'go'), ...one] });
    request({ messages: [asks('u', 'go'), ...two] });
    const both = request({ messages: [asks('u', 'go'), ...one, ...two] });
    expect(checkChatRequest(both)).toEqual([]);
    expect(new Set(idsOf(both).flat()).size).toBe(2);
    expect(results(both)).toEqual([
      [idsOf(both)[0]?.[0], 'r1'],
      [idsOf(both)[1]?.[0], 'r2'],
    ]);
  });

  test('every history of turns gives a legal request, in which growing changes nothing that was sent before', () => {
    const ids = fc.oneof(fc.constantFrom('', 'c', 'c1', 'Bash:0'), fc.string({ maxLength: 50 }), fc.constant(undefined));
    const text = fc.oneof(fc.constant(''), fc.string({ unit: 'binary', maxLength: 6 }), fc.constantFrom('\ud83d', 'x\ude00'));
    const value = fc.dictionary(text, fc.oneof(text, fc.integer(), fc.constant(null)), { maxKeys: 2 });
    const image = fc.constant<readonly Part[]>([{ type: 'image', mediaType: 'image/png', data: 'QUJD' }]);
    const turn = fc.record({
      asked: fc.option(text),
      text,
      calls: fc.array(fc.tuple(ids, value, fc.oneof(text, image)), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 4 }), (turns) => {
        const request = maker();
        const messages: Message[] = [asks('u', 'go')];
        let before: unknown[] = [];
        for (const [number, { asked, text: said, calls }] of turns.entries()) {
          if (asked !== null) messages.push(asks(`u${number}`, asked));
          messages.push(
            answers(
              `${number}`,
              said,
              calls.map(([id, input]) => [id, input] as const),
            ),
          );
          messages.push(...calls.map(([, , content], index) => result(`${number}.${index}`, content)));
          const body = request({ messages });
          expect(checkChatRequest(body)).toEqual([]);
          expect(body.messages.slice(0, before.length)).toEqual(before);
          expect(make({ messages })).toEqual(body);
          before = body.messages;
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe('the wire form of an item', () => {
  test('is made once in its life: the items of earlier turns are not read again', () => {
    let reads = 0;
    const counted = <T extends object>(item: T): T =>
      new Proxy(item, {
        get(target, key) {
          reads += 1;
          return Reflect.get(target, key) as unknown;
        },
      });
    const request = maker();
    const messages: Message[] = [];
    const readsOfTurn = Array.from({ length: 50 }, (_turn, number) => {
      messages.push(
        counted(asks(`u${number}`, 'go')),
        counted(answers(`${number}`, 'x', [['c', {}]])),
        counted(result(`${number}.0`, 'r')),
      );
      reads = 0;
      request({ messages });
      return reads;
    });
    expect(readsOfTurn[49]).toBe(readsOfTurn[1]);
  });

  test('is that of the items, where another array or a changed one is given', () => {
    const request = maker();
    const messages: Message[] = [asks('u', 'one'), asks('v', 'two')];
    request({ messages });
    messages.splice(0, 2, asks('w', 'three'));
    expect(request({ messages }).messages).toEqual([{ role: 'user', content: 'three' }]);
    messages[0] = asks('x', 'four');
    expect(request({ messages }).messages).toEqual([{ role: 'user', content: 'four' }]);
  });

  test('a request that failed to be made leaves nothing behind', () => {
    const request = maker();
    const messages: Message[] = [asks('u', 'go'), answers('1', '', [['c1', {}]])];
    expect(() => request({ messages })).toThrow();
    messages.push(result('1.0', 'r'));
    expect(checkChatRequest(request({ messages }))).toEqual([]);
  });
});

describe('the provider’s own message', () => {
  const native = {
    role: 'assistant',
    content: 'I look.',
    reasoning_content: 'think',
    tool_calls: [{ extra_content: { s: 1 }, id: 'c1', type: 'function', function: { name: 'lookup', arguments: '{ "key" : "a" }' } }],
  };
  const turn = (message: AssistantMessage): readonly Message[] => [asks('u', 'go'), message, result('1.0', 'r')];

  test('is replayed byte for byte to its maker', () => {
    const messages = turn(withNative(answers('1', 'I look.', [['c1', { key: 'a' }]]), native));
    expect(make({ messages }).messages[1]).toEqual({
      role: 'assistant',
      content: 'I look.',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'lookup', arguments: '{ "key" : "a" }' } }],
    });
  });

  test('goes with the server’s reasoning fields where the option says so', () => {
    const messages = turn(withNative(answers('1', 'I look.', [['c1', { key: 'a' }]]), native));
    expect(maker({ replayReasoning: true })({ messages }).messages[1]).toEqual(native);
  });

  test('of another provider, or not whole, is not sent', () => {
    const neutral = {
      role: 'assistant',
      content: 'I look.',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'lookup', arguments: '{"key":"a"}' } }],
    };
    const foreign = { ...answers('1', 'I look.', [['c1', { key: 'a' }]]), native: { provider: 'anthropic', message: native } };
    const damaged: readonly JsonValue[] = [
      7,
      {},
      { role: 'assistant', content: 'x' },
      { ...native, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'lookup', arguments: '{bad' } }] },
    ];
    for (const message of [foreign, ...damaged.map((own) => withNative(answers('1', 'I look.', [['c1', { key: 'a' }]]), own))]) {
      expect(make({ messages: turn(message) }).messages[1]).toEqual(neutral);
    }
  });

  test('with an id that the API refuses gets another, and the result agrees', () => {
    const own = { ...native, tool_calls: [{ id: '', type: 'function', function: { name: 'lookup', arguments: '{}' } }] };
    const [, assistant, tool] = make({ messages: turn(withNative(answers('1', 'I look.', [['', {}]]), own)) }).messages;
    expect(assistant).toMatchObject({ content: 'I look.', tool_calls: [{ id: tool?.tool_call_id }] });
  });
});

describe('tools', () => {
  test('S036: without tools there is no tools, tool_choice or parallel_tool_calls, and with one they are back', () => {
    const settings = { parallelToolCalls: true };
    const bare = make({ settings, toolChoice: 'auto' });
    for (const key of ['tools', 'tool_choice', 'parallel_tool_calls']) expect(bare).not.toHaveProperty(key);
    expect(make({ settings, toolChoice: 'auto', tools: [lookup] })).toMatchObject({ tool_choice: 'auto', parallel_tool_calls: true });
    expect(make({ toolChoice: { tool: 'lookup' }, tools: [lookup] }).tool_choice).toEqual({
      type: 'function',
      function: { name: 'lookup' },
    });
    expect(() => make({ toolChoice: { tool: 'other' }, tools: [lookup] })).toThrow('other');
  });

  test('S167: are strict where their schema can be said in the strict subset, and go as they are where not or not wanted', () => {
    const key: JsonObject = { type: 'object', properties: { key: { type: 'string' } } };
    const record: JsonObject = { type: 'object', properties: {}, additionalProperties: { type: 'string' } };
    const tools: readonly ToolSpec[] = [
      lookup,
      { name: 'optional', description: '', schema: key },
      { name: 'loose', description: '', schema: key, strict: false },
      { name: 'record', description: '', schema: record, strict: 'auto' },
    ];
    expect(make({ tools }).tools).toEqual([
      { type: 'function', function: { name: 'lookup', description: 'Looks up.', parameters: lookup.schema, strict: true } },
      {
        type: 'function',
        function: {
          name: 'optional',
          parameters: { type: 'object', properties: { key: { type: ['string', 'null'] } }, required: ['key'], additionalProperties: false },
          strict: true,
        },
      },
      { type: 'function', function: { name: 'loose', parameters: key } },
      { type: 'function', function: { name: 'record', parameters: record } },
    ]);
    expect(() => make({ tools: [{ name: 'record', description: '', schema: record, strict: true }] })).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(
          /^Tool record has `strict: true`, but OpenAI cannot be held to the schema of its input: the root \(additionalProperties\)\./,
        ),
      }),
    );
    expect(JSON.stringify(make({ tools: [lookup] }, { strictSchemas: false }))).not.toContain('strict');
  });

  test('every two names give two legal names, each the same in every request', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.oneof(fc.string({ maxLength: 80 }), fc.constantFrom('a.b', 'a_b', 'a/b', 'a b', '')), {
          minLength: 2,
          maxLength: 6,
        }),
        (names) => {
          const tools = names.map((name) => ({ ...lookup, name }));
          const wire = (make({ tools }).tools as { function: { name: string } }[]).map((tool) => tool.function.name);
          expect(new Set(wire).size).toBe(names.length);
          expect(
            (make({ tools: [...tools].reverse() }).tools as { function: { name: string } }[]).map((tool) => tool.function.name).reverse(),
          ).toEqual(wire);
        },
      ),
    );
  });

  test('a tool that is called as another is on the wire does not meet it there', () => {
    const namesOf = (...names: readonly string[]): readonly string[] =>
      (make({ tools: names.map((name) => ({ ...lookup, name })) }).tools as { function: { name: string } }[]).map(
        (tool) => tool.function.name,
      );
    const [wire = ''] = namesOf('a.b');
    expect(new Set(namesOf('a.b', wire)).size).toBe(2);
  });
});

describe('settings', () => {
  test('S223: a temperature of 0 is sent as 0, and empty lists are not sent', () => {
    expect(withSettings({ temperature: 0, topP: 0, stopSequences: [] })).toMatchObject({ temperature: 0, top_p: 0 });
    expect(withSettings({ stopSequences: [] })).not.toHaveProperty('stop');
  });

  test('each setting has its field', () => {
    expect(withSettings({ maxTokens: 10, stopSequences: ['END'], reasoning: 'low' })).toMatchObject({
      max_completion_tokens: 10,
      stop: ['END'],
      reasoning_effort: 'low',
    });
    expect(withSettings({ maxTokens: 10 }, { maxTokensField: 'max_tokens' })).toMatchObject({ max_tokens: 10 });
    expect(withSettings({ reasoning: 'off' })).toMatchObject({ reasoning_effort: 'none' });
    expect(withSettings({ reasoning: 'off' }, { reasoningOff: 'omit' })).not.toHaveProperty('reasoning_effort');
    expect(withSettings({}, { streamUsage: false })).not.toHaveProperty('stream_options');
  });

  test('a reasoning budget, which this API does not have, is refused', () => {
    expect(() => withSettings({ reasoning: { maxTokens: 1_000 } })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  test('extra fields of this adapter are merged, of others not; a limit among them replaces ours', () => {
    const body = withSettings({ maxTokens: 5, extra: { 'openai.chat': { seed: 0, max_tokens: 9 }, anthropic: { top_k: 1 } } });
    expect(body).toMatchObject({ seed: 0, max_tokens: 9 });
    expect(body).not.toHaveProperty('max_completion_tokens');
    expect(body).not.toHaveProperty('top_k');
  });

  test('extra fields cannot replace the conversation, or bring tools that no guardrail sees', () => {
    for (const field of ['messages', 'tools', 'n', 'stream', 'web_search_options']) {
      expect(() => withSettings({ extra: { 'openai.chat': { [field]: [] } } })).toThrow(field);
    }
  });

  test('the request’s settings go over the adapter’s defaults', () => {
    const merged = mergeSettings(
      { temperature: 1, topP: 0.5, extra: { 'openai.chat': { seed: 1, user: 'u' } } },
      { temperature: 0, topP: undefined, extra: { 'openai.chat': { seed: 2 } } },
    );
    expect(merged).toEqual({ temperature: 0, topP: 0.5, extra: { 'openai.chat': { seed: 2, user: 'u' } } });
  });
});

describe('structured answers', () => {
  const closed = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'], additionalProperties: false } as const;

  const formatOf = (schema: JsonObject, options?: Parameters<typeof make>[1]) =>
    make({ output: { name: 'my answer', schema } }, options).response_format;

  test('are asked for by schema, strict where it can be said in the strict subset', () => {
    expect(formatOf(closed)).toMatchObject({ type: 'json_schema', json_schema: { schema: closed, strict: true } });
    const optional: JsonObject = { type: 'object', properties: { a: { type: 'number' } } };
    expect(formatOf(optional)).toMatchObject({
      json_schema: { schema: { required: ['a'], properties: { a: { type: ['number', 'null'] } } }, strict: true },
    });
    const record: JsonObject = { type: 'object', properties: {}, additionalProperties: { type: 'string' } };
    expect(formatOf(record)).toMatchObject({ json_schema: { schema: record, strict: false } });
    expect(formatOf(optional, { strictSchemas: false })).toEqual({
      type: 'json_schema',
      json_schema: { name: expect.any(String), schema: optional },
    });
  });

  test('that are a union at their root, or no object, are asked for in the instructions', () => {
    const union: JsonObject = { oneOf: [closed, { ...closed, properties: { b: { type: 'number' } }, required: ['b'] }] };
    const inMode = make({ system: 'Be brief.', output: { name: 'a', schema: union } });
    expect(inMode.response_format).toEqual({ type: 'json_object' });
    expect(inMode.messages[0]?.content).toMatch(/^Be brief\.\n\n.*JSON Schema/);
    const list = make({ output: { name: 'a', schema: { type: 'array', items: closed } } });
    expect(list).not.toHaveProperty('response_format');
    expect(list.messages[0]?.content).toContain('"array"');
  });

  test('go into the instructions for servers without schemas', () => {
    const inMode = make({ system: 'Be brief.', output: { name: 'a', schema: closed } }, { structuredOutput: 'json_object' });
    expect(inMode.response_format).toEqual({ type: 'json_object' });
    expect(inMode.messages[0]?.content).toContain(JSON.stringify(closed));
    const plain = make({ output: { name: 'a', schema: closed } }, { structuredOutput: 'instructions' });
    expect(plain).not.toHaveProperty('response_format');
    expect(plain.messages[0]).toMatchObject({ role: 'system' });
  });
});

test('S139: lone surrogates are replaced in every string that is sent', () => {
  const bad = 'x\ud83d';
  const own = {
    role: 'assistant',
    content: bad,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'lookup', arguments: '{"k":"\\ud83d"}' } }],
  };
  const body = make({
    system: bad,
    note: bad,
    messages: [
      asks('u', bad),
      asks('v', bad, { type: 'file', mediaType: 'application/pdf', data: 'QUJD', name: bad }),
      answers('1', bad, [['c1', { [bad]: [bad] }]]),
      result('1.0', bad, bad),
      withNative(answers('2', bad, [['c2', { k: '' }]]), own),
      result('2.0', [
        { type: 'text', text: bad },
        { type: 'image', url: `https://example.com/${bad}` },
      ]),
    ],
    tools: [{ name: bad, description: bad, schema: { type: 'object', description: bad, properties: { [bad]: { type: 'string' } } } }],
    output: { name: bad, schema: { type: 'object', title: bad } },
    settings: { stopSequences: [bad], extra: { 'openai.chat': { user: bad } } },
  });
  expect(JSON.stringify(body)).not.toMatch(/\\ud83d/i);
  expect(JSON.stringify(body)).toContain('\ufffd');
});

test('well-formed pairs and the schema objects of the caller are left as they are', () => {
  const schema = {
    type: 'object',
    properties: { emoji: { type: 'string', description: '😀' } },
    required: ['emoji'],
    additionalProperties: false,
  } as const;
  const frozen = Object.freeze({ name: 'e', description: '😀', schema: Object.freeze(schema) });
  expect(make({ messages: [asks('u', '😀')], tools: [frozen] })).toMatchObject({
    messages: [{ content: '😀' }],
    tools: [{ function: { parameters: schema } }],
  });
});
