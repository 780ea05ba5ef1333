import type { Agent, Answer, Decision, Guardrail, Limits, Log, Model, ModelEvent, RunEvent, RunResult, Subject } from '@guardloop/core';
import { allow, ask, asTool, defineAgent, defineGuardrail, defineTool, deny, halt, resume, rewrite, run, stream } from '@guardloop/core';
import { auditLog, cutAnywhere, normalLog } from '@guardloop/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { openQuarantine } from '../canaries/kit.js';
import { hash } from '../promises/world.js';
import { levels, ofType, surfaces } from './tree.js';

/** What becomes of a run of three levels: all a function of its seed. */
interface Plan {
  readonly seed: number;
  /** Percent of answers that refuse or halt, of each guardrail. */
  readonly refusals: number;
  readonly limits: { readonly [level: string]: { readonly [limit in keyof Limits]?: number | undefined } };
}

const plans: fc.Arbitrary<Plan> = fc.record({
  seed: fc.integer({ min: 0, max: 1_000_000 }),
  refusals: fc.constantFrom(0, 2, 5),
  limits: fc.record({
    front: fc.record({
      toolCalls: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }),
      tokens: fc.option(fc.integer({ min: 50, max: 500 }), { nil: undefined }),
    }),
    desk: fc.record({ toolCalls: fc.option(fc.integer({ min: 0, max: 8 }), { nil: undefined }), turns: fc.integer({ min: 1, max: 6 }) }),
    clerk: fc.record({ turns: fc.integer({ min: 1, max: 6 }), handoffs: fc.integer({ min: 0, max: 2 }) }),
  }),
});

const chance = (percent: number, ...words: readonly (string | number)[]): boolean => hash(...words) % 1_000 < percent * 10;

function modelOf(seed: number): Model {
  return {
    id: 'random',
    provider: 'random',
    async *stream({ agent, turn, tools, messages, toolChoice }): AsyncGenerator<ModelEvent> {
      const place = [seed, agent, turn, messages[0]?.id.replace(/^r[^/]*/, '') ?? ''] as const;
      if (chance(30, 'late', ...place)) await new Promise((resolve) => setTimeout(resolve, 0));
      const count = turn > 3 || toolChoice === 'none' ? 0 : hash('count', ...place) % 4;
      if (count === 0 || chance(50, 'words', ...place)) yield { type: 'text.delta', text: `${agent} says ${hash('text', ...place) % 50}` };
      for (let index = 0; index < count; index += 1) {
        const tool = tools[hash('tool', index, ...place) % tools.length];
        const word = `${hash('input', index, ...place) % 9}`;
        yield {
          type: 'tool.call',
          call: { name: tool?.name ?? 'nothing', input: tool?.name.startsWith('transfer') ? {} : { input: word } },
        };
      }
      yield { type: 'end', stopReason: count > 0 ? 'tools' : 'stop', usage: { requests: 1, inputTokens: 6, outputTokens: 4 } };
    },
  };
}

function guardOf({ seed, refusals }: Plan, name: string): Guardrail<unknown> {
  const answer = (phase: string, { surface, content }: Subject) => {
    const draw = hash(seed, name, phase, surface, content) % 1_000;
    if (draw < refusals * 10) return deny(`${name} says no`);
    if (draw < refusals * 15) return halt(`${name} says stop`);
    if (draw < refusals * 25 && (surface === 'toolInput' || surface === 'output' || surface === 'handoff'))
      return ask(`${name} wants a person`);
    if (draw < refusals * 27) throw new Error('broken');
    if (phase === 'rewrite' && draw > 960)
      return surface === 'toolInput' ? rewrite({ input: 'clean' }, 'cleaned') : rewrite(`${content}!`, 'marked');
    return allow();
  };
  const later = (phase: string) => (subject: Subject) =>
    chance(30, seed, name, phase, subject.content, 'later')
      ? (Promise.resolve().then(() => answer(phase, subject)) as never)
      : (answer(phase, subject) as never);
  return defineGuardrail({ name, on: [...surfaces], rewrite: later('rewrite'), check: later('check') }) as never;
}

interface Built {
  readonly agent: Agent<unknown, Answer>;
  readonly guardrails: readonly Guardrail<unknown>[];
  readonly effects: string[];
}

function build(plan: Plan): Built {
  const effects: string[] = [];
  const input = z.object({ input: z.string() });
  const model = modelOf(plan.seed);
  const tools = (['pay', 'send', 'look'] as const).map((name) =>
    defineTool({
      name,
      description: name,
      input,
      approval: name === 'pay',
      flow: { effect: name === 'look' ? 'read' : 'send' },
      execute: async ({ input: word }, { idempotencyKey }) => {
        if (name !== 'look') effects.push(idempotencyKey);
        if (chance(40, plan.seed, word, 'slow')) await new Promise((resolve) => setTimeout(resolve, 0));
        if (chance(10, plan.seed, word, name, 'fails')) throw new Error(`no ${word}`);
        return `${name} ${word}`;
      },
    }),
  );
  const second = defineAgent({ name: 'second', instructions: 'Second.', model, tools, guardrails: [guardOf(plan, 'of-second')] });
  const clerk = defineAgent({
    name: 'clerk',
    instructions: 'Clerk.',
    model,
    tools,
    handoffs: [second],
    guardrails: [guardOf(plan, 'of-clerk')],
  });
  const askClerk = asTool(clerk, { name: 'ask_clerk', description: 'Asks.', limits: plan.limits.clerk });
  const desk = defineAgent({
    name: 'desk',
    instructions: 'Desk.',
    model,
    tools: [...tools, askClerk],
    guardrails: [guardOf(plan, 'of-desk')],
  });
  const askDesk = asTool(desk, { name: 'ask_desk', description: 'Asks.', limits: plan.limits.desk });
  const agent = defineAgent({
    name: 'front',
    instructions: 'Front.',
    model,
    tools: [...tools, askDesk],
    guardrails: [guardOf(plan, 'of-front')],
  });
  return { agent: agent as never, guardrails: [guardOf(plan, 'of-run')], effects };
}

function decide(seed: number, result: RunResult): Record<string, Decision> {
  if (result.status !== 'interrupted') return {};
  return Object.fromEntries(
    result.approvals.flatMap(({ id, surface, input }): [string, Decision][] => {
      const draw = hash(seed, id.slice(id.indexOf('/')), 'decision') % 10;
      if (draw === 0 && result.approvals.length > 1) return [];
      if (draw < 3) return [[id, { reject: 'not today' }]];
      if (draw < 5 && surface === 'toolInput') return [[id, { edit: { ...input, input: 'edited' } }]];
      if (draw === 5 && surface === 'toolInput') return [[id, { result: 'done by hand' }]];
      return [[id, 'approve']];
    }),
  );
}

async function drive(plan: Plan, mode: 'run' | 'stream', from?: Log) {
  const { agent, guardrails, effects } = build(plan);
  const quarantine = openQuarantine();
  const shared = { guardrails, quarantine };
  const given = { ...shared, limits: { ...plan.limits.front, turns: 5 }, runId: 'r' };
  const watch = async (watched: AsyncIterable<RunEvent> & { readonly result: Promise<RunResult> }): Promise<RunResult> => {
    for await (const event of watched) void event;
    return watched.result;
  };
  let result: RunResult;
  if (from !== undefined) result = await resume(agent, from, { ...shared, input: 'go' });
  else result = mode === 'run' ? await run(agent, 'go', given) : await watch(stream(agent, 'go', given) as never);
  const first = result;
  for (let round = 0; result.status === 'interrupted' && round < 60; round += 1) {
    const log = JSON.parse(JSON.stringify(result.log)) as Log;
    const decisions = decide(plan.seed + round, result);
    const next = resume(agent, log, { ...shared, decisions });
    result = mode === 'run' ? ((await next) as RunResult) : await watch(next as never);
  }
  return { first, result, effects };
}

function faultsOf({ log, status, usage }: RunResult, effects: readonly string[], { limits }: Plan): readonly string[] {
  const faults = [...auditLog(log)];
  if (status === 'interrupted') return [...faults, 'it never ends'];
  if (new Set(effects).size !== effects.length) faults.push(`an effect happened twice: ${effects.join(' ')}`);
  const ends = new Map(ofType(log.events, 'run.end').map((event) => [event.run, event]));
  for (const { run: id, parent, agent, seq } of ofType(log.events, 'run.start')) {
    const end = ends.get(id);
    if (end === undefined) faults.push(`run ${id} has no end`);
    const above = parent === undefined ? undefined : ends.get(parent);
    if (end && above && end.seq > above.seq) faults.push(`run ${id} ends after ${parent}`);
    if (end?.refusal?.action === 'halt' && above !== undefined && above.status !== 'blocked')
      faults.push(`a halt in ${id} leaves ${parent} ${above.status}`);
    const inside = log.events.filter((event) => event.seq >= seq && (event.run === id || event.run.startsWith(`${id}/`)));
    const most = limits[agent]?.toolCalls;
    const started = new Set(ofType(inside, 'tool.start').map((event) => `${event.run}/${event.callId}`)).size;
    if (most !== undefined && started > most) faults.push(`${started} calls in ${id}, where ${most} may be`);
  }
  const calls = ofType(log.events, 'model.end').flatMap((event) => event.calls.map(({ id }) => `${event.run}/${id}`));
  // A handoff ends its call, where the tool that returned it has not.
  const over = new Set(
    [...ofType(log.events, 'tool.end'), ...ofType(log.events, 'handoff')].map((event) => `${event.run}/${event.callId}`),
  );
  if (JSON.stringify([...calls].sort()) !== JSON.stringify([...over].sort())) faults.push('calls and their ends do not match');
  if (usage.requests < ofType(log.events, 'model.end').length) faults.push(`${usage.requests} requests were counted`);
  return faults;
}

it('runs of three levels hold every promise, run and streamed, whatever guardrails, people and limits do', async () => {
  const statuses = new Map<string, number>();
  let depth = 0;
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const ran = await drive(plan, 'run');
      const streamed = await drive(plan, 'stream');
      expect(faultsOf(ran.result, ran.effects, plan)).toEqual([]);
      expect(faultsOf(streamed.result, streamed.effects, plan)).toEqual([]);
      expect(streamed.result.status).toBe(ran.result.status);
      statuses.set(ran.result.status, (statuses.get(ran.result.status) ?? 0) + 1);
      depth = Math.max(depth, ...ran.result.log.events.map((event) => event.run.split('/').length));
    }),
    { numRuns: 120, seed: 7 },
  );
  // What is held is worth something: runs of all kinds were among them, down to the third level.
  expect([...statuses.keys()].sort()).toEqual(expect.arrayContaining(['blocked', 'completed', 'exhausted']));
  expect(depth).toBe(levels.length);
});

it('runs of three levels that are cut after any event come to an end, with no effect twice', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const calm = { ...plan, refusals: 0 };
      const whole = await drive(calm, 'run');
      const { events } = whole.result.log;
      const report = await cutAnywhere(
        { version: 1, events: events.slice(0, 60) },
        async (prefix) => {
          const started = new Set(ofType(prefix.events, 'tool.start').map(({ idempotencyKey }) => idempotencyKey));
          const { first, result, effects } = await drive(calm, 'run', JSON.parse(JSON.stringify(prefix)) as Log);
          expect(faultsOf(result, effects, calm)).toEqual([]);
          // What had begun before the cut is done again only where a person said so.
          const approved = ofType(result.log.events.slice(prefix.events.length), 'approval.resolve').map(({ subject }) => subject);
          expect(effects.filter((key) => started.has(key) && !approved.includes(key))).toEqual([]);
          return first;
        },
        { mayAsk: true },
      );
      expect(report.differences.filter((difference) => !difference.includes('ended'))).toEqual([]);
      expect(normalLog(whole.result.log).length).toBeGreaterThan(0);
    }),
    { numRuns: 3, seed: 9 },
  );
});
