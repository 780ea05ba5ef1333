import type { LogEvent } from '@guardloop/core';
import { defineAgent, defineGuardrail, defineTool, resume, rewrite, run } from '@guardloop/core';
import { guardReport, reportMarkdown } from '@guardloop/core/report';
import { auditLog, callTool, say, scriptedModel, think } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Store } from './index.js';
import { exportSession, importSession, memoryStore } from './index.js';

const lookUp = defineTool({
  name: 'look_up',
  description: 'Look up.',
  input: { type: 'object', properties: { card: { type: 'string' }, agent: { type: 'string' } }, required: ['card'] } as const,
  approval: true,
  execute: ({ card }) => ({ holder: `holder of ${card}`, [`key ${card}`]: 1 }),
});
const noted = defineGuardrail({
  name: 'noted',
  on: ['input'],
  rewrite: ({ content }) => rewrite(`${content} `, 'holder of 411-1'),
});
const desk = () =>
  defineAgent({
    name: 'desk',
    instructions: '',
    model: scriptedModel([
      [think('about 411-1'), say('Looking up 411-1.'), callTool('look_up', { card: '411-1', agent: '411-1' })],
      say('It is the card 411-1.'),
    ]),
    tools: [lookUp],
  });

async function conversation(store: Store): Promise<void> {
  const agent = desk();
  const options = { guardrails: [noted], reasoning: 'show' } as const;
  await store.sessions.create('chat', { owner: 'owner of 411-1', tenant: 'shop' });
  const paused = await run(agent, 'Whose card is 411-1?', { ...options, session: { store, id: 'chat' } });
  if (paused.status !== 'interrupted') throw new Error(paused.status);
  const decisions = { [paused.approvals[0]?.id ?? '']: { decision: 'approve', by: 'person 411-1' } } as const;
  const done = await resume(agent, { store, id: 'chat' }, { ...options, decisions });
  expect([done.status, auditLog(done.log)]).toEqual(['completed', []]);
}

describe('exportSession', () => {
  it('gives nothing for a session that is not there', async () => {
    expect(await exportSession(memoryStore(), 'chat')).toBeUndefined();
  });

  it('redacts every text of a content, names in inputs and results among them, and leaves the stored log as it was', async () => {
    const store = memoryStore();
    await conversation(store);
    const before = JSON.stringify(await store.load('chat'));
    expect(before).toContain('411-1');
    const exported = await exportSession(store, 'chat', { redact: { patterns: [/41\d-\d/] } });
    const text = JSON.stringify(exported);
    expect(text).not.toContain('411-1');
    expect(text).toContain('It is the card [redacted].');
    expect(text).toContain('holder of [redacted]');
    expect(exported?.redacted?.texts).toBeGreaterThan(8);
    expect(exported?.log.events.map(({ type, seq, at }) => [type, seq, at])).toEqual(
      (await store.load('chat')).map(({ type, seq, at }) => [type, seq, at]),
    );
    expect(JSON.stringify(await store.load('chat'))).toBe(before);
    expect(exported && reportMarkdown(guardReport(exported.log))).toContain('It is the card [redacted].');
  });

  it('leaves no text of any content that a function has not seen', async () => {
    const store = memoryStore();
    await conversation(store);
    const seen: string[] = [];
    const exported = await exportSession(store, 'chat', {
      redact: {
        text: (text, { type, path }) => {
          seen.push(`${type} ${path.join('.')}: ${text}`);
          return '';
        },
      },
    });
    expect(JSON.stringify(exported)).not.toMatch(/411-1|holder|Looking/);
    expect(seen.some((line) => /^tool.start input.card: 411-1$/.test(line))).toBe(true);
  });

  it('leaves out fields by name, and digests that would tell a content to who guesses it', async () => {
    const store = memoryStore();
    await conversation(store);
    const exported = await exportSession(store, 'chat', {
      redact: {
        leaveOut: ['input', 'content', 'text', 'parts', 'reasoning', 'reason', 'decidedBy', 'details'],
        patterns: [/owner of \d+/],
      },
    });
    const text = JSON.stringify(exported);
    expect(text).not.toContain('411-1');
    expect(text).toContain('[left out]');
    expect(exported?.redacted?.leftOut).toBeGreaterThan(8);
    const whole = await exportSession(store, 'chat');
    const digests = whole?.approvals.map(({ approval }) => approval.digest) ?? [];
    expect(digests).toHaveLength(1);
    for (const digest of digests) expect(text).not.toContain(digest);
  });

  it('redacts a field that no version knows yet', () => {
    return fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1 }), fc.constantFrom('remark', 'more', '__proto__', 'thing'), async (word, name) => {
        const secret = `secret ${word}`;
        const store = memoryStore();
        const unknown = JSON.parse(`{${JSON.stringify(name)}:{"list":[${JSON.stringify(secret)}]}}`) as object;
        const event = Object.fromEntries([
          ...Object.entries({ type: 'run.end', seq: 1, at: 1, run: 'r1', agent: 'a', status: 'completed' }),
          ...Object.entries(unknown),
        ]);
        await store.append('chat', [event as unknown as LogEvent], 0);
        const exported = await exportSession(store, 'chat', { redact: { text: () => 'x' } });
        expect(JSON.stringify(exported)).not.toContain('secret');
      }),
      { numRuns: 40, seed: 7 },
    );
  });

  it('exports nothing where a text cannot be redacted, and checks what it is told', async () => {
    const store = memoryStore();
    await conversation(store);
    const wrong = [
      {
        text: () => {
          throw new Error('411-1');
        },
      },
      { text: () => undefined as never },
      {},
      { patterns: ['411-1' as never] },
      { leaveOut: ['inputs' as never] },
    ];
    for (const redact of wrong) {
      const error: unknown = await exportSession(store, 'chat', { redact }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
      expect(String(error)).not.toContain('411-1');
    }
  });
});

describe('importSession', () => {
  it('takes a waiting session to another store, where it goes on', async () => {
    const [first, second] = [memoryStore(), memoryStore()];
    const agent = desk();
    await first.sessions.create('chat', { owner: 'anna', tenant: 'shop' });
    await run(agent, 'Whose card is 411-1?', { session: { store: first, id: 'chat' } });
    const id = (await first.approvals.list()).items[0]?.id ?? '';
    await first.approvals.schedule(id, { expiresAt: 9e14, remindAt: 8e14 });
    await first.approvals.decide(id, 'approve', { by: 'bert' });
    const exported = JSON.parse(JSON.stringify(await exportSession(first, 'chat')));
    expect(await importSession(second, exported)).toMatchObject({ id: 'chat', owner: 'anna', tenant: 'shop', status: 'waiting' });
    expect(await second.approvals.get(id)).toMatchObject({ state: 'decided', decision: 'approve', decidedBy: 'bert', expiresAt: 9e14 });
    const done = await resume(agent, { store: second, id: 'chat' }, { decisions: { [id]: 'approve' } });
    expect([done.status, auditLog(done.log)]).toEqual(['completed', []]);
  });

  it('gives what fits together of a session that is appended to all the time', async () => {
    const inner = memoryStore();
    await conversation(inner);
    const whole = await inner.load('chat');
    const asks = whole.findIndex(({ type }) => type === 'approval.request') + 1;
    const store = memoryStore();
    await store.sessions.create('chat', { owner: 'anna' });
    await store.append('chat', whole.slice(0, asks), 0);
    let last = asks;
    const load: Store['load'] = async (id, afterSeq) => {
      const events = await store.load(id, afterSeq);
      // Something comes behind each look at the log.
      await store.append('chat', whole.slice(last, last + 1), last);
      last = Math.min(last + 1, whole.length);
      return events;
    };
    const exported = await exportSession({ ...store, load }, 'chat');
    expect(exported?.log.events).toEqual(whole.slice(0, asks));
    expect(exported?.session).toMatchObject({ id: 'chat', owner: 'anna', events: asks, status: 'waiting' });
    expect(exported?.approvals).toMatchObject([{ state: 'open' }]);
    const target = memoryStore();
    await importSession(target, exported as NonNullable<typeof exported>);
    expect((await target.approvals.list()).items).toMatchObject([{ state: 'open' }]);
  });

  it('refuses an export that is damaged, says where without what stands there, and stores nothing', async () => {
    const store = memoryStore();
    await conversation(store);
    const whole = await exportSession(store, 'chat');
    if (whole === undefined) throw new Error('there is no session');
    const { log, approvals } = whole;
    const withEvent = (at: number, event: unknown) => ({
      ...whole,
      log: { ...log, events: log.events.map((each, index) => (index === at ? (event as LogEvent) : each)) },
    });
    const asks = log.events.findIndex(({ type }) => type === 'approval.request');
    const { approval: _, ...asked } = log.events[asks] as { readonly approval?: unknown } & LogEvent;
    const damaged = [
      [withEvent(2, null), 'LOG_INVALID'],
      [withEvent(2, { seq: 3 }), 'LOG_INVALID'],
      [withEvent(asks, asked), 'LOG_INVALID'],
      [withEvent(0, { ...log.events[0], seq: 2 }), 'LOG_INVALID'],
      [{ ...whole, approvals: [null, ...approvals] }, 'CONFIG_INVALID'],
      [{ ...whole, session: null }, 'CONFIG_INVALID'],
    ] as const;
    for (const [given, code] of damaged) {
      const target = memoryStore();
      const refused = await importSession(target, given as typeof whole).catch((thrown: unknown) => thrown);
      expect(refused).toMatchObject({ code });
      expect(String(refused)).not.toContain('411-1');
      expect(await target.sessions.get('chat')).toBeUndefined();
    }
  });

  it('refuses an id that is taken, a redacted export, and what is none, and stores nothing', async () => {
    const store = memoryStore();
    await conversation(store);
    const exported = await exportSession(store, 'chat');
    const redacted = await exportSession(store, 'chat', { redact: { patterns: [/x/] } });
    const before = await store.load('chat');
    await expect(importSession(store, exported as never)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(await store.load('chat')).toEqual(before);
    const empty = memoryStore();
    for (const given of [redacted, undefined, {}, { ...exported, version: 2 }, { ...exported, log: undefined }])
      await expect(importSession(empty, given as never)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    const gap = { ...exported, log: { version: 1, events: before.filter(({ seq }) => seq !== 3) } };
    await expect(importSession(empty, gap as never)).rejects.toMatchObject({ code: 'LOG_INVALID' });
    expect((await empty.sessions.list()).items).toEqual([]);
  });
});
