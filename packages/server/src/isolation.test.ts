import { defineAgent, defineTool, GuardloopError } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Scene } from '../test/scene.js';
import { openScene } from '../test/scene.js';

const pay = defineTool({ name: 'pay', description: 'Pay.', input: z.object({ to: z.string() }), approval: true, execute: () => 'paid' });
const clerk = defineAgent({
  name: 'clerk',
  instructions: '',
  model: scriptedModel([callTool('pay', { to: 'secret-shop' }), say('Settled.')]),
  tools: [pay],
});

let scene: Scene;
let run: { readonly id: string; readonly session: string };
let approval: { readonly id: string; readonly approval: { readonly digest: string } };
beforeAll(async () => {
  scene = await openScene({ clerk }, { protocols: ['ag-ui', 'ai-sdk'] });
  run = await (await scene.as('anna@shop', '/v1/runs', { body: { agent: 'clerk', input: 'Pay.', session: 'chat' } })).json();
  await scene.settled(run.id);
  [approval] = (await (await scene.as('anna@shop', '/v1/approvals')).json()).items;
});
afterAll(() => scene.close());

const digest = 'a'.repeat(64);
/** Every route that takes an id, with the owner's id and with one that is nobody's. */
type Route = [name: string, paths: () => readonly [string, string], init: { readonly method?: string; readonly body?: unknown }];
const routes: Route[] = [
  ['status', () => [`/v1/runs/${run.id}`, '/v1/runs/rnobody'], {}],
  ['result', () => [`/v1/runs/${run.id}/result`, '/v1/runs/rnobody/result'], {}],
  ['events', () => [`/v1/runs/${run.id}/events`, '/v1/runs/rnobody/events'], {}],
  ['cancel', () => [`/v1/runs/${run.id}/cancel`, '/v1/runs/rnobody/cancel'], { body: {} }],
  ['approval', () => [`/v1/approvals/${approval.id}`, '/v1/approvals/rnobody/p1'], {}],
  [
    'decision',
    () => [`/v1/approvals/${approval.id}/decision`, '/v1/approvals/rnobody/p1/decision'],
    { body: { decision: 'approve', digest } },
  ],
  ['session', () => [`/v1/sessions/${run.session}`, '/v1/sessions/nobody'], {}],
  ['session, deleted', () => [`/v1/sessions/${run.session}`, '/v1/sessions/nobody'], { method: 'DELETE' }],
];
const headersOf = (response: Response): unknown => [...response.headers].filter(([name]) => name !== 'date');

describe('what is of another user', () => {
  it.each(routes)('is answered like what is of nobody: %s', async (_name, paths, init) => {
    const [foreign, missing] = paths();
    for (const stranger of ['bert@shop', 'anna', 'anna@bank']) {
      const [one, other] = [await scene.as(stranger, foreign, init), await scene.as(stranger, missing, init)];
      expect(one.status).toBe(404);
      expect(other.status).toBe(404);
      expect(headersOf(one)).toEqual(headersOf(other));
      expect(await one.text()).toBe(await other.text());
    }
  });

  it('is in no list', async () => {
    for (const path of ['/v1/runs', `/v1/runs?session=${run.session}`, '/v1/approvals', `/v1/approvals?run=${run.id}`, '/v1/sessions'])
      for (const stranger of ['bert@shop', 'anna', 'anna@bank'])
        expect(await (await scene.as(stranger, path)).json()).toEqual({ items: [] });
  });

  it('is no session that a stranger could go on in, by whatever name', async () => {
    for (const session of ['chat', run.session]) {
      const begun = await (await scene.as('bert@shop', '/v1/runs', { body: { agent: 'clerk', input: 'Mine.', session } })).json();
      expect(begun.session).not.toBe(run.session);
    }
    const events = await scene.store.load(run.session);
    expect(new Set(events.map((event) => event.run))).toEqual(new Set([run.id]));
  });

  it('is no conversation that a front end of a stranger could take over or decide in', async () => {
    const seen = `${approval.id}#${approval.approval.digest}`;
    const answers = [
      await scene.as('carl@shop', '/v1/ag-ui/clerk', {
        body: {
          threadId: run.session,
          runId: 'x',
          messages: [],
          resume: [{ interruptId: seen, status: 'resolved', payload: { approved: true } }],
        },
      }),
      await scene.as('carl@shop', '/v1/ai/clerk', {
        body: {
          id: 'chat',
          messages: [
            {
              id: 'm',
              role: 'assistant',
              parts: [{ type: 'dynamic-tool', state: 'approval-responded', approval: { id: seen, approved: true } }],
            },
          ],
        },
      }),
    ];
    for (const answer of answers) expect(answer.status).toBe(404);
    expect((await scene.as('carl@shop', '/v1/ai/clerk/chat/stream')).status).toBe(204);
    expect((await scene.store.approvals.get(approval.id))?.state).toBe('open');
  });

  it('is nobody else’s by a name that reads like the owner’s', async () => {
    const ids = await Promise.all(
      [
        ['anna', undefined],
        ['anna', 'shop'],
        ['anna@shop', undefined],
        ['annashop', undefined],
        ['shop', 'anna'],
      ].map(async ([user = '', tenant]) => {
        const { sessionId, runId } = await import('./ids.js');
        return [await sessionId({ user, tenant }, 'chat'), await runId({ user, tenant }, 'key', 'k')].join();
      }),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('a page for who has no tenant', () => {
  it('neither shows nor names what belongs to one of the same name in a tenant', async () => {
    const mixed = await openScene({ clerk }, { authorize: ({ action }) => (action === 'tenant.list' ? true : undefined) });
    try {
      const start = async (person: string, session: string): Promise<string> => {
        const { id } = await (await mixed.as(person, '/v1/runs', { body: { agent: 'clerk', input: 'Hello.', session } })).json();
        await mixed.settled(id);
        return id;
      };
      const theirs = [await start('anna', 'first')];
      for (const session of ['a', 'b', 'c']) await start('anna@shop', session);
      theirs.unshift(await start('anna', 'last'));
      for (const session of ['d', 'e', 'f']) await start('anna@shop', session);
      const foreign = (await mixed.store.sessions.list({ tenant: 'shop' })).items.map(({ id }) => id);
      expect(foreign).toHaveLength(6);
      for (const list of ['runs', 'approvals', 'sessions'])
        for (const scope of ['own', 'tenant'])
          for (const limit of [1, 2, 3, 5, 8]) {
            const got: { readonly id: string; readonly run: string }[] = [];
            for (let after = ''; ; ) {
              const page = await (await mixed.as('anna', `/v1/${list}?scope=${scope}&limit=${limit}${after}`)).json();
              got.push(...page.items);
              if (page.next === undefined) break;
              expect(foreign.filter((id) => Buffer.from(page.next, 'base64url').includes(id))).toEqual([]);
              expect(page.items).not.toEqual([]);
              after = `&after=${page.next}`;
            }
            const runs = got.map(({ id, run }) => (list === 'runs' ? id : run));
            expect(list === 'approvals' ? runs.reverse() : runs, `${list} ${scope} ${limit}`).toEqual(theirs);
            const nobody = await (await mixed.as('nobody', `/v1/${list}?limit=${limit}`)).json();
            expect(nobody).toEqual({ items: [] });
          }
    } finally {
      await mixed.close();
    }
  });
});

describe('who does not say who they are', () => {
  it.each(routes)('gets nothing: %s', async (_name, paths, { method, body }) => {
    const response = await fetch(`${scene.url}${paths()[0]}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({ type: 'urn:guardloop:problem:unauthenticated', title: 'Say who you are.', status: 401 });
  });

  it('is nobody where `authenticate` throws, or names nobody', async () => {
    const odd: readonly (() => unknown)[] = [
      () => {
        throw new Error('down');
      },
      () => Promise.reject(new Error('down')),
      () => ({}),
      () => ({ user: '' }),
      () => ({ user: 7 }),
      () => ({ user: 'a'.repeat(201) }),
      () => ({ user: 'anna', tenant: '' }),
      () => ({ user: ' ' }),
      () => ({ user: 'an\nna' }),
      () => ({ user: 'anna\u0000' }),
      () => ({ user: 'anna\ud800' }),
      () => ({ user: 'anna', tenant: '\u2028' }),
      () => true,
      () => null,
    ];
    const told: unknown[] = [];
    for (const authenticate of odd) {
      const closed = await openScene({ clerk }, { authenticate: authenticate as never }, { isWorking: false });
      try {
        expect((await closed.as('anna', '/v1/runs')).status).toBe(401);
        told.push(...closed.errors);
      } finally {
        await closed.close();
      }
    }
    // Null is nobody, as undefined is.
    expect(told).toHaveLength(odd.length - 1);
    const faults = told.filter((error) => GuardloopError.is(error)).map(({ code, message }) => `${code} ${message}`);
    expect(faults).toHaveLength(odd.length - 3);
    expect(new Set(faults).size).toBe(1);
    expect(faults[0]).toMatch(/^CONFIG_INVALID `authenticate`.*Give \{ user, tenant\? \}/);
  });
});
