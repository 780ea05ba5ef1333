import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentOf, entered, eventsOf, gate, HandClock, settle } from '../../test/scene.js';
import { guardrailSpecOf } from '../define/definition.js';
import { defineGuardrail } from '../define/guardrail.js';
import type { GuardrailSpec } from '../define/specs.js';
import type { GuardInfo, Subject } from '../define/types.js';
import { deny as denial, halt as halting } from '../define/verdict.js';
import type { Label, Message } from '../model/types.js';
import type { GuardLevel } from '../state/events.js';
import type { Matter, Ruling } from './guard.js';
import { Info, judge } from './guard.js';
import { RunHandle } from './handle.js';
import type { Placed } from './stand.js';

type Ask = (subject: Subject, info: GuardInfo) => unknown;
interface Settings {
  readonly check?: Ask;
  readonly rewrite?: Ask;
  readonly [option: string]: unknown;
}

const label: Label = { origin: 'user', integrity: 'trusted' };
const allow = { action: 'allow' };
const deny = (reason: string) => ({ action: 'deny', reason });
const halt = (reason: string) => ({ action: 'halt', reason });
const ask = (reason: string) => ({ action: 'ask', reason });
const rewrite = (value: unknown, reason = 'better') => ({ action: 'rewrite', value, reason });
const throws = (): never => {
  throw new Error('broken');
};

const specOf = (name: string, settings: Settings): GuardrailSpec =>
  guardrailSpecOf(defineGuardrail({ name, on: ['toolInput'], ...settings } as never), name);
const guard = (name: string, settings: Settings, level: GuardLevel = 'agent'): Placed => ({ spec: specOf(name, settings), level });

let clock: HandClock;
let handle: RunHandle;
let entriesBefore = 0;

/** A text on its way to a tool; a text put in its place fits. */
const matterOf = (guards: readonly Placed[], more: Partial<Matter<string>> = {}): Matter<string> => ({
  surface: 'toolInput',
  subject: 'r1/1.0',
  revision: 0,
  value: 'abcdef',
  guards,
  phases: 'both',
  canAsk: true,
  toSubject: (content) => ({ surface: 'toolInput', content, label }) as Subject,
  rewrite: (_value, by) => (typeof by === 'string' ? { value: by } : undefined),
  ...more,
});

const judged = async (guards: readonly Placed[], more?: Partial<Matter<string>>): Promise<Ruling<string>> =>
  judge(handle, matterOf(guards, more));

/** What a judgement under way has come to; undefined while it has not. */
function open(guards: readonly Placed[], more?: Partial<Matter<string>>): { ruling: Ruling<string> | undefined } {
  const seen: { ruling: Ruling<string> | undefined } = { ruling: undefined };
  void judged(guards, more).then((ruling) => {
    seen.ruling = ruling;
  });
  return seen;
}

const verdicts = () => eventsOf(handle.root, 'guard.verdict');
const told = () => verdicts().map(({ guardrail, action }) => `${guardrail} ${action}`);
const failedRefusal = (by: string, action: 'deny' | 'halt' = 'deny') => ({
  action,
  surface: 'toolInput',
  by,
  reason: `guardrail ${by} failed`,
  failed: true,
});
const passed = (value: string, revision = 0) => ({ value, revision, refusal: undefined, asks: [], isStopped: false });
const stopped = { value: 'abcdef', revision: 0, refusal: undefined, asks: [], isStopped: true };
const stop = (reason: unknown = 'enough') => handle.abort({ kind: 'cancel', reason });

beforeEach(async () => {
  clock = new HandClock();
  handle = await entered(agentOf(), { clock, context: { user: 'u1' } });
  entriesBefore = handle.root.events.length;
});
afterEach(() => {
  expect(clock.timers).toEqual([]);
});

describe('what a guardrail is told', () => {
  const infoOf = (matter: ConstructorParameters<typeof Info>[2] = {}) => new Info(handle, label, matter);

  it('is where it stands, and what the agent sees', () => {
    handle.state.conversation.untrustedReads.push({ tool: 'find', callId: '1.0' });
    const info = infoOf();
    expect(info.context).toEqual({ user: 'u1' });
    expect(info.run).toBe('r1');
    expect(info.agent).toBe('desk');
    expect(info.agentPath).toEqual(['desk']);
    expect(info.messages).toBe(handle.showMessages(handle.messages));
    expect(info.labels).toEqual({ subject: label, view: { origin: 'agent:desk', integrity: 'trusted' } });
    expect(info.untrustedReads).toEqual([{ tool: 'find', callId: '1.0' }]);
    expect(() => (info.untrustedReads as unknown[]).push(1)).toThrow(TypeError);
  });

  it('is that the view is untrusted once it holds anything untrusted', () => {
    handle.state.conversation.isUntrusted = true;
    expect(infoOf().labels.view).toEqual({ origin: 'agent:desk', integrity: 'untrusted' });
  });

  it('is the path down to a child', () => {
    const child = new RunHandle(handle.root, handle.state, { agents: handle.agents, parent: handle });
    expect(new Info(child, label, {}).agentPath).toEqual(['desk', 'desk']);
  });

  it('is at a handoff what the agent will see that is not active yet', () => {
    const messages: Message[] = [{ role: 'user', id: 'x', via: 'user', parts: [], label }];
    const info = infoOf({ viewer: { agent: 'next', messages } });
    expect(info.agent).toBe('next');
    expect(info.agentPath).toEqual(['next']);
    expect(info.labels.view.origin).toBe('agent:next');
    expect(info.messages).toEqual(messages);
    expect(() => (info.messages as unknown[]).push(1)).toThrow(TypeError);
    const child = new RunHandle(handle.root, handle.state, { agents: handle.agents, parent: handle });
    expect(new Info(child, label, { viewer: { agent: 'next', messages } }).agentPath).toEqual(['desk', 'next']);
  });

  describe('its signal', () => {
    it('is one, and aborted with the reason of the run when that is stopped', () => {
      const info = infoOf();
      const { signal } = info;
      expect(info.signal).toBe(signal);
      expect(signal.aborted).toBe(false);
      stop('enough');
      expect(signal.reason).toBe('enough');
    });

    it('is aborted from the first where the run is stopped', () => {
      stop('enough');
      expect(infoOf().signal.reason).toBe('enough');
    });

    it('outlives a stop where answers still count, until nobody waits any more', () => {
      const info = infoOf({ graceMs: 100 });
      const { signal } = info;
      stop();
      expect(signal.aborted).toBe(false);
      info.end(true, 'over');
      expect(signal.reason).toBe('over');
    });

    it.each([true, false])('is not aborted any more after the answer, whether it was read before that (%s) or not', (wasRead) => {
      const info = infoOf();
      if (wasRead) void info.signal;
      info.end(false);
      info.end(true, 'over');
      stop();
      expect(info.signal.aborted).toBe(false);
    });

    it.each([true, false])('is aborted for the first reason when nobody waits any more, read before that (%s) or not', (wasRead) => {
      const info = infoOf();
      if (wasRead) void info.signal;
      info.end(true, 'one');
      info.end(true, 'two');
      stop();
      expect(info.signal.reason).toBe('one');
    });

    it('says what came of the wait', () => {
      const spec = specOf('slow', { check: () => allow, timeoutMs: 70 });
      const ended = (kind: 'value' | 'threw' | 'late' | 'stopped') => {
        const info = infoOf({ graceMs: 100 });
        info.endAs({ kind } as never, spec);
        return info.signal;
      };
      expect(ended('value').aborted).toBe(false);
      expect(ended('threw').reason).toMatchObject({ name: 'AbortError' });
      expect(ended('late').reason).toMatchObject({ name: 'TimeoutError', message: 'slow took longer than 70 ms.' });
      stop('enough');
      expect(ended('stopped').reason).toBe('enough');
      expect(ended('value').aborted).toBe(false);
    });
  });

  describe('an answer that is waited for until the end', () => {
    const seenOf = (given: PromiseLike<unknown>) => {
      const info = infoOf();
      const seen: unknown[] = [];
      info.untilEnd(given).then(
        (value) => seen.push({ value }),
        (error) => seen.push({ error }),
      );
      return { info, seen };
    };

    it.each<[string, () => PromiseLike<unknown>, unknown]>([
      ['a value', () => Promise.resolve(1), { value: 1 }],
      ['a rejection', () => Promise.reject('broken'), { error: 'broken' }],
      ['a promise that cannot be waited for', () => ({ then: throws }), { error: new Error('broken') }],
    ])('is that of the guardrail: %s', async (_what, give, expected) => {
      const { info, seen } = seenOf(give());
      await settle();
      info.end(true);
      await settle();
      expect(seen).toEqual([expected]);
    });

    it('comes at once when nobody waits any more, and does not when it was given', async () => {
      const left = seenOf(new Promise(() => undefined));
      left.info.end(true);
      const answered = seenOf(new Promise(() => undefined));
      answered.info.end(false);
      await settle();
      expect(left.seen).toEqual([{ value: undefined }]);
      expect(answered.seen).toEqual([]);
    });
  });
});

describe('what is recorded of an answer', () => {
  const event = { type: 'guard.verdict', seq: 2, at: 1_000, run: 'r1', agent: 'desk', surface: 'toolInput', subject: 'r1/1.0', ms: 0 };

  it('is who answered what, where', async () => {
    await judged([guard('plain', { check: () => allow }, 'tool')], { revision: 3 });
    expect(verdicts()).toStrictEqual([{ ...event, guardrail: 'plain', level: 'tool', revision: 3, phase: 'check', action: 'allow' }]);
  });

  it('is all that there is to tell of it', async () => {
    const spec = { ...specOf('full', { check: throws, version: '2', shadow: true }), beside: true };
    await judged([{ spec, level: 'run' }], { isProjected: true });
    expect(verdicts()).toEqual([
      {
        ...event,
        guardrail: 'full',
        version: '2',
        level: 'run',
        revision: 0,
        phase: 'check',
        action: 'deny',
        reason: 'guardrail full failed',
        failed: true,
        failure: 'threw',
        shadow: true,
        beside: true,
        projected: true,
      },
    ]);
  });

  it('is of a rewrite the places that it changed, or none where it gave the whole anew', async () => {
    const spans = [{ start: 0, end: 1, with: 'x' }, 1];
    const fits = () => ({ value: 'xbcdef' });
    await judged([guard('spans', { rewrite: () => rewrite(spans, 'masked') }), guard('whole', { rewrite: () => rewrite('all', 'said') })], {
      rewrite: fits,
    });
    const rewritten = { ...event, level: 'agent', phase: 'rewrite', action: 'rewrite' };
    expect(verdicts()).toEqual([
      { ...rewritten, guardrail: 'spans', revision: 0, reason: 'masked', places: 2 },
      { ...rewritten, seq: 3, guardrail: 'whole', revision: 1, reason: 'said' },
    ]);
    expect(Object.keys(verdicts()[1] ?? {})).not.toContain('places');
    expect(Object.keys(verdicts()[1] ?? {})).not.toContain('size');
  });

  it.each([
    ['', undefined],
    ['1.0', '1.0'],
  ])('is noted for what commits it: %j', async (matter, about) => {
    const notes: unknown[] = [];
    handle.noteAnswer = (...note) => notes.push(note);
    await judged([guard('a', { check: () => allow }), guard('d', { check: () => deny('no') })], { about });
    expect(notes).toEqual([
      [matter, 'allow'],
      [matter, 'deny'],
    ]);
  });
});

describe('judging', () => {
  it('of nothing lets everything pass', () => {
    expect(judge(handle, matterOf([], { revision: 2 }))).toEqual(passed('abcdef', 2));
    stop();
    expect(judge(handle, matterOf([], { revision: 2 }))).toEqual(passed('abcdef', 2));
  });

  it('by nobody who looks in this phase lets everything pass, and records nothing', () => {
    for (const [own, other] of [
      ['rewrite', 'check'],
      ['check', 'rewrite'],
    ] as const)
      expect(judge(handle, matterOf([guard('one', { [own]: () => deny('no') })], { phases: other }))).toEqual(passed('abcdef'));
    expect(handle.root.events).toHaveLength(entriesBefore);
  });

  it.each(['rewrite', 'check', 'both'] as const)('by functions that answer at once takes no promise: %s', (phases) => {
    const both = guard('both', { rewrite: () => rewrite('new'), check: () => allow });
    expect(judge(handle, matterOf([both], { phases }))).toEqual(phases === 'check' ? passed('abcdef') : passed('new', 1));
    expect(told()).toEqual({ rewrite: ['both rewrite'], check: ['both allow'], both: ['both rewrite', 'both allow'] }[phases]);
  });

  it.each(['at once', 'later'])('lets each rewrite see what the one before left, and the checks what all left: %s', async (when) => {
    const seen: unknown[] = [];
    const adds = (text: string): Ask => {
      const answer = (content: string) => rewrite(content + text);
      return ({ content }) => {
        seen.push(content);
        return when === 'later' ? Promise.resolve(answer(content)) : answer(content);
      };
    };
    const looks: Ask = ({ content }) => {
      seen.push(content);
      return allow;
    };
    const guards = [
      guard('one', { rewrite: adds('1'), check: looks }),
      guard('two', { check: looks }),
      guard('three', { rewrite: adds('3') }),
    ];
    expect(await judged(guards, { revision: 4 })).toEqual(passed('abcdef13', 6));
    expect(seen).toEqual(['abcdef', 'abcdef1', 'abcdef13', 'abcdef13']);
    expect(verdicts().map(({ guardrail, phase, revision }) => [guardrail, phase, revision])).toEqual([
      ['one', 'rewrite', 4],
      ['three', 'rewrite', 5],
      ['one', 'check', 6],
      ['two', 'check', 6],
    ]);
  });

  it('builds what is looked at once for each value', async () => {
    let built = 0;
    const same = { rewrite: () => allow, check: () => allow };
    await judged([guard('one', same), guard('two', { ...same, rewrite: () => rewrite('new') })], {
      toSubject: (content) => {
        built += 1;
        return { content, label } as Subject;
      },
    });
    expect(built).toBe(2);
  });

  it('gives each the label of what it looks at', async () => {
    const labels: unknown[] = [];
    await judged([guard('one', { check: (_, info) => labels.push(info.labels.subject) })]);
    expect(labels).toEqual([label]);
  });

  it.each(['rewrite', 'check'] as const)('obeys who denies or halts, with the reply for the person: %s', async (phase) => {
    for (const answer of [deny('no'), halt('never'), { ...deny('no'), reply: 'Sorry.' }, { ...halt('never'), reply: 5 }]) {
      const { action, reason } = answer;
      const { refusal } = await judged([guard('strict', { [phase]: () => answer })]);
      const reply = 'reply' in answer && typeof answer.reply === 'string' ? { reply: answer.reply } : {};
      expect(refusal).toStrictEqual({ action, surface: 'toolInput', by: 'strict', reason, ...reply });
    }
    expect(verdicts().map(({ reason }) => reason)).toEqual(['no', 'never', 'no', 'never']);
  });

  it.each(['at once', 'later'])('asks nobody more once a rewriter refuses: %s', async (when) => {
    const answer = when === 'later' ? async () => deny('no') : () => deny('no');
    const guards = [guard('one', { rewrite: answer, check: () => allow }), guard('two', { rewrite: () => allow })];
    expect((await judged(guards)).refusal).toMatchObject({ by: 'one', reason: 'no' });
    expect(told()).toEqual(['one deny']);
  });

  it('keeps who wants to ask a person, in order, and goes on', async () => {
    const guards = [
      guard('one', { rewrite: () => ask('r1'), check: () => ask('c1') }),
      guard('two', { rewrite: () => rewrite('new'), check: async () => ask('c2') }),
    ];
    expect((await judged(guards)).asks).toEqual([
      { by: 'one', reason: 'r1' },
      { by: 'one', reason: 'c1' },
      { by: 'two', reason: 'c2' },
    ]);
    expect(told()).toEqual(['one ask', 'two rewrite', 'one ask', 'two ask']);
    expect(verdicts().map(({ failed }) => failed)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it.each<[string, Ask]>([
    ['nothing', () => undefined],
    ['null', () => null],
    ['a text', () => 'allow'],
    ['a function', () => Object.assign(() => allow, allow)],
    ['no action', () => ({ reason: 'why' })],
    ['an unknown action', () => ({ action: 'permit', reason: 'why' })],
    ['a refusal without a reason', () => ({ action: 'deny' })],
    ['a reason that is no text', () => ({ action: 'halt', reason: 5 })],
    ['an answer that cannot be read', () => Object.defineProperty({}, 'action', { get: throws })],
    ['nothing, for it throws', throws],
    ['a rejection', () => Promise.reject(new Error('broken'))],
    ['a promise of nothing', () => Promise.resolve(undefined)],
  ])('takes for a failure, which refuses: %s', async (what, answer) => {
    for (const phase of ['rewrite', 'check'] as const) {
      const ruling = await judged([guard('bad', { [phase]: answer })]);
      expect(ruling).toStrictEqual({ ...passed('abcdef'), refusal: failedRefusal('bad') });
    }
    const failure = /throws|rejection/.test(what) ? 'threw' : 'misfit';
    expect(verdicts().map((told) => [told.phase, told.failed, told.failure, told.reason])).toEqual([
      ['rewrite', true, failure, 'guardrail bad failed'],
      ['check', true, failure, 'guardrail bad failed'],
    ]);
  });

  it('takes for a failure a check that rewrites, and an ask where nobody can be asked', async () => {
    expect((await judged([guard('bad', { check: () => rewrite('new') })])).refusal).toEqual(failedRefusal('bad'));
    const asking = guard('bad', { rewrite: () => ask('why'), check: () => ask('why') });
    for (const phases of ['rewrite', 'check'] as const) {
      const ruling = await judged([asking], { canAsk: false, phases });
      expect(ruling).toEqual({ ...passed('abcdef'), refusal: failedRefusal('bad') });
    }
  });

  it.each(['halt', 'allow', 'deny'] as const)('lets a failure count as its author wrote: %s', async (onError) => {
    for (const phase of ['rewrite', 'check'] as const) {
      const { refusal } = await judged([guard('bad', { [phase]: throws, onError })]);
      expect(refusal).toEqual(onError === 'allow' ? undefined : failedRefusal('bad', onError));
    }
    expect(verdicts().map(({ action, failed }) => [action, failed])).toEqual([
      [onError, true],
      [onError, true],
    ]);
  });

  it.each<[string, Matter<string>['rewrite']]>([
    ['does not fit', () => undefined],
    ['does not fit after a while', async () => undefined],
    ['throws where it is put in', throws],
    ['rejects where it is put in', async () => throws()],
  ])('takes for a failure a rewrite that %s', async (_what, put) => {
    const guards = [guard('bad', { rewrite: () => rewrite('new') }), guard('next', { rewrite: () => allow })];
    expect(await judged(guards, { rewrite: put })).toEqual({ ...passed('abcdef'), refusal: failedRefusal('bad') });
    expect(told()).toEqual(['bad deny']);
    expect(verdicts()[0]).toMatchObject({ failed: true, failure: 'misfit', revision: 0 });
  });

  it('goes on with what a rewrite made after a while', async () => {
    const guards = [guard('one', { rewrite: () => rewrite('n') }), guard('two', { rewrite: ({ content }) => rewrite(`${content}w`) })];
    expect(await judged(guards, { rewrite: async (_, by) => ({ value: String(by) }) })).toEqual(passed('nw', 2));
  });
});

describe('checks that are asked together', () => {
  type Answer = 'd' | 'h' | 'fd' | 'fh' | 'a' | 'k';
  const answers: { readonly [A in Answer]: Settings } = {
    a: { check: () => allow },
    k: { check: () => ask('why') },
    d: { check: () => deny('no') },
    h: { check: () => halt('never') },
    fd: { check: throws },
    fh: { check: throws, onError: 'halt' },
  };

  it.each<[readonly Answer[], string | undefined]>([
    [['a', 'a'], undefined],
    [['a', 'd'], 'd1'],
    [['d', 'a'], 'd0'],
    [['d', 'd'], 'd0'],
    [['d', 'fd'], 'd0'],
    [['fd', 'd'], 'd1'],
    [['fd', 'fd'], 'fd0'],
    [['k', 'd'], 'd1'],
    [['d', 'h'], 'h1'],
    [['d', 'fh'], 'fh1'],
    [['fd', 'd', 'd'], 'd1'],
  ])('answer as the strictest of %j does', async (kinds, by) => {
    const guards = kinds.map((kind, index) => guard(`${kind}${index}`, answers[kind]));
    expect((await judged(guards)).refusal?.by).toBe(by);
    expect(verdicts()).toHaveLength(kinds.length);
  });

  it.each<[readonly Answer[], string]>([
    [['h', 'd'], 'h0'],
    [['fh', 'h'], 'h1'],
    [['h', 'fh'], 'h0'],
    [['h', 'h'], 'h0'],
    [['fh', 'd'], 'fh0'],
    [['d', 'fh', 'h'], 'h2'],
  ])('answer as the strictest of %j does, when they do so in one moment', async (kinds, by) => {
    const gates = kinds.map(() => gate<void>());
    const guards = kinds.map((kind, index) =>
      guard(`${kind}${index}`, {
        ...answers[kind],
        check: (subject, info) => gates[index]?.promise.then(() => answers[kind].check?.(subject, info)),
      }),
    );
    const seen = open(guards);
    for (const each of gates) each.resolve();
    await settle();
    expect(seen.ruling?.refusal?.by).toBe(by);
  });

  it('are all asked though one denies, and none after one that halts at once', async () => {
    let signal: AbortSignal | undefined;
    const hangs: Ask = (_, info) => {
      signal = info.signal;
      return new Promise(() => undefined);
    };
    const guards = [
      guard('hangs', { check: hangs }),
      guard('denies', { check: () => deny('no') }),
      guard('halts', { check: () => halt('never') }),
      guard('after', { check: () => allow }),
    ];
    const ruling = judge(handle, matterOf(guards));
    expect(ruling).toEqual({ ...passed('abcdef'), refusal: { action: 'halt', surface: 'toolInput', by: 'halts', reason: 'never' } });
    expect(told()).toEqual(['denies deny', 'halts halt']);
    expect(signal?.aborted).toBe(true);
    await settle();
    expect(told()).toHaveLength(2);
  });

  it('leave nothing unhandled behind one that halts at once', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    void judge(
      handle,
      matterOf([
        guard('hangs', { check: () => new Promise(() => undefined), onError: 'halt' }),
        guard('rejects', { check: () => Promise.reject(new Error('broken')), onError: 'halt' }),
        guard('halts', { check: () => halt('never') }),
      ]),
    );
    await settle();
    await settle();
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });

  it('are settled by one that halts later, which leaves nobody waiting', async () => {
    const halting = gate<unknown>();
    const late = gate<unknown>();
    const signals: AbortSignal[] = [];
    const check =
      (answer: Promise<unknown>): Ask =>
      (_, info) => {
        signals.push(info.signal);
        return answer;
      };
    const seen = open([
      guard('late', { check: check(late.promise) }),
      guard('halts', { check: check(halting.promise) }),
      guard('quick', { check: check(Promise.resolve(allow)) }),
      guard('now', { check: () => allow }),
    ]);
    await settle();
    expect(seen.ruling).toBeUndefined();
    halting.resolve(halt('never'));
    await settle();
    expect(seen.ruling?.refusal).toEqual({ action: 'halt', surface: 'toolInput', by: 'halts', reason: 'never' });
    expect(told()).toEqual(['halts halt', 'quick allow', 'now allow']);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false, false]);
    expect(clock.timers).toEqual([]);
    late.resolve(deny('no'));
    await settle();
    expect(told()).toHaveLength(3);
  });

  it('wait for all where none halts, and record them in the order in which they were declared', async () => {
    const [one, two] = [gate<unknown>(), gate<unknown>()];
    const seen = open([guard('one', { check: () => one.promise }), guard('two', { check: () => two.promise })]);
    two.resolve(deny('no'));
    await settle();
    expect(seen.ruling).toBeUndefined();
    expect(verdicts()).toEqual([]);
    one.resolve(allow);
    await settle();
    expect(seen.ruling).toEqual({ ...passed('abcdef'), refusal: { action: 'deny', surface: 'toolInput', by: 'two', reason: 'no' } });
    expect(told()).toEqual(['one allow', 'two deny']);
  });

  it('are each timed by themselves', async () => {
    const takes =
      (ms: number, answer: unknown = allow): Ask =>
      () => {
        clock.time += ms;
        return answer;
      };
    const slow = gate<unknown>();
    const seen = open([
      guard('three', { check: takes(3) }),
      guard('five', { check: takes(5) }),
      guard('later', { check: takes(7, slow.promise) }),
      guard('two', { check: takes(2) }),
    ]);
    await clock.pass(20);
    slow.resolve(allow);
    await settle();
    expect(seen.ruling).toEqual(passed('abcdef'));
    expect(verdicts().map(({ guardrail, ms }) => [guardrail, ms])).toEqual([
      ['three', 3],
      ['five', 5],
      ['later', 29],
      ['two', 2],
    ]);
  });
});

describe('rewrites', () => {
  it('are each timed by themselves, with what was made of them', async () => {
    const slow = gate<unknown>();
    const takes =
      (ms: number, answer: unknown): Ask =>
      () => {
        clock.time += ms;
        return answer;
      };
    const seen = open(
      [
        guard('three', { rewrite: takes(3, allow) }),
        guard('five', { rewrite: takes(5, rewrite('new')) }),
        guard('later', { rewrite: takes(1, slow.promise) }),
        guard('bad', { rewrite: takes(4, rewrite('')), onError: 'allow' }),
        guard('denies', { rewrite: takes(2, deny('no')) }),
      ],
      {
        rewrite: (_, by) => {
          clock.time += 10;
          return by === '' ? undefined : { value: String(by) };
        },
      },
    );
    await clock.pass(20);
    slow.resolve(rewrite('newer'));
    await settle();
    expect(seen.ruling).toMatchObject({ value: 'newer', revision: 2, refusal: { by: 'denies' } });
    expect(verdicts().map(({ guardrail, ms }) => [guardrail, ms])).toEqual([
      ['three', 3],
      ['five', 15],
      ['later', 31],
      ['bad', 14],
      ['denies', 2],
    ]);
  });
});

describe('a guardrail that takes its time', () => {
  it.each(['rewrite', 'check'] as const)('has failed at its deadline, and not before: %s', async (phase) => {
    let signal: AbortSignal | undefined;
    const answer = gate<unknown>();
    const slow: Ask = (_, info) => {
      signal = info.signal;
      return answer.promise;
    };
    const seen = open([guard('slow', { [phase]: slow, timeoutMs: 50 }), guard('other', { check: () => allow })]);
    await clock.pass(49);
    expect(seen.ruling).toBeUndefined();
    await clock.pass(1);
    expect(seen.ruling).toEqual({ ...passed('abcdef'), refusal: failedRefusal('slow') });
    expect(verdicts()[0]).toMatchObject({ guardrail: 'slow', phase, action: 'deny', failed: true, failure: 'late', ms: 50 });
    expect(signal?.reason).toMatchObject({ name: 'TimeoutError', message: 'slow took longer than 50 ms.' });
    answer.resolve(allow);
    await settle();
    expect(verdicts()).toHaveLength(phase === 'check' ? 2 : 1);
  });

  it.each(['rewrite', 'check'] as const)('learns of a late end where it reads its signal only then: %s', async (phase) => {
    const infos: GuardInfo[] = [];
    const slow: Ask = (_, info) => {
      infos.push(info);
      return new Promise(() => undefined);
    };
    open([guard('slow', { [phase]: slow, timeoutMs: 50 })]);
    await clock.pass(50);
    expect(infos[0]?.signal.reason).toMatchObject({ name: 'TimeoutError' });
  });

  it.each(['rewrite', 'check'] as const)('keeps a signal that no later stop aborts, once it has answered: %s', async (phase) => {
    const signals: AbortSignal[] = [];
    const reads =
      (isSlow: boolean): Ask =>
      (_, info) => {
        signals.push(info.signal);
        return isSlow ? Promise.resolve(allow) : allow;
      };
    await judged([
      guard('one', { [phase]: reads(false) }),
      guard('two', { [phase]: reads(true) }),
      guard('three', { [phase]: reads(true) }),
    ]);
    stop();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
  });

  it('is aborted where it throws, for nobody waits any more', async () => {
    let signal: AbortSignal | undefined;
    const rejects: Ask = (_, info) => {
      signal = info.signal;
      return Promise.reject(new Error('broken'));
    };
    await judged([guard('bad', { check: rejects })]);
    expect(signal?.aborted).toBe(true);
  });
});

describe('a run that is stopped meanwhile', () => {
  it.each(['rewrite', 'check'] as const)('records nothing and lets nothing cross: %s', async (phase) => {
    let signal: AbortSignal | undefined;
    const slow: Ask = (_, info) => {
      signal = info.signal;
      return new Promise(() => undefined);
    };
    const seen = open([
      guard('asks', { rewrite: () => ask('why'), check: () => ask('why') }),
      guard('slow', { [phase]: slow }),
      guard('denies', { check: () => deny('no') }),
    ]);
    await settle();
    stop('enough');
    await settle();
    expect(seen.ruling).toEqual(stopped);
    expect(signal?.reason).toBe('enough');
    expect(handle.root.events).toHaveLength(entriesBefore);
  });

  it('does so with what was rewritten before', async () => {
    const seen = open([guard('one', { rewrite: () => rewrite('new') }), guard('slow', { rewrite: () => new Promise(() => undefined) })]);
    await settle();
    stop();
    await settle();
    expect(seen.ruling).toEqual({ ...stopped, value: 'new', revision: 1 });
  });

  it.each(['rewrite', 'check'] as const)('asks nobody any more, and does not obey who answered: %s', async (phase) => {
    const asked: string[] = [];
    const stops: Ask = () => {
      stop();
      return deny('no');
    };
    const notes: Ask = () => {
      asked.push('next');
      return allow;
    };
    expect(await judged([guard('stops', { [phase]: stops, shadow: true }), guard('next', { [phase]: notes, check: notes })])).toEqual(
      stopped,
    );
    expect(await judged([guard('stops', { [phase]: stops })])).toEqual(stopped);
    expect(asked).toEqual([]);
    expect(verdicts()).toEqual([]);
  });

  it('asks nobody where it was stopped before', async () => {
    stop();
    const asked: string[] = [];
    const notes: Ask = () => asked.push('asked');
    expect(await judged([guard('one', { rewrite: notes, check: notes })])).toEqual(stopped);
    expect(await judged([guard('one', { rewrite: notes, check: notes })], { phases: 'check' })).toEqual(stopped);
    expect(await judged([guard('one', { rewrite: notes })], { phases: 'check' })).toEqual(stopped);
    expect(asked).toEqual([]);
  });
});

describe('what a started tool gave, after a stop', () => {
  const graced = { graceMs: 200 };

  it.each(['rewrite', 'check'] as const)('is asked about, recorded and obeyed when the answer comes in time: %s', async (phase) => {
    stop();
    const slow = gate<unknown>();
    const seen = open([guard('slow', { [phase]: () => slow.promise }), guard('next', { check: () => allow })], graced);
    await clock.pass(199);
    expect(seen.ruling).toBeUndefined();
    slow.resolve(allow);
    await settle();
    expect(seen.ruling).toEqual(passed('abcdef'));
    expect(told()).toEqual(['slow allow', 'next allow']);
  });

  it('is obeyed when it is refused', async () => {
    stop();
    expect((await judged([guard('strict', { check: () => deny('no') })], graced)).refusal).toMatchObject({ by: 'strict' });
    expect(told()).toEqual(['strict deny']);
  });

  it.each(['rewrite', 'check'] as const)('does not cross when the answer takes longer: %s', async (phase) => {
    let signal: AbortSignal | undefined;
    const slow: Ask = (_, info) => {
      signal = info.signal;
      return new Promise(() => undefined);
    };
    const seen = open([guard('slow', { [phase]: slow }), guard('next', { check: () => allow })], graced);
    await clock.pass(10);
    stop('enough');
    await clock.pass(199);
    expect(seen.ruling).toBeUndefined();
    expect(signal?.aborted).toBe(false);
    await clock.pass(1);
    expect(seen.ruling).toEqual(stopped);
    expect(signal?.reason).toBe('enough');
    expect(verdicts()).toEqual([]);
  });

  it.each(['rewrite', 'check'] as const)('does not wait for a shadow, which counts as late: %s', async (phase) => {
    let signal: AbortSignal | undefined;
    const slow: Ask = (_, info) => {
      signal = info.signal;
      return new Promise(() => undefined);
    };
    const seen = open([guard('shadow', { [phase]: slow, shadow: true }), guard('next', { check: () => allow })], graced);
    await settle();
    expect(seen.ruling).toBeUndefined();
    stop('enough');
    await settle();
    expect(seen.ruling).toEqual(passed('abcdef'));
    expect(verdicts()[0]).toMatchObject({ guardrail: 'shadow', action: 'deny', failed: true, shadow: true });
    expect(told()).toEqual(['shadow deny', 'next allow']);
    expect(signal?.reason).toBe('enough');
  });

  it('is refused by a halt that came in time, though another answer did not', async () => {
    const halting = gate<unknown>();
    const seen = open(
      [guard('slow', { check: () => new Promise(() => undefined) }), guard('halts', { check: () => halting.promise })],
      graced,
    );
    stop();
    const [first] = clock.timers.filter(({ at }) => at === 1_200);
    first?.then();
    await settle();
    expect(seen.ruling).toBeUndefined();
    halting.resolve(halt('never'));
    await settle();
    expect(seen.ruling).toMatchObject({ isStopped: false, refusal: { action: 'halt', by: 'halts' } });
    expect(told()).toEqual(['halts halt']);
  });

  it('is not settled by a deny that came in time where another answer did not', async () => {
    const denying = gate<unknown>();
    const seen = open(
      [
        guard('shadow', { check: () => halt('never'), shadow: true }),
        guard('slow', { check: () => new Promise(() => undefined) }),
        guard('denies', { check: () => denying.promise }),
      ],
      graced,
    );
    stop();
    denying.resolve(deny('no'));
    await settle();
    expect(seen.ruling).toBeUndefined();
    await clock.pass(200);
    expect(seen.ruling).toEqual(stopped);
  });
});

describe('a shadow', () => {
  it.each<[string, unknown]>([
    ['allow', allow],
    ['deny', deny('no')],
    ['halt', halt('never')],
    ['ask', ask('why')],
  ])('is recorded and not obeyed when it answers %s', async (action, answer) => {
    for (const [phase, given] of [
      ['rewrite', answer],
      ['check', answer],
      ['check', Promise.resolve(answer)],
    ] as const) {
      const guards = [guard('shadow', { [phase]: () => given, shadow: true }), guard('next', { check: () => allow })];
      expect(await judged(guards)).toEqual(passed('abcdef'));
    }
    expect(told()).toEqual(Array.from({ length: 3 }, () => [`shadow ${action}`, 'next allow']).flat());
    expect(verdicts().filter(({ shadow }) => shadow)).toHaveLength(3);
  });

  it('that halts waits for the others, at once or later', async () => {
    for (const given of [halt('never'), Promise.resolve(halt('never'))]) {
      const slow = gate<unknown>();
      const seen = open([guard('shadow', { check: () => given, shadow: true }), guard('slow', { check: () => slow.promise })]);
      await settle();
      expect(seen.ruling).toBeUndefined();
      slow.resolve(allow);
      await settle();
      expect(seen.ruling).toEqual(passed('abcdef'));
    }
  });

  it.each(['at once', 'after a while'])('tells what its rewrite would have come to, and rewrites nothing: %s', async (when) => {
    clock.time = 2_000;
    const put = (by: unknown) => {
      clock.time += 6;
      return typeof by === 'string' ? { value: by } : undefined;
    };
    const guards = [
      guard('longer', { rewrite: () => rewrite('abcdefgh', 'more'), shadow: true }),
      guard('bad', { rewrite: () => rewrite(5), shadow: true }),
      guard('next', { rewrite: ({ content }) => deny(content) }),
    ];
    const ruling = await judged(guards, { rewrite: (_, by) => (when === 'at once' ? put(by) : Promise.resolve(by).then(put)) });
    expect(ruling).toMatchObject({ value: 'abcdef', revision: 0, refusal: { reason: 'abcdef' } });
    const { size: _, ...failed } = verdicts()[1] ?? {};
    expect(verdicts()[0]).toMatchObject({ guardrail: 'longer', action: 'rewrite', reason: 'more', size: { before: 6, after: 8 }, ms: 6 });
    expect(verdicts()[1]).toEqual(failed);
    expect(failed).toMatchObject({ guardrail: 'bad', action: 'deny', failed: true, shadow: true, ms: 6 });
  });

  it.each([
    [0, 50],
    [30, 20],
    [50, 0],
    [80, 0],
  ])('whose rewrite is put in after a while has what is left of its time: after %d ms, %d ms', async (took, left) => {
    const takes: Ask = () => {
      clock.time += took;
      return rewrite('new');
    };
    const seen = open([guard('shadow', { rewrite: takes, shadow: true, timeoutMs: 50 })], { rewrite: () => new Promise(() => undefined) });
    expect(clock.timers.map(({ at }) => at - clock.time)).toEqual([left]);
    await clock.pass(left);
    expect(seen.ruling).toEqual(passed('abcdef'));
    expect(verdicts()[0]).toMatchObject({ action: 'deny', failed: true });
  });

  it('whose rewrite cannot be put in has failed', async () => {
    for (const put of [throws, async () => throws(), async () => undefined]) {
      expect(await judged([guard('shadow', { rewrite: () => rewrite('new'), shadow: true })], { rewrite: put })).toEqual(passed('abcdef'));
    }
    expect(verdicts().map(({ action, failed }) => [action, failed])).toEqual(Array.from({ length: 3 }, () => ['deny', true]));
  });
});

describe('a guardrail with a breaker', () => {
  const breaking = { breaker: { failures: 1, coolDownMs: 100 }, timeoutMs: 50 };
  const stateOf = ({ spec }: Placed) => spec.breaker?.state;

  it.each(['rewrite', 'check'] as const)('is not asked while it is open, which counts as a failure: %s', async (phase) => {
    let asked = 0;
    const fails: Ask = () => {
      asked += 1;
      return throws();
    };
    const broken = guard('broken', { [phase]: fails, ...breaking });
    for (const _ of [1, 2]) expect((await judged([broken])).refusal).toEqual(failedRefusal('broken'));
    expect(asked).toBe(1);
    expect(stateOf(broken)).toBe('open');
    expect(verdicts().map(({ failed, failure }) => [failed, failure])).toEqual([
      [true, 'threw'],
      [true, 'unasked'],
    ]);
  });

  it.each(['rewrite', 'check'] as const)('opens where it fails later or is late, and closes where it answers: %s', async (phase) => {
    const given: (() => unknown)[] = [
      () => Promise.reject(new Error('broken')),
      async () => allow,
      () => new Promise(() => undefined),
      () => allow,
    ];
    const broken = guard('broken', { [phase]: () => given.shift()?.(), ...breaking });
    for (const [state, ms] of [
      ['open', 0],
      ['closed', 0],
      ['open', 50],
      ['closed', 0],
    ] as const) {
      open([broken]);
      await clock.pass(ms);
      expect(stateOf(broken)).toBe(state);
      await clock.pass(100);
    }
  });

  it.each(['rewrite', 'check'] as const)('that was given up for a stop has not failed, and is asked again: %s', async (phase) => {
    const given: (() => unknown)[] = [throws, () => new Promise(() => undefined), () => allow];
    const broken = guard('broken', { [phase]: () => given.shift()?.(), ...breaking });
    await judged([broken]);
    await clock.pass(100);
    open([broken]);
    await settle();
    stop();
    await settle();
    expect(stateOf(broken)).toBe('half-open');
    handle.stop = undefined;
    expect(await judged([broken])).toEqual(passed('abcdef'));
    expect(stateOf(broken)).toBe('closed');
  });

  it.each(['rewrite', 'check'] as const)('that is a shadow and not waited for after a stop has not failed: %s', async (phase) => {
    const broken = guard('broken', { [phase]: () => new Promise(() => undefined), shadow: true, ...breaking });
    const seen = open([broken], { graceMs: 200 });
    await settle();
    stop();
    await settle();
    expect(seen.ruling).toEqual(passed('abcdef'));
    expect(stateOf(broken)).toBe('closed');
  });

  it('that was given up for a halt has not failed, and is asked again', async () => {
    const given: (() => unknown)[] = [throws, () => new Promise(() => undefined), () => allow];
    const broken = guard('broken', { check: () => given.shift()?.(), ...breaking });
    await judged([broken]);
    await clock.pass(100);
    await judged([broken, guard('halts', { check: async () => halt('never') })]);
    expect(stateOf(broken)).toBe('half-open');
    expect(await judged([broken])).toEqual(passed('abcdef'));
    expect(stateOf(broken)).toBe('closed');
  });

  it('does not answer for others', async () => {
    const slow = gate<unknown>();
    const sound = guard('sound', { check: () => slow.promise, ...breaking });
    const seen = open([sound, guard('broken', { check: throws })]);
    await settle();
    expect(stateOf(sound)).toBe('closed');
    slow.resolve(allow);
    await settle();
    expect(seen.ruling?.refusal).toEqual(failedRefusal('broken'));
    expect(stateOf(sound)).toBe('closed');
  });
});

describe('a refusal with an option that does not exist', () => {
  const misspelt = { replay: 'No.' } as never;
  const refuse = { deny: () => denial('not theirs', misspelt), halt: () => halting('not theirs', misspelt) };
  it.each([
    ['deny', 'allow', { action: 'deny', reason: 'not theirs' }],
    ['halt', 'allow', { action: 'halt', reason: 'not theirs' }],
    ['halt', 'deny', { action: 'halt', reason: 'not theirs' }],
    ['deny', 'deny', { action: 'deny', reason: 'guardrail g failed', failed: true }],
    ['deny', 'halt', { action: 'halt', reason: 'guardrail g failed', failed: true }],
    ['halt', 'halt', { action: 'halt', reason: 'guardrail g failed', failed: true }],
  ] as const)('%s refuses no less than it was to, where failures count as %s', async (meant, onError, refusal) => {
    const says = () => refuse[meant]();
    for (const settings of [{ check: says }, { rewrite: says }, { check: async () => says() }, { rewrite: async () => says() }]) {
      const ruling = await judged([guard('g', { ...settings, onError })]);
      expect(ruling.refusal).toEqual({ surface: 'toolInput', by: 'g', ...refusal });
    }
    expect(verdicts().map(({ action, failed = false }) => ({ action, failed }))).toEqual(
      Array.from({ length: 4 }, () => ({ action: refusal.action, failed: 'failed' in refusal })),
    );
  });
});
