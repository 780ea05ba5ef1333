import Anthropic from '@anthropic-ai/sdk';
import type { Message, ModelRequest } from '@guardloop/core/model';
import { GuardloopError } from '@guardloop/core/model';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Reply } from '../test/fake-api.js';
import {
  answer,
  answerEvents,
  assistant,
  callOf,
  drain,
  FakeApi,
  failWith,
  frame,
  lookup,
  recorded,
  request,
  streamBytes,
  streamEvents,
  textOf,
  toolResult,
  user,
} from '../test/fake-api.js';
import type { AnthropicOptions } from './anthropic.js';
import { anthropic } from './anthropic.js';

let api: FakeApi;
beforeAll(async () => {
  api = await FakeApi.start();
});
beforeEach(() => {
  api.seen.length = 0;
  api.problems.length = 0;
  api.dropScript();
});
afterEach(() => expect(api.problems).toEqual([]));
afterAll(() => api.stop());

const never = new AbortController().signal;

function claude(options: AnthropicOptions = {}, id = 'claude-opus-4-8') {
  return anthropic(id, { apiKey: 'k', baseURL: api.baseURL, maxRetries: 0, ...options });
}

function ask(messages: Message[], more: Partial<ModelRequest> = {}, { id, ...options }: AnthropicOptions & { readonly id?: string } = {}) {
  return drain(claude(options, id).stream(request(messages, more), { signal: never }));
}

async function failureOf(run: Promise<unknown>): Promise<GuardloopError> {
  const error = await run.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!GuardloopError.is(error)) throw new Error(`not a GuardloopError: ${String(error)}`);
  return error;
}

describe('a plain answer', () => {
  it('gives text as it comes, then one end with usage and the provider’s blocks', async () => {
    api.script(answer(textOf('Hello there')));
    const { events } = await ask([user('hi')], { system: 'Be brief.' });
    expect(events).toEqual([
      { type: 'text.delta', text: 'Hello there' },
      {
        type: 'end',
        stopReason: 'stop',
        usage: { requests: 1, inputTokens: 10, outputTokens: 7 },
        native: [textOf('Hello there')],
      },
    ]);
    expect(api.last).toMatchObject({
      model: 'claude-opus-4-8',
      max_tokens: 32_000,
      stream: true,
      messages: [{ role: 'user', content: [textOf('hi')] }],
    });
  });

  it('counts cached and reasoning tokens, and prices them', async () => {
    const usage = { input_tokens: 100, cache_read_input_tokens: 1_000, cache_creation_input_tokens: 10, output_tokens: 1 };
    api.script(
      streamEvents([
        { type: 'message_start', message: { id: 'm', usage } },
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn' },
          usage: { output_tokens: 50, input_tokens: null, output_tokens_details: { thinking_tokens: 20 } },
        },
        { type: 'message_stop' },
      ]),
    );
    const { end } = await ask([user('hi')], {}, { prices: { input: 10, output: 100 } });
    expect(end.usage).toEqual({
      requests: 1,
      inputTokens: 1_110,
      outputTokens: 50,
      cacheReadTokens: 1_000,
      cacheWriteTokens: 10,
      reasoningTokens: 20,
      cost: (100 * 10 + 1_000 * 1 + 10 * 12.5 + 50 * 100) / 1_000_000,
    });
  });

  it('S003: an answer without content ends well, and leaves nothing to replay', async () => {
    api.script(answer(), answer(textOf('hello again')));
    const first = await ask([user('thanks')]);
    expect(first.end).toMatchObject({ stopReason: 'stop' });
    expect(first.end.native).toBeUndefined();
    await ask([user('thanks'), recorded(first, 1), user('are you there?')]);
    expect(api.last.messages).toEqual([{ role: 'user', content: [textOf('thanks'), textOf('are you there?')] }]);
  });

  it.each([
    ['stop_sequence', 'stop', undefined],
    ['max_tokens', 'length', 'max_tokens'],
    ['model_context_window_exceeded', 'length', 'model_context_window_exceeded'],
  ] as const)('stop reason %s is %s', async (stopReason, expected, detail) => {
    api.script(streamEvents(answerEvents([textOf('so')], { stopReason })));
    const { end } = await ask([user('hi')]);
    expect([end.stopReason, end.detail]).toEqual([expected, detail]);
  });

  it('a refusal is told with its category, without the provider’s blocks', async () => {
    const more = { stop_details: { type: 'refusal', category: 'cyber', explanation: 'long words' } };
    api.script(streamEvents(answerEvents([textOf('I can')], { stopReason: 'refusal', more })));
    const { end } = await ask([user('hi')]);
    expect(end).toMatchObject({ stopReason: 'refusal', detail: 'cyber' });
    expect(end.native).toBeUndefined();
  });

  it('a stop reason that is not known is no success', async () => {
    api.script(streamEvents(answerEvents([textOf('so')], { stopReason: 'something_new' })));
    expect((await failureOf(ask([user('hi')]))).code).toBe('MODEL_PROTOCOL');
  });
});

describe('calls', () => {
  const threeCalls = answer(
    callOf('toolu_a', 'lookup', { key: 'a' }),
    callOf('toolu_b', 'lookup', { key: 'b' }),
    callOf('toolu_c', 'lookup', { key: 'c' }),
  );

  it('S001, S023: the results of parallel calls share one user message, in call order', async () => {
    api.script(threeCalls, answer(textOf('done')));
    const history: Message[] = [user('look up a, b, c')];
    const first = await ask(history, { tools: [lookup] });
    expect(first.end.stopReason).toBe('tools');
    expect(first.calls).toEqual(['a', 'b', 'c'].map((key) => ({ providerId: `toolu_${key}`, name: 'lookup', input: { key } })));
    history.push(recorded(first, 1), toolResult('1.0', 'A'), toolResult('1.1', 'B'), toolResult('1.2', 'C'));
    const second = await ask(history, { tools: [lookup] });
    expect(second.text).toBe('done');
    expect(api.last.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(api.last.messages[2]?.content).toEqual(
      ['A', 'B', 'C'].map((content, index) => ({ type: 'tool_result', tool_use_id: `toolu_${'abc'[index]}`, content })),
    );
  });

  it('S002: a note for one request stands after the results, and is gone in the next', async () => {
    api.script(answer(textOf('ok')), answer(textOf('ok')));
    const history: Message[] = [
      user('ping'),
      assistant('', { id: '1.0', name: 'lookup', providerId: 'toolu_1' }),
      toolResult('1.0', 'pong'),
    ];
    await ask(history, { tools: [lookup], note: '[context note]' });
    const results = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'pong' };
    expect(api.last.messages.at(-1)?.content).toEqual([results, textOf('[context note]')]);
    await ask(history, { tools: [lookup] });
    expect(api.last.messages.at(-1)?.content).toEqual([results]);
  });

  it('S004: an empty text block beside a call is neither shown nor sent back', async () => {
    api.script(answer(textOf(''), callOf('toolu_9', 'lookup', { q: 'x' })), answer(textOf('found')));
    const first = await ask([user('search x')], { tools: [lookup] });
    expect(first.end.native).toEqual([callOf('toolu_9', 'lookup', { q: 'x' })]);
    await ask([user('search x'), recorded(first, 1), toolResult('1.0', 'x')], { tools: [lookup] });
    expect(api.last.messages[1]?.content).toEqual([callOf('toolu_9', 'lookup', { q: 'x' })]);
  });

  it('S122: thinking goes back to its maker alone: not from another server to Claude, nor from Claude to that server', async () => {
    const blocks = [{ type: 'thinking', thinking: 'a', signature: 'S1' }, callOf('t1', 'lookup', { n: 1 })];
    const marked = [{ ...textOf('b'), annotation: 'own' }, callOf('t1', 'lookup', { n: 1 })];
    const makers = [anthropic('kimi-k2', { apiKey: 'k', baseURL: api.baseURL, maxRetries: 0 }), claude()];
    for (const maker of makers) {
      api.script(answer(...blocks), answer(textOf('ok')), answer(textOf('ok')));
      const first = await drain(maker.stream(request([user('go')], { tools: [lookup] }), { signal: never }));
      const view = [user('go'), JSON.parse(JSON.stringify(recorded(first, 1))), toolResult('1.0', 'A')];
      for (const other of makers) {
        const { events } = await drain(other.stream(request(view, { tools: [lookup] }), { signal: never }));
        const warned = events.flatMap((event) => (event.type === 'warning' && event.about === 'native' ? [event.message] : []));
        expect(api.last.messages[1]?.content).toEqual(other === maker ? blocks : blocks.slice(1));
        expect(JSON.stringify(api.last)).not.toContain('guardloop_server');
        expect(warned).toEqual(other === maker ? [] : [expect.stringContaining('another server')]);
      }
      api.script(answer(...marked), answer(textOf('ok')));
      const second = await drain(maker.stream(request([user('go')], { tools: [lookup] }), { signal: never }));
      const moved = [user('go'), recorded(second, 1), toolResult('1.0', 'A')];
      for (const other of makers) {
        if (other === maker) continue;
        await drain(other.stream(request(moved, { tools: [lookup] }), { signal: never }));
        expect(api.last.messages[1]?.content).toEqual([textOf('b'), callOf('t1', 'lookup', { n: 1 })]);
      }
    }
  });

  it('S013: thinking, redacted thinking and calls come back exactly in their order, and redacted data is never shown', async () => {
    const blocks = [
      { type: 'thinking', thinking: 'a', signature: 'S1' },
      callOf('t1', 'lookup', { n: 1 }),
      { type: 'redacted_thinking', data: 'ENC' },
      callOf('t2', 'lookup', { n: 2 }),
    ];
    api.script(answer(...blocks), answer(textOf('ok')));
    const more = { tools: [lookup], settings: { reasoning: 'medium' } } as const;
    const first = await ask([user('go')], more);
    expect(first.reasoning).toBe('a');
    expect(JSON.stringify(first.events.filter(({ type }) => type !== 'end'))).not.toContain('ENC');
    const restored = JSON.parse(JSON.stringify(recorded(first, 1)));
    await ask([user('go'), restored, toolResult('1.0', 'A'), toolResult('1.1', 'B')], more);
    expect(JSON.stringify(api.last.messages[1]?.content)).toBe(JSON.stringify(blocks));
    expect(api.last.thinking).toEqual({ type: 'adaptive' });
  });

  it.each([
    ['no arguments at all', '', { unparsable: '' }],
    ['half of the arguments', '{"key":', { unparsable: '{"key":' }],
    ['arguments that are a list', '[1]', { input: [1] }],
    ['an empty object', '{}', { input: {} }],
  ])('%s: the call says so', async (_, json, expected) => {
    const events = answerEvents([callOf('t1', 'lookup')]).map((event) =>
      'delta' in event && 'index' in event ? { ...event, delta: { type: 'input_json_delta', partial_json: json } } : event,
    );
    api.script(streamEvents(events));
    const { calls, end } = await ask([user('go')], { tools: [lookup] });
    expect(calls).toEqual([{ providerId: 't1', name: 'lookup', ...expected }]);
    expect(end.native).toEqual([callOf('t1', 'lookup', {})]);
  });

  it('arguments flow with the index of their call, and the call comes only when the message is whole', async () => {
    api.script(threeCalls);
    const { events } = await ask([user('go')], { tools: [lookup] });
    expect(events.map((event) => (event.type === 'tool.delta' ? [event.index, event.text] : event.type))).toEqual([
      [0, '{"key":"a"}'],
      [1, '{"key":"b"}'],
      [2, '{"key":"c"}'],
      'tool.call',
      'tool.call',
      'tool.call',
      'end',
    ]);
  });

  it('calls of an answer that was cut by the token limit are not passed on', async () => {
    api.script(streamEvents(answerEvents([callOf('t1', 'lookup', { key: 'a' })], { stopReason: 'max_tokens' })));
    const { calls, end } = await ask([user('go')], { tools: [lookup] });
    expect([calls, end.stopReason, end.native]).toEqual([[], 'length', undefined]);
  });

  it('names that the API does not take lead there and back', async () => {
    const tools = [{ ...lookup, name: 'files.read' }];
    api.script((response) => {
      const [tool] = api.last.tools as { name: string }[];
      answer(callOf('t1', tool?.name ?? ''))(response);
    });
    const { calls } = await ask([user('go')], { tools, toolChoice: { tool: 'files.read' } });
    expect(calls[0]?.name).toBe('files.read');
    expect(api.last.tool_choice).toEqual({ type: 'tool', name: (api.last.tools as { name: string }[])[0]?.name });
  });

  it('S047: an image result reaches the API as an image, also from a restored history', async () => {
    api.script(answer(textOf('I see a cat')));
    const shot = toolResult('1.0', [{ type: 'image', mediaType: 'image/webp', data: 'AAAA' }]);
    const history = JSON.parse(JSON.stringify([user('go'), assistant('', { id: '1.0', name: 'lookup', providerId: 'c1' }), shot]));
    await ask(history, { tools: [lookup] });
    expect(api.last.messages[2]?.content[0]?.content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/webp', data: 'AAAA' } },
    ]);
  });
});

describe('settings', () => {
  async function bodyOf(more: Partial<ModelRequest>, options: AnthropicOptions & { readonly id?: string } = {}) {
    api.script(answer(textOf('ok')));
    await ask([user('hi')], more, options);
    return api.last;
  }

  /** A model that takes sampling settings. */
  const sampled = { id: 'claude-sonnet-4-6' } as const;

  it('S223: falsy values are sent as they are, and empty ones are left out', async () => {
    const settings = { temperature: 0, stopSequences: [] };
    const body = await bodyOf({ system: '', tools: [], settings }, { ...sampled, settings: { temperature: 1 } });
    expect(body.temperature).toBe(0);
    for (const field of ['system', 'tools', 'tool_choice', 'stop_sequences', 'thinking', 'output_config'])
      expect(body).not.toHaveProperty(field);
    expect((await bodyOf({ system: ' \n' })).system).toBeUndefined();
  });

  it('sampling settings go out under the API version that has them, everything else under the newest', async () => {
    await bodyOf({ settings: { topP: 0.5 } }, sampled);
    expect(api.seen.at(-1)?.headers['anthropic-version']).toBe('2023-06-01');
    await bodyOf({}, sampled);
    expect(api.seen.at(-1)?.headers['anthropic-version']).toBe('2026-10-21');
    await bodyOf({ settings: { temperature: 0, topP: 0.5 } }, sampled);
    expect([api.last.temperature, api.last.top_p]).toEqual([0, undefined]);
  });

  it('S036: without tools there is no field about tools, and with one they are back', async () => {
    const asked = { settings: { parallelToolCalls: false }, toolChoice: 'auto' } as const;
    const without = await bodyOf(asked);
    expect(without).not.toHaveProperty('tools');
    expect(without).not.toHaveProperty('tool_choice');
    const body = await bodyOf({ ...asked, tools: [lookup] });
    expect(body.tools).toEqual([
      { name: 'lookup', description: 'Looks up a key.', input_schema: { ...lookup.schema, additionalProperties: false }, strict: true },
    ]);
    expect(body.tool_choice).toEqual({ type: 'auto', disable_parallel_tool_use: true });
  });

  it.each([
    ['auto', { type: 'auto' }],
    ['required', { type: 'any' }],
    ['none', { type: 'none' }],
    [{ tool: 'lookup' }, { type: 'tool', name: 'lookup' }],
    [undefined, undefined],
  ] as const)('tool choice %j becomes %j', async (toolChoice, expected) => {
    expect((await bodyOf({ tools: [lookup], toolChoice })).tool_choice).toEqual(expected);
  });

  it('a forced tool that is not offered is CONFIG_INVALID before anything is sent', async () => {
    const error = await failureOf(ask([user('hi')], { tools: [lookup], toolChoice: { tool: 'other' } }));
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.message).toContain('other');
    expect(api.seen).toHaveLength(0);
  });

  it('tools of the history are defined, and not to be called, where none are offered', async () => {
    api.script(answer(textOf('ok')));
    const history = [user('go'), assistant('', { id: '1.0', name: 'lookup', providerId: 'c1' }), toolResult('1.0', 'A')];
    await ask(history, { toolChoice: 'none' });
    expect(api.last.tools).toEqual([{ name: 'lookup', description: 'No longer available.', input_schema: { type: 'object' } }]);
    expect(api.last.tool_choice).toEqual({ type: 'none' });
  });

  it('settings of the model are used where the request leaves them open', async () => {
    const body = await bodyOf(
      { settings: { maxTokens: 100, temperature: undefined } },
      { settings: { maxTokens: 7, stopSequences: ['END'] } },
    );
    expect([body.max_tokens, body.stop_sequences]).toEqual([100, ['END']]);
    expect((await bodyOf({}, { maxTokens: 500 })).max_tokens).toBe(500);
  });

  it('extra fields go into the request, but cannot replace what the adapter builds', async () => {
    const extra = { 'anthropic.messages': { metadata: { user_id: 'u1' }, messages: [], stream: false }, 'openai.chat': { seed: 1 } };
    const body = await bodyOf({ settings: { extra } });
    expect([body.metadata, body.stream, body.messages.length, body.seed]).toEqual([{ user_id: 'u1' }, true, 1, undefined]);
  });

  it('S139: halves of surrogate pairs leave in no string of a request', async () => {
    const half = '\ud83d';
    const body = await bodyOf({
      system: `s${half}`,
      note: `n${half}`,
      tools: [{ name: `t${half}`, description: half, schema: { type: 'object', properties: { a: { type: 'string', enum: [half] } } } }],
      settings: { stopSequences: [half], extra: { 'anthropic.messages': { metadata: { user_id: half } } } },
    });
    expect(JSON.stringify(body)).not.toContain('\\ud83d');
  });

  it('S007: system text is sent at the top alone, whatever the history holds', async () => {
    api.script(answer(textOf('ok')));
    await ask([user('a'), { ...user('be brief'), via: 'developer' }, user('b')], { system: 'Instructions.' }, { cache: 'off' });
    expect(api.last.system).toBe('Instructions.');
    expect(api.last.messages).toEqual([{ role: 'user', content: [textOf('a'), textOf('be brief'), textOf('b')] }]);
  });

  it('the cache is marked after the system text and, by the API, after the request; and not at all when it is off', async () => {
    const on = await bodyOf({ system: 'S' });
    expect([on.system, on.cache_control]).toEqual([[{ ...textOf('S'), cache_control: { type: 'ephemeral' } }], { type: 'ephemeral' }]);
    const off = await bodyOf({ system: 'S', tools: [lookup] }, { cache: 'off' });
    expect(JSON.stringify(off)).not.toContain('cache_control');
  });

  it('tools that Anthropic runs are sent and named, and their blocks stay in the native message', async () => {
    const providerTools = [{ type: 'web_search_20250305', name: 'web_search' }];
    const blocks = [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
      textOf('so'),
    ];
    expect(claude({ providerTools }).providerTools).toEqual(['web_search']);
    api.script(answer(...blocks), answer(textOf('ok')));
    const first = await ask([user('hi')], {}, { providerTools });
    expect([first.calls, first.end.native]).toEqual([[], blocks]);
    await ask([user('hi'), recorded(first, 1), user('more')], {}, { providerTools });
    expect(api.last.messages[1]?.content).toEqual(blocks);
    expect(api.last.tools).toEqual(providerTools);
  });
});

describe('warnings', () => {
  it('S198: stand before anything of the answer, one for each thing', async () => {
    api.script(answer(textOf('ok')));
    const foreign = { ...assistant('hello'), native: { provider: 'openai.chat', message: {} } };
    const { events } = await ask([user('go'), foreign, user('so')], { settings: { seed: 1, temperature: 0 } });
    expect(events.map((event) => (event.type === 'warning' ? [event.about, event.item] : event.type))).toEqual([
      ['native', foreign.id],
      ['setting', undefined],
      ['setting', undefined],
      'text.delta',
      'end',
    ]);
  });

  it('hold no content', async () => {
    api.script(answer(textOf('ok')));
    const items = [
      user(
        'SECRET',
        { type: 'image', mediaType: 'image/tiff', data: 'U0VDUkVU' },
        { type: 'file', mediaType: 'a/b', url: 'http://SECRET', name: 'SECRET' },
      ),
      { ...assistant('SECRET'), native: { provider: 'SECRET words', message: 'SECRET' } },
      user('so'),
    ];
    const { events } = await ask(items, { settings: { seed: 1, metadata: { team: 'SECRET' } } });
    const warnings = events.filter(({ type }) => type === 'warning');
    expect(warnings.length).toBe(5);
    expect(JSON.stringify(warnings)).not.toMatch(/SECRET|U0VD/);
  });
});

describe('structured answers', () => {
  const output = (schema: object) => ({ output: { name: 'answer', schema: schema as never } });

  it('the schema goes into output_config.format in the API’s subset', async () => {
    api.script(answer(textOf('{"n":1}')));
    const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 1, description: 'A number.' } }, required: ['n'] };
    await ask([user('hi')], output(schema));
    expect(api.last.output_config).toEqual({
      format: {
        type: 'json_schema',
        schema: {
          type: 'object',
          properties: { n: { type: 'integer', description: 'A number. (minimum: 1)' } },
          required: ['n'],
          additionalProperties: false,
        },
      },
    });
  });

  it('a schema that the subset cannot say goes into the system text, and so does every one if asked', async () => {
    api.script(answer(textOf('{}')), answer(textOf('{}')));
    const record = { type: 'object', additionalProperties: { type: 'string' } };
    await ask([user('hi')], { system: 'S', ...output(record) }, { cache: 'off' });
    expect(api.last.output_config).toBeUndefined();
    expect(api.last.system).toContain(JSON.stringify(record));
    await ask([user('hi')], output({ type: 'object', properties: {} }), { cache: 'off', structuredOutput: 'prompt' });
    expect(api.last.system).toContain('"properties":{}');
  });
});

describe('thinking', () => {
  const thought = { type: 'thinking', thinking: 'a', signature: 'S1' };
  const old = 'claude-haiku-4-5';
  const asked = { tools: [lookup], settings: { reasoning: 'low' } } as const;

  async function turn(history: Message[], id: string, more: Partial<ModelRequest> = asked) {
    api.script(answer(textOf('ok')));
    await ask(history, more, { id });
    return api.last;
  }

  const called = { id: '1.0', name: 'lookup', providerId: 't1' };
  const kept = {
    ...assistant('', called),
    native: { provider: 'anthropic.messages', message: [thought, callOf('t1', 'lookup')] as never },
  };

  it('is asked for by budget or effort, as the model wants it', async () => {
    expect((await turn([user('go')], old)).thinking).toEqual({ type: 'enabled', budget_tokens: 2_048 });
    const body = await turn([user('go')], 'claude-opus-4-8');
    expect([body.thinking, body.output_config]).toEqual([{ type: 'adaptive' }, { effort: 'low' }]);
  });

  it('stays on in a turn that has kept its thinking', async () => {
    expect((await turn([user('go'), kept, toolResult('1.0', 'A')], old)).thinking).toEqual({ type: 'enabled', budget_tokens: 2_048 });
  });

  it('with a budget is off too after an answer that was given without any', async () => {
    const plain = { ...kept, native: { provider: 'anthropic.messages', message: [callOf('t1', 'lookup')] as never } };
    expect((await turn([user('go'), plain, toolResult('1.0', 'A')], old)).thinking).toBeUndefined();
    expect((await turn([user('go'), plain, toolResult('1.0', 'A')], 'claude-opus-4-8')).thinking).toEqual({ type: 'adaptive' });
  });

  it.each([old, 'claude-opus-4-8'])('is off in a turn that has lost it, and on again with the next question: %s', async (id) => {
    const history: Message[] = [user('go'), assistant('', called), toolResult('1.0', 'A')];
    expect((await turn(history, id)).thinking).toBeUndefined();
    history.push(assistant('done'), user('next'));
    expect((await turn(history, id)).thinking).toBeDefined();
  });

  it('is off by name in a turn that has lost it, where a model thinks by itself', async () => {
    const history: Message[] = [user('go'), assistant('', called), toolResult('1.0', 'A')];
    const plain = { tools: [lookup] };
    expect((await turn(history, 'claude-opus-5', plain)).thinking).toEqual({ type: 'disabled' });
    expect((await turn(history, 'claude-sonnet-5-5', plain)).thinking).toEqual({ type: 'between_tools' });
    history.push(assistant('done'), user('next'));
    expect((await turn(history, 'claude-opus-5', plain)).thinking).toBeUndefined();
  });

  it('with a budget gives way to a forced call, and takes no temperature', async () => {
    const forced = await turn([user('go')], old, { ...asked, toolChoice: 'required' });
    expect([forced.thinking, forced.tool_choice]).toEqual([undefined, { type: 'any' }]);
    const warm = await turn([user('go')], old, { settings: { reasoning: 'low', temperature: 0 } });
    expect([warm.thinking, warm.temperature]).toEqual([{ type: 'enabled', budget_tokens: 2_048 }, undefined]);
  });

  it('never makes max_tokens greater than was allowed', async () => {
    const tight = await turn([user('go')], old, { settings: { reasoning: { maxTokens: 9_000 }, maxTokens: 3_000 } });
    expect([tight.thinking, tight.max_tokens]).toEqual([{ type: 'enabled', budget_tokens: 2_999 }, 3_000]);
    const none = await turn([user('go')], old, { settings: { reasoning: 'high', maxTokens: 500 } });
    expect([none.thinking, none.max_tokens]).toEqual([undefined, 500]);
    const open = await turn([user('go')], old, { settings: { reasoning: { maxTokens: 40_000 } } });
    expect([open.thinking, open.max_tokens]).toEqual([{ type: 'enabled', budget_tokens: 40_000 }, 64_000]);
  });

  it('of a history that may have changed is dropped by newer models instead of failing the request', async () => {
    const history: Message[] = [user('go'), kept, toolResult('1.0', 'A')];
    const body = await turn(history, 'claude-opus-5-5', { tools: [lookup] });
    expect(body.thinking).toEqual({ type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } });
    expect(api.seen.at(-1)?.headers['anthropic-beta']).toBe('thinking-binding-controls-2026-08-01');
    expect((await turn([user('go')], 'claude-opus-5-5', {})).thinking).toBeUndefined();
    api.script(answer(textOf('ok')));
    await ask(history, { tools: [lookup] }, { headers: { 'Anthropic-Beta': 'mine-1' }, id: 'claude-opus-5-5' });
    expect(api.seen.at(-1)?.headers['anthropic-beta']).toBe('mine-1,thinking-binding-controls-2026-08-01');
  });
});

describe('streams', () => {
  const events = answerEvents([
    { type: 'thinking', thinking: 'hmm', signature: 'S' },
    textOf('Grüße 😀'),
    callOf('t1', 'lookup', { key: 'ä😀' }),
  ]);

  function fetchOf(pieces: readonly Uint8Array[]): typeof fetch {
    return async () => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          for (const piece of pieces) controller.enqueue(piece);
          controller.close();
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    };
  }

  it('S058: every way to cut the bytes gives the same events', async () => {
    const bytes = new TextEncoder().encode(frame(events));
    const eventsOf = async (pieces: readonly Uint8Array[]) =>
      (await ask([user('hi')], { tools: [lookup] }, { fetch: fetchOf(pieces) })).events;
    const whole = await eventsOf([bytes]);
    expect(whole.map(({ type }) => type)).toEqual(['reasoning.delta', 'text.delta', 'tool.delta', 'tool.call', 'end']);
    expect(await eventsOf(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(whole);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 30 }), async (places) => {
        const ends = [...places, bytes.length].sort((a, b) => a - b);
        expect(await eventsOf(ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end)))).toEqual(whole);
      }),
      { numRuns: 60 },
    );
  });

  it('S058: exact chunk boundaries on a real connection, with CRLF cut in the middle and no blank line at the end', async () => {
    const text = frame(events).replaceAll('\n', '\r\n').slice(0, -4);
    const places = [...text.matchAll(/\r/g)].map(({ index }) => index + 1).filter((_, index) => index % 3 === 0);
    api.script(streamBytes([...places, text.length].map((end, index) => text.slice(places[index - 1] ?? 0, end))), streamEvents(events));
    const cut = await ask([user('hi')], { tools: [lookup] });
    expect(cut.events).toEqual((await ask([user('hi')], { tools: [lookup] })).events);
  });

  it('S059: pings, comments, blank and unknown events are passed over', async () => {
    const [start, ...rest] = answerEvents([textOf('x')]);
    api.script(
      streamBytes([
        ': keep-alive\n\n',
        frame([start ?? {}]),
        'event: ping\ndata: {"type":"ping"}\n\n',
        'data:\n\n',
        'event: future_event\ndata: not json\n\n',
        'data: {"type":"another_future_event"}\n\n',
        frame(rest),
      ]),
    );
    expect((await ask([user('hi')])).text).toBe('x');
  });

  it('a pair of surrogates that arrives in two pieces is passed on whole', async () => {
    const split = answerEvents([textOf('a')]).flatMap((event) =>
      'delta' in event && 'index' in event
        ? ['a\ud83d', '\ude00b\ud83d'].map((text) => ({ ...event, delta: { type: 'text_delta', text } }))
        : [event],
    );
    api.script(streamEvents(split));
    const { events: got, end } = await ask([user('hi')]);
    expect(got.flatMap((event) => (event.type === 'text.delta' ? [event.text] : []))).toEqual(['a', '😀b', '\uFFFD']);
    expect(end.native).toEqual([textOf('a😀b\uFFFD')]);
  });

  it.each([
    ['after some text', (all: readonly object[]) => all.slice(0, 3)],
    ['before any content', (all: readonly object[]) => all.slice(0, 1)],
    ['just before message_stop', (all: readonly object[]) => all.slice(0, -1)],
    ['before anything', () => []],
  ])('S061: a stream that closes cleanly %s is a failure, with no call and no end', async (_, cut) => {
    api.script(streamEvents(cut(answerEvents([textOf('The answer is'), callOf('t1', 'lookup')]))));
    const got: string[] = [];
    const error = await failureOf(
      (async () => {
        for await (const event of claude().stream(request([user('hi')]), { signal: never })) got.push(event.type);
      })(),
    );
    expect(error.code).toBe('MODEL_PROTOCOL');
    expect(error.message).toContain('message_stop');
    expect(got.filter((type) => type !== 'text.delta' && type !== 'tool.delta')).toEqual([]);
  });

  it('S061: a stream that closes in the middle of an event is a failure', async () => {
    api.script(streamBytes([frame(answerEvents([textOf('The answer is')])).slice(0, -10)]));
    const error = await failureOf(ask([user('hi')]));
    expect([error.code, error.message.includes('message_stop')]).toEqual(['MODEL_PROTOCOL', true]);
  });

  it('an event that is not JSON may be asked for again, until something was said', async () => {
    const [start, open, text] = answerEvents([textOf('abc')]);
    const garbage = 'data: <html>\n\n';
    api.script(streamBytes([garbage]), streamBytes([frame([start ?? {}, open ?? {}, text ?? {}]), garbage]));
    for (const isRetryable of [true, false])
      expect(await failureOf(ask([user('hi')]))).toMatchObject({
        code: 'MODEL_PROTOCOL',
        isRetryable,
        details: { delivered: !isRetryable },
      });
  });

  it('an answer that ended to call tools says so, though no call came', async () => {
    const lost = answerEvents([textOf('Let me look.')]).map((event) =>
      'delta' in event && !('index' in event) ? { ...event, delta: { stop_reason: 'tool_use' } } : event,
    );
    api.script(streamEvents(lost));
    expect(await ask([user('hi')])).toMatchObject({ text: 'Let me look.', calls: [], end: { stopReason: 'tools' } });
  });

  it('S072: a second message inside a stream is a failure; the same message begun again is not', async () => {
    const [start, open, text] = answerEvents([textOf('abc')], { id: 'm1' });
    const more = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'xyz' } };
    const spliced = (id: string): Reply =>
      streamEvents([start ?? {}, open ?? {}, text ?? {}, { type: 'message_start', message: { id } }, more, ...answerEvents([]).slice(-2)]);
    api.script(spliced('m2'), spliced('m1'));
    const error = await failureOf(ask([user('hi')]));
    expect([error.code, error.isRetryable]).toEqual(['MODEL_PROTOCOL', false]);
    expect((await ask([user('hi')])).text).toBe('abcxyz');
  });

  it.each([
    ['content that was not opened', { type: 'content_block_delta', index: 4, delta: { type: 'text_delta', text: 'x' } }],
    ['text in a thinking block', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } }],
  ])('%s is a failure', async (_, event) => {
    const [start, open] = answerEvents([{ type: 'thinking', thinking: 'a', signature: 'S' }]);
    api.script(streamEvents([start ?? {}, open ?? {}, event]));
    expect((await failureOf(ask([user('hi')]))).code).toBe('MODEL_PROTOCOL');
  });

  it('an answer that pauses is gone on with inside the same call', async () => {
    const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
    const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };
    api.script(streamEvents(answerEvents([textOf('Let me see. '), search, found], { stopReason: 'pause_turn' })), answer(textOf('So.')));
    const { text, end } = await ask([user('hi')], {}, { providerTools: [{ type: 'web_search_20250305', name: 'web_search' }] });
    expect(text).toBe('Let me see. So.');
    expect(end.native).toEqual([textOf('Let me see. '), search, found, textOf('So.')]);
    expect(end.usage).toMatchObject({ requests: 2, inputTokens: 20, outputTokens: 14 });
    expect(api.last.messages.at(-1)).toEqual({ role: 'assistant', content: [textOf('Let me see. '), search, found] });
  });

  it('code that pauses goes on in its container, which is kept with the answer', async () => {
    const run = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: { code: 'x' } };
    const ran = { type: 'code_execution_tool_result', tool_use_id: 'srvtoolu_1', content: {} };
    const container = { id: 'container_1', expires_at: '2099-01-01T00:00:00Z' };
    api.script(streamEvents(answerEvents([run], { stopReason: 'pause_turn', more: { container } })), answer(ran, textOf('So.')));
    const { end } = await ask([user('hi')], {}, { providerTools: [{ type: 'code_execution_20260120', name: 'code_execution' }] });
    expect([api.seen[0]?.body.container, api.last.container]).toEqual([undefined, 'container_1']);
    expect(end.native).toEqual({ content: [run, ran, textOf('So.')], container });
  });

  it('an answer that paused before it said anything is asked for again', async () => {
    api.script(streamEvents(answerEvents([textOf(' ')], { stopReason: 'pause_turn' })), answer(textOf('So.')));
    const { end } = await ask([user('hi')]);
    expect([end.native, api.last.messages]).toEqual([[textOf('So.')], [{ role: 'user', content: [textOf('hi')] }]]);
  });

  it('an answer that pauses with calls of ours is one that calls', async () => {
    api.script(streamEvents(answerEvents([callOf('t1', 'lookup', { key: 'a' })], { stopReason: 'pause_turn' })));
    const { calls, end } = await ask([user('hi')], { tools: [lookup] });
    expect([calls.length, end.stopReason, api.seen.length]).toEqual([1, 'tools', 1]);
  });

  it('a paused answer that then fails or is refused leaves no call and no message', async () => {
    const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
    const providerTools = [{ type: 'web_search_20250305', name: 'web_search' }];
    const paused = streamEvents(answerEvents([textOf('Let me see.'), search], { stopReason: 'pause_turn' }));
    api.script(paused, streamEvents(answerEvents([], { stopReason: 'refusal' })));
    const { end } = await ask([user('hi')], {}, { providerTools });
    expect([end.stopReason, end.native]).toEqual(['refusal', undefined]);
    api.script(paused, failWith(529, 'overloaded_error'));
    const error = await failureOf(ask([user('hi')], {}, { providerTools }));
    expect([error.code, error.isRetryable, error.details.delivered]).toEqual(['MODEL_FAILED', false, true]);
    expect(error.details.usage).toMatchObject({ requests: 2, inputTokens: 10, outputTokens: 7 });
  });

  it('an answer that pauses for ever is a failure', async () => {
    const paused = (index: number) =>
      answerEvents([{ type: 'server_tool_use', id: `srvtoolu_${index}`, name: 'web_search', input: {} }], { stopReason: 'pause_turn' });
    api.script(...Array.from({ length: 20 }, (_, index) => streamEvents(paused(index))));
    const providerTools = [{ type: 'web_search_20250305', name: 'web_search' }];
    expect((await failureOf(ask([user('hi')], {}, { providerTools }))).code).toBe('MODEL_PROTOCOL');
    expect(api.seen.length).toBeLessThan(12);
  });
});

describe('failures', () => {
  it.each([
    [400, 'invalid_request_error', false],
    [401, 'authentication_error', false],
    [404, 'not_found_error', false],
    [413, 'request_too_large', false],
    [429, 'rate_limit_error', true],
    [500, 'api_error', true],
    [529, 'overloaded_error', true],
  ])('status %i is MODEL_FAILED with its details, and without the provider’s words', async (status, type, isRetryable) => {
    api.script(failWith(status, type, status === 429 ? { 'retry-after': '3' } : {}));
    const error = await failureOf(ask([user('hi')]));
    expect([error.code, error.isRetryable]).toEqual(['MODEL_FAILED', isRetryable]);
    expect(error.details).toEqual({
      provider: 'anthropic.messages',
      model: 'claude-opus-4-8',
      status,
      type,
      requestId: 'req_9',
      attempts: 1,
      delivered: false,
      ...(status === 429 ? { retryAfterMs: 3_000 } : {}),
    });
    expect(error.message).toContain(`${status} (${type})`);
    expect(JSON.stringify([error, error.message, error.stack, error.cause])).not.toContain('secret');
  });

  it('a request that is refused names what not every model takes', async () => {
    api.script(failWith(400, 'invalid_request_error'));
    const error = await failureOf(ask([user('hi')], { settings: { temperature: 0 } }, { id: 'claude-sonnet-4-6' }));
    expect(error.message).toMatch(/temperature/);
  });

  it('an error inside the stream is MODEL_FAILED, and not to be repeated once something was shown', async () => {
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'secret' } };
    const all = answerEvents([textOf('abc')]);
    api.script(streamEvents([...all.slice(0, 3), overloaded]), streamEvents([...all.slice(0, 1), overloaded]));
    const late = await failureOf(ask([user('hi')]));
    expect([late.code, late.isRetryable, late.details.status, late.details.delivered]).toEqual(['MODEL_FAILED', false, 529, true]);
    expect(late.details.usage).toMatchObject({ requests: 1, inputTokens: 10, outputTokens: 1 });
    const early = await failureOf(ask([user('hi')]));
    expect([early.isRetryable, early.details.requestId]).toEqual([true, 'req_1']);
    expect(early.message).not.toContain('secret');
  });

  it('a connection that breaks is MODEL_FAILED, before and inside the stream', async () => {
    const cut: Reply = (response) => void response.socket?.destroy();
    api.script(cut, streamBytes([frame(answerEvents([textOf('abc')]).slice(0, 3))], cut));
    const before = await failureOf(ask([user('hi')]));
    expect([before.code, before.isRetryable]).toEqual(['MODEL_FAILED', true]);
    const inside = await failureOf(ask([user('hi')]));
    expect([inside.code, inside.isRetryable, inside.details.delivered]).toEqual(['MODEL_FAILED', false, true]);
  });

  it('a server that is not there is MODEL_FAILED', async () => {
    const gone = await FakeApi.start();
    const { baseURL } = gone;
    await gone.stop();
    const error = await failureOf(ask([user('hi')], {}, { baseURL }));
    expect([error.code, error.isRetryable, error.cause?.code]).toEqual(['MODEL_FAILED', true, 'ECONNREFUSED']);
  });

  it('an answer that is no stream is a failure', async () => {
    api.script((response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"type":"message","content":[]}'));
    expect((await failureOf(ask([user('hi')]))).code).toBe('MODEL_PROTOCOL');
  });

  it('retries are the SDK’s, are told as they happen, and are counted', async () => {
    api.script(
      failWith(529, 'overloaded_error', { 'retry-after-ms': '5' }),
      failWith(500, 'api_error', { 'retry-after-ms': '5' }),
      answer(textOf('ok')),
    );
    const { events, end } = await ask([user('hi')], {}, { maxRetries: 2 });
    expect(events.map((event) => (event.type === 'retry' ? [event.attempt, event.waitMs >= 4] : event.type))).toEqual([
      [1, true],
      [2, true],
      'text.delta',
      'end',
    ]);
    expect(end.usage.requests).toBe(3);
  });

  it('S223: no retries means one attempt', async () => {
    api.script(failWith(529, 'overloaded_error'));
    await failureOf(ask([user('hi')], {}, { maxRetries: 0 }));
    expect(api.seen).toHaveLength(1);
  });
});

describe('abort', () => {
  function listeners(signal: AbortSignal): { readonly signal: AbortSignal; readonly count: () => number } {
    let count = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...parameters: Parameters<typeof add>) => {
      count += 1;
      add(...parameters);
    };
    signal.removeEventListener = (...parameters: Parameters<typeof remove>) => {
      count -= 1;
      remove(...parameters);
    };
    return { signal, count: () => count };
  }

  const hang: Reply = () => {};

  it('before the call nothing is sent', async () => {
    const error = await failureOf(drain(claude().stream(request([user('hi')]), { signal: AbortSignal.abort() })));
    expect([error.code, error.details.aborted, api.seen.length]).toEqual(['MODEL_FAILED', true, 0]);
  });

  it.each([
    ['while the answer has not begun', hang],
    ['inside the stream', streamBytes([frame(answerEvents([textOf('abc')]).slice(0, 3))], hang)],
  ])('%s stops at once and leaves no listener', async (_, reply) => {
    api.script(reply);
    const controller = new AbortController();
    const { signal, count } = listeners(controller.signal);
    const run = failureOf(drain(claude().stream(request([user('hi')]), { signal })));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const abortedAt = Date.now();
    controller.abort();
    expect((await run).details.aborted).toBe(true);
    expect(Date.now() - abortedAt).toBeLessThan(15_000);
    expect(count()).toBe(0);
  });

  it('ends the wait for a retry', async () => {
    api.script(failWith(529, 'overloaded_error', { 'retry-after': '30' }));
    const controller = new AbortController();
    const run = failureOf(drain(claude({ maxRetries: 3 }).stream(request([user('hi')]), { signal: controller.signal })));
    await new Promise((resolve) => setTimeout(resolve, 50));
    controller.abort();
    expect((await run).details.aborted).toBe(true);
    expect(api.seen).toHaveLength(1);
  });

  it('works even where fetch takes no notice, and gives up the answer that comes too late', async () => {
    let respond: (response: Response) => void = () => {};
    const late = new Promise<Response>((resolve) => {
      respond = resolve;
    });
    const controller = new AbortController();
    const run = failureOf(drain(claude({ fetch: () => late }).stream(request([user('hi')]), { signal: controller.signal })));
    await new Promise((resolve) => setTimeout(resolve, 30));
    controller.abort();
    expect((await run).details.aborted).toBe(true);
    const isGivenUp = new Promise<void>((resolve) => respond(new Response(new ReadableStream({ cancel: () => resolve() }))));
    await isGivenUp;
  });

  it('leaving the stream closes the connection and leaves no listener', async () => {
    let closed: () => void = () => {};
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    api.script((response) => {
      response.on('close', closed);
      streamBytes([frame(answerEvents([textOf('abc')]).slice(0, 3))], hang)(response);
    });
    const { signal, count } = listeners(new AbortController().signal);
    for await (const event of claude().stream(request([user('hi')]), { signal })) if (event.type === 'text.delta') break;
    await isClosed;
    expect(count()).toBe(0);
  });

  it('a finished call leaves no listener, and its connection serves the next one', async () => {
    const sockets = new Set<unknown>();
    const remember: Reply = (response) => {
      sockets.add(response.socket);
      answer(textOf('ok'))(response);
    };
    const { signal, count } = listeners(new AbortController().signal);
    const model = claude();
    for (let round = 0; round < 4; round += 1) {
      api.script(remember);
      await drain(model.stream(request([user('hi')]), { signal }));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(count()).toBe(0);
    expect(sockets.size).toBeLessThan(4);
  });
});

describe('making a model', () => {
  it('needs no key, and says what to set when the first call finds none', async () => {
    const saved = { ...process.env };
    for (const name of Object.keys(process.env)) if (name.startsWith('ANTHROPIC_')) delete process.env[name];
    process.env.HOME = '/nonexistent';
    process.env.XDG_CONFIG_HOME = '/nonexistent';
    try {
      for (const options of [{}, { apiKey: '' }]) {
        const model = anthropic('claude-opus-4-8', { baseURL: api.baseURL, ...options });
        expect([model.id, model.provider]).toEqual(['claude-opus-4-8', 'anthropic.messages']);
        const error = await failureOf(drain(model.stream(request([user('hi')]), { signal: never })));
        expect(error.code).toBe('CONFIG_INVALID');
        expect(error.message).toContain('ANTHROPIC_API_KEY');
      }
      expect(api.seen).toHaveLength(0);
    } finally {
      Object.assign(process.env, saved);
    }
  });

  it.each([
    ['an empty baseURL', { baseURL: '' }, 'baseURL'],
    ['a relative baseURL', { baseURL: 'api' }, 'baseURL'],
    ['a negative maxRetries', { maxRetries: -1 }, 'maxRetries'],
    ['no time at all', { timeoutMs: 0 }, 'timeoutMs'],
    ['maxTokens 0', { maxTokens: 0 }, 'maxTokens'],
    [
      'an option that does not exist',
      { baseUrl: 'http://127.0.0.1:8080' } as AnthropicOptions,
      'no option baseUrl. Did you mean baseURL? The options are client, apiKey, baseURL',
    ],
    ['a price that is no number', { prices: { input: Number.NaN, output: 1 } }, 'prices.input'],
    ['prices without that of the output', { prices: { input: 1 } } as AnthropicOptions, 'prices.output'],
    [
      'a price that does not exist',
      { prices: { input: 1, output: 1, cachedRead: 0 } } as AnthropicOptions,
      'no price cachedRead. Did you mean cacheRead? The prices are input, output, cacheRead',
    ],
    ['prices that are null', { prices: null } as never, 'prices is no object'],
    [
      'a default setting that does not exist',
      { settings: { max_tokens: 5 } } as AnthropicOptions,
      'no default setting max_tokens. Did you mean maxTokens? The default settings are temperature',
    ],
    ['a default tool choice', { settings: { toolChoice: 'required' } } as AnthropicOptions, 'no default setting toolChoice'],
    ['default settings that are null', { settings: null } as never, 'settings is no object'],
    ['options that are null', null as never, 'options are no object'],
    ['a tool that Anthropic hands back', { providerTools: [{ type: 'bash_20250124', name: 'bash' }] }, 'bash (bash_20250124)'],
    [
      'two provider tools of one name',
      {
        providerTools: [
          { type: 'web_search_20250305', name: 'w' },
          { type: 'web_fetch_20250910', name: 'w' },
        ],
      },
      'w twice',
    ],
    ['a client beside a key', { client: new Anthropic({ apiKey: 'k' }), apiKey: 'k' }, 'client stands beside apiKey'],
  ])('%s is CONFIG_INVALID', (_, options, word) => {
    expect(() => anthropic('claude-opus-4-8', options)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(word) as string }),
    );
  });

  it('an empty model id is CONFIG_INVALID', () => {
    expect(() => anthropic(' ')).toThrow('model id');
    expect(() => anthropic({ model: 'claude-opus-4-8' } as never)).toThrow("anthropic('claude-opus-4-8', { …options })");
  });

  it('a client of the caller’s is used as it is, with its retries counted', async () => {
    api.script(failWith(500, 'api_error', { 'retry-after-ms': '1' }), answer(textOf('ok')));
    const client = new Anthropic({ apiKey: 'k', baseURL: api.baseURL, maxRetries: 1 });
    const { end } = await drain(anthropic('claude-opus-4-8', { client }).stream(request([user('hi')]), { signal: never }));
    expect(end.usage.requests).toBe(2);
  });
});

it('a turn costs no more in a long conversation than the wire itself: no item is encoded twice', async () => {
  let reads = 0;
  const counting = (text: string): Message => {
    const item = user(text);
    const { parts } = item;
    return Object.defineProperty(item, 'parts', {
      get: () => {
        reads += 1;
        return parts;
      },
    });
  };
  const history: Message[] = [];
  for (let turn = 0; turn < 30; turn += 1) {
    history.push(counting(`question ${turn}`), assistant('answer'), user('go on'));
    api.script(answer(textOf('ok')));
    await ask(history, { system: 'S', note: 'only now' });
  }
  expect(reads).toBe(30);
});
