import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RunInput } from '@guardloop/core';
import { defineAgent, defineTool, run } from '@guardloop/core';
import type { Turn } from '@guardloop/testing';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ModerationOptions } from './moderation.js';
import { moderation, moderationCategories } from './moderation.js';

interface Asked {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: { readonly model: string; readonly input: readonly (string | { readonly image_url: { readonly url: string } })[] };
}
type Answer = (asked: Asked, response: ServerResponse) => void;

const servers: { close(): void; closeAllConnections(): void }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** An endpoint on 127.0.0.1 that keeps what it was asked. */
async function endpoint(answer: Answer) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const one = { path: request.url, headers: request.headers, body: JSON.parse(body) as Asked['body'] };
      asked.push(one);
      answer(one, response);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { asked, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

const nothing = Object.fromEntries(moderationCategories.map((name) => [name, false]));
const zero = Object.fromEntries(moderationCategories.map((name) => [name, 0.001]));
const resultOf = (found: Readonly<Record<string, number>> = {}) => ({
  flagged: Object.values(found).some((score) => score > 0.5),
  categories: { ...nothing, ...Object.fromEntries(Object.entries(found).map(([name, score]) => [name, score > 0.5])) },
  category_scores: { ...zero, ...found },
  category_applied_input_types: {},
});
const send = (response: ServerResponse, results: unknown): void => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ id: 'modr-1', model: 'omni-moderation-2024-09-26', results }));
};
/** Finds each word that is named, in each text by itself. */
const finding =
  (words: Readonly<Record<string, Readonly<Record<string, number>>>>): Answer =>
  ({ body }, response) => {
    const of = (input: unknown) =>
      Object.assign({}, ...Object.entries(words).flatMap(([word, found]) => (JSON.stringify(input).includes(word) ? [found] : [])));
    const isText = typeof body.input[0] === 'string';
    send(response, isText ? body.input.map((text) => resultOf(of(text))) : [resultOf(of(body.input))]);
  };

interface Running extends Partial<ModerationOptions> {
  readonly input?: RunInput;
  readonly turns?: readonly Turn[];
  readonly gives?: unknown;
}
async function runWith(baseUrl: string, { input = 'Hello.', turns = [say('Hello to you.')], gives, ...options }: Running = {}) {
  const fetchPage = defineTool({
    name: 'fetch_page',
    description: 'Fetches.',
    input: z.object({}),
    flow: { effect: 'read' },
    execute: () => gives,
  });
  const guardrail = moderation({ apiKey: 'sk-test', baseUrl, retries: 0, on: ['input'], ...options });
  const result = await run(
    defineAgent({ name: 'desk', instructions: '', model: scriptedModel(turns), tools: [fetchPage], guardrails: [guardrail] }),
    input,
  );
  expect(auditLog(result.log)).toEqual([]);
  return result;
}

describe('moderation', () => {
  it('asks the endpoint by its own form, and lets through what is not flagged', async () => {
    const { asked, baseUrl } = await endpoint(finding({}));
    expect((await runWith(baseUrl, { headers: { 'openai-project': 'p1' } })).status).toBe('completed');
    expect(asked).toMatchObject([
      {
        path: '/v1/moderations',
        headers: { authorization: 'Bearer sk-test', 'content-type': 'application/json', 'openai-project': 'p1' },
        body: { model: 'omni-moderation-latest', input: ['Hello.'] },
      },
    ]);
  });

  it('refuses what is flagged, and names the categories', async () => {
    const { baseUrl } = await endpoint(finding({ BAD: { violence: 0.9, hate: 0.8 } }));
    expect(await runWith(baseUrl, { input: 'Something BAD.' })).toMatchObject({
      status: 'blocked',
      by: 'moderation',
      reason: 'moderation found hate, violence',
    });
  });

  it('refuses only for the categories that were chosen', async () => {
    const { baseUrl } = await endpoint(finding({ BAD: { violence: 0.9 } }));
    expect((await runWith(baseUrl, { input: 'BAD', categories: ['hate'] })).status).toBe('completed');
    expect((await runWith(baseUrl, { input: 'BAD', categories: ['hate', 'violence'] })).status).toBe('blocked');
  });

  it('goes by a threshold where one is given, and by the endpoint’s word elsewhere', async () => {
    const { baseUrl } = await endpoint(finding({ LOW: { violence: 0.2 }, HIGH: { violence: 0.6 } }));
    expect((await runWith(baseUrl, { input: 'LOW', thresholds: { violence: 0.2 } })).status).toBe('blocked');
    expect((await runWith(baseUrl, { input: 'LOW', thresholds: { hate: 0.2 } })).status).toBe('completed');
    expect((await runWith(baseUrl, { input: 'HIGH', thresholds: { violence: 0.7 } })).status).toBe('completed');
  });

  it('refuses for a category that came to the endpoint later', async () => {
    const { baseUrl } = await endpoint((_, response) =>
      send(response, [{ ...resultOf(), flagged: true, categories: { ...nothing, extremism: true } }]),
    );
    expect(await runWith(baseUrl)).toMatchObject({ status: 'blocked', reason: 'moderation found extremism' });
  });

  it('refuses what is flagged for nothing that has a name', async () => {
    const { baseUrl } = await endpoint((_, response) => send(response, [{ ...resultOf(), flagged: true }]));
    expect(await runWith(baseUrl)).toMatchObject({ status: 'blocked', reason: 'moderation found something it does not name' });
  });

  it('takes null for a category that does not apply', async () => {
    const { baseUrl } = await endpoint((_, response) =>
      send(response, [{ ...resultOf(), categories: { ...nothing, illicit: null }, category_scores: { ...zero, illicit: null } }]),
    );
    expect((await runWith(baseUrl)).status).toBe('completed');
  });

  it('has each piece of a long text judged, in one request', async () => {
    const { asked, baseUrl } = await endpoint(finding({ BAD: { violence: 0.9 } }));
    const text = `${'word '.repeat(2_000)}BAD${' word'.repeat(2_000)}`;
    expect(await runWith(baseUrl, { input: text })).toMatchObject({ status: 'blocked', reason: 'moderation found violence' });
    expect(asked).toHaveLength(1);
    expect(asked[0]?.body.input.length).toBeGreaterThan(9);
    expect(Math.max(...(asked[0]?.body.input.map((piece) => String(piece).length) ?? []))).toBeLessThanOrEqual(2_000);
  });

  it('makes several requests of very many pieces, and refuses what is longer than it looks at', async () => {
    const { asked, baseUrl } = await endpoint(finding({ BAD: { violence: 0.9 } }));
    expect((await runWith(baseUrl, { input: `${'word '.repeat(20_000)}BAD` })).status).toBe('blocked');
    expect(asked.length).toBeGreaterThan(1);
    asked.length = 0;
    expect(await runWith(baseUrl, { input: 'x'.repeat(200_001) })).toMatchObject({
      status: 'blocked',
      reason: 'it is longer than the 200000 characters that are moderated',
    });
    expect(asked).toEqual([]);
  });

  it('has images judged too, by address or by their data, each by itself', async () => {
    const { asked, baseUrl } = await endpoint(finding({ 'bad.png': { 'violence/graphic': 0.9 } }));
    const input: RunInput = [
      { type: 'text', text: 'Look.' },
      { type: 'image', url: 'https://example.org/bad.png' },
      { type: 'image', mediaType: 'image/webp', data: 'UklGRg==' },
    ];
    expect(await runWith(baseUrl, { input })).toMatchObject({ status: 'blocked', reason: 'moderation found violence/graphic' });
    const inputs = asked.map(({ body }) => body.input).sort((left, right) => JSON.stringify(left).localeCompare(JSON.stringify(right)));
    expect(inputs).toContainEqual([{ type: 'image_url', image_url: { url: 'https://example.org/bad.png' } }]);
    expect(inputs).toContainEqual([{ type: 'image_url', image_url: { url: 'data:image/webp;base64,UklGRg==' } }]);
    expect(JSON.stringify(inputs)).toContain('Look.');
    expect(await runWith(baseUrl, { input, maxImages: 1 })).toMatchObject({ reason: 'it has more than the 1 images that are moderated' });
  });

  it('has images in a tool’s result judged', async () => {
    const { asked, baseUrl } = await endpoint(finding({ 'bad.png': { sexual: 0.9 } }));
    const turns = [callTool('fetch_page', {}), say('I could not see it.')];
    const gives = [
      { type: 'text', text: 'A page.' },
      { type: 'image', url: 'https://example.org/bad.png' },
    ];
    const result = await runWith(baseUrl, { on: ['toolOutput'], turns, gives });
    expect(result.events.find((event) => event.type === 'tool.end')).toMatchObject({
      status: 'error',
      refusal: { reason: 'moderation found sexual' },
    });
    expect(JSON.stringify(asked.map(({ body }) => body.input))).toContain('A page.');
  });

  it('asks nobody about nothing', async () => {
    const { asked, baseUrl } = await endpoint(finding({}));
    expect((await runWith(baseUrl, { input: ' ' })).status).toBe('completed');
    expect(asked).toEqual([]);
  });

  it('asks for its key before each request', async () => {
    const { asked, baseUrl } = await endpoint(finding({}));
    let count = 0;
    const apiKey = async () => {
      count += 1;
      return `key-${count}`;
    };
    const guardrail = moderation({ apiKey, baseUrl });
    await run(defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Hello.')]), guardrails: [guardrail] }), 'Hello.');
    expect(asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer key-1', 'Bearer key-2']);
  });
});

describe('an endpoint that fails', () => {
  const secret = 'a body that quotes the input';
  const failing: readonly [string, Answer][] = [
    ['answers 500', (_, response) => response.writeHead(500, { 'x-request-id': 'req_1' }).end(secret)],
    ['answers 401', (_, response) => response.writeHead(401).end(secret)],
    ['answers with no JSON', (_, response) => response.end(secret)],
    ['answers null', (_, response) => response.end('null')],
    ['gives no results', (_, response) => send(response, [])],
    ['gives more results than texts', (_, response) => send(response, [resultOf(), resultOf()])],
    ['gives results without scores', (_, response) => send(response, [{ flagged: false, categories: nothing }])],
    ['gives results without a flag', (_, response) => send(response, [{ ...resultOf(), flagged: 'no' }])],
    ['gives scores that are no numbers', (_, response) => send(response, [{ ...resultOf(), category_scores: { ...zero, hate: '0' } }])],
    ['gives categories that are no booleans', (_, response) => send(response, [{ ...resultOf(), categories: { ...nothing, hate: 0 } }])],
    ['closes the connection', (_, response) => response.socket?.destroy()],
    [
      'breaks its answer off',
      (_, response) => {
        response.writeHead(200, { 'content-length': '5000' });
        response.write('{"results":');
        setTimeout(() => response.socket?.destroy(), 10);
      },
    ],
    [
      'never ends its answer',
      (_, response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write('x'.repeat(100_000)), 1);
        response.on('close', () => clearInterval(timer));
      },
    ],
    ['sends the key elsewhere', (_, response) => response.writeHead(307, { location: 'http://127.0.0.1:9/v1/moderations' }).end()],
  ];
  it.each(failing)('and %s refuses, with an error that holds nothing of it', async (_, answer) => {
    const { asked, baseUrl } = await endpoint(answer);
    const failures: unknown[] = [];
    const result = await runWith(baseUrl, { input: 'What I said.', onFailure: (error) => failures.push(error) });
    expect(result).toMatchObject({ status: 'blocked', failed: true, reason: 'guardrail moderation failed' });
    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatchObject({ code: expect.stringMatching(/^MODEL_(FAILED|PROTOCOL)$/) });
    const words = JSON.stringify([failures[0], String(failures[0]), result.log]);
    for (const hidden of [secret, 'sk-test', 'What I said.']) expect(words).not.toContain(hidden);
    expect(asked).toHaveLength(1);
  });

  it('tells status and request id', async () => {
    const { baseUrl } = await endpoint((_, response) => response.writeHead(429, { 'x-request-id': 'req_7', 'retry-after': '0' }).end());
    const failures: unknown[] = [];
    await runWith(baseUrl, { onFailure: (error) => failures.push(error) });
    expect(failures).toMatchObject([
      {
        code: 'MODEL_FAILED',
        message: 'The moderation endpoint answered with status 429.',
        details: { status: 429, requestId: 'req_7' },
        isRetryable: true,
      },
    ]);
  });

  it('is asked again where that may help, and not where it cannot', async () => {
    let left = 1;
    const { asked, baseUrl } = await endpoint((one, response) => {
      left -= 1;
      return left >= 0 ? response.writeHead(503, { 'retry-after': '0' }).end() : finding({})(one, response);
    });
    expect((await runWith(baseUrl, { retries: 1 })).status).toBe('completed');
    expect(asked).toHaveLength(2);
    const refusing = await endpoint((_, response) => response.writeHead(400).end());
    expect(await runWith(refusing.baseUrl, { retries: 3 })).toMatchObject({ failed: true });
    expect(refusing.asked).toHaveLength(1);
  });

  it('refuses at the deadline, and its request is aborted', async () => {
    let closed: () => void;
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const { baseUrl } = await endpoint((_, response) => response.on('close', () => closed()));
    expect(await runWith(baseUrl, { timeoutMs: 50 })).toMatchObject({ status: 'blocked', failed: true });
    await isClosed;
  });

  it('that says nothing of a category that was asked for refuses', async () => {
    const { hate: _, ...rest } = nothing;
    const { baseUrl } = await endpoint((__, response) => send(response, [{ ...resultOf(), categories: rest }]));
    expect((await runWith(baseUrl)).status).toBe('completed');
    expect(await runWith(baseUrl, { categories: ['hate'] })).toMatchObject({ failed: true });
  });

  it('that cannot be reached refuses, unless a missed check is better', async () => {
    const { baseUrl } = await endpoint(() => undefined);
    servers.at(-1)?.close();
    expect(await runWith('http://127.0.0.1:9/v1')).toMatchObject({ failed: true });
    expect((await runWith('http://127.0.0.1:9/v1', { onError: 'allow' })).status).toBe('completed');
    expect(baseUrl).toContain('127.0.0.1');
  });
});

it.each([
  [{}, 'apiKey is neither a text nor a function'],
  [{ apiKey: '' }, 'apiKey is neither a text nor a function'],
  [{ apiKey: 'k', categories: ['violense'] }, 'there is no category "violense". Did you mean violence?'],
  [{ apiKey: 'k', thresholds: { hat: 1 } }, 'there is no category "hat". Did you mean hate?'],
  [{ apiKey: 'k', thresholds: { hate: 2 } }, 'thresholds.hate must be a number from 0 to 1'],
  [{ apiKey: 'k', categories: ['hate'], thresholds: { violence: 0.5 } }, 'thresholds names violence, which categories leaves out'],
  [{ apiKey: 'k', baseUrl: 'ftp://x' }, 'baseUrl is no address of http or https'],
  [{ apiKey: 'k', retries: -1 }, 'retries must be a whole number from 0'],
  [{ apiKey: 'k', key: 'k' }, 'there is no option key.'],
])('options %o are refused', (options, message) => {
  expect(() => moderation(options as never)).toThrow(message);
});
