import type { GuardInfo, LogEvent, RunEvent, RunResult } from '@guardloop/core';
import { allow, ask, asTool, deny, halt, memorySession, resume, rewrite, run, stream, withContext } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sound, unpaired } from '../scenarios/sound.js';

interface Customer {
  readonly canary: string;
  readonly fate: number;
}

const { defineAgent, defineTool, defineGuardrail } = withContext<Customer>();
const runs = 1_000;
const canary = /canary-\d+-/g;
const canaryOf = (index: number): string => `canary-${index}-`;
/** What a run is to come to, by its number. */
const fates = ['handoff', 'denied', 'halted', 'approved', 'cancelled', 'rewritten'] as const;

/** Lets others go first, in an order of its own. */
const turns = async (count: number): Promise<void> => {
  for (let index = 0; index < count; index += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** What was seen together in one place that belongs to one run: only its own canaries may be there. */
const mixed: string[] = [];
function own(place: string, seen: unknown, expected: string): void {
  for (const found of JSON.stringify(seen).match(canary) ?? [])
    if (found !== expected) mixed.push(`${place} of ${expected} holds ${found}`);
}

/** What guardrails were told beside their subject. */
function seenBy(name: string, { context, run, messages, labels, untrustedReads }: GuardInfo<Customer>): void {
  own(name, { run, messages, labels, untrustedReads }, context.canary);
  if (!run.startsWith(context.canary)) mixed.push(`${name} of ${context.canary} is asked for the run ${run}`);
}

const guards = [
  defineGuardrail({
    name: 'sees-input',
    on: ['input', 'output'],
    check: async (subject, info) => {
      own('sees-input', subject, info.context.canary);
      seenBy('sees-input', info);
      await turns(info.context.fate);
      return allow();
    },
  }),
  defineGuardrail({
    name: 'masks',
    on: ['output'],
    rewrite: ({ content }, info) => {
      seenBy('masks', info);
      const at = content.indexOf('MASK');
      return at < 0 ? allow() : rewrite([{ start: at, end: at + 4, with: info.context.canary }], `masked for ${info.context.canary}`);
    },
  }),
  defineGuardrail({
    name: 'refuses',
    on: ['toolInput'],
    check: async (subject, info) => {
      own('refuses', subject, info.context.canary);
      seenBy('refuses', info);
      await turns(1);
      const { canary: reason, fate } = info.context;
      if (subject.tool !== 'look_up') return allow();
      if (fates[fate] === 'denied') return deny(reason);
      if (fates[fate] === 'halted') return halt(reason, { reply: `reply ${reason}` });
      return fates[fate] === 'approved' ? ask(reason) : allow();
    },
  }),
  defineGuardrail({
    name: 'sees-results',
    on: ['toolOutput', 'handoff'],
    check: (subject, info) => {
      own('sees-results', subject, info.context.canary);
      seenBy('sees-results', info);
      return allow();
    },
  }),
];

const lookUp = defineTool({
  name: 'look_up',
  description: 'Look up.',
  input: z.object({ id: z.string() }),
  flow: { effect: 'read', results: 'untrusted' },
  execute: async ({ id }, { context, idempotencyKey, progress, signal }) => {
    if (!id.startsWith(context.canary)) mixed.push(`look_up of ${context.canary} is given ${id}`);
    if (!idempotencyKey.startsWith(context.canary)) mixed.push(`the key of ${context.canary} is ${idempotencyKey}`);
    progress(context.fate);
    await turns(context.fate);
    if (signal.aborted) throw new Error(`aborted ${context.canary}`);
    return { found: `${context.canary} found` };
  },
});

/** Acts on what stands in the request alone, so nothing of another run's can help it. */
const model = scriptedModel(
  async ({ agent, messages, system }) => {
    const whole = JSON.stringify([system, messages]);
    const found = [...new Set(whole.match(canary))];
    if (found.length !== 1) mixed.push(`a request of ${agent} holds ${found.join(' and ')}`);
    const [id = ''] = found;
    await turns(Number(id.split('-')[1]) % 3);
    const answered = messages.filter(({ role }) => role === 'tool').length;
    if (agent === 'helper') return say(`helped ${id}`);
    if (agent === 'billing') return say(`billing ${id} MASK`);
    if (answered === 0) return [callTool('look_up', { id }), callTool('ask_helper', { input: `help ${id}` })];
    return whole.includes('fate 0') ? callTool('transfer_to_billing') : say(`done ${id} MASK`);
  },
  { record: false },
);
const instructions = async ({ context }: { readonly context: Customer }): Promise<string> => {
  await turns(1);
  return `Serve ${context.canary}, fate ${context.fate}.`;
};
const helper = defineAgent({ name: 'helper', instructions, model });
const billing = defineAgent({ name: 'billing', description: 'Bills.', instructions, model });
const desk = defineAgent({
  name: 'desk',
  instructions,
  model,
  tools: [lookUp, asTool(helper, { name: 'ask_helper', description: 'Ask.' })],
  handoffs: [billing],
});

const store = memorySession();
interface Ended {
  readonly index: number;
  readonly result: RunResult;
  readonly watched: readonly RunEvent[];
}

async function oneRun(index: number): Promise<Ended> {
  const id = canaryOf(index);
  const context: Customer = { canary: id, fate: index % fates.length };
  const stop = new AbortController();
  const watched: RunEvent[] = [];
  const shared = {
    context,
    guardrails: guards,
    signal: stop.signal,
    observers: [(event: RunEvent) => void watched.push(event)],
  };
  const session = { store, id: `s-${id}` };
  const options = { ...shared, session, runId: `${id}run` };
  const input = [
    {
      type: 'text' as const,
      text: `I am ${id}`,
      label: { origin: 'user' as const, integrity: index % 2 === 0 ? ('trusted' as const) : ('untrusted' as const) },
    },
  ];
  if (fates[context.fate] === 'cancelled') void turns(20 + (index % 40)).then(() => stop.abort(new Error(`stop ${id}`)));
  let result: RunResult;
  if (index % 4 < 2) result = await run(desk, input, options);
  else {
    const events = stream(desk, input, options);
    for await (const event of events) own('the stream', event, id);
    result = await events.result;
  }
  if (result.status !== 'interrupted') return { index, result, watched };
  const [approval] = result.approvals;
  own('the approvals', result.approvals, id);
  expect(approval?.id).toBe(`${options.runId}/p1`);
  return { index, result: await resume(desk, session, { ...shared, decisions: { [approval?.id ?? '']: 'approve' } }), watched };
}

describe('a thousand runs at once over shared agents, tools, guardrails and one store', () => {
  let ended: readonly Ended[] = [];
  beforeAll(async () => {
    ended = await Promise.all(Array.from({ length: runs }, (_, index) => oneRun(index)));
  }, 120_000);

  it('each end as they would alone', () => {
    const expected = { handoff: 'completed', denied: 'completed', halted: 'blocked', approved: 'completed', rewritten: 'completed' };
    for (const { index, result } of ended) {
      const fate = fates[index % fates.length] ?? 'handoff';
      if (fate === 'cancelled') expect(['cancelled', 'completed']).toContain(result.status);
      else expect(result.status, `run ${index}, ${fate}`).toBe(expected[fate]);
      if (result.status === 'completed') {
        const id = canaryOf(index);
        expect(result.output).toBe(fate === 'handoff' ? `billing ${id} ${id}` : `done ${id} ${id}`);
      }
      if (result.status === 'blocked')
        expect([result.by, result.reason, result.reply]).toEqual(['refuses', canaryOf(index), `reply ${canaryOf(index)}`]);
    }
    const cancelled = ended.filter(({ result }) => result.status === 'cancelled').length;
    expect(cancelled).toBeGreaterThan(10);
  });

  it('leak nothing into each other: no context, label, verdict, text, id or approval', async () => {
    expect(mixed).toEqual([]);
    for (const { index, result, watched } of ended) {
      own('the result', result, canaryOf(index));
      own('what observers saw', watched, canaryOf(index));
      own('the store', await store.load(`s-${canaryOf(index)}`), canaryOf(index));
    }
    expect(mixed).toEqual([]);
  });

  it('keep the labels they were given', () => {
    for (const { index, result } of ended) {
      const [first] = result.messages;
      if (first) expect(first.label.integrity).toBe(index % 2 === 0 ? 'trusted' : 'untrusted');
    }
  });

  it('are clean to the audit, and the store holds what the result does', { timeout: 60_000 }, async () => {
    for (const { index, result } of ended) {
      await sound(Promise.resolve(result));
      expect(unpaired(result.messages)).toEqual([]);
      expect((await store.load(`s-${canaryOf(index)}`)).length).toBe(result.log.events.length);
    }
  });

  it('have each asked every guardrail that stood there', () => {
    const verdicts = ({ result }: Ended): string =>
      result.log.events
        .flatMap((event: LogEvent) => (event.type === 'guard.verdict' ? [`${event.guardrail} ${event.surface} ${event.action}`] : []))
        .sort()
        .join('\n');
    for (const fate of fates) {
      if (fate === 'cancelled') continue;
      const kinds = new Set(ended.filter(({ index }) => fates[index % fates.length] === fate).map(verdicts));
      // A halt does not wait for its siblings; everyone else is asked the same.
      if (fate !== 'halted') expect(kinds.size, fate).toBe(1);
    }
  });
});

describe('a thousand runs over a hundred sessions, in a queue', () => {
  it('stand in each session one after another, in the order in which they came', { timeout: 120_000 }, async () => {
    const shared = memorySession();
    const echo = scriptedModel(
      async ({ messages }) => {
        const found = [...new Set(JSON.stringify(messages).match(/session-\d+-/g))];
        await turns(1);
        return say(`${found.join()} ${messages.filter(({ role }) => role === 'user').length}`);
      },
      { record: false },
    );
    const agent = defineAgent({ name: 'echo', instructions: '', model: echo, guardrails: guards.slice(1, 2) });
    const results = await Promise.all(
      Array.from({ length: runs }, async (_, index) => {
        const session = index % 100;
        const context: Customer = { canary: `session-${session}-`, fate: 0 };
        const result = await run(agent, `session-${session}- says ${Math.floor(index / 100)}`, {
          context,
          session: { store: shared, id: `${session}`, onConflict: 'queue' },
          runId: `session-${session}-${Math.floor(index / 100)}`,
        });
        return { session, nth: Math.floor(index / 100), result };
      }),
    );
    for (const { session, nth, result } of results)
      expect(result.status === 'completed' && result.output).toBe(`session-${session}- ${nth + 1}`);
    for (let session = 0; session < 100; session += 1) {
      const last = results.find((each) => each.session === session && each.nth === 9);
      if (last) await sound(Promise.resolve(last.result));
      const texts = JSON.stringify(last?.result.messages).match(/session-\d+- says \d/g);
      expect(texts).toEqual(Array.from({ length: 10 }, (_, nth) => `session-${session}- says ${nth}`));
    }
  });
});
