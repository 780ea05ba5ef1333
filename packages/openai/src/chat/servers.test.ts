import type { ModelEvent } from '@guardloop/core/model';
import { collect, GuardloopError } from '@guardloop/core/model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { baseRequest, calls, chunked, delta, done, events, finish, frame, usage, weather } from '../../test/chat-server.js';
import { openai } from './model.js';
import type { ChatOptions } from './options.js';

const request = { ...baseRequest, tools: [weather] };
const bytesOf = (...frames: readonly string[]): Uint8Array => new TextEncoder().encode(frames.join(''));
const over = (chunks: readonly Uint8Array[], options: ChatOptions = {}, contentType = 'text/event-stream') =>
  openai('m', { apiKey: 'k', maxRetries: 0, fetch: chunked(chunks, { 'content-type': contentType }), ...options });
const read = (frames: readonly string[], options: ChatOptions = {}, contentType?: string): Promise<ModelEvent[]> =>
  events(over([bytesOf(...frames)], options, contentType), request);
const whole = (frames: readonly string[], options: ChatOptions = {}) =>
  collect(over([bytesOf(...frames)], options).stream(request, { signal: new AbortController().signal }));
/** The events up to the failure, and the failure. */
async function broken(frames: readonly string[], options: ChatOptions = {}): Promise<{ seen: string; error: GuardloopError }> {
  let seen = '';
  try {
    for await (const event of over([bytesOf(...frames)], options).stream(request, { signal: new AbortController().signal })) {
      if (event.type === 'text.delta') seen += event.text;
      expect(event.type).not.toBe('tool.call');
    }
  } catch (error) {
    if (GuardloopError.is(error)) return { seen, error };
    throw error;
  }
  throw new Error('expected a failure');
}
const call = (fields: object, args: unknown = '{"city":"P"}') => ({
  index: 0,
  id: 'c1',
  function: { name: 'w', arguments: args },
  ...fields,
});
const paris = [{ providerId: 'c1', name: 'w', input: { city: 'P' } }];
const inputs = (list: readonly object[]): unknown[] => list.map((each) => ('input' in each ? each.input : each));

describe('what servers make of calls', () => {
  test.each<[string, readonly string[]]>([
    ['Gemini and Ollama: stop beside calls', [calls(call({})), finish('stop'), done]],
    [
      'Gemini: the call in one chunk with the finish reason',
      [frame({ choices: [{ delta: { tool_calls: [call({})] }, finish_reason: 'stop' }] }), done],
    ],
    ['older vLLM: no index', [calls({ id: 'c1', function: { name: 'w', arguments: '{"city":"P"}' } }), finish('tool_calls'), done]],
    ['Ollama: arguments as an object', [calls(call({}, { city: 'P' })), finish('tool_calls'), done]],
    [
      'an index that is text',
      [calls(call({ index: '0' }, '{"city":')), calls({ index: 0, function: { arguments: '"P"}' } }), finish('stop'), done],
    ],
    ['text that is empty beside calls', [delta({ role: 'assistant', content: '', tool_calls: [call({})] }), finish('tool_calls'), done]],
    ['one call that is no list', [delta({ tool_calls: call({}) }), finish('tool_calls'), done]],
    [
      'null for all that is not there',
      [
        delta({ content: null, refusal: null, function_call: null, audio: null, tool_calls: null }),
        calls(call({})),
        finish('tool_calls'),
        done,
      ],
    ],
    [
      'the whole message once more at the end',
      [calls(call({})), frame({ choices: [{ message: { content: 'x', tool_calls: [call({})] }, finish_reason: 'tool_calls' }] }), done],
    ],
    [
      'a name that is repeated so far',
      [
        calls({ index: 0, id: 'c1', function: { name: '' } }),
        calls({ index: 0, function: { name: 'w', arguments: '{"city":' } }),
        calls({ index: 0, function: { name: 'w', arguments: '"P"}' } }),
        finish('tool_calls'),
        done,
      ],
    ],
  ])('%s', async (_name, frames) => {
    const answer = await whole(frames);
    expect(answer.calls).toEqual(paris);
    expect(answer).toMatchObject({ text: '', end: { stopReason: 'tools', native: { tool_calls: [{ id: 'c1' }] } } });
  });

  test('LM Studio: ids that are numbers are ids', async () => {
    const { calls: made } = await whole([calls(call({ id: 123456789 }), call({ index: 1, id: 987 })), finish('tool_calls'), done]);
    expect(made.map(({ providerId }) => providerId)).toEqual(['123456789', '987']);
  });

  test('two calls in one chunk with the same index stay apart, with ids and without', async () => {
    for (const ids of [
      ['a', 'b'],
      ['', ''],
      [null, null],
    ]) {
      const frames = [calls(...ids.map((id, at) => call({ id }, `{"city":"${at}"}`))), finish('tool_calls'), done];
      expect(inputs((await whole(frames)).calls)).toEqual([{ city: '0' }, { city: '1' }]);
    }
  });

  test('pieces of parallel calls that alternate go to their calls, by index or by id', async () => {
    const pieces = ['{"city', '":"', 'P😀', '"}'];
    for (const key of ['index', 'id'] as const) {
      const piece = (at: number, text: string, first: boolean) =>
        calls({
          ...(key === 'index' ? { index: at } : { index: 0, id: `c${at}` }),
          ...(first ? { id: `c${at}` } : {}),
          function: { ...(first ? { name: 'w' } : {}), arguments: text },
        });
      const frames = pieces.flatMap((text, index) => [0, 1, 2].map((at) => piece(at, text, index === 0)));
      const answer = await whole([...frames, finish('tool_calls'), done]);
      expect(inputs(answer.calls)).toEqual(Array.from({ length: 3 }, () => ({ city: 'P😀' })));
    }
  });

  test('the form that calls had before tool_calls is read, and one beside tool_calls is not', async () => {
    const old = [
      delta({ role: 'assistant', content: null, function_call: { name: 'w', arguments: '{"ci' } }),
      delta({ function_call: { arguments: 'ty":"P"}' } }),
      finish('function_call'),
      done,
    ];
    expect((await whole(old)).calls).toEqual([{ name: 'w', input: { city: 'P' } }]);
    const both = [delta({ function_call: { name: 'w', arguments: '{}' }, tool_calls: [call({})] }), finish('tool_calls'), done];
    expect((await whole(both)).calls).toEqual(paris);
  });

  test.each<[string, readonly string[]]>([
    ['all of them so far with every piece', ['{', '{"ci', '{"city":"P', '{"city":"P"}']],
    ['all of them once more at the end', ['{"city":', '"P"}', '{"city":"P"}']],
    ['an empty object and then their pieces', ['{}', '{"city":', '"P"}']],
    ['an empty object and then all of them so far', ['{}', '{"ci', '{"city":"P"}']],
    ['the whole, twice', ['{"city":"P"}', '{"city":"P"}']],
  ])('arguments that are told as %s are read', async (_name, pieces) => {
    const frames = pieces.map((text, index) => calls(index === 0 ? call({}, text) : { index: 0, function: { arguments: text } }));
    const answer = await whole([...frames, finish('tool_calls'), done]);
    expect(answer.calls).toEqual(paris);
    expect(answer.end?.native).toMatchObject({ tool_calls: [{ function: { arguments: '{"city":"P"}' } }] });
  });

  test.each<[string, (at: number) => object]>([
    ['a new id', (at) => ({ index: 0, id: `piece${at}` })],
    ['a new index', (at) => ({ index: at })],
    ['a new id and no index', (at) => ({ id: `piece${at}` })],
  ])('S040: pieces of one call that each come with %s are one call, and never a call without its arguments', async (_name, keys) => {
    for (const opening of ['', '{"ci']) {
      const pieces = '{"city":"P"}'.slice(opening.length).split(/(?<=:)/);
      const frames = pieces.map((text, index) => calls({ ...keys(index + 1), function: { arguments: text } }));
      const answer = await whole([calls(call({}, opening)), ...frames, finish('tool_calls'), done]);
      expect(answer.calls).toEqual(paris);
    }
  });

  test.each<[string, object]>([
    ['an index', { index: 1 }],
    ['an id', { index: 0, id: 'c2' }],
  ])('arguments that come before their tool is named by %s are no other call’s', async (_name, keys) => {
    const pieces = [call({}, ''), { ...keys, function: { arguments: '{"city":"P"}' } }, { ...keys, function: { name: 'w' } }];
    const { error } = await broken([...pieces.map((piece) => calls(piece)), finish('tool_calls'), done]);
    expect(error).toMatchObject({ code: 'MODEL_PROTOCOL' });
  });

  test('arguments that no tool was named for are not dropped from a call that came without any', async () => {
    const frames = [calls(call({}, '')), calls({ index: 1, id: 'c2', function: { arguments: '{"city":"P"}' } })];
    const { error } = await broken([...frames, finish('tool_calls'), done]);
    expect(error).toMatchObject({ code: 'MODEL_PROTOCOL' });
    const named = [...frames, calls({ index: 1, function: { name: 'w' } })];
    expect(inputs((await whole([...named, finish('tool_calls'), done])).calls)).toEqual([expect.anything(), { city: 'P' }]);
  });

  test.each<[string, readonly string[]]>([
    ['may go on in JSON', ['{"city":', '{"city":"P"}']],
    ['may go on in a list', ['{"city":[', '{"city":["P"]}']],
    ['begin anew in another way', ['{"city":"P"', '{"city":"Q"}']],
    ['are cut', ['{"city":"P', '{"city":"P"']],
    ['are text', ['a', 'ab']],
  ])('S039: pieces that %s are not taken apart: what does not parse is marked, with all its text', async (_name, pieces) => {
    const frames = pieces.map((text, index) => calls(index === 0 ? call({}, text) : { index: 0, function: { arguments: text } }));
    const answer = await whole([...frames, finish('tool_calls'), done]);
    expect(answer.calls).toEqual([{ providerId: 'c1', name: 'w', unparsable: pieces.join('') }]);
    expect(answer.end?.native).toBeUndefined();
  });

  test('arguments that parse as they follow one another are never read otherwise, however they are cut', async () => {
    const text = '{"a":{"a":{"a":1}},"b":["{","{\\"a\\":1}"]}';
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat({ max: text.length }), { maxLength: 8 }), async (cuts) => {
        const edges = [0, ...cuts.sort((left, right) => left - right), text.length];
        const pieces = edges.slice(1).map((edge, index) => text.slice(edges[index], edge));
        const frames = pieces.map((piece, index) => calls(index === 0 ? call({}, piece) : { index: 0, function: { arguments: piece } }));
        expect(inputs((await whole([...frames, finish('tool_calls'), done])).calls)).toEqual([JSON.parse(text)]);
      }),
      { numRuns: 100 },
    );
  });

  test('every beginning of arguments that is cut off runs nothing', async () => {
    const text = '{"a":{"a":{"a":1}},"b":["{","{\\"a\\":1}"]}';
    for (let length = 1; length < text.length; length += 1) {
      const pieces = [text.slice(0, length / 2), text.slice(length / 2, length)];
      const frames = pieces.map((piece, index) => calls(index === 0 ? call({}, piece) : { index: 0, function: { arguments: piece } }));
      expect(inputs((await whole([...frames, finish('tool_calls'), done])).calls)).toMatchObject([{ unparsable: text.slice(0, length) }]);
    }
  });
});

describe('how servers end an answer', () => {
  test.each([
    ['length', 'length'],
    ['MAX_TOKENS', 'length'],
    ['max_output_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['token limit', 'length'],
    ['content_filter', 'refusal'],
    ['SAFETY', 'refusal'],
    ['content_filter: RECITATION', 'refusal'],
    ['PROHIBITED_CONTENT', 'refusal'],
    ['guardrail_intervened', 'refusal'],
  ])('S038: the finish reason %s is %s: no call comes out, though its arguments are whole', async (reason, stopReason) => {
    const answer = await whole([delta({ content: 'x' }), calls(call({})), finish(reason), done]);
    expect(answer.calls).toEqual([]);
    expect(answer.end).toMatchObject({ stopReason });
    expect(answer.end?.native).toBeUndefined();
  });

  test.each(['length', 'content_filter'])('S038: the finish reason %s stands, whatever is said after it', async (reason) => {
    for (const later of ['stop', 'tool_calls', reason]) {
      const answer = await whole([calls(call({})), finish(reason), finish(later), done]);
      expect(answer.calls).toEqual([]);
      expect(['length', 'refusal']).toContain(answer.end?.stopReason);
      expect((await whole([delta({ content: 'x' }), finish(later), finish(reason), done])).end?.stopReason).not.toBe('stop');
    }
  });

  test.each([
    'error',
    'abort',
    'cancelled',
    'network_error',
    'MALFORMED_FUNCTION_CALL',
    'function_call_filter: MALFORMED_FUNCTION_CALL',
    'insufficient_system_resource',
    'timeout',
  ])('S062: the finish reason %s is a failure that may be repeated', async (reason) => {
    const { error } = await broken([calls(call({})), finish(reason), done]);
    expect(error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: true });
  });

  test.each(['stop', 'STOP', 'eos', 'end_turn', 'tool_use', 'stop_sequence', 'COMPLETE'])(
    'the finish reason %s is a whole answer',
    async (reason) => {
      expect((await whole([calls(call({})), finish(reason), done])).calls).toEqual(paris);
      const stopReason = reason === 'tool_use' ? 'tools' : 'stop';
      expect((await whole([delta({ content: 'x' }), finish(reason)])).end).toMatchObject({ stopReason });
    },
  );

  test.each(['tool_calls', 'function_call', 'tool_use', 'TOOL_CALL'])(
    'the finish reason %s tells of calls, though none came, whatever is said after it',
    async (reason) => {
      const { calls: made, end } = await whole([delta({ content: 'Let me look.' }), finish(reason), finish('stop'), done]);
      expect([made, end?.stopReason]).toEqual([[], 'tools']);
    },
  );

  const chunkOf = (id: string, delta: object, reason: string | null = null) =>
    frame({ id, choices: [{ index: 0, delta, finish_reason: reason }] });

  test.each<[string, readonly string[]]>([
    ['begins anew', [chunkOf('m2', { role: 'assistant', content: '' }), chunkOf('m2', { content: 'xyz' })]],
    ['begins anew with its text', [chunkOf('m2', { role: 'assistant', content: 'xyz' })]],
    ['goes on in the middle, without a role', [chunkOf('m2', { content: 'xyz' })]],
    ['goes on behind a chunk that says nothing', [chunkOf('m2', { content: '' }), chunkOf('m2', { content: 'xyz' })]],
    ['goes on in the middle with a call', [chunkOf('m2', { tool_calls: [call({})] })]],
    ['goes on after its end', [chunkOf('m1', {}, 'stop'), chunkOf('m2', { content: 'xyz' })]],
    ['goes on with a call after its end', [chunkOf('m1', {}, 'stop'), chunkOf('m2', { tool_calls: [call({})] })]],
  ])('S072: a second answer in the stream that %s is no success', async (_name, second) => {
    const first = [chunkOf('m1', { role: 'assistant', content: '' }), chunkOf('m1', { content: 'abc' })];
    const { seen, error } = await broken([...first, ...second, chunkOf('m2', {}, 'stop'), done]);
    expect(seen).toBe('abc');
    expect(error).toMatchObject({ code: 'MODEL_PROTOCOL', isRetryable: false });
    expect(error.message).toContain('two answers');
  });

  test('S072: a beginning that is said again under the same id, and an id that changes with every chunk, are one answer', async () => {
    const twice = [
      chunkOf('m1', { role: 'assistant', content: 'abc' }),
      chunkOf('m1', { role: 'assistant', content: 'xyz' }),
      chunkOf('m1', {}, 'stop'),
    ];
    const changing = ['a', 'b', 'c'].map((id) => chunkOf(id, { role: 'assistant', content: id }));
    expect((await whole([...twice, done])).text).toBe('abcxyz');
    const ended = [chunkOf('m1', { content: 'a' }), chunkOf('m1', { content: 'b' }), chunkOf('m2', { content: '', role: null }, 'stop')];
    expect((await whole([...ended, done])).text).toBe('ab');
    expect((await whole([...changing, chunkOf('d', { role: 'assistant', content: '' }, 'stop'), done])).text).toBe('abc');
  });

  test.each<[string, string]>([
    ['an object', frame({ error: { message: 'SECRET', code: 500 } })],
    ['a text', frame({ error: 'SECRET' })],
    ['a list, as Gemini has it', frame([{ error: { code: 500, message: 'SECRET', status: 'INTERNAL' } }])],
    ['an event of JSON', 'event: error\ndata: {"message":"SECRET"}\n\n'],
    ['an event of plain text', 'event: error\ndata: upstream SECRET\n\n'],
    ['a line of older llama.cpp', 'error: {"code":500,"message":"SECRET","type":"server_error"}\n\n'],
    ['the whole frame, as vLLM has it', frame({ object: 'error', message: 'SECRET', code: 500 })],
    ['the whole frame, as Anthropic has it', frame({ type: 'error', error: { type: 'overloaded_error', message: 'SECRET' } })],
    ['a detail, as FastAPI has it', frame({ detail: 'SECRET' })],
    ['details, as FastAPI has them', frame({ detail: [{ loc: ['body'], msg: 'SECRET' }] })],
    ['a list of errors', frame({ errors: [{ message: 'SECRET', code: 500 }] })],
    ['a bare message', frame({ message: 'SECRET', code: 500 })],
    ['the status of MiniMax', frame({ choices: null, base_resp: { status_code: 1004, status_msg: 'SECRET' } })],
    [
      'the choice, as OpenRouter has it',
      frame({ choices: [{ index: 0, delta: {}, finish_reason: null, error: { code: 502, message: 'SECRET' } }] }),
    ],
  ])('S062: an error as %s after text is a failure, whatever follows', async (_name, error) => {
    const failed = await broken([delta({ content: 'par' }), delta({ content: 'tial' }), error, done]);
    expect(failed.seen).toBe('partial');
    expect(failed.error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: false, details: { delivered: true } });
    expect(JSON.stringify([failed.error.message, failed.error.details, failed.error.cause])).not.toContain('SECRET');
    expect((await broken([error, done])).error).toMatchObject({ code: 'MODEL_FAILED', details: { delivered: false } });
  });

  test('what is no error is none: null, empty, a ping, and a status of 0', async () => {
    const frames = [
      frame({ error: null, choices: [{ index: 0, delta: { content: 'a' }, error: null }] }),
      frame({ error: '', choices: [] }),
      frame({ type: 'ping' }),
      frame({ base_resp: { status_code: 0 }, choices: [{ index: 0, delta: { content: 'b' } }] }),
      finish('stop'),
      done,
    ];
    expect((await whole(frames)).text).toBe('ab');
  });

  test('a failure tells what was used before it', async () => {
    const { error } = await broken([delta({ content: 'x' }), usage(7, 2), frame({ error: { code: 500 } })]);
    expect(error.details.usage).toEqual({ requests: 1, inputTokens: 7, outputTokens: 2 });
  });
});

describe('usage', () => {
  const used = async (...frames: readonly string[]): Promise<unknown> =>
    (await whole([delta({ content: 'x' }), ...frames, done])).end?.usage;
  const told = (fields: object): string => frame({ choices: [], usage: fields });

  test('comes in a chunk of its own, in every chunk, in the last one, in parts, or in the choice', async () => {
    const expected = { requests: 1, inputTokens: 10, outputTokens: 4 };
    expect(await used(finish('stop'), usage(10, 4))).toEqual(expected);
    const running = (count: number, reason: string | null) =>
      frame({
        choices: [{ index: 0, delta: { content: 'y' }, finish_reason: reason }],
        usage: { prompt_tokens: 10, completion_tokens: count },
      });
    expect(await used(running(1, null), running(3, null), running(4, 'stop'))).toEqual(expected);
    expect(await used(told({ prompt_tokens: 10 }), finish('stop'), told({ completion_tokens: 4, prompt_tokens: null }))).toEqual(expected);
    expect(
      await used(frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: { prompt_tokens: 10, completion_tokens: 4 } }] })),
    ).toEqual(expected);
    expect(await used(finish('stop'), frame({ choices: [], x_groq: { usage: { prompt_tokens: 10, completion_tokens: 4 } } }))).toEqual(
      expected,
    );
  });

  test('S164: that nobody tells stays missing, and is not zero', async () => {
    for (const nothing of [
      {},
      { usage: null },
      { usage: {} },
      { usage: { prompt_tokens: null, completion_tokens: -1 } },
      { usage: 'none' },
    ])
      expect(await used(finish('stop'), frame({ choices: [], ...nothing }))).toEqual({ requests: 1 });
  });

  test('keeps cached, written, reasoning and audio tokens apart, and prices each', async () => {
    const counts = {
      prompt_tokens: 1_000_000,
      completion_tokens: 100_000,
      total_tokens: 1_100_000,
      prompt_tokens_details: { cached_tokens: 400_000, cache_write_tokens: 100_000, audio_tokens: 50_000 },
      completion_tokens_details: { reasoning_tokens: 7, audio_tokens: 20_000 },
    };
    const prices = { input: 2, output: 10, cacheRead: 0.5, cacheWrite: 4, audioInput: 20, audioOutput: 40 };
    const { end } = await whole([delta({ content: 'x' }), finish('stop'), told(counts), done], { prices });
    expect(end?.usage).toEqual({
      requests: 1,
      inputTokens: 1_000_000,
      outputTokens: 100_000,
      cacheReadTokens: 400_000,
      cacheWriteTokens: 100_000,
      reasoningTokens: 7,
      audioInputTokens: 50_000,
      audioOutputTokens: 20_000,
      cost: 0.9 + 0.2 + 0.4 + 1 + 0.8 + 0.8,
    });
  });

  test('of DeepSeek tells its cache under other names, and what a total says beyond its parts was written too', async () => {
    expect(await used(finish('stop'), told({ prompt_tokens: 10, completion_tokens: 2, prompt_cache_hit_tokens: 6 }))).toMatchObject({
      cacheReadTokens: 6,
    });
    expect(await used(finish('stop'), told({ prompt_tokens: 10, completion_tokens: 2, total_tokens: 40 }))).toMatchObject({
      outputTokens: 30,
    });
    expect(await used(finish('stop'), told({ prompt_tokens: 10, completion_tokens: 2, total_tokens: 3 }))).toMatchObject({
      outputTokens: 2,
    });
  });
});

describe('reasoning', () => {
  const kinds = (list: readonly ModelEvent[]): string[] =>
    list.flatMap((event) => ('text' in event ? [`${event.type}: ${event.text}`] : []));

  test.each<[string, object]>([
    ['DeepSeek and older vLLM', { reasoning_content: 'hm' }],
    ['Groq, Ollama and vLLM', { reasoning: 'hm' }],
    ['OpenRouter', { reasoning: 'hm', reasoning_details: [{ type: 'reasoning.text', text: 'hm', index: 0 }] }],
    [
      'OpenRouter, in details alone',
      {
        reasoning_details: [
          { type: 'reasoning.text', text: 'hm' },
          { type: 'reasoning.encrypted', data: 'e' },
        ],
      },
    ],
    ['Mistral', { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }],
  ])('of %s is reasoning, once', async (_name, fields) => {
    expect(kinds(await read([delta(fields), delta({ content: 'yes' }), finish('stop'), done]))).toEqual([
      'reasoning.delta: hm',
      'text.delta: yes',
    ]);
  });

  test('S010: that goes back is kept with its answer and with the server that made it', async () => {
    const frames = [
      delta({ reasoning_content: 'h' }),
      delta({ reasoning_content: 'm', reasoning_details: [{ type: 'reasoning.encrypted', data: 'e' }] }),
      calls(call({ extra_content: { google: { thought_signature: 's' } } })),
      finish('tool_calls'),
      done,
    ];
    const kept = await whole(frames, { replayReasoning: true, baseURL: 'https://api.deepseek.com/v1' });
    expect(kept.end?.native).toEqual({
      role: 'assistant',
      content: null,
      reasoning_content: 'hm',
      reasoning_details: [{ type: 'reasoning.encrypted', data: 'e' }],
      tool_calls: [
        {
          extra_content: { google: { thought_signature: 's' } },
          id: 'c1',
          type: 'function',
          function: { name: 'w', arguments: '{"city":"P"}' },
        },
      ],
      guardloop_server: 'api.deepseek.com',
    });
    const plain = (await whole(frames)).end?.native;
    expect(JSON.stringify(plain)).not.toMatch(/reasoning|google|guardloop/);
  });

  const tagged = [
    delta({ content: ' \n<thi' }),
    delta({ content: 'nk>\nhm </' }),
    delta({ content: 'thi</think>\n\nyes <think>' }),
    finish('stop'),
    done,
  ];

  test('between tags stays text, unless the option says that it is reasoning', async () => {
    expect((await whole(tagged)).text).toBe(' \n<think>\nhm </thi</think>\n\nyes <think>');
    const answer = await whole(tagged, { thinkTags: 'tagged' });
    expect([answer.reasoning, answer.text]).toEqual(['\nhm </thi', 'yes <think>']);
    expect(answer.end?.native).toEqual({ role: 'assistant', content: 'yes <think>' });
  });

  test('whose tag the template opens is reasoning with the option for that', async () => {
    const frames = [delta({ content: 'hm' }), delta({ content: '</think>yes' }), finish('stop'), done];
    expect(await whole(frames, { thinkTags: 'untagged' })).toMatchObject({ reasoning: 'hm', text: 'yes' });
    expect(await whole(frames, { thinkTags: 'tagged' })).toMatchObject({ reasoning: '', text: 'hm</think>yes' });
    expect(await whole(tagged, { thinkTags: 'untagged' })).toMatchObject({ reasoning: '\nhm </thi', text: 'yes <think>' });
  });

  test.each(['tagged', 'untagged'] as const)('between tags (%s) is the same however the text is cut', async (thinkTags) => {
    const texts = [
      '<think>a</think>b',
      '  <think></think>\n',
      '<thin',
      '<think>a</thin',
      'a<think>b</think>',
      '',
      ' ',
      'a</think> b</think>',
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...texts), fc.uniqueArray(fc.nat({ max: 20 }), { maxLength: 6 }), async (text, cuts) => {
        const edges = [0, ...cuts.filter((cut) => cut < text.length).sort((left, right) => left - right), text.length];
        const pieces = edges.slice(1).map((edge, index) => text.slice(edges[index], edge));
        const [cut, all] = await Promise.all(
          [pieces, [text]].map((list) => whole([...list.map((content) => delta({ content })), finish('stop'), done], { thinkTags })),
        );
        expect([cut?.reasoning, cut?.text]).toEqual([all?.reasoning, all?.text]);
      }),
      { numRuns: 100 },
    );
  });
});

describe('how bodies come', () => {
  const plain = [delta({ content: 'yes' }), finish('stop'), done];
  const json = JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }] });

  test('S058: a body is read for what it is, whatever its content type says', async () => {
    for (const type of ['text/event-stream', 'application/json', 'text/plain', ''])
      for (const body of [plain, ['\ufeff', ...plain], ['\n\n', ...plain], [json], [`\n ${json}\n`]])
        expect(
          (await read(body, {}, type)).map((event) => ('text' in event ? event.text : event.type)),
          `${type} ${body[0]}`,
        ).toEqual(['yes', 'end']);
  });

  test('S062: an error as a body of status 200 is a failure, as an object and as a list', async () => {
    for (const body of ['{"error":{"code":503,"message":"x"}}', '[{"error":{"code":503,"message":"x"}}]'])
      expect((await broken([body])).error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: true, details: { status: 503 } });
  });

  test('S059: keep-alives in all their forms are passed over', async () => {
    const frames = [
      ': OPENROUTER PROCESSING\n\n',
      ':\n\n',
      '\n',
      'data:\n\n',
      'data: \n\n',
      'event: ping\ndata: {}\n\n',
      'id: 1\nretry: 5\n\n',
      'data: null\n\n',
      'data: {}\n\n',
    ];
    expect(
      (await read(frames.flatMap((alive) => [alive, ...(alive === '\n' ? plain.slice(0, 1) : [])]).concat(plain.slice(1)))).map(
        (event) => event.type,
      ),
    ).toEqual(['text.delta', 'end']);
  });

  test('data without a space, and a last event without its blank line, count', async () => {
    expect((await read([plain.slice(0, 2).join('').replaceAll('data: ', 'data:'), 'data:[DONE]'])).map((event) => event.type)).toEqual([
      'text.delta',
      'end',
    ]);
  });

  test('S074: Azure: a first chunk without choices, a role alone, and filter results beside the text', async () => {
    const frames = [
      frame({ choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }], model: '', id: '' }),
      frame({
        choices: [
          {
            index: 0,
            delta: { role: 'assistant', content: '', refusal: null },
            content_filter_results: {},
            logprobs: null,
            finish_reason: null,
          },
        ],
      }),
      frame({
        choices: [{ index: 0, delta: { content: 'ok' }, content_filter_results: { hate: { filtered: false } }, finish_reason: null }],
      }),
      frame({ choices: [{ index: 0, delta: {}, content_filter_offsets: {}, finish_reason: 'stop' }], usage: null }),
      usage(3, 1),
      done,
    ];
    expect((await whole(frames)).end).toMatchObject({ stopReason: 'stop', usage: { inputTokens: 3, outputTokens: 1 } });
    expect((await whole(frames)).text).toBe('ok');
  });

  test('S060: an answer of endless small pieces is given up, with text, reasoning and arguments alike', async () => {
    const piece = 'x'.repeat(1_000);
    for (const fields of [
      { content: piece },
      { reasoning: piece },
      { reasoning_details: [{ data: piece }] },
      { tool_calls: [call({ id: '' }, piece)] },
      { function_call: { arguments: piece } },
    ]) {
      const { error } = await broken(
        Array.from({ length: 40 }, () => delta(fields)),
        { maxEventChars: 2_000 },
      );
      expect(error).toMatchObject({ code: 'MODEL_PROTOCOL', isRetryable: false });
      expect(error.message).toContain('32000');
    }
  });

  test('S058: every way to cut the bytes of every dialect gives the same events', { timeout: 60_000 }, async () => {
    const frames = fc.constantFrom(
      ': é\n\n',
      'event: ping\ndata: {}\n\n',
      delta({ content: 'né😀' }),
      delta({ content: '<think>' }),
      delta({ content: '</think>思' }),
      delta({ reasoning: '思😀' }),
      calls({ index: 0, id: 'a', function: { name: 'w', arguments: '{"city":"Zü' } }),
      calls({ index: 0, function: { arguments: '😀"}' } }),
      calls({ index: 1, id: 'b', function: { name: 'w', arguments: { city: 'Q' } } }),
      calls(call({ id: '' })),
      delta({ function_call: { name: 'w', arguments: '{}' } }),
      finish('tool_calls'),
      finish('length'),
      usage(3, 4),
      frame({ error: { code: 429 } }),
      frame({ detail: 'x' }),
      'error: {"code":500}\n\n',
      'data: {broken\n\n',
      done,
    );
    const ends = fc.constantFrom('\n', '\r\n', '\r');
    const outcome = async (chunks: readonly Uint8Array[], options: ChatOptions): Promise<unknown[]> => {
      const seen: unknown[] = [];
      try {
        for await (const event of over(chunks, options).stream(request, { signal: new AbortController().signal })) seen.push(event);
      } catch (error) {
        if (!GuardloopError.is(error)) throw error;
        seen.push([error.code, error.message, error.isRetryable]);
      }
      return seen;
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(frames, { maxLength: 8 }),
        ends,
        fc.array(fc.nat({ max: 2_000 }), { maxLength: 10 }),
        async (list, end, cuts) => {
          const bytes = bytesOf(list.join('').replaceAll('\n', end));
          const edges = [0, ...cuts.filter((cut) => cut < bytes.length).sort((left, right) => left - right), bytes.length];
          const pieces = edges.slice(1).map((edge, index) => bytes.slice(edges[index], edge));
          const options: ChatOptions = { thinkTags: 'tagged', maxEventChars: 400 };
          const all = await outcome([bytes], options);
          expect(await outcome(pieces, options)).toEqual(all);
          expect(
            await outcome(
              Array.from(bytes, (byte) => Uint8Array.of(byte)),
              options,
            ),
          ).toEqual(all);
        },
      ),
      { numRuns: 150 },
    );
  });

  test('random bytes, and recordings that were cut or changed, end in an outcome or a failure, and half a call never comes out', {
    timeout: 60_000,
  }, async () => {
    const recording = bytesOf(
      delta({ content: 'né😀' }),
      calls({ index: 0, id: 'a', function: { name: 'w', arguments: '{"city":"Zü' } }),
      calls({ index: 0, function: { arguments: 'rich"}' } }),
      finish('tool_calls'),
      usage(3, 4),
      done,
    );
    const changed = fc
      .record({
        from: fc.nat({ max: recording.length }),
        flips: fc.array(fc.tuple(fc.nat({ max: recording.length - 1 }), fc.integer({ min: 1, max: 255 })), { maxLength: 4 }),
      })
      .map(({ from, flips }) => {
        const bytes = recording.slice(0, Math.max(1, from));
        for (const [at, mask] of flips) if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ mask;
        return bytes;
      });
    await fc.assert(
      fc.asyncProperty(fc.oneof(changed, fc.uint8Array({ maxLength: 300 })), async (bytes) => {
        const list: ModelEvent[] = [];
        try {
          for await (const event of over([bytes]).stream(request, { signal: new AbortController().signal })) list.push(event);
          expect(list.at(-1)?.type).toBe('end');
        } catch (error) {
          expect(GuardloopError.is(error) && ['MODEL_PROTOCOL', 'MODEL_FAILED'].includes(error.code)).toBe(true);
          expect(list.some((event) => event.type === 'tool.call')).toBe(false);
        }
        for (const event of list) if (event.type === 'tool.call' && 'input' in event.call) expect(event.call.input).toBeTypeOf('object');
      }),
      { numRuns: 400 },
    );
  });
});
