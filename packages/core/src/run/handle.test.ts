import { describe, expect, it } from 'vitest';
import { agentOf, answered, calls, entered, gate, HandClock, lastEvent, scripted, settle } from '../../test/scene.js';
import { asTool } from '../define/as-tool.js';
import { GuardloopError } from '../errors.js';
import { memorySession } from '../session/memory.js';
import type { LogEvent, RunEvent } from '../state/events.js';
import type { LogDraft, Settled, Stop } from './handle.js';
import { faultStop, graceMs, RunHandle } from './handle.js';
import { childHandle } from './run-child.js';
import { toolOf } from './stages/run-tools.js';

const timed = async (options: object = {}) => {
  const clock = new HandClock();
  return { clock, handle: await entered(agentOf(), { clock, ...options }) };
};
const cancel: Stop = { kind: 'cancel', reason: undefined };
const start = (callId = '1.0'): LogDraft => ({ type: 'tool.start', callId, tool: 'look', revision: 0, input: {}, idempotencyKey: 'k' });
const modelEnd = (): LogDraft => ({
  type: 'model.end',
  turn: 1,
  status: 'aborted',
  id: 'r1/1',
  text: '',
  revision: 0,
  calls: [],
  label: { origin: 'agent:desk', integrity: 'trusted' },
  usage: { requests: 0 },
});
const answersOf = (event: LogEvent | undefined) => event?.answers;

/** The handle of a child run, of a tool that is shown or not, and its parent's. */
async function withChild(stream: boolean, options: object = {}) {
  const helper = asTool(agentOf({ name: 'helper' }), { name: 'helper', description: 'Helps.', stream });
  const told: RunEvent[] = [];
  const handle = await answered(agentOf({ model: scripted([calls('helper', { input: 'x' })]), tools: [helper] }), {
    observers: [(event: RunEvent) => told.push(event)],
    ...options,
  });
  const call = handle.state.calls.get('1.0');
  const agentTool = call && toolOf(handle, call)?.agent;
  if (call === undefined || agentTool === undefined) throw new Error('no call of an agent');
  return { handle, told, child: childHandle({ handle, call }, agentTool, 'x') };
}

describe('an event that is appended', () => {
  it('gets its number, time, run and agent, and is frozen', async () => {
    const { handle, clock } = await timed();
    clock.time = 5_000;
    handle.append(start());
    expect(lastEvent(handle)).toStrictEqual({ ...start(), seq: 2, at: 5_000, run: 'r1', agent: 'desk' });
    expect(Object.isFrozen(lastEvent(handle))).toBe(true);
    handle.append(modelEnd());
    expect(Object.isFrozen((lastEvent(handle) as { usage?: object }).usage)).toBe(true);
    expect(handle.root.log.seq).toBe(3);
  });

  it('of a child names the run above', async () => {
    const { child, told } = await withChild(true);
    child.append(start());
    expect(lastEvent(child)).toMatchObject({ run: 'r1/1.0', agent: 'helper', parent: 'r1' });
    child.emit({ type: 'turn.start', turn: 1 });
    expect(told.at(-1)).toStrictEqual({
      type: 'turn.start',
      turn: 1,
      at: expect.any(Number),
      run: 'r1/1.0',
      agent: 'helper',
      parent: 'r1',
    });
  });
});

describe('an event that is only watched', () => {
  it('is told with its time, run and agent, and frozen', async () => {
    const told: RunEvent[] = [];
    const { handle } = await timed({ observers: [(event: RunEvent) => told.push(event)] });
    handle.emit({ type: 'turn.start', turn: 1 });
    expect(told.at(-1)).toStrictEqual({ type: 'turn.start', turn: 1, at: 1_000, run: 'r1', agent: 'desk' });
    expect(Object.isFrozen(told.at(-1))).toBe(true);
  });

  it('of a child is told only where its tool is shown, unless it is about more than that run', async () => {
    const { child, told } = await withChild(false);
    const before = told.length;
    child.emit({ type: 'turn.start', turn: 1 });
    expect(told).toHaveLength(before);
    child.tell({ type: 'turn.start', turn: 2 });
    expect(told.at(-1)).toMatchObject({ turn: 2, run: 'r1/1.0' });
  });

  it('costs nothing where nobody watches', async () => {
    const { handle } = await timed();
    const draft = { type: 'turn.start', turn: 1 } as const;
    handle.emit(draft);
    expect(draft).toStrictEqual({ type: 'turn.start', turn: 1 });
  });
});

describe('who a run is', () => {
  it('is told with the agents above it', async () => {
    const { child, handle } = await withChild(true);
    expect(handle.agentPath).toEqual(['desk']);
    expect(child.agentPath).toEqual(['desk', 'helper']);
  });

  it('has messages that are shown by one view for as long as they are one list', async () => {
    const { handle } = await timed();
    const view = handle.showMessages(handle.messages);
    expect(handle.showMessages(handle.messages)).toBe(view);
    expect(handle.showMessages([])).not.toBe(view);
    expect(handle.messages).toBe(handle.state.conversation.view);
  });
});

describe('the verdicts that an event commits', () => {
  it.each([
    ['input.accept', { type: 'input.accept', subject: 's', revision: 0, items: [] }],
    ['model.end', modelEnd()],
    ['run.end', { type: 'run.end', status: 'cancelled' }],
  ] as const)('are those of the entry or answer for %s, each once', async (_type, draft) => {
    const { handle } = await timed();
    for (const action of ['allow', 'rewrite', 'ask', 'deny', 'halt'] as const) handle.noteAnswer('', action);
    handle.noteAnswer('1.0', 'deny');
    handle.append({ ...draft } as LogDraft);
    expect(answersOf(lastEvent(handle))).toBe('arkdh');
    handle.append({ ...draft } as LogDraft);
    expect(lastEvent(handle)).not.toHaveProperty('answers');
  });

  const approval = (surface: string) => ({ type: 'approval.request', approval: { surface, callId: '1.0', id: 'p', asks: [] } });
  it.each([
    ['tool.start', start()],
    ['tool.end', { type: 'tool.end', callId: '1.0', tool: 'look', id: 'i', status: 'ok', content: '', label: {}, revision: 0, chars: 0 }],
    ['handoff.refused', { type: 'handoff.refused', callId: '1.0', status: 'aborted', content: '', label: {} }],
    ['approval.request', approval('toolInput')],
    ['approval.request of a handoff', approval('handoff')],
    ['approval.resolve', { type: 'approval.resolve', id: 'p', subject: 'r1/1.0', revision: 0, decision: 'approve', digest: '' }],
  ])('are those about its call for %s', async (_type, draft) => {
    const { handle } = await timed();
    handle.noteAnswer('', 'halt');
    handle.noteAnswer('1.1', 'deny');
    handle.noteAnswer('1.0', 'allow');
    handle.noteAnswer('1.0', 'ask');
    handle.append(draft as unknown as LogDraft);
    expect(answersOf(lastEvent(handle))).toBe('ak');
    handle.append(start('1.0'));
    expect(lastEvent(handle)).not.toHaveProperty('answers');
    handle.append(start('1.1'));
    expect(answersOf(lastEvent(handle))).toBe('d');
    handle.append(start('1.1'));
    expect(lastEvent(handle)).not.toHaveProperty('answers');
  });

  it('are those of the handoff for it', async () => {
    const { handle } = await timed();
    handle.noteAnswer('1.0', 'allow');
    const draft = { type: 'handoff', callId: '1.0', from: 'desk', to: 'desk', view: 'all', manifest: handle.state.manifest, item: {} };
    handle.append({ ...draft, item: { id: 'b', role: 'user', parts: [], label: {} } } as unknown as LogDraft);
    expect(answersOf(lastEvent(handle))).toBe('a');
  });

  it('are those of the answer where a person is asked about it', async () => {
    const { handle } = await timed();
    handle.noteAnswer('', 'ask');
    handle.append(approval('output') as unknown as LogDraft);
    expect(answersOf(lastEvent(handle))).toBe('k');
  });

  it('are those of the view for a model call, or for the end that a refused view is', async () => {
    const { handle } = await timed();
    handle.noteAnswer('view', 'allow');
    handle.append({ type: 'model.start', turn: 1, model: 'm1' });
    expect(answersOf(lastEvent(handle))).toBe('a');
    handle.noteAnswer('', 'allow');
    handle.noteAnswer('view', 'deny');
    handle.append(modelEnd());
    expect(answersOf(lastEvent(handle))).toBe('a');
    handle.append({ type: 'run.end', status: 'cancelled' });
    expect(answersOf(lastEvent(handle))).toBe('d');
  });

  it('are none for a verdict and for what commits nothing', async () => {
    const { handle } = await timed();
    handle.noteAnswer('', 'deny');
    handle.append({ type: 'run.resume', writer: 'w', manifest: handle.state.manifest });
    expect(lastEvent(handle)).not.toHaveProperty('answers');
    const verdict = {
      type: 'guard.verdict',
      guardrail: 'g',
      level: 'run',
      surface: 'input',
      subject: 's',
      revision: 0,
      phase: 'check',
      action: 'deny',
      ms: 0,
    } as const;
    handle.append({ ...verdict });
    expect(lastEvent(handle)).not.toHaveProperty('answers');
    handle.append(modelEnd());
    expect(answersOf(lastEvent(handle))).toBe('d');
  });
});

describe('a stop', () => {
  it('counts once: the first reason stays', async () => {
    const { handle } = await timed();
    const told: string[] = [];
    handle.onStop(() => told.push('first'));
    const { signal } = handle;
    expect(handle.signal).toBe(signal);
    expect(handle.stopReason).toBeUndefined();
    handle.abort({ kind: 'cancel', reason: 'enough' });
    handle.abort({ kind: 'halt' });
    expect(handle.stop).toEqual({ kind: 'cancel', reason: 'enough' });
    expect(told).toEqual(['first']);
    expect(signal.reason).toBe('enough');
    expect(handle.stopReason).toBe('enough');
  });

  it('is told at once to who listens later, and to nobody who has stopped listening', async () => {
    const { handle } = await timed();
    const told: string[] = [];
    const offs = ['a', 'b', 'c'].map((name) => handle.onStop(() => told.push(name)));
    offs[1]?.();
    offs[1]?.();
    handle.abort(cancel);
    expect(told).toEqual(['a', 'c']);
    const off = handle.onStop(() => told.push('late'));
    expect(told).toEqual(['a', 'c', 'late']);
    off();
  });

  it('is told to all, also where one stops listening meanwhile', async () => {
    const { handle } = await timed();
    const told: string[] = [];
    const off = handle.onStop(() => {
      told.push('a');
      off();
    });
    handle.onStop(() => told.push('b'));
    handle.abort(cancel);
    expect(told).toEqual(['a', 'b']);
  });

  it('reaches a signal that is read after it', async () => {
    const { handle } = await timed();
    handle.abort({ kind: 'cancel', reason: 'enough' });
    expect(handle.signal.reason).toBe('enough');
  });

  const error = new GuardloopError('STORE_FAILED', 'full');
  it.each<[Stop, unknown, string | undefined]>([
    [cancel, new DOMException('The run was cancelled.', 'AbortError'), 'AbortError'],
    [{ kind: 'cancel', reason: null }, new DOMException('The run was cancelled.', 'AbortError'), 'AbortError'],
    [{ kind: 'limit', limit: 'ms' }, new DOMException('The run has reached its limit ms.', 'TimeoutError'), 'TimeoutError'],
    [{ kind: 'store', error }, error, undefined],
    [{ kind: 'fault', error }, error, undefined],
    [{ kind: 'halt' }, new DOMException('The run was stopped.', 'AbortError'), 'AbortError'],
    [{ kind: 'parent' }, new DOMException('The run was stopped.', 'AbortError'), 'AbortError'],
  ])('by %j has a reason', async (stop, reason, name) => {
    const { handle } = await timed();
    handle.abort(stop);
    expect(handle.stopReason).toEqual(reason);
    expect((handle.stopReason as Error).message).toBe((reason as Error).message);
    if (name !== undefined) expect((handle.stopReason as Error).name).toBe(name);
    expect(handle.stopReason).toBe(handle.stopReason);
  });

  it('of a child has the reason of the run above', async () => {
    const { child, handle } = await withChild(true);
    handle.abort({ kind: 'cancel', reason: 'enough' });
    child.abort({ kind: 'parent' });
    expect(child.stopReason).toBe('enough');
    const { child: own, handle: above } = await withChild(true);
    above.abort({ kind: 'cancel', reason: 'enough' });
    own.abort({ kind: 'cancel', reason: 'mine' });
    expect(own.stopReason).toBe('mine');
  });
});

describe('the time of a run', () => {
  it('is armed with what is left of it', async () => {
    const { clock, handle } = await timed({ limits: { ms: 500 } });
    clock.time = 1_100;
    handle.append(start());
    const off = handle.armTimeLimit();
    await clock.pass(399);
    expect(handle.stop).toBeUndefined();
    await clock.pass(1);
    expect(handle.stop).toEqual({ kind: 'limit', limit: 'ms' });
    off();
  });

  it('is over at once where nothing is left', async () => {
    const { clock, handle } = await timed({ limits: { ms: 500 } });
    clock.time = 9_000;
    handle.append(start());
    handle.armTimeLimit();
    expect(clock.timers.map(({ at }) => at)).toEqual([9_000]);
  });

  it('has no timer where it has no end, or once it was disarmed', async () => {
    const { clock, handle } = await timed();
    handle.armTimeLimit()();
    expect(clock.timers).toEqual([]);
    const limited = await timed({ limits: { ms: 500 } });
    limited.handle.armTimeLimit()();
    expect(limited.clock.timers).toEqual([]);
  });
});

describe('a wait', () => {
  const never = new Promise<string>(() => undefined);
  const watch = (wait: Promise<Settled<unknown>>) => {
    const seen: unknown[] = [];
    void wait.then((settled) => seen.push(settled));
    return seen;
  };

  it('ends with the value, or with what was thrown, and leaves nothing behind', async () => {
    const { clock, handle } = await timed();
    expect(await handle.wait(Promise.resolve(7), 100)).toEqual({ kind: 'value', value: 7 });
    expect(await handle.wait(Promise.reject(new Error('no')), 100)).toEqual({ kind: 'threw', error: new Error('no') });
    expect(clock.timers).toEqual([]);
    const odd = {
      then() {
        throw new Error('odd');
      },
    };
    expect(await handle.wait(odd as never, 100)).toEqual({ kind: 'threw', error: new Error('odd') });
    expect(clock.timers).toEqual([]);
    const instant = { then: (onValue: (value: number) => void) => onValue(3) };
    expect(await handle.wait(instant as never, 100)).toEqual({ kind: 'value', value: 3 });
    expect(clock.timers).toEqual([]);
  });

  it('is for what a thenable of others gives in the end, where that is a promise again', async () => {
    const { clock, handle } = await timed();
    const given = (inner: PromiseLike<unknown>) => ({ then: (fulfil: (value: unknown) => void) => fulfil(inner) }) as never;
    expect(await handle.wait(given(Promise.resolve(7)), 100)).toEqual({ kind: 'value', value: 7 });
    expect(await handle.wait(given(Promise.reject(new Error('no'))), 100)).toEqual({ kind: 'threw', error: new Error('no') });
    const seen = watch(handle.wait(given(new Promise(() => undefined)), 100));
    await clock.pass(100);
    expect(seen).toEqual([{ kind: 'late' }]);
    expect(clock.timers).toEqual([]);
  });

  it('is late after its time, and not before', async () => {
    const { clock, handle } = await timed();
    const seen = watch(handle.wait(never, 100));
    await clock.pass(99);
    expect(seen).toEqual([]);
    await clock.pass(1);
    expect(seen).toEqual([{ kind: 'late' }]);
    const endless = watch(handle.wait(never, Number.POSITIVE_INFINITY));
    const unbounded = watch(handle.wait(never));
    expect(clock.timers).toEqual([]);
    expect([endless, unbounded]).toEqual([[], []]);
  });

  it('ends at once with the run where nothing is given after a stop', async () => {
    const { clock, handle } = await timed();
    const seen = watch(handle.wait(never, 100));
    handle.abort(cancel);
    await settle();
    expect(seen).toEqual([{ kind: 'stopped' }]);
    expect(clock.timers).toEqual([]);
    const later = watch(handle.wait(never, 100));
    await settle();
    expect(later).toEqual([{ kind: 'stopped' }]);
    expect(clock.timers).toEqual([]);
  });

  it('counts what is given after a stop from the stop, for waits one after another', async () => {
    const { clock, handle } = await timed();
    const first = gate<number>();
    const seen = watch(handle.wait(first.promise, undefined, 300));
    handle.abort(cancel);
    await clock.pass(200);
    first.resolve(1);
    await settle();
    expect(seen).toEqual([{ kind: 'value', value: 1 }]);
    expect(clock.timers).toEqual([]);
    const second = watch(handle.wait(never, undefined, 300));
    await clock.pass(99);
    expect(second).toEqual([]);
    await clock.pass(1);
    expect(second).toEqual([{ kind: 'stopped' }]);
    const third = watch(handle.wait(never, undefined, 300));
    await settle();
    expect(third).toEqual([{ kind: 'stopped' }]);
  });

  it('ends once, whatever comes later', async () => {
    const { clock, handle } = await timed();
    const slow = gate<number>();
    const seen = watch(handle.wait(slow.promise, 100, 300));
    handle.abort(cancel);
    await clock.pass(300);
    slow.resolve(1);
    await settle();
    expect(seen).toEqual([{ kind: 'late' }]);
    expect(clock.timers).toEqual([]);
  });

  it('does not listen to the run after it', async () => {
    const { clock, handle } = await timed();
    await handle.wait(Promise.resolve(1), undefined, 300);
    handle.abort(cancel);
    expect(clock.timers).toEqual([]);
  });
});

describe('a barrier', () => {
  /** A run whose store takes what it is told to. */
  async function stored() {
    const store = memorySession();
    const gates: ReturnType<typeof gate<void>>[] = [];
    let isOpen = true;
    const clock = new HandClock();
    const session = {
      id: 's',
      store: {
        load: store.load,
        async append(...given: Parameters<typeof store.append>) {
          if (!isOpen) {
            const held = gate<void>();
            gates.push(held);
            await held.promise;
          }
          await store.append(...given);
        },
      },
    };
    const handle = await entered(agentOf(), { clock, session });
    isOpen = false;
    return { clock, handle, gates };
  }

  it('is none where there is no store', async () => {
    const { handle } = await timed();
    expect(await handle.barrier()).toBe(true);
    await handle.lastBarrier();
  });

  it('waits until the store holds everything, also what came meanwhile', async () => {
    const { handle, gates } = await stored();
    expect(await handle.barrier()).toBe(true);
    handle.append(start());
    const seen: unknown[] = [];
    void handle.barrier().then((held) => seen.push(held));
    await settle();
    handle.append(start());
    gates[0]?.resolve();
    await settle();
    expect(seen).toEqual([]);
    gates[1]?.resolve();
    await settle();
    expect(seen).toEqual([true]);
  });

  it('fails where the store has failed, or the run is stopped', async () => {
    const { handle, gates } = await stored();
    handle.append(start());
    const waiting = handle.barrier();
    await settle();
    // What it holds is looked up, and what it lacks is given once more.
    for (const turn of [0, 1]) {
      gates[turn]?.reject(new GuardloopError('STORE_FAILED', 'full'));
      await settle();
    }
    expect(await waiting).toBe(false);
    const stopped = await stored();
    stopped.handle.append(start());
    const ended = stopped.handle.barrier();
    await settle();
    stopped.handle.abort(cancel);
    expect(await ended).toBe(false);
  });

  it.each([0, 700])('at the end waits for the store 2,000 ms, %d ms after a stop too, and gives it up then', async (since) => {
    const { clock, handle } = await stored();
    handle.append(start());
    handle.abort({ kind: 'cancel', reason: 'enough' });
    await clock.pass(since);
    let isOver = false;
    const waiting = handle.lastBarrier().then(() => {
      isOver = true;
    });
    await settle();
    await clock.pass(graceMs - 1);
    expect(isOver).toBe(false);
    await clock.pass(1);
    await waiting;
    expect(handle.root.writer?.failure).toMatchObject({ code: 'STORE_FAILED' });
    expect(handle.root.writer?.failure?.cause).toBeDefined();
  });

  it('at the end waits 2,000 ms from a stop that comes meanwhile', async () => {
    const { clock, handle } = await stored();
    handle.append(start());
    let isOver = false;
    const waiting = handle.lastBarrier().then(() => {
      isOver = true;
    });
    await settle();
    handle.abort(cancel);
    await clock.pass(graceMs - 1);
    expect(isOver).toBe(false);
    await clock.pass(1);
    expect(isOver).toBe(true);
    await waiting;
  });

  it('at the end of a run that goes on waits as long as the store takes', async () => {
    const { clock, handle, gates } = await stored();
    handle.append(start());
    const waiting = handle.lastBarrier();
    await settle();
    await clock.pass(1_000_000);
    gates[0]?.resolve();
    await waiting;
    expect(handle.root.writer?.failure).toBeUndefined();
  });
});

describe('a fault', () => {
  it('is kept as it is where it is one of the framework', async () => {
    const { handle } = await timed();
    const error = new GuardloopError('CONFIG_INVALID', 'no');
    expect(faultStop(handle, error)).toEqual({ kind: 'fault', error });
  });

  it('of anything else tells its kind and nothing that it says', async () => {
    const { handle } = await timed();
    const { error } = faultStop(handle, new TypeError('secret')) as Extract<Stop, { kind: 'fault' }>;
    expect(error.code).toBe('INTERNAL');
    expect(error.message).toContain('of agent desk');
    expect(error.message).toContain('threw: TypeError.');
    expect(error.message).not.toContain('secret');
    expect(error.cause).toMatchObject({ name: 'TypeError' });
  });
});

it('is stopped apart from other handles of its run', async () => {
  const { handle } = await timed();
  const other = new RunHandle(handle.root, handle.state, { agents: handle.agents });
  handle.abort(cancel);
  expect(other.stop).toBeUndefined();
  expect(other.isStreamed).toBe(true);
});
