import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { allow, asTool, defineAgent, defineGuardrail, defineTool, deny } from '@guardloop/core';
import { durableAgent } from '@guardloop/durable';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { gate, openScene, readEvents, textOf } from '../test/scene.js';
import { sseResponse, sseText } from './sse.js';

const words = Array.from({ length: 40 }, (_, index) => `w${index} `);

describe('a stream of a run', () => {
  it('shows every character once to a client that comes back with the last number, wherever it was cut', async () => {
    const teller = defineAgent({ name: 'teller', instructions: '', model: scriptedModel([say(words)], { delayMs: 8 }) });
    const scene = await openScene({ teller }, { heartbeatMs: 20 });
    try {
      const run = await (await scene.as('anna', '/v1/runs', { body: { agent: 'teller', input: 'Tell.' } })).json();
      const got: Awaited<ReturnType<typeof readEvents>> = [];
      for (let cut = 0; cut < 100 && got.at(-1)?.event !== 'run.end'; cut += 1) {
        const last = got.findLast(({ id }) => id !== undefined)?.id;
        const response = await scene.as('anna', `/v1/runs/${run.id}/events`, {
          headers: last === undefined ? {} : { 'last-event-id': last },
        });
        got.push(...(await readEvents(response, (events) => events.length >= 2)));
      }
      expect(textOf(got)).toBe(words.join(''));
      expect(got.filter(({ event }) => event === 'run.start')).toHaveLength(1);
      expect(got.filter(({ event }) => event === 'text.delta').length).toBeGreaterThan(2);
      // Read later from its beginning, it says the same.
      const again = await readEvents(await scene.as('anna', `/v1/runs/${run.id}/events`));
      expect(textOf(again)).toBe(words.join(''));
      // And from each number on, the rest of it.
      for (const [index, { id }] of got.entries()) {
        const response = await scene.as('anna', `/v1/runs/${run.id}/events?after=${encodeURIComponent(id ?? '')}`);
        if (index === got.length - 1) expect(response.status).toBe(204);
        else expect(textOf(got.slice(0, index + 1)) + textOf(await readEvents(response))).toBe(words.join(''));
      }
    } finally {
      await scene.close();
    }
  });

  it('goes on over a wait for people, and ends with the run', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pay.', input: z.object({}), approval: true, execute: () => 'paid' });
    const clerk = defineAgent({
      name: 'clerk',
      instructions: '',
      model: scriptedModel([callTool('pay', {}), say('Settled.')]),
      tools: [pay],
    });
    const scene = await openScene({ clerk }, { heartbeatMs: 20 });
    try {
      const response = await scene.as('anna', '/v1/runs/stream', { body: { agent: 'clerk', input: 'Pay.' } });
      const reading = readEvents(response);
      await scene.settled(response.headers.get('guardloop-run') ?? '');
      const [asked] = (await (await scene.as('anna', '/v1/approvals')).json()).items;
      await scene.as('anna', `/v1/approvals/${asked.id}/decision`, { body: { decision: 'approve', digest: asked.approval.digest } });
      expect((await reading).map(({ event }) => event)).toEqual([
        'run.start',
        'approval',
        'approval.end',
        'tool.start',
        'tool.end',
        'text.delta',
        'text.end',
        'run.end',
      ]);
    } finally {
      await scene.close();
    }
  });

  it('ends for a run that was cancelled before it began', async () => {
    const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hello.')]) });
    const scene = await openScene({ desk }, {}, { isWorking: false });
    try {
      const run = await (await scene.as('anna', '/v1/runs', { body: { agent: 'desk', input: 'Hi.' } })).json();
      const reading = scene.as('anna', `/v1/runs/${run.id}/events`).then((response) => readEvents(response));
      await scene.as('anna', `/v1/runs/${run.id}/cancel`, { body: {} });
      expect((await reading).at(-1)?.data).toEqual({ type: 'run.end', run: run.id, outcome: { status: 'cancelled' } });
      expect((await scene.as('anna', `/v1/runs/${run.id}/events`, { headers: { 'last-event-id': '0' } })).status).toBe(204);
    } finally {
      await scene.close();
    }
  });

  it('never shows what was refused, nor why, unless it is an internal one', async () => {
    const polite = defineGuardrail({
      name: 'polite-words',
      on: ['output'],
      check: ({ content }) => (content.includes('stupid') ? deny('says the word with s') : allow()),
    });
    const guarded = defineAgent({
      name: 'guarded',
      instructions: '',
      model: scriptedModel([say(['You are ', 'stupid.']), say('Gladly.')]),
      guardrails: [polite],
    });
    const halted = defineAgent({
      name: 'halted',
      instructions: '',
      model: scriptedModel(() => say('How stupid.')),
      guardrails: [polite],
      refusal: 'I cannot say that.',
    });
    const outside = await openScene({ guarded, halted });
    const inside = await openScene({ guarded, halted }, { show: 'internal' });
    try {
      const read = async (scene: typeof outside, agent: string) =>
        readEvents(await scene.as('anna', '/v1/runs/stream', { body: { agent, input: 'Say it.' } }));
      const shown = await read(outside, 'guarded');
      expect(textOf(shown)).toBe('Gladly.');
      expect(JSON.stringify(shown)).not.toMatch(/stupid|word with s|polite-words/);
      const blocked = await read(outside, 'halted');
      expect(textOf(blocked)).toBe('I cannot say that.');
      expect(blocked.at(-1)?.data.outcome).toEqual({ status: 'blocked', reply: 'I cannot say that.' });
      expect(JSON.stringify(blocked)).not.toMatch(/stupid|word with s|polite-words/);
      const verdict = (await read(inside, 'guarded')).find(({ event }) => event === 'verdict');
      expect(verdict?.data).toMatchObject({ guardrail: 'polite-words', action: 'deny', reason: 'says the word with s' });
      expect((await read(inside, 'halted')).at(-1)?.data.outcome.refusal).toMatchObject({ by: 'polite-words' });
    } finally {
      await outside.close();
      await inside.close();
    }
  });

  it('says why a call was refused only where reasons are shown, not where its tool is', async () => {
    const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({ at: z.string() }), execute: ({ at }) => `saw ${at}` });
    const careful = defineGuardrail({
      name: 'careful-eyes',
      on: ['toolInput', 'toolOutput'],
      check: (call) =>
        JSON.stringify(call.content).includes(call.surface === 'toolInput' ? 'sun' : 'moon') ? deny('is on the list') : allow(),
    });
    const looker = defineAgent({
      name: 'looker',
      instructions: '',
      model: scriptedModel(({ turn }) => (turn <= 2 ? callTool('look', { at: turn === 1 ? 'sun' : 'moon' }) : say('Done.'))),
      tools: [look],
      guardrails: [careful],
    });
    const shown = await openScene({ looker }, { show: { tools: ['look'] }, protocols: ['ag-ui', 'ai-sdk'] });
    const told = await openScene({ looker }, { show: { tools: ['look'], reasons: true } });
    try {
      const body = { agent: 'looker', input: 'Look.' };
      const said = await (await shown.as('anna', '/v1/runs/stream', { body })).text();
      expect(said).toContain('"status":"denied"');
      expect(said).not.toMatch(/on the list|careful-eyes/);
      const agUi = { threadId: 'a', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Look.' }] };
      expect(await (await shown.as('anna', '/v1/ag-ui/looker', { body: agUi })).text()).not.toMatch(/on the list|careful-eyes/);
      const chat = { id: 'b', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Look.' }] }] };
      expect(await (await shown.as('anna', '/v1/ai/looker', { body: chat })).text()).not.toMatch(/on the list|careful-eyes/);
      expect(await (await told.as('anna', '/v1/runs/stream', { body })).text()).toMatch(/on the list/);
    } finally {
      await shown.close();
      await told.close();
    }
  });

  it('says why an agent used as a tool was refused only where reasons are shown', async () => {
    const polite = defineGuardrail({
      name: 'polite-words',
      on: ['output'],
      check: ({ content }) => (content.includes('stupid') ? deny('says the word with s') : allow()),
    });
    const clerk = defineAgent({ name: 'clerk', instructions: '', model: scriptedModel(() => say('stupid')), guardrails: [polite] });
    const asking = defineAgent({
      name: 'asking',
      instructions: '',
      model: scriptedModel(({ turn }) => (turn === 1 ? callTool('ask', { input: 'Say it.' }) : say('Done.'))),
      tools: [asTool(clerk, { name: 'ask', description: 'Asks.' })],
    });
    const shown = await openScene({ asking }, { show: { tools: 'all' }, protocols: ['ag-ui', 'ai-sdk'] });
    try {
      const messages = [{ id: 'm', role: 'user', content: 'Ask.', parts: [{ type: 'text', text: 'Ask.' }] }];
      for (const [path, body] of [
        ['/v1/runs/stream', { agent: 'asking', input: 'Ask.' }],
        ['/v1/ag-ui/asking', { threadId: 'a', runId: 'r', messages }],
        ['/v1/ai/asking', { id: 'b', messages }],
      ] as const) {
        const said = await (await shown.as('anna', path, { body })).text();
        expect(said).toContain('Done.');
        expect(said).not.toMatch(/word with s|polite-words/);
      }
    } finally {
      await shown.close();
    }
  });

  it('says of a failure no more than that there was one', async () => {
    const broken = defineAgent({
      name: 'broken',
      instructions: '',
      model: scriptedModel(() => {
        throw new Error('password hunter2 was refused');
      }),
    });
    const scene = await openScene({ broken });
    try {
      const events = await readEvents(await scene.as('anna', '/v1/runs/stream', { body: { agent: 'broken', input: 'Go.' } }));
      expect(events.at(-1)?.data.outcome).toEqual({ status: 'failed' });
      const { id } = (await (await scene.as('anna', '/v1/runs')).json()).items[0];
      expect(await (await scene.as('anna', `/v1/runs/${id}/result`)).json()).toEqual({ status: 'failed' });
    } finally {
      await scene.close();
    }
  });

  it('counts for its caller as long as it is open', async () => {
    const hold = gate();
    const slow = defineAgent({
      name: 'slow',
      instructions: '',
      model: scriptedModel(async () => {
        await hold.opened;
        return say('Done.');
      }),
    });
    const scene = await openScene({ slow }, { maxStreams: 2 });
    try {
      const run = await (await scene.as('anna', '/v1/runs', { body: { agent: 'slow', input: 'Go.' } })).json();
      const path = `/v1/runs/${run.id}/events`;
      const controllers = [new AbortController(), new AbortController()];
      // Kept to the end: a response that nobody holds is cancelled when it is collected.
      const open = await Promise.all(controllers.map(({ signal }) => scene.as('anna', path, { signal })));
      expect(open.map(({ status }) => status)).toEqual([200, 200]);
      expect((await scene.as('anna', path, { method: 'HEAD' })).status).toBe(429);
      expect((await scene.as('anna', path)).status).toBe(429);
      expect((await scene.as('anna', '/v1/runs/stream', { body: { agent: 'slow', input: 'Go.' } })).status).toBe(429);
      expect((await scene.store.runs.list()).items).toHaveLength(1);
      controllers[0]?.abort();
      const again = async (): Promise<number> => {
        const controller = new AbortController();
        const { status } = await scene.as('anna', path, { signal: controller.signal });
        controller.abort();
        return status;
      };
      await expect.poll(again, { timeout: 15_000, interval: 50 }).toBe(200);
      controllers[1]?.abort();
      await Promise.allSettled(open.map((response) => response.text()));
    } finally {
      hold.open();
      await scene.close();
    }
  });

  it('counts before its run is begun: of many at once those that are refused begin nothing', async () => {
    const hold = gate();
    const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Done.')]) });
    const data = async () => {
      await hold.opened;
      return {};
    };
    const agents = { desk: durableAgent(desk, { data: z.object({}) }) };
    const scene = await openScene(agents, { maxStreams: 1, agents: { desk: { data } } });
    try {
      const body = { agent: 'desk', input: 'Go.' };
      const coming = [1, 2, 3].map(() => scene.as('anna', '/v1/runs/stream', { body }));
      const refused = await Promise.any(coming);
      expect(refused.status).toBe(429);
      hold.open();
      const responses = await Promise.all(coming);
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 429, 429]);
      expect((await scene.store.runs.list()).items).toHaveLength(1);
      for (const response of responses) await response.text();
      // What was refused, or is no stream in the end, counts no more.
      expect((await scene.as('anna', '/v1/runs/stream', { body: { agent: 'nobody', input: 'Go.' } })).status).toBe(404);
      expect((await scene.as('anna', '/v1/runs/stream', { body })).status).toBe(200);
    } finally {
      await scene.close();
    }
  });

  it('does not count where its answer came too late to be given', async () => {
    let waitMs = 100;
    const scene = await openScene(
      { desk: defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hello.')]) }) },
      {
        timeoutMs: 50,
        maxStreams: 1,
        authorize: async () => {
          await delay(waitMs);
          return undefined;
        },
      },
    );
    try {
      const run = await (await scene.as('anna', '/v1/runs', { body: { agent: 'desk', input: 'Hello.' } })).json();
      await scene.settled(run.id);
      expect((await scene.as('anna', `/v1/runs/${run.id}/events`)).status).toBe(503);
      await delay(150);
      waitMs = 0;
      expect(textOf(await readEvents(await scene.as('anna', `/v1/runs/${run.id}/events`)))).toBe('Hello.');
    } finally {
      await scene.close();
    }
  });

  it('holds up neither the run nor the server for a client that does not read', async () => {
    const long = Array.from({ length: 60 }, (_, index) => `${index}`.repeat(60_000));
    const talker = defineAgent({ name: 'talker', instructions: '', model: scriptedModel([say(long)]) });
    const scene = await openScene({ talker });
    const controllers = [1, 2, 3].map(() => new AbortController());
    try {
      const run = await (await scene.as('anna', '/v1/runs', { body: { agent: 'talker', input: 'Talk.' } })).json();
      for (const { signal } of controllers) expect((await scene.as('anna', `/v1/runs/${run.id}/events`, { signal })).status).toBe(200);
      expect(await scene.settled(run.id)).toBe('completed');
      const reader = await readEvents(await scene.as('anna', `/v1/runs/${run.id}/events`));
      expect(textOf(reader)).toBe(long.join(''));
    } finally {
      for (const controller of controllers) controller.abort();
      await scene.close();
    }
  });

  it('is cut off after its time from a client that does not read', async () => {
    const long = Array.from({ length: 60 }, (_, index) => `${index}`.repeat(60_000));
    const talker = defineAgent({ name: 'talker', instructions: '', model: scriptedModel([say(long)]) });
    const scene = await openScene({ talker }, { maxStreamMs: 200, heartbeatMs: 100 });
    try {
      const run = await (await scene.as('anna', '/v1/runs', { body: { agent: 'talker', input: 'Talk.' } })).json();
      await scene.settled(run.id);
      const closed = new Promise<true>((resolve) => {
        scene.server.once('connection', (socket: Socket) => socket.once('close', () => resolve(true)));
      });
      const client = connect(scene.port, '127.0.0.1').pause();
      client.on('error', () => undefined);
      client.write(`GET /v1/runs/${run.id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer anna\r\n\r\n`);
      expect(await Promise.race([closed, delay(3_000, false)])).toBe(true);
      client.destroy();
      expect(scene.errors).toEqual([]);
    } finally {
      await scene.close();
    }
  });

  it('refuses a number that is none', async () => {
    const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hello.')]) });
    const scene = await openScene({ desk }, {}, { isWorking: false });
    try {
      const run = await (await scene.as('anna', '/v1/runs', { body: { agent: 'desk', input: 'Hi.' } })).json();
      for (const after of ['-1', 'x', '1e9', '../..', '9'.repeat(400), '1:2', "1'--"])
        expect([after, (await scene.as('anna', `/v1/runs/${run.id}/events?after=${encodeURIComponent(after)}`)).status]).toEqual([
          after,
          400,
        ]);
    } finally {
      await scene.close();
    }
  });
});

describe('server-sent events', () => {
  it('hold one message each, whatever stands in it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), fc.jsonValue(), (event, id, value) => {
        const text = sseText({ event, id, data: JSON.stringify(value) });
        expect(text.endsWith('\n\n')).toBe(true);
        const lines = text.slice(0, -2).split(/\r\n|\r|\n/);
        expect(lines.map((line) => line.slice(0, line.indexOf(':')))).toEqual(['event', 'id', 'data']);
        expect(JSON.parse(lines[2]?.slice('data: '.length) ?? '')).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 500, seed: 7 },
    );
  });

  it('are taken only as fast as they are read, and end their source when nobody reads any more', async () => {
    let taken = 0;
    let ended = 0;
    async function* source(): AsyncGenerator<{ readonly data: string }> {
      try {
        for (;;) {
          taken += 1;
          yield { data: String(taken) };
        }
      } finally {
        ended += 1;
      }
    }
    const response = sseResponse(source, { heartbeatMs: 1_000, maxMs: 60_000, onEnd: () => undefined });
    await delay(20);
    expect(taken).toBe(0);
    const reader = response.body?.getReader();
    for (let read = 0; read < 3; read += 1) await reader?.read();
    await delay(20);
    expect(taken).toBeLessThanOrEqual(4);
    await reader?.cancel();
    await expect.poll(() => ended).toBe(1);
  });

  it('break off where their source fails, once', async () => {
    let overs = 0;
    async function* failing(): AsyncGenerator<{ readonly data: string }> {
      yield { data: '1' };
      throw new Error('the store is down');
    }
    const response = sseResponse(failing, {
      heartbeatMs: 1_000,
      maxMs: 60_000,
      onEnd: () => {
        overs += 1;
      },
    });
    await expect(response.text()).rejects.toThrow('the store is down');
    expect(overs).toBe(1);
  });

  it('say in silence that they are there, and end after their time', async () => {
    let isAborted = false;
    async function* silent(signal: AbortSignal): AsyncGenerator<{ readonly data: string }> {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      isAborted = true;
    }
    let overs = 0;
    const response = sseResponse(silent, {
      heartbeatMs: 5,
      maxMs: 60,
      onEnd: () => {
        overs += 1;
      },
    });
    expect(await response.text()).toMatch(/^(: still here\n\n)+$/);
    expect(overs).toBe(1);
    await expect.poll(() => isAborted).toBe(true);
  });
});
