import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { defineAgent } from '../define/agent.js';
import { asTool } from '../define/as-tool.js';
import { agentSpecOf } from '../define/definition.js';
import { defineGuardrail } from '../define/guardrail.js';
import { handoff } from '../define/handoff.js';
import { defineTool } from '../define/tool.js';
import { allow, ask, deny } from '../define/verdict.js';
import type { Clock } from '../model/clock.js';
import type { JsonObject, Model } from '../model/types.js';
import { memorySession } from '../session/memory.js';
import type { SessionStore } from '../session/session.js';
import type { Log, LogEvent, RunEvent } from '../state/events.js';
import { beginResume, beginRun } from './begin.js';
import type { RunHandle } from './handle.js';
import { readOptions } from './options.js';
import { resume, run } from './run.js';

const usage = { requests: 1, inputTokens: 1, outputTokens: 1 };
interface Call {
  readonly tool: string;
  readonly input?: JsonObject;
}
type Say = string | Call | readonly Call[];

/** Says one thing in each turn. */
function speaking(...turns: readonly Say[]): Model {
  return {
    id: 'm',
    provider: 'test',
    async *stream({ turn }) {
      const said = turns[turn - 1] ?? 'Done.';
      if (typeof said === 'string') yield { type: 'text.delta', text: said };
      else for (const { tool, input = {} } of [said].flat() as readonly Call[]) yield { type: 'tool.call', call: { name: tool, input } };
      yield { type: 'end', stopReason: typeof said === 'string' ? 'stop' : 'tools', usage };
    },
  };
}

const define = defineAgent as (def: unknown) => ReturnType<typeof defineAgent>;
const agentOf = (name: string, more: object = {}) => define({ name, instructions: '', model: speaking(), ...more });
const guardrail = (name: string, more: object = {}) =>
  (defineGuardrail as (def: unknown) => ReturnType<typeof defineGuardrail>)({ name, on: ['input'], check: () => allow(), ...more });
const tool = (name: string, more: object = {}) =>
  (defineTool as (def: unknown) => unknown)({ name, description: '', input: z.object({}), execute: () => 'done', ...more });
type Defined = ReturnType<typeof agentOf>;
const runIt = run as (agent: unknown, input: unknown, options?: unknown) => ReturnType<typeof run>;

const resumeIt = resume as unknown as (agent: unknown, target: unknown, options?: unknown) => ReturnType<typeof run>;

/** Options of a door; `shown` takes what the reader of the stream sees. */
interface Given {
  readonly shown?: RunEvent[];
  readonly [option: string]: unknown;
}

/** Enters a new run, and goes no further. */
async function begin(agent: Defined, input: unknown, { shown, ...given }: Given = {}): Promise<RunHandle> {
  const spec = agentSpecOf(agent, 'It');
  const channel = { push: (event: RunEvent) => shown?.push(event) } as never;
  return beginRun(spec, input, { options: readOptions('run', given, spec), channel: shown && channel });
}

async function goOn(agent: Defined, target: unknown, { shown, ...given }: Given = {}): Promise<RunHandle> {
  const spec = agentSpecOf(agent, 'It');
  const channel = { push: (event: RunEvent) => shown?.push(event) } as never;
  return beginResume(spec, target, { options: readOptions('resume', given, spec), channel: shown && channel });
}

/** The log as somebody else reads it. */
const copy = (events: readonly LogEvent[]): Log => JSON.parse(JSON.stringify({ version: 1, events })) as Log;
const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);
const refused = (code: string, message: string | RegExp) =>
  expect.objectContaining({ code, message: typeof message === 'string' ? message : expect.stringMatching(message) });
/** Time passes only where somebody waits, and then at once. */
function hurriedClock(): Clock & { passed: number } {
  const clock = {
    passed: 0,
    now: () => 1_000 + clock.passed,
    after(ms: number, then: () => void) {
      let isOn = true;
      queueMicrotask(() => {
        if (!isOn) return;
        clock.passed += ms;
        then();
      });
      return () => {
        isOn = false;
      };
    },
  };
  return clock;
}

const limits = { turns: 8, toolCalls: null, tokens: null, cost: null, ms: null, handoffs: 8, repairs: 1, repeats: 3 };

describe('a new run', () => {
  it('begins with one event that says what holds for it', async () => {
    const clock = { now: () => 5, after: () => () => undefined };
    const handle = await begin(agentOf('billing', { guardrails: [guardrail('own')] }), 'hello', {
      clock,
      limits: { turns: 3 },
      guardrails: [guardrail('all')],
      runId: 'r1',
    });
    const entry = (name: string) => ({ name, surfaces: ['input'], phases: ['check'] });
    expect(handle.root.events).toEqual([
      {
        type: 'run.start',
        seq: 1,
        at: 5,
        run: 'r1',
        agent: 'billing',
        writer: handle.root.writerId,
        limits: { ...limits, turns: 3 },
        manifest: { run: [entry('all')], agent: [entry('own')], tools: {}, definitions: expect.objectContaining({ tools: {} }) },
      },
    ]);
    expect(handle.input).toEqual([expect.objectContaining({ id: 'r1/i1', parts: [expect.objectContaining({ text: 'hello' })] })]);
    expect([handle.state.id, handle.state.accepted, handle.isStreamed]).toEqual(['r1', false, true]);
    expect([...handle.agents.keys()]).toEqual(['billing']);
  });

  it('has an id of its own where none is given', async () => {
    const ids = [await begin(agentOf('a'), 'x'), await begin(agentOf('a'), 'x')].map(({ state }) => state.id);
    expect(ids).toEqual([expect.stringMatching(/^r[0-9a-f]{16}$/), expect.stringMatching(/^r[0-9a-f]{16}$/)]);
    expect(new Set(ids).size).toBe(2);
  });

  it.each([
    ['finalize', 'finalize'],
    ['stop', undefined],
    [undefined, undefined],
  ])('with onLimit %s records %s', async (onLimit, recorded) => {
    const [event] = (await begin(agentOf('a'), 'x', { onLimit })).root.events;
    expect(event).toMatchObject({ type: 'run.start' });
    expect(event && 'onLimit' in event ? event.onLimit : undefined).toBe(recorded);
  });

  it('shows its beginning to who watches', async () => {
    const [shown, seen]: [RunEvent[], RunEvent[]] = [[], []];
    await begin(agentOf('a'), 'x', { observers: [(event: RunEvent) => seen.push(event)], shown });
    expect([typesOf(shown), typesOf(seen)]).toEqual([['run.start'], ['run.start']]);
  });

  it('waits for keys that approvals are signed with, and is refused where one does not fit', async () => {
    await expect(begin(agentOf('a'), 'x', { approvals: { key: 'short' } })).rejects.toThrow(refused('CONFIG_INVALID', /a key of 5 bytes/));
    expect((await begin(agentOf('a'), 'x', { approvals: { key: 'k'.repeat(32) } })).root.events).toHaveLength(1);
  });

  it('waits for schemas that are still being converted', async () => {
    const late = tool('late', { input: mini.object({ a: mini.string() }) });
    expect((await begin(agentOf('a', { tools: [late] }), 'x')).root.events).toHaveLength(1);
  });

  it('is refused where a name of an agent that it hands over to is nobody', async () => {
    await expect(begin(agentOf('a', { handoffs: ['nobody'] }), 'x')).rejects.toThrow(
      refused('CONFIG_INVALID', /^Agent a hands over to nobody/),
    );
  });

  it('is refused where its guardrails share a name with those of any agent on the way, used as a tool or not', async () => {
    const guards = { guardrails: [guardrail('g')] };
    const clash = (name: string) => refused('NAME_TAKEN', new RegExp(`^Guardrail name g is used twice by the run and agent ${name}\\.`));
    await expect(begin(agentOf('a', guards), 'x', guards)).rejects.toThrow(clash('a'));
    await expect(begin(agentOf('a', { handoffs: [agentOf('b', guards)] }), 'x', guards)).rejects.toThrow(clash('b'));
    const inner = agentOf('inner', { handoffs: [agentOf('deep', guards)] });
    const outer = agentOf('outer', { tools: [tool('pay'), asTool(inner as never, { name: 'ask', description: '' })] });
    await expect(begin(agentOf('a', { handoffs: [outer] }), 'x', guards)).rejects.toThrow(clash('deep'));
    expect((await begin(agentOf('a', { handoffs: [outer] }), 'x')).root.events).toHaveLength(1);
  });

  it('is refused for wrong limits and wrong input before its session is asked', async () => {
    const asked: string[] = [];
    const store: SessionStore = {
      load: async (id) => {
        asked.push(id);
        return [];
      },
      append: async () => undefined,
    };
    const session = { store, id: 's' };
    await expect(begin(agentOf('a'), 'x', { session, limits: { turns: 0 } })).rejects.toThrow(
      refused('CONFIG_INVALID', /limit turns is 0/),
    );
    await expect(begin(agentOf('a'), 7, { session })).rejects.toThrow(refused('CONFIG_INVALID', /^The input of the run is 7\./));
    expect(asked).toEqual([]);
  });
});

describe('a new run of a session', () => {
  it('is stored before it is entered', async () => {
    const store = memorySession();
    const handle = await begin(agentOf('a'), 'x', { session: { store, id: 's' } });
    expect(await store.load('s')).toEqual(handle.root.events);
  });

  it('goes on at the agent that was active, while that one can be reached', async () => {
    const billing = agentOf('billing');
    const desk = agentOf('desk', { handoffs: [billing], model: speaking({ tool: 'transfer_to_billing' }) });
    const session = { store: memorySession(), id: 's' };
    expect(await runIt(desk, 'x', { session })).toMatchObject({ status: 'completed', agent: 'billing' });
    const history = [{ role: 'assistant', text: 'So far.' }];
    const handle = await begin(desk, 'y', { session, history, runId: 'r2' });
    expect([handle.state.agent, handle.root.events.at(-1)?.agent]).toEqual(['billing', 'billing']);
    expect(handle.input?.map((message) => [message.id, 'agent' in message ? message.agent : message.role])).toEqual([
      ['r2/i1', 'billing'],
      ['r2/i2', 'user'],
    ]);
    expect(handle.root.events.at(-1)?.seq).toBe(handle.root.events.length);
    const other = await begin(agentOf('other'), 'y', { session, unfinished: 'abandon', history });
    expect([other.state.agent, other.input?.[0]]).toEqual(['other', expect.objectContaining({ agent: 'other' })]);
  });

  it('is refused where its id is taken', async () => {
    const session = { store: memorySession(), id: 's' };
    await runIt(agentOf('a'), 'x', { session, runId: 'r1' });
    await expect(begin(agentOf('a'), 'x', { session, runId: 'r1' })).rejects.toThrow(
      refused('CONFIG_INVALID', 'The session has a run r1 already. Give another runId, or none.'),
    );
  });

  it('is refused where another writer was quicker, and shows nothing', async () => {
    const inner = memorySession();
    const session = {
      id: 's',
      store: {
        load: (id: string, after?: number) => inner.load(id, after),
        append: async (id: string, events: readonly LogEvent[], after: number) => {
          await begin(agentOf('a'), 'x', { session: { store: inner, id } });
          await inner.append(id, events, after);
        },
      },
    };
    const shown: RunEvent[] = [];
    await expect(begin(agentOf('a'), 'x', { session, observers: [(event: RunEvent) => shown.push(event)], shown })).rejects.toThrow(
      refused('LOG_CONFLICT', /^Another writer has appended to s\./),
    );
    expect(shown).toEqual([]);
  });

  const unfinished =
    "The last run of the session, r1, has not ended: it is under way, waits for people or was cut. Resume it, give unfinished: 'abandon' to end it, or onConflict: 'queue' in `session` to wait for one that is under way.";
  it('is refused after a run that has not ended', async () => {
    const session = { store: memorySession(), id: 's' };
    await begin(agentOf('a'), 'x', { session, runId: 'r1' });
    await expect(begin(agentOf('a'), 'y', { session })).rejects.toThrow(refused('RESUME_MISMATCH', unfinished));
  });

  it('ends the run before it where it is told to, in its own name, and shows that to who watches, but no pieces of text', async () => {
    const store = memorySession();
    const cut = await begin(agentOf('a', { guardrails: [guardrail('own')] }), 'x', { session: { store, id: 's' }, runId: 'r1' });
    const shown: RunEvent[] = [];
    const handle = await begin(agentOf('a'), 'y', { session: { store, id: 's' }, unfinished: 'abandon', runId: 'r2', shown });
    const { writerId } = handle.root;
    expect(await store.load('s')).toEqual([
      ...cut.root.events,
      expect.objectContaining({ type: 'run.resume', run: 'r1', writer: writerId, manifest: cut.state.manifest }),
      expect.objectContaining({ type: 'run.end', run: 'r1', status: 'cancelled' }),
      expect.objectContaining({ type: 'run.start', run: 'r2', seq: 4, writer: writerId }),
    ]);
    expect(typesOf(shown)).toEqual(['run.resume', 'run.end', 'run.start']);
    expect(handle.state.id).toBe('r2');
  });

  it('that queues waits for a run that may be under way elsewhere, and is refused when its time is over', async () => {
    const store = memorySession();
    await begin(agentOf('a'), 'x', { session: { store: { ...store }, id: 's' }, runId: 'r1' });
    const clock = hurriedClock();
    const session = { store, id: 's', onConflict: 'queue', waitMs: 500 };
    await expect(begin(agentOf('a'), 'y', { session, clock })).rejects.toThrow(
      refused('RESUME_MISMATCH', /^The run has waited 500 ms for its turn on the session s; /),
    );
    expect(clock.passed).toBe(500);
    await expect(begin(agentOf('a'), 'y', { session: { ...session, waitMs: 0 }, clock })).rejects.toThrow(
      refused('RESUME_MISMATCH', /^The run has waited 0 ms/),
    );
  });

  it('that queues and may end the run before it does so when its time is over, and no sooner', async () => {
    const store = memorySession();
    await begin(agentOf('a'), 'x', { session: { store: { ...store }, id: 's' }, runId: 'r1' });
    const clock = hurriedClock();
    const session = { store, id: 's', onConflict: 'queue', waitMs: 500 };
    const handle = await begin(agentOf('a'), 'y', { session, clock, unfinished: 'abandon' });
    expect([clock.passed, typesOf(handle.root.events)]).toEqual([500, ['run.start', 'run.resume', 'run.end', 'run.start']]);
  });

  it('lets the next one go where it does not come to be', async () => {
    const store = memorySession();
    const session = { store, id: 's', onConflict: 'queue' };
    const clock = hurriedClock();
    await runIt(agentOf('a'), 'x', { session, runId: 'r1', clock });
    await expect(begin(agentOf('a'), 'x', { session, runId: 'r1', clock })).rejects.toThrow(refused('CONFIG_INVALID', /already/));
    expect((await begin(agentOf('a'), 'x', { session, clock })).root.events.at(-1)?.type).toBe('run.start');
    expect(clock.passed).toBe(0);
  });
});

// ------------------------------------------------------------------------------------------------ resume
/** An agent whose one call waits for a person, and the log in which it does. */
async function waiting(more: object = {}, name = 'pay', options: object = {}) {
  const pay = tool(name, { approval: true, input: z.object({ cents: z.number() }), ...more });
  const agent = agentOf('billing', { tools: [pay], model: speaking({ tool: name, input: { cents: 3 } }) });
  const result = await runIt(agent, 'x', { runId: 'r1', ...options });
  if (result.status !== 'interrupted') throw new Error(`The run ended ${result.status}.`);
  return { agent, log: copy(result.log.events), approval: result.approvals[0]?.id ?? '' };
}

describe('what is resumed', () => {
  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', '{"version":1}'],
    ['a log of another version', { version: 2, events: [] }],
  ])('may not be %s', async (_what, target) => {
    await expect(goOn(agentOf('a'), target)).rejects.toThrow(refused('LOG_INVALID', /^The log /));
  });

  it('holds a run', async () => {
    const nothing = refused('RESUME_MISMATCH', 'The log holds no run. Start one with `run`.');
    await expect(goOn(agentOf('a'), { version: 1, events: [] })).rejects.toThrow(nothing);
    await expect(goOn(agentOf('a'), { store: memorySession(), id: 's' })).rejects.toThrow(nothing);
  });

  it('is a session where it has a store, and its options are those of one', async () => {
    await expect(goOn(agentOf('a'), { store: memorySession(), id: '' })).rejects.toThrow(
      refused('CONFIG_INVALID', /^The option `session` has ""/),
    );
    const store = memorySession();
    const cut = await begin(agentOf('a'), 'x', { session: { store, id: 's' } });
    const handle = await goOn(agentOf('a'), { store, id: 's' }, { input: 'x' });
    expect(typesOf(await store.load('s'))).toEqual(['run.start', 'run.resume']);
    expect([handle.state.id, handle.root.writer === undefined]).toEqual([cut.state.id, false]);
  });

  it('needs agents that are ready, as a new run does', async () => {
    const { events } = (await begin(agentOf('a'), 'x')).root;
    const guards = { guardrails: [guardrail('g')] };
    await expect(goOn(agentOf('a', guards), copy(events), { ...guards, input: 'x' })).rejects.toThrow(
      refused('NAME_TAKEN', /run and agent a/),
    );
  });
});

describe('a run that was cut before its input was accepted', () => {
  it('is given its input again', async () => {
    const clock = { now: () => 9, after: () => () => undefined };
    const cut = await begin(agentOf('a'), 'x', { runId: 'r1' });
    const history = [{ role: 'assistant', text: 'So far.' }];
    const handle = await goOn(agentOf('a'), copy(cut.root.events), { input: 'x', history, clock });
    expect(handle.root.events.slice(1)).toEqual([
      {
        ...{ type: 'run.resume', seq: 2, at: 9, run: 'r1', agent: 'a', writer: handle.root.writerId },
        manifest: { run: [], agent: [], tools: {}, definitions: expect.objectContaining({ tools: {} }) },
      },
    ]);
    expect(handle.root.writerId).not.toBe(cut.root.writerId);
    expect(handle.input?.map(({ id, ...message }) => [id, 'agent' in message ? message.agent : message.role])).toEqual([
      ['r1/i1', 'a'],
      ['r1/i2', 'user'],
    ]);
  });

  it('is refused without it', async () => {
    const { events } = (await begin(agentOf('a'), 'x', { runId: 'r1' })).root;
    await expect(goOn(agentOf('a'), copy(events))).rejects.toThrow(
      refused(
        'RESUME_MISMATCH',
        'The run r1 was cut before its input was accepted, and nothing of it is recorded. Give it again with the option `input`.',
      ),
    );
  });
});

describe('a run that goes on', () => {
  it('says with what, and shows from there on', async () => {
    const { agent, log } = await waiting();
    const shown: RunEvent[] = [];
    const handle = await goOn(agent, log, { limits: { turns: 2 }, onLimit: 'stop', guardrails: [guardrail('new')], shown });
    expect(shown).toEqual([
      expect.objectContaining({
        type: 'run.resume',
        limits: { ...limits, turns: 2 },
        onLimit: 'stop',
        manifest: {
          run: [{ name: 'new', surfaces: ['input'], phases: ['check'] }],
          agent: [],
          tools: {},
          definitions: expect.objectContaining({ name: handle.state.agent }),
        },
      }),
    ]);
    expect(shown[0]).not.toHaveProperty('reopens');
    expect(handle.input).toBeUndefined();
  });

  it('stands under what the agent has at which it stands', async () => {
    const call = { tool: 'pay' };
    const billing = agentOf('billing', {
      tools: [tool('pay', { approval: true })],
      guardrails: [guardrail('own')],
      model: speaking('', call),
    });
    const desk = agentOf('desk', { handoffs: [billing], model: speaking({ tool: 'transfer_to_billing' }) });
    const { log, status } = await runIt(desk, 'x');
    expect(status).toBe('interrupted');
    const event = (await goOn(desk, copy(log.events))).root.events.at(-1);
    expect(event).toMatchObject({ type: 'run.resume', agent: 'billing', manifest: { agent: [{ name: 'own' }] } });
  });

  it('keeps the limits that it had where only some are given', async () => {
    const { agent, log } = await waiting({}, 'pay', { limits: { turns: 5, handoffs: 1 } });
    expect((await goOn(agent, log, { limits: { turns: 7 } })).root.events.at(-1)).toMatchObject({
      limits: { ...limits, turns: 7, handoffs: 1 },
    });
    const event = (await goOn(agent, log)).root.events.at(-1);
    expect(event).toMatchObject({ type: 'run.resume' });
    for (const name of ['limits', 'onLimit', 'reopens']) expect(event).not.toHaveProperty(name);
  });

  it('records what people decided with it', async () => {
    const { agent, log, approval } = await waiting();
    const handle = await goOn(agent, log, { decisions: { [approval]: 'approve' } });
    expect(handle.root.events.slice(log.events.length)).toEqual([
      expect.objectContaining({ type: 'run.resume' }),
      expect.objectContaining({ type: 'approval.resolve', id: approval, run: 'r1', decision: 'approve' }),
    ]);
  });

  it('is refused for a decision about nothing before anything is recorded', async () => {
    const store = memorySession();
    const { agent } = await waiting({}, 'pay', { session: { store, id: 's' } });
    const before = await store.load('s');
    await expect(goOn(agent, { store, id: 's' }, { decisions: { p9: 'approve' } })).rejects.toThrow(
      refused('RESUME_MISMATCH', /^There is no open approval p9/),
    );
    expect(await store.load('s')).toEqual(before);
  });

  it('is refused where the call is not the one that people were asked about', async () => {
    const { agent, log } = await waiting();
    const events = log.events.map((event) =>
      event.type === 'approval.request' && event.approval.surface === 'toolInput'
        ? { ...event, approval: { ...event.approval, input: { cents: 9_000 } } }
        : event,
    );
    await expect(goOn(agent, { ...log, events })).rejects.toThrow(refused('LOG_INVALID', /the log was altered/));
  });

  it('is refused where an edit is not read in time once the caller has left', async () => {
    const stuck = z.object({ cents: z.number() }).refine(() => new Promise<boolean>(() => undefined));
    const { log, approval } = await waiting();
    const pay = tool('pay', { approval: true, input: stuck });
    const slow = agentOf('billing', { tools: [pay] });
    const controller = new AbortController();
    controller.abort();
    await expect(
      goOn(slow, log, { decisions: { [approval]: { edit: { cents: 1 } } }, clock: hurriedClock(), signal: controller.signal }),
    ).rejects.toThrow(
      refused(
        'RESUME_MISMATCH',
        'The decisions for the run r1 were not read in time: it was aborted while the schema of a tool looked at an edit. Nothing was changed; resume it again.',
      ),
    );
  });

  it('answers what was asked while a standing decision held, unless it was decided now', async () => {
    const pay = tool('pay', { approval: true, input: z.object({ cents: z.number() }) });
    const calls = [3, 4].map((cents) => ({ tool: 'pay', input: { cents } }));
    const agent = agentOf('billing', { tools: [pay], model: speaking(...calls) });
    const first = await runIt(agent, 'x');
    const id = first.status === 'interrupted' ? first.approvals[0]?.id : undefined;
    const { log } = await resumeIt(agent, first.log, { decisions: { [id ?? '']: { approve: 'standing', when: {} } } });
    const asked = log.events.findLastIndex(({ type }) => type === 'approval.request');
    const cut = copy(log.events.slice(0, asked + 1));
    const of = log.events[asked]?.type === 'approval.request' ? log.events[asked].approval.id : '';
    expect(of).not.toBe(id);
    const after = async (options: Given) => (await goOn(agent, cut, options)).root.events.slice(asked + 1);
    expect(await after({})).toEqual([
      expect.objectContaining({ type: 'run.resume' }),
      expect.objectContaining({ type: 'approval.resolve', id: of, decision: 'approve', byStanding: id }),
    ]);
    expect(await after({ decisions: { [of]: { reject: 'No.' } } })).toEqual([
      expect.objectContaining({ type: 'run.resume' }),
      expect.objectContaining({ type: 'approval.resolve', id: of, decision: 'reject' }),
    ]);
    expect(typesOf(await after({ standing: 'ignore' }))).toEqual(['run.resume']);
  });
});

describe('a run that has ended', () => {
  const failing: Model = {
    ...speaking(),
    stream() {
      throw new Error('down');
    },
  };
  const no = defineGuardrail({ name: 'no', on: ['input'], check: () => deny('No.') });
  const broken = defineGuardrail({
    name: 'broken',
    on: ['input'],
    check: () => {
      throw new Error('down');
    },
  });
  const loops = () => agentOf('a', { tools: [tool('look')], model: speaking({ tool: 'look' }, { tool: 'look' }) });
  const aborted = new AbortController();
  aborted.abort();
  const ends: Record<string, [agent: Defined, options: Given]> = {
    completed: [agentOf('a'), {}],
    exhausted: [loops(), { limits: { turns: 1 } }],
    cancelled: [agentOf('a'), { signal: aborted.signal }],
    failed: [agentOf('a', { model: failing }), {}],
    blocked: [agentOf('a', { guardrails: [no] }), {}],
    'blocked by a failure': [agentOf('a', { guardrails: [broken] }), {}],
  };

  test.each<[string, Given, boolean]>([
    ['completed', {}, false],
    ['completed', { limits: { turns: 20 }, onLimit: 'finalize' }, false],
    ['exhausted', {}, false],
    ['exhausted', { limits: { turns: 20 } }, true],
    ['exhausted', { onLimit: 'finalize' }, true],
    ['cancelled', {}, true],
    ['failed', {}, true],
    ['blocked', {}, false],
    ['blocked', { limits: { turns: 20 } }, false],
    ['blocked by a failure', {}, true],
  ])('%s, resumed with %j, is opened again: %s', async (name, options, isOpened) => {
    const [agent, given] = ends[name] ?? [agentOf('a'), {}];
    const { log, status } = await runIt(agent, 'x', given);
    expect(name.startsWith(status)).toBe(true);
    const handle = await goOn(agent, copy(log.events), { input: 'x', ...options });
    expect(handle.root.events.slice(log.events.length)).toEqual(
      isOpened ? [expect.objectContaining({ type: 'run.resume', reopens: true })] : [],
    );
    expect(handle.state.ended === undefined).toBe(isOpened);
  });

  it('has nothing to decide', async () => {
    const { log } = await runIt(agentOf('a'), 'x', { runId: 'r1' });
    await expect(goOn(agentOf('a'), copy(log.events), { decisions: { p1: 'approve' } })).rejects.toThrow(
      refused('RESUME_MISMATCH', 'The run r1 has ended completed: there is nothing to decide.'),
    );
    expect((await goOn(agentOf('a'), copy(log.events), { decisions: {} })).root.events).toHaveLength(log.events.length);
  });

  it('is given back though its guardrails are gone', async () => {
    const { log } = await runIt(agentOf('a', { guardrails: [guardrail('g')] }), 'x');
    expect((await goOn(agentOf('a'), copy(log.events))).state.ended).toMatchObject({ status: 'completed' });
  });
});

// ------------------------------------------------------------------------------------------------ what has to be there
describe('what stood when a run began stands when it goes on', () => {
  const everywhere = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'];
  const rewrites = { rewrite: () => allow() };
  const gone = (...names: readonly string[]) =>
    refused(
      'RESUME_MISMATCH',
      `Guardrails that stood when the run r1 began are missing now, or stand on less: ${names.join(', ')}. Give them again as they were, or give accept: 'changed' to go on without them.`,
    );
  /** The log of a run that was cut, under these guardrails of agent and run, and tools. */
  const cutUnder = async (agent: object, options: Given = {}) =>
    copy((await begin(agentOf('a', agent), 'x', { runId: 'r1', ...options })).root.events);

  test.each<[string, before: object, now: object, missing: readonly string[] | undefined]>([
    ['nothing', {}, {}, undefined],
    ['the same', { guardrails: [guardrail('g')] }, { guardrails: [guardrail('g')] }, undefined],
    ['one more', {}, { guardrails: [guardrail('g')] }, undefined],
    ['none of two', { guardrails: [guardrail('g'), guardrail('h')] }, {}, ['agent g', 'agent h']],
    ['one of two', { guardrails: [guardrail('g'), guardrail('h')] }, { guardrails: [guardrail('h')] }, ['agent g']],
    [
      'fewer surfaces',
      { guardrails: [guardrail('g', { on: everywhere })] },
      { guardrails: [guardrail('g', { on: ['input'] })] },
      ['agent g'],
    ],
    ['more surfaces', { guardrails: [guardrail('g')] }, { guardrails: [guardrail('g', { on: everywhere })] }, undefined],
    ['another phase', { guardrails: [guardrail('g', rewrites)] }, { guardrails: [guardrail('g')] }, ['agent g']],
    ['one more phase', { guardrails: [guardrail('g')] }, { guardrails: [guardrail('g', rewrites)] }, undefined],
    ['a shadow of it', { guardrails: [guardrail('g')] }, { guardrails: [guardrail('g', { shadow: true })] }, ['agent g']],
    ['what was a shadow', { guardrails: [guardrail('g', { shadow: true })] }, { guardrails: [guardrail('g')] }, undefined],
    [
      'a shadow elsewhere',
      { guardrails: [guardrail('g', { shadow: true, on: everywhere })] },
      { guardrails: [guardrail('g', { shadow: true })] },
      undefined,
    ],
    ['no shadow', { guardrails: [guardrail('g', { shadow: true })] }, {}, ['agent g']],
    [
      'only some tools',
      { guardrails: [guardrail('g', { on: ['toolInput'] })] },
      { guardrails: [guardrail('g', { on: ['toolInput'], tools: ['pay'] })] },
      ['agent g'],
    ],
    [
      'the same tools',
      { guardrails: [guardrail('g', { on: ['toolInput'], tools: ['pay', 'find_*'] })] },
      { guardrails: [guardrail('g', { on: ['toolInput'], tools: ['pay', 'find_*'] })] },
      undefined,
    ],
    [
      'a guardrail of a tool',
      { tools: [tool('pay', { guardrails: [guardrail('g', { on: ['toolInput'] })] })] },
      { tools: [tool('pay')] },
      ['tool pay g'],
    ],
    [
      'it on another tool',
      { tools: [tool('pay', { guardrails: [guardrail('g', { on: ['toolInput'] })] }), tool('find')] },
      { tools: [tool('pay'), tool('find', { guardrails: [guardrail('g', { on: ['toolInput'] })] })] },
      ['tool pay g'],
    ],
  ])('where now there is %s', async (...row) => {
    const [, before, now, missing] = row;
    const log = await cutUnder(before);
    if (missing) await expect(goOn(agentOf('a', now), log, { input: 'x' })).rejects.toThrow(gone(...missing));
    else expect((await goOn(agentOf('a', now), log, { input: 'x' })).root.events).toHaveLength(2);
    const accepted = await goOn(agentOf('a', now), log, { input: 'x', accept: 'changed' });
    expect(typesOf(accepted.root.events)).toEqual(['run.start', 'run.resume']);
  });

  it('on the level on which it stood', async () => {
    const log = await cutUnder({}, { guardrails: [guardrail('g')] });
    await expect(goOn(agentOf('a', { guardrails: [guardrail('g')] }), log, { input: 'x' })).rejects.toThrow(gone('run g'));
    expect((await goOn(agentOf('a'), log, { input: 'x', guardrails: [guardrail('g')] })).root.events).toHaveLength(2);
  });

  it('as does the agent at which the run stands', async () => {
    const log = await cutUnder({});
    await expect(goOn(agentOf('b'), log, { input: 'x' })).rejects.toThrow(
      refused(
        'RESUME_MISMATCH',
        'The run r1 stands at agent a, which is not reachable from the agent given. Give an agent that reaches it.',
      ),
    );
    expect((await goOn(agentOf('b', { handoffs: [agentOf('a')] }), log, { input: 'x' })).root.events.at(-1)).toMatchObject({ agent: 'a' });
  });
});

describe('what open calls need is there when a run goes on', () => {
  const lost = (name: string, agent = 'billing', runId = 'r1') =>
    refused(
      'RESUME_MISMATCH',
      `The call 1.0 of the run ${runId} is of ${name}, which agent ${agent} does not have any more. Give the agent its tool again, reject the call where it waits for a person, or give the run up.`,
    );

  it('the tool of a call that waits', async () => {
    const { log } = await waiting();
    await expect(goOn(agentOf('billing'), log)).rejects.toThrow(lost('pay'));
    await expect(goOn(agentOf('billing', { tools: [tool('find')] }), log)).rejects.toThrow(lost('pay'));
    await expect(goOn(agentOf('billing', { handoffs: [handoff(agentOf('b') as never, { name: 'pay' })] }), log)).rejects.toThrow(
      lost('pay'),
    );
    expect((await goOn(agentOf('billing', { tools: [tool('pay')] }), log)).root.events.at(-1)?.type).toBe('run.resume');
  });

  it('but not of one that is rejected now, or was before', async () => {
    const { log, approval } = await waiting();
    const later = agentOf('billing');
    const no = [{ reject: 'no' }, { decision: { reject: 'no' }, by: 'anna' }];
    for (const decision of no) {
      const { root } = await goOn(later, log, { decisions: { [approval]: decision } });
      expect(root.events.slice(-2)).toMatchObject([{ type: 'run.resume' }, { type: 'approval.resolve', decision: 'reject' }]);
      // Cut before the call ended.
      expect((await goOn(later, copy(root.events))).root.events.at(-1)?.type).toBe('run.resume');
    }
    const others = ['approve', { decision: 'approve', reject: 'no' }, { result: 'paid' }, { edit: { cents: 1 } }, { approve: 'standing' }];
    for (const decision of others)
      await expect(goOn(later, log, { decisions: { [approval]: decision } })).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
    let reads = 0;
    const turning = {
      get reject() {
        reads += 1;
        return reads < 2 ? 'no' : undefined;
      },
      approve: 'standing',
    };
    await expect(goOn(later, log, { decisions: { [approval]: turning } })).rejects.toThrow(lost('pay'));
  });

  it('and where a person may accept the change, the error says so', async () => {
    const { log } = await waiting();
    const pay = tool('pay', { approval: true, input: z.object({ cents: z.number() }) });
    const wider = tool('pay', { approval: true, input: z.object({ cents: z.number() }), flow: { effect: 'send' } });
    const details = (agent: Defined, options: Given = {}) =>
      goOn(agent, log, options).then(
        () => 'resumed',
        (thrown: { readonly details: unknown }) => thrown.details,
      );
    expect(await details(agentOf('billing', { tools: [wider] }))).toEqual({ accept: 'changed' });
    expect(await details(agentOf('billing', { tools: [pay], instructions: 'Other.' }), { accept: 'same' })).toEqual({ accept: 'changed' });
    expect(await details(agentOf('billing'), { accept: 'same' })).toEqual({});
    expect(await details(agentOf('billing'))).toEqual({});
    expect(await details(agentOf('other'))).toEqual({});
  });

  it('but not of calls that have ended, were refused, or were of no tool', async () => {
    const own = defineGuardrail({ name: 'own', on: ['toolInput'], tools: ['drop'], check: () => deny('No.') });
    const agent = agentOf('billing', {
      guardrails: [own],
      tools: [tool('pay', { approval: true }), tool('find'), tool('drop')],
      model: speaking([{ tool: 'find' }, { tool: 'drop' }, { tool: 'nothing' }, { tool: 'pay' }]),
    });
    const { log, status } = await runIt(agent, 'x', { runId: 'r1' });
    expect([status, log.events.filter(({ type }) => type === 'tool.end').length]).toEqual(['interrupted', 3]);
    const later = agentOf('billing', { guardrails: [own], tools: [tool('pay')] });
    expect((await goOn(later, copy(log.events))).root.events.at(-1)?.type).toBe('run.resume');
    const at = log.events.findIndex(({ type }) => type === 'model.end');
    const cut = copy(log.events.slice(0, at + 1));
    await expect(goOn(later, cut)).rejects.toThrow(lost('find'));
    expect((await goOn(agentOf('billing', { guardrails: [own], tools: [tool('pay'), tool('find')] }), cut)).root.events.at(-1)?.type).toBe(
      'run.resume',
    );
  });

  it('the handoff of a call that hands over', async () => {
    const asks = defineGuardrail({ name: 'asks', on: ['handoff'], check: () => ask('Sure?') });
    const to = agentOf('b');
    const desk = (...handoffs: readonly unknown[]) =>
      agentOf('desk', { handoffs, guardrails: [asks], model: speaking({ tool: 'transfer_to_b' }) });
    const { log, status } = await runIt(desk(to), 'x', { runId: 'r1' });
    expect(status).toBe('interrupted');
    await expect(goOn(desk(handoff(to as never, { name: 'other' })), copy(log.events))).rejects.toThrow(lost('transfer_to_b', 'desk'));
    const asTheTool = agentOf('desk', { guardrails: [asks], tools: [tool('transfer_to_b')] });
    await expect(goOn(asTheTool, copy(log.events))).rejects.toThrow(lost('transfer_to_b', 'desk'));
    expect((await goOn(desk(to), copy(log.events))).root.events.at(-1)?.type).toBe('run.resume');
  });

  it('and what the open run of an agent used as a tool needs, while its call is open', async () => {
    const child = (more: object) => agentOf('child', { model: speaking({ tool: 'pay' }), ...more });
    const own = guardrail('own');
    const parent = (inner: Defined) =>
      agentOf('parent', {
        tools: [asTool(inner as never, { name: 'ask', description: '' })],
        model: speaking({ tool: 'ask', input: { input: 'x' } }),
      });
    const pay = tool('pay', { approval: true });
    const { log, status } = await runIt(parent(child({ tools: [pay], guardrails: [own] })), 'x', { runId: 'r1' });
    expect(status).toBe('interrupted');
    const childRun = log.events.find(({ parent: of }) => of === 'r1')?.run ?? '';
    await expect(goOn(parent(child({ guardrails: [own] })), copy(log.events))).rejects.toThrow(lost('pay', 'child', childRun));
    await expect(goOn(parent(child({ tools: [pay] })), copy(log.events))).rejects.toThrow(
      refused(
        'RESUME_MISMATCH',
        new RegExp(`^Guardrails that stood when the run ${childRun} began are missing now, or stand on less: agent own\\.`),
      ),
    );
    const other = agentOf('parent', { tools: [asTool(agentOf('another') as never, { name: 'ask', description: '' })] });
    await expect(goOn(other, copy(log.events))).rejects.toThrow(
      refused('RESUME_MISMATCH', new RegExp(`^The run ${childRun} stands at agent child, which is not reachable`)),
    );
    const handle = await goOn(parent(child({ tools: [pay], guardrails: [own] })), copy(log.events));
    expect(handle.root.events.at(-1)).toMatchObject({ type: 'run.resume', run: 'r1' });
  });

  it('but not what the run of an agent needed that has ended, or whose tool is no agent any more', async () => {
    const asking = (more: object) => agentOf('parent', { model: speaking({ tool: 'ask', input: { input: 'x' } }), ...more });
    const as = (inner: Defined) => ({ tools: [tool('other'), asTool(inner as never, { name: 'ask', description: '' })] });
    const child = agentOf('child', { guardrails: [guardrail('own')] });
    const { log } = await runIt(asking(as(child)), 'x', { runId: 'r1' });
    const at = log.events.findIndex(({ type, parent }) => type === 'run.end' && parent === 'r1');
    const goOnWith = async (agent: Defined, until: number) => {
      const handle = await goOn(agent, copy(log.events.slice(0, until)));
      return handle.root.events.slice(until).map(({ type, run: of }) => [type, of]);
    };
    expect(await goOnWith(asking(as(agentOf('child'))), at + 1)).toEqual([['run.resume', 'r1']]);
    await expect(goOnWith(asking(as(agentOf('child'))), at)).rejects.toThrow(refused('RESUME_MISMATCH', /agent own\. Give them again/));
    expect(await goOnWith(asking({ tools: [tool('ask')] }), at)).toEqual([['run.resume', 'r1']]);
  });

  it('the tool of a call that was started and not seen to end', async () => {
    const agent = agentOf('billing', { tools: [tool('pay')], model: speaking({ tool: 'pay' }) });
    const { log } = await runIt(agent, 'x', { runId: 'r1' });
    const cut = copy(log.events.slice(0, log.events.findIndex(({ type }) => type === 'tool.start') + 1));
    expect(typesOf((await goOn(agent, cut)).root.events).at(-1)).toBe('run.resume');
    await expect(goOn(agentOf('billing'), cut)).rejects.toThrow(lost('pay'));
  });

  it('but not the tool with which long results are read, which is there of itself', async () => {
    const { log } = await waiting();
    const events = log.events.map((event) =>
      event.type === 'model.end' ? { ...event, calls: event.calls.map((call) => ({ ...call, name: 'read_observation' })) } : event,
    );
    const at = events.findIndex(({ type }) => type === 'model.end');
    const handle = await goOn(agentOf('billing'), { version: 1, events: events.slice(0, at + 1) });
    expect(handle.root.events.at(-1)?.type).toBe('run.resume');
  });
});

describe('a resume that queues', () => {
  it('does not take over from who won the session while it waited', async () => {
    const inner = memorySession();
    const agent = agentOf('a');
    await begin(agent, 'x', { session: { store: inner, id: 's' } });
    let isFirst = true;
    const store: SessionStore = {
      load: (id, after) => inner.load(id, after),
      append: async (id, events, after) => {
        if (isFirst) {
          isFirst = false;
          await goOn(agent, { store: inner, id }, { input: 'x' });
        }
        await inner.append(id, events, after);
      },
    };
    const clock = hurriedClock();
    const session = { store, id: 's', onConflict: 'queue', waitMs: 300 };
    await expect(goOn(agent, session, { input: 'x', clock })).rejects.toThrow(refused('RESUME_MISMATCH', /^The run has waited 300 ms/));
    expect([clock.passed, typesOf(await inner.load('s'))]).toEqual([300, ['run.start', 'run.resume']]);
  });

  it('takes over at once from a run that was found cut', async () => {
    const store = memorySession();
    await begin(agentOf('a'), 'x', { session: { store: { ...store }, id: 's' } });
    const clock = hurriedClock();
    await goOn(agentOf('a'), { store, id: 's', onConflict: 'queue', waitMs: 300 }, { input: 'x', clock });
    expect([clock.passed, typesOf(await store.load('s'))]).toEqual([0, ['run.start', 'run.resume']]);
  });
});
