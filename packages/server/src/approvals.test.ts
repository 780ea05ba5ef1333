import { defineAgent, defineTool } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Person, Scene } from '../test/scene.js';
import { openScene, readEvents } from '../test/scene.js';
import type { Authorize } from './index.js';
import { guardloopServer } from './index.js';

const paid: { readonly cents: number; readonly key: string }[] = [];
const pay = defineTool({
  name: 'pay',
  description: 'Pay.',
  input: z.object({ to: z.string(), cents: z.number().int() }),
  approval: true,
  execute: ({ cents }, { idempotencyKey }) => {
    paid.push({ cents, key: idempotencyKey });
    return `paid ${cents}`;
  },
});
const clerk = defineAgent({
  name: 'clerk',
  instructions: '',
  model: scriptedModel([callTool('pay', { to: 'shop', cents: 500 }), say('Settled.')]),
  tools: [pay],
});
const locate = defineTool({ name: 'locate', description: 'Where the person is.', input: z.object({}), flow: { effect: 'read' } });
const guide = defineAgent({
  name: 'guide',
  instructions: '',
  model: scriptedModel([callTool('locate', {}), say('You are there.')]),
  tools: [locate],
});
const supervisorsDecide: Authorize<Person> = (question, { role }) => {
  if (question.action === 'approval.read' || question.action === 'run.read') return role === 'supervisor' ? true : undefined;
  if (question.action === 'run.cancel') return undefined;
  return role === 'supervisor';
};

let scene: Scene;
let strict: Scene;
beforeAll(async () => {
  scene = await openScene({ clerk, guide });
  strict = await openScene({ clerk }, { authorize: supervisorsDecide });
});
afterAll(async () => {
  await scene.close();
  await strict.close();
});

interface Asked {
  readonly run: string;
  readonly session: string;
  readonly id: string;
  readonly digest: string;
}
async function ask(where: Scene, person: string): Promise<Asked> {
  const run = await (await where.as(person, '/v1/runs', { body: { agent: 'clerk', input: 'Pay.' } })).json();
  expect(await where.settled(run.id)).toBe('interrupted');
  const { items } = await (await where.as(person, `/v1/approvals?run=${run.id}`)).json();
  expect(items).toHaveLength(1);
  return { run: run.id, session: run.session, id: items[0].id, digest: items[0].approval.digest };
}
const at = (id: string) => `/v1/approvals/${encodeURIComponent(id)}`;

describe('an approval over HTTP', () => {
  it('shows what the log asks, word for word, and is decided once by who calls', async () => {
    const { run, session, id, digest } = await ask(scene, 'anna');
    const seen = await (await scene.as('anna', at(id))).json();
    const request = (await scene.store.load(session)).find((event) => event.type === 'approval.request');
    expect(seen.approval).toEqual(request?.type === 'approval.request' && JSON.parse(JSON.stringify(request.approval)));
    expect(seen).toMatchObject({ state: 'open', mayDecide: true });
    const before = paid.length;
    const decided = await scene.as('anna', `${at(id)}/decision`, { body: { decision: 'approve', digest } });
    expect(decided.status).toBe(200);
    expect(await decided.json()).toMatchObject({ outcome: 'recorded', approval: { decidedBy: 'anna', decision: 'approve' } });
    expect((await scene.runs.result(run, { until: 'end' })).status).toBe('completed');
    expect(paid.slice(before)).toHaveLength(1);
    const log = await scene.store.load(session);
    expect(log.find((event) => event.type === 'approval.resolve')).toMatchObject({ decision: 'approve', decidedBy: 'anna' });
    expect(auditLog({ version: 1, events: log })).toEqual([]);
  });

  it('is found by its id with slashes as they are, since proxies decode them', async () => {
    const { id } = await ask(scene, 'anna');
    expect((await scene.as('anna', `/v1/approvals/${id}`)).status).toBe(200);
  });

  it('is not decided on what was altered, by whom the body names, or in a form that there is not', async () => {
    const { id, digest } = await ask(scene, 'anna');
    const decide = (body: unknown) => scene.as('anna', `${at(id)}/decision`, { body });
    const other = await decide({ decision: 'approve', digest: digest.replaceAll(/[0-9a-f]/g, (sign) => (sign === '0' ? '1' : '0')) });
    expect(other.status).toBe(422);
    expect(await other.json()).toMatchObject({
      type: 'urn:guardloop:problem:altered',
      outcome: 'altered',
      approval: { id, state: 'open' },
    });
    for (const body of [
      { decision: 'approve' },
      { decision: 'approve', digest, by: 'bert' },
      { decision: 'APPROVE', digest },
      { decision: { approve: 'standing', forMs: 5, expiresAt: 5 }, digest },
      { decision: { reject: 'no', edit: {} }, digest },
      { decision: {}, digest },
      { decision: { result: undefined }, digest },
      { decision: 'approve', digest: `${digest}0` },
      { decision: 'approve', digest, approval: { input: { cents: 1 } } },
    ])
      expect([(await decide(body)).status, JSON.stringify(body)]).toEqual([400, JSON.stringify(body)]);
    expect(await (await scene.as('anna', at(id))).json()).toMatchObject({ state: 'open' });
  });

  it('tells double decisions: the same again is no fault, another one is a conflict', async () => {
    const { id, digest } = await ask(scene, 'anna');
    const decide = (decision: unknown) => scene.as('anna', `${at(id)}/decision`, { body: { decision, digest } });
    const both = await Promise.all([decide('approve'), decide({ reject: 'No.' })]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    const winner = both[0].status === 200 ? 'approve' : { reject: 'No.' };
    const lost = await both.find(({ status }) => status === 409)?.json();
    expect(lost).toMatchObject({ type: 'urn:guardloop:problem:conflict', outcome: 'already', approval: { decidedBy: 'anna' } });
    expect((await decide(winner)).status).toBeLessThan(411);
  });

  it('of a tool that the client runs takes its result, once, and no approval', async () => {
    const run = await (await scene.as('anna', '/v1/runs', { body: { agent: 'guide', input: 'Where am I?' } })).json();
    await scene.settled(run.id);
    const [{ id, approval }] = (await (await scene.as('anna', `/v1/approvals?run=${run.id}`)).json()).items;
    expect(approval).toMatchObject({ tool: 'locate', input: {}, caller: true });
    const decide = async (decision: unknown): Promise<number> =>
      (await scene.as('anna', `${at(id)}/decision`, { body: { decision, digest: approval.digest } })).status;
    for (const decision of ['approve', { edit: {} }, { approve: 'standing' }])
      expect([decision, await decide(decision)]).toEqual([decision, 400]);
    expect(await Promise.all([decide({ result: { city: 'Graz' } }), decide({ result: { city: 'Graz' } })])).toEqual([200, 200]);
    expect(await scene.runs.result(run.id, { until: 'end' })).toMatchObject({ status: 'completed', text: 'You are there.' });
    expect(await decide({ result: { city: 'Linz' } })).toBe(409);
    const log = await scene.store.load(run.session);
    expect(log.filter((event) => event.type === 'tool.end')).toMatchObject([{ status: 'ok', content: '{"city":"Graz"}' }]);
    expect(auditLog({ version: 1, events: log })).toEqual([]);
  });

  it('is too late once its run has ended without it', async () => {
    const { run, id, digest } = await ask(scene, 'anna');
    await scene.as('anna', `/v1/runs/${run}/cancel`, { body: {} });
    await scene.runs.result(run, { until: 'end' });
    const late = await scene.as('anna', `${at(id)}/decision`, { body: { decision: 'approve', digest } });
    expect(late.status).toBe(410);
    expect(await late.json()).toMatchObject({ outcome: 'late', why: 'void' });
  });

  it('is void once a later run of its session has ended its run', async () => {
    const { session, id, digest } = await ask(scene, 'anna');
    const { id: next } = await (
      await scene.as('anna', '/v1/runs', { body: { agent: 'clerk', input: 'Never mind.', session, unfinished: 'abandon' } })
    ).json();
    expect(await scene.settled(next)).toBe('interrupted');
    expect((await scene.as('anna', `${at(id)}/decision`, { body: { decision: 'approve', digest } })).status).toBe(410);
  });

  it('is edited, and the edit is what runs', async () => {
    const { run, id, digest } = await ask(scene, 'anna');
    const edited = await scene.as('anna', `${at(id)}/decision`, { body: { decision: { edit: { to: 'shop', cents: 7 } }, digest } });
    expect(edited.status).toBe(200);
    expect((await scene.runs.result(run, { until: 'end' })).status).toBe('completed');
    expect(paid.at(-1)?.cents).toBe(7);
  });
});

describe('who may decide', () => {
  it('is said by the host: the owner sees and does not decide, a supervisor of the tenant does both, one of another sees nothing', async () => {
    const { run, id, digest } = await ask(strict, 'anna@shop');
    const body = { decision: 'approve', digest };
    expect(await (await strict.as('anna@shop', at(id))).json()).toMatchObject({ mayDecide: false });
    expect((await strict.as('anna@shop', `${at(id)}/decision`, { body })).status).toBe(403);
    for (const stranger of ['bert@shop', 'sue@bank:supervisor', 'anna', 'anna@bank', 'sue:supervisor']) {
      const [read, decide] = [await strict.as(stranger, at(id)), await strict.as(stranger, `${at(id)}/decision`, { body })];
      expect([stranger, read.status, decide.status]).toEqual([stranger, 404, 404]);
    }
    const { items } = await (await strict.as('sue@shop:supervisor', '/v1/approvals?scope=tenant&state=open')).json();
    expect(items.map((item: { readonly id: string }) => item.id)).toContain(id);
    expect((await strict.as('sue@shop:supervisor', `${at(id)}/decision`, { body })).status).toBe(200);
    expect((await strict.runs.result(run, { until: 'end' })).status).toBe('completed');
  });

  it('is told to who decided, and to others where `system` is shown', async () => {
    const { run, id, digest } = await ask(strict, 'anna@shop');
    const sue = 'sue@shop:supervisor';
    const decided = await strict.as(sue, `${at(id)}/decision`, { body: { decision: 'approve', digest } });
    expect((await decided.json()).approval).toMatchObject({ decidedBy: 'sue' });
    await strict.runs.result(run, { until: 'end' });
    const seen = async (person: string): Promise<readonly unknown[]> => {
      const approval = await (await strict.as(person, at(id))).json();
      const events = await readEvents(await strict.as(person, `/v1/runs/${run}/events`));
      expect(approval).toMatchObject({ decision: 'approve', decidedAt: expect.any(Number) });
      return [approval.decidedBy, events.find(({ event }) => event === 'approval.end')?.data.by];
    };
    expect(await seen(sue)).toEqual(['sue', 'sue']);
    expect(await seen('anna@shop')).toEqual([undefined, undefined]);
    const open = guardloopServer({
      runs: strict.runs,
      agents: { clerk: {} },
      authenticate: () => ({ user: 'anna', tenant: 'shop' }),
      show: { system: true },
    });
    expect(await (await open.request(`http://localhost${at(id)}`)).json()).toMatchObject({ decidedBy: 'sue' });
  });

  it('is told the forms of a decision where it has none of them', async () => {
    const { id, digest } = await ask(scene, 'anna');
    const errorsOf = async (decision: unknown): Promise<unknown> =>
      (await (await scene.as('anna', `${at(id)}/decision`, { body: { decision, digest } })).json()).errors;
    const forms = "'approve', { approve: 'standing', when?, forMs? or expiresAt? }, { reject: words }, { edit: input } or { result }";
    for (const decision of [undefined, 'aprove', {}, { approve: 's3cret' }])
      expect(await errorsOf(decision)).toEqual([{ path: 'decision', expected: forms }]);
    expect(await errorsOf({ reject: 5 })).toEqual([{ path: 'decision.reject', expected: 'string' }]);
    expect(await errorsOf({ approve: 'standing', forMs: 'long' })).toEqual([{ path: 'decision.forMs', expected: 'number' }]);
  });

  it('is said for runs too: who may see one of others may not end it, unless that is said', async () => {
    const { run } = await ask(strict, 'anna@shop');
    expect((await strict.as('sue@shop:supervisor', `/v1/runs/${run}`)).status).toBe(200);
    expect((await strict.as('sue@shop:supervisor', `/v1/runs/${run}/cancel`, { body: {} })).status).toBe(403);
    for (const stranger of ['bert@shop', 'sue@bank:supervisor', 'sue:supervisor'])
      expect([stranger, (await strict.as(stranger, `/v1/runs/${run}`)).status]).toEqual([stranger, 404]);
    expect((await strict.as('anna@shop', `/v1/runs/${run}/cancel`, { body: {} })).status).toBeLessThan(300);
  });

  it('lists for a tenant only where the host says so, and only for that tenant', async () => {
    await ask(strict, 'anna@shop');
    for (const path of ['/v1/runs', '/v1/approvals', '/v1/sessions']) {
      expect((await strict.as('anna@shop', `${path}?scope=tenant`)).status).toBe(403);
      expect((await (await strict.as('sue@shop:supervisor', `${path}?scope=tenant`)).json()).items.length).toBeGreaterThan(0);
      expect((await (await strict.as('sue@bank:supervisor', `${path}?scope=tenant`)).json()).items).toEqual([]);
      // Without a tenant they see what is of none, not what is of all.
      expect((await (await strict.as('sue:supervisor', `${path}?scope=tenant`)).json()).items).toEqual([]);
    }
  });

  it('is nobody where the host fails to say', async () => {
    const broken = await openScene({ clerk }, { authorize: () => Promise.reject(new Error('down')) });
    try {
      const run = await (await broken.as('anna', '/v1/runs', { body: { agent: 'clerk', input: 'Pay.' } })).json();
      await broken.settled(run.id);
      expect((await (await broken.as('anna', '/v1/approvals')).json()).items).toEqual([]);
      const [record] = (await broken.store.approvals.list()).items;
      expect((await broken.as('anna', at(record?.id ?? ''))).status).toBe(404);
    } finally {
      await broken.close();
    }
  });

  it('shows in a stream what is asked to who may see it', async () => {
    const { run, id } = await ask(strict, 'anna@shop');
    const events = await readEvents(await strict.as('anna@shop', `/v1/runs/${run}/events`), (seen) =>
      seen.some(({ event }) => event === 'approval'),
    );
    expect(events.at(-1)?.data).toMatchObject({
      id,
      surface: 'toolInput',
      mayDecide: false,
      approval: { id, input: { to: 'shop', cents: 500 } },
    });
  });
});
