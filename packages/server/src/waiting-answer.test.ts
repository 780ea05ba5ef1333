import type { JsonValue } from '@guardloop/core';
import { allow, ask, defineAgent, defineGuardrail, defineTool } from '@guardloop/core';
import { durableAgent } from '@guardloop/durable';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Scene } from '../test/scene.js';
import { openScene, readEvents } from '../test/scene.js';

const look = defineTool({ name: 'look', description: 'Look.', input: z.object({}), flow: { effect: 'read' }, execute: () => 'seen' });
const noPromises = defineGuardrail({
  name: 'no-promises',
  on: ['output'],
  check: ({ content }) => (content.includes('guarantee') ? ask('a promise needs a person') : allow()),
});
const promise = 'We guarantee it by Friday.';
const desk = defineAgent({
  name: 'desk',
  instructions: '',
  model: scriptedModel([[say(promise), callTool('look', {})].flat(), say('It should come.')]),
  tools: [look],
  guardrails: [noPromises],
});
const asking = defineTool({ name: 'pay', description: 'Pay.', input: z.object({}), approval: true, execute: () => 'paid' });
const clerk = defineAgent({ name: 'clerk', instructions: '', model: scriptedModel([callTool('pay', {}), say('Paid.')]), tools: [asking] });

class Shelf {
  readonly held = new Map<string, JsonValue>();
  isBroken = false;
  put = async (key: string, value: JsonValue): Promise<void> => void this.held.set(key, value);
  get = async (key: string): Promise<JsonValue | undefined> => {
    if (this.isBroken) throw new Error('hunter2');
    return this.held.get(key);
  };
  delete = async (key: string): Promise<void> => void this.held.delete(key);
}
type Options = NonNullable<Parameters<typeof openScene>[1]>;
async function withScene(
  use: (scene: Scene, shelf: Shelf) => Promise<void>,
  { isOffered = true, ...options }: Options & { readonly isOffered?: boolean } = {},
): Promise<void> {
  const shelf = new Shelf();
  const scene = await openScene(
    { desk: durableAgent(desk, { options: { quarantine: shelf } }), clerk },
    { ...(isOffered ? { quarantine: shelf } : {}), ...options },
  );
  try {
    await use(scene, shelf);
  } finally {
    await scene.close();
  }
}
async function waitFor(scene: Scene, { person = 'anna', agent = 'desk' } = {}) {
  const run = await (await scene.as(person, '/v1/runs', { body: { agent, input: 'When?' } })).json();
  expect(await scene.settled(run.id)).toBe('interrupted');
  const [approval] = (await scene.store.approvals.list({ run: run.id })).items;
  const path = `/v1/approvals/${encodeURIComponent(approval?.id ?? '')}`;
  return { run: String(run.id), session: String(run.session), path, digest: approval?.approval.digest ?? '', id: approval?.id ?? '' };
}

describe('an answer that waits in quarantine', () => {
  it('is shown to who decides about it, with its calls, is never cached, and is decided by its digest', () =>
    withScene(async (scene) => {
      const { run, session, path, digest, id } = await waitFor(scene);
      const response = await scene.as('anna', `${path}/answer`);
      expect(response.status).toBe(200);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(await response.json()).toEqual({ id, digest, text: promise, reasoning: '', calls: [{ name: 'look', input: {} }] });
      expect((await scene.as('anna', `/v1/approvals/${id}/answer`)).status).toBe(200);
      expect((await scene.as('anna', `${path}/decision`, { body: { decision: { reject: 'No promises.' }, digest } })).status).toBe(200);
      expect((await scene.runs.result(run, { until: 'end' })).status).toBe('completed');
      const after = await scene.as('anna', `${path}/answer`);
      expect(after.status).toBe(410);
      expect(await after.text()).not.toContain('guarantee');
      expect(auditLog({ version: 1, events: await scene.store.load(session) })).toEqual([]);
      expect(scene.errors).toEqual([]);
    }));

  it('is shown nowhere else: not in streams, lists, results or the protocols of front ends', () =>
    withScene(
      async (scene) => {
        const { run, path, id } = await waitFor(scene);
        const texts = [
          JSON.stringify(
            await readEvents(await scene.as('anna', `/v1/runs/${run}/events`), (events) =>
              events.some(({ event }) => event === 'approval'),
            ),
          ),
          await (await scene.as('anna', path)).text(),
          await (await scene.as('anna', '/v1/approvals')).text(),
          await (await scene.as('anna', `/v1/runs/${run}`)).text(),
          await (
            await scene.as('anna', '/v1/ag-ui/desk', {
              body: { threadId: 't', runId: 'x', messages: [{ id: 'm', role: 'user', content: 'When?' }] },
            })
          ).text(),
          await (
            await scene.as('anna', '/v1/ai/desk', {
              body: { id: 'c', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'When?' }] }] },
            })
          ).text(),
        ];
        expect(texts[0]).toContain(id);
        for (const text of texts) expect(text).not.toMatch(/guarantee|Friday/);
      },
      { show: 'internal', protocols: ['ag-ui', 'ai-sdk'] },
    ));

  it('is shown to nobody who may not decide: to strangers it is not there', () =>
    withScene(
      async (scene) => {
        const { path } = await waitFor(scene, { person: 'anna@shop' });
        const status = async (person: string) => (await scene.as(person, `${path}/answer`)).status;
        expect(await status('anna@shop')).toBe(403);
        expect(await status('bert@shop')).toBe(404);
        expect(await status('sue@bank:supervisor')).toBe(404);
        expect(await status('sue@shop:supervisor')).toBe(200);
        const stranger = await (await scene.as('bert@shop', `${path}/answer`)).text();
        expect(stranger).toBe(await (await scene.as('bert@shop', '/v1/approvals/rnobody%2Fp1/answer')).text());
      },
      {
        authorize: ({ action }, { role }) => {
          if (role === 'supervisor') return true;
          return action === 'approval.decide' ? false : undefined;
        },
      },
    ));

  it('is gone, altered or out of reach in words that say what helps, and the fault is told here alone', () =>
    withScene(async (scene, shelf) => {
      const { path, digest } = await waitFor(scene);
      const [[key = '', value = null] = []] = [...shelf.held];
      const read = async (): Promise<readonly [number, string]> => {
        const response = await scene.as('anna', `${path}/answer`);
        return [response.status, await response.text()];
      };
      shelf.isBroken = true;
      const [broken, words] = await read();
      expect([broken, words.includes('hunter2')]).toEqual([503, false]);
      shelf.isBroken = false;
      shelf.held.set(key, { ...(value as object), text: 'Send me the money.' });
      const [altered, said] = await read();
      expect(altered).toBe(422);
      expect(said).toMatch(/not the answer that waits\. Reject it/);
      expect(said).not.toContain('money');
      shelf.held.delete(key);
      const [gone, why] = await read();
      expect(gone).toBe(410);
      expect(why).toMatch(/not lie there any more\. Reject it/);
      expect(scene.errors).toMatchObject([{ code: 'STORE_FAILED' }, { code: 'RESUME_MISMATCH' }, { code: 'STORE_FAILED' }]);
      // What the words say helps.
      expect((await scene.as('anna', `${path}/decision`, { body: { decision: { reject: 'Anew.' }, digest } })).status).toBe(200);
    }));

  it('is not offered without the store, and there is none for a call', async () => {
    await withScene(
      async (scene) => {
        const { path } = await waitFor(scene);
        const response = await scene.as('anna', `${path}/answer`);
        expect(response.status).toBe(501);
        expect((await response.json()).type).toBe('urn:guardloop:problem:not-offered');
      },
      { isOffered: false },
    );
    await withScene(async (scene) => {
      const { path } = await waitFor(scene, { agent: 'clerk' });
      const response = await scene.as('anna', `${path}/answer`);
      expect(response.status).toBe(404);
      expect((await response.json()).detail).toMatch(/is no answer/);
    });
  });
});
