import type { JsonValue } from '@guardloop/core';
import { ask, defineAgent, defineGuardrail, defineTool } from '@guardloop/core';
import { durableAgent } from '@guardloop/durable';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Scene } from '../test/scene.js';
import { openScene } from '../test/scene.js';

const pay = defineTool({ name: 'pay', description: 'Pay.', input: z.object({}), approval: true, execute: () => 'paid' });
const clerk = defineAgent({ name: 'clerk', instructions: '', model: scriptedModel([callTool('pay', {}), say('Settled.')]), tools: [pay] });
const careful = defineAgent({
  name: 'careful',
  instructions: '',
  model: scriptedModel([say('We promise it.')]),
  guardrails: [defineGuardrail({ name: 'no-promises', on: ['output'], check: () => ask('a promise') })],
});
const held = new Map<string, JsonValue>();
const quarantine = {
  put: async (key: string, value: JsonValue) => void held.set(key, value),
  get: async (key: string) => held.get(key),
  delete: async (key: string) => void held.delete(key),
};

interface Described {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: unknown }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>>;
}
interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

let scene: Scene;
let document: Document;
beforeAll(async () => {
  scene = await openScene(
    { clerk, careful: durableAgent(careful, { options: { quarantine } }) },
    { protocols: ['ag-ui', 'ai-sdk'], quarantine },
  );
  document = await (await fetch(`${scene.url}/v1/openapi.json`)).json();
});
afterAll(() => scene.close());

const operations = (): readonly (Described & { readonly path: string; readonly method: string })[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ ...described, path, method: method.toUpperCase() })),
  );

/** What is wrong with a value by a schema of the document: through zod's reader of JSON Schema. */
function faultsOf(schema: object, value: unknown): unknown {
  const text = JSON.stringify({ ...schema, $defs: document.components.schemas }).replaceAll('#/components/schemas/', '#/$defs/');
  return z.fromJSONSchema(JSON.parse(text)).safeParse(value).error?.issues;
}

describe('the description of the API', () => {
  it('is a valid document of OpenAPI 3.1', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(JSON.parse(JSON.stringify(document)));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(document.openapi).toBe('3.1.0');
  });

  it('names only schemas that are in it', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference = '']) => reference);
    expect(references.length).toBeGreaterThan(10);
    for (const reference of new Set(references)) {
      expect(reference).toMatch(/^#\/components\/schemas\//);
      expect(document.components.schemas).toHaveProperty(reference.slice('#/components/schemas/'.length));
    }
  });

  it('names routes that answer, each with a status and a body that it describes', async () => {
    const run = await (await scene.as('anna', '/v1/runs', { body: { agent: 'clerk', input: 'Pay.', session: 'chat' } })).json();
    await scene.settled(run.id);
    const [approval] = (await (await scene.as('anna', '/v1/approvals')).json()).items;
    const promise = await (await scene.as('anna', '/v1/runs', { body: { agent: 'careful', input: 'When?' } })).json();
    await scene.settled(promise.id);
    const [waiting] = (await (await scene.as('anna', '/v1/approvals?surface=output')).json()).items;
    const values: Readonly<Record<string, string>> = {
      run: run.id,
      session: run.session,
      approval: approval.id,
      agent: 'clerk',
      chat: 'talk',
    };
    const bodies: Readonly<Record<string, unknown>> = {
      startRun: { agent: 'clerk', input: [{ type: 'text', text: 'Pay.' }] },
      startAndStream: { agent: 'clerk', input: 'Pay.' },
      cancelRun: { reason: 'Enough.' },
      decideApproval: { decision: 'approve', digest: approval.approval.digest },
      agUi: { threadId: 't1', runId: 'x1', messages: [{ id: 'm1', role: 'user', content: 'Pay.' }] },
      aiSdkChat: { id: 'talk', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Pay.' }] }] },
    };
    const called: string[] = [];
    // These come last: the result is there once it was decided, and the others need what is taken away.
    const last = (id: string): number => ['decideApproval', 'getResult', 'cancelRun', 'deleteSession'].indexOf(id);
    for (const { operationId, path, method, responses, requestBody } of operations().toSorted(
      (one, other) => last(one.operationId) - last(other.operationId),
    )) {
      const address = path.replaceAll(/\{(\w+)\}/g, (_all, name) =>
        encodeURIComponent((operationId === 'getWaitingAnswer' ? waiting.id : values[name]) ?? ''),
      );
      const query = operationId === 'getResult' ? '?waitMs=15000' : '';
      const body = bodies[operationId];
      expect([operationId, requestBody !== undefined]).toEqual([operationId, body !== undefined]);
      if (requestBody !== undefined) expect(faultsOf(requestBody.content['application/json']?.schema as object, body)).toBeUndefined();
      const controller = new AbortController();
      const response = await scene.as('anna', `${address}${query}`, {
        method,
        ...(body === undefined ? {} : { body }),
        signal: controller.signal,
      });
      const described = responses[String(response.status)];
      expect([operationId, response.status, described !== undefined]).toEqual([operationId, response.status, true]);
      expect(response.status).toBeLessThan(400);
      const type = response.headers.get('content-type')?.split(';')[0];
      if (type === 'application/json') expect(faultsOf(described?.content?.[type]?.schema ?? {}, await response.json())).toBeUndefined();
      else if (type !== undefined) expect(described?.content).toHaveProperty([type]);
      controller.abort();
      called.push(operationId);
    }
    expect(called).toHaveLength(operations().length);
    expect(called.length).toBeGreaterThanOrEqual(16);
  });

  it('describes problems as they come', async () => {
    for (const { operationId, path, method, responses } of operations()) {
      const address = path.replaceAll(/\{(\w+)\}/g, 'nobody');
      const response = await fetch(`${scene.url}${address}`, { method });
      expect([operationId, response.status]).toEqual([operationId, 401]);
      const schema = responses['401']?.content?.['application/problem+json']?.schema;
      expect(faultsOf(schema ?? {}, await response.json())).toBeUndefined();
    }
  });
});

it('takes no name in the registry of the whole program, where a schema of the same name may stand', () => {
  expect(Object.keys(z.toJSONSchema(z.globalRegistry, { unrepresentable: 'any' }).schemas)).toEqual([]);
});
