// The server runs where the web's Request and Response are: no Node, and of durable runs nothing but types.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineAgent } from '@guardloop/core';
import { durable } from '@guardloop/durable';
import { memoryStore } from '@guardloop/store';
import { say, scriptedModel } from '@guardloop/testing';
import { Hono } from 'hono';
import { expect, it } from 'vitest';
import { anonymous, guardloopServer } from './index.js';

const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hello.')]) });
const source = fileURLToPath(new URL('.', import.meta.url));

it('imports core, hono and zod at run time, and nothing else', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => /(?<!\.test|\.test-d)\.ts$/.test(name));
  const imported = files.flatMap((name) =>
    [...readFileSync(join(source, name), 'utf8').matchAll(/^(?:import|export)(?! type\b)[^;]*? from '([^.'][^']*)'/gm)].map(
      ([, from]) => from,
    ),
  );
  expect(imported.length).toBeGreaterThan(5);
  expect([...new Set(imported)].sort()).toEqual(['@guardloop/core', '@guardloop/core/model', 'hono', 'hono/cors', 'zod']);
});

it('answers a Request with a Response, without a server around it', async () => {
  const runs = durable({ store: memoryStore(), agents: { desk } });
  const app = guardloopServer({ runs, agents: { desk: {} }, authenticate: anonymous() });
  const response = await app.fetch(
    new Request('http://localhost/v1/runs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agent: 'desk', input: 'Hello.' }),
    }),
  );
  expect(response.status).toBe(201);
  expect(await response.json()).toMatchObject({ agent: 'desk', state: 'queued' });
  await runs.close();
});

it('as part of a larger app leaves the paths of others alone', async () => {
  const runs = durable({ store: memoryStore(), agents: { desk } });
  for (const prefix of ['/v1', '']) {
    const app = new Hono();
    app.route('/', guardloopServer({ runs, agents: { desk: {} }, authenticate: anonymous(), prefix }));
    app.get('/page', (context) => context.html('<p>Hello.</p>'));
    const theirs = await app.request('https://shop.example/page', { headers: { origin: 'https://other.example' } });
    expect(theirs.status).toBe(200);
    expect(theirs.headers.get('content-security-policy')).toBeNull();
    expect(theirs.headers.get('cache-control')).toBeNull();
    const ours = await app.request(`http://localhost${prefix}/runs`, { headers: { origin: 'https://other.example' } });
    expect(ours.status).toBe(403);
    expect(ours.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect((await app.request(`https://shop.example${prefix}/runs`)).status).toBe(421);
  }
  await runs.close();
});
