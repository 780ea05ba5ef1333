import type { StandardSchema } from '@guardloop/core';
import { defineAgent } from '@guardloop/core';
import { durable, durableAgent, durableClient } from '@guardloop/durable';
import { memoryStore } from '@guardloop/store';
import { say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { anonymous, guardloopServer } from './index.js';

const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hello.')]) });
const runs = durable({ store: memoryStore(), agents: { desk } });
const ofShop = {
  runs: durable({ store: memoryStore(), agents: { desk, clerk: durableAgent(desk, { data: z.object({ shop: z.string() }) }) } }),
  authenticate: anonymous(),
};
const good = { runs, agents: { desk: {} }, authenticate: anonymous() };

describe('options of the server', () => {
  it.each<[string, object, RegExp]>([
    ['none', undefined as never, /needs options/],
    ['no runs', { ...good, runs: undefined }, /needs `runs`/],
    ['no way to say who calls', { ...good, authenticate: undefined }, /needs `authenticate`.*anonymous\(\)/],
    ['a word for it', { ...good, authenticate: 'anyone' }, /needs `authenticate`/],
    ['no agents', { ...good, agents: {} }, /needs `agents`/],
    ['agents as a list', { ...good, agents: ['desk'] }, /needs `agents`/],
    ['an agent that is none', { ...good, agents: { desk: true } }, /`agents\.desk` that is no object/],
    ['a name that no address takes', { ...good, agents: { 'my desk': {} } }, /Register it with the workers under another/],
    ['a misspelt option of an agent', { ...good, agents: { desk: { alow: () => true } } }, /no option `alow`\. Did you mean allow\?/],
    ['a misspelt agent', { ...good, agents: { dessk: {} } }, /offers the agent dessk.*Did you mean desk\? It knows desk\./],
    [
      'an agent that needs data',
      { ...ofShop, agents: { clerk: {} } },
      /the agent clerk, whose runs need data\. Give `agents\.clerk\.data`/,
    ],
    ['a place in traces that is no function', { ...good, traceparent: '00-' }, /`traceparent` that is no function/],
    ['a quarantine that gives nothing back', { ...good, quarantine: { put: () => undefined } }, /`quarantine` that is no store/],
    ['a misspelt option', { ...good, authorise: () => true }, /no option `authorise`\. Did you mean authorize\?/],
    ['a hook that is none', { ...good, rateLimit: 5 }, /`rateLimit` that is no function/],
    ['no number', { ...good, maxBodyBytes: '1mb' }, /`maxBodyBytes` that is no whole number from 1/],
    ['a time below 1', { ...good, timeoutMs: 0 }, /`timeoutMs` that is no whole number from 1, in milliseconds/],
    ['a time that no timer takes', { ...good, maxStreamMs: 3_000_000_000 }, /above 2,147,483,647/],
    ['too many to count', { ...good, maxQueued: 2_000 }, /`maxQueued` above 1,000/],
    ['a prefix with a slash at its end', { ...good, prefix: '/api/' }, /`prefix` that is no path/],
    ['all origins', { ...good, origins: ['*'] }, /`origins`/],
    ['an origin with a path', { ...good, origins: ['https://app.example/'] }, /`origins`/],
    ['hosts with capitals', { ...good, hosts: ['App.example'] }, /`hosts`/],
    ['an unknown protocol', { ...good, protocols: ['agui'] }, /Did you mean ag-ui\?/],
    ['an unknown view', { ...good, show: 'intern' }, /`show`.*Did you mean internal\?/],
    ['a misspelt part to show', { ...good, show: { tool: [] } }, /`show` has no option `tool`\. Did you mean tools\?/],
    ['a part to show that is no switch', { ...good, show: { reasons: 'yes' } }, /`show\.reasons`/],
  ])('are refused: %s', (_name, options, message) => {
    expect(() => guardloopServer(options as never)).toThrow(message);
    expect(() => guardloopServer(options as never)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  it('are taken with the data that the agent needs, and unchecked where no agent is known', () => {
    expect(() => guardloopServer({ ...ofShop, agents: { desk: {}, clerk: { data: () => ({ shop: 'north' }) } } })).not.toThrow();
    // What a schema answers only later is looked at when a run is submitted.
    const validate = () => Promise.reject(new Error('down'));
    const later: StandardSchema = {
      '~standard': { version: 1, vendor: 'own', validate, jsonSchema: { input: () => ({ type: 'object' }) } },
    };
    const slow = durable({ store: memoryStore(), agents: { clerk: durableAgent(desk, { data: later }) } });
    expect(() => guardloopServer({ runs: slow, agents: { clerk: {} }, authenticate: anonymous() })).not.toThrow();
    const optional = durable({ store: memoryStore(), agents: { clerk: durableAgent(desk, { data: z.string().optional() }) } });
    expect(() => guardloopServer({ runs: optional, agents: { clerk: {} }, authenticate: anonymous() })).not.toThrow();
    const client = durableClient({ store: memoryStore() });
    expect(() => guardloopServer({ runs: client, agents: { dessk: {} }, authenticate: anonymous() })).not.toThrow();
  });

  it('put the routes under a prefix of theirs, or none', async () => {
    for (const prefix of ['', '/api/v2']) {
      const app = guardloopServer({ ...good, prefix });
      expect((await app.request(`http://localhost${prefix}/runs`)).status).toBe(200);
      expect((await app.request('http://localhost/v1/runs')).status).toBe(404);
    }
  });

  it('let a server be part of a larger one', async () => {
    const { Hono } = await import('hono');
    const app = new Hono().get('/health', (context) => context.text('well')).route('/', guardloopServer(good));
    expect(await (await app.request('http://localhost/health')).text()).toBe('well');
    expect((await app.request('http://localhost/v1/runs')).status).toBe(200);
    expect((await app.request('http://elsewhere.example/v1/runs')).status).toBe(421);
    const under = new Hono().route('/api', guardloopServer(good));
    const body = JSON.stringify({ agent: 'desk', input: 'Hello.' });
    const started = await under.request('http://localhost/api/v1/runs', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    });
    const { id } = (await started.json()) as { readonly id: string };
    expect(started.headers.get('location')).toBe(`/api/v1/runs/${id}`);
  });
});
