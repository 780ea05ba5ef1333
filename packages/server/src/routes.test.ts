import { setTimeout as delay } from 'node:timers/promises';
import { defineAgent, defineTool } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { Hono } from 'hono';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Person, Scene } from '../test/scene.js';
import { gate, openScene, readEvents, textOf } from '../test/scene.js';
import type { ServerOptions } from './index.js';
import { anonymous, guardloopServer } from './index.js';

const hold = gate();
const look = defineTool({
  name: 'look',
  description: 'Look.',
  input: z.object({ secret: z.string() }),
  flow: { effect: 'read' },
  execute: () => 'the vault is behind the picture',
});
const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say(['Good ', 'morning.'])]) });
const looker = defineAgent({
  name: 'looker',
  instructions: '',
  model: scriptedModel([callTool('look', { secret: 'x42' }), say('Done.')]),
  tools: [look],
});
const slow = defineAgent({
  name: 'slow',
  instructions: '',
  model: scriptedModel(async () => {
    await hold.opened;
    return say('At last.');
  }),
});

let scene: Scene;
beforeAll(async () => {
  scene = await openScene({ desk, looker, slow });
});
afterAll(async () => {
  hold.open();
  await scene.close();
});
const start = async (
  person: string,
  body: object,
  headers = {},
): Promise<{ readonly status: number; readonly run: { readonly id: string; readonly session: string } }> => {
  const response = await scene.as(person, '/v1/runs', { body, headers });
  return { status: response.status, run: await response.json() };
};

describe('a run over HTTP', () => {
  it('is started, and told where it is', async () => {
    const response = await scene.as('anna', '/v1/runs', { body: { agent: 'desk', input: 'Hello.' } });
    expect(response.status).toBe(201);
    const run = await response.json();
    expect(response.headers.get('location')).toBe(`/v1/runs/${run.id}`);
    expect(run).toEqual({
      id: expect.any(String),
      session: expect.any(String),
      agent: 'desk',
      state: expect.any(String),
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
    });
  });

  it('gives its result when it has ended, and says so while it has not', async () => {
    const { run } = await start('anna', { agent: 'desk', input: 'Hello.' });
    await scene.settled(run.id);
    expect(await (await scene.as('anna', `/v1/runs/${run.id}/result`)).json()).toEqual({ status: 'completed', text: 'Good morning.' });
    const { run: open } = await start('anna', { agent: 'slow', input: 'Hello.' });
    const early = await scene.as('anna', `/v1/runs/${open.id}/result?waitMs=20`);
    expect(early.status).toBe(409);
    expect(await early.json()).toMatchObject({ type: 'urn:guardloop:problem:conflict', detail: 'The run has not ended.' });
    await scene.as('anna', `/v1/runs/${open.id}/cancel`, { body: {} });
    await scene.settled(open.id);
  });

  it('is one run under one key, whoever repeats it at once, and another user has his own', async () => {
    const body = { agent: 'desk', input: 'Once.', session: 'keys' };
    const headers = { 'idempotency-key': 'k-1' };
    const started = await Promise.all([1, 2, 3].map(() => start('anna', body, headers)));
    expect(new Set(started.map(({ run }) => run.id)).size).toBe(1);
    expect(started.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
    const other = await start('bert', body, headers);
    expect(other.status).toBe(201);
    expect(other.run.id).not.toBe(started[0]?.run.id);
    expect(other.run.session).not.toBe(started[0]?.run.session);
    const reused = await scene.as('anna', '/v1/runs', { body: { ...body, input: 'Twice.' }, headers });
    expect(reused.status).toBe(422);
    expect((await reused.json()).type).toBe('urn:guardloop:problem:key-reused');
    await scene.settled(other.run.id);
    expect((await start('bert', body, headers)).status).toBe(200);
    expect((await scene.as('bert', '/v1/runs', { body: { ...body, input: 'Twice.' }, headers })).status).toBe(422);
  });

  it('goes on in a session that the user named, by name and by id', async () => {
    const first = await start('anna', { agent: 'desk', input: 'One.', session: 'chat' });
    const second = await start('anna', { agent: 'desk', input: 'Two.', session: first.run.session });
    expect(second.run.session).toBe(first.run.session);
    await scene.settled(second.run.id);
    const session = await (await scene.as('anna', `/v1/sessions/${first.run.session}`)).json();
    expect(session).toMatchObject({ id: first.run.session, run: second.run.id, status: 'completed' });
  });

  it('goes on in a session of a long name', async () => {
    const sessionOf = async (session: string) => (await start('anna', { agent: 'desk', input: 'Hello.', session })).run.session;
    const name = 'n'.repeat(200);
    const session = await sessionOf(name);
    expect(await sessionOf(name)).toBe(session);
    expect(await sessionOf(session)).toBe(session);
    expect(await sessionOf(`${name.slice(1)}m`)).not.toBe(session);
    expect((await scene.as('anna', `/v1/sessions/${session}`)).status).toBe(200);
    const listed = await (await scene.as('anna', `/v1/runs?session=${session}`)).json();
    expect(listed.items).toHaveLength(3);
  });

  it('goes on in a session of the user that the host began under another id, and in none of another user', async () => {
    for (const owner of ['anna', 'bert']) {
      await scene.runs.submit('desk', 'From elsewhere.', { id: `r-${owner}`, session: `ticket-${owner}`, owner });
      await scene.settled(`r-${owner}`);
      const { run } = await start('anna', { agent: 'desk', input: 'Here.', session: `ticket-${owner}` });
      expect(run.session === `ticket-${owner}`).toBe(owner === 'anna');
    }
  });

  it('is cancelled, once or twice', async () => {
    const { run } = await start('anna', { agent: 'slow', input: 'Wait.' });
    expect((await scene.as('anna', `/v1/runs/${run.id}/cancel`, { body: { reason: 'Enough.' } })).status).toBeLessThan(300);
    expect(await scene.settled(run.id)).toBe('cancelled');
    const again = await scene.as('anna', `/v1/runs/${run.id}/cancel`, { body: {} });
    expect(again.status).toBe(200);
    expect(await again.json()).toMatchObject({ state: 'ended', status: 'cancelled' });
  });

  it('is started and streamed in one request, with every character once', async () => {
    const response = await scene.as('anna', '/v1/runs/stream', { body: { agent: 'desk', input: 'Hello.' } });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const events = await readEvents(response);
    expect(textOf(events)).toBe('Good morning.');
    expect(events.at(0)).toMatchObject({ event: 'run.start', data: { run: response.headers.get('guardloop-run') } });
    expect(events.at(-1)).toMatchObject({ event: 'run.end', data: { outcome: { status: 'completed', text: 'Good morning.' } } });
  });

  it('is not cancelled by a client that leaves', async () => {
    const { run } = await start('anna', { agent: 'desk', input: 'Hello.' });
    await readEvents(await scene.as('anna', `/v1/runs/${run.id}/events`), (events) => events.length > 0);
    expect(await scene.settled(run.id)).toBe('completed');
  });

  it('shows names of tools and nothing of what they take and give, unless the server shows it', async () => {
    const events = await readEvents(await scene.as('anna', '/v1/runs/stream', { body: { agent: 'looker', input: 'Look.' } }));
    expect(events.map(({ event }) => event)).toEqual(['run.start', 'tool.start', 'tool.end', 'text.delta', 'text.end', 'run.end']);
    expect(JSON.stringify(events)).not.toMatch(/x42|vault|picture/);
    const shown = await openScene({ looker }, { show: { tools: ['look'] } });
    try {
      const all = await readEvents(await shown.as('anna', '/v1/runs/stream', { body: { agent: 'looker', input: 'Look.' } }));
      expect(all.find(({ event }) => event === 'tool.start')?.data.input).toEqual({ secret: 'x42' });
      expect(all.find(({ event }) => event === 'tool.end')?.data.content).toBe('the vault is behind the picture');
    } finally {
      await shown.close();
    }
  });
});

describe('lists', () => {
  it('hold what is their own, page by page', async () => {
    for (const input of ['1', '2', '3']) await start('lina', { agent: 'desk', input });
    const first = await (await scene.as('lina', '/v1/runs?limit=2')).json();
    expect(first.items).toHaveLength(2);
    const rest = await (await scene.as('lina', `/v1/runs?limit=2&after=${encodeURIComponent(first.next)}`)).json();
    expect(rest.items).toHaveLength(1);
    expect(rest.next).toBeUndefined();
    const sessions = await (await scene.as('lina', '/v1/sessions')).json();
    expect(sessions.items).toHaveLength(3);
    expect((await (await scene.as('mona', '/v1/runs')).json()).items).toEqual([]);
  });

  it('end with a session that is deleted', async () => {
    const { run } = await start('otto', { agent: 'desk', input: '1' });
    await scene.settled(run.id);
    expect((await scene.as('otto', `/v1/sessions/${run.session}`, { method: 'DELETE' })).status).toBe(204);
    expect((await scene.as('otto', `/v1/sessions/${run.session}`)).status).toBe(404);
    expect((await scene.as('otto', `/v1/runs/${run.id}`)).status).toBe(404);
  });
});

describe('a start', () => {
  it('is refused where too many of the user wait', async () => {
    const idle = await openScene({ desk }, { maxQueued: 2 }, { isWorking: false });
    try {
      const body = { agent: 'desk', input: 'Hello.' };
      for (const _ of [1, 2]) expect((await idle.as('anna', '/v1/runs', { body })).status).toBe(201);
      const full = await idle.as('anna', '/v1/runs', { body });
      expect(full.status).toBe(503);
      expect(full.headers.get('retry-after')).toBe('10');
      expect((await full.json()).type).toBe('urn:guardloop:problem:queue-full');
      expect((await idle.as('bert', '/v1/runs', { body })).status).toBe(201);
    } finally {
      await idle.close();
    }
  });

  it('is refused where too many of the user wait, also behind those of one of the same name in a tenant', async () => {
    const idle = await openScene({ desk }, { maxQueued: 2 }, { isWorking: false });
    try {
      const at = async (person: string) => (await idle.as(person, '/v1/runs', { body: { agent: 'desk', input: 'Hello.' } })).status;
      for (const person of ['anna', 'anna', 'anna@shop', 'anna@shop']) expect(await at(person)).toBe(201);
      expect(await at('anna')).toBe(503);
      expect(await at('anna@shop')).toBe(503);
    } finally {
      await idle.close();
    }
  });

  it('is refused where too many of the user are started at once', async () => {
    const idle = await openScene({ desk }, { maxQueued: 2 }, { isWorking: false });
    // A store that is far away: what one start writes, those beside it do not see.
    const runs = {
      ...idle.runs,
      list: async (...query: Parameters<typeof idle.runs.list>) => {
        const page = await idle.runs.list(...query);
        await delay(50);
        return page;
      },
    };
    const far = await openScene({ desk }, { maxQueued: 2, runs }, { isWorking: false });
    try {
      const starts = await Promise.all([1, 2, 3, 4, 5].map(() => far.as('anna', '/v1/runs', { body: { agent: 'desk', input: 'Hello.' } })));
      expect(starts.map(({ status }) => status).sort()).toEqual([201, 201, 503, 503, 503]);
    } finally {
      await far.close();
      await idle.close();
    }
  });

  it('is refused for agents that are not offered, as if there were none', async () => {
    const some = await openScene({ desk, looker }, { agents: { desk: { allow: ({ user }) => user === 'anna' } } });
    try {
      const at = (person: string, agent: string) => some.as(person, '/v1/runs', { body: { agent, input: 'Hello.' } });
      expect((await at('anna', 'desk')).status).toBe(201);
      const [refused, none] = await Promise.all([at('bert', 'desk'), at('bert', 'nobody')]);
      expect(refused.status).toBe(404);
      const told = await none.json();
      expect(await refused.json()).toEqual(told);
      expect(told.errors).toEqual([{ path: 'agent', expected: 'an agent that you may start' }]);
      expect((await at('anna', 'looker')).status).toBe(404);
    } finally {
      await some.close();
    }
  });

  it('is told which field does not fit, and which forms it has, and never what it holds', async () => {
    const forms = "a text that is not empty, or a list of parts { type: 'text' | 'image' | 'file', … }";
    const good = { agent: 'desk', input: 'Hello.' };
    const cases: readonly [object, readonly object[]][] = [
      [{ agent: 'desk' }, [{ path: 'input', expected: forms }]],
      [{ ...good, input: '' }, [{ path: 'input', expected: 'a length of at least 1' }]],
      [{ ...good, input: { text: 's3cret' } }, [{ path: 'input', expected: forms }]],
      [{ ...good, input: [{ type: 's3cret' }] }, [{ path: 'input.0.type', expected: "'text', 'image' or 'file'" }]],
      [{ ...good, input: [{ type: 'text' }] }, [{ path: 'input.0.text', expected: 'string' }]],
      [{ input: 'Hello.' }, [{ path: 'agent', expected: 'string' }]],
      [{ ...good, data: { user: 's3cret' } }, [{ path: 'data', expected: 'no such field' }]],
      [{ ...good, 's3cret 4111': 1 }, [{ path: '?', expected: 'no such field' }]],
      [{ ...good, input: [{ type: 'text', text: 'Hello.', labels: 's3cret' }] }, [{ path: 'input.0.labels', expected: 'no such field' }]],
    ];
    for (const [body, errors] of cases) {
      const response = await scene.as('anna', '/v1/runs', { body });
      const text = await response.text();
      expect(JSON.parse(text)).toEqual({
        type: 'urn:guardloop:problem:bad-body',
        title: 'The body does not fit.',
        status: 400,
        detail: 'What is taken stands in /v1/openapi.json, under `startRun`.',
        errors,
      });
      expect(text).not.toContain('s3cret');
    }
    const larger = new Hono().route('/api', guardloopServer({ runs: scene.runs, agents: { desk: {} }, authenticate: anonymous() }));
    const response = await larger.request('http://localhost/api/v1/runs?limit=none');
    const { detail, errors } = (await response.json()) as { readonly detail: string; readonly errors: unknown };
    expect(errors).toEqual([{ path: 'limit', expected: 'number' }]);
    expect(detail).toBe('What is taken stands in /api/v1/openapi.json, under `listRuns`.');
    expect((await larger.request('http://localhost/api/v1/openapi.json')).status).toBe(200);
  });

  it('has no place in a trace that its client says, unless the host takes it', async () => {
    const place = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const taken = async (options: Partial<ServerOptions<Person>>, header: string): Promise<unknown> => {
      const some = await openScene({ desk }, options, { isWorking: false });
      try {
        const started = await some.as('anna', '/v1/runs', { body: { agent: 'desk', input: 'Hello.' }, headers: { traceparent: header } });
        expect(started.status).toBe(201);
        const record = await some.store.runs.get((await started.json()).id);
        return (record?.submission as { readonly traceparent?: string } | undefined)?.traceparent;
      } finally {
        await some.close();
      }
    };
    const follow = { traceparent: (_caller: Person, request: Request) => request.headers.get('traceparent') };
    expect(await taken({}, place)).toBeUndefined();
    expect(await taken(follow, place)).toBe(place);
    expect(await taken(follow, '00-malformed')).toBeUndefined();
    expect(await taken({ traceparent: () => place.replace('-01', '-00') }, place)).toBe(place.replace('-01', '-00'));
  });

  it('takes its data from the server, never from the client', async () => {
    const seen: unknown[] = [];
    const some = await openScene({ desk }, { agents: { desk: { data: ({ user }) => ({ user }) } } }, { isWorking: false });
    try {
      const response = await some.as('anna', '/v1/runs', { body: { agent: 'desk', input: 'Hello.' } });
      const { id } = await response.json();
      seen.push((await some.store.runs.get(id))?.submission);
      expect(seen).toMatchObject([{ data: { user: 'anna' } }]);
      expect((await some.as('anna', '/v1/runs', { body: { agent: 'desk', input: 'Hello.', data: { user: 'bert' } } })).status).toBe(400);
    } finally {
      await some.close();
    }
  });
});

describe('the rate', () => {
  it('is limited by the host, who is told the operation', async () => {
    const asked: string[] = [];
    const limited = await openScene(
      { desk },
      {
        rateLimit: ({ caller, operation }) => {
          asked.push(`${caller.user} ${operation}`);
          if (caller.user === 'bert') throw new Error('the counter is down');
          return operation === 'startRun' ? { retryAfterMs: 2_500 } : undefined;
        },
      },
    );
    try {
      const refused = await limited.as('anna', '/v1/runs', { body: { agent: 'desk', input: 'Hello.' } });
      expect(refused.status).toBe(429);
      expect(refused.headers.get('retry-after')).toBe('3');
      expect((await limited.as('anna', '/v1/runs')).status).toBe(200);
      expect((await limited.as('bert', '/v1/runs')).status).toBe(503);
      expect(asked).toEqual(['anna startRun', 'anna listRuns', 'bert listRuns']);
      expect(limited.errors).toHaveLength(1);
    } finally {
      await limited.close();
    }
  });

  it('is told where its answer is none, and says how long in whole seconds, whatever it gives', async () => {
    let answer: unknown;
    const limited = await openScene({ desk }, { rateLimit: () => answer as never });
    try {
      for (answer of [false, null, true, 0, 5, 'x', {}, { retryAfterMs: '5' }, { retryAfterMs: Number.NaN }]) {
        limited.errors.length = 0;
        expect((await limited.as('anna', '/v1/runs')).status).toBe(503);
        expect(limited.errors).toEqual([
          expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('`rateLimit`') }),
        ]);
      }
      for (const [retryAfterMs, seconds] of [
        [-5, '1'],
        [0, '1'],
        [1_001, '2'],
        [1e300, '31536000'],
        [Number.POSITIVE_INFINITY, '31536000'],
      ] as const) {
        answer = { retryAfterMs };
        const refused = await limited.as('anna', '/v1/runs');
        expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, seconds]);
      }
    } finally {
      await limited.close();
    }
  });
});
