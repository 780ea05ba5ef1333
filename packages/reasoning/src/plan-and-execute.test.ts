import type { Deny, Guardrail, Log, Rewrite } from '@guardloop/core';
import {
  allow,
  defineAgent,
  defineGuardrail,
  defineTool,
  deny,
  halt,
  handoff,
  headTail,
  memorySession,
  resume,
  rewrite,
  run,
  stream,
} from '@guardloop/core';
import { auditLog, callTool, cutAnywhere, normalLog, refuse, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { PlanAndExecuteOptions } from './plan-and-execute.js';
import { planAndExecute } from './plan-and-execute.js';
import { comparePlan, planOf } from './plan-of.js';
import type { Plan } from './plan-schema.js';
import { planSchema } from './plan-schema.js';
import { checkInvariant } from './steps.js';

type Script = Parameters<typeof scriptedModel>[0];
type More = Partial<PlanAndExecuteOptions<unknown, 'trip', string>>;

const plan = (...steps: readonly (readonly [id: string, goal: string, ...needs: string[]])[]): Plan => ({
  steps: steps.map(([id, goal, ...needs]) => ({ id, goal, needs })),
});
const says = (value: unknown) => say(JSON.stringify(value));
const briefOf = (messages: readonly { readonly role: string }[]): string => {
  const [first] = messages as unknown as readonly { readonly parts: readonly { readonly text: string }[] }[];
  return first?.parts.map(({ text }) => text).join('') ?? '';
};

/** A planner that gives these plans one after another, and an executor by what its brief begins with. */
function build(
  plans: readonly Plan[],
  does: Readonly<Record<string, Exclude<Script, readonly unknown[] | object> | ReturnType<typeof say>>>,
  more: More = {},
) {
  const sent: string[] = [];
  const send = defineTool({
    name: 'send_mail',
    description: 'Sends a mail.',
    input: z.object({ to: z.string() }),
    flow: { effect: 'send' },
    execute: ({ to }) => {
      sent.push(to);
      return `Sent to ${to}.`;
    },
  });
  const planning = scriptedModel((request) => {
    const brief = briefOf(request.messages);
    return says(plans[brief.startsWith('Make a plan for this') ? 0 : plans.length - 1]);
  });
  const doing = scriptedModel((request) => {
    const brief = briefOf(request.messages);
    const [, move] = Object.entries(does).find(([start]) => brief.startsWith(start)) ?? [];
    if (move === undefined) return say(`Done: ${brief}`);
    return typeof move === 'function' ? (move as (each: typeof request) => ReturnType<typeof say>)(request) : move;
  });
  const agent = planAndExecute({
    name: 'trip',
    planner: defineAgent({ name: 'planner', instructions: 'Plan.', model: planning, output: planSchema }),
    executor: defineAgent({ name: 'executor', instructions: 'Do it.', model: doing, tools: [send] }),
    ...more,
  });
  return { agent, sent, planning, doing };
}
const three = plan(['find', 'Find a hotel'], ['price', 'Find its price', 'find'], ['sum', 'Say both', 'find', 'price']);

describe('planAndExecute', () => {
  it('plans, does each step in a run of its own with only what it needs, and answers with the last', async () => {
    const { agent, doing, planning } = build([three], {
      'Find a hotel': say('Hotel Rose'),
      'Find its price': say('90'),
      'Say both': say('Rose, 90.'),
    });
    const result = await run(agent, 'Plan my trip to Lyon.', { runId: 'r1' });
    expect(result).toMatchObject({ status: 'completed', agent: 'trip', output: 'Rose, 90.' });
    expect(doing.requests.map(({ messages }) => briefOf(messages))).toEqual([
      'Find a hotel',
      'Find its price\n\nResult of find:\nHotel Rose',
      'Say both\n\nResult of find:\nHotel Rose\n\nResult of price:\n90',
    ]);
    expect(planning.requests.map(({ messages }) => briefOf(messages))).toEqual([expect.stringContaining('Task: Plan my trip to Lyon.')]);
    expect(result.usage.requests).toBe(4);
    expect(auditLog(result.log)).toEqual([]);
    expect(checkInvariant(result.log).filter(({ agent: name }) => name === 'trip')).toEqual([]);
  });

  it('keeps the plan in the log as typed data, beside what happened', async () => {
    const { agent } = build([three], {});
    const { log } = await run(agent, 'Go.', { runId: 'r1' });
    expect(planOf(log)).toEqual(three);
    expect(comparePlan(log)).toEqual({
      run: 'r1',
      plans: 1,
      steps: three.steps.map((step, index) => ({ ...step, plan: 1, status: 'done', run: `r1/${index + 2}.0`, calls: 0 })),
      changed: [],
      isAsPlanned: true,
    });
    expect(planOf({ version: 1, events: log.events.slice(0, 3) })).toBeUndefined();
  });

  it('plans what is left when a step fails, and does not do again what is done', async () => {
    const second = plan(['find', 'Find a hotel'], ['ask', 'Ask for the price', 'find'], ['sum', 'Say both', 'ask']);
    const { agent, doing, planning } = build([three, second], { 'Find its price': refuse('no') });
    const result = await run(agent, 'Go.', { runId: 'r1' });
    expect(result).toMatchObject({ status: 'completed' });
    expect(doing.requests.map(({ messages }) => briefOf(messages).split('\n')[0])).toEqual([
      'Find a hotel',
      'Find its price',
      'Ask for the price',
      'Say both',
    ]);
    expect(briefOf(planning.requests[1]?.messages ?? [])).toMatch(
      /Done: find: Find a hotel\nIts result: Done: Find a hotel\n\nFailed: price: Find its price\nWhy: /,
    );
    expect(comparePlan(result.log)?.steps.map(({ plan: number, id, status }) => `${number} ${id} ${status}`)).toEqual([
      '1 find done',
      '1 price failed',
      '1 sum skipped',
      '2 find kept',
      '2 ask done',
      '2 sum done',
    ]);
    expect(comparePlan(result.log)?.isAsPlanned).toBe(false);
    expect(auditLog(result.log)).toEqual([]);
  });

  it('gives up after so many new plans, in words of its own', async () => {
    const { agent, planning } = build([three], { 'Find a hotel': refuse('no') }, { replan: { max: 1 } });
    const result = await run(agent, 'Go.');
    expect(result).toMatchObject({
      status: 'failed',
      error: { message: 'Agent trip (plan-and-execute) gave up: step 1 of 3 failed (denied), and it may take no more than 1 new plans.' },
    });
    expect(planning.requests).toHaveLength(2);
    expect((await run(build([three], { 'Find a hotel': refuse() }, { replan: { max: 0 } }).agent, 'Go.')).status).toBe('failed');
  });

  it('takes an answer that its check refuses for a failed step, and tells the planner why', async () => {
    const check: More['check'] = (answer, { id }) => (id === 'find' && !answer.includes('Hotel') ? 'it names no hotel' : undefined);
    const { agent, planning } = build([three, plan(['again', 'Look again'])], { 'Find a hotel': say('nothing') }, { check });
    const result = await run(agent, 'Go.');
    expect(result).toMatchObject({ status: 'completed', output: 'Done: Look again' });
    expect(briefOf(planning.requests[1]?.messages ?? [])).toContain('it names no hotel');
  });

  it('asks for another plan where one needs what is not there, and gives up where there is none', async () => {
    const odd = plan(['one', 'Do it', 'nowhere']);
    const { agent, planning } = build([odd, plan(['two', 'Do it'])], {});
    expect(await run(agent, 'Go.')).toMatchObject({ status: 'completed' });
    expect(briefOf(planning.requests[1]?.messages ?? [])).toContain('step 1 of the plan needs a step that is neither in the plan nor done');
    const none = build([{ steps: [] }], {});
    expect(await run(none.agent, 'Go.')).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('no plan could be made') },
    });
  });

  it('lets the finisher answer from the task and all results', async () => {
    const model = scriptedModel([say('{"hotel":"Rose"}')]);
    const output = z.object({ hotel: z.string() });
    const finisher = defineAgent({ name: 'finisher', instructions: 'Answer.', model, output });
    const { agent: _, ...parts } = build([three], {});
    const planner = defineAgent({ name: 'planner', instructions: '', model: parts.planning, output: planSchema });
    const executor = defineAgent({ name: 'executor', instructions: '', model: parts.doing });
    const result = await run(planAndExecute({ name: 'trip', planner, executor, finisher, output }), 'Which hotel?');
    expect(result).toMatchObject({ status: 'completed', output: { hotel: 'Rose' } });
    expect(briefOf(model.requests[0]?.messages ?? [])).toMatch(/Which hotel\?\n\nfind: Find a hotel\nDone: Find a hotel\n\nprice: /);
  });

  it('is kept where a lookup gives no id: the observation names the field, and the step looks elsewhere', async () => {
    const lookUp = defineTool({
      name: 'look_up',
      description: 'Finds a customer.',
      input: z.object({ by: z.enum(['mail', 'name']) }),
      output: z.object({ customerId: z.string() }),
      flow: { effect: 'read' },
      execute: ({ by }) => ({ customerId: by === 'name' ? 'c7' : null }) as { customerId: string },
    });
    const model = scriptedModel(({ agent, messages }) => {
      if (agent === 'planner') return says(plan(['who', 'Find the id of the customer'], ['tell', 'Say which it is', 'who']));
      const brief = briefOf(messages);
      if (brief.startsWith('Say')) return say(brief.split('\n').at(-1) ?? '');
      const seen = messages.flatMap((message) => (message.role === 'tool' ? [String(message.content)] : []));
      if (seen.length === 0) return callTool('look_up', { by: 'mail' });
      return seen.at(-1)?.includes('customerId: expected') ? callTool('look_up', { by: 'name' }) : say('The id is c7.');
    });
    const agent = planAndExecute({
      name: 'trip',
      planner: defineAgent({ name: 'planner', instructions: '', model, output: planSchema }),
      executor: defineAgent({ name: 'executor', instructions: '', model, tools: [lookUp] }),
    });
    const result = await run(agent, 'Which customer?');
    expect(result).toMatchObject({ status: 'completed', output: 'The id is c7.' });
    expect(comparePlan(result.log)).toMatchObject({ isAsPlanned: true, plans: 1, steps: [{ calls: 2 }, { calls: 0 }] });
  });

  it('runs steps that need none of each other at the same time, where that is wanted', async () => {
    const wide = plan(['a', 'Do a'], ['b', 'Do b'], ['c', 'Do c', 'a', 'b']);
    const result = await run(build([wide], {}, { parallel: true }).agent, 'Go.', { runId: 'r1' });
    expect(comparePlan(result.log)?.steps.map(({ run: id }) => id)).toEqual(['r1/2.0', 'r1/2.1', 'r1/3.0']);
  });
});

describe('a run by plan is a run like any other', () => {
  const failing = (options: More = {}) =>
    build([three, plan(['ask', 'Ask for the price', 'find'])], { 'Find its price': refuse('no') }, options);

  it('streams to the same log', async () => {
    const streamed = await stream(failing().agent, 'Go.').result;
    expect(normalLog(streamed.log)).toEqual(normalLog((await run(failing().agent, 'Go.')).log));
  });

  it('cut anywhere, goes on to the same end', async () => {
    for (const parallel of [false, true]) {
      const whole = await run(failing({ parallel }).agent, 'Go.');
      const report = await cutAnywhere(whole.log, (prefix) => resume(failing({ parallel }).agent, prefix).result, {
        mayAsk: false,
        from: 2,
      });
      expect(report.differences).toEqual([]);
      expect(report.same).toBe(report.cuts);
    }
  });

  it('asks the guardrails of each agent in its part, and those of the run in all', async () => {
    const seen: string[] = [];
    const watch = (name: string): Guardrail<unknown> =>
      defineGuardrail({
        name,
        on: ['input', 'toolInput', 'toolOutput', 'output'],
        check: ({ surface }, { agent }) => {
          seen.push(`${name} ${agent} ${surface}`);
          return allow();
        },
      });
    const model = scriptedModel((request) => (request.agent === 'planner' ? says(plan(['one', 'Do it'])) : say('Done.')));
    const agent = planAndExecute({
      name: 'trip',
      guardrails: [watch('top')],
      planner: defineAgent({ name: 'planner', instructions: '', model, output: planSchema, guardrails: [watch('p')] }),
      executor: defineAgent({ name: 'executor', instructions: '', model, guardrails: [watch('e')] }),
    });
    const { log } = await run(agent, 'Go.', { guardrails: [watch('all')] });
    const own = new Set(seen.filter((each) => !each.startsWith('all')));
    expect([...own].sort()).toEqual([
      'e executor input',
      'e executor output',
      'p planner input',
      'p planner output',
      'top trip input',
      'top trip output',
      'top trip toolInput',
      'top trip toolOutput',
    ]);
    expect(new Set(seen.filter((each) => each.startsWith('all')).map((each) => each.slice(4)))).toEqual(
      new Set([...own].map((each) => each.slice(each.indexOf(' ') + 1))),
    );
    expect(auditLog(log)).toEqual([]);
  });

  it('halts where a step is halted, and gives nothing refused on', async () => {
    const secret = (act: typeof halt | typeof deny) =>
      defineGuardrail({ name: 'no-secret', on: ['output'], check: ({ content }) => (content.includes('sk-') ? act('a key') : allow()) });
    const leaking = { 'Find a hotel': say('sk-1') };
    expect(await run(build([three], leaking).agent, 'Go.', { guardrails: [secret(halt)] })).toMatchObject({
      status: 'blocked',
      by: 'no-secret',
    });
    const denied = await run(build([three, plan(['b', 'Other'])], leaking).agent, 'Go.', { guardrails: [secret(deny)] });
    expect(denied.status).toBe('completed');
    expect(JSON.stringify(denied.log)).not.toContain('sk-1');
  });

  it('shares its budgets with its steps', async () => {
    const { agent } = build([three], {});
    expect(await run(agent, 'Go.', { limits: { toolCalls: 2 } })).toMatchObject({ status: 'exhausted', limit: 'toolCalls' });
    expect(await run(agent, 'Go.', { limits: { tokens: 25 } })).toMatchObject({ status: 'exhausted', limit: 'tokens' });
    expect(await run(agent, 'Go.', { limits: { turns: 3 }, onLimit: 'finalize' })).toMatchObject({
      status: 'exhausted',
      text: expect.stringMatching(/A limit was reached[\s\S]*do_step: Done: Find a hotel/),
    });
  });

  it('waits for a person within a step, in another process too', async () => {
    const ask = () => {
      const mail = defineTool({
        name: 'send_mail',
        description: 'Sends.',
        input: z.object({}),
        flow: { effect: 'send' },
        approval: true,
        execute: () => 'Sent.',
      });
      const model = scriptedModel((request) => {
        if (request.agent === 'planner') return says(plan(['one', 'Send it'], ['two', 'Say so', 'one']));
        return request.turn === 1 && briefOf(request.messages).startsWith('Send') ? callTool('send_mail') : say('Done.');
      });
      return {
        agent: planAndExecute({
          name: 'trip',
          planner: defineAgent({ name: 'planner', instructions: '', model, output: planSchema }),
          executor: defineAgent({ name: 'executor', instructions: '', model, tools: [mail] }),
        }),
      };
    };
    const asked = await run(ask().agent, 'Go.');
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    expect(asked.approvals[0]).toMatchObject({ tool: 'send_mail', agentPath: ['trip', 'executor'] });
    expect(comparePlan(asked.log)?.steps.map(({ status }) => status)).toEqual(['begun', 'open']);
    const log = JSON.parse(JSON.stringify(asked.log)) as Log;
    const result = await resume(ask().agent, log, { decisions: { [asked.approvals[0]?.id ?? '']: 'approve' } });
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(comparePlan(result.log)?.steps[0]).toMatchObject({ status: 'done', calls: 1 });
    expect(auditLog(result.log)).toEqual([]);
  });

  it('plans anew when a person says more while it runs', async () => {
    const { agent, planning } = build([three, plan(['find', 'Find a hotel'], ['last', 'Say it in French', 'find'])], {});
    const events = stream(agent, 'Plan my trip.');
    for await (const event of events)
      if (event.type === 'tool.end' && event.tool === 'do_step' && event.callId === '2.0') void events.steer('In French, please.');
    const result = await events;
    expect(result).toMatchObject({ status: 'completed', output: expect.stringContaining('Say it in French') });
    const brief = briefOf(planning.requests.at(-1)?.messages ?? []);
    expect(brief).toContain('Task: Plan my trip.\n\nIn French, please.');
    expect(brief).toContain('Done: find: Find a hotel');
    expect(comparePlan(result.log)?.steps.map(({ status }) => status)).toEqual(['done', 'skipped', 'skipped', 'kept', 'done']);
    expect(auditLog(result.log)).toEqual([]);
  });

  it('does no effect of a failed step again', async () => {
    const sends = (request: { readonly turn: number }) => (request.turn === 1 ? callTool('send_mail', { to: 'anna' }) : refuse('no'));
    const again = (request: { readonly turn: number }) => (request.turn === 1 ? callTool('send_mail', { to: 'anna' }) : say('Told her.'));
    const { agent, sent } = build([plan(['mail', 'Mail anna']), plan(['retry', 'Once more'])], {
      'Mail anna': sends as never,
      'Once more': again as never,
    });
    const result = await run(agent, 'Go.');
    expect([result.status, sent]).toEqual(['completed', ['anna']]);
    expect(auditLog(result.log)).toEqual([]);
  });

  it('is planned anew in each run of a session, and where another agent hands over to it', async () => {
    const session = { store: memorySession(), id: 's' };
    const { agent, planning } = build([plan(['one', 'Do it'])], {});
    expect((await run(agent, 'First.', { session })).status).toBe('completed');
    expect((await run(agent, 'Second.', { session })).status).toBe('completed');
    expect(planning.requests.map(({ messages }) => briefOf(messages).split('Task: ')[1])).toEqual(['First.', 'Second.']);
    const model = scriptedModel([callTool('transfer_to_trip')]);
    const desk = defineAgent({ name: 'desk', instructions: '', model, handoffs: [handoff(agent, { brief: 'Plan this.' })] });
    const handed = await run(desk, 'Hello.');
    expect(handed).toMatchObject({ status: 'completed', agent: 'trip', output: 'Done: Do it' });
    expect(comparePlan(handed.log)?.isAsPlanned).toBe(true);
    expect(auditLog(handed.log)).toEqual([]);
  });

  it('that gave up goes on with more plans when it is resumed', async () => {
    const plans = [three, plan(['other', 'Go another way'])];
    const tired = await run(build(plans, { 'Find a hotel': refuse() }, { replan: { max: 0 } }).agent, 'Go.');
    expect(tired.status).toBe('failed');
    const result = await resume(build(plans, { 'Find a hotel': refuse() }).agent, tired.log);
    expect(result).toMatchObject({ status: 'completed', output: 'Done: Go another way' });
    expect(auditLog(result.log)).toEqual([]);
  });

  it('gives no refused answer, and tells nobody that what steps have read is trusted', async () => {
    const no = defineGuardrail({ name: 'no', on: ['output'], check: (_, { agent }) => (agent === 'trip' ? deny('not so') : allow()) });
    expect(await run(build([three], {}).agent, 'Go.', { guardrails: [no] })).toMatchObject({ status: 'blocked', by: 'no' });
    const { log } = await run(build([three], {}).agent, 'Go.');
    const labels = log.events.flatMap((event) =>
      event.type === 'input.accept' && event.agent === 'executor' ? event.items.map(({ label }) => label.integrity) : [],
    );
    expect(new Set(labels)).toEqual(new Set(['untrusted']));
  });

  it('does every step of every plan once, after what it needs, with nothing but that', async () => {
    const anyPlan = fc
      .array(fc.array(fc.nat({ max: 7 }), { maxLength: 3 }), { minLength: 1, maxLength: 8 })
      .map((all) =>
        plan(
          ...all.map(
            (needs, at) => [`s${at}`, `Goal ${at}`, ...new Set(needs.filter((need) => need < at).map((need) => `s${need}`))] as const,
          ),
        ),
      );
    await fc.assert(
      fc.asyncProperty(anyPlan, fc.array(fc.nat({ max: 7 }), { maxLength: 2 }), fc.boolean(), async (made, fails, parallel) => {
        // Steps that fail do so once: the second plan is the first again.
        const failed = new Set<string>();
        const move = (request: { readonly messages: Parameters<typeof briefOf>[0] }) => {
          const goal = /^Goal (\d+)/.exec(briefOf(request.messages))?.[1] ?? '';
          if (!fails.includes(Number(goal)) || failed.has(goal)) return say(`Result ${goal}.`);
          failed.add(goal);
          return refuse();
        };
        const { agent, doing } = build([made, made], { Goal: move as never }, { parallel, replan: { max: 2 } });
        const result = await run(agent, 'Go.');
        expect(result).toMatchObject({ status: 'completed', output: `Result ${made.steps.length - 1}.` });
        expect(auditLog(result.log)).toEqual([]);
        const briefs = doing.requests.map(({ messages }) => briefOf(messages).split('\n\n'));
        for (const { id, goal, needs } of made.steps) {
          const own = briefs.flatMap(([first, ...given], at) => (first === goal ? [{ at, given }] : []));
          expect(own).toHaveLength(failed.has(id.slice(1)) ? 2 : 1);
          for (const { given } of own) expect(given).toEqual(needs.map((need) => `Result of ${need}:\nResult ${need.slice(1)}.`));
        }
      }),
      { numRuns: 60, seed: 8 },
    );
  });

  it('follows a guardrail that rewrites or denies the call of a step', async () => {
    const guard = (act: (raw: object) => Deny | Rewrite<object>) =>
      defineGuardrail({
        name: 'calls',
        on: ['toolInput'],
        tools: ['do_step'],
        rewrite: (subject) => (subject.content.includes('Find a hotel') ? act(subject.raw) : allow()),
      });
    const rewritten = await run(build([three], {}).agent, 'Go.', {
      guardrails: [guard((raw) => rewrite({ ...raw, goal: 'Find a hostel' }, 'cheaper'))],
    });
    expect(rewritten.status).toBe('completed');
    expect(comparePlan(rewritten.log)).toMatchObject({ changed: [{ step: 'find', goal: 'Find a hostel' }], isAsPlanned: false });
    const denied = await run(build([three, plan(['b', 'Other'])], {}).agent, 'Go.', { guardrails: [guard(() => deny('not this'))] });
    expect(denied).toMatchObject({ status: 'completed', output: 'Done: Other' });
  });

  it('keeps to its own model and to whole plans, whatever the options of the run', async () => {
    const model = scriptedModel((request) => (request.agent === 'planner' ? says(three) : say('By the other model.')));
    const result = await run(build([three], {}).agent, 'Go.', { model, project: headTail({ maxChars: 20 }) });
    expect(result).toMatchObject({ status: 'completed', output: expect.stringContaining('By the') });
  });

  it('says so where a view hides what it decides from', async () => {
    const result = await run(build([three], {}).agent, 'Go.', { view: (messages) => messages.slice(0, 1) });
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'CONFIG_INVALID', message: expect.stringContaining('a view of the run hides') },
    });
    const kept = await run(build([three], {}).agent, 'Go.', {
      view: (messages, { agent }) => (agent === 'trip' ? messages : messages.slice(0, 1)),
    });
    expect(kept.status).toBe('completed');
  });
});
