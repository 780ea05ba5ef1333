import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { after, bare } from '../../../test/bare-events.js';
import type { Turn } from '../../../test/scene.js';
import { agentOf, answered, calls, eventsOf, HandClock, scripted, settle, tool } from '../../../test/scene.js';
import { asTool } from '../../define/as-tool.js';
import { defineGuardrail } from '../../define/guardrail.js';
import type { Agent, Tool } from '../../define/types.js';
import { allow, ask, deny, halt, rewrite } from '../../define/verdict.js';
import type { Approval, AttributedDecision, Decision, Log, LogEvent } from '../../state/events.js';
import { resume, run } from '../run.js';
import type { RunResult } from '../types.js';
import { applyDecisions } from './apply-decisions.js';
import { runTools } from './run-tools.js';

const core = { origin: 'developer', integrity: 'trusted' } as const;
const never = new Promise<never>(() => undefined);
const look = (more: object = {}) => tool('look', () => 'Blue.', { flow: { effect: 'read', results: 'trusted' }, approval: true, ...more });
const desk = (turns: readonly Turn[], tools: readonly Tool<never, string, unknown, never>[], more: object = {}) =>
  agentOf({ model: scripted(...turns, 'Done.', 'Done again.'), tools, ...more });
const child = (agent: Agent, name = 'ask_child') =>
  asTool(agent, { name, description: 'Asks the child.', brief: ({ input }: { input: string }) => input.trim() });

const start = (agent: Agent<unknown>) => run(agent, 'hello', { runId: 'r1', clock: new HandClock() });
const approvalsOf = (result: RunResult): readonly Approval[] => (result.status === 'interrupted' ? result.approvals : []);
type Given = Decision | AttributedDecision | undefined;
/** Goes on with what people said about each call, by the call. */
const decide = (
  agent: Agent<unknown>,
  { log, approvals, options }: { readonly log: Log; readonly approvals: readonly Approval[]; readonly options?: object },
  given: Record<string, Given>,
) =>
  resume(agent, log, {
    clock: new HandClock(),
    decisions: Object.fromEntries(
      approvals.flatMap(({ id, subject }) => {
        const decision = given[subject.replace('r1/', '')];
        return decision === undefined ? [] : [[id, decision]];
      }),
    ),
    ...options,
  } as never);
const open = (result: RunResult) => ({ log: result.log, approvals: approvalsOf(result) });
const one = async (given: Given, { tools = [look()], guardrails = [] as readonly unknown[] } = {}) => {
  const agent = desk([[calls('look', { n: 1 })]], tools, { guardrails });
  return decide(agent, open(await start(agent)), { '1.0': given });
};

const order = ({ events }: { readonly events: readonly LogEvent[] }) =>
  events.flatMap((event) => {
    if (event.type === 'tool.start') return [`start ${event.callId}`];
    if (event.type === 'tool.end') return [`${event.status} ${event.callId}`];
    if (event.type === 'approval.resolve') return [`${event.decision} ${event.subject}`];
    return event.type === 'approval.request' ? [`ask ${event.approval.subject}`] : [];
  });
const digest = expect.stringMatching(/^[0-9a-f]{64}$/);
const resolve = { type: 'approval.resolve', id: 'r1/p1', subject: 'r1/1.0', digest };
const began = { type: 'tool.start', callId: '1.0', tool: 'look', idempotencyKey: 'r1/1.0' };

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await settle();
}

describe('an edit', () => {
  it('is recorded as it was given, and runs', async () => {
    const result = await one({ edit: { n: 2 } });
    expect(after(result, 'run.resume').slice(0, 2)).toStrictEqual([
      { ...resolve, decision: 'edit', revision: 1, input: { n: 2 } },
      { ...began, revision: 1, input: { n: 2 } },
    ]);
    const [request] = eventsOf(result, 'approval.request');
    expect(eventsOf(result, 'approval.resolve')[0]?.digest).not.toBe(request?.approval.digest);
  });

  it('is recorded with who gave it', async () => {
    const result = await one({ decision: { edit: { n: 2 } }, by: 'ann' });
    expect(after(result, 'run.resume')[0]).toStrictEqual({ ...resolve, decision: 'edit', revision: 1, input: { n: 2 }, decidedBy: 'ann' });
  });

  it('goes through rewrites and checks, which see whose call it is', async () => {
    const seen: string[] = [];
    const watch = defineGuardrail({
      name: 'watch',
      on: ['toolInput'],
      rewrite: ({ content }) => {
        seen.push(`rewrite ${content}`);
        return allow();
      },
      check: ({ input, callId }, { labels }) => {
        seen.push(`check ${JSON.stringify(input)} ${callId} ${labels.subject.origin}`);
        return allow();
      },
    });
    await one({ edit: { n: 2 } }, { guardrails: [watch] });
    expect(seen).toEqual(['rewrite {"n":1}', 'check {"n":1} 1.0 agent:desk', 'rewrite {"n":2}', 'check {"n":2} 1.0 agent:desk']);
  });

  it('that a guardrail refuses is nowhere, and ends the call', async () => {
    const small = defineGuardrail({ name: 'small', on: ['toolInput'], check: ({ raw }) => (raw.n === 1 ? allow() : deny('too much')) });
    const result = await one({ edit: { n: 2 } }, { guardrails: [small] });
    const [request] = eventsOf(result, 'approval.request');
    expect(after(result, 'run.resume').slice(1, 3)).toStrictEqual([
      { ...resolve, digest: request?.approval.digest, decision: 'edit', revision: 1, answers: 'd' },
      {
        type: 'tool.end',
        callId: '1.0',
        tool: 'look',
        id: 'r1/1.0',
        status: 'denied',
        content: JSON.stringify({ status: 'denied', error_class: 'denied', summary: 'too much', retryable: false }),
        errorClass: 'denied',
        retryable: false,
        label: core,
        refusal: { action: 'deny', surface: 'toolInput', by: 'small', reason: 'too much' },
        revision: 1,
        chars: 0,
        completeness: 'empty',
      },
    ]);
  });

  it('that a guardrail changed is asked about anew, with what it wants', async () => {
    const less = defineGuardrail({
      name: 'less',
      on: ['toolInput'],
      rewrite: ({ raw }) => (raw.n === 9 ? rewrite({ n: 8, to: raw.to }, 'too much') : allow()),
      check: ({ raw }) => (raw.n === 8 ? ask('still much') : allow()),
    });
    const result = await one({ edit: { n: 9, to: 'ann' } }, { guardrails: [less] });
    const asks = [
      { by: 'core', reason: 'a guardrail changed the edited input' },
      { by: 'less', reason: 'still much' },
    ];
    expect(eventsOf(result, 'approval.resolve').map(bare)).toStrictEqual([
      { ...resolve, decision: 'edit', revision: 2, input: { n: 8, to: 'ann' }, changed: true, asks, changedFields: ['n'], answers: 'rk' },
    ]);
    expect(approvalsOf(result)).toMatchObject([{ id: 'r1/p2', asks, revision: 2, mayHaveRun: false }]);
  });

  it('that a guardrail would ask about is a person’s own word', async () => {
    const picky = defineGuardrail({ name: 'picky', on: ['toolInput'], check: () => ask('look at it') });
    expect(order(await one({ edit: { n: 2 } }, { guardrails: [picky] }))).toEqual(['ask r1/1.0', 'edit r1/1.0', 'start 1.0', 'ok 1.0']);
  });

  it('is not recorded where the run is stopped while a guardrail looks at it', async () => {
    let isAsked = false;
    const slow = defineGuardrail({
      name: 'slow',
      on: ['toolInput'],
      check: ({ raw }) => {
        isAsked = raw.n === 2;
        return isAsked ? never : allow();
      },
    });
    const agent = desk([[calls('look', { n: 1 })]], [look()], { guardrails: [slow] });
    const first = await start(agent);
    const controller = new AbortController();
    const ending = decide(agent, { ...open(first), options: { signal: controller.signal } }, { '1.0': { edit: { n: 2 } } }).result;
    await until(() => isAsked);
    controller.abort();
    expect(order(await ending)).toEqual(['ask r1/1.0', 'aborted 1.0']);
  });

  it('is not recorded where the run is stopped while the schema looks at it', async () => {
    let looks = 0;
    const input = z.object({ n: z.number() }).refine(() => {
      looks += 1;
      return looks > 2 ? never : Promise.resolve(true);
    });
    const agent = desk([[calls('look', { n: 1 })]], [look({ input })]);
    const first = await start(agent);
    const controller = new AbortController();
    const ending = decide(agent, { ...open(first), options: { signal: controller.signal } }, { '1.0': { edit: { n: 2 } } }).result;
    await until(() => looks === 3);
    controller.abort();
    expect(order(await ending)).toEqual(['ask r1/1.0', 'aborted 1.0']);
  });
});

describe('a given result', () => {
  it('is recorded as the result of the call, which did not run', async () => {
    const result = await one({ result: 'Grey.' });
    const [request] = eventsOf(result, 'approval.request');
    expect(after(result, 'run.resume').slice(0, 2)).toStrictEqual([
      { ...resolve, digest: request?.approval.digest, decision: 'result', revision: 0 },
      {
        type: 'tool.end',
        callId: '1.0',
        tool: 'look',
        id: 'r1/1.0',
        status: 'ok',
        content: 'Grey.',
        label: { origin: 'tool:look', integrity: 'trusted' },
        revision: 0,
        chars: 5,
        completeness: 'full',
      },
    ]);
  });

  it('of a call that runs once says so, and who gave it', async () => {
    const result = await one({ decision: { result: 'Sent.' }, by: 'ann' }, { tools: [look({ flow: { effect: 'send' } })] });
    expect(after(result, 'run.resume')[0]).toStrictEqual({ ...resolve, decision: 'result', revision: 0, once: true, decidedBy: 'ann' });
  });

  it('of nothing is a result', async () => {
    const result = await one({ result: undefined });
    expect(order(result)).toEqual(['ask r1/1.0', 'result r1/1.0', 'ok 1.0']);
  });
});

describe('what people gave', () => {
  it('is nothing in a run that nobody decided about', async () => {
    const handle = await answered(desk([[calls('look')]], [look()]));
    await runTools(handle);
    expect(handle.state.calls.get('1.0')?.phase).toBe('waiting');
    const { seq } = handle.root.log;
    await applyDecisions(handle);
    expect(handle.root.log.seq).toBe(seq);
  });

  it('is applied to the calls that it is for, an edit and a result together', async () => {
    const three: Turn = [calls('look', { n: 1 }), calls('look', { n: 2 }), calls('look', { n: 3 })];
    const agent = desk([three], [look()]);
    const result = await decide(agent, open(await start(agent)), { '1.0': { edit: { n: 4 } }, '1.2': { result: 'Grey.' } });
    expect(order(result).slice(3)).toEqual(['edit r1/1.0', 'result r1/1.2', 'ok 1.2', 'start 1.0', 'ok 1.0']);
    expect(approvalsOf(result).map(({ subject }) => subject)).toEqual(['r1/1.1']);
  });

  it('is left alone after an edit that halts the run', async () => {
    const strict = defineGuardrail({
      name: 'strict',
      on: ['toolInput'],
      tools: ['look'],
      check: ({ raw }) => (raw.n === 1 ? allow() : halt('no')),
    });
    const other = tool('other', () => 'Other.', { approval: true });
    const agent = desk([[calls('look', { n: 1 }), calls('other')]], [look(), other], { guardrails: [strict] });
    const result = await decide(agent, open(await start(agent)), { '1.0': { edit: { n: 2 } }, '1.1': { result: 'Grey.' } });
    expect(result.status).toBe('blocked');
    expect(order(result).slice(2)).toEqual(['edit r1/1.0', 'denied 1.0', 'aborted 1.1']);
  });

  it('is refused before anything happens where the tool is not offered any more', async () => {
    const agent = desk([[calls('look', { n: 1 })]], [look()]);
    const without = desk([], [look({ enabled: false })]);
    await expect(decide(without, open(await start(agent)), { '1.0': { result: 'Grey.' } })).rejects.toMatchObject({
      code: 'RESUME_MISMATCH',
      message: expect.stringContaining('the tool look of agent desk is disabled'),
    });
  });
});

describe('what people gave in child runs', () => {
  const untilAborted = (_input: never, { signal }: { readonly signal: AbortSignal }) =>
    new Promise((resolve) => signal.addEventListener('abort', resolve));
  const helper = (guardrails: readonly unknown[] = [], name = 'helper') =>
    desk([[calls('look', { n: 1 })]], [look()], { name, guardrails });
  const asking = (...names: readonly string[]): Turn => names.map((name) => calls(name, { input: 'Go.' }));

  it('is applied there before anything goes on', async () => {
    const agent = desk([asking('ask_one', 'ask_two')], [child(helper([], 'one'), 'ask_one'), child(helper([], 'two'), 'ask_two')]);
    const result = await decide(agent, open(await start(agent)), { '1.0/1.0': { edit: { n: 2 } }, '1.1/1.0': { edit: { n: 3 } } });
    expect(result.status).toBe('completed');
    const resumed = order(result).slice(4);
    expect(resumed.slice(0, 2)).toEqual(['edit r1/1.0/1.0', 'edit r1/1.1/1.0']);
    expect(resumed.slice(2).toSorted()).toEqual(['ok 1.0', 'ok 1.0', 'ok 1.0', 'ok 1.1', 'start 1.0', 'start 1.0'].toSorted());
  });

  it('ends the child, and its call, before anything else goes on, where it halts', async () => {
    const strict = defineGuardrail({ name: 'strict', on: ['toolInput'], check: ({ raw }) => (raw.n === 1 ? allow() : halt('no')) });
    const agent = desk([[...asking('ask_one'), calls('look', { n: 1 })] as Turn], [child(helper([strict], 'one'), 'ask_one'), look()]);
    const result = await decide(agent, open(await start(agent)), { '1.0/1.0': { edit: { n: 2 } }, '1.1': { result: 'Grey.' } });
    expect(result.status).toBe('blocked');
    expect(order(result).slice(3)).toEqual(['edit r1/1.0/1.0', 'denied 1.0', 'error 1.0', 'aborted 1.1']);
    const ends = result.log.events.flatMap((event) =>
      event.type === 'run.end' || event.type === 'tool.end' ? [`${event.type} ${event.run}`] : [],
    );
    expect(ends).toEqual(['tool.end r1/1.0', 'run.end r1/1.0', 'tool.end r1', 'tool.end r1', 'run.end r1']);
  });

  it('leaves a child alone that has ended', async () => {
    const closed = defineGuardrail({ name: 'closed', on: ['output'], check: () => deny('closed') });
    const one = agentOf({ name: 'one', model: scripted('Hi.', 'Hi again.'), guardrails: [closed] });
    const agent = desk([asking('ask_one', 'ask_two')], [child(one, 'ask_one'), child(helper([], 'two'), 'ask_two')]);
    const result = await decide(agent, open(await start(agent)), { '1.1/1.0': { edit: { n: 2 } } });
    expect(result.status).toBe('completed');
    expect(order(result)).toEqual([
      'start 1.0',
      'start 1.1',
      'error 1.0',
      'ask r1/1.1/1.0',
      'edit r1/1.1/1.0',
      'start 1.0',
      'ok 1.0',
      'ok 1.1',
    ]);
  });

  it('leaves calls alone that a cut left under way, and a child whose input was not accepted', async () => {
    const agent = desk(
      [[calls('look', { n: 1 }), calls('slow'), ...asking('ask_one', 'ask_two')] as Turn],
      [look(), tool('slow', untilAborted), child(helper([], 'one'), 'ask_one'), child(helper([], 'two'), 'ask_two')],
    );
    const controller = new AbortController();
    const whole = await run(agent, 'hello', {
      runId: 'r1',
      clock: new HandClock(),
      signal: controller.signal,
      observers: [
        ({ type, run: id }) => {
          if (type === 'approval.request' && id === 'r1/1.3') controller.abort();
        },
      ],
    });
    // As the log would be had it been cut there: what came of the stop is gone, and of the first child all but its start.
    const events = whole.log.events.filter(
      ({ type, run: id }) => type !== 'run.end' && type !== 'tool.end' && (id !== 'r1/1.2' || type === 'run.start'),
    );
    const log = { ...whole.log, events: events.map((event, at) => ({ ...event, seq: at + 1 })) };
    const approvals = log.events.flatMap((event) => (event.type === 'approval.request' ? [event.approval] : []));
    expect(approvals.map(({ subject }) => subject)).toEqual(['r1/1.3/1.0']);
    const result = await decide(agent, { log, approvals }, { '1.3/1.0': { edit: { n: 2 } } });
    expect(result.status).toBe('interrupted');
    expect(
      approvalsOf(result)
        .map(({ subject }) => subject)
        .toSorted(),
    ).toEqual(['r1/1.0', 'r1/1.1', 'r1/1.2/1.0']);
    expect(eventsOf(result, 'approval.resolve')).toMatchObject([{ decision: 'edit', subject: 'r1/1.3/1.0' }]);
  });

  it('leaves a call of an agent alone whose child had not begun', async () => {
    const agent = desk([[calls('look', { n: 1 }), ...asking('ask_one')] as Turn], [look(), child(helper([], 'one'), 'ask_one')]);
    const first = await start(agent);
    const events = first.log.events.filter(({ run: id }) => id === 'r1').map((event, at) => ({ ...event, seq: at + 1 }));
    const approvals = approvalsOf(first).filter(({ run: id }) => id === 'r1');
    const result = await decide(agent, { log: { ...first.log, events }, approvals }, { '1.0': { edit: { n: 2 } } });
    expect(approvalsOf(result).map(({ subject }) => subject)).toEqual(['r1/1.1/1.0']);
    expect(eventsOf(result, 'approval.resolve')).toMatchObject([{ decision: 'edit', subject: 'r1/1.0' }]);
  });

  it('leaves a call alone that a cut left under way, where there is no child', async () => {
    const agent = desk([[calls('look', { n: 1 }), calls('look', { n: 2 })]], [look({ flow: { effect: 'send' } })]);
    const first = await start(agent);
    const whole = await decide(agent, open(first), { '1.0': 'approve' });
    const at = whole.log.events.findIndex(({ type }) => type === 'tool.start');
    const log = { ...whole.log, events: whole.log.events.slice(0, at + 1) };
    const result = await decide(agent, { log, approvals: approvalsOf(whole) }, { '1.1': { edit: { n: 3 } } });
    expect(order(result).slice(4)).toEqual(['edit r1/1.1', 'ask r1/1.0', 'start 1.1', 'ok 1.1']);
  });

  it('is stopped with the run, for its reason', async () => {
    const reasons: unknown[] = [];
    let isAsked = false;
    const slow = defineGuardrail({
      name: 'slow',
      on: ['toolInput'],
      check: ({ raw }, { signal }) => {
        if (raw.n === 1) return allow();
        isAsked = true;
        signal.addEventListener('abort', () => reasons.push(signal.reason));
        return never;
      },
    });
    const agent = desk([asking('ask_one')], [child(helper([slow], 'one'), 'ask_one')]);
    const first = await start(agent);
    const controller = new AbortController();
    const ending = decide(agent, { ...open(first), options: { signal: controller.signal } }, { '1.0/1.0': { edit: { n: 2 } } }).result;
    await until(() => isAsked);
    controller.abort('enough');
    expect((await ending).status).toBe('cancelled');
    expect(reasons).toEqual(['enough']);
  });
});
