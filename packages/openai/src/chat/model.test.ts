import { setTimeout as sleep } from 'node:timers/promises';
import type { Model } from '@guardloop/core/model';
import { collect, GuardloopError } from '@guardloop/core/model';
import fc from 'fast-check';
import OpenAI from 'openai';
import OpenAI7 from 'openai-7';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Answer, Step } from '../../test/chat-server.js';
import {
  baseRequest,
  ChatServer,
  calls,
  chunked,
  delta,
  done,
  events,
  failing,
  finish,
  frame,
  said,
  usage,
  weather,
} from '../../test/chat-server.js';
import { openai } from './model.js';
import type { ChatOptions } from './options.js';

let server: ChatServer;
let baseURL: string;

beforeEach(async () => {
  server = new ChatServer();
  baseURL = await server.open();
});
afterEach(() => {
  server.close();
  expect(server.problems).toEqual([]);
});

function chat(options: ChatOptions = {}): Model {
  return openai('gpt-5', { apiKey: 'k', baseURL, maxRetries: 0, ...options });
}

describe('a plain answer', () => {
  test('text flows as it comes, and the end holds stop reason, usage and the message to replay', async () => {
    server.answers = [
      {
        steps: [
          delta({ role: 'assistant', content: '' }),
          delta({ content: 'Hel' }),
          delta({ content: 'lo' }),
          finish('stop'),
          usage(12, 3),
          done,
        ],
      },
    ];
    expect(await events(chat())).toEqual([
      { type: 'text.delta', text: 'Hel' },
      { type: 'text.delta', text: 'lo' },
      {
        type: 'end',
        stopReason: 'stop',
        usage: { requests: 1, inputTokens: 12, outputTokens: 3 },
        native: { role: 'assistant', content: 'Hello' },
      },
    ]);
    expect(server.bodies[0]).toEqual({
      model: 'gpt-5',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test('cost comes from the prices, cached tokens at their own', async () => {
    const counts = {
      prompt_tokens: 1_000_000,
      completion_tokens: 100_000,
      prompt_tokens_details: { cached_tokens: 400_000 },
      completion_tokens_details: { reasoning_tokens: 7 },
    };
    server.answers = [{ steps: [delta({ content: 'x' }), finish('stop'), frame({ choices: [], usage: counts }), done] }];
    const { end } = await collect(
      chat({ prices: { input: 2, output: 10, cacheRead: 0.5 } }).stream(baseRequest, { signal: new AbortController().signal }),
    );
    expect(end?.usage).toEqual({
      requests: 1,
      inputTokens: 1_000_000,
      outputTokens: 100_000,
      cacheReadTokens: 400_000,
      reasoningTokens: 7,
      cost: 1.2 + 0.2 + 1,
    });
  });

  test('S164: an answer without usage still counts as a request, without a cost', async () => {
    server.answers = [said('x')];
    const { end } = await collect(chat({ prices: { input: 1, output: 1 } }).stream(baseRequest, { signal: new AbortController().signal }));
    expect(end?.usage).toEqual({ requests: 1 });
  });

  test('a server that ignores stream is read too', async () => {
    const whole = {
      choices: [
        {
          message: {
            role: 'assistant',
            content: 'whole',
            tool_calls: [
              { id: 'c1', type: 'function', function: { name: 'w', arguments: '{"city":"P"}' } },
              { id: 'c2', type: 'function', function: { name: 'w', arguments: '{"city":"Q"}' } },
            ],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2 },
    };
    server.answers = [{ headers: { 'content-type': 'application/json' }, steps: [JSON.stringify(whole)] }];
    const answer = await collect(chat().stream({ ...baseRequest, tools: [weather] }, { signal: new AbortController().signal }));
    expect(answer.text).toBe('whole');
    expect(answer.calls).toEqual([
      { providerId: 'c1', name: 'w', input: { city: 'P' } },
      { providerId: 'c2', name: 'w', input: { city: 'Q' } },
    ]);
    expect(answer.end?.stopReason).toBe('tools');
  });
});

describe('calls', () => {
  const called = async (steps: readonly Step[]) => {
    server.answers = [{ steps }];
    return collect(chat().stream({ ...baseRequest, tools: [weather] }, { signal: new AbortController().signal }));
  };

  test('S019: text beside a call comes out beside it, and both are replayed', async () => {
    const answer = await called([
      delta({ content: 'I look.' }),
      calls({ index: 0, id: 'call_1', type: 'function', function: { name: 'w', arguments: '' } }),
      calls({ index: 0, function: { arguments: '{ "city": ' } }),
      calls({ index: 0, function: { arguments: '"P"}' } }),
      finish('tool_calls'),
      done,
    ]);
    expect(answer.text).toBe('I look.');
    expect(answer.calls).toEqual([{ providerId: 'call_1', name: 'w', input: { city: 'P' } }]);
    expect(answer.end).toMatchObject({
      stopReason: 'tools',
      native: {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'w', arguments: '{ "city": "P"}' } }],
      },
    });
  });

  test('S023: four parallel calls come out in order, with deltas under their index', async () => {
    server.answers = [
      {
        steps: [
          calls(...[0, 1, 2, 3].map((index) => ({ index, id: `c${index}`, function: { name: 'w', arguments: '' } }))),
          calls({ index: 2, function: { arguments: '{"city":"2"}' } }, { index: 0, function: { arguments: '{"city":"0"}' } }),
          calls({ index: 1, function: { arguments: '{"city":"1"}' } }, { index: 3, function: { arguments: '{"city":"3"}' } }),
          finish('tool_calls'),
          done,
        ],
      },
    ];
    const list = await events(chat(), { ...baseRequest, tools: [weather] });
    expect(list.filter((event) => event.type === 'tool.delta')).toEqual(
      [2, 0, 1, 3].map((index) => ({ type: 'tool.delta', index, text: `{"city":"${index}"}` })),
    );
    expect(list.flatMap((event) => (event.type === 'tool.call' ? [event.call] : []))).toEqual(
      [0, 1, 2, 3].map((index) => ({ providerId: `c${index}`, name: 'w', input: { city: String(index) } })),
    );
  });

  test('S026: arguments that are JSON but no object are passed on as they are, and leave no message to replay', async () => {
    const answer = await called([
      ...['null', '[1,2]', '"1"', '7', '{"city":"P"}'].map((input, index) =>
        calls({ index, id: `c${index}`, function: { name: 'w', arguments: input } }),
      ),
      finish('tool_calls'),
      done,
    ]);
    expect(answer.calls.map((call) => ('input' in call ? call.input : undefined))).toEqual([null, [1, 2], '1', 7, { city: 'P' }]);
    expect(answer.end?.native).toBeUndefined();
  });

  test('S031: calls with empty or null ids stay apart and have no provider id', async () => {
    for (const id of ['', null]) {
      const answer = await called([
        calls({ index: 0, id, function: { name: 'w', arguments: '{"city":"P"}' } }),
        calls({ index: 1, id, function: { name: 'w', arguments: '{"city":"Q"}' } }),
        finish('tool_calls'),
        done,
      ]);
      expect(answer.calls).toEqual([
        { name: 'w', input: { city: 'P' } },
        { name: 'w', input: { city: 'Q' } },
      ]);
    }
  });

  test.each([
    ['reused', [0, 0]],
    ['absent', [undefined, undefined]],
    ['neither from 0 nor without gaps', [3, 7]],
  ])('S040: calls whose index is %s stay apart', async (_name, [first, second]) => {
    const answer = await called([
      calls({ index: first, id: 'a', function: { name: 'w', arguments: '{"city":' } }),
      calls({ index: first, function: { arguments: '"P"}' } }),
      calls({ index: second, id: 'b', function: { name: 'w', arguments: '{"city":' } }),
      calls({ index: second, id: 'b', function: { arguments: '"Q"}' } }),
      finish('tool_calls'),
      done,
    ]);
    expect(answer.calls).toEqual([
      { providerId: 'a', name: 'w', input: { city: 'P' } },
      { providerId: 'b', name: 'w', input: { city: 'Q' } },
    ]);
  });

  test('S040: with neither id nor a new index, a tool named again after whole arguments opens a call', async () => {
    const answer = await called([
      calls({ function: { name: 'w', arguments: '{"city":"P"}' } }),
      calls({ function: { name: 'w', arguments: '{"city":"Q"}' } }, { function: { name: 'w', arguments: '{"city":"R"}' } }),
      finish('tool_calls'),
      done,
    ]);
    expect(answer.calls.map((call) => ('input' in call ? call.input : undefined))).toEqual([{ city: 'P' }, { city: 'Q' }, { city: 'R' }]);
  });

  test.each<[string, readonly string[]]>([
    ['in one delta with neither id, index nor arguments', [calls({ function: { name: 'w', arguments: '' } }, { function: { name: 'w' } })]],
    ['in one delta with the same id and no index', [calls({ id: 'x', function: { name: 'w' } }, { id: 'x', function: { name: 'w' } })]],
    [
      'whole, with the same id and index',
      Array.from({ length: 2 }, () => calls({ index: 0, id: 'x', function: { name: 'w', arguments: '{}' } })),
    ],
    [
      'with the same id and another index',
      [calls({ index: 0, id: 'x', function: { name: 'w' } }), calls({ index: 1, id: 'x', function: { name: 'w' } })],
    ],
    [
      'of another tool under the same index, after arguments',
      [calls({ index: 0, function: { name: 'w', arguments: '{}' } }), calls({ index: 0, function: { name: 'v' } })],
    ],
  ])('S040: two calls %s stay apart', async (_name, deltas) => {
    expect((await called([...deltas, finish('tool_calls'), done])).calls).toHaveLength(2);
  });

  test('an id that comes late, or with an index only later, opens no second call', async () => {
    for (const first of [{ index: 0 }, { id: 'a' }]) {
      const answer = await called([
        calls({ ...first, function: { name: 'w', arguments: '{"city"' } }),
        calls({ index: 0, id: 'a', function: { arguments: ':"P"}' } }),
        finish('tool_calls'),
        done,
      ]);
      expect(answer.calls).toEqual([{ providerId: 'a', name: 'w', input: { city: 'P' } }]);
    }
  });

  test('a name that is repeated in each piece, or comes in pieces, is one name', async () => {
    const repeated = await called([
      calls({ index: 0, id: 'a', function: { name: 'w', arguments: '{"city"' } }),
      calls({ index: 0, id: 'a', function: { name: 'w', arguments: ':"P"}' } }),
      finish('tool_calls'),
      done,
    ]);
    expect(repeated.calls).toEqual([{ providerId: 'a', name: 'w', input: { city: 'P' } }]);
    const split = await called([
      calls({ index: 0, id: 'a', function: { name: 'find' } }),
      calls({ index: 0, function: { name: '_order', arguments: '{}' } }),
      finish('tool_calls'),
      done,
    ]);
    expect(split.calls).toEqual([{ providerId: 'a', name: 'find_order', input: {} }]);
  });

  test('arguments as an object are taken, and a missing type means function (S197)', async () => {
    const answer = await called([
      calls({ index: 0, id: 'a', type: null, function: { name: 'w', arguments: { city: 'P' } } }),
      finish('tool_calls'),
      done,
    ]);
    expect(answer.calls).toEqual([{ providerId: 'a', name: 'w', input: { city: 'P' } }]);
    expect(answer.end?.native).toMatchObject({ tool_calls: [{ function: { arguments: '{"city":"P"}' } }] });
  });

  test('empty arguments are passed on as unparsable, for core to decide', async () => {
    const answer = await called([calls({ index: 0, id: 'a', function: { name: 'w', arguments: '' } }), finish('tool_calls'), done]);
    expect(answer.calls).toEqual([{ providerId: 'a', name: 'w', unparsable: '' }]);
  });

  test('S039: broken arguments are unparsable; only at the output limit is the limit named', async () => {
    for (const [output, detail] of [
      [4096, 'the output limit was reached'],
      [189, undefined],
    ] as const) {
      server.answers = [
        {
          steps: [
            calls({ index: 0, id: 'c1', function: { name: 'w', arguments: '{"city":"abc' } }),
            finish('tool_calls'),
            usage(100, output),
            done,
          ],
        },
      ];
      const answer = await collect(
        chat().stream({ ...baseRequest, tools: [weather], settings: { maxTokens: 4096 } }, { signal: new AbortController().signal }),
      );
      expect(answer.calls).toEqual([{ providerId: 'c1', name: 'w', unparsable: '{"city":"abc' }]);
      expect(answer.end).toMatchObject({ stopReason: 'tools' });
      expect(answer.end?.detail).toBe(detail);
      expect(answer.end?.native).toBeUndefined();
    }
  });

  test('S043: no call comes out of a stream that dies, though its arguments would parse', async () => {
    server.answers = [
      {
        steps: [
          calls({ index: 0, id: 't1', function: { name: 'w', arguments: '{}' } }),
          calls({ index: 0, function: { arguments: '' } }),
          { waitMs: 20 },
          calls({ index: 0, function: { arguments: ' ' } }),
          'cut',
        ],
      },
    ];
    const { seen, error } = await failing(chat());
    expect(seen).toEqual([
      { type: 'tool.delta', index: 0, text: '{}' },
      { type: 'tool.delta', index: 0, text: ' ' },
    ]);
    expect(error.code).toBe('MODEL_FAILED');
    expect(error.isRetryable).toBe(true);
  });

  test.each([
    ['stop', [finish('stop'), done]],
    ['null and [DONE]', [finish(null), done]],
    ['an empty text and [DONE]', [finish(''), done]],
    ['stop and no [DONE]', [finish('stop')]],
  ])('S045: calls with the finish reason %s are calls', async (_name, tail) => {
    const answer = await called([calls({ index: 0, id: 'c1', function: { name: 'w', arguments: '{"city":"P"}' } }), ...tail]);
    expect(answer.calls).toHaveLength(1);
    expect(answer.end?.stopReason).toBe('tools');
  });

  test('S045: calls with a null finish reason and no [DONE] are a failure, and do not come out', async () => {
    server.answers = [{ steps: [calls({ index: 0, id: 'c1', function: { name: 'w', arguments: '{}' } }), finish(null)] }];
    const { seen, error } = await failing(chat());
    expect(seen.map((event) => event.type)).toEqual(['tool.delta']);
    expect(error.code).toBe('MODEL_PROTOCOL');
  });

  test('S045: an empty finish reason is none', async () => {
    server.answers = [{ steps: [frame({ choices: [{ index: 0, delta: { content: 'x' }, finish_reason: '' }] })] }];
    expect((await failing(chat())).error.code).toBe('MODEL_PROTOCOL');
  });

  test('S038: an answer that was cut or refused gives out no call', async () => {
    for (const [reason, stopReason] of [
      ['length', 'length'],
      ['content_filter', 'refusal'],
    ] as const) {
      const answer = await called([
        calls({ index: 0, id: 'c1', function: { name: 'w', arguments: '{"city":"P"}' } }),
        finish(reason),
        done,
      ]);
      expect(answer.calls).toEqual([]);
      expect(answer.end?.stopReason).toBe(stopReason);
      expect(answer.end?.native).toBeUndefined();
    }
  });

  test('a tool whose name the API would refuse is called back by its own name', async () => {
    const tool = { ...weather, name: 'weather.now/wïth a name' };
    server.answers = [said('x')];
    await events(chat(), { ...baseRequest, tools: [tool] });
    const wire = (server.bodies[0] as { tools: { function: { name: string } }[] }).tools[0]?.function.name;
    server.answers = [
      { steps: [calls({ index: 0, id: 'c1', function: { name: wire, arguments: '{"city":"P"}' } }), finish('tool_calls'), done] },
    ];
    const answer = await collect(chat().stream({ ...baseRequest, tools: [tool] }, { signal: new AbortController().signal }));
    expect(answer.calls).toEqual([{ providerId: 'c1', name: 'weather.now/wïth a name', input: { city: 'P' } }]);
  });
});

describe('the end of an answer', () => {
  test('S061: a clean end of the body without a terminal is MODEL_PROTOCOL, and not retryable after text', async () => {
    server.answers = [{ steps: [delta({ content: 'The answer is' })] }];
    const { seen, error } = await failing(chat());
    expect(seen).toEqual([{ type: 'text.delta', text: 'The answer is' }]);
    expect(error).toMatchObject({ code: 'MODEL_PROTOCOL', isRetryable: false, details: { delivered: true, requestId: 'req_1' } });
    expect(error.message).not.toContain('The answer is');
  });

  test('S061: an empty stream is MODEL_PROTOCOL and may be tried again', async () => {
    server.answers = [{ steps: [] }];
    expect((await failing(chat())).error).toMatchObject({ code: 'MODEL_PROTOCOL', isRetryable: true, details: { delivered: false } });
  });

  test('a connection cut after the finish reason has lost nothing', async () => {
    server.answers = [{ steps: [delta({ content: 'all' }), finish('stop'), 'cut'] }];
    expect((await events(chat())).at(-1)).toMatchObject({ type: 'end', stopReason: 'stop' });
  });

  test('S062: an error frame in a stream of status 200 fails with its status, and keeps no word of its message', async () => {
    for (const error of [
      { code: 429, message: 'rate: par' },
      { code: '429', type: 'rate_limit', message: 'par' },
    ]) {
      server.answers = [{ steps: [delta({ content: 'par' }), delta({ content: 'tial' }), frame({ error }), done] }];
      const failure = await failing(chat());
      expect(failure.seen.map((event) => ('text' in event ? event.text : '')).join('')).toBe('partial');
      expect(failure.error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: false, details: { status: 429, delivered: true } });
      expect(JSON.stringify([failure.error.message, failure.error.details])).not.toContain('par');
    }
  });

  test.each([
    ['a whole body', { headers: { 'content-type': 'application/json' }, steps: [JSON.stringify({ error: { code: 500, message: 'x' } })] }],
    ['an error event', { steps: ['event: error\ndata: {"message":"x","code":500}\n\n'] }],
    ['an error object', { steps: [frame({ object: 'error', message: 'x', code: 500 })] }],
    [
      'a finish reason',
      { steps: [frame({ choices: [{ index: 0, delta: {}, finish_reason: 'error', error: { code: 500, message: 'x' } }] })] },
    ],
  ])('S062: an error with status 200 as %s fails too, and may be tried again', async (_name, answer) => {
    server.answers = [answer];
    expect((await failing(chat())).error).toMatchObject({
      code: 'MODEL_FAILED',
      isRetryable: true,
      details: { status: 500, delivered: false },
    });
  });

  test('S074: chunks without choices and deltas without content are passed over', async () => {
    server.answers = [
      {
        steps: [
          frame({ choices: [], prompt_filter_results: [{}] }),
          delta({ role: '', content: null }),
          delta(null),
          delta({ content: 'ok' }),
          finish('stop'),
          done,
        ],
      },
    ];
    expect((await events(chat())).map((event) => event.type)).toEqual(['text.delta', 'end']);
  });

  test.each([
    ['an empty list', { choices: [] }],
    ['null', { choices: null }],
  ])('S074: an answer whose choices are %s is MODEL_PROTOCOL', async (_name, body) => {
    server.answers = [{ headers: { 'content-type': 'application/json' }, steps: [JSON.stringify(body)] }, { steps: [frame(body), done] }];
    for (let index = 0; index < 2; index += 1) expect((await failing(chat())).error.code).toBe('MODEL_PROTOCOL');
  });

  test('S196: an answer of reasoning alone has no text, no call and no message to replay', async () => {
    server.answers = [{ steps: [delta({ content: null, reasoning_content: 'hm' }), finish('stop'), done] }];
    const list = await events(chat());
    expect(list[0]).toEqual({ type: 'reasoning.delta', text: 'hm' });
    expect(list[1]).toEqual({ type: 'end', stopReason: 'stop', usage: { requests: 1 } });
  });

  test('S197: only the first of several choices is used, also in one chunk', async () => {
    server.answers = [
      {
        steps: [
          frame({
            choices: [
              { index: 1, delta: { content: 'b' } },
              { index: 0, delta: { content: 'a' } },
            ],
          }),
          frame({ choices: [{ index: 1, delta: {}, finish_reason: 'length' }] }),
          finish('stop'),
          done,
        ],
      },
    ];
    const answer = await collect(chat().stream(baseRequest, { signal: new AbortController().signal }));
    expect(answer).toMatchObject({ text: 'a', end: { stopReason: 'stop' } });
  });

  test.each([
    ['audio', { audio: { id: 'a', data: 'AAAA' } }],
    ['custom tool call', { tool_calls: [{ index: 0, id: 'c', type: 'custom', custom: { name: 'x', input: 'y' } }] }],
    ['content part', { content: [{ type: 'image', data: 'x' }] }],
  ])('S197: %s in an answer is refused by name', async (name, fields) => {
    server.answers = [{ steps: [delta(fields), finish('stop'), done] }];
    const { error } = await failing(chat());
    expect(error.code).toBe('MODEL_PROTOCOL');
    expect(error.message).toContain(name);
  });

  test('a refusal by the model and by a filter is a refusal', async () => {
    server.answers = [
      { steps: [delta({ refusal: 'I will ' }), delta({ refusal: 'not' }), finish('stop'), done] },
      { steps: [delta({ content: 'So ' }), finish('content_filter'), done] },
      {
        status: 400,
        headers: { 'content-type': 'application/json' },
        steps: [JSON.stringify({ error: { code: 'content_filter', message: 'hi' } })],
      },
    ];
    const ends = [await events(chat()), await events(chat()), await events(chat())].map((list) => list.at(-1));
    expect(ends.map((end) => (end?.type === 'end' ? [end.stopReason, end.detail] : []))).toEqual([
      ['refusal', 'refusal by the model'],
      ['refusal', 'content filter'],
      ['refusal', 'content filter'],
    ]);
  });

  test('reasoning goes into the message to replay only where the option says so', async () => {
    const steps = [
      delta({ reasoning_content: 'I th' }),
      delta({ reasoning_content: 'ink' }),
      delta({ reasoning_details: [{ id: 1 }] }),
      calls({ index: 0, id: 'c', extra_content: { signature: 's' }, function: { name: 'w', arguments: '{}' } }),
      finish('tool_calls'),
      done,
    ];
    server.answers = [{ steps }, { steps }];
    expect((await events(chat())).at(-1)).toMatchObject({
      native: { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', function: { name: 'w', arguments: '{}' } }] },
    });
    expect((await events(chat({ replayReasoning: true }))).at(-1)).toMatchObject({
      native: {
        reasoning_content: 'I think',
        reasoning_details: [{ id: 1 }],
        tool_calls: [{ id: 'c', extra_content: { signature: 's' } }],
      },
    });
  });
});

describe('framing', () => {
  const logical = [delta({ content: 'a' }), delta({ content: 'b' }), finish('stop'), done];

  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('S058: lines may end with %s', async (_name, end) => {
    server.answers = [{ steps: logical.map((text) => text.replaceAll('\n', end)) }];
    expect((await events(chat())).map((event) => ('text' in event ? event.text : event.type))).toEqual(['a', 'b', 'end']);
  });

  test('S058: events split and joined anywhere, CRLF between chunks, no space after the colon, and no last blank line', async () => {
    server.answers = [
      {
        steps: [
          'event: message\r',
          '\ndata:{"choices":[{"delta":{"content":"a"}}]}\r\n\r',
          '\ndata: {"choices":[{"delta":\r\ndata: {"content":"b"}}]}\n\ndata: [DO',
          'NE]',
        ],
      },
    ];
    expect((await events(chat())).map((event) => ('text' in event ? event.text : event.type))).toEqual(['a', 'b', 'end']);
  });

  test('S059: comments, blank events, pings and unknown events are passed over', async () => {
    server.answers = [
      {
        steps: [
          ': keep-alive\n\n',
          ': PROCESSING\n\n',
          delta({ content: 'x' }),
          'data:\n\n',
          'event: ping\ndata: {"type":"ping"}\n\n',
          'event: future_event\ndata: {"type":"future_event"}\n\n',
          'data: 7\n\n',
          done,
        ],
      },
    ];
    expect((await events(chat())).map((event) => ('text' in event ? event.text : event.type))).toEqual(['x', 'end']);
  });

  test('data that is no JSON is MODEL_PROTOCOL and is neither quoted nor printed', async () => {
    const prints = [vi.spyOn(console, 'error'), vi.spyOn(console, 'warn'), vi.spyOn(console, 'log')];
    server.answers = [{ steps: ['data: {"choices": SECRET\n\n'] }];
    const { error } = await failing(chat());
    expect(error.code).toBe('MODEL_PROTOCOL');
    expect(JSON.stringify([error.message, error.details, error.cause])).not.toContain('SECRET');
    for (const print of prints) expect(print).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  test('S060: a line without end is given up at the limit, and the connection is cut', async () => {
    const chunk = 'A'.repeat(64 * 1024);
    server.answers = [{ steps: ['data: ', ...Array.from({ length: 2_000 }, () => chunk)] }];
    const { error } = await failing(chat({ maxEventChars: 1024 * 1024 }));
    expect(error).toMatchObject({ code: 'MODEL_PROTOCOL', isRetryable: false });
    await expect.poll(() => server.closedEarly).toBe(1);
  });

  test('S058: every way to cut the bytes gives the same events', { timeout: 60_000 }, async () => {
    const text = [
      ': hello\r\n\r\n',
      delta({ content: 'né 😀 ' }),
      delta({ reasoning_content: '思' }).replaceAll('\n', '\r\n'),
      calls({ index: 0, id: 'a', function: { name: 'w', arguments: '{"city":"Zü' } }),
      calls({ index: 0, function: { arguments: 'rich 😀"}' } }).replaceAll('\n', '\r'),
      calls({ index: 0, id: 'b', function: { name: 'w', arguments: '{}' } }),
      finish('tool_calls'),
      usage(3, 4),
      done,
    ].join('');
    const bytes = new TextEncoder().encode(text);
    const read = (chunks: readonly Uint8Array[]) =>
      events(openai('m', { apiKey: 'k', fetch: chunked(chunks) }), { ...baseRequest, tools: [weather] });
    const whole = await read([bytes]);
    expect(whole.map((event) => event.type)).toEqual([
      'text.delta',
      'reasoning.delta',
      'tool.delta',
      'tool.delta',
      'tool.delta',
      'tool.call',
      'tool.call',
      'end',
    ]);
    expect(await read(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(whole);
    for (let cut = 1; cut < bytes.length; cut += 1) expect(await read([bytes.slice(0, cut), bytes.slice(cut)])).toEqual(whole);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat({ max: bytes.length }), { maxLength: 40 }), async (cuts) => {
        const edges = [0, ...cuts.sort((left, right) => left - right), bytes.length];
        expect(await read(edges.slice(1).map((edge, index) => bytes.slice(edges[index], edge)))).toEqual(whole);
      }),
      { numRuns: 60 },
    );
  });

  test('every prefix of a stream fails, or ends as the whole does once its finish reason is in', async () => {
    const bytes = new TextEncoder().encode(
      [delta({ content: 'a' }), calls({ index: 0, id: 'c', function: { name: 'w', arguments: '{}' } }), finish('tool_calls'), done].join(
        '',
      ),
    );
    const ended = new TextDecoder().decode(bytes).indexOf('"tool_calls"}') + 0;
    for (let length = 0; length <= bytes.length; length += 3) {
      const model = openai('m', { apiKey: 'k', fetch: chunked([bytes.slice(0, length)]) });
      const outcome = await events(model).then(
        (list) => list.map((event) => event.type).join(' '),
        (error: unknown) => (GuardloopError.is(error) ? error.code : 'another error'),
      );
      expect(['MODEL_PROTOCOL', 'text.delta tool.delta tool.call end']).toContain(outcome);
      if (length < ended) expect(outcome).toBe('MODEL_PROTOCOL');
    }
  });
});

describe('failures', () => {
  test('a 429 tells when to come back, and nothing of the body but its code', async () => {
    server.answers = [
      {
        status: 429,
        headers: { 'content-type': 'application/json', 'retry-after': '7' },
        steps: [JSON.stringify({ error: { code: 'rate_limit_exceeded', message: 'hi SECRET' } })],
      },
    ];
    const { error } = await failing(chat());
    expect(error).toMatchObject({
      code: 'MODEL_FAILED',
      isRetryable: true,
      details: {
        provider: 'openai.chat',
        model: 'gpt-5',
        status: 429,
        type: 'rate_limit_exceeded',
        requestId: 'req_1',
        retryAfterMs: 7_000,
        attempts: 1,
      },
    });
    expect(JSON.stringify([error.message, error.details, error.cause])).not.toContain('SECRET');
  });

  test.each([
    [{ 'retry-after-ms': '250' }, 250],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
  ])('S160: the wait that %o asks for is on the error', async (headers, expected) => {
    server.answers = [{ status: 429, headers, steps: ['{}'] }];
    expect((await failing(chat())).error.details.retryAfterMs).toBe(expected);
  });

  test.each([
    [400, {}, false],
    [401, {}, false],
    [404, {}, false],
    [408, {}, true],
    [500, {}, true],
    [503, {}, true],
    [503, { 'x-should-retry': 'false' }, false],
  ])('status %i with %o is retryable: %s', async (status, headers, isRetryable) => {
    server.answers = [{ status, headers, steps: ['{}'] }];
    expect((await failing(chat())).error).toMatchObject({ isRetryable, details: { status } });
  });

  test('a used up quota is not retryable', async () => {
    server.answers = [{ status: 429, steps: [JSON.stringify({ error: { code: 'insufficient_quota' } })] }];
    expect((await failing(chat())).error.isRetryable).toBe(false);
  });

  test('the SDK retries, each retry is told, and all attempts are counted', async () => {
    const down: Answer = { status: 503, headers: { 'retry-after-ms': '20' }, steps: [] };
    server.answers = [down, down, said('up')];
    const list = await events(chat({ maxRetries: 2 }));
    expect(list.map((event) => event.type)).toEqual(['retry', 'retry', 'text.delta', 'end']);
    expect(list[0]).toMatchObject({ attempt: 1 });
    expect(list[0]?.type === 'retry' && list[0].waitMs).toBeGreaterThanOrEqual(15);
    expect(list.at(-1)).toMatchObject({ usage: { requests: 3 } });
    expect(server.bodies).toHaveLength(3);
  });

  test('S223: no retries means one attempt', async () => {
    server.answers = [{ status: 500, steps: [] }, said('not asked')];
    expect((await failing(chat({ maxRetries: 0 }))).error.details.attempts).toBe(1);
    expect(server.bodies).toHaveLength(1);
  });

  test('a server that cannot be reached is retryable', async () => {
    server.close();
    expect((await failing(chat())).error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: true });
  });

  test('a server that does not begin to answer is given up after timeoutMs', async () => {
    const silent: typeof fetch = (_input, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')), { once: true });
      });
    expect((await failing(chat({ timeoutMs: 30, fetch: silent }))).error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: true });
  });
});

describe('abort', () => {
  /** A signal that counts its listeners. */
  function counted(): { controller: AbortController; listeners: () => number } {
    const controller = new AbortController();
    let count = 0;
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = ((...rest: Parameters<typeof add>) => {
      count += 1;
      add(...rest);
    }) as typeof add;
    signal.removeEventListener = ((...rest: Parameters<typeof remove>) => {
      count -= 1;
      remove(...rest);
    }) as typeof remove;
    return { controller, listeners: () => count };
  }

  test('an aborted call in the middle of its stream stops at once, cuts the connection and leaves no listener', async () => {
    server.answers = [{ steps: [delta({ content: 'a' }), { waitMs: 60_000 }, finish('stop'), done] }];
    const { controller, listeners } = counted();
    setTimeout(() => controller.abort(), 60);
    const began = Date.now();
    const { seen, error } = await failing(chat(), controller.signal);
    expect(Date.now() - began).toBeLessThan(15_000);
    expect(seen).toEqual([{ type: 'text.delta', text: 'a' }]);
    expect(error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: false, details: { aborted: true } });
    expect(listeners()).toBe(0);
    await expect.poll(() => server.closedEarly).toBe(1);
  });

  test('S158: an abort while the SDK waits to retry ends the call at once, and no request follows', async () => {
    server.answers = [{ status: 429, headers: { 'retry-after-ms': '20000' }, steps: [] }, said('not asked')];
    const { controller, listeners } = counted();
    setTimeout(() => controller.abort(), 60);
    const began = Date.now();
    expect((await failing(chat({ maxRetries: 2 }), controller.signal)).error.details.aborted).toBe(true);
    expect(Date.now() - began).toBeLessThan(15_000);
    expect(listeners()).toBe(0);
    await sleep(400);
    expect(server.bodies).toHaveLength(1);
  });

  test('a signal that is aborted already sends nothing', async () => {
    expect((await failing(chat(), AbortSignal.abort())).error.details.aborted).toBe(true);
    expect(server.bodies).toEqual([]);
  });

  test('a reader that leaves cuts the connection and leaves no listener', async () => {
    server.answers = [{ steps: [delta({ content: 'a' }), { waitMs: 60_000 }] }];
    const { controller, listeners } = counted();
    for await (const _event of chat().stream(baseRequest, { signal: controller.signal })) break;
    expect(listeners()).toBe(0);
    await expect.poll(() => server.closedEarly).toBe(1);
  });

  test('a whole answer leaves no listener, and its connection is used again', async () => {
    const slow = { steps: [delta({ content: 'a' }), finish('stop'), done, { waitMs: 30 }] };
    const { controller, listeners } = counted();
    const model = chat();
    // On a busy machine the server may hang up later than the adapter waits for it: then the connection was closed, and it is tried anew.
    const reuse = async () => {
      server.answers = [slow, said('b')];
      await events(model, baseRequest, controller.signal);
      expect(listeners()).toBe(0);
      await sleep(80);
      const before = server.connections;
      await events(model, baseRequest, controller.signal);
      expect(server.connections).toBe(before);
    };
    await vi.waitFor(reuse, { timeout: 20_000 });
  });

  test('a server that says it is done and does not hang up holds nothing back, and is hung up on', async () => {
    server.answers = [{ steps: [delta({ content: 'a' }), finish('stop'), done, { waitMs: 60_000 }] }];
    const began = Date.now();
    expect((await events(chat())).at(-1)?.type).toBe('end');
    expect(Date.now() - began).toBeLessThan(15_000);
    await expect.poll(() => server.closedEarly).toBe(1);
  });
});

describe('options', () => {
  test.each([
    ['an empty baseURL', { baseURL: '' }],
    ['a relative baseURL', { baseURL: '/v1' }],
    ['a negative maxRetries', { maxRetries: -1 }],
    ['a timeout of 0', { timeoutMs: 0 }],
    ['a price that is no number', { prices: { input: Number.NaN, output: 1 } }],
    ['prices without that of the output', { prices: { input: 1 } } as ChatOptions],
    ['a price that does not exist', { prices: { input: 1, output: 1, cachedRead: 0 } } as ChatOptions],
    ['a default setting that does not exist', { settings: { max_tokens: 5 } } as ChatOptions],
    ['default settings that are null', { settings: null } as never],
    ['options that are null', null as never],
    ['options that are a list', [] as never],
    ['a limit of 0', { maxEventChars: 0 }],
    ['an option that does not exist', { baseUrl: 'http://127.0.0.1:8080/v1' } as ChatOptions],
  ])('S198: %s is CONFIG_INVALID at once', (_name, options) => {
    expect(() => openai('gpt-5', options)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  test('an empty model id, and a client beside what makes one, are CONFIG_INVALID at once', () => {
    expect(() => openai('')).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    const client = new OpenAI({ apiKey: 'k' });
    expect(() => openai('gpt-5', { client, baseURL })).toThrow('baseURL');
  });

  test('a model id that is no text, and a misspelt option, are told what is right', () => {
    expect(() => openai({ model: 'gpt-5' } as never)).toThrow("openai('gpt-5', { …options })");
    expect(() => openai('gpt-5', { baseUrl: 'x' } as ChatOptions)).toThrow(
      /no option baseUrl\. Did you mean baseURL\? The options are .*baseURL/,
    );
  });

  test('a server that is not there is told with the system’s code and what to check', async () => {
    const gone = new ChatServer();
    const address = await gone.open();
    gone.close();
    const { error } = await failing(chat({ baseURL: address }));
    expect([error.code, error.isRetryable, error.cause?.code]).toEqual(['MODEL_FAILED', true, 'ECONNREFUSED']);
    expect(error.message).toContain('baseURL');
  });

  test('no key is needed before the first call, which says what to set', async () => {
    vi.stubEnv('OPENAI_API_KEY', '');
    for (const options of [{}, { apiKey: '' }]) {
      const { error } = await failing(openai('gpt-5', options));
      expect(error.code).toBe('CONFIG_INVALID');
      expect(error.message).toContain('OPENAI_API_KEY');
    }
    vi.unstubAllEnvs();
  });

  test('key and headers are sent', async () => {
    server.answers = [said('x')];
    await events(chat({ headers: { 'x-team': 'billing' } }));
    expect(server.headers[0]).toMatchObject({ authorization: 'Bearer k', 'x-team': 'billing' });
  });

  test.each([
    ['6', OpenAI],
    ['7', OpenAI7 as unknown as typeof OpenAI],
  ])('a client of version %s of the SDK works, with calls, failures and retries', async (_version, Client) => {
    const client = new Client({ apiKey: 'k', baseURL, maxRetries: 1 });
    server.answers = [
      { status: 500, headers: { 'retry-after-ms': '1' }, steps: [] },
      {
        steps: [
          delta({ content: 'a' }),
          calls({ index: 0, id: 'c', function: { name: 'w', arguments: '{"city":"P"}' } }),
          finish('tool_calls'),
          usage(1, 2),
          done,
        ],
      },
      {
        status: 404,
        headers: { 'content-type': 'application/json' },
        steps: [JSON.stringify({ error: { code: 'model_not_found', message: 'x' } })],
      },
      { steps: [delta({ content: 'a' }), 'cut'] },
    ];
    const model = openai('gpt-5', { client });
    const answer = await collect(model.stream({ ...baseRequest, tools: [weather] }, { signal: new AbortController().signal }));
    expect(answer).toMatchObject({
      text: 'a',
      calls: [{ providerId: 'c', name: 'w', input: { city: 'P' } }],
      end: { stopReason: 'tools', usage: { requests: 1, inputTokens: 1, outputTokens: 2 } },
    });
    expect((await failing(model)).error).toMatchObject({
      code: 'MODEL_FAILED',
      isRetryable: false,
      details: { status: 404, type: 'model_not_found', requestId: 'req_1' },
    });
    expect((await failing(model)).error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: false, details: { delivered: true } });
  });
});
