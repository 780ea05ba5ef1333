import type { Log, LogEvent, QuarantineStore } from '@guardloop/core';
import { ask, defineAgent, defineGuardrail, defineTool, GuardloopError, resume, rewrite, run } from '@guardloop/core';
import type { CallEntry, GuardReport, HandoffEntry, ReportEntry, TurnEntry } from '@guardloop/core/report';
import { guardReport, reportHtml, reportMarkdown } from '@guardloop/core/report';
import { auditLog, callTool, failWith, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { makeWorld } from '../promises/world.js';
import { guardrails, longLog, openDesk, request, sessionLog, waitingLog } from './stories.js';

type Of<K extends ReportEntry['kind']> = Extract<ReportEntry, { kind: K }>;
const entries = (report: GuardReport, run = 0): readonly ReportEntry[] => report.runs[run]?.entries ?? [];
const all = <K extends ReportEntry['kind']>(list: readonly ReportEntry[], kind: K): readonly Of<K>[] =>
  list.filter((entry): entry is Of<K> => entry.kind === kind);
const call = (list: readonly ReportEntry[], tool: string): CallEntry | undefined => all(list, 'call').find((entry) => entry.tool === tool);
const stricter = (entry: ReportEntry | undefined) =>
  entry?.verdicts.filter(({ action }) => action !== 'allow').map(({ guardrail, surface, action }) => `${guardrail} ${action} ${surface}`);

describe('the data', () => {
  it('puts every verdict where it fell, and loses none', async () => {
    const log = await sessionLog();
    const report = guardReport(log);
    const verdictsIn = (list: readonly ReportEntry[]): number =>
      list.reduce(
        (sum, entry) => sum + entry.verdicts.length + (entry.kind === 'call' && entry.run ? verdictsIn(entry.run.entries) : 0),
        0,
      );
    const told = report.runs.reduce((sum, { entries: list }) => sum + verdictsIn(list), 0);
    expect(told).toBe(log.events.filter(({ type }) => type === 'guard.verdict').length);
    expect(report.counts.asked).toBe(told);
    const first = entries(report);
    expect(first.map(({ kind }) => kind)).toEqual([
      'input',
      'turn',
      'call',
      'call',
      'turn',
      'turn',
      'handoff',
      'turn',
      'call',
      'resume',
      'turn',
      'end',
    ]);
    expect(stricter(first[0])).toEqual(['mask rewrite input']);
    expect(stricter(call(first, 'remove'))).toEqual(['no-secrets deny toolInput']);
    const child = call(first, 'ask_clerk')?.run;
    expect(child).toMatchObject({ agent: 'clerk', parent: 'r1', status: 'completed' });
    expect(stricter(call(child?.entries ?? [], 'find'))).toEqual(['mask rewrite toolOutput']);
  });

  it('tells in how many places a rewrite changed a content, and what it left', async () => {
    const report = guardReport(await waitingLog());
    const [input] = all(entries(report), 'input');
    expect(input).toMatchObject({ isAccepted: true, items: [{ via: 'user', revision: 1, text: { text: 'Refund o1, my card is ####' } }] });
    expect(input?.verdicts.find(({ action }) => action === 'rewrite')).toMatchObject({
      guardrail: 'mask',
      version: '2',
      level: 'run',
      phase: 'rewrite',
      places: 1,
      reason: 'a card number',
    });
    const found = call(call(entries(report), 'ask_clerk')?.run?.entries ?? [], 'find');
    expect(found?.verdicts.find(({ action }) => action === 'rewrite')?.places).toBe(2);
    expect(found?.output?.text).toBe('{"id":"o1","cards":["####","####"]}');
    // A window counts what it replaced over the whole answer; a rewrite of the whole has no places.
    const windowed = defineGuardrail({
      name: 'w',
      on: ['output'],
      window: 4,
      rewrite: ({ content }) =>
        rewrite(
          [...content.matchAll(/ab/g)].map(({ index }) => ({ start: index, end: index + 2, with: '-' })),
          'ab',
        ),
    });
    const whole = defineGuardrail({ name: 'whole', on: ['input'], rewrite: () => rewrite('other', 'anew') });
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say(['xxab', 'xxxxxxxxxxxa', 'bxxxxxxxxxx', 'ab'])]) });
    const result = await run(agent, 'hi', { guardrails: [windowed, whole] });
    const verdicts = guardReport(result.log).runs.flatMap(({ entries: list }) => list.flatMap((entry) => entry.verdicts));
    expect(verdicts.map(({ guardrail, places }) => [guardrail, places])).toEqual([
      ['whole', undefined],
      ['w', 3],
    ]);
  });

  it('tells of a discarded answer who, why and its size, and shows the repair', async () => {
    const report = guardReport(await waitingLog());
    const [, refused, repaired] = all(entries(report), 'turn');
    expect(refused).toMatchObject({
      status: 'refused',
      refusedChars: 22,
      refusal: { action: 'deny', by: 'no-secrets', surface: 'output', reason: 'a secret word' },
    } satisfies Partial<TurnEntry>);
    expect(refused?.text).toBeUndefined();
    expect(repaired?.note).toContain('a secret word');
  });

  it('shows a denied call without its input, and a handoff with the swap of guardrails', async () => {
    const report = guardReport(await waitingLog());
    const denied = call(entries(report), 'remove');
    expect(denied).toMatchObject({ status: 'denied', isStarted: false, refusal: { by: 'no-secrets' } });
    expect(denied?.input).toBeUndefined();
    expect(all(entries(report), 'handoff')[0]).toMatchObject({
      from: 'triage',
      to: 'billing',
      status: 'done',
      view: 'all',
      leave: [],
      come: ['large'],
      stay: ['mask', 'no-secrets', 'no-poems', 'suspicious', 'flaky'],
    } satisfies Partial<HandoffEntry>);
  });

  it('shows an open question, and with the answer when it came and that the log does not say from whom', async () => {
    const waiting = guardReport(await waitingLog());
    expect(waiting.runs[0]).toMatchObject({ status: 'interrupted' });
    expect(call(entries(waiting), 'refund')).toMatchObject({
      status: 'waiting',
      approvals: [
        {
          surface: 'toolInput',
          asks: [{ by: 'large', reason: 'a large refund' }],
          flow: { effect: 'send' },
          input: { text: '{ "id": "o1", "cents": 9000 }' },
        },
      ],
    });
    expect(reportMarkdown(waiting)).toContain('Nobody has decided in this log');
    const report = guardReport(await sessionLog());
    const decided = call(entries(report), 'refund');
    expect(decided).toMatchObject({ status: 'ok', isStarted: true, approvals: [{ decision: { decision: 'approve' } }] });
    // The check is asked again after the approval, which answers its question.
    expect(decided?.verdicts.filter(({ action }) => action === 'ask').map(({ isAnswered }) => isAnswered)).toEqual([undefined, true]);
    expect(all(entries(report), 'resume')[0]).toMatchObject({ come: [], leave: [] });
    expect(reportMarkdown(report)).toContain('by whom, the log does not say');
  });

  it('shows a rejection with the words, an edit with what passed, a result, and a standing decision', async () => {
    const log = await waitingLog();
    const decide = async (decision: object | string) => {
      const { log: decided } = await resume(openDesk(), log, { guardrails, decisions: { 'r1/p1': decision as 'approve' } });
      const report = guardReport(decided);
      return { entry: call(entries(report), 'refund'), text: reportMarkdown(report) };
    };
    const rejected = await decide({ reject: 'No receipt.' });
    expect(rejected.entry).toMatchObject({ status: 'rejected', approvals: [{ decision: { decision: 'reject', reason: 'No receipt.' } }] });
    expect(rejected.text).toContain('`No receipt.`');
    const edited = await decide({ edit: { id: 'o1', cents: 900 } });
    expect(edited.entry).toMatchObject({
      status: 'ok',
      input: { text: '{ "id": "o1", "cents": 900 }' },
      approvals: [{ decision: { decision: 'edit', input: { text: '{ "id": "o1", "cents": 900 }' } } }],
    });
    expect((await decide({ result: 'by hand' })).entry).toMatchObject({ status: 'ok', isStarted: false, output: { text: 'by hand' } });
    const standing = await decide({ approve: 'standing', when: { id: 'o1' } });
    expect(standing.entry?.approvals[0]?.decision).toMatchObject({
      decision: 'approve',
      standing: { tool: 'refund', when: { text: '{ "id": "o1" }' } },
    });
    expect(standing.text).toContain('It stands for later calls of `refund`');
  });

  it('marks what stood in shadow and what failed, and counts each for itself', async () => {
    const { counts, guardrails: told } = guardReport(await sessionLog());
    expect(counts).toMatchObject({ halt: 1, ask: 2, shadow: 1, failed: 3 });
    expect(told.find(({ name }) => name === 'suspicious')?.counts).toMatchObject({ shadow: 1, deny: 0 });
    expect(told.find(({ name }) => name === 'mask')).toMatchObject({ version: '2', level: 'run' });
    expect(counts.allow + counts.rewrite + counts.ask + counts.deny + counts.halt + counts.shadow + counts.void).toBe(counts.asked);
  });

  it('keeps the runs of a session apart, each with its end and its usage', async () => {
    const report = guardReport(await sessionLog());
    expect(report.runs.map(({ id, status }) => `${id} ${status}`)).toEqual(['r1 completed', 'r2 blocked']);
    expect(all(entries(report, 1), 'input')[0]).toMatchObject({ isAccepted: false, items: [] });
    expect(all(entries(report, 1), 'end')[0]).toMatchObject({
      status: 'blocked',
      reply: 'Sorry.',
      refusal: { by: 'no-poems', action: 'halt' },
    });
    expect(report.runs.map(({ usage }) => usage.requests)).toEqual([7, 0]);
    expect(report.usage.requests).toBe(7);
    expect(report.byAgent.map(({ name, usage }) => `${name} ${usage.requests}`)).toEqual(['triage 3', 'clerk 2', 'billing 2']);
  });

  it('says which guardrails stood before each agent', async () => {
    const { stands } = guardReport(await waitingLog());
    expect(stands.map(({ agent, own }) => `${agent}: ${own.map(({ name }) => name).join()}`)).toEqual([
      'triage: ',
      'clerk: ',
      'billing: large',
    ]);
    expect(stands.every(({ run: names }) => names.length === 5)).toBe(true);
  });
});

describe('other ends', () => {
  it('shows an answer that waits in quarantine by its size, and once it was let go as it passed', async () => {
    const careful = defineGuardrail({ name: 'careful', on: ['output'], check: () => ask('a person reads this first') });
    const kept = new Map<string, unknown>();
    const quarantine = {
      put: async (key: string, value: unknown) => void kept.set(key, value),
      get: async (key: string) => kept.get(key),
      delete: async (key: string) => void kept.delete(key),
    } as QuarantineStore;
    const agent = () => defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('A delicate answer.')]) });
    const options = { guardrails: [careful], quarantine };
    const waiting = await run(agent(), 'hi', options);
    const before = guardReport(waiting.log);
    expect(all(entries(before), 'turn')[0]).toMatchObject({
      status: 'waiting',
      approvals: [{ surface: 'output', chars: 18 }],
      usage: { requests: 1 },
    });
    expect(reportMarkdown(before)).toContain('18 characters wait in quarantine');
    expect(reportMarkdown(before)).not.toContain('delicate');
    const [approval] = waiting.status === 'interrupted' ? waiting.approvals : [];
    const { log } = await resume(agent(), waiting.log, { ...options, decisions: { [approval?.id ?? '']: 'approve' } });
    expect(all(entries(guardReport(log)), 'turn')).toMatchObject([
      { status: 'ok', text: { text: 'A delicate answer.' }, approvals: [{ decision: { decision: 'approve' } }] },
    ]);
  });

  it('tells a limit, a failure and a cancel', async () => {
    const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), flow: { effect: 'read' }, execute: () => 'seen' });
    const agent = defineAgent({ name: 'a', instructions: '', tools: [look], model: scriptedModel([callTool('look'), callTool('look')]) });
    const exhausted = reportMarkdown(guardReport((await run(agent, 'hi', { limits: { turns: 1 } })).log));
    expect(exhausted).toContain('exhausted: a limit was reached');
    expect(exhausted).toContain('The limit `turns` was reached.');
    const failing = defineAgent({
      name: 'a',
      instructions: '',
      model: scriptedModel([failWith(new GuardloopError('MODEL_FAILED', 'no line'))]),
    });
    expect(reportMarkdown(guardReport((await run(failing, 'hi', {})).log))).toMatch(/\*\*failed\*\*[\s\S]*`MODEL_FAILED`: `no line`/);
    const cancelled = await run(agent, 'hi', { signal: AbortSignal.abort() });
    expect(guardReport(cancelled.log).runs[0]?.status).toBe('cancelled');
  });

  it('a call that a standing decision let run says so', async () => {
    const send = defineTool({
      name: 'send',
      description: 'Sends.',
      input: z.object({ id: z.string() }),
      flow: { effect: 'send' },
      approval: true,
      execute: ({ id }) => `sent ${id}`,
    });
    const agent = () =>
      defineAgent({
        name: 'a',
        instructions: '',
        tools: [send],
        model: scriptedModel([callTool('send', { id: '1' }), callTool('send', { id: '2' }), say('Done.')]),
      });
    const waiting = await run(agent(), 'hi', { runId: 'r' });
    const { log } = await resume(agent(), waiting.log, { decisions: { 'r/p1': { approve: 'standing', when: {}, forMs: 60_000 } } });
    const report = guardReport(log);
    expect(all(entries(report), 'call').map(({ approvals }) => approvals[0]?.decision?.byStanding)).toEqual([undefined, 'r/p1']);
    expect(reportMarkdown(report)).toContain('by the standing decision of approval `r/p1`: nobody was asked');
    expect(reportMarkdown(report)).toMatch(
      /It stands for later calls of `send` with any input, until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, or the agent hands over/,
    );
  });
});

describe('who decided', () => {
  it('stands in the report as it was told, and marks up nothing', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), approval: true, execute: () => 'paid' });
    const agent = defineAgent({ name: 'a', instructions: '', tools: [pay], model: scriptedModel([callTool('pay', {}), say('Done.')]) });
    const waiting = await run(agent, 'hi', { runId: 'r' });
    const by = 'anna <b>&|`_';
    const { log } = await resume(agent, waiting.log, { decisions: { 'r/p1': { decision: 'approve', by } } });
    const report = guardReport(log);
    expect(call(entries(report), 'pay')?.approvals[0]?.decision?.by).toMatchObject({ text: by });
    expect(reportHtml(report)).toContain('anna &lt;b&gt;&amp;|`_');
    expect(reportMarkdown(report)).toContain(', by ``anna <b>&|`_``');
  });
});

describe('a log that was cut', () => {
  it('at any place makes a report, and one that is plain JSON', async () => {
    const log = await sessionLog();
    for (let length = 0; length <= log.events.length; length += 1) {
      const report = guardReport({ version: 1, events: log.events.slice(0, length) });
      expect(report).toEqual(JSON.parse(JSON.stringify(report)));
      expect(report.events).toBe(length);
      expect(reportHtml(report)).toContain('</html>');
      expect(reportMarkdown(report)).toContain('# Guardrail report');
    }
  });

  it('is told as open, and what did not count as void', async () => {
    const log = await waitingLog();
    const at = log.events.findIndex(({ type }) => type === 'model.start');
    // Cut while the output of turn 1 was being judged.
    const cut: Log = { version: 1, events: log.events.slice(0, at + 2) };
    expect(cut.events.at(-1)?.type).toBe('guard.verdict');
    expect(guardReport(cut).runs[0]?.status).toBe('open');
    const resumed = await resume(openDesk(), cut, { guardrails });
    expect(auditLog(resumed.log)).toEqual([]);
    const report = guardReport(resumed.log);
    const [first, second] = all(entries(report), 'turn');
    expect(first).toMatchObject({ status: 'open', turn: 1 });
    expect(first?.verdicts).toMatchObject([{ isVoid: true }]);
    expect(second).toMatchObject({ status: 'ok', turn: 1 });
    expect(second?.verdicts.every(({ isVoid }) => isVoid === undefined)).toBe(true);
    expect(report.counts.void).toBe(1);
    expect(reportMarkdown(report)).toContain('did not count: the log was cut here');
  });

  it('tells the events of one result, whose run began before', async () => {
    const log = await waitingLog();
    const result = await resume(openDesk(), log, { guardrails, decisions: { 'r1/p1': 'approve' } });
    const later = result.log.events.slice(log.events.length);
    const report = guardReport(later);
    expect(report.runs).toMatchObject([{ id: 'r1', isPartial: true, status: 'completed' }]);
    expect(call(entries(report), 'refund')).toMatchObject({ status: 'ok' });
    expect(reportMarkdown(report)).toContain('its beginning is not in what this was made of');
  });
});

describe('every log', () => {
  const walk = function* (list: readonly ReportEntry[]): Generator<ReportEntry> {
    for (const entry of list) {
      yield entry;
      if (entry.kind === 'call' && entry.run !== undefined) yield* walk(entry.run.entries);
    }
  };

  it('has each of its verdicts once in the report, and in an ended run no call or handoff without an end', async () => {
    for (let seed = 0; seed < 80; seed += 1) {
      const { start, guardrails: guards } = makeWorld(seed, { refusals: 6, faults: 2 });
      let result = await run(start, 'please refund order o1', { guardrails: guards, runId: 'r1' });
      for (let round = 0; round < 6 && result.status === 'interrupted'; round += 1) {
        const decision = (['approve', { reject: 'no' }, { approve: 'standing' }, { edit: { id: 'x', input: 'y' } }] as const)[
          (seed + round) % 4
        ];
        const decisions = Object.fromEntries(
          result.approvals.map(({ id, surface }) => [id, surface === 'toolInput' ? decision : 'approve']),
        );
        result = await resume(start, result.log, { guardrails: guards, decisions: decisions as never });
      }
      const { log } = result;
      const cuts = [log.events.length, (seed * 7) % log.events.length];
      for (const length of cuts) {
        const events = log.events.slice(0, length);
        const told = guardReport({ version: 1, events }).runs.flatMap(({ entries: list }) => [...walk(list)]);
        expect(told.flatMap(({ verdicts }) => verdicts.map(({ seq }) => seq)).sort((left, right) => left - right)).toEqual(
          events.filter(({ type }) => type === 'guard.verdict').map(({ seq }) => seq),
        );
      }
      const report = guardReport(log);
      if (result.status === 'interrupted') continue;
      expect(report.runs[0]?.status).toBe(result.status);
      const loose = report.runs
        .flatMap(({ entries: list }) => [...walk(list)])
        .filter((entry) => (entry.kind === 'call' || entry.kind === 'handoff') && (entry.status === 'open' || entry.status === 'waiting'));
      expect({ seed, loose: loose.map((entry) => entry.seq) }).toEqual({ seed, loose: [] });
      expect(
        report.runs.flatMap(({ entries: list }) => [...walk(list)]).filter((entry) => entry.verdicts.some(({ isVoid }) => isVoid)),
      ).toEqual([]);
      // What model calls used is told once for each turn.
      const requests = report.runs
        .flatMap(({ entries: list }) => [...walk(list)])
        .reduce((sum, entry) => sum + (entry.kind === 'turn' ? (entry.usage?.requests ?? 0) : 0), 0);
      expect(requests).toBe(report.usage.requests);
    }
  });
});

describe('the options', () => {
  it('cut long contents between characters, and say how long they were', async () => {
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('😀'.repeat(10))]) });
    const { log } = await run(agent, 'hi', {});
    const [turn] = all(entries(guardReport(log, { maxChars: 5 })), 'turn');
    expect(turn?.text).toEqual({ text: '😀😀', chars: 20 });
    expect(reportMarkdown(guardReport(log, { maxChars: 5 }))).toContain('16 more characters in the log');
    expect(() => guardReport(log, { maxChars: 0 })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(() => reportHtml(guardReport(log), { maxBytes: 5 })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  it('a page is made of a report, and of nothing else', async () => {
    for (const other of [await waitingLog(), [], null, undefined, 'report'])
      for (const make of [reportHtml, reportMarkdown])
        expect(() => make(other as never)).toThrow(
          expect.objectContaining({
            code: 'CONFIG_INVALID',
            message: `${make.name} was given no report. Give what guardReport(log) makes of a log.`,
          }),
        );
  });

  it('show what an audit found', async () => {
    const log = await waitingLog();
    const removed = log.events
      .filter(({ type, seq }) => type !== 'guard.verdict' || seq > 3)
      .map((event, index) => ({ ...event, seq: index + 1 }) as LogEvent);
    const findings = auditLog({ version: 1, events: removed });
    expect(findings.length).toBeGreaterThan(0);
    const report = guardReport({ version: 1, events: removed }, { findings });
    expect(reportHtml(report)).toContain(`${findings.length} finding`);
    expect(reportMarkdown(report)).toContain(`audit: ${findings.length} finding`);
    expect(reportHtml(guardReport(log, { findings: auditLog(log) }))).toContain('no breach of mediation found');
  });

  it('refuse what is no log, without saying what it holds', () => {
    for (const log of [
      {},
      { version: 2, events: [] },
      { version: 1, events: [{ type: 'CANARY' }] },
      [{ type: 'model.end', seq: 1, at: 1, run: 'r', agent: 'a', text: 'CANARY' }],
    ])
      expect(() => guardReport(log as never)).toThrow(
        expect.objectContaining({ code: 'LOG_INVALID', message: expect.not.stringContaining('CANARY') }),
      );
  });

  it('an event of a kind that this version does not know is shown as it is', async () => {
    const log = await waitingLog();
    const events = [...log.events, { type: 'guard.future', seq: 99, at: 5, run: 'r1', agent: 'triage', words: 'new' }] as never;
    const other = all(entries(guardReport(events)), 'other')[0];
    expect(other).toMatchObject({ type: 'guard.future', text: { text: '{ "words": "new" }' } });
  });
});

it('time grows with the number of events', async () => {
  const log = await longLog(5);
  const measure = (events: readonly LogEvent[]): number => {
    let best = Number.POSITIVE_INFINITY;
    for (let index = 0; index < 3; index += 1) {
      const began = process.cpuUsage();
      reportHtml(guardReport(events));
      best = Math.min(best, process.cpuUsage(began).user / 1_000);
    }
    return best;
  };
  const runs = (count: number) =>
    Array.from({ length: count }, (_, index) => log.events.map((event) => ({ ...event, run: `${event.run}-${index}` }))).flat();
  measure(runs(1));
  // Eight times the events; far below the 64 times of a square.
  expect(measure(runs(8))).toBeLessThan(measure(runs(1)) * 24 + 50);
});

it('the request is shown as the guardrails left it', async () => {
  expect(reportMarkdown(guardReport(await waitingLog()))).not.toContain(request);
});
