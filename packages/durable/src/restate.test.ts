import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RunRecord, Store } from '@guardloop/store';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EngineWork } from './engine.js';
import { serviceName } from './restate/kicks.js';
import { restateEngine } from './restate.js';

const run: RunRecord = {
  id: 'r1',
  session: 's',
  agent: 'a',
  queue: 'default',
  priority: 100,
  state: 'queued',
  submission: { input: 'planted words' },
  abandons: false,
  attempts: 0,
  dueAt: 5_000,
  createdAt: 5_000,
  updatedAt: 5_000,
  version: 3,
};
const nowhere = 'http://127.0.0.1:1';
const work: EngineWork = {
  store: { runs: { list: async () => ({ items: [] }) } } as unknown as Store,
  owner: 'w1',
  queues: [{ queue: 'default' }],
  concurrency: 1,
  leaseMs: 3_000,
  advance: async () => ({ status: 'nothing' }),
};

/** What a server is asked, which answers with `status`. */
async function asked(status: number, act: (url: string) => Promise<void>) {
  const requests: { readonly url: string | undefined; readonly headers: NodeJS.Dict<string | string[]>; readonly body: string }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (data) => {
      body += String(data);
    });
    request.on('end', () => {
      requests.push({ url: request.url, headers: request.headers, body });
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"invocationId":"inv","status":"Accepted"}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await act(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  return requests;
}

describe('restateEngine', () => {
  it('refuses options that make no sense, with what was expected', () => {
    const wrong: readonly [object, RegExp][] = [
      [{}, /`ingressUrl` is missing/],
      [{ ingressUrl: 'localhost:8080' }, /`ingressUrl` is no web address/],
      [{ ingressUrl: nowhere, adminURL: nowhere }, /no option `adminURL`.*adminUrl/],
      [{ ingressUrl: nowhere, service: 'a/b' }, /`service`/],
      [{ ingressUrl: nowhere, port: 99_999 }, /`port` is 99999/],
      [{ ingressUrl: nowhere, headers: { authorization: 5 } }, /`headers`/],
      [{ ingressUrl: nowhere, identityKeys: 'publickeyv1_x' }, /`identityKeys`/],
      [{ ingressUrl: nowhere, holdMs: 5 }, /`holdMs`/],
    ];
    for (const [options, message] of wrong)
      expect(() => restateEngine(options as never)).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) }),
      );
  });

  it('tells Restate of a run by its id, version and queue, and nothing else', async () => {
    const [request, ...more] = await asked(200, async (ingressUrl) => {
      const engine = restateEngine({ ingressUrl, headers: { authorization: 'Bearer planted-key' } });
      await engine.kick({ ...run, dueAt: 65_000 });
      await engine.close();
    });
    expect(more).toEqual([]);
    expect(request?.url).toBe('/guardloop.default/r1/advance/send?delay=60000ms');
    expect(request?.headers).toMatchObject({ 'idempotency-key': 'r1:3', authorization: 'Bearer planted-key' });
    expect(request?.body).toBe('3');
  });

  it('a kick that nobody takes is no error: no Restate there, no worker registered yet', async () => {
    await restateEngine({ ingressUrl: nowhere }).kick(run);
    for (const status of [404, 429, 503]) await asked(status, (ingressUrl) => restateEngine({ ingressUrl }).kick(run));
  });

  it('a kick that Restate refuses is told, without what was sent', async () => {
    await asked(401, async (ingressUrl) => {
      const refused = restateEngine({ ingressUrl, headers: { authorization: 'planted-key' } }).kick(run);
      await expect(refused).rejects.toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('HTTP 401') });
      await refused.catch((error) => expect(JSON.stringify(error) + String(error)).not.toContain('planted'));
    });
  });

  it('a worker that Restate does not take is told so, and leaves nothing listening', async () => {
    await expect(restateEngine({ ingressUrl: nowhere, adminUrl: nowhere }).work(work)).rejects.toMatchObject({ code: 'STORE_FAILED' });
    await asked(400, async (adminUrl) => {
      await expect(restateEngine({ ingressUrl: nowhere, adminUrl }).work(work)).rejects.toMatchObject({
        code: 'STORE_FAILED',
        message: expect.stringContaining('HTTP 400'),
      });
    });
  });

  it('a port that is taken is told', async () => {
    await asked(200, async (url) => {
      const port = Number(new URL(url).port);
      await expect(restateEngine({ ingressUrl: nowhere, port }).work(work)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(String(port)),
      });
    });
  });
});

describe('names of services', () => {
  it('are made of letters that Restate takes, and differ where queues differ', () => {
    const queue = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(queue, queue, (left, right) => {
        expect(serviceName('guardloop', left)).toMatch(/^[A-Za-z][A-Za-z0-9._-]*$/);
        expect(serviceName('guardloop', left) === serviceName('guardloop', right)).toBe(left === right);
      }),
      { numRuns: 500, seed: 7 },
    );
  });
});
