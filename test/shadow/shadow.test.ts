import { setTimeout as delay } from 'node:timers/promises';
import type { Guardrail, GuardVerdictEvent, Model, RunEvent, RunResult, Surface } from '@guardloop/core';
import {
  allow,
  ask,
  asTool,
  defineAgent,
  defineGuardrail,
  defineTool,
  deny,
  halt,
  handoff,
  memorySession,
  resume,
  rewrite,
  run,
  stream,
} from '@guardloop/core';
import { auditLog, callTool, normalLog, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { drive } from '../promises/drive.js';
import { hash, makeWorld, surfaces } from '../promises/world.js';

const everywhere: readonly ['input', 'toolInput', 'toolOutput', 'handoff', 'output'] = [
  'input',
  'toolInput',
  'toolOutput',
  'handoff',
  'output',
];
const verdictsOf = (result: RunResult): readonly GuardVerdictEvent[] =>
  result.log.events.filter((event): event is GuardVerdictEvent => event.type === 'guard.verdict');
const shadowsOf = (result: RunResult) => verdictsOf(result).filter(({ shadow }) => shadow);
const never = () => new Promise<never>(() => undefined);

/** What a run came to, apart from what was noted of its guardrails. */
const outcomeOf = (result: RunResult, events: readonly RunEvent[] = []) => ({
  status: result.status,
  agent: result.agent,
  messages: result.messages.map((message) => ({ ...message, id: message.id.slice(message.id.indexOf('/')) })),
  text: 'text' in result ? result.text : undefined,
  refusal: result.status === 'blocked' ? [result.surface, result.by, result.reason, result.failed] : undefined,
  shown: events
    .flatMap((event) => (event.type === 'text.delta' ? [event.text] : event.type === 'text.retract' ? ['(retract)'] : []))
    .join(''),
  steps: normalLog(result.log).flatMap(({ type }) => (type === 'guard.verdict' ? [] : [type])),
});

/** A shadow that answers, throws or talks nonsense by seed and by what it looks at; at once or later. */
const wildShadow = (seed: number) => {
  const answer = (phase: string, surface: Surface, content: string) => {
    const draw = hash(seed, 'wild', phase, surface, content) % 9;
    if (draw === 0) throw new Error('broken');
    if (draw === 1) return 'nonsense' as never;
    if (draw === 2) return halt('stop') as never;
    if (draw === 3) return deny('no');
    if (draw === 4) return ask('who?') as never;
    if (draw < 7 && phase === 'rewrite')
      return rewrite(draw === 5 ? '' : [{ start: 0, end: content.length, with: 'gone' }], 'emptied') as never;
    return allow();
  };
  const maybeLater = (phase: string) => (subject: { readonly surface: Surface; readonly content: string }) =>
    hash(seed, phase, subject.content, 'later') % 3 > 0
      ? answer(phase, subject.surface, subject.content)
      : (Promise.resolve().then(() => answer(phase, subject.surface, subject.content)) as never);
  return defineGuardrail({
    name: 'wild',
    on: everywhere,
    shadow: true,
    onError: hash(seed, 'onError') % 2 === 0 ? 'halt' : 'deny',
    rewrite: maybeLater('rewrite'),
    check: maybeLater('check'),
  });
};

describe('a shadow changes nothing', () => {
  it.each(['run', 'stream'] as const)('in %s, through handoffs, child runs, quarantine and resume, for every world', async (mode) => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 1_000_000 }), async (seed) => {
        const plain = await drive(seed, makeWorld(seed), mode);
        const world = makeWorld(seed);
        const shadowed = await drive(seed, { ...world, guardrails: [wildShadow(seed), ...world.guardrails] }, mode);
        expect(outcomeOf(shadowed.result, shadowed.events)).toEqual(outcomeOf(plain.result, plain.events));
        expect(auditLog(shadowed.result.log)).toEqual([]);
        const own = verdictsOf(shadowed.result).filter(({ guardrail }) => guardrail === 'wild');
        expect(own.length).toBeGreaterThan(0);
        expect(own.every(({ shadow }) => shadow)).toBe(true);
      }),
      { numRuns: 60, seed: 71 },
    );
  });

  it.each(surfaces)('whatever it answers on %s, in run and stream alike', async (surface) => {
    const input = z.object({ id: z.string() });
    const look = defineTool({ name: 'look', description: 'Looks.', input, flow: { effect: 'read' }, execute: ({ id }) => `found ${id}` });
    const answers = [
      () => deny('no'),
      () => halt('stop'),
      () => ask('who?') as never,
      () => {
        throw new Error('broken');
      },
      () => 'nonsense' as never,
    ];
    for (const answer of answers) {
      const shadow = defineGuardrail({ name: 'rehearsed', on: [surface] as ['output'], shadow: true, check: answer });
      const make = (guardrails: readonly (typeof shadow)[]) => {
        const model = scriptedModel({
          a: [[say('Let me look.'), callTool('look', { id: 'o1' })], callTool('ask_child', { input: 'and?' }), callTool('transfer_to_b')],
          child: [say('The child says so.')],
          b: [say('It is there.')],
        });
        const child = defineAgent({ name: 'child', instructions: '', model, guardrails });
        const b = defineAgent({ name: 'b', instructions: '', model, guardrails });
        const tools = [look, asTool(child, { name: 'ask_child', description: 'Asks.' })];
        return defineAgent({ name: 'a', instructions: '', model, tools, handoffs: [b], guardrails });
      };
      const plain = await run(make([]), 'Where is it?');
      const ran = await run(make([shadow]), 'Where is it?');
      const watched = stream(make([shadow]), 'Where is it?');
      const events: RunEvent[] = [];
      for await (const event of watched) events.push(event);
      expect(outcomeOf(ran)).toEqual(outcomeOf(plain));
      expect(plain).toMatchObject({ status: 'completed', agent: 'b', text: 'It is there.' });
      expect(normalLog((await watched).log)).toEqual(normalLog(ran.log));
      expect(shadowsOf(ran).length).toBeGreaterThan(0);
      expect(auditLog(ran.log)).toEqual([]);
    }
  });

  it('a shadow that hangs is waited for to its deadline, and told as failed', async () => {
    const hangs = defineGuardrail({ name: 'hangs', on: ['input', 'output'], shadow: true, timeoutMs: 30, onError: 'halt', check: never });
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Hello.')]), guardrails: [hangs] });
    const result = await run(agent, 'Hi.');
    expect(result).toMatchObject({ status: 'completed', text: 'Hello.' });
    expect(shadowsOf(result)).toMatchObject([
      { surface: 'input', action: 'halt', failed: true, reason: 'guardrail hangs failed' },
      { surface: 'output', action: 'halt', failed: true },
    ]);
    for (const { ms } of shadowsOf(result)) expect(ms).toBeLessThan(2_000);
  });

  it('text flows through windows as it would without it, whatever it does and however it is cut', async () => {
    const masks = defineGuardrail({
      name: 'masks',
      on: ['output'],
      window: 4,
      rewrite: ({ content }) => {
        const spans = [...content.matchAll(/b{2,4}/g)].map(({ index, 0: found }) => ({
          start: index,
          end: index + found.length,
          with: '*',
        }));
        return spans.length > 0 ? rewrite(spans, 'masked') : allow();
      },
    });
    const odd = (seed: number) =>
      defineGuardrail({
        name: 'odd',
        on: ['output'],
        window: 3,
        shadow: true,
        onError: 'halt',
        rewrite: ({ content }) => {
          const draw = hash(seed, content) % 6;
          if (draw === 0) throw new Error('broken');
          if (draw === 1) return rewrite([{ start: 0, end: content.length, with: 'too long' }], 'all of it');
          if (draw === 2) return halt('stop') as never;
          if (draw === 3) return (async () => rewrite([{ start: 0, end: 1, with: '' }], 'later'))();
          return draw === 4 ? rewrite([{ start: 0, end: 1, with: '??' }], 'some') : allow();
        },
      });
    const shownBy = async (pieces: readonly string[], guardrails: Parameters<typeof defineAgent>[0]['guardrails']) => {
      const watched = stream(defineAgent({ name: 'a', instructions: '', model: scriptedModel([say(pieces)]), guardrails }), 'Hi.');
      const events: RunEvent[] = [];
      for await (const event of watched) events.push(event);
      const result = await watched;
      expect(auditLog(result.log)).toEqual([]);
      return {
        text: events.flatMap((event) => (event.type === 'text.delta' ? [event.text] : [])).join(''),
        outcome: outcomeOf(result, events),
      };
    };
    const pieces = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '😀'), minLength: 1, maxLength: 6 }), {
      minLength: 1,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(pieces, fc.nat(), fc.boolean(), async (texts, seed, isFirst) => {
        const plain = await shownBy(texts, [masks]);
        expect(await shownBy(texts, isFirst ? [odd(seed), masks] : [masks, odd(seed)])).toEqual(plain);
      }),
      { numRuns: 120, seed: 76 },
    );
  });

  it('a halt does not wait for a shadow', async () => {
    const hangs = defineGuardrail({ name: 'hangs', on: ['input'], shadow: true, timeoutMs: 60_000, check: never });
    const stops = defineGuardrail({ name: 'stops', on: ['input'], check: () => halt('stop') });
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([]), guardrails: [hangs, stops] });
    expect(await run(agent, 'Hi.')).toMatchObject({ status: 'blocked', by: 'stops' });
  });

  it('beside the model it aborts nothing', async () => {
    const late = defineGuardrail({
      name: 'late',
      on: ['input'],
      beside: 'model',
      shadow: true,
      check: async () => {
        await delay(5);
        return halt('stop');
      },
    });
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Hello.')]), guardrails: [late] });
    const result = await run(agent, 'Hi.');
    expect(result).toMatchObject({ status: 'completed', text: 'Hello.' });
    expect(shadowsOf(result)).toMatchObject([{ action: 'halt', beside: true, reason: 'stop' }]);
    expect(auditLog(result.log)).toEqual([]);
  });

  it('after a stop it does not cost a result that others let pass in time', async () => {
    const cancel = new AbortController();
    const work = defineTool({
      name: 'work',
      description: 'Works.',
      input: z.object({}),
      flow: { effect: 'write' },
      execute: async () => {
        cancel.abort();
        await delay(5);
        return 'done';
      },
    });
    const hangs = defineGuardrail({ name: 'hangs', on: ['toolOutput'], shadow: true, rewrite: never, check: never });
    const passes = defineGuardrail({
      name: 'passes',
      on: ['toolOutput'],
      check: async () => {
        await delay(5);
        return allow();
      },
    });
    const model = scriptedModel([callTool('work'), say('Done.')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [work], guardrails: [hangs, passes] });
    const result = await run(agent, 'Go.', { signal: cancel.signal });
    expect(result.status).toBe('cancelled');
    expect(result.events.find((event) => event.type === 'tool.end')).toMatchObject({ status: 'ok', content: 'done' });
    expect(shadowsOf(result)).toMatchObject([
      { phase: 'rewrite', failed: true },
      { phase: 'check', failed: true },
    ]);
    expect(auditLog(result.log)).toEqual([]);
  });
});

describe('a shadow tells what it would have done', () => {
  const secret = '4111 1111 1111 1111';
  const masking = (by: 'spans' | 'text', window?: number) => ({
    name: 'cards',
    on: ['output'] as const,
    shadow: true,
    window,
    rewrite: ({ content }: { readonly content: string }) => {
      const spans = [...content.matchAll(/\d{4}( \d{4}){3}/g)].map(({ index }) => ({ start: index, end: index + 19, with: '[card]' }));
      if (spans.length === 0) return allow();
      return by === 'spans' ? rewrite(spans, 'cards were masked') : rewrite('[gone]', 'cards were masked');
    },
  });
  const cards = (by: 'spans' | 'text', window?: number) => defineGuardrail(masking(by, window) as never) as Guardrail<unknown>;
  const text = `Cards ${secret} and ${secret}.`;

  it.each([
    ['spans of a held text', cards('spans'), { places: 2, size: { before: text.length, after: text.length - 26 } }],
    ['spans of a text that flows', cards('spans', 24), { places: 2, size: { before: text.length, after: text.length - 26 } }],
    ['a text in place of the whole', cards('text'), { size: { before: text.length, after: 6 } }],
  ])('in how many places and how much, never the text: %s', async (_, guardrail, told) => {
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say(text)]), guardrails: [guardrail] });
    const result = await run(agent, 'Which cards?');
    expect(result).toMatchObject({ status: 'completed', text });
    const [verdict] = shadowsOf(result);
    expect(verdict).toMatchObject({ action: 'rewrite', reason: 'cards were masked', ...told });
    expect(JSON.stringify(verdict)).not.toContain('[card]');
    expect(JSON.stringify(verdict)).not.toContain('[gone]');
    expect(JSON.stringify(verdict)).not.toContain(secret);
  });

  it.each(['sync', 'async'] as const)('a rewrite that would not have fitted is told as failed, its schema %s', async (kind) => {
    const input = z.object({ id: z.string() });
    const schema = kind === 'sync' ? input : input.refine(async () => true);
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      input: schema,
      flow: { effect: 'read' },
      execute: ({ id }) => `paid ${id}`,
    });
    const misfit = defineGuardrail({
      name: 'misfit',
      on: ['toolInput'],
      shadow: true,
      rewrite: () => rewrite({ id: 7 }, 'a number'),
    });
    const model = scriptedModel([callTool('pay', { id: 'o1' }), say('Paid.')]);
    const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [pay], guardrails: [misfit] }), 'Pay.');
    expect(result.status).toBe('completed');
    expect(shadowsOf(result)).toMatchObject([{ action: 'deny', failed: true, reason: 'guardrail misfit failed' }]);
    expect(auditLog(result.log)).toEqual([]);
  });
});

describe('rolling a shadow out', () => {
  const noPoems = (options: { readonly shadow: boolean }) =>
    defineGuardrail({
      name: 'no-poems',
      version: '1',
      on: ['input'],
      shadow: options.shadow,
      check: ({ content }) => (content.includes('poem') ? deny('no poems here') : allow()),
    });
  const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel(() => say('Yes.')) as Model });

  it('what it only saw in shadow it is asked about once it is obeyed, same version or not', async () => {
    const session = { store: memorySession(), id: 's' };
    expect((await run(agent, 'A poem, please.', { session, guardrails: [noPoems({ shadow: true })] })).status).toBe('completed');
    const next = await run(agent, 'And now?', { session, guardrails: [noPoems({ shadow: false })] });
    expect(next).toMatchObject({ status: 'blocked', by: 'no-poems' });
    expect(auditLog(next.log)).toEqual([]);
  });

  it('what it passed in shadow is asked about once more and no further', async () => {
    const session = { store: memorySession(), id: 's' };
    const seen: number[] = [];
    const counting = (shadow: boolean) =>
      defineGuardrail({
        name: 'counting',
        on: ['input'],
        shadow,
        check: ({ items }) => {
          seen.push(items.length);
          return allow();
        },
      });
    for (const shadow of [true, true, false, false]) await run(agent, 'Hi.', { session, guardrails: [counting(shadow)] });
    expect(seen).toEqual([1, 1, 5, 1]);
  });

  it('an interrupted run goes on with the shadow obeyed, and asks it again after approval', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), approval: true, execute: () => 'paid' });
    const model = scriptedModel([callTool('pay'), say('Done.')]);
    const payer = defineAgent({ name: 'a', instructions: '', model, tools: [pay] });
    const guard = (shadow: boolean) => defineGuardrail({ name: 'no-pay', on: ['toolInput'], shadow, check: () => deny('no payments') });
    const paused = await run(payer, 'Pay.', { guardrails: [guard(true)] });
    if (paused.status !== 'interrupted') throw new Error(paused.status);
    const [approval] = paused.approvals;
    const done = await resume(payer, paused.log, { guardrails: [guard(false)], decisions: { [approval?.id ?? '']: 'approve' } });
    expect(done.events.find((event) => event.type === 'tool.end')).toMatchObject({ status: 'denied' });
    expect(auditLog(done.log)).toEqual([]);
  });

  it('a target whose shadow refuses the brief is reached all the same', async () => {
    const guard = defineGuardrail({ name: 'closed', on: ['handoff', 'input'], shadow: true, check: () => deny('closed') });
    const model = scriptedModel({ a: [callTool('transfer_to_b')], b: [say('Here.')] });
    const b = defineAgent({ name: 'b', instructions: '', model, guardrails: [guard] });
    const a = defineAgent({ name: 'a', instructions: '', model, handoffs: [handoff(b, { history: (messages) => messages })] });
    const result = await run(a, 'Go.');
    expect(result).toMatchObject({ status: 'completed', agent: 'b', text: 'Here.' });
    expect(shadowsOf(result).map(({ surface }) => surface)).toEqual(['handoff', 'handoff', 'input']);
    expect(auditLog(result.log)).toEqual([]);
  });
});
