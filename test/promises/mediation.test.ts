import type { Part, RunEvent } from '@guardloop/core';
import { auditLog } from '@guardloop/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Driven } from './drive.js';
import { drive } from './drive.js';
import { findBrokenPairs } from './pairs.js';
import type { World } from './world.js';
import { makeWorld } from './world.js';

const textOf = (content: string | readonly Part[]): string =>
  typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
const coreWords = new Set(['invalid_input', 'unknown_tool', 'denied', 'rejected', 'aborted', 'timeout', 'bad_result']);

/** Everything that crossed a boundary in a form that the witness had not been shown. */
function findUnseen(world: World, { events, result }: Driven): readonly string[] {
  const shown = (surface: string) => world.seen.filter((seen) => seen.surface === surface).map((seen) => seen.content);
  const inputs = shown('input');
  const [toolInputs, toolOutputs, outputs, briefs] = ['toolInput', 'toolOutput', 'output', 'handoff'].map(
    (surface) => new Set(shown(surface)),
  );
  const unseen: string[] = [];
  const miss = (what: string, text: string) => unseen.push(`${what}: ${text}`);

  const texts = new Map<string, string>();
  for (const event of events as readonly RunEvent[]) {
    if (event.type === 'text.delta') texts.set(`${event.run}/${event.turn}`, (texts.get(`${event.run}/${event.turn}`) ?? '') + event.text);
  }
  for (const [turn, text] of texts) if (!outputs?.has(text)) miss(`shown in ${turn}`, text);
  for (const event of result.log.events) {
    if (event.type === 'model.end' && event.text !== '' && !outputs?.has(event.text)) miss('recorded answer', event.text);
    if (event.type === 'model.end')
      for (const call of event.calls)
        if (call.kind !== 'handoff' && !call.end && !toolInputs?.has(JSON.stringify(call.input)))
          miss('recorded input', JSON.stringify(call.input));
    if (event.type === 'tool.start' && !toolInputs?.has(JSON.stringify(event.input))) miss('started with', JSON.stringify(event.input));
    if (event.type === 'handoff' && !briefs?.has(event.brief)) miss('brief', event.brief);
    if (event.type === 'input.accept')
      for (const item of event.items)
        if (item.role === 'user' && !inputs.some((input) => input.includes(textOf(item.parts)))) miss('accepted', textOf(item.parts));
    if (
      event.type === 'tool.end' &&
      event.copyOf === undefined &&
      event.handoff === undefined &&
      event.status !== 'unknown' &&
      !coreWords.has(event.errorClass ?? '')
    ) {
      const content = textOf(event.content);
      const judged = event.status === 'ok' ? content : (JSON.parse(content) as { summary: string }).summary;
      if (!toolOutputs?.has(judged)) miss('result', judged);
    }
  }
  for (const request of world.requests) {
    for (const message of request.messages)
      if (message.role === 'user' && !inputs.some((input) => input.includes(textOf(message.parts))))
        miss('asked with', textOf(message.parts));
    for (const fault of findBrokenPairs(request.messages)) miss(`request ${request.agent} ${request.turn}`, fault);
  }
  return unseen;
}

it('nothing crosses in a form that a check on that surface had not seen, and every log passes the audit, for every world', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 1_000_000 }), async (seed) => {
      const world = makeWorld(seed, { refusals: 4, faults: 1 });
      const driven = await drive(seed, world, 'stream');
      expect(findUnseen(world, driven)).toEqual([]);
      expect(findBrokenPairs(driven.result.messages)).toEqual([]);
      expect(auditLog(driven.result.log)).toEqual([]);
    }),
    { numRuns: 200, seed: 11 },
  );
}, 60_000);

it('a log from which a verdict was removed, or in which one was altered, does not pass the audit, for every world', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 1_000_000 }), fc.nat(), async (seed, pick) => {
      const { result } = await drive(seed, makeWorld(seed, { refusals: 3, faults: 1 }), 'run');
      const { log } = result;
      const counting = log.events.filter((event) => event.type === 'guard.verdict');
      const verdict = counting[pick % counting.length];
      if (verdict?.type !== 'guard.verdict') return;
      const lastCommit = log.events.findLastIndex((event) => event.answers !== undefined);
      if (log.events.indexOf(verdict) > lastCommit) return;
      const without = log.events.filter((event) => event !== verdict).map((event, index) => ({ ...event, seq: index + 1 }));
      expect(auditLog({ version: 1, events: without }), `removed ${JSON.stringify(verdict)}`).not.toEqual([]);
      const alterations = [
        { guardrail: 'somebody-else' },
        { subject: `${verdict.subject}x` },
        { revision: verdict.revision + 1 },
        { action: verdict.action === 'allow' ? 'deny' : 'allow' },
        { phase: verdict.phase === 'check' ? 'rewrite' : 'check' },
        { surface: verdict.surface === 'output' ? 'input' : 'output' },
        { level: verdict.level === 'run' ? 'agent' : 'run' },
      ];
      for (const alteration of alterations) {
        const altered = log.events.map((event) => (event === verdict ? { ...event, ...alteration } : event)) as typeof log.events;
        expect(auditLog({ version: 1, events: altered }), `${JSON.stringify(verdict)} with ${JSON.stringify(alteration)}`).not.toEqual([]);
      }
    }),
    { numRuns: 150, seed: 12 },
  );
}, 60_000);
