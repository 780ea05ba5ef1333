// Logs from outside: cut, altered, written by another version, or made to do harm.
import type { Log } from '@guardloop/core';
import {
  allow,
  assertLog,
  compareVerdicts,
  defineAgent,
  defineGuardrail,
  defineTool,
  forkLog,
  GuardloopError,
  replay,
  resume,
  run,
  stream,
  usageBy,
} from '@guardloop/core';
import type { Model } from '@guardloop/core/model';
import type { GuardReport } from '@guardloop/core/report';
import { guardReport, reportHtml, reportMarkdown } from '@guardloop/core/report';
import { auditLog, callTool, normalLog, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { guardrails, openDesk, sessionLog, waitingLog } from './stories.js';

const canary = 'CANARY-7';
let logs: readonly Log[] = [];
let reports: readonly GuardReport[] = [];

beforeAll(async () => {
  const plain = await Promise.all([sessionLog(), waitingLog()]);
  // Every content holds a word by which it would be known in an error.
  logs = plain.map((log) => JSON.parse(JSON.stringify(log).replaceAll('o1', canary)) as Log);
  reports = logs.map((log) => guardReport(log, { findings: auditLog(log) }));
});

const odd = fc.constantFrom<unknown>(
  ...[undefined, null, true, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60, '', 'x', '__proto__', 'constructor', 'toString'],
  ...[[], [null], [[]], {}, { length: 3 }, { type: 'text' }, { role: 'user' }, { toString: null }, () => canary, Symbol(canary), 10n],
  Object.freeze(Object.create(null)),
  new Proxy(
    {},
    {
      get: () => {
        throw new Error(canary);
      },
      ownKeys: () => {
        throw new Error(canary);
      },
    },
  ),
);
type Change = (whole: { [key: string]: unknown }) => void;

/** Every object and list in a value, in order; those that cannot be read are left alone. */
function* places(value: unknown): Generator<{ [key: string]: unknown }> {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  let inner: unknown[];
  try {
    inner = Object.values(value);
  } catch {
    return;
  }
  yield value as { [key: string]: unknown };
  for (const each of inner) yield* places(each);
}

/** A field somewhere in the whole, the later ones as likely as the first. */
const field = fc.tuple(fc.nat(), fc.nat()).map(([at, which]) => (whole: { [key: string]: unknown }) => {
  const all = [...places(whole)];
  const place = all[at % all.length] ?? whole;
  const names = Object.keys(place);
  return { place, name: names[which % Math.max(1, names.length)] ?? 'new' };
});
const inEvents =
  (change: (events: unknown[]) => void): Change =>
  (whole) => {
    if (Array.isArray(whole.events)) change(whole.events);
  };

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(field, odd).map(
      ([find, value]): Change =>
        (whole) => {
          const { place, name } = find(whole);
          place[name] = value;
        },
    ),
  },
  {
    weight: 3,
    arbitrary: field.map(
      (find): Change =>
        (whole) => {
          const { place, name } = find(whole);
          Reflect.deleteProperty(place, name);
        },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(field, field).map(
      ([left, right]): Change =>
        (whole) => {
          const [to, from] = [left(whole), right(whole)];
          to.place[to.name] = from.place[from.name];
        },
    ),
  },
  fc.tuple(field, fc.constantFrom('__proto__', 'constructor', 'hasOwnProperty', 'length')).map(
    ([find, key]): Change =>
      (whole) => {
        const { place, name } = find(whole);
        Object.defineProperty(place, key, { value: place[name], enumerable: true, configurable: true, writable: true });
      },
  ),
  fc.nat().map((at) =>
    inEvents((events) => {
      events.length = at % (events.length + 1);
    }),
  ),
  fc.nat().map((at) =>
    inEvents((events) => {
      events.splice(at % events.length, 1);
    }),
  ),
  fc.tuple(fc.nat(), fc.nat()).map(([left, right]) =>
    inEvents((events) => {
      const [to, from] = [left % events.length, right % events.length];
      [events[to], events[from]] = [events[from], events[to]];
    }),
  ),
  fc.tuple(fc.nat(), fc.nat()).map(([left, right]) =>
    inEvents((events) => {
      events.splice(left % events.length, 0, events[right % events.length]);
    }),
  ),
);
/** Numbered as they stand: so that what comes after is looked at too. */
const renumber: Change = inEvents((events) => {
  for (const [index, event] of events.entries())
    if (typeof event === 'object' && event !== null && Object.isExtensible(event) && 'type' in event)
      (event as unknown as { seq: number }).seq = index + 1;
});

const damage = fc.record({
  which: fc.nat({ max: 1 }),
  changes: fc.array(change, { minLength: 1, maxLength: 3 }),
  isNumbered: fc.boolean(),
});

function damaged<T>(whole: T, changes: readonly Change[]): T {
  const copy = structuredClone(whole) as { [key: string]: unknown };
  for (const each of changes)
    try {
      each(copy);
    } catch {
      // Nothing is left that could be changed so.
    }
  return copy as T;
}

function check(thrown: unknown): void {
  if (!GuardloopError.is(thrown)) throw thrown;
  expect(['LOG_INVALID', 'CONFIG_INVALID', 'RESUME_MISMATCH', 'NAME_TAKEN']).toContain(thrown.code);
  expect(thrown.message).toMatch(/\. [A-Z`]/);
  expect(JSON.stringify([thrown.message, thrown.details, thrown.cause])).not.toContain(canary);
}

/** Gives something, or says what is wrong. */
function attempt(read: () => unknown): void {
  try {
    read();
  } catch (thrown) {
    check(thrown);
  }
}

const agent = defineAgent({ name: 'other', instructions: '', model: scriptedModel([say('hi')]) });
const nosy = defineGuardrail({ name: 'nosy', on: ['input', 'toolInput', 'toolOutput', 'output'], check: () => allow() });

describe('a damaged log', () => {
  it('is reported, or refused with what is wrong and no content, by every reader', () => {
    fc.assert(
      fc.property(damage, ({ which, changes, isNumbered }) => {
        const log = damaged(logs[which] as Log, isNumbered ? [...changes, renumber] : changes);
        for (const given of [log, log.events] as const)
          attempt(() => {
            const report = guardReport(given);
            reportMarkdown(report);
            reportHtml(report);
          });
        for (const given of [log, log.events] as const) attempt(() => usageBy(given));
        attempt(() => assertLog(log));
        attempt(() => auditLog(log));
        attempt(() => normalLog(log));
        attempt(() => [...replay(log)]);
        attempt(() => forkLog(log, { turn: 1 }));
        attempt(() => forkLog(log, 5));
      }),
      { numRuns: 300, seed: 20 },
    );
  });

  it('is resumed, compared, or refused with what is wrong and no content', async () => {
    await fc.assert(
      fc.asyncProperty(damage, async ({ which, changes, isNumbered }) => {
        const log = damaged(logs[which] as Log, isNumbered ? [...changes, renumber] : changes);
        for (const desk of [openDesk(), agent])
          await resume(desk as typeof agent, log, { guardrails, input: 'again', accept: 'changed' }).result.then(
            (result) => expect(result.runId).toBeTypeOf('string'),
            check,
          );
        await compareVerdicts(log, [nosy]).then(() => undefined, check);
      }),
      { numRuns: 150, seed: 21 },
    );
  });
});

it('runs that say of each other that they are their parents, or name no call, are told once each', async () => {
  const log = await sessionLog();
  const child = log.events.find(({ parent }) => parent !== undefined)?.run ?? '';
  const loose = guardReport({
    ...log,
    events: log.events.map((event) => (event.run === child && event.type === 'run.start' ? { ...event, call: '9.9' } : event)),
  });
  expect(loose.runs.flatMap(({ entries }) => entries).some((entry) => entry.kind === 'call' && entry.run?.id === child)).toBe(true);
  const renamed = log.events.map((event): Log['events'][number] =>
    event.run === child ? { ...event, run: 'other', ...(event.type === 'run.start' ? { call: '9.9' } : {}) } : event,
  );
  const report = guardReport({ ...log, events: renamed as Log['events'] });
  expect(report.runs.map(({ id }) => id)).toEqual(['r1', 'r2', 'other']);
  expect(reportMarkdown(report)).toContain('`other`');
  const moved = log.events.map((event) => (event.run === 'r1' && event.type === 'run.resume' ? { ...event, parent: child } : event));
  expect(() => guardReport({ ...log, events: moved })).toThrow(
    expect.objectContaining({ code: 'LOG_INVALID', message: expect.stringContaining('names another parent') }),
  );
});

it.each([
  [{ requests: Number.NaN, inputTokens: Number.NaN, outputTokens: Number.POSITIVE_INFINITY }],
  [{ requests: 1, inputTokens: null, cost: null }],
  [{ requests: 1, inputTokens: '12', byModel: { m: { requests: null } } }],
  [{}],
])('a log of a run whose model told no sensible usage is whole, stored or not: %j', async (usage) => {
  const model: Model = {
    id: 'm',
    provider: 'p',
    async *stream() {
      yield { type: 'text.delta', text: 'hi' };
      yield { type: 'end', stopReason: 'stop', usage: usage as never };
    },
  };
  const { log } = await run(defineAgent({ name: 'a', instructions: '', model }), 'hi');
  for (const each of [log, JSON.parse(JSON.stringify(log)) as Log]) {
    expect(() => assertLog(each)).not.toThrow();
    expect(auditLog(each)).toEqual([]);
    const report = guardReport(each);
    expect(reportMarkdown(report)).toContain('- models: 1 request');
    expect(reportHtml(report)).toContain('1 request');
  }
});

it.each(['__proto__', 'constructor', 'toString'])('a tool, guardrail and agent named %s are told and audited like others', async (name) => {
  const own = defineGuardrail({ name, on: ['toolInput', 'toolOutput'], check: () => allow() });
  const tool = defineTool({ name, description: '', input: z.object({}), guardrails: [own], execute: () => 'done' });
  const model = scriptedModel([callTool(name, {}, 'c1'), say('Done.')]);
  const { log } = await run(defineAgent({ name, instructions: '', model, tools: [tool] }), 'hi', { runId: name });
  expect(auditLog(log)).toEqual([]);
  expect(guardReport(log).stands[0]?.tools).toMatchObject([{ tool: name, guardrails: [{ name }] }]);
});

it('what was said while a run was under way stands beside what it began with', async () => {
  const model = scriptedModel([callTool('look', {}, 'c1'), say('Done.')]);
  const look = defineTool({
    name: 'look',
    description: '',
    input: z.object({}),
    execute: () => {
      void watched.steer('And this.');
      return 'seen';
    },
  });
  const seen = defineGuardrail({ name: 'seen', on: ['input'], check: () => allow() });
  const watched = stream(defineAgent({ name: 'a', instructions: '', model, tools: [look] }), 'First.', { guardrails: [seen] });
  const { log } = await watched.result;
  const inputs = guardReport(log).runs[0]?.entries.filter(({ kind }) => kind === 'input') ?? [];
  expect(inputs).toMatchObject([
    { items: [{ text: { text: 'First.' } }], verdicts: [{ guardrail: 'seen' }] },
    { items: [{ text: { text: 'And this.' } }], verdicts: [{ guardrail: 'seen' }] },
  ]);
});

it('options of reports are checked', async () => {
  const log = await waitingLog();
  const report = guardReport(log);
  expect(() => guardReport(log, { maxChar: 5 } as never)).toThrow(/guardReport has no option "maxChar"\. Did you mean maxChars\?/);
  expect(() => guardReport(log, { findings: 'none' as never })).toThrow(/findings of guardReport is no list of texts/);
  expect(() => reportMarkdown(report, { titel: 'T' } as never)).toThrow(/Did you mean title\?/);
  expect(() => reportHtml(report, { title: 5 as never })).toThrow(/`title` of reportHtml is no text/);
  expect(() => reportHtml(report, 'T' as never)).toThrow(/The options of reportHtml are no object/);
});

it('a damaged report makes a page, or is refused', () => {
  fc.assert(
    fc.property(damage, ({ which, changes }) => {
      const report = damaged(reports[which] as GuardReport, changes);
      attempt(() => reportMarkdown(report));
      attempt(() => reportHtml(report));
    }),
    { numRuns: 300, seed: 22 },
  );
});
