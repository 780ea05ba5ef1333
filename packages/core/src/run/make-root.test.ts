import { describe, expect, it } from 'vitest';
import { defineAgent } from '../define/agent.js';
import { agentSpecOf } from '../define/definition.js';
import { defineGuardrail } from '../define/guardrail.js';
import { allow } from '../define/verdict.js';
import { GuardloopError } from '../errors.js';
import type { Model } from '../model/types.js';
import { memorySession } from '../session/memory.js';
import type { SessionStore } from '../session/session.js';
import type { LogEvent, RunEvent } from '../state/events.js';
import { beginRun } from './begin.js';
import { RunHandle } from './handle.js';
import { loop } from './loop.js';
import type { Door } from './make-root.js';
import { fence, foldLog, inTurn, loadSession, makeRoot, newId, nowhere } from './make-root.js';
import { readOptions } from './options.js';
import { run } from './run.js';
import { SessionTurn } from './session-turn.js';

const model: Model = {
  id: 'm',
  provider: 'test',
  async *stream() {
    yield { type: 'text.delta', text: 'Done.' };
    yield { type: 'end', stopReason: 'stop', usage: { requests: 1, inputTokens: 1, outputTokens: 1 } };
  },
};
const agent = defineAgent({ name: 'a', instructions: '', model });
const spec = agentSpecOf(agent, 'It');
const doorOf = (given: object = {}, more: Partial<Door> = {}): Door => ({ options: readOptions('run', given, spec), ...more });
const clock = { now: () => 1, after: () => () => undefined };
/** A clock that has rung before anybody waits long. */
const hurried = {
  now: () => 1,
  after(_ms: number, then: () => void) {
    queueMicrotask(then);
    return () => undefined;
  },
};
const aborted = AbortSignal.abort(new TypeError('enough'));
/** A finished run's log. */
const eventsOf = async () => JSON.parse(JSON.stringify((await run(agent, 'hello', { runId: 'r1' })).log.events)) as readonly LogEvent[];
const started = async () => (await beginRun(spec, 'x', doorOf({ runId: 'r1' }))).root.events;

describe('an id', () => {
  it('is its prefix and sixteen hexadecimal digits, and new each time', () => {
    const ids = Array.from({ length: 50 }, () => newId('w'));
    for (const id of ids) expect(id).toMatch(/^w[0-9a-f]{16}$/);
    expect(new Set(ids).size).toBe(50);
  });
});

describe('what the runs of one tree share', () => {
  it('comes from the options, and from the log', async () => {
    const guardrails = [defineGuardrail({ name: 'g', on: ['input'], check: () => allow() })];
    const context = { user: 'u' };
    const door = doorOf({ context, clock, guardrails });
    const events = await eventsOf();
    const { root } = makeRoot(door, foldLog(events), nowhere);
    expect(root).toEqual({
      log: root.log,
      events,
      writer: undefined,
      writerId: expect.stringMatching(/^w[0-9a-f]{16}$/),
      channel: undefined,
      observers: undefined,
      clock,
      context,
      settings: door.options.settings,
      runGuards: door.options.guards,
      given: undefined,
      leave: undefined,
      loop,
    });
    expect([root.log.seq, root.log.root?.id, root.log.root?.ended?.status]).toEqual([events.length, 'r1', 'completed']);
    expect(root.events).not.toBe(events);
    expect(events.every(Object.isFrozen)).toBe(true);
  });

  it('has room for what people decided only where they did', () => {
    const decided = { options: readOptions('resume', { decisions: {} }, spec) };
    expect(makeRoot(decided, foldLog([]), nowhere).root.given).toEqual({ edits: new Map(), results: new Map(), deciders: new Map() });
  });

  it('is refused of a log with an event that has lost something', async () => {
    const events = (await eventsOf()).map((event) => (event.type === 'model.end' ? { ...event, calls: undefined } : event)) as LogEvent[];
    expect(() => makeRoot(doorOf(), foldLog(events), nowhere)).toThrow(
      expect.objectContaining({
        code: 'LOG_INVALID',
        message:
          'An event of the log is damaged: something in it is missing or has another form. The log must hold every event, in order, as it was written.',
      }),
    );
  });

  it('writes to its session from where the log ends, and stops its run where that fails', async () => {
    const events = await eventsOf();
    const appended: unknown[] = [];
    const store: SessionStore = {
      load: async () => [],
      append: async (id, batch, after) => {
        appended.push([id, batch.map(({ seq }) => seq), after]);
        throw new GuardloopError('STORE_FAILED', 'down');
      },
    };
    store.load = async () => {
      throw new GuardloopError('STORE_FAILED', 'down');
    };
    const { root, attach } = makeRoot(doorOf(), foldLog(events), { ...nowhere, session: { store, id: 's' } });
    const state = root.log.root;
    if (state === undefined) throw new Error('The log holds a run.');
    const handle = new RunHandle(root, state, { agents: new Map() });
    attach(handle);
    handle.append({ type: 'run.resume', writer: root.writerId, manifest: state.manifest });
    await root.writer?.barrier();
    expect(appended).toEqual([['s', [events.length + 1], events.length]]);
    expect(handle.stop).toEqual({ kind: 'store', error: expect.objectContaining({ code: 'STORE_FAILED', message: 'down' }) });
  });

  it('leaves the session to the next run with the name of its writer', () => {
    const session = { store: memorySession(), id: 's', onConflict: 'queue' as const };
    const turn = new SessionTurn(session, { clock, signal: undefined, onLeave: undefined });
    const left: unknown[] = [];
    turn.leave = (writer) => left.push(writer);
    const { root } = makeRoot(doorOf(), foldLog([]), { session, turn, attempt: undefined });
    root.leave?.();
    expect(left).toEqual([root.writerId]);
  });
});

describe('announcing that a run was entered', () => {
  const channelTo = (shown: RunEvent[]) => ({ push: (event: RunEvent) => shown.push(event) }) as never;

  it('shows what came since the log was read, in order, to the reader and to observers, and then what follows', async () => {
    const events = await eventsOf();
    const [shown, seen]: [RunEvent[], RunEvent[]] = [[], []];
    const door = doorOf({ observers: [(event: RunEvent) => seen.push(event)] }, { channel: channelTo(shown) });
    const { root, announce } = makeRoot(door, foldLog(events), nowhere);
    const state = root.log.root;
    if (state === undefined) throw new Error('The log holds a run.');
    const handle = new RunHandle(root, state, { agents: new Map() });
    handle.append({ type: 'run.resume', writer: 'w1', manifest: state.manifest });
    handle.append({ type: 'run.resume', writer: 'w2', manifest: state.manifest });
    expect([shown, seen]).toEqual([[], []]);
    announce();
    const since = root.events.slice(events.length);
    expect(since).toHaveLength(2);
    expect([shown, seen]).toEqual([since, since]);
    handle.append({ type: 'run.resume', writer: 'w3', manifest: state.manifest });
    expect([shown.length, seen.length, shown.at(-1)]).toEqual([3, 3, root.events.at(-1)]);
  });

  it('shows it to either alone', async () => {
    const events = await started();
    const shown: RunEvent[] = [];
    const reading = makeRoot(doorOf({}, { channel: channelTo(shown) }), foldLog([]), nowhere);
    reading.root.events.push(...events);
    reading.announce();
    expect([shown, reading.root.observers]).toEqual([events, undefined]);
    const seen: RunEvent[] = [];
    const observed = makeRoot(doorOf({ observers: [{ 'run.start': (event: RunEvent) => seen.push(event) }] }), foldLog([]), nowhere);
    observed.root.events.push(...events);
    observed.announce();
    expect([seen, observed.root.channel]).toEqual([events, undefined]);
  });

  it('shows that an observer failed to the reader and to the other observers', async () => {
    const events = await started();
    const [shown, seen]: [RunEvent[], RunEvent[]] = [[], []];
    const failing = () => {
      throw new TypeError('broken');
    };
    const { root, announce } = makeRoot(
      doorOf({ observers: [failing, { 'observer.error': (event: RunEvent) => seen.push(event) }] }, { channel: channelTo(shown) }),
      foldLog([]),
      nowhere,
    );
    root.events.push(...events);
    announce();
    const error = expect.objectContaining({ type: 'observer.error', event: 'run.start', run: 'r1', cause: { name: 'TypeError' } });
    expect([shown, seen]).toEqual([[...events, error], [error]]);
    const alone = makeRoot(
      doorOf({ observers: [failing, { 'observer.error': (event: RunEvent) => seen.push(event) }] }),
      foldLog([]),
      nowhere,
    );
    alone.root.events.push(...events);
    alone.announce();
    expect(seen).toEqual([error, error]);
  });
});

describe('a turn on a session', () => {
  it('is taken by who enters, and kept', async () => {
    const session = { store: memorySession(), id: 's' };
    const door = doorOf();
    const handle = {} as RunHandle;
    const places: unknown[] = [];
    expect(
      await inTurn(session, door, async (place) => {
        places.push(place);
        return handle;
      }),
    ).toBe(handle);
    expect(places).toEqual([{ session, turn: expect.any(SessionTurn), attempt: { session, isRetry: false, isLast: true } }]);
  });

  it('is given back where the run does not come to be', async () => {
    const session = { store: memorySession(), id: 's', onConflict: 'queue' as const };
    const fail = () => Promise.reject(new Error('no'));
    await expect(inTurn(session, doorOf(), fail)).rejects.toThrow('no');
    const order: string[] = [];
    const door = doorOf({ clock });
    const enter = (name: string) =>
      inTurn(session, door, async () => {
        order.push(name);
        return {} as RunHandle;
      });
    await enter('next');
    expect(order).toEqual(['next']);
  });

  it('is waited for no longer than the caller does', async () => {
    const session = { store: memorySession(), id: 's', onConflict: 'queue' as const };
    await inTurn(session, doorOf({ clock }), async () => ({}) as RunHandle);
    const places: unknown[] = [];
    const enter = async (place: { readonly session: unknown }) => {
      places.push(place.session);
      return {} as RunHandle;
    };
    await inTurn(session, doorOf({ clock, signal: aborted }), enter);
    await inTurn(session, doorOf({ clock }, { onLeave: (listener) => listener() }), enter);
    expect(places).toEqual([undefined, undefined]);
  });
});

describe('the events of a session', () => {
  const reading = (load: SessionStore['load']) => ({ store: { load, append: async () => undefined }, id: 's' });

  it('are read as a log', async () => {
    const events = await eventsOf();
    const read = await loadSession(
      reading(async (id) => (id === 's' ? events : [])),
      doorOf(),
    );
    expect([read.events, read.log.seq]).toEqual([events, events.length]);
    await expect(
      loadSession(
        reading(async () => [{ seq: 7 }] as never),
        doorOf(),
      ),
    ).rejects.toThrow(expect.objectContaining({ code: 'LOG_INVALID' }));
  });

  it('that cannot be loaded are STORE_FAILED, without the words of the store', async () => {
    const loading = loadSession(
      reading(() => Promise.reject(Object.assign(new TypeError('password=1'), { code: 'ECONNRESET' }))),
      doorOf(),
    );
    await expect(loading).rejects.toThrow(
      expect.objectContaining({
        code: 'STORE_FAILED',
        message: 'The session store failed to load s. Nothing was run; look at the cause.',
        isRetryable: true,
        cause: { name: 'TypeError', code: 'ECONNRESET' },
      }),
    );
  });

  it('fail as the store says where it speaks of Guardloop', async () => {
    const own = new GuardloopError('STORE_FAILED', 'The table is gone.');
    await expect(
      loadSession(
        reading(() => Promise.reject(own)),
        doorOf(),
      ),
    ).rejects.toBe(own);
  });

  it('are waited for no longer than the caller does', async () => {
    const loading = loadSession(
      reading(() => new Promise(() => undefined)),
      doorOf({ clock: hurried, signal: aborted }),
    );
    await expect(loading).rejects.toThrow(
      expect.objectContaining({
        code: 'STORE_FAILED',
        message:
          'The session store did not load s in time: the run was aborted, and could wait no longer. Nothing was run; look at the store.',
        isRetryable: true,
        cause: { name: 'TypeError' },
      }),
    );
  });

  it('have no cause where it was the reader who left', async () => {
    const door = doorOf({ clock: hurried }, { onLeave: (listener) => listener() });
    await expect(
      loadSession(
        reading(() => new Promise(() => undefined)),
        door,
      ),
    ).rejects.toThrow(expect.objectContaining({ code: 'STORE_FAILED', cause: undefined }));
  });
});

describe('a run is fenced', () => {
  const rootOn = async (store: SessionStore, door: Door) => {
    const { root } = makeRoot(door, foldLog([]), { ...nowhere, session: { store, id: 's' } });
    for (const event of await started()) root.writer?.add(event);
    return root;
  };

  it('once all that enters it is stored', async () => {
    const store = memorySession();
    const slow: SessionStore = {
      load: (id, after) => store.load(id, after),
      append: async (id, events, after) => {
        await Promise.resolve();
        await store.append(id, events, after);
      },
    };
    const root = await rootOn(slow, doorOf());
    await fence(root, doorOf());
    expect((await store.load('s')).map(({ type }) => type)).toEqual(['run.start']);
    expect(root.writer?.barrier()).toBeUndefined();
  });

  it('at once where nothing is written anywhere', async () => {
    await fence(makeRoot(doorOf(), foldLog([]), nowhere).root, doorOf());
  });

  it('never where the store refuses', async () => {
    const store: SessionStore = { load: () => Promise.reject(new Error('down')), append: () => Promise.reject(new Error('down')) };
    await expect(fence(await rootOn(store, doorOf()), doorOf())).rejects.toThrow(
      expect.objectContaining({ code: 'STORE_FAILED', message: expect.stringContaining('failed to append to s') }),
    );
  });

  it('never where the store takes longer than the caller waits', async () => {
    const store: SessionStore = { load: async () => [], append: () => new Promise(() => undefined) };
    const door = doorOf({ clock: hurried, signal: aborted });
    const root = await rootOn(store, door);
    await expect(fence(root, door)).rejects.toThrow(
      expect.objectContaining({
        code: 'STORE_FAILED',
        message: expect.stringContaining('did not say in time that it holds what was written to s'),
        cause: { name: 'TypeError' },
      }),
    );
    expect(root.writer?.failure).toBeDefined();
  });
});
