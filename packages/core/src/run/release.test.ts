import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentOf, entered, eventsOf, gate, HandClock, settle } from '../../test/scene.js';
import { guardrailSpecOf } from '../define/definition.js';
import { defineGuardrail } from '../define/guardrail.js';
import type { GuardInfo, Subject } from '../define/types.js';
import type { Label } from '../model/types.js';
import type { RunEvent } from '../state/events.js';
import type { RunHandle } from './handle.js';
import type { Held } from './release.js';
import { Release } from './release.js';
import type { Placed } from './stand.js';

type Look = (subject: Subject, info: GuardInfo) => unknown;

const label: Label = { origin: 'agent:desk', integrity: 'trusted' };
const allow = { action: 'allow' };
const span = (start: number, end: number, text = '#') => ({ start, end, with: text });
const spans = (...value: readonly object[]) => ({ action: 'rewrite', value, reason: 'masked' });
const throws = (): never => {
  throw new Error('broken');
};

/** A guardrail on `output`, with a window unless it checks. */
const placed = (name: string, settings: object): Placed => ({
  spec: guardrailSpecOf(defineGuardrail({ name, on: ['output'], ...settings } as never), name),
  level: 'agent',
});
const windowed = (name: string, window: number, rewrite: Look): Placed => placed(name, { window, rewrite });

/** Every match is replaced. `seen` gets what it was shown. */
const masking =
  (pattern: RegExp, seen: string[] = [], by = '#'): Look =>
  ({ content }) => {
    seen.push(content);
    const found = [...content.matchAll(pattern)].map((match) => span(match.index, match.index + match[0].length, by));
    return found.length > 0 ? spans(...found) : allow;
  };

let clock: HandClock;
let handle: RunHandle;
let events: RunEvent[];

const enter = async (options: object = {}): Promise<void> => {
  clock = new HandClock();
  events = [];
  handle = await entered(agentOf(), { clock, observers: [(event: RunEvent) => events.push(event)], ...options });
  events.length = 0;
};
const hold = (guards: readonly Placed[], more: Partial<Held> = {}): Release =>
  new Release(handle, { turn: 1, guards, isStructured: false, label, ...more });
const deltas = () => events.flatMap((event) => (event.type === 'text.delta' ? [event.text] : []));
const verdicts = () => eventsOf(handle.root, 'guard.verdict');

/** Pushes the pieces, one after another. */
async function flow(guards: readonly Placed[], ...pieces: readonly string[]): Promise<Release> {
  const release = hold(guards);
  for (const piece of pieces) await release.push(piece);
  return release;
}

beforeEach(() => enter());
afterEach(() => {
  expect(clock.timers).toEqual([]);
});

const mask = windowed('mask', 4, () => allow);
const whole = placed('whole', { rewrite: () => allow });

it.each<[string, Release['mode'], readonly Placed[], { readonly isStructured?: true; readonly release?: 'live' }]>([
  ['flows where nothing guards it', 'flow', [], {}],
  ['flows where nothing guards it, live or not', 'flow', [], { release: 'live' }],
  ['is live where the caller wants that', 'live', [whole], { release: 'live' }],
  ['is live rather than behind windows where the caller wants that', 'live', [mask], { release: 'live' }],
  ['goes through a window where all guardrails have one', 'window', [mask, windowed('other', 1, () => allow)], {}],
  ['is held where one has none', 'hold', [mask, whole], {}],
  ['is held where a structure is wanted', 'hold', [mask], { isStructured: true }],
  ['is held where a structure is wanted that nothing guards', 'hold', [], { isStructured: true }],
  ['is held where a structure is wanted, live or not', 'hold', [whole], { isStructured: true, release: 'live' }],
])('an answer %s', async (_what, mode, ...[guards, { isStructured = false, release }]) => {
  await enter(release === undefined ? {} : { release });
  expect(hold(guards, { isStructured }).mode).toBe(mode);
});

describe('text that is shown', () => {
  it.each([[[], {}] as const, [[whole], { release: 'live' }] as const])(
    'comes at once where nothing holds it: %j',
    async (guards, options) => {
      await enter(options);
      const release = hold(guards, { turn: 3 });
      expect(release.push('Hel')).toBeUndefined();
      expect(release.push('')).toBeUndefined();
      expect(release.push('lo')).toBeUndefined();
      const delta = { type: 'text.delta', at: 1_000, run: 'r1', agent: 'desk', turn: 3 };
      expect(events).toEqual([
        { ...delta, text: 'Hel' },
        { ...delta, text: 'lo' },
      ]);
      expect(release.shown).toBe(5);
    },
  );

  it('is none while the answer is held', () => {
    const release = hold([whole]);
    expect(release.push('Hello')).toBeUndefined();
    expect(events).toEqual([]);
    expect(release.shown).toBe(0);
    release.show('Hello');
    expect(deltas()).toEqual(['Hello']);
  });

  it('is none once the run is stopped', () => {
    const release = hold([]);
    void release.push('Hel');
    handle.abort({ kind: 'cancel', reason: undefined });
    void release.push('lo');
    release.show('Hello');
    expect(deltas()).toEqual(['Hel']);
    expect(release.shown).toBe(3);
  });

  it('is taken back once, with why', () => {
    const release = hold([], { turn: 2 });
    release.retract('nothing was shown');
    void release.push('Hello');
    events.length = 0;
    release.retract('the model failed');
    release.retract('again');
    expect(events).toEqual([{ type: 'text.retract', at: 1_000, run: 'r1', agent: 'desk', turn: 2, chars: 5, reason: 'the model failed' }]);
    void release.push('Hi');
    release.retract('once more');
    expect(events.at(-1)).toMatchObject({ chars: 2, reason: 'once more' });
  });
});

describe('a window', () => {
  it('shows text twice its width behind, and the guardrail that and its width before', async () => {
    const seen: string[] = [];
    const release = await flow([windowed('w', 2, masking(/\d/g, seen))], 'abcd', 'ef', 'gh', 'i');
    expect(deltas()).toEqual(['ab', 'cd', 'e']);
    expect(await release.finish('r1/1')).toEqual({ text: 'abcdefghi', revision: 0, refusal: undefined });
    expect(deltas()).toEqual(['ab', 'cd', 'e', 'fghi']);
    expect(seen).toEqual(['abcdef', 'abcdefgh', 'cdefghi', 'defghi']);
    expect(release.shown).toBe(9);
  });

  it('takes no promise where its guardrail answers at once', () => {
    const release = hold([windowed('w', 1, () => allow), windowed('v', 1, () => allow)]);
    expect(release.push('abcdef')).toBeUndefined();
    expect(deltas()).toEqual(['ab']);
  });

  it('looks no more where all is settled', async () => {
    const seen: string[] = [];
    const release = await flow([windowed('w', 2, masking(/\d/g, seen))], 'abcde');
    await release.push('');
    expect(seen).toEqual(['abcde']);
    await (await flow([windowed('w', 2, masking(/\d/g, seen))])).finish('r1/1');
    expect(seen).toEqual(['abcde']);
  });

  it('gives a frozen subject that is not final, and what else is told', async () => {
    const given: [Subject, GuardInfo][] = [];
    const keeps: Look = (...both) => {
      given.push(both);
      return allow;
    };
    await flow([windowed('w', 1, keeps)], 'abc');
    const [subject, info] = given[0] ?? [];
    expect(subject).toEqual({ surface: 'output', content: 'abc', label, value: 'abc', final: false, kind: 'answer' });
    expect(Object.isFrozen(subject)).toBe(true);
    expect(info?.run).toBe('r1');
    expect(info?.agent).toBe('desk');
    expect(info?.labels.subject).toBe(label);
  });

  it.each<[string, ...(readonly string[])[]]>([
    ['never at its front', ['a😀b', 'c'], ['a', '😀'], ['a😀b', 'a😀bc']],
    ['nor behind', ['a😀b', 'c', 'd'], ['a', '😀', 'b'], ['a😀b', 'a😀bc', '😀bcd']],
    ['in the midst of a long text', ['abcde', '😀x', 'y', 'z'], ['abc', 'de', '😀', 'x'], ['abcde', 'cde😀x', 'e😀xy', '😀xyz']],
    ['of the first characters beyond 16 bits', ['a\u{10000}bcd'], ['a\u{10000}b'], ['a\u{10000}bcd']],
    ['of the first of them at the edge', ['a\u{10000}b'], ['a'], ['a\u{10000}b']],
    ['of the last of them at the edge', ['a\u{10ffff}b'], ['a'], ['a\u{10ffff}b']],
    ['and takes the last of 16 bits for whole', ['x\uffffyz'], ['x\uffff'], ['x\uffffyz']],
    ['and takes lone halves as they are', ['x\ud83dyz', '\ude00'], ['x\ud83d', 'y'], ['x\ud83dyz', '\ud83dyz\ude00']],
    ['in pieces that do', ['a\ud83d', '\ude00', 'b'], ['a'], ['a😀']],
  ])('cuts no character: %s', async (_what, ...[pieces = [], shown, looks]) => {
    const seen: string[] = [];
    await flow([windowed('w', 1, masking(/\d/g, seen))], ...pieces);
    expect(deltas()).toEqual(shown);
    expect(seen).toEqual(looks);
  });

  it('replaces what begins before its edge, whole, and leaves the rest for later', async () => {
    const seen: string[] = [];
    const release = await flow([windowed('w', 2, masking(/\d+/g, seen))], 'a12cde');
    expect(deltas()).toEqual(['a#']);
    await release.push('3');
    expect(seen).toHaveLength(1);
    await release.push('f');
    expect(deltas()).toEqual(['a#', 'c']);
    expect(await release.finish('r1/1')).toEqual({ text: 'a#cde#f', revision: 1, refusal: undefined });
    expect(deltas()).toEqual(['a#', 'c', 'de#f']);
  });

  it('leaves for later what begins at its edge', async () => {
    const release = await flow([windowed('w', 2, masking(/\d/g))], 'ab1cde');
    expect(deltas()).toEqual(['ab']);
    await release.push('f');
    expect(deltas()).toEqual(['ab', '#']);
    expect((await release.finish('r1/1')).text).toBe('ab#cdef');
  });

  it('replaces several pieces in one look', async () => {
    const release = await flow([windowed('w', 3, masking(/\d+/g, [], '<>'))], '1a22b333cdefgh');
    expect(deltas()).toEqual(['<>a<>b<>']);
    expect((await release.finish('r1/1')).text).toBe('<>a<>b<>cdefgh');
  });

  it('looks again from the end of the last piece where its view was cut inside one', async () => {
    const seen: string[] = [];
    const release = await flow([windowed('w', 3, masking(/11/g, seen))], '111111111', '1', '1');
    expect(seen.map(({ length }) => length)).toEqual([9, 10, 7]);
    expect(deltas()).toEqual(['##', '#']);
    expect((await release.finish('r1/1')).text).toBe('#####1');
  });

  it('does not look again where the pieces begin or end at what is settled', async () => {
    const seen: string[] = [];
    await flow([windowed('w', 2, masking(/11/g, seen))], '111111', '1');
    expect(seen.map(({ length }) => length)).toEqual([6, 7]);
    expect(deltas()).toEqual(['#', '#']);
  });

  it('replaces only what is not settled of a piece that it did not see before', async () => {
    const given = [allow, spans(span(0, 1), span(1, 3))];
    const release = await flow([windowed('w', 2, () => given.shift() ?? allow)], 'abcdef', 'g');
    expect(deltas()).toEqual(['ab', '#']);
    expect((await release.finish('r1/1')).text).toBe('ab#defg');
  });

  it('puts text in once, where it belongs, at the very end too', async () => {
    const puts: Look = ({ content }) => spans(...[...content.matchAll(/(?<=b)|$/g)].map(({ index }) => span(index, index, '+')));
    const release = await flow([windowed('w', 2, puts)], 'abcdef', 'g');
    expect(deltas()).toEqual(['ab', '+c']);
    expect((await release.finish('r1/1')).text).toBe('ab+cdefg+');
  });
});

describe('the verdict of a window', () => {
  const verdict = {
    type: 'guard.verdict',
    seq: 2,
    at: 1_000,
    run: 'r1',
    agent: 'desk',
    guardrail: 'w',
    level: 'agent',
    surface: 'output',
    subject: 'r1/1',
    revision: 0,
    phase: 'rewrite',
    ms: 0,
  };

  it('is one on the whole text: allowed', async () => {
    await (await flow([placed('w', { window: 1, rewrite: masking(/\d/g), version: '3' })], 'abc', 'def')).finish('r1/1');
    expect(verdicts()).toStrictEqual([{ ...verdict, action: 'allow', version: '3' }]);
  });

  it('is one on the whole text: rewritten, in how many places', async () => {
    await (await flow([windowed('w', 1, masking(/\d/g))], 'a1b', '2c', '3')).finish('r1/1');
    expect(verdicts()).toStrictEqual([{ ...verdict, action: 'rewrite', reason: 'masked', places: 3 }]);
  });

  it('has no reason where nothing that was wanted came to be', async () => {
    const given = [spans(span(3, 4)), allow];
    await (await flow([windowed('w', 2, () => given.shift())], 'abcdef')).finish('r1/1');
    expect(verdicts()).toStrictEqual([{ ...verdict, action: 'allow' }]);
  });

  it('gives the reason of the last piece', async () => {
    const given = [spans(span(0, 1)), { ...spans(span(1, 2)), reason: 'last' }, { ...spans(), reason: 'none' }];
    await (await flow([windowed('w', 1, () => given.shift())], 'abc', 'd')).finish('r1/1');
    expect(verdicts()).toStrictEqual([{ ...verdict, action: 'rewrite', reason: 'last', places: 2 }]);
  });

  it('adds up how long its looks took', async () => {
    const takes: Look = () => {
      clock.time += 3;
      return allow;
    };
    await (await flow([windowed('w', 1, takes)], 'abc', 'd')).finish('r1/1');
    expect(verdicts()[0]?.ms).toBe(9);
  });

  it('is noted for the answer that it commits', async () => {
    const notes: unknown[] = [];
    handle.noteAnswer = (...note) => notes.push(note);
    await (await flow([windowed('w', 1, () => allow), windowed('v', 1, masking(/\d/g))], 'a1')).finish('r1/1');
    expect(notes).toEqual([
      ['', 'allow'],
      ['', 'rewrite'],
    ]);
  });

  it('counts the rewrites before it', async () => {
    const seen: string[] = [];
    const guards = [
      windowed('one', 1, masking(/1/g, [], '22')),
      windowed('none', 1, () => allow),
      windowed('two', 1, masking(/2/g, seen, 'b')),
      windowed('last', 1, () => allow),
    ];
    const release = await flow(guards, 'a1', 'c', 'defghij');
    expect(await release.finish('r1/1')).toEqual({ text: 'abbcdefghij', revision: 2, refusal: undefined });
    expect(deltas().join('')).toBe('abbcdefghij');
    expect(seen.join('')).toContain('22');
    expect(verdicts().map(({ guardrail, action, revision }) => [guardrail, action, revision])).toEqual([
      ['one', 'rewrite', 0],
      ['none', 'allow', 1],
      ['two', 'rewrite', 1],
      ['last', 'allow', 2],
    ]);
  });

  it('of a shadow tells what would be left, and changes nothing', async () => {
    const seen: string[] = [];
    const guards = [
      placed('w', { window: 2, rewrite: masking(/\d+/g, [], '###'), shadow: true }),
      windowed('next', 2, masking(/x/g, seen)),
    ];
    const release = await flow(guards, 'a12bcd', 'ef3');
    expect(await release.finish('r1/1')).toEqual({ text: 'a12bcdef3', revision: 0, refusal: undefined });
    expect(deltas().join('')).toBe('a12bcdef3');
    const [first, second] = verdicts();
    const size = { before: 9, after: 12 };
    expect(first).toStrictEqual({ ...verdict, action: 'rewrite', reason: 'masked', shadow: true, places: 2, size });
    expect(Object.isFrozen(first?.size)).toBe(true);
    expect(second).toMatchObject({ guardrail: 'next', revision: 0, action: 'allow' });
  });

  it('of a shadow that would change nothing tells no size', async () => {
    await (await flow([placed('w', { window: 2, rewrite: () => allow, shadow: true })], 'abcdef')).finish('r1/1');
    expect(verdicts()).toStrictEqual([{ ...verdict, action: 'allow', shadow: true }]);
  });

  describe('that failed', () => {
    const failed = { ...verdict, reason: 'guardrail w failed', failed: true, failure: 'threw' };
    const refusal = { surface: 'output', by: 'w', reason: 'guardrail w failed', failed: true };

    it.each<[string, Look]>([
      ['nothing', () => undefined],
      ['null', () => null],
      ['a text', () => 'allow'],
      ['a function', () => Object.assign(() => allow, allow)],
      ['no action', () => ({ value: [], reason: 'why' })],
      ['a refusal', () => ({ action: 'deny', reason: 'no', value: [] })],
      ['a rewrite without a reason', () => ({ action: 'rewrite', value: [] })],
      ['a rewrite of the whole', () => ({ action: 'rewrite', value: 'text', reason: 'why' })],
      ['a piece that is longer than its window', () => spans(span(0, 3))],
      ['a piece behind the end', () => spans(span(6, 7))],
      ['one long piece among short ones', () => spans(span(0, 1), span(1, 4))],
      ['an answer that cannot be read', () => Object.defineProperty({}, 'action', { get: throws })],
      ['nothing, for it throws', throws],
      ['a rejection', () => Promise.reject(new Error('broken'))],
      ['a promise of nothing', async () => undefined],
    ])('refuses the answer, and shows and asks no more: %s', async (what, answer) => {
      let asked = 0;
      const next: string[] = [];
      const bad: Look = (...given) => {
        asked += 1;
        return answer(...given);
      };
      const release = await flow([windowed('w', 2, bad), windowed('next', 1, masking(/\d/g, next))], 'abcdef', 'ghijkl');
      expect(await release.finish('r1/1')).toStrictEqual({ text: '', revision: 0, refusal: { action: 'deny', ...refusal } });
      expect(verdicts()).toStrictEqual([{ ...failed, action: 'deny', failure: /throws|rejection/.test(what) ? 'threw' : 'misfit' }]);
      expect(asked).toBe(1);
      expect(next).toEqual([]);
      expect(deltas()).toEqual([]);
    });

    it('takes a piece as long as its window', async () => {
      const release = await flow([windowed('w', 2, ({ content }) => (content.startsWith('ab') ? spans(span(0, 2)) : allow))], 'abcdef');
      expect((await release.finish('r1/1')).text).toBe('#cdef');
    });

    it('at the end lets none of what is left pass, be it at once or later', async () => {
      for (const bad of [() => undefined, async () => undefined]) {
        await enter();
        const next: string[] = [];
        const given: (() => unknown)[] = [() => allow, bad];
        const guards = [windowed('w', 1, () => given.shift()?.()), windowed('next', 1, masking(/\d/g, next))];
        const release = await flow(guards, 'abcdef');
        expect(await release.finish('r1/1')).toMatchObject({ text: '', refusal: { by: 'w' } });
        expect(deltas()).toEqual(['ab']);
        expect(next).toEqual(['abcd']);
      }
    });

    it('refuses behind one that rewrote, whose verdict stands', async () => {
      const release = await flow([windowed('one', 1, masking(/\d/g)), windowed('w', 1, throws)], 'a1bcdef');
      expect(await release.finish('r1/1')).toEqual({ text: '', revision: 1, refusal: { action: 'deny', ...refusal } });
      expect(verdicts().map(({ guardrail, action, revision }) => [guardrail, action, revision])).toEqual([
        ['one', 'rewrite', 0],
        ['w', 'deny', 1],
      ]);
    });

    it('halts where its author wrote so', async () => {
      const release = await flow([placed('w', { window: 1, rewrite: throws, onError: 'halt' })], 'abcdef');
      expect((await release.finish('r1/1')).refusal).toEqual({ action: 'halt', ...refusal });
      expect(verdicts()).toStrictEqual([{ ...failed, action: 'halt' }]);
    });

    it('lets all flow unguarded where its author wrote so', async () => {
      const given: (() => unknown)[] = [() => spans(span(0, 1)), throws];
      let asked = 0;
      const look: Look = () => {
        asked += 1;
        return given.shift()?.();
      };
      const release = await flow([placed('w', { window: 2, rewrite: look, onError: 'allow' })], 'abcdef', 'g', 'h', '');
      expect(deltas()).toEqual(['#b', 'c', 'defgh']);
      expect(await release.finish('r1/1')).toEqual({ text: '#bcdefgh', revision: 1, refusal: undefined });
      expect(verdicts()).toStrictEqual([{ ...failed, action: 'allow' }]);
      expect(asked).toBe(2);
    });

    it('lets all flow where it is a shadow, whatever its author wrote', async () => {
      for (const onError of ['deny', 'halt'] as const) {
        await enter();
        const release = await flow([placed('w', { window: 2, rewrite: throws, onError, shadow: true })], 'abcdef', 'g');
        expect(deltas()).toEqual(['ab', 'cdefg']);
        expect(await release.finish('r1/1')).toEqual({ text: 'abcdefg', revision: 0, refusal: undefined });
        expect(verdicts()).toStrictEqual([{ ...failed, action: onError, shadow: true }]);
      }
    });
  });
});

describe('a window whose guardrail takes its time', () => {
  it('shows in order, when the answers have come', async () => {
    const given = [gate<unknown>(), gate<unknown>()];
    const gates = [...given];
    const seen: string[] = [];
    const guards = [windowed('one', 1, () => given.shift()?.promise ?? allow), windowed('two', 1, masking(/\d/g, seen))];
    const release = hold(guards);
    const pushed = release.push('a1bcdef');
    expect(pushed).toBeInstanceOf(Promise);
    gates[0]?.resolve(spans(span(0, 1, '22')));
    await pushed;
    expect(seen).toEqual(['221bcd'.slice(0, 6)]);
    const finished = release.finish('r1/1');
    gates[1]?.resolve(allow);
    expect(await finished).toEqual({ text: '###bcdef', revision: 2, refusal: undefined });
    expect(deltas().join('')).toBe('###bcdef');
  });

  it('has failed at the deadline, and not before, and its signal says so', async () => {
    let signal: AbortSignal | undefined;
    const hangs: Look = (_, info) => {
      signal = info.signal;
      return new Promise(() => undefined);
    };
    const release = hold([placed('w', { window: 1, rewrite: hangs, timeoutMs: 40, onError: 'allow' })]);
    const pushed = release.push('abcdef');
    await clock.pass(39);
    expect(signal?.aborted).toBe(false);
    expect(deltas()).toEqual([]);
    await clock.pass(1);
    await pushed;
    expect(signal?.reason).toMatchObject({ name: 'TimeoutError', message: 'w took longer than 40 ms.' });
    expect(deltas()).toEqual(['abcd']);
    await release.finish('r1/1');
    expect(verdicts()[0]).toMatchObject({ failed: true, failure: 'late', ms: 40 });
  });

  it.each(['at once', 'later'])('has a signal for each look, which no stop aborts after the answer: %s', async (when) => {
    const signals = new Set<AbortSignal>();
    const look: Look = (_, info) => {
      signals.add(info.signal);
      return when === 'later' ? Promise.resolve(allow) : allow;
    };
    await flow([windowed('w', 1, look)], 'abc', 'd');
    handle.abort({ kind: 'cancel', reason: undefined });
    expect([...signals].map(({ aborted }) => aborted)).toEqual([false, false]);
  });
});

describe('a run that is stopped while an answer flows', () => {
  const stop = () => handle.abort({ kind: 'cancel', reason: 'enough' });
  const unsettled = { text: '', revision: 0, refusal: undefined };

  it('records nothing of the answer, and asks nobody more', async () => {
    const seen: string[] = [];
    const release = await flow([windowed('w', 1, masking(/\d/g, seen))], 'a1bcdef');
    stop();
    await release.push('ghi');
    expect(await release.finish('r1/1')).toEqual(unsettled);
    expect(verdicts()).toEqual([]);
    expect(seen).toHaveLength(1);
  });

  it.each(['push', 'finish'] as const)(
    'does not ask the next window, whether that was stopped at once or while the first was waited for: %s',
    async (how) => {
      for (const isSlow of [true, false]) {
        await enter();
        const next: string[] = [];
        let signal: AbortSignal | undefined;
        const stops: Look = (_, info) => {
          signal = info.signal;
          if (isSlow) return new Promise(() => undefined);
          stop();
          return allow;
        };
        const release = hold([windowed('w', 1, stops), windowed('next', 1, masking(/\d/g, next))]);
        await release.push('ab');
        const under = how === 'push' ? release.push('cdef') : release.finish('r1/1');
        await settle();
        stop();
        const done = await under;
        if (how === 'finish') expect(done).toEqual(unsettled);
        expect(signal?.reason).toBe('enough');
        expect(next).toEqual([]);
        expect(events.filter(({ type }) => type === 'text.delta' || type === 'guard.verdict')).toEqual([]);
      }
    },
  );
});

describe('a window whose guardrail has a breaker', () => {
  const breaking = { breaker: { failures: 1, coolDownMs: 100 }, onError: 'allow' };

  it('is not asked while it is open, which counts as a failure, and closes it again', async () => {
    const given: (() => unknown)[] = [throws, () => allow];
    let asked = 0;
    const look: Look = () => {
      asked += 1;
      return given.shift()?.();
    };
    const guard = placed('w', { window: 1, rewrite: look, ...breaking });
    const state = () => guard.spec.breaker?.state;
    await (await flow([guard], 'abcdef')).finish('r1/1');
    expect([asked, state()]).toEqual([1, 'open']);
    await (await flow([guard], 'abcdef')).finish('r1/1');
    expect([asked, state()]).toEqual([1, 'open']);
    expect(verdicts().map(({ failure }) => failure)).toEqual(['threw', 'unasked']);
    clock.time += 100;
    await flow([guard], 'abcdef');
    expect([asked, state()]).toEqual([2, 'closed']);
  });

  it('has not failed where it was given up for a stop, and is asked again', async () => {
    const given: (() => unknown)[] = [throws, () => new Promise(() => undefined), () => allow];
    const guard = placed('w', { window: 1, rewrite: () => given.shift()?.(), ...breaking });
    await flow([guard], 'abcdef');
    clock.time += 100;
    const pushed = hold([guard]).push('abcdef');
    handle.abort({ kind: 'cancel', reason: undefined });
    await pushed;
    expect(guard.spec.breaker?.state).toBe('half-open');
    handle.stop = undefined;
    await flow([guard], 'abcdef');
    expect(guard.spec.breaker?.state).toBe('closed');
  });
});
