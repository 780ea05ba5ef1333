import type { AssistantMessage, JsonValue, Message, ModelRequest, ModelSettings, Part } from '@guardloop/core/model';
import { GuardloopError } from '@guardloop/core/model';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkMessagesRequest } from '../../testing/src/requests/anthropic.js';
import { lookup, request } from '../test/fake-api.js';
import { contextFor } from '../test/request-context.js';
import type { RequestContext } from './build-request.js';
import { buildRequest } from './build-request.js';

const models = [
  'claude-3-5-sonnet-20241022',
  'claude-haiku-4-5',
  'claude-sonnet-4-6',
  'claude-opus-4-8',
  'claude-opus-5',
  'claude-haiku-5-5',
  'claude-sonnet-5-5',
  'claude-opus-5-5',
  'claude-fable-5-1',
  'my-proxy/best',
];
const serverTools = [
  { type: 'web_search_20250305', name: 'web_search' },
  { type: 'code_execution_20260120', name: 'code_execution' },
];

const text = fc.oneof(fc.constantFrom('', ' ', '\n\t', 'a', 'b ', '\ud83d', 'x\udc00y', 'ok'), fc.string({ maxLength: 6, unit: 'binary' }));
const words = fc.oneof(
  fc.constantFrom('c1', 'c2', 'toolu_1', 'bad id', '', 'Bash:0', 'x'.repeat(70), 'ä', '\ud83d'),
  fc.string({ maxLength: 4 }),
);
const data = fc.constantFrom('AAAA', 'AAA', 'AA AA\n', '/9j/4AAQ', 'iVBORw0KGgoAAAAN', '*', '', 'JVBERi0x', 'ICAg', 'aGVsbG8');
const address = fc.constantFrom(
  undefined,
  'https://example.org/a.png',
  'http://example.org/a',
  'file:///x',
  'data:image/png;base64,AAAA',
  '',
);
const part: fc.Arbitrary<Part> = fc.oneof(
  text.map((given): Part => ({ type: 'text', text: given })),
  fc.record({
    type: fc.constant('image' as const),
    mediaType: fc.constantFrom(undefined, 'image/png', 'IMAGE/JPG', 'image/tiff', '?'),
    data: fc.option(data, { nil: undefined }),
    url: address,
  }),
  fc.record({
    type: fc.constant('file' as const),
    mediaType: fc.constantFrom('application/pdf', 'text/plain', 'application/json; charset=utf-8', 'application/zip', 'image/webp', ''),
    data: fc.option(data, { nil: undefined }),
    url: address,
    name: fc.option(text, { nil: undefined }),
  }),
);
const input: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>({}, { a: 1 }, { '\ud83d': '\udc00' }, { toJSON: 'x' }),
  fc.dictionary(text, fc.jsonValue() as fc.Arbitrary<JsonValue>, { maxKeys: 3 }),
);
const damaged: fc.Arbitrary<JsonValue> = fc.constantFrom<JsonValue>(null, 'x', '{bad', 3, [1]);
const label = { origin: 'user', integrity: 'trusted' } as const;

interface MadeCall {
  readonly name: string;
  readonly providerId: string | undefined;
  readonly input: JsonValue;
}
const call: fc.Arbitrary<MadeCall> = fc.record({
  name: fc.oneof(fc.constantFrom('lookup', 'a.b', 'web_search', ''), text),
  providerId: fc.option(words, { nil: undefined }),
  input: fc.oneof({ weight: 4, arbitrary: input }, damaged),
});

const serverId = fc.constantFrom('srvtoolu_1', 'srvtoolu_2', 'srvtoolu_3');
/** What Anthropic says beside calls of our tools, in whatever order; with some damage. */
const saying: fc.Arbitrary<object> = fc.oneof(
  text.map((given) => ({ type: 'text', text: given, citations: null })),
  text.map((given) => ({ type: 'thinking', thinking: given, signature: 'S' })),
  fc.constantFrom({ type: 'redacted_thinking', data: 'ENC' }, { type: 'thinking', thinking: 'unsigned' }, { type: 'image' }, { text: 'x' }),
  serverId.map((id) => ({ type: 'server_tool_use', id, name: 'web_search', input: { query: 'q' } })),
  serverId.map((id) => ({ type: 'server_tool_use', id, name: 'bash_code_execution', input: {} })),
  serverId.map((id) => ({ type: 'web_search_tool_result', tool_use_id: id, content: [] })),
  serverId.map((id) => ({ type: 'bash_code_execution_tool_result', tool_use_id: id, content: {} })),
);
const caller = fc.option(
  serverId.map((id) => ({ caller: { type: 'code_execution_20260120', tool_id: id } })),
  { nil: {} },
);

interface Answer {
  readonly text: string;
  readonly calls: readonly MadeCall[];
  readonly native: AssistantMessage['native'];
}
const answer: fc.Arbitrary<Answer> = fc.array(call, { maxLength: 3 }).chain((calls) => {
  const uses = fc.tuple(
    ...calls.map((made, index) =>
      caller.map((by) => ({ type: 'tool_use', id: made.providerId ?? `n${index}`, name: 'lookup', input: {}, ...by })),
    ),
  );
  const blocks = fc
    .tuple(fc.array(saying, { maxLength: 4 }), uses)
    .chain(([said, used]) => fc.shuffledSubarray([...said, ...used], { minLength: Math.max(0, said.length + used.length - 1) }));
  const container = fc.option(fc.constantFrom('2099-01-01T00:00:00Z', '2020-01-01T00:00:00Z', null), { nil: undefined });
  const own = fc
    .tuple(blocks, container)
    .map(([content, ends]) => (ends === undefined ? content : { content, container: { id: 'container_1', expires_at: ends } }));
  const native = fc.oneof(
    { weight: 3, arbitrary: own.map((message) => ({ provider: 'anthropic.messages', message: message as JsonValue })) },
    fc.constantFrom(
      undefined,
      { provider: 'openai.responses', message: [{ type: 'reasoning', id: 'rs_1', encrypted_content: 'E' }] },
      { provider: 'openai.chat', message: { role: 'assistant', content: 'theirs' } },
      { provider: 'anthropic.messages', message: 'damaged' },
    ),
  );
  return fc.record({ text, calls: fc.constant(calls), native });
});

interface Result {
  readonly content: string | readonly Part[];
  readonly isError: boolean;
  readonly note: string | undefined;
}
const result: fc.Arbitrary<Result> = fc.record({
  content: fc.oneof(text, fc.array(part, { maxLength: 3 })),
  isError: fc.boolean(),
  note: fc.option(text, { nil: undefined }),
});

let made = 0;
const newId = (): string => {
  made += 1;
  return `item-${made}`;
};

const userItem = (parts: readonly Part[]): Message => ({ role: 'user', id: newId(), via: 'user', parts, label });

function answerItem({ text: said, calls, native }: Answer, turn: number): AssistantMessage {
  return {
    role: 'assistant',
    id: newId(),
    agent: 'main',
    text: said,
    calls: calls.map((given, index) => ({
      ...given,
      id: `${turn}.${index}`,
      input: given.input as AssistantMessage['calls'][number]['input'],
    })),
    ...(native === undefined ? {} : { native }),
    label,
  };
}

const resultItem = (callId: string, given: Result): Message => ({ role: 'tool', id: newId(), callId, tool: 'lookup', label, ...given });

/** An answer with the results of its calls, or words of the user; never apart. */
const legalStretch: fc.Arbitrary<(turn: number) => readonly Message[]> = fc.oneof(
  fc.array(part, { maxLength: 3 }).map((parts) => () => [userItem(parts)]),
  fc.tuple(answer, fc.array(result, { minLength: 3, maxLength: 3 }), fc.boolean()).map(([given, results, isReversed]) => (turn: number) => {
    const item = answerItem(given, turn);
    const answers = item.calls.map(({ id }, index) => resultItem(id, results[index] ?? { content: '', isError: false, note: undefined }));
    return [item, ...(isReversed ? answers.reverse() : answers)];
  }),
);
const legalHistory = fc.array(legalStretch, { maxLength: 7 }).map((stretches) => stretches.map((make, index) => make(index + 1)));

const anyItem: fc.Arbitrary<() => Message> = fc.oneof(
  fc.array(part, { maxLength: 2 }).map((parts) => () => userItem(parts)),
  fc.tuple(answer, fc.constantFrom(1, 2)).map(
    ([given, turn]) =>
      () =>
        answerItem(given, turn),
  ),
  fc.tuple(fc.constantFrom('1.0', '1.1', '2.0', '9.9'), result).map(
    ([callId, given]) =>
      () =>
        resultItem(callId, given),
  ),
);

interface Asked {
  readonly model: string;
  readonly settings: ModelSettings;
  readonly more: Partial<ModelRequest>;
  readonly context: Partial<RequestContext>;
}
const asked: fc.Arbitrary<Asked> = fc.record({
  model: fc.constantFrom(...models),
  settings: fc.record({
    reasoning: fc.constantFrom(undefined, 'off', 'low', 'high'),
    temperature: fc.constantFrom(undefined, 0, 1, 1.7),
    topP: fc.constantFrom(undefined, 0.5),
    parallelToolCalls: fc.constantFrom(undefined, false),
    maxTokens: fc.constantFrom(undefined, 100, 5_000),
    metadata: fc.constantFrom(undefined, { user_id: 'u\ud83d', team: 'x' }),
  }),
  more: fc.record({
    system: text,
    note: fc.option(text, { nil: undefined }),
    tools: fc.constantFrom([], [lookup], [lookup, { ...lookup, name: 'a.b' }]),
    toolChoice: fc.constantFrom(undefined, 'auto', 'required', 'none'),
  }),
  context: fc.record({ providerTools: fc.constantFrom([], serverTools), cache: fc.constantFrom('auto', 'off') }),
});

function build(items: readonly Message[], { model, settings, more, context }: Asked) {
  return buildRequest(request(items, { ...more, settings }), { ...contextFor(model), ...context });
}

function problemsOf({ body, headers }: ReturnType<typeof build>): readonly string[] {
  return checkMessagesRequest(JSON.parse(JSON.stringify(body)), { apiVersion: headers['anthropic-version'] ?? '2026-10-21' });
}

describe('histories made at random', { timeout: 120_000 }, () => {
  it('one that core can hold makes a legal request for every model, in each turn while it grows, and the same from a log', () => {
    fc.assert(
      fc.property(legalHistory, asked, (stretches, what) => {
        const growing: Message[] = [];
        for (const stretch of stretches) {
          growing.push(...stretch);
          const built = build(growing, what);
          expect(problemsOf(built)).toEqual([]);
          const restored = JSON.parse(JSON.stringify(growing)) as Message[];
          expect(JSON.stringify(build(restored, what).body)).toBe(JSON.stringify(built.body));
        }
      }),
      { numRuns: 150 },
    );
  });

  it('any heap of items makes a legal request, or fails with an error that names one of them', () => {
    fc.assert(
      fc.property(fc.array(anyItem, { maxLength: 10 }), asked, (makers, what) => {
        const items = makers.map((make) => make());
        let built: ReturnType<typeof build>;
        try {
          built = build(items, what);
        } catch (error) {
          expect(GuardloopError.is(error) && error.code).toBe('INTERNAL');
          expect(items.some(({ id }) => String(error).includes(id))).toBe(true);
          return;
        }
        expect(problemsOf(built)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it('what was sent is the start of what is sent later, as long as nothing before it is given up', () => {
    const plain = legalHistory.filter((stretches) => !JSON.stringify(stretches).includes('server_tool_use'));
    fc.assert(
      fc.property(plain, (stretches) => {
        const what: Asked = { model: 'claude-opus-4-8', settings: {}, more: {}, context: {} };
        const growing: Message[] = [];
        let before: readonly unknown[] = [];
        for (const stretch of stretches) {
          growing.push(...stretch);
          const { messages } = build(growing, what).body;
          // The last message may have grown, and words may have stood in for it.
          const settled = Math.max(0, before.length - 2);
          expect(messages.slice(0, settled)).toEqual(before.slice(0, settled));
          before = messages;
        }
      }),
      { numRuns: 100 },
    );
  });
});
