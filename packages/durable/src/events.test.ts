import type { Guardrail, JsonValue, RunEvent } from '@guardloop/core';
import { allow, ask, asTool, defineAgent, defineGuardrail, defineTool, deny, halt, rewrite } from '@guardloop/core';
import { memoryStore } from '@guardloop/store';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { durable, durableAgent } from './index.js';
import type { NumberedEvent } from './types.js';

/** What stands on the screen, and what stood there when each answer was recorded. */
function screen(told: readonly NumberedEvent[]) {
  let text = '';
  const seqs: number[] = [];
  const atEnds: string[] = [];
  for (const { event } of told) {
    if (event.type === 'text.delta') text += event.text;
    else if (event.type === 'text.retract') text = text.slice(0, text.length - event.chars);
    else {
      seqs.push(event.seq);
      if (event.type === 'model.end' && event.parent === undefined) atEnds.push(text);
    }
  }
  return { text, seqs, atEnds };
}

/** Numbers that are the same in every test run. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const words = ['One ', 'two ', 'three ', 'four ', 'five ', 'six ', 'seven ', 'eight.'];
const noFour = defineGuardrail({
  name: 'no-four',
  on: ['output'],
  check: ({ content }) => (content.includes('four') ? deny('no four') : allow()),
});
const windowed = defineGuardrail({
  name: 'windowed',
  on: ['output'],
  window: 8,
  rewrite: ({ content }) => {
    const at = content.indexOf('four');
    return at < 0 ? allow() : rewrite([{ start: at, end: at + 4, with: '****' }], 'no four');
  },
});
const whole = defineGuardrail({
  name: 'whole',
  on: ['output'],
  rewrite: ({ content }) => (content.includes('four') ? rewrite(content.replace('four', 'FOUR'), 'louder') : allow()),
});
const stopping = defineGuardrail({
  name: 'stopping',
  on: ['output'],
  check: ({ content }) => (content.includes('four') ? halt('no four', { reply: 'That is not said here.' }) : allow()),
});
const asking = defineGuardrail({
  name: 'asking',
  on: ['output'],
  check: ({ content }) => (content.includes('four') ? ask('four needs a person') : allow()),
});
const look = defineTool({ name: 'look', description: 'Look.', input: z.object({}), execute: () => 'seen' });
const finish = defineTool({
  name: 'finish',
  description: 'Finish.',
  input: z.object({}),
  endsRun: true,
  execute: () => 'The tool says so.',
});
const held = new Map<string, JsonValue>();
const quarantine = {
  put: async (key: string, value: JsonValue) => void held.set(key, value),
  get: async (key: string) => held.get(key),
  delete: async (key: string) => void held.delete(key),
};

interface Case {
  readonly guardrails?: readonly Guardrail<unknown>[];
  readonly options?: { readonly release?: 'live'; readonly quarantine?: typeof quarantine };
  /** What is on the screen at the end. */
  readonly text: string;
}
const counted = words.join('');
const twice = `Let me look. ${counted}`;
const cases: { readonly [name: string]: Case } = {
  'that nothing guards': { text: twice },
  'behind a window that rewrites': { guardrails: [windowed], text: twice.replace('four', '****') },
  'held until the whole is rewritten': { guardrails: [whole], text: twice.replace('four', 'FOUR') },
  'shown live and rewritten': { guardrails: [whole], options: { release: 'live' }, text: twice.replace('four', 'FOUR') },
  'refused, and answered anew': { guardrails: [noFour], text: 'Let me look. Three, then.' },
  'shown live, taken back, and answered anew': {
    guardrails: [noFour],
    options: { release: 'live' },
    text: 'Let me look. Three, then.',
  },
  'of a run that is blocked': { guardrails: [stopping], options: { release: 'live' }, text: 'Let me look. That is not said here.' },
  'that waits for a person': { guardrails: [asking], options: { quarantine }, text: twice },
};

describe('events', () => {
  it.each(Object.entries(cases))(
    'of text %s: cut anywhere they are the uncut ones',
    { timeout: 60_000 },
    async (_, { guardrails = [], options = {}, text }) => {
      const model = scriptedModel(
        ({ turn }) =>
          turn === 1 ? [say(['Let me ', 'look. ']), callTool('look')] : turn === 2 ? say([...words]) : say(['Three, ', 'then.']),
        { delayMs: 12 },
      );
      const agent = defineAgent({ name: 'desk', instructions: '', model, tools: [look], guardrails });
      const runs = durable({ store: memoryStore(), agents: { desk: durableAgent(agent, { options }) } });
      onTestFinished(() => runs.close({ graceMs: 0 }));
      await runs.worker();
      const ids = ['r1', 'r2', 'r3'];
      for (const id of ids) await runs.submit('desk', 'Count', { id });
      const deciding = ids.map(async (id) => {
        const result = await runs.result(id);
        if (result.status === 'interrupted') await runs.approvals.decide(result.approvals[0]?.id ?? '', 'approve');
      });
      const readers = ids.flatMap((id, index) => [
        (async () => {
          const told: NumberedEvent[] = [];
          for await (const each of runs.events(id)) told.push(each);
          return { id, told };
        })(),
        ...[1, 2, 3].map(async (seed) => {
          const random = randomOf(seed * 97 + index);
          const told: NumberedEvent[] = [];
          for (let isOver = false; !isOver; ) {
            isOver = true;
            let left = random(5);
            const after = told.at(-1)?.number;
            for await (const each of runs.events(id, after === undefined ? {} : { after })) {
              told.push(each);
              left -= 1;
              if (left < 0 && each.event.type !== 'run.end') {
                isOver = false;
                break;
              }
            }
            await new Promise((resolve) => setTimeout(resolve, random(40)));
          }
          return { id, told };
        }),
      ]);
      await Promise.all(deciding);
      for (const { id, told } of await Promise.all(readers)) {
        const result = await runs.result(id, { until: 'end' });
        if (!('events' in result)) throw new Error(result.status);
        expect(auditLog(result.log)).toEqual([]);
        const late: NumberedEvent[] = [];
        for await (const each of runs.events(id)) late.push(each);
        const seen = screen(told);
        expect(seen.seqs).toEqual(result.events.map(({ seq }) => seq));
        expect(seen.text).toBe(text);
        expect(seen.atEnds).toEqual(screen(late).atEnds);
      }
    },
  );

  it('show what a tool gave as the answer, once', async () => {
    const model = scriptedModel([[say('Wait. '), callTool('finish')]]);
    const runs = durable({
      store: memoryStore(),
      agents: { desk: defineAgent({ name: 'desk', instructions: '', model, tools: [finish] }) },
    });
    onTestFinished(() => runs.close({ graceMs: 0 }));
    await runs.worker();
    await runs.submit('desk', 'Go', { id: 'r1' });
    const told: NumberedEvent[] = [];
    for await (const each of runs.events('r1')) told.push(each);
    expect(screen(told).text).toBe('Wait. The tool says so.');
    for (const [index, { number }] of told.entries()) {
      const rest: NumberedEvent[] = [];
      for await (const each of runs.events('r1', { after: number })) rest.push(each);
      expect(screen([...told.slice(0, index + 1), ...rest]).text).toBe('Wait. The tool says so.');
    }
  });

  it('who leaves while he waits is let go at once, and so is who is at it', async () => {
    const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hi.')]) });
    const runs = durable({ store: memoryStore(), agents: { desk } });
    onTestFinished(() => runs.close());
    await runs.submit('desk', 'Go', { id: 'r1' });
    const events = runs.events('r1');
    const next = events.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await events.return?.()).toEqual({ value: undefined, done: true });
    expect(await next).toEqual({ value: undefined, done: true });
    const gone = new AbortController();
    gone.abort();
    expect(await runs.events('r1', { signal: gone.signal }).next()).toEqual({ value: undefined, done: true });
    const failing = runs.events('r1');
    await expect(failing.throw?.(new Error('mine'))).rejects.toThrow('mine');
  });

  it('a run that ended without beginning has none', async () => {
    const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hi.')]) });
    const runs = durable({ store: memoryStore(), agents: { desk } });
    onTestFinished(() => runs.close());
    await runs.submit('desk', 'Go', { id: 'r1' });
    await runs.cancel('r1');
    for await (const _ of runs.events('r1')) throw new Error('there is something');
  });
});

it('the text of an agent used as a tool is seen by observers where it runs; events tell its answer, and only the text of the run itself', async () => {
  const clerk = defineAgent({ name: 'clerk', instructions: '', model: scriptedModel([say(['It is ', 'in stock.'])]) });
  const askClerk = asTool(clerk, { name: 'ask_clerk', description: 'Asks the clerk.', stream: true });
  const model = scriptedModel([callTool('ask_clerk', { input: 'Is it?' }), say(['Yes', '.'])]);
  const desk = defineAgent({ name: 'desk', instructions: '', model, tools: [askClerk] });
  const seen = { desk: '', clerk: '' };
  const observer = (event: RunEvent) => {
    if (event.type === 'text.delta') seen[event.agent as keyof typeof seen] += event.text;
  };
  const runs = durable({ store: memoryStore(), agents: { desk: durableAgent(desk, { options: { observers: [observer] } }) } });
  onTestFinished(() => runs.close());
  await runs.worker();
  await runs.submit('desk', 'Is it there?', { id: 'r1' });
  const told = [];
  for await (const each of runs.events('r1')) told.push(each);
  expect(seen).toEqual({ desk: 'Yes.', clerk: 'It is in stock.' });
  expect(screen(told).text).toBe('Yes.');
  expect(told.map(({ event }) => event)).toContainEqual(
    expect.objectContaining({ type: 'model.end', agent: 'clerk', text: 'It is in stock.' }),
  );
});
