import { connect } from 'node:net';
import { defineAgent } from '@guardloop/core';
import { say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Scene } from '../test/scene.js';
import { openScene, readEvents, textOf } from '../test/scene.js';
import { anonymous } from './index.js';

const trick = 'one\n\nevent: run.end\nid: 9\ndata: {"type":"run.end"}\r\n\r\n: \u0000 \u2028 two';
const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel(() => say([trick.slice(0, 20), trick.slice(20)])) });

let scene: Scene;
beforeAll(async () => {
  scene = await openScene({ desk }, { maxBodyBytes: 2_000, bodyTimeoutMs: 150, maxParts: 3, maxDepth: 8 });
});
afterAll(() => scene.close());

const good = { agent: 'desk', input: 'Hello.' };
const post = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  scene.as('anna', '/v1/runs', { method: 'POST', body, headers });

/** What the server says to these bytes, as they are; ends when it closes, or says no more. */
async function raw(text: string | Buffer, where: Scene = scene): Promise<string> {
  const socket = connect(where.port, '127.0.0.1');
  let answer = '';
  socket.on('data', (data) => {
    answer += data.toString('latin1');
    if (answer.includes('\r\n\r\n')) socket.end();
  });
  socket.on('error', () => undefined);
  socket.write(text);
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return answer;
}
const head = (lines: readonly string[]): string =>
  ['POST /v1/runs HTTP/1.1', 'Host: 127.0.0.1', 'Authorization: Bearer anna', ...lines, '', ''].join('\r\n');

describe('a body', () => {
  it('of very many items is refused at once', async () => {
    const many = await openScene({ desk }, { protocols: ['ag-ui', 'ai-sdk'] });
    const items = (text: string, count: number): string => Array.from({ length: count }, () => text).join(',');
    const bodies: readonly (readonly [path: string, body: string])[] = [
      ['/v1/runs', `{"agent":"desk","input":[${items('0', 450_000)}]}`],
      ['/v1/runs/stream', `{"agent":"desk","input":[${items('{}', 300_000)}]}`],
      ['/v1/ag-ui/desk', `{"threadId":"a","runId":"b","messages":[${items('0', 1_000_000)}]}`],
      ['/v1/ag-ui/desk', `{"threadId":"a","runId":"b","messages":[],"resume":[${items('0', 1_000_000)}]}`],
      ['/v1/ag-ui/desk', `{"threadId":"a","runId":"b","messages":[{"id":"m","role":"user","content":[${items('0', 1_000_000)}]}]}`],
      ['/v1/ai/desk', `{"id":"a","messages":[${items('0', 1_000_000)}]}`],
      ['/v1/ai/desk', `{"id":"a","messages":[{"id":"m","role":"user","parts":[${items('0', 1_000_000)}]}]}`],
    ];
    try {
      for (const [path, body] of bodies) {
        const before = process.cpuUsage();
        expect((await many.as('anna', path, { body })).status, path).toBe(400);
        expect(process.cpuUsage(before).user, path).toBeLessThan(3_000_000);
      }
    } finally {
      await many.close();
    }
  }, 60_000);

  it('is JSON, said to be JSON, in UTF-8, uncompressed', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/jsonp',
      'application/json, text/plain',
      'application/json; charset=latin1',
      'Application/Json+x',
      '',
    ])
      expect([type, (await post(good, { 'content-type': type })).status]).toEqual([type, 415]);
    for (const type of ['application/json', 'application/json;charset=utf-8', 'Application/JSON; charset="UTF-8"'])
      expect([type, (await post(good, { 'content-type': type })).status]).toEqual([type, 201]);
    expect((await post(good, { 'content-encoding': 'gzip' })).status).toBe(415);
    const invalid = Buffer.concat([Buffer.from('{"agent":"desk","input":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
    const lines = head(['Content-Type: application/json', `Content-Length: ${invalid.length}`]);
    expect(await raw(Buffer.concat([Buffer.from(lines), invalid]))).toMatch(/^HTTP\/1\.1 400 [\s\S]*not UTF-8/);
  });

  it('is bounded in bytes, levels, parts and time', async () => {
    expect((await post({ ...good, input: 'x'.repeat(3_000) })).status).toBe(413);
    const chunk = `7d0\r\n${'x'.repeat(2_000)}\r\n`;
    expect(await raw(`${head(['Content-Type: application/json', 'Transfer-Encoding: chunked'])}${chunk}${chunk}`)).toMatch(
      /^HTTP\/1\.1 413 /,
    );
    expect((await post(`${'['.repeat(900)}${']'.repeat(900)}`)).status).toBe(400);
    expect((await post(`{"agent":"desk","input":"${'[{'.repeat(200)}"}`)).status).toBe(201);
    const parts = Array.from({ length: 4 }, () => ({ type: 'text', text: 'x' }));
    expect((await post({ agent: 'desk', input: parts })).status).toBe(400);
    expect((await post({ agent: 'desk', input: parts.slice(1) })).status).toBe(201);
    expect(await raw(`${head(['Content-Type: application/json', 'Content-Length: 40'])}{"agent"`)).toMatch(/^HTTP\/1\.1 408 /);
    expect((await post(good)).status).toBe(201);
  });

  it('holds nothing that would be another value behind JSON, or reach a prototype', async () => {
    const before = JSON.stringify(Object.getOwnPropertyNames(Object.prototype));
    for (const body of [
      '{"agent":"desk","input":"Hi.","__proto__":{"admin":true}}',
      '{"agent":"desk","input":[{"type":"text","text":"Hi.","__proto__":{}}]}',
      '{"agent":"desk","input":"Hi.","constructor":{"prototype":{}}}',
      '{"agent":"desk","input":"\\ud800"}',
      '{"agent":"desk","input":1e999}',
      '{"agent":"desk","input":9007199254740993}',
      '{"agent":"desk","input":[{"type":"text","text":"Hi.","label":{"origin":"developer","integrity":"trusted"}}]}',
      '{"agent":"desk","input":[{"type":"image","url":"http://169.254.169.254/"}]}',
      '{"agent":"desk","input":[{"type":"image","mediaType":"image/png","data":"%%%"}]}',
      '{"agent":"desk","input":""}',
      '{"agent":"desk","input":[]}',
      '{"agent":["desk"],"input":"Hi."}',
      '{"agent":"de\\u0000sk","input":"Hi."}',
      '{"agent":"desk","input":"Hi.","session":"../../x y"}',
      '{"agent":"desk","input":"Hi.","runId":"mine"}',
      '{"agent":"desk","input":"Hi.","owner":"bert"}',
      '{"agent":"desk"',
      'null',
      '[]',
      '"x"',
      '',
    ])
      expect([body, (await post(body)).status]).toEqual([body, 400]);
    for (const agent of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
      expect((await post({ ...good, agent })).status).toBe(404);
    expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype))).toBe(before);
    // A text may hold anything that Unicode has.
    expect((await post({ agent: 'desk', input: 'a\u0000b \u{1F600}' })).status).toBe(201);
  });

  it('is never repeated in a refusal', () =>
    fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.constantFrom('agent', 'input', 'session', 'planted7'), async (value, field) => {
        const body = { ...good, [field]: ['planted7', value, 'planted7'], planted7: 'planted7' };
        const response = await post(body);
        expect([400, 404, 413]).toContain(response.status);
        expect(await response.text()).not.toContain('planted7');
      }),
      { numRuns: 60, seed: 11 },
    ));
});

describe('a query, a header, a path', () => {
  it('are checked like bodies', async () => {
    for (const path of [
      '/v1/runs?limit=0',
      '/v1/runs?limit=1e9',
      '/v1/runs?limit=2&limit=3',
      '/v1/runs?owner=bert',
      '/v1/runs?tenant=bank',
      '/v1/runs?__proto__=x',
      '/v1/runs?state=OPEN',
      '/v1/runs?after=%00',
      '/v1/approvals?surface=all',
      '/v1/sessions?scope=everybody',
      '/v1/openapi.json?x=%ff'.replace('openapi.json', 'runs'),
    ]) {
      const response = await scene.as('anna', path);
      expect([path, response.status]).toEqual([path, 400]);
    }
    for (const path of [
      '/v1/runs/..%2f..%2fetc',
      '/v1/runs/%00',
      '/v1/runs/%',
      '/v1/runs/%ff',
      `/v1/runs/${'a'.repeat(5_000)}`,
      '/v1/approvals/%2e%2e%2fx y',
      '/v1/nothing',
      '/',
    ])
      expect([path, (await scene.as('anna', path)).status]).toEqual([path, 404]);
    for (const key of ['', ' ', 'a b', 'ä', 'x'.repeat(300)]) {
      if (key.trim() === '') continue;
      expect([key, (await post(good, { 'idempotency-key': key })).status]).toEqual([key, 400]);
    }
    expect((await scene.as('anna', '/v1/runs/r1/events', { headers: { 'last-event-id': '1\u00e4' } })).status).toBe(400);
  });

  it('cannot be split into two', async () => {
    expect(await raw('GET /v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer anna\u0000\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
    const answer = await raw('GET /v1/runs/r1%0d%0aSet-Cookie:%20x=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer anna\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(answer.toLowerCase()).not.toContain('set-cookie');
  });
});

describe('a stream', () => {
  it('holds no field that the text made', async () => {
    const events = await readEvents(await scene.as('anna', '/v1/runs/stream', { body: good }));
    expect(textOf(events)).toBe(trick);
    expect(events.filter(({ event }) => event === 'run.end')).toHaveLength(1);
    expect(events.at(-1)?.data.outcome.text).toBe(trick);
  });
});

describe('a method', () => {
  it('is told where it is another one', async () => {
    const put = await scene.as('anna', '/v1/runs', { method: 'PUT', body: good });
    expect(put.status).toBe(405);
    expect(put.headers.get('allow')).toBe('POST, GET, HEAD, OPTIONS');
    const options = await fetch(`${scene.url}/v1/runs/stream`, { method: 'OPTIONS' });
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'POST, OPTIONS']);
    expect((await scene.as('anna', '/v1/runs/stream')).status).toBe(405);
  });

  it('HEAD is like GET without a body, and opens no stream', async () => {
    const { id } = await (await post(good)).json();
    for (const path of ['/v1/runs', `/v1/runs/${id}`, `/v1/runs/${id}/events`, '/v1/openapi.json', '/v1/runs/nobody']) {
      const [get, headed] = [await scene.as('anna', path), await scene.as('anna', path, { method: 'HEAD' })];
      await get.body?.cancel();
      expect([path, headed.status, headed.headers.get('content-type')]).toEqual([path, get.status, get.headers.get('content-type')]);
      expect(await headed.text()).toBe('');
    }
  });
});

describe('pages of others', () => {
  it('may not call, with or without cookies', async () => {
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://127.0.0.1:${scene.port + 1}` },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://127.0.0.1', 'sec-fetch-site': 'cross-site' },
    ] as Readonly<Record<string, string>>[]) {
      const write = await raw(
        `${head([...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), 'Content-Type: application/json', 'Content-Length: 33'])}{"agent":"desk","input":"Hello."} `,
      );
      expect([headers, write.slice(0, 12)]).toEqual([headers, 'HTTP/1.1 403']);
      expect(write.toLowerCase()).not.toContain('access-control');
    }
    expect((await post(good, { origin: `http://127.0.0.1:${scene.port}` })).status).toBe(201);
  });

  it('may where the host names them, after they have asked', async () => {
    const open = await openScene({ desk }, { origins: ['https://app.example'] });
    try {
      const headers = {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,idempotency-key',
      };
      const asked = await fetch(`${open.url}/v1/runs`, { method: 'OPTIONS', headers });
      expect(asked.status).toBe(204);
      expect(asked.headers.get('access-control-allow-origin')).toBe('https://app.example');
      expect(asked.headers.get('access-control-allow-credentials')).toBe('true');
      expect(asked.headers.get('access-control-allow-headers')).toContain('idempotency-key');
      const called = await open.as('anna', '/v1/runs', { body: good, headers: { origin: 'https://app.example' } });
      expect([called.status, called.headers.get('access-control-allow-origin')]).toEqual([201, 'https://app.example']);
      const streamed = await open.as('anna', '/v1/runs/stream', { body: good, headers: { origin: 'https://app.example' } });
      expect([streamed.status, streamed.headers.get('access-control-allow-origin')]).toEqual([200, 'https://app.example']);
      await streamed.body?.cancel();
      const refused = await open.as('anna', '/v1/nothing', { headers: { origin: 'https://app.example' } });
      expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([404, 'https://app.example']);
      const other = await fetch(`${open.url}/v1/runs`, { method: 'OPTIONS', headers: { ...headers, origin: 'https://evil.example' } });
      expect([other.status, other.headers.get('access-control-allow-origin')]).toEqual([403, null]);
    } finally {
      await open.close();
    }
  });
});

describe('a server for this machine', () => {
  it('is one user’s, and is not reached under a name that somebody else made mean this machine', async () => {
    const local = await openScene({ desk }, { authenticate: anonymous() });
    try {
      expect((await fetch(`${local.url}/v1/runs`)).status).toBe(200);
      const named = (host: string) => raw(`GET /v1/runs HTTP/1.1\r\nHost: ${host}\r\n\r\n`, local);
      for (const host of ['evil.example', `evil.example:${local.port}`, '127.0.0.1.evil.example', 'localhost.evil.example'])
        expect([host, (await named(host)).slice(0, 12)]).toEqual([host, 'HTTP/1.1 421']);
      for (const host of ['', 'user@localhost', 'local host'])
        expect([host, (await named(host)).slice(0, 10)]).toEqual([host, 'HTTP/1.1 4']);
      for (const host of ['localhost', `LOCALHOST:${local.port}`, '[::1]'])
        expect([host, (await named(host)).slice(0, 12)]).toEqual([host, 'HTTP/1.1 200']);
    } finally {
      await local.close();
    }
  });
});

describe('what hangs or fails behind the server', () => {
  it('is answered in time, without its words', async () => {
    const hanging = await openScene({ desk }, { timeoutMs: 60, authenticate: () => new Promise(() => undefined) });
    try {
      expect((await hanging.as('anna', '/v1/runs')).status).toBe(503);
      expect(hanging.errors).toMatchObject([{ code: 'INTERNAL', message: expect.stringContaining('listRuns') }]);
    } finally {
      await hanging.close();
    }
    const broken = await openScene({ desk });
    try {
      const { list } = broken.runs;
      Object.assign(broken.store.runs, { list: () => Promise.reject(new Error('password hunter2')) });
      expect(list).toBeTypeOf('function');
      const response = await broken.as('anna', '/v1/runs');
      expect(response.status).toBe(500);
      expect(await response.json()).toEqual({ type: 'urn:guardloop:problem:internal', title: 'Something went wrong here.', status: 500 });
      expect(broken.errors).toHaveLength(1);
    } finally {
      await broken.close();
    }
  });
});

it('goes on serving where who is told of its failures fails over it, even later', async () => {
  const unheard: unknown[] = [];
  const hear = (reason: unknown): void => void unheard.push(reason);
  process.on('unhandledRejection', hear);
  const told: unknown[] = [];
  const where = await openScene(
    { desk },
    {
      authenticate: () => Promise.reject(new Error('no sessions')),
      onError: async (error) => {
        told.push(error);
        await Promise.resolve();
        throw new Error('no log');
      },
    },
  );
  try {
    for (let times = 0; times < 2; times += 1) expect((await where.as('anna', '/v1/runs')).status).toBe(401);
    expect(told).toHaveLength(2);
    expect(unheard).toEqual([]);
  } finally {
    await where.close();
    process.off('unhandledRejection', hear);
  }
});

describe('every answer', () => {
  it('is kept nowhere, read as what it says it is, and shown in no frame', async () => {
    for (const [path, origin] of [
      ['/v1/runs'],
      ['/v1/nothing'],
      ['/v1/openapi.json'],
      ['/v1/runs/r1'],
      ['/v1/runs', 'https://evil.example'],
    ] as const) {
      const { headers } = await scene.as('anna', path, origin === undefined ? {} : { headers: { origin } });
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    }
  });
});
