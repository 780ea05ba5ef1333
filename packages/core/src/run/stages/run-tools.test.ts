import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { after, bare } from '../../../test/bare-events.js';
import type { Turn } from '../../../test/scene.js';
import { agentOf, answered, calls, eventsOf, gate, HandClock, scripted, settle, tool } from '../../../test/scene.js';
import { asTool } from '../../define/as-tool.js';
import { defineGuardrail } from '../../define/guardrail.js';
import { handoff } from '../../define/handoff.js';
import { toolError } from '../../define/tool-error.js';
import type { Agent, Tool } from '../../define/types.js';
import { allow, ask, deny, halt, rewrite } from '../../define/verdict.js';
import { memorySession } from '../../session/memory.js';
import type { Approval, Decision, Log, LogEvent } from '../../state/events.js';
import { resume, run } from '../run.js';
import type { RunResult } from '../types.js';
import { runTools, toolOf } from './run-tools.js';

const core = { origin: 'developer', integrity: 'trusted' } as const;
const byDesk = { origin: 'agent:desk', integrity: 'trusted' } as const;
const never = new Promise<never>(() => undefined);
const send = (more: object = {}, execute: (...given: never[]) => unknown = () => 'Sent.') =>
  tool('send', execute, { flow: { effect: 'send', results: 'trusted' }, ...more });
const look = (more: object = {}, execute: (...given: never[]) => unknown = () => 'Blue.') =>
  tool('look', execute, { flow: { effect: 'read', results: 'trusted' }, ...more });

/** An agent whose model makes these calls, turn by turn, and then says that it is done. */
const desk = (turns: readonly Turn[], tools: readonly Tool<never, string, unknown, never>[], more: object = {}) =>
  agentOf({ model: scripted(...turns, 'Done.', 'Done again.'), tools, ...more });
const start = (agent: Agent<unknown>, options: object = {}) => run(agent, 'hello', { runId: 'r1', clock: new HandClock(), ...options });
const goOn = (agent: Agent<unknown>, log: Log, options: object = {}) => resume(agent, log, { clock: new HandClock(), ...options });

const approvalsOf = (result: RunResult): readonly Approval[] => (result.status === 'interrupted' ? result.approvals : []);
/** The one thing that a person is asked. */
function asked(result: RunResult): Approval {
  const [approval, ...others] = approvalsOf(result);
  if (approval === undefined || others.length > 0) throw new Error(`The run is ${result.status}, with ${others.length + 1} questions.`);
  return approval;
}
const decide = (agent: Agent<unknown>, result: RunResult, ...decisions: readonly Decision[]) =>
  goOn(agent, result.log, { decisions: Object.fromEntries(approvalsOf(result).map(({ id }, at) => [id, decisions[at] ?? 'approve'])) });

/** The log as it was once an event of this type was in it, the so-manieth. */
function cutAfter({ log }: { readonly log: Log }, type: LogEvent['type'], count = 1): Log {
  const at = log.events.findIndex(
    (event, index) => event.type === type && eventsOf({ events: log.events.slice(0, index + 1) }, type).length === count,
  );
  return { ...log, events: log.events.slice(0, at + 1) };
}
const order = ({ events }: { readonly events: readonly LogEvent[] }) =>
  events.flatMap((event) => {
    if (event.type === 'tool.start') return [`start ${event.callId}`];
    if (event.type === 'tool.end') return [`${event.status} ${event.callId}`];
    return event.type === 'approval.request' && event.approval.surface !== 'output' ? [`ask ${event.approval.callId}`] : [];
  });
const ended = (callId: string, toolName: string, more: object) => ({
  type: 'tool.end',
  callId,
  tool: toolName,
  id: `r1/${callId}`,
  label: core,
  revision: 0,
  chars: 0,
  completeness: 'empty',
  ...more,
});
const words = (status: string, errorClass: string, summary: string) => ({
  status,
  content: JSON.stringify({ status, error_class: errorClass, summary, retryable: false }),
  errorClass,
  retryable: false,
});
const again = ({ content, ...end }: ReturnType<typeof words>) => ({
  ...end,
  content: content.replace('"retryable":false', '"retryable":true'),
  retryable: true,
});
const reasons = (approval: Approval) => approval.asks.map(({ by, reason }) => `${by}: ${reason}`);
const equalRan = 'core: an equal call of this tool has run before in this run';

describe('calls of one answer', () => {
  /** Two calls of a tool that takes its time. */
  async function both(more: object) {
    const began: string[] = [];
    const slow = tool(
      'slow',
      async (_input: never, { callId }: { callId: string }) => {
        began.push(callId);
        await settle();
        return callId;
      },
      more,
    );
    const result = await start(desk([[calls('slow', { n: 1 }), calls('slow', { n: 2 })]], [slow]));
    return order(result).slice(0, 2);
  }

  it.each([
    ['says nothing of what it does', {}],
    ['reads', { flow: { effect: 'read' } }],
    ['does nothing to the world', { flow: { effect: 'none' } }],
  ])('run together where the tool %s', async (_what, more) => {
    expect(await both(more)).toEqual(['start 1.0', 'start 1.1']);
  });

  it.each([
    ['writes', { flow: { effect: 'write' } }],
    ['sends', { flow: { effect: 'send' } }],
    ['has a rule about approvals', { approval: () => false }],
  ])('run one after another where the tool %s', async (_what, more) => {
    expect(await both(more)).toEqual(['start 1.0', 'ok 1.0']);
  });

  it('begin at once where they fit under the cap, and else when there is room', async () => {
    const began: string[] = [];
    const slow = look({}, (_input: never, { callId }: { callId: string }) => {
      began.push(callId);
      return settle().then(() => 'Blue.');
    });
    const agent = desk([[calls('look'), calls('look')]], [slow]);
    const fitting = await answered(agent, { concurrency: 2 });
    const running = runTools(fitting);
    expect(began).toEqual(['1.0', '1.1']);
    expect(fitting.slots).toBeUndefined();
    await running;

    let most = 0;
    let now = 0;
    const counted = look({}, async () => {
      now += 1;
      most = Math.max(most, now);
      await settle();
      now -= 1;
    });
    const five = Array.from({ length: 5 }, () => calls('look'));
    await start(desk([five], [counted]), { concurrency: 2 });
    expect(most).toBe(2);
  });

  it('all come to their end in one go, those one after another after the others', async () => {
    const handle = await answered(desk([[calls('send'), calls('look')]], [send(), look()]), {});
    await runTools(handle);
    expect(order(handle.root)).toEqual(['start 1.1', 'ok 1.1', 'start 1.0', 'ok 1.0']);
  });

  it('that will not run end as they were prepared, before anything is started', async () => {
    const result = await start(desk([[calls('look'), calls('nothing', {}), calls('look')]], [look()]));
    expect(order(result)).toEqual(['error 1.1', 'start 1.0', 'ok 1.0', 'start 1.2', 'ok 1.2']);
    expect(eventsOf(result, 'tool.end').map(bare)[0]).toStrictEqual(
      ended('1.1', 'unknown_tool', {
        ...words('error', 'unknown_tool', 'There is no tool of this name. Use one of: look.'),
      }),
    );
  });

  it('are left alone while they wait for a person, and for a handoff', async () => {
    const billing = agentOf({ name: 'billing' });
    const sends = [calls('send', { n: 1 }), calls('send', { n: 2 })];
    const agent = desk([[...sends, calls('transfer_to_billing')]], [send({ approval: true })], { handoffs: [billing] });
    const first = await start(agent);
    expect(order(first)).toEqual(['ask 1.0', 'ask 1.1']);
    const second = await goOn(agent, first.log, { decisions: { [approvalsOf(first)[0]?.id ?? '']: 'approve' } });
    expect(order(second)).toEqual(['ask 1.0', 'ask 1.1', 'start 1.0', 'ok 1.0']);
    expect(second.status).toBe('interrupted');
    const third = await decide(agent, second);
    expect(order(third)).toEqual(['ask 1.0', 'ask 1.1', 'start 1.0', 'ok 1.0', 'start 1.1', 'ok 1.1']);
    expect(eventsOf(third, 'handoff')).toMatchObject([{ to: 'billing' }]);
  });

  it('are left alone once they have ended', async () => {
    const agent = desk([[calls('look'), calls('send')]], [look(), send({ approval: true })]);
    const result = await decide(agent, await start(agent));
    expect(order(result)).toEqual(['start 1.0', 'ok 1.0', 'ask 1.1', 'start 1.1', 'ok 1.1']);
  });

  it('that a guardrail refused end without having run', async () => {
    const strict = defineGuardrail({ name: 'strict', on: ['toolInput'], check: ({ raw }) => (raw.n === 2 ? deny('no twos') : allow()) });
    const result = await start(desk([[calls('look', { n: 1 }), calls('look', { n: 2 })]], [look()], { guardrails: [strict] }));
    expect(order(result)).toEqual(['denied 1.1', 'start 1.0', 'ok 1.0']);
    expect(eventsOf(result, 'tool.end').map(bare)[0]).toStrictEqual(
      ended('1.1', 'look', {
        ...words('denied', 'denied', 'no twos'),
        refusal: { action: 'deny', surface: 'toolInput', by: 'strict', reason: 'no twos' },
      }),
    );
  });

  it('that ask come after those that run', async () => {
    const picky = defineGuardrail({
      name: 'picky',
      on: ['toolInput'],
      check: ({ input }) => ('ask' in (input as object) ? ask('look at it') : allow()),
    });
    const agent = desk([[calls('look', { ask: true }), calls('look')]], [look({}, () => settle().then(() => 'Blue.'))], {
      guardrails: [picky],
    });
    expect(order(await start(agent))).toEqual(['start 1.1', 'ok 1.1', 'ask 1.0']);
  });

  it('that a person has let run after a cut run one after another', async () => {
    const slow = tool('slow', () => settle().then(() => 'Done.'));
    const agent = desk([[calls('slow', { n: 1 }), calls('slow', { n: 2 })]], [slow]);
    const cut = cutAfter(await start(agent), 'tool.start', 2);
    const again = await goOn(agent, cut);
    expect(order(again).slice(2)).toEqual(['ask 1.0', 'ask 1.1']);
    expect(order(await decide(agent, again)).slice(4)).toEqual(['start 1.0', 'ok 1.0', 'start 1.1', 'ok 1.1']);
  });

  it('that are asked anew come after those that run', async () => {
    const slow = tool('slow', () => 'Done.');
    const less = defineGuardrail({
      name: 'less',
      on: ['toolInput'],
      rewrite: ({ raw }) => (raw.n === 9 ? rewrite({ n: 8 }, 'too much') : allow()),
    });
    const agent = desk([[calls('slow', { n: 1 }), calls('look')]], [slow, look({}, () => settle().then(() => 'Blue.'))], {
      guardrails: [less],
    });
    const cut = cutAfter(await start(agent), 'tool.start', 1);
    const first = await goOn(agent, cut);
    // The log was cut anew, where the other call had not begun: so it runs beside what is asked.
    const events = first.log.events.filter((event) => !('callId' in event && event.callId === '1.1'));
    const log = { ...first.log, events: events.map((event, at) => ({ ...event, seq: at + 1 })) };
    const second = await goOn(agent, log, { decisions: { [asked(first).id]: { edit: { n: 9 } } } });
    expect(order(second).slice(2)).toEqual(['start 1.1', 'ok 1.1', 'ask 1.0']);
    expect(reasons(asked(second))).toEqual(['core: a guardrail changed the edited input']);
    expect(asked(second)).toMatchObject({ input: { n: 8 }, mayHaveRun: true });
  });

  it('stop the run where one breaks it, and the others still come to their ends', async () => {
    const tools = [send(), look({}, () => settle().then(() => 'Blue.'))];
    const agent = desk([[calls('send'), calls('look')]], tools);
    // As a log that was cut while both were under way: what may have happened is put before a person, beside the other.
    const events = (await start(agent)).log.events.filter(({ type }) => type !== 'tool.end');
    const cut = { version: 1, events: events.slice(0, events.findLastIndex(({ type }) => type === 'tool.start') + 1) } as const;
    const log = { ...cut, events: cut.events.map((event, at) => ({ ...event, seq: at + 1 })) };
    const digest = vi.spyOn(globalThis.crypto.subtle, 'digest').mockRejectedValue(new TypeError('no digest'));
    const result = await goOn(agent, log);
    digest.mockRestore();
    expect(result).toMatchObject({ status: 'failed', error: { code: 'INTERNAL', cause: { name: 'TypeError' } } });
    expect(order(result)).toEqual(['start 1.1', 'start 1.0', 'start 1.1', 'ok 1.1', 'unknown 1.0']);
  });

  it('ask nobody any more once the run is halted', async () => {
    const billing = agentOf({ name: 'billing' });
    const strict = defineGuardrail({ name: 'strict', on: ['toolOutput'], check: () => halt('secret') });
    const picky = defineGuardrail({ name: 'picky', on: ['handoff'], check: () => ask('look at it') });
    const agent = desk([[calls('look'), calls('transfer_to_billing')]], [look()], { handoffs: [billing], guardrails: [strict, picky] });
    const result = await start(agent);
    expect(result.status).toBe('blocked');
    expect(order(result)).toEqual(['start 1.0', 'error 1.0', 'aborted 1.1']);
  });

  it('end where their tool is not offered any more', async () => {
    const agent = desk(
      [calls('look') as never].map((call) => [call]),
      [look({ approval: true })],
    );
    const first = await start(agent);
    const without = desk([], [look({ enabled: false })]);
    const result = await decide(without, first);
    expect(eventsOf(result, 'tool.end').map(bare)).toStrictEqual([
      ended('1.0', 'look', words('error', 'unknown_tool', 'This tool is not there any more.')),
    ]);
  });
});

describe('a tool of a call', () => {
  it('is no handoff, though it has the name', async () => {
    const agent = desk([[calls('transfer_to_billing'), calls('look'), calls('send')]], [look(), send()], {
      handoffs: [agentOf({ name: 'billing' })],
    });
    const handle = await answered(agent, {});
    const names = [...handle.state.calls.values()].map((call) => toolOf(handle, call)?.name);
    expect(names).toEqual([undefined, 'look', 'send']);
  });
});

describe('a copy of a call', () => {
  const twice: Turn = [calls('send', { to: 'ann' }), calls('send', { to: 'ann' })];
  const note = 'The same call stands earlier in this answer. It ran once; this is its result.';

  it('shares the end of the first, whatever that is', async () => {
    const good = await start(desk([twice], [send()]));
    expect(order(good)).toEqual(['start 1.0', 'ok 1.0', 'ok 1.1']);
    expect(eventsOf(good, 'tool.end').map(bare)[1]).toStrictEqual(
      ended('1.1', 'send', {
        status: 'ok',
        content: 'Sent.',
        label: { origin: 'tool:send', integrity: 'trusted' },
        completeness: 'full',
        note,
        copyOf: '1.0',
      }),
    );
    const bad = await start(desk([twice], [send({}, () => toolError('away', { errorClass: 'unavailable', retryable: true }))]));
    expect(eventsOf(bad, 'tool.end').map(bare)[1]).toStrictEqual(
      ended('1.1', 'send', {
        ...again(words('error', 'unavailable', 'send failed: away')),
        label: { origin: 'tool:send', integrity: 'trusted' },
        note,
        copyOf: '1.0',
      }),
    );
  });

  it('waits with the first for a person', async () => {
    const agent = desk([twice], [send({ approval: true })]);
    const first = await start(agent);
    expect(order(first)).toEqual(['ask 1.0']);
    expect(order(await decide(agent, first))).toEqual(['ask 1.0', 'start 1.0', 'ok 1.0', 'ok 1.1']);
  });

  it('runs as it was called where the first was edited', async () => {
    const agent = desk([twice], [send({ approval: true })]);
    const first = await start(agent);
    const second = await decide(agent, first, { edit: { to: 'bob' } });
    expect(order(second)).toEqual(['ask 1.0', 'start 1.0', 'ok 1.0', 'ask 1.1']);
    expect(asked(second)).toMatchObject({ input: { to: 'ann' }, callId: '1.1' });
    expect(order(await decide(agent, second)).slice(4)).toEqual(['start 1.1', 'ok 1.1']);
  });

  it('shares the end of the first also where the tool does not declare any more what it does', async () => {
    const agent = desk([twice], [send()]);
    const cut = cutAfter(await start(agent), 'model.end');
    const result = await goOn(desk([], [tool('send', () => settle().then(() => 'Sent.'))], { model: scripted('', 'Done.') }), cut, {
      accept: 'changed',
    });
    expect(order(result)).toEqual(['start 1.0', 'ok 1.0', 'ok 1.1']);
  });
});

describe('a call that was under way when the log was cut', () => {
  const interrupted = { by: 'core', reason: 'the run was interrupted while this call was under way: it may have happened' };

  it('is put before a person where it may not happen twice', async () => {
    const agent = desk([[calls('send', { to: 'ann' })]], [send()]);
    const again = await goOn(agent, cutAfter(await start(agent), 'tool.start'));
    expect(after(again, 'run.resume')).toStrictEqual([
      {
        type: 'approval.request',
        approval: {
          id: 'r1/p1',
          surface: 'toolInput',
          run: 'r1',
          agentPath: ['desk'],
          subject: 'r1/1.0',
          revision: 0,
          digest: expect.stringMatching(/^[0-9a-f]{64}$/),
          reason: interrupted.reason,
          asks: [interrupted],
          label: byDesk,
          untrustedFrom: [],
          tool: 'send',
          callId: '1.0',
          input: { to: 'ann' },
          flow: { effect: 'send', authority: 'all', declared: true },
          mayHaveRun: true,
        },
      },
    ]);
    // Its own start is no equal call.
    expect(order(await decide(agent, again)).slice(2)).toEqual(['start 1.0', 'ok 1.0']);
  });

  it('ends unknown where a person does not let it run again, with what they said', async () => {
    const agent = desk([[calls('send')]], [send()]);
    const again = await goOn(agent, cutAfter(await start(agent), 'tool.start'));
    const result = await decide(agent, again, { reject: 'It is there.' });
    expect(eventsOf(result, 'tool.end').map(bare)).toStrictEqual([
      ended(
        '1.0',
        'send',
        words(
          'unknown',
          'timeout',
          'send was started, but a person did not let it run again: It is there.; it may have happened. Do not call it again before you have looked.',
        ),
      ),
    ]);
  });

  it('runs again where it may happen twice', async () => {
    const agent = desk([[calls('look', { at: 'sky' })]], [look()]);
    const again = await goOn(agent, cutAfter(await start(agent), 'tool.start'));
    expect(order(again)).toEqual(['start 1.0', 'start 1.0', 'ok 1.0']);
    expect(again.status).toBe('completed');
  });

  it('ends where its recorded arguments do not fit any more', async () => {
    const agent = desk([[calls('look', { at: 'sky' })]], [look()]);
    const strict = desk([], [look({ input: z.object({ at: z.number() }) })], { model: scripted('', 'Done.') });
    const misfit = ended(
      '1.0',
      'look',
      again(words('error', 'invalid_input', 'look: the recorded arguments do not fit the tool any more.')),
    );
    const whole = await start(agent);
    for (const type of ['tool.start', 'model.end'] as const) {
      const again = await goOn(strict, cutAfter(whole, type));
      expect(eventsOf(again, 'tool.end').map(bare)).toStrictEqual([misfit]);
      expect(again.status).toBe('completed');
    }
  });

  it('goes on where it is a call of an agent', async () => {
    const child = asTool(desk([[calls('send')]], [send({ approval: true })], { name: 'child' }), {
      name: 'ask_child',
      description: 'Asks the child.',
    });
    const agent = desk([[calls('ask_child', { input: 'Go.' })]], [child]);
    const first = await start(agent);
    const result = await decide(agent, first);
    expect(result.status).toBe('completed');
    expect(order(result)).toEqual(['start 1.0', 'ask 1.0', 'start 1.0', 'ok 1.0', 'ok 1.0']);
  });

  it('is not called equal to itself, but to another that ran before', async () => {
    const agent = desk([[calls('send', { to: 'ann' })], [calls('send', { to: 'ann' })]], [send()]);
    const first = await start(agent);
    expect(reasons(asked(first))).toEqual([equalRan]);
    const second = await decide(agent, first);
    expect(second.status).toBe('completed');
    const cut = cutAfter(second, 'tool.start', 2);
    const third = await goOn(agent, cut);
    expect(reasons(asked(third))).toEqual([`core: ${interrupted.reason}`]);
    // Who let it run again was not told of the equal call.
    const fourth = await decide(agent, third);
    expect(reasons(asked(fourth))).toEqual([equalRan]);
    expect(asked(fourth)).toMatchObject({ mayHaveRun: true });
    expect((await decide(agent, fourth)).status).toBe('completed');
  });
});

describe('whether a person is asked', () => {
  it.each([
    ['no', false, []],
    ['yes', true, ['approval: look needs an approval']],
    ['no by its rule', () => false, []],
    ['yes by its rule', () => true, ['approval: look needs an approval']],
    ['no by its rule, later', async () => false, []],
    ['yes by its rule, later', async () => true, ['approval: look needs an approval']],
    ['nonsense by its rule', () => 'no', ['approval: the approval rule of look failed']],
    ['nothing by its rule', () => undefined, ['approval: the approval rule of look failed']],
    ['nonsense by its rule, later', async () => 0, ['approval: the approval rule of look failed']],
    ['nothing by its rule, later', async () => undefined, ['approval: the approval rule of look failed']],
    ['nothing by a rule that throws', () => never.then.call(undefined as never), ['approval: the approval rule of look failed']],
    ['nothing by a rule that rejects', () => Promise.reject(new Error('no')), ['approval: the approval rule of look failed']],
  ])('is as the tool says: %s', async (_what, approval, expected) => {
    const result = await start(desk([[calls('look', { at: 'sky' })]], [look({ approval })]));
    expect(approvalsOf(result).flatMap(reasons)).toEqual(expected);
    expect(result.status).toBe(expected.length === 0 ? 'completed' : 'interrupted');
    expect(approvalsOf(result).map((approval) => approval.surface === 'toolInput' && approval.mayHaveRun)).toEqual(
      expected.map(() => false),
    );
  });

  it('is asked of a rule with the parsed input and what stands around the call', async () => {
    const seen: unknown[] = [];
    const approval = (input: unknown, { context, callId, signal }: { context: unknown; callId: string; signal: AbortSignal }) => {
      seen.push(input, context, callId, signal.aborted);
      return false;
    };
    const input = z.object({ n: z.string().transform(Number) });
    await start(desk([[calls('look', { n: '7' })]], [look({ approval, input })]), { context: { user: 'u1' } });
    expect(seen).toEqual([{ n: 7 }, { user: 'u1' }, '1.0', false]);
  });

  it('joins what guardrails, the tool and core want', async () => {
    const picky = defineGuardrail({ name: 'picky', on: ['toolInput'], check: () => ask('look at it') });
    const agent = desk([[calls('send')], [calls('send')]], [send({ approval: true })], { guardrails: [picky] });
    const first = await start(agent);
    expect(reasons(asked(first))).toEqual(['picky: look at it', 'approval: send needs an approval']);
    const second = await decide(agent, first);
    expect(reasons(asked(second))).toEqual(['picky: look at it', 'approval: send needs an approval', equalRan]);
    expect((await decide(agent, second)).status).toBe('completed');
  });

  it('is that the caller runs the tool, where nobody else does', async () => {
    const agent = desk([[calls('look')]], [look({ execute: undefined })]);
    const first = await start(agent);
    expect(reasons(asked(first))).toEqual(['core: the caller runs this tool']);
    expect(asked(first)).toMatchObject({ caller: true });
  });

  it('is nothing once the run is stopped while a rule is asked', async () => {
    const controller = new AbortController();
    const ending = start(desk([[calls('look')]], [look({ approval: () => never })]), { signal: controller.signal });
    await settle();
    controller.abort();
    const result = await ending;
    expect(result.status).toBe('cancelled');
    expect(order(result)).toEqual(['aborted 1.0']);
  });

  it('is asked once for an input that runs once, and not at all for another', async () => {
    const other = desk([[calls('send', { to: 'ann' })], [calls('send', { to: 'bob' })]], [send()]);
    expect((await start(other)).status).toBe('completed');
    const between = desk([[calls('send', { to: 'ann' })], [calls('send', { to: 'bob' })], [calls('send', { to: 'ann' })]], [send()]);
    expect(reasons(asked(await start(between)))).toEqual([equalRan]);
    const repeatable = desk([[calls('send', { to: 'ann' })], [calls('send', { to: 'ann' })]], [send({ repeatable: true })]);
    expect((await start(repeatable)).status).toBe('completed');
    const otherTool = desk(
      [[calls('send', { to: 'ann' })], [calls('post', { to: 'ann' })]],
      [send(), tool('post', () => 'Posted.', { flow: { effect: 'write' } })],
    );
    expect((await start(otherTool)).status).toBe('completed');
  });

  it('is asked again of who edited, though they were told of another equal call', async () => {
    const turns = [[calls('send', { to: 'ann' })], [calls('send', { to: 'bob' })], [calls('send', { to: 'ann' })]];
    const agent = desk(turns, [send()]);
    const first = await start(agent);
    const second = await decide(agent, first, { edit: { to: 'bob' } });
    expect(reasons(asked(second))).toEqual([equalRan]);
    expect(asked(second)).toMatchObject({ input: { to: 'bob' }, mayHaveRun: false });
  });

  it('is asked again where an equal call ran since the approval was asked for', async () => {
    const turns = [
      [calls('send', { to: 'ann' })],
      [calls('send', { to: 'ann' })],
      [calls('send', { to: 'bob' }), calls('send', { to: 'cat' })],
    ];
    const agent = desk(turns, [send({ approval: ({ to }: { to: string }) => to !== 'ann' })]);
    const first = await start(agent);
    expect(reasons(asked(first))).toEqual([equalRan]);
    const second = await decide(agent, first);
    const third = await decide(agent, second, { edit: { to: 'cat' } }, 'approve');
    expect(reasons(asked(third))).toEqual([equalRan]);
    expect(asked(third)).toMatchObject({ callId: '3.1', input: { to: 'cat' } });
  });

  it('takes no words of a guardrail for those of core', async () => {
    const mimic = defineGuardrail({
      name: 'mimic',
      on: ['toolInput'],
      check: ({ callId }) => (callId === '1.1' ? ask('an equal call of this tool has run before in this run') : allow()),
    });
    const agent = desk([[calls('send', { to: 'bob' }), calls('send', { to: 'ann' })]], [send({ approval: true })], { guardrails: [mimic] });
    const first = await start(agent);
    const second = await decide(agent, first, { edit: { to: 'ann' } }, 'approve');
    expect(reasons(asked(second))).toEqual([equalRan]);
  });
});

describe('limits', () => {
  const atLimit = (callId: string, limit: string) =>
    ended(callId, 'look', {
      ...words('aborted', 'aborted', `This call was not started: the limit ${limit} of the run is reached.`),
      limit,
    });

  it('keep calls from starting, beyond their number', async () => {
    const result = await start(desk([[calls('look'), calls('look')]], [look()]), { limits: { toolCalls: 1 } });
    expect(order(result)).toEqual(['start 1.0', 'ok 1.0', 'aborted 1.1']);
    expect(eventsOf(result, 'tool.end').map(bare)[1]).toStrictEqual(atLimit('1.1', 'toolCalls'));
    expect(result).toMatchObject({ status: 'exhausted', limit: 'toolCalls' });
  });

  it('keep calls from starting once the tokens are spent', async () => {
    const result = await start(desk([[calls('look')]], [look()]), { limits: { tokens: 15 } });
    expect(eventsOf(result, 'tool.end').map(bare)).toStrictEqual([atLimit('1.0', 'tokens')]);
  });

  it('keep nobody asked about a call beyond them', async () => {
    let rules = 0;
    const approval = () => {
      rules += 1;
      return false;
    };
    const result = await start(desk([[calls('look'), calls('look')]], [look({ approval })]), { limits: { toolCalls: 1 } });
    expect(order(result)).toEqual(['start 1.0', 'ok 1.0', 'aborted 1.1']);
    expect(rules).toBe(1);
  });

  it('do not count a call twice that is run again after a cut', async () => {
    const agent = desk([[calls('look')]], [look()]);
    const whole = await start(agent, { limits: { toolCalls: 1 } });
    const again = await goOn(agent, cutAfter(whole, 'tool.start'));
    expect(order(again)).toEqual(['start 1.0', 'start 1.0', 'ok 1.0']);
  });

  it('keep a call from being run again, which may have happened', async () => {
    const agent = desk([[calls('send')]], [send()]);
    const again = await goOn(agent, cutAfter(await start(agent), 'tool.start'));
    const result = await goOn(agent, again.log, { decisions: { [asked(again).id]: 'approve' }, limits: { tokens: 10 } });
    expect(eventsOf(result, 'tool.end').map(bare)).toStrictEqual([
      ended('1.0', 'send', {
        ...words(
          'unknown',
          'timeout',
          'send was started, but the limit tokens of the run was reached before it was run again; it may have happened. Do not call it again before you have looked.',
        ),
        limit: 'tokens',
      }),
    ]);
  });

  it.each<Decision>(['approve', { edit: { n: 2 } }])(
    'hold for a call that a person let run by %j, and no guardrail is asked',
    async (decision) => {
      let checks = 0;
      const count = defineGuardrail({
        name: 'count',
        on: ['toolInput'],
        check: () => {
          checks += 1;
          return allow();
        },
      });
      const agent = desk([[calls('look', { n: 1 })]], [look({ approval: true })], { guardrails: [count] });
      const first = await start(agent);
      checks = 0;
      const result = await goOn(agent, first.log, { decisions: { [asked(first).id]: decision }, limits: { toolCalls: 0 } });
      expect(order(result)).toEqual(['ask 1.0', 'aborted 1.0']);
      expect(checks).toBe(decision === 'approve' ? 0 : 1);
    },
  );

  /** Two agents at work at once, each with one call of `look`, and one call left for both. */
  const pair = (more: object, guardrails: readonly unknown[] = []) => {
    const child = (name: string) =>
      asTool(desk([[calls('look')]], [look(more)], { name, guardrails }), { name: `ask_${name}`, description: `Asks ${name}.` });
    return desk([[calls('ask_one', { input: 'Go.' }), calls('ask_two', { input: 'Go.' })]], [child('one'), child('two')]);
  };
  const looks = (result: RunResult) =>
    result.log.events.flatMap((event) =>
      (event.type === 'tool.start' || event.type === 'tool.end') && event.tool === 'look'
        ? [event.type === 'tool.end' ? event.status : 'start']
        : [],
    );

  it('hold where they were used up while a rule about approvals was asked', async () => {
    const result = await start(pair({ approval: () => settle().then(() => false) }), { limits: { toolCalls: 3 } });
    expect(looks(result)).toEqual(['start', 'ok', 'aborted']);
  });

  it('hold where they were used up while guardrails were asked about an approved call', async () => {
    const slow = defineGuardrail({ name: 'slow', on: ['toolInput'], tools: ['look'], check: () => settle().then(() => allow()) });
    const agent = pair({ approval: true }, [slow]);
    const first = await start(agent, { limits: { toolCalls: 3 } });
    expect(approvalsOf(first)).toHaveLength(2);
    expect(looks(await decide(agent, first))).toEqual(['start', 'ok', 'aborted']);
  });
});

describe('what a person decided', () => {
  const one = (more: object = {}, guardrails: readonly unknown[] = []) =>
    desk([[calls('look', { n: 1 })]], [look({ approval: true, ...more })], { guardrails });

  it.each([
    { what: 'what they said', more: { rejection: 'Not now.' }, reject: 'It is night.', summary: 'It is night.' },
    { what: "the tool's own words where they said nothing", more: { rejection: 'Not now.' }, reject: '', summary: 'Not now.' },
    { what: 'that they did, where nobody said more', more: {}, reject: '', summary: 'A person rejected this call of look.' },
  ])('ends the call where they rejected it, with $what', async ({ more, reject, summary }) => {
    const agent = one(more);
    const result = await decide(agent, await start(agent), { reject });
    expect(eventsOf(result, 'tool.end').map(bare)).toStrictEqual([ended('1.0', 'look', words('rejected', 'rejected', summary))]);
  });

  it('runs the call where the checks let it pass once more', async () => {
    const phases: string[] = [];
    const watch = defineGuardrail({
      name: 'watch',
      on: ['toolInput'],
      rewrite: () => {
        phases.push('rewrite');
        return allow();
      },
      check: ({ content }, { labels }) => {
        phases.push(`check ${content} ${labels.subject.origin}`);
        return allow();
      },
    });
    const agent = one({}, [watch]);
    const first = await start(agent);
    phases.length = 0;
    const result = await decide(agent, first);
    expect(phases).toEqual(['check {"n":1} agent:desk']);
    expect(after(result, 'approval.resolve').slice(0, 2)).toStrictEqual([
      {
        type: 'guard.verdict',
        guardrail: 'watch',
        level: 'agent',
        surface: 'toolInput',
        subject: 'r1/1.0',
        revision: 0,
        phase: 'check',
        action: 'allow',
        ms: 0,
      },
      { type: 'tool.start', callId: '1.0', tool: 'look', revision: 0, input: { n: 1 }, idempotencyKey: 'r1/1.0', answers: 'a' },
    ]);
  });

  it('ends the call where a check refuses it since', async () => {
    let isOpen = true;
    const hours = defineGuardrail({ name: 'hours', on: ['toolInput'], check: () => (isOpen ? allow() : deny('closed')) });
    const agent = one({}, [hours]);
    const first = await start(agent);
    isOpen = false;
    const result = await decide(agent, first);
    expect(eventsOf(result, 'tool.end').map(bare)).toStrictEqual([
      ended('1.0', 'look', {
        ...words('denied', 'denied', 'closed'),
        refusal: { action: 'deny', surface: 'toolInput', by: 'hours', reason: 'closed' },
        answers: 'd',
      }),
    ]);
  });

  it('runs nothing where the run is stopped while a check is asked', async () => {
    let isSlow = false;
    let isAsked = false;
    const slow = defineGuardrail({
      name: 'slow',
      on: ['toolInput'],
      check: () => {
        isAsked = isSlow;
        return isSlow ? never : allow();
      },
    });
    const agent = one({}, [slow]);
    const first = await start(agent);
    isSlow = true;
    const controller = new AbortController();
    const ending = goOn(agent, first.log, { decisions: { [asked(first).id]: 'approve' }, signal: controller.signal }).result;
    while (!isAsked) await settle();
    controller.abort();
    expect(order(await ending)).toEqual(['ask 1.0', 'aborted 1.0']);
  });

  it('runs nothing where the recorded input does not fit any more', async () => {
    const agent = one();
    const first = await start(agent);
    const strict = desk([], [look({ input: z.object({ n: z.string() }) })], { model: scripted('', 'Done.') });
    const result = await decide(strict, first);
    expect(order(result)).toEqual(['ask 1.0', 'error 1.0']);
    expect(result.status).toBe('completed');
  });

  it('runs nothing where the run is stopped while the schema looks at the input', async () => {
    const agent = one();
    const first = await start(agent);
    let isAsked = false;
    const input = z.object({}).refine(() => {
      isAsked = true;
      return never;
    });
    const slow = desk([], [look({ input })]);
    const controller = new AbortController();
    const ending = goOn(slow, first.log, { decisions: { [asked(first).id]: 'approve' }, signal: controller.signal }).result;
    while (!isAsked) await settle();
    controller.abort();
    const result = await ending;
    expect(eventsOf(result, 'tool.end').map(bare)).toStrictEqual([
      ended('1.0', 'look', { ...words('aborted', 'aborted', 'The run was stopped before this call was started.'), polling: true }),
    ]);
  });

  it('runs the input that they gave, in the process that prepared the call, too', async () => {
    const seen: unknown[] = [];
    const agent = desk(
      [[calls('look', { n: 1 })]],
      [
        look({ approval: true }, (input: never) => {
          seen.push(input);
          return 'Blue.';
        }),
      ],
    );
    const handle = await answered(agent, {});
    await runTools(handle);
    const approval = handle.state.calls.get('1.0')?.approval;
    const { id = '', subject = '', digest = '' } = approval ?? {};
    handle.append({ type: 'approval.resolve', id, subject, digest, revision: 1, decision: 'edit', input: { n: 2 } });
    await runTools(handle);
    expect(seen).toEqual([{ n: 2 }]);
  });

  it('for later calls answers for them, and not for a run that is being stopped', async () => {
    const session = { store: memorySession(), id: 's' };
    const turns = [[calls('look', { n: 1 })], [calls('look', { n: 2 })], [calls('look', { n: 3 })]];
    const agent = desk(turns, [look({ approval: true })]);
    const first = await start(agent, { session });
    const controller = new AbortController();
    const decisions = { [asked(first).id]: { approve: 'standing', when: {} } };
    const observers = [
      ({ type, approval }: LogEvent & { approval?: Approval }) => {
        if (type === 'approval.request' && approval?.subject === 'r1/3.0') controller.abort();
      },
    ];
    const result = await resume(agent, session, { decisions, signal: controller.signal, observers } as never);
    expect(order(result)).toEqual(['ask 1.0', 'start 1.0', 'ok 1.0', 'ask 2.0', 'start 2.0', 'ok 2.0', 'ask 3.0', 'aborted 3.0']);
    expect(eventsOf(result, 'approval.resolve').map(({ byStanding }) => byStanding)).toEqual([undefined, 'r1/p1']);
  });

  it('about a handoff lets it happen, or ends it with their words', async () => {
    const picky = defineGuardrail({ name: 'picky', on: ['handoff'], check: () => ask('look at it') });
    const agent = desk([[calls('transfer_to_billing', {}), calls('look')]], [look()], {
      handoffs: [handoff(agentOf({ name: 'billing' }), { brief: 'Refund.' })],
      guardrails: [picky],
    });
    const first = await start(agent);
    expect(order(first)).toEqual(['start 1.1', 'ok 1.1', 'ask 1.0']);
    expect(after(first, 'tool.end')).toStrictEqual([
      {
        type: 'approval.request',
        approval: {
          id: 'r1/p1',
          surface: 'handoff',
          run: 'r1',
          agentPath: ['desk'],
          subject: 'r1/1.0',
          revision: 0,
          digest: expect.stringMatching(/^[0-9a-f]{64}$/),
          reason: 'look at it',
          asks: [{ by: 'picky', reason: 'look at it' }],
          label: byDesk,
          untrustedFrom: [],
          tool: 'transfer_to_billing',
          callId: '1.0',
          input: {},
          from: 'desk',
          to: 'billing',
          brief: 'Refund.',
        },
      },
    ]);
    expect(eventsOf(await decide(agent, first), 'handoff')).toMatchObject([{ to: 'billing' }]);
    const rejected = await decide(agent, first, { reject: 'Stay.' });
    expect(eventsOf(rejected, 'handoff')).toEqual([]);
    expect(eventsOf(rejected, 'tool.end').map(bare).at(-1)).toStrictEqual(
      ended('1.0', 'transfer_to_billing', words('rejected', 'rejected', 'Stay.')),
    );
  });

  it('is waited for again by a call whose gate is still closed', async () => {
    const door = gate<boolean>();
    const ending = start(desk([[calls('look')]], [look({ approval: () => door.promise })]));
    await settle();
    door.resolve(true);
    expect(asked(await ending)).toMatchObject({ tool: 'look' });
  });
});
