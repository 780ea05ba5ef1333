// Random runs of nested agents, decided by random people in any order, signed or not, in one process or through JSON, watched or not.
import type { Decision, JsonObject, Log, OpenApproval, ResumeOptions, RunResult } from '@guardloop/core';
import { allow, ask, asTool, resume as bareResume, defineAgent, defineGuardrail, defineTool, deny } from '@guardloop/core';
import { auditLog, callTool, cutAnywhere, normalLog, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { resume, run, stream } from '../behaviours/audited.js';
import { eventsOf, reread } from '../behaviours/reading.js';

interface Pay {
  readonly orderId: string;
  readonly cents: number;
}
type Turn = readonly (Pay | 'below')[];
interface Plan {
  readonly top: readonly Turn[];
  readonly below: readonly Turn[];
  /** What people say, one after another, over and over; `later`: nothing in this round. */
  readonly people: readonly ('approve' | 'order' | 'exact' | 'any' | 'reject' | 'edit' | 'later')[];
  readonly effect: 'write' | 'none' | undefined;
}

const pay = fc.record({ orderId: fc.constantFrom('o1', 'o2'), cents: fc.integer({ min: 1, max: 4 }) });
const turnsOf = (...extra: readonly 'below'[]) =>
  fc.array(fc.array(extra.length > 0 ? fc.oneof(pay, fc.constantFrom(...extra)) : pay, { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 2,
  });
const plans: fc.Arbitrary<Plan> = fc.record({
  top: turnsOf('below'),
  below: turnsOf(),
  people: fc.array(fc.constantFrom('approve', 'order', 'exact', 'any', 'reject', 'edit', 'later'), { minLength: 1, maxLength: 5 }),
  effect: fc.constantFrom('write', 'none', undefined),
});

function build(plan: Plan) {
  const ran: string[] = [];
  const tool = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ orderId: z.string(), cents: z.number() }),
    approval: ({ cents }) => cents > 1,
    ...(plan.effect === undefined ? {} : { flow: { effect: plan.effect } }),
    execute: (_input, { idempotencyKey }) => {
      ran.push(idempotencyKey);
      return 'paid';
    },
  });
  const guard = defineGuardrail({
    name: 'guard',
    on: ['toolInput'],
    tools: ['pay'],
    check: ({ raw }) => (raw.cents === 4 ? deny('four') : raw.cents === 3 ? ask('three') : allow()),
  });
  const steps = (turns: readonly Turn[]) => [
    ...turns.map((turn) => turn.map((each) => (each === 'below' ? callTool('ask_below', { input: 'go' }) : callTool('pay', { ...each })))),
    say('Done.'),
  ];
  const model = scriptedModel({ top: steps(plan.top), below: steps(plan.below) });
  const below = defineAgent({ name: 'below', instructions: '', model, tools: [tool] });
  const top = defineAgent({
    name: 'top',
    instructions: '',
    model,
    tools: [tool, asTool(below, { name: 'ask_below', description: 'Asks.' })],
    guardrails: [guard],
  });
  return { ran, top };
}

/** What one person says to one approval; nothing, where others are asked too. */
function decide(word: Plan['people'][number], { asks, input }: OpenApproval, isLast: boolean): Decision | undefined {
  switch (word) {
    case 'order':
      return { approve: 'standing', when: { orderId: (input as JsonObject).orderId ?? null } };
    case 'exact':
      return { approve: 'standing' };
    case 'any':
      return { approve: 'standing', when: {} };
    case 'reject':
      return { reject: 'no' };
    case 'edit':
      // Whoever edits to what has run already is asked again.
      return asks.some(({ by }) => by === 'core') ? 'approve' : { edit: { orderId: 'o9', cents: 2 } };
    case 'later':
      return isLast ? 'approve' : undefined;
    default:
      return word;
  }
}

/** Decisions of one round: at least one. */
function roundOf(plan: Plan, approvals: readonly OpenApproval[], round: number): Readonly<Record<string, Decision>> {
  const decisions: Record<string, Decision> = {};
  for (const [index, approval] of approvals.entries()) {
    const isLast = index === approvals.length - 1 && Object.keys(decisions).length === 0;
    const decision = decide(plan.people[(round + index) % plan.people.length] ?? 'approve', approval, isLast);
    if (decision !== undefined) decisions[approval.id] = decision;
  }
  return decisions;
}

interface Way {
  readonly isSigned: boolean;
  readonly isWatched: boolean;
}
const approvals = { key: new Uint8Array(32).fill(7) };

function optionsOf(way: Way, asked: readonly OpenApproval[], decisions: Readonly<Record<string, Decision>>): ResumeOptions {
  if (!way.isSigned) return { decisions };
  const tokens = new Map(asked.map(({ id, token }) => [id, token]));
  return {
    approvals,
    decisions: Object.fromEntries(Object.entries(decisions).map(([id, decision]) => [id, { decision, token: tokens.get(id) }])),
  };
}

async function play(
  plan: Plan,
  way: Way,
): Promise<{ readonly result: RunResult; readonly ran: readonly string[]; readonly rounds: number }> {
  const { top, ran } = build(plan);
  const options = { runId: 'r', limits: { repeats: 50 }, ...(way.isSigned ? { approvals } : {}) };
  let result: RunResult = way.isWatched ? await drain(stream(top, 'hi', options)) : await run(top, 'hi', options);
  let rounds = 0;
  for (; result.status === 'interrupted' && rounds < 60; rounds += 1) {
    const log: Log = way.isWatched ? reread(result.log) : result.log;
    const resumed = resume(top, log, optionsOf(way, result.approvals, roundOf(plan, result.approvals, rounds)));
    result = way.isWatched ? await drain(resumed) : await resumed;
  }
  return { result, ran, rounds };
}

async function drain(watched: ReturnType<typeof resume>): Promise<RunResult> {
  for await (const _ of watched);
  return watched.result;
}

/** Approvals that a standing decision gave. */
const usesIn = (log: Log): number => eventsOf(log, 'approval.resolve').filter(({ byStanding }) => byStanding !== undefined).length;

it('every run ends, is sound, runs each call once, and is the same signed or not, watched or not, in one process or many', async () => {
  let uses = 0;
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const plain = await play(plan, { isSigned: false, isWatched: false });
      const other = await play(plan, { isSigned: true, isWatched: true });
      expect(plain.result.status).toBe('completed');
      expect(normalLog(other.result.log)).toEqual(normalLog(plain.result.log));
      for (const { ran } of [plain, other]) expect(new Set(ran).size).toBe(ran.length);
      expect([...other.ran].sort()).toEqual([...plain.ran].sort());
      uses += usesIn(plain.result.log);
    }),
    { numRuns: 100, seed: 3 },
  );
  expect(uses).toBeGreaterThan(30);
});

it('of every run, the audit finds each standing decision and each use of one that is not as it was', async () => {
  let tried = 0;
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const { result } = await play(plan, { isSigned: false, isWatched: false });
      const log = reread(result.log);
      const used = new Set(eventsOf(log, 'approval.resolve').flatMap(({ byStanding }) => byStanding ?? []));
      for (const event of eventsOf(log, 'approval.resolve')) {
        const { standing, byStanding, ...rest } = event;
        const others: object[] = [];
        if (standing && used.has(event.id))
          others.push(
            rest,
            { ...event, id: `${event.id}x` },
            ...[
              { tool: 'other' },
              { agentPath: [...standing.agentPath, 'x'] },
              { when: { ...standing.when, more: 1 } },
              { expiresAt: 0 },
            ].map((more) => ({
              ...event,
              standing: { ...standing, ...more },
            })),
          );
        if (byStanding !== undefined)
          others.push(
            rest,
            { ...event, byStanding: event.id },
            { ...event, byStanding: 'r/p99' },
            { ...event, decision: 'reject' },
            { ...event, standing: { agentPath: ['top'], tool: 'pay', when: {} } },
          );
        for (const other of others) {
          const forged: Log = { version: 1, events: log.events.map((each) => (each === event ? (other as typeof each) : each)) };
          expect(auditLog(forged), JSON.stringify(other)).not.toEqual([]);
          tried += 1;
        }
      }
    }),
    { numRuns: 40, seed: 9 },
  );
  expect(tried).toBeGreaterThan(100);
});

it('cut anywhere, a run that people decided ends the same or asks, and runs nothing twice', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const { result } = await play(plan, { isSigned: false, isWatched: false });
      const rounds = eventsOf(result.log, 'run.resume').map(({ seq }) => seq);
      // What people said is in the log, or is said again in the round that was cut.
      const last = rounds.at(-1) ?? 1;
      const report = await cutAnywhere(
        result.log,
        async (prefix) => {
          const { top, ran } = build(plan);
          const resumed = await bareResume(top, reread(prefix), { input: 'hi' });
          expect(new Set(ran).size).toBe(ran.length);
          const before = new Set(prefix.events.flatMap((event) => (event.type === 'tool.end' && event.status === 'ok' ? [event.id] : [])));
          for (const key of ran) expect(before.has(key)).toBe(false);
          return resumed;
        },
        { from: last },
      );
      expect(report.differences).toEqual([]);
    }),
    { numRuns: 15, seed: 5 },
  );
});
