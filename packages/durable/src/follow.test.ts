import type { LogEvent } from '@guardloop/core';
import type { LiveText } from '@guardloop/store';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Follower } from './follow.js';
import { checkOf, readNumber, start } from './number.js';
import type { NumberedEvent } from './types.js';

/** What the store holds at one moment. */
interface Moment {
  readonly log: readonly LogEvent[];
  readonly live: LiveText | undefined;
}
interface Call {
  readonly kind: 'call';
  /** Texts as they were shown, one after another: each takes the one before back. */
  readonly shown: readonly (readonly string[])[];
  readonly end: 'ok' | 'refused' | 'crash' | 'quarantine';
  /** Verdicts, and events of child runs, that are logged while it is under way. */
  readonly between: number;
}
type Part = Call | { readonly kind: 'tool'; readonly isAnswer: boolean } | { readonly kind: 'other' };

/** A run as it comes to be, between two others of its session. */
function unfold(parts: readonly Part[], reply: string | undefined): { readonly moments: readonly Moment[]; readonly text: string } {
  const moments: Moment[] = [];
  let log: readonly LogEvent[] = [];
  let live: LiveText | undefined;
  let text = '';
  const now = (): void => void moments.push({ log, live });
  const add = (event: object, run = 'r'): void => {
    log = [...log, { seq: log.length + 1, at: log.length, run, agent: 'a', ...event } as unknown as LogEvent];
    now();
  };
  add({ type: 'run.start' }, 'before');
  add({ type: 'run.end', status: 'completed', text: 'of another run' }, 'before');
  add({ type: 'run.start' });
  let answer: string | undefined;
  for (const [turn, part] of parts.entries()) {
    if (part.kind === 'tool') {
      // A tool's answer ends the run.
      answer = part.isAnswer && turn === parts.length - 1 ? `the tool's ${turn}` : undefined;
      add({ type: 'tool.end', callId: `${turn}`, ...(answer ? { answer: { text: answer, revision: 0 } } : {}) });
    } else if (part.kind === 'other') add({ type: 'guard.verdict' });
    else {
      answer = undefined;
      add({ type: 'model.start', turn });
      const seq = log.length;
      let last = '';
      for (const [epoch, pieces] of part.shown.entries()) {
        last = '';
        if (epoch > 0) {
          live = { seq, run: 'r', agent: 'a', turn, text: '', epoch };
          now();
        }
        for (const piece of pieces) {
          last += piece;
          live = { seq, run: 'r', agent: 'a', turn, text: last, epoch };
          now();
        }
      }
      for (let index = 0; index < part.between; index += 1)
        add(index % 2 === 0 ? { type: 'guard.verdict' } : { type: 'tool.end', parent: 'r' }, index % 2 === 0 ? 'r' : 'child');
      switch (part.end) {
        case 'crash':
          add({ type: 'run.resume' });
          break;
        case 'quarantine':
          add({ type: 'approval.request', approval: { surface: 'output' } });
          add({ type: 'run.resume' });
          add({ type: 'approval.resolve' });
          add({ type: 'model.end', turn, status: 'ok', text: last });
          text += last;
          break;
        default:
          add({ type: 'model.end', turn, status: part.end, text: part.end === 'ok' ? last : '' });
          if (part.end === 'ok') text += last;
      }
      live = undefined;
      now();
    }
  }
  const status = reply === undefined ? 'completed' : 'blocked';
  add({ type: 'run.end', status, ...(reply === undefined ? { text: answer ?? 'shown already' } : { reply }) });
  text += reply ?? answer ?? '';
  add({ type: 'run.start' }, 'after');
  return { moments, text };
}

/** What a reader has on the screen, and had when each event of the log came. */
function screen(told: readonly NumberedEvent[]) {
  let text = '';
  const seen: { readonly seq: number; readonly text: string }[] = [];
  for (const { event } of told) {
    if (event.type === 'text.delta') text += event.text;
    else if (event.type === 'text.retract') {
      expect(event.chars).toBeLessThanOrEqual(text.length);
      text = text.slice(0, text.length - event.chars);
    } else seen.push({ seq: event.seq, text });
  }
  return { seen, text };
}

/** One connection: looks at some moments, in order, and is cut after so many events. Gives what it saw, and where it came to. */
function connect(moments: readonly Moment[], after: string | undefined, looks: readonly { readonly at: number; readonly takes: number }[]) {
  const follower = new Follower('r', readNumber(after));
  const told: NumberedEvent[] = [];
  let seq = 0;
  for (const { at, takes } of looks) {
    const moment = moments[at];
    if (moment === undefined) break;
    const more = [...follower.take(moment.log.slice(seq))];
    seq = moment.log.length;
    if (follower.hasOpenCall) more.push(...follower.takeLive(moment.live));
    told.push(...more.slice(0, takes));
    if (more.length > takes) break;
  }
  return told;
}

const piece = fc.string({ minLength: 1, maxLength: 4 });
const call: fc.Arbitrary<Part> = fc.record({
  kind: fc.constant('call' as const),
  shown: fc.array(fc.array(piece, { maxLength: 4 }), { minLength: 1, maxLength: 3 }),
  end: fc.constantFrom('ok' as const, 'ok' as const, 'refused' as const, 'crash' as const, 'quarantine' as const),
  between: fc.integer({ min: 0, max: 3 }),
});
const part = fc.oneof(
  { weight: 4, arbitrary: call },
  fc.record({ kind: fc.constant('tool' as const), isAnswer: fc.boolean() }),
  fc.record({ kind: fc.constant('other' as const) }),
);
const whole = 1_000_000;

describe('Follower', () => {
  it('gives who is cut off anywhere, any number of times, what the uncut reader gets, whatever he had seen', () => {
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 6 }),
        fc.option(piece, { nil: undefined }),
        fc.array(fc.array(fc.record({ skip: fc.integer({ min: 0, max: 4 }), takes: fc.integer({ min: 0, max: 6 }) }), { maxLength: 5 }), {
          maxLength: 8,
        }),
        (parts, reply, connections) => {
          const { moments, text } = unfold(parts, reply);
          const every = moments.map((_, at) => ({ at, takes: whole }));
          const uncut = screen(connect(moments, undefined, every));
          expect(uncut.text).toBe(text);
          const last = moments.at(-1);
          const own = last?.log.slice(2, -1).map(({ seq }) => seq);
          expect(uncut.seen.map(({ seq }) => seq)).toEqual(own);

          const told: NumberedEvent[] = [];
          let at = 0;
          for (const looks of connections) {
            const planned = looks.map(({ skip, takes }) => {
              at = Math.min(at + skip, moments.length - 1);
              return { at, takes };
            });
            told.push(...connect(moments, told.at(-1)?.number, planned));
          }
          const rest = moments.map((_, index) => ({ at: index, takes: whole })).slice(at);
          told.push(...connect(moments, told.at(-1)?.number, rest));
          const cut = screen(told);
          expect(cut.text).toBe(uncut.text);
          expect(cut.seen.map(({ seq }) => seq)).toEqual(own);
          const ends = new Set(last?.log.filter(({ type }) => type === 'model.end').map(({ seq }) => seq));
          // What stands on the screen when an answer is recorded is that answer, and those before it.
          const atEnds = (shown: typeof cut) => shown.seen.filter(({ seq }) => ends.has(seq));
          expect(atEnds(cut)).toEqual(atEnds(uncut));
        },
      ),
      { numRuns: 3_000, seed: 71 },
    );
  });

  it('gives the same to who comes when all is over as to who was there', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), fc.option(piece, { nil: undefined }), (parts, reply) => {
        const { moments } = unfold(parts, reply);
        const late = screen(connect(moments, undefined, [{ at: moments.length - 1, takes: whole }]));
        const there = screen(
          connect(
            moments,
            undefined,
            moments.map((_, at) => ({ at, takes: whole })),
          ),
        );
        expect(late.text).toBe(there.text);
        expect(late.seen.map(({ seq }) => seq)).toEqual(there.seen.map(({ seq }) => seq));
      }),
      { numRuns: 500, seed: 72 },
    );
  });

  it('tells text of the same length that was taken back from text that goes on', () => {
    const open = [
      { type: 'run.start', seq: 1, run: 'r' },
      { type: 'model.start', seq: 2, run: 'r', turn: 1 },
    ] as unknown as LogEvent[];
    const end = { type: 'model.end', seq: 3, run: 'r', turn: 1, status: 'ok', text: 'A decent word.' } as unknown as LogEvent;
    const follower = new Follower('r', { seq: 2, characters: 9, check: checkOf('A bad wor') });
    expect(follower.take([...open, end]).map(({ event }) => event)).toMatchObject([
      { type: 'text.retract', chars: 9 },
      { type: 'text.delta', text: 'A decent word.' },
      { type: 'model.end' },
    ]);
  });

  it('leaves live text alone that belongs to another call or run', () => {
    const follower = new Follower('r', start);
    follower.take([
      { type: 'run.start', seq: 1, run: 'r' },
      { type: 'model.start', seq: 2, run: 'r', turn: 1 },
    ] as unknown as LogEvent[]);
    const live = { seq: 1, run: 'r', agent: 'a', turn: 1, text: 'of a worker that is dead', epoch: 0 };
    expect(follower.takeLive(live)).toEqual([]);
    expect(follower.takeLive({ ...live, seq: 2, run: 'other' })).toEqual([]);
    expect(follower.takeLive({ ...live, seq: 2 })).toHaveLength(1);
  });
});
