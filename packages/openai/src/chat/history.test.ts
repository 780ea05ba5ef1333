import type { AssistantMessage, JsonObject, JsonValue, Message, ModelRequest, Part, ToolMessage, UserMessage } from '@guardloop/core/model';
import { GuardloopError, OpenCalls, standIns } from '@guardloop/core/model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkChatRequest } from '../../../testing/src/requests/openai-chat.js';
import { answers, asks, lookup, result } from '../../test/chat-items.js';
import type { ChatDialect } from './dialect.js';
import { dialectLists, dialectOf, dialectWords } from './dialect.js';
import { RequestMaker } from './request.js';

type Wire = Readonly<Record<string, unknown>> & { readonly role: string };

const label = { origin: 'user', integrity: 'trusted' } as const;
const chatProvider = 'openai.chat';

const text = fc.oneof(
  fc.constantFrom('', ' ', '\n', 'x\ud83d', '\ude00y', 'a\u0000b', '😀'),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.string({ maxLength: 8 }),
);
const words = fc.oneof(text, fc.string({ maxLength: 100 }));
const json = fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }) as fc.Arbitrary<JsonValue>;
const data = fc.oneof(
  fc.base64String({ maxLength: 16 }),
  fc.constantFrom('', 'iVBORw0KGgo=', '/9j/QUJD', 'not base64!', 'QUJD\nQUJD', 'QUJ_'),
  text,
);
const mediaType = fc.oneof(
  fc.constantFrom('image/png', 'IMAGE/JPG', 'image/tiff', 'application/pdf', 'text/csv', 'audio/wav', 'audio/mpeg', 'application/zip', ''),
  text,
);
const url = fc.oneof(
  fc.constantFrom('https://example.com/a.png', 'http://', 'data:image/png;base64,iVBORw0KGgo=', 'data:,x', 'file:///x'),
  words,
);
const option = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const part: fc.Arbitrary<Part> = fc.oneof(
  text.map((given): Part => ({ type: 'text', text: given })),
  fc.record({ type: fc.constant('image' as const), mediaType: option(mediaType), data: option(data), url: option(url) }),
  fc.record({ type: fc.constant('file' as const), mediaType, data: option(data), url: option(url), name: option(words) }),
);
const parts = fc.array(part, { maxLength: 4 });
const input = fc.dictionary(text, json, { maxKeys: 2 }) as fc.Arbitrary<JsonObject>;
const callId = fc.constantFrom('1.0', '1.1', '2.0', '', '__proto__');
const call = fc.record({
  id: callId,
  name: fc.oneof(fc.constantFrom('lookup', 'a.b', 'constructor', ''), words),
  input,
  providerId: option(fc.oneof(fc.constantFrom('c1', 'c2', 'Bash:0', 'D681PevKs', ''), words)),
});
const ownNative = fc.record({
  role: fc.constantFrom('assistant', 'user'),
  content: fc.oneof(text, fc.constant(null), json),
  reasoning_content: text,
  tool_calls: fc.array(
    fc.record({
      id: words,
      type: fc.constant('function'),
      function: fc.record({ name: words, arguments: fc.constantFrom('{}', '{"k":"\\ud83d"}', '{bad', '[]') }),
    }),
    { maxLength: 3 },
  ),
}) as fc.Arbitrary<JsonValue>;
const native = option(
  fc.record({ provider: fc.constantFrom(chatProvider, 'anthropic.messages', 'x\ny'), message: fc.oneof(ownNative, json) }),
);
const noCalls: fc.Arbitrary<readonly never[]> = fc.constant([]);
const answer = (calls: fc.Arbitrary<AssistantMessage['calls']>): fc.Arbitrary<AssistantMessage> =>
  fc.record({ role: fc.constant('assistant' as const), id: words, agent: text, text: words, calls, native, label: fc.constant(label) });
const question: fc.Arbitrary<UserMessage> = fc.record({
  role: fc.constant('user' as const),
  id: words,
  via: fc.constant('user' as const),
  parts,
  label: fc.constant(label),
});
const outcome = (id: fc.Arbitrary<string>): fc.Arbitrary<ToolMessage> =>
  fc.record({
    role: fc.constant('tool' as const),
    id: words,
    callId: id,
    tool: words,
    content: fc.oneof(words, parts),
    isError: fc.boolean(),
    note: option(text),
    label: fc.constant(label),
  });

/** Any items in any order. */
const heap: fc.Arbitrary<readonly Message[]> = fc.array(
  fc.oneof(question, answer(fc.array(call, { maxLength: 3 })), answer(noCalls), outcome(callId), outcome(callId)),
  { maxLength: 8 },
);
/** Any items, each call with its result, the results in any order. */
const history: fc.Arbitrary<readonly Message[]> = fc
  .array(
    fc.oneof(
      question.map((message): readonly Message[] => [message]),
      answer(fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id })).chain((message) =>
        fc
          .tuple(...message.calls.map(({ id }) => outcome(fc.constant(id))))
          .chain((results) => fc.shuffledSubarray(results, { minLength: results.length }))
          .map((results): readonly Message[] => [message, ...results]),
      ),
    ),
    { maxLength: 5 },
  )
  .map((turns) => turns.flat());
const request = (messages: fc.Arbitrary<readonly Message[]>): fc.Arbitrary<ModelRequest> =>
  fc.record({
    agent: fc.constant('a'),
    turn: fc.constant(1),
    system: words,
    messages,
    note: option(words),
    tools: fc.constantFrom([], [lookup], [{ ...lookup, name: 'a.b' }]),
    settings: fc.constant({}),
  });
const dialect: fc.Arbitrary<ChatDialect> = fc.record(
  {
    ...Object.fromEntries(Object.entries(dialectWords).map(([name, known]) => [name, fc.constantFrom(...known)])),
    media: fc.subarray([...dialectLists.media]),
    replayReasoning: fc.boolean(),
    strictSchemas: fc.boolean(),
    streamUsage: fc.boolean(),
  },
  { requiredKeys: [] },
);

function make(given: ModelRequest, options: ChatDialect = {}): unknown {
  return JSON.parse(JSON.stringify(new RequestMaker('m', dialectOf(options), 'api.openai.com').make(given, given.settings).body));
}

function arePaired(messages: readonly Message[]): boolean {
  const calls = new OpenCalls();
  try {
    for (const message of messages) {
      if (message.role === 'tool') calls.answer(message);
      else if (message.role === 'assistant') calls.open(message);
      else calls.close();
    }
    calls.close();
    return true;
  } catch {
    return false;
  }
}

/** The rule of chat templates that know user and assistant in turn, with calls and results between. */
function isInTurn(messages: readonly Wire[]): boolean {
  let before = 'nothing';
  for (const [index, { role, tool_calls: calls }] of messages.entries()) {
    if (role === 'system' || role === 'developer') {
      if (index > 0) return false;
      continue;
    }
    const allowed: Readonly<Record<string, readonly string[]>> = {
      nothing: ['user'],
      user: ['assistant'],
      assistant: ['user'],
      calls: ['tool'],
      tool: ['tool', 'assistant'],
    };
    if (allowed[before]?.includes(role) !== true) return false;
    before = calls === undefined ? role : 'calls';
  }
  return before === 'user' || before === 'tool';
}

describe('a history', () => {
  test('made at random encodes to a legal request, or fails before any with an error that names an item', () => {
    let refused = 0;
    fc.assert(
      fc.property(request(heap), (given) => {
        const isLegal = arePaired(given.messages);
        try {
          expect(checkChatRequest(make(given))).toEqual([]);
          expect(isLegal).toBe(true);
        } catch (error) {
          if (!GuardloopError.is(error)) throw error;
          refused += 1;
          expect([isLegal, error.code]).toEqual([false, 'INTERNAL']);
          expect(given.messages.some(({ id }) => error.message.includes(id))).toBe(true);
        }
      }),
      { numRuns: 400 },
    );
    expect(refused).toBeGreaterThan(100);
  });

  test('of pairs never fails, and its results stand in call order', () => {
    fc.assert(
      fc.property(request(history), (given) => {
        const body = make(given) as { readonly messages: readonly Wire[] };
        expect(checkChatRequest(body)).toEqual([]);
        let ids: readonly unknown[] = [];
        for (const message of body.messages) {
          if (message.role === 'tool') {
            expect(message.tool_call_id).toBe(ids[0]);
            ids = ids.slice(1);
          } else ids = ((message.tool_calls ?? []) as readonly { readonly id: string }[]).map(({ id }) => id);
        }
      }),
      { numRuns: 400 },
    );
  });

  test('of pairs keeps the rules of every dialect, and growing it changes nothing that was said before', () => {
    fc.assert(
      fc.property(request(history), dialect, fc.nat({ max: 20 }), (given, options, cut) => {
        const ways = dialectOf(options);
        const requests = new RequestMaker('m', ways, 'api.openai.com');
        const messages: Message[] = [];
        const growing = { ...given, messages };
        const make = (): { readonly messages: readonly Wire[] } =>
          JSON.parse(JSON.stringify(requests.make(growing, {}).body)) as { readonly messages: readonly Wire[] };
        const ends = given.messages.flatMap((_message, index) => (arePaired(given.messages.slice(0, index)) ? [index] : []));
        messages.push(...given.messages.slice(0, ends[cut % Math.max(1, ends.length)] ?? 0));
        const before = make();
        const warned = requests.make(growing, {}).warnings.filter(({ item }) => item !== undefined);
        expect(warned).toEqual([]);
        messages.push(...given.messages.slice(messages.length));
        const body = make();
        expect(body).toEqual(JSON.parse(JSON.stringify(new RequestMaker('m', ways, 'api.openai.com').make(given, {}).body)));
        if (ways.roleOrder === 'alternating') expect(isInTurn(body.messages), JSON.stringify(body.messages)).toBe(true);
        else if (given.note === undefined || given.note === '') {
          const said = before.messages.filter(({ content }) => content !== standIns.nothing);
          expect(body.messages.slice(0, said.length)).toEqual(said);
        }
        for (const message of body.messages) {
          if (ways.media.length === 0) expect(Array.isArray(message.content)).toBe(false);
          for (const { id } of (message.tool_calls ?? []) as readonly { readonly id: string }[])
            expect(id).toMatch(ways.callIds === 'nine' ? /^[a-zA-Z0-9]{9}$/ : /^[a-zA-Z0-9_-]{1,40}$/);
          if (message.role === 'assistant' && (message.content === null || message.content === undefined))
            expect(ways.callContent === 'omit' ? message.content : ways.callContent).toBe(ways.callContent === 'omit' ? undefined : 'null');
        }
        const others = /role|random_seed|reasoning_content|is no parameter/;
        expect(checkChatRequest(body).filter((fault) => !others.test(fault))).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });

  test('is not changed by what is made of it', () => {
    const messages: readonly Message[] = [asks('u', 'go'), answers('1', 'x', [['Bash:0', { k: '\ud83d' }]]), result('1.0', '\ud83d')];
    const before = JSON.stringify(messages);
    const given: ModelRequest = { agent: 'a', turn: 1, system: '', messages, tools: [], settings: {} };
    make(given, { roleOrder: 'alternating', callIds: 'nine' });
    expect(JSON.stringify(messages)).toBe(before);
  });
});
