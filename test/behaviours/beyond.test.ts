import type { Guardrail, InputItem, LogEvent, Model, ModelRequest, SessionStore, Surface } from '@guardloop/core';
import {
  allow,
  ask,
  asTool,
  coverage,
  defineAgent,
  defineGuardrail,
  definePolicy,
  defineTool,
  deny,
  GuardloopError,
  halt,
  handoff,
  memorySession,
  rewrite,
} from '@guardloop/core';
import { callTool, say } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resume, run, scriptedModel, stream } from './audited.js';
import { callEnds, eventsOf, observationsIn, reread, sleep, untilAborted, watch } from './reading.js';
import { chatWire, messagesWire } from './wire.js';

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read' },
  execute: ({ orderId }) => `order ${orderId} is on its way`,
});

describe('guardrails at a handoff', () => {
  it('B53: The target agent’s guardrails check what it will see after a handoff', async () => {
    const seen: { readonly via: string; readonly text: string }[] = [];
    const targetSees = defineGuardrail({
      name: 'target-sees',
      on: ['input'],
      check: ({ items }) => {
        seen.push(...items.map(({ via, text }) => ({ via, text })));
        return allow();
      },
    });
    const model = scriptedModel({
      triage: [callTool('find_order', { orderId: 'o1' }), [say('Wait.'), callTool('transfer_to_billing')]],
      billing: [
        () => {
          expect(seen).toHaveLength(5);
          return say('Here is billing.');
        },
      ],
    });
    const billing = defineAgent({ name: 'billing', instructions: '', model, guardrails: [targetSees] });
    const triage = defineAgent({ name: 'triage', instructions: '', model, tools: [findOrder], handoffs: [billing] });
    const result = await run(triage, 'Where is o1?');
    expect(result).toMatchObject({ status: 'completed', agent: 'billing', output: 'Here is billing.' });
    expect(seen).toEqual([
      { via: 'user', text: 'Where is o1?' },
      { via: 'session', text: 'find_order {"orderId":"o1"}' },
      { via: 'session', text: 'order o1 is on its way' },
      { via: 'session', text: 'Wait.' },
      { via: 'handoff', text: 'Handed off from triage.' },
    ]);
  });

  it('B53: What the target agent’s input guardrail refuses in the history keeps the old agent active', async () => {
    const model = scriptedModel({ triage: [callTool('find_order', { orderId: 'o1' }), callTool('transfer_to_billing'), say('I stay.')] });
    const noOrders = defineGuardrail({
      name: 'no-orders',
      on: ['input'],
      check: ({ content }) => (content.includes('on its way') ? deny('billing may not see orders') : allow()),
    });
    const billing = defineAgent({ name: 'billing', instructions: '', model, guardrails: [noOrders] });
    const triage = defineAgent({ name: 'triage', instructions: '', model, tools: [findOrder], handoffs: [billing] });
    const result = await run(triage, 'Where is o1?');
    expect(result).toMatchObject({ status: 'completed', agent: 'triage', output: 'I stay.' });
    expect(observationsIn(model.requests[2]?.messages)).toMatchObject([{ status: 'denied', summary: 'billing may not see orders' }]);
    expect(model.requests.every(({ agent }) => agent === 'triage')).toBe(true);
  });

  it('B66: A handoff can be refused, and its refusal is something the model can act on', async () => {
    const model = scriptedModel({ triage: [callTool('transfer_to_billing'), say('I cannot send you there.')] });
    const billing = defineAgent({ name: 'billing', instructions: '', model });
    const stay = defineGuardrail({ name: 'stay', on: ['handoff'], check: ({ to }) => deny(`${to} is closed on Sundays`) });
    const triage = defineAgent({ name: 'triage', instructions: '', model, handoffs: [billing], guardrails: [stay] });
    const result = await run(triage, 'To billing!');
    expect(result).toMatchObject({ status: 'completed', agent: 'triage', output: 'I cannot send you there.' });
    expect(observationsIn(model.requests[1]?.messages)).toEqual([
      { status: 'denied', error_class: 'denied', summary: 'billing is closed on Sundays', retryable: false },
    ]);
    expect(eventsOf(result.log, 'handoff')).toEqual([]);
  });

  it('B67: Bad handoff arguments cost a turn, not the run', async () => {
    const model = scriptedModel({
      triage: [callTool('escalate', { urgency: 'very' }), callTool('escalate', { urgency: 3 })],
      billing: [say('At once.')],
    });
    const billing = defineAgent({ name: 'billing', instructions: '', model });
    const escalate = handoff(billing, {
      name: 'escalate',
      input: z.object({ urgency: z.number() }),
      brief: (input) => `urgency ${input.urgency}`,
    });
    const triage = defineAgent({ name: 'triage', instructions: '', model, handoffs: [escalate] });
    const result = await run(triage, 'Now!');
    expect(result).toMatchObject({ status: 'completed', agent: 'billing', output: 'At once.' });
    const [observation] = observationsIn(model.requests[1]?.messages);
    expect(observation).toMatchObject({ status: 'error', error_class: 'invalid_input', retryable: true });
    expect(observation?.summary).toContain('urgency');
    expect(eventsOf(result.log, 'handoff')).toMatchObject([{ brief: 'urgency 3' }]);
    expect(model.requests.map(({ agent, turn }) => `${agent} ${turn}`)).toEqual(['triage 1', 'triage 2', 'billing 3']);
  });
});

describe('text that a person could see', () => {
  const noSecrets = defineGuardrail({
    name: 'no-secrets',
    on: ['output'],
    check: ({ content }) => (content.includes('SECRET') ? deny('the answer held a secret') : allow()),
  });

  it('B54: Text beside tool calls is guarded like a final answer', async () => {
    let lookups = 0;
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      input: z.object({}),
      execute: () => {
        lookups += 1;
        return 'seen';
      },
    });
    const model = scriptedModel([[say('The SECRET is 42.'), callTool('look')], [say('Let me look.'), callTool('look')], say('Done.')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [look], guardrails: [noSecrets] });
    const { result, shown } = await watch(stream(agent, 'hi'));
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(lookups).toBe(1);
    expect(shown).toBe('Let me look.Done.');
    expect(JSON.stringify(result)).not.toContain('SECRET');
    expect(JSON.stringify(model.requests)).not.toContain('SECRET');
    expect(model.requests[1]?.note).toContain('the answer held a secret');
    expect(model.requests[2]?.note).toBeUndefined();
  });

  it('B55: Held streams show not one character of refused text, however it is cut into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 25 }), { maxLength: 6 }), async (chunks) => {
        const model = scriptedModel([say('~~~ the SECRET is 42 ~~~'), say('No.')], { chunks });
        const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [noSecrets] });
        const { result, events, shown } = await watch(stream(agent, 'hi'));
        expect(result).toMatchObject({ status: 'completed', output: 'No.' });
        expect(shown).toBe('No.');
        expect(JSON.stringify(events)).not.toContain('~');
        expect(events.some(({ type }) => type === 'text.retract')).toBe(false);
      }),
      { numRuns: 25 },
    );
  });

  it('B55: Windowed streams show what rewriting the whole text would have given, however it is cut into chunks', async () => {
    const hide = defineGuardrail({
      name: 'hide-digits',
      on: ['output'],
      window: 4,
      rewrite: ({ content }) => {
        const spans = [...content.matchAll(/(?<!\d)\d{4}(?!\d)/g)].map(({ index }) => ({ start: index, end: index + 4, with: '####' }));
        return spans.length > 0 ? rewrite(spans, 'a number') : allow();
      },
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 29 }), { maxLength: 8 }), async (chunks) => {
        const model = scriptedModel([say('Card 1234 and 12345, then 9876.')], { chunks });
        const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [hide] });
        const { result, shown } = await watch(stream(agent, 'hi'));
        expect(shown).toBe('Card #### and 12345, then ####.');
        expect(result).toMatchObject({ status: 'completed', output: shown });
      }),
      { numRuns: 25 },
    );
  });
});

describe('nested agents', () => {
  const childWith = (model: Model, ...guardrails: readonly Guardrail<unknown>[]) =>
    defineAgent({ name: 'child', instructions: '', model, tools: [findOrder], guardrails });

  it('B56: A nested agent’s halt halts the run', async () => {
    const model = scriptedModel({
      parent: [[callTool('ask_child', { input: 'go' }), callTool('slow')]],
      child: [callTool('find_order', { orderId: 'o1' })],
    });
    const stop = defineGuardrail({ name: 'stop', on: ['toolOutput'], check: () => halt('enough') });
    let isAborted = false;
    const slow = defineTool({
      name: 'slow',
      description: 'Waits.',
      input: z.object({}),
      execute: (_, { signal }) =>
        untilAborted(signal).catch(() => {
          isAborted = true;
          return 'stopped';
        }),
    });
    const parent = defineAgent({
      name: 'parent',
      instructions: '',
      model,
      tools: [asTool(childWith(model, stop), { name: 'ask_child', description: 'Asks.' }), slow],
    });
    const result = await run(parent, 'hi');
    expect(result).toMatchObject({ status: 'blocked', surface: 'toolOutput', by: 'stop', reason: 'enough' });
    expect(isAborted).toBe(true);
    expect(model.requests.map(({ agent }) => agent)).toEqual(['parent', 'child']);
    expect(eventsOf(result.log, 'run.end').map(({ status }) => status)).toEqual(['blocked', 'blocked']);
  });

  it('B64: Run-level guardrails hold in nested agents', async () => {
    const seen: string[] = [];
    const everywhere = defineGuardrail({
      name: 'everywhere',
      on: ['input', 'toolInput', 'toolOutput', 'output'],
      check: ({ surface, content }, { agentPath }) => {
        seen.push(`${agentPath.join('>')} ${surface}`);
        return surface === 'toolInput' && content.includes('o2') ? deny('o2 is not yours') : allow();
      },
    });
    const model = scriptedModel({
      parent: [callTool('ask_child', { input: 'go' }), say('Done.')],
      child: [callTool('find_order', { orderId: 'o2' }), say('I could not.')],
    });
    const parent = defineAgent({
      name: 'parent',
      instructions: '',
      model,
      tools: [asTool(childWith(model), { name: 'ask_child', description: 'Asks.' })],
    });
    const result = await run(parent, 'hi', { guardrails: [everywhere] });
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(callEnds(result.log)).toEqual(['find_order denied', 'ask_child ok']);
    expect(seen).toEqual([
      'parent input',
      'parent toolInput',
      'parent>child input',
      'parent>child toolInput',
      'parent>child output',
      'parent toolOutput',
      'parent output',
    ]);
  });
});

describe('refusals are fast and final', () => {
  it('B57: A refusal aborts the model call that it makes useless, within milliseconds', async () => {
    let turnsOfTheEventLoop = Number.NaN;
    let isAborted = false;
    const countTurns = (): void => {
      if (isAborted) return;
      turnsOfTheEventLoop += 1;
      setImmediate(countTurns);
    };
    const model: Model = {
      id: 'slow',
      provider: 'test',
      async *stream(_request, { signal }) {
        signal.addEventListener('abort', () => {
          isAborted = true;
        });
        yield { type: 'text.delta', text: 'I would say' };
        await untilAborted(signal);
      },
    };
    const offTopic = defineGuardrail({
      name: 'off-topic',
      on: ['input'],
      beside: 'model',
      check: async () => {
        await sleep(10);
        turnsOfTheEventLoop = 0;
        setImmediate(countTurns);
        return deny('not our topic');
      },
    });
    const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [offTopic] });
    const { result, shown } = await watch(stream(agent, 'hi'));
    expect(result).toMatchObject({ status: 'blocked', by: 'off-topic', reason: 'not our topic' });
    expect(shown).toBe('');
    expect(eventsOf(result.log, 'model.end')).toMatchObject([{ status: 'aborted', text: '' }]);
    expect(isAborted).toBe(true);
    expect(turnsOfTheEventLoop).toBeLessThanOrEqual(1);
  });

  const nonsense: readonly (readonly [string, unknown])[] = [
    ['undefined', undefined],
    ['null', null],
    ['true', true],
    ['a word', 'allow'],
    ['an empty object', {}],
    ['an unknown action', { action: 'ok' }],
    ['a deny without a reason', { action: 'deny' }],
    ['a promise of nothing', Promise.resolve()],
    [
      'a getter that throws',
      Object.defineProperty({}, 'action', {
        get: () => {
          throw new Error('no');
        },
      }),
    ],
    ['a rewrite by a check', { action: 'rewrite', value: 'better', reason: 'better' }],
  ];
  const surfaces: readonly Surface[] = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'];

  it.each(nonsense)('B58: A missing or nonsensical verdict refuses on every surface: %s', async (_, verdict) => {
    for (const surface of surfaces) {
      const broken = defineGuardrail({ name: 'broken', on: [surface], check: () => verdict as never });
      const model = scriptedModel({
        a: [[say('Let me see.'), callTool('find_order', { orderId: 'o1' }), callTool('transfer_to_b')], say('I stay.')],
        b: [say('b speaks.')],
      });
      const b = defineAgent({ name: 'b', instructions: '', model });
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [findOrder], handoffs: [b], guardrails: [broken] });
      const result = await run(agent, 'hi');
      expect(eventsOf(result.log, 'guard.verdict')).toContainEqual(
        expect.objectContaining({ surface, action: 'deny', failed: true, reason: 'guardrail broken failed' }),
      );
      const ends = callEnds(result.log);
      if (surface === 'input') expect(result).toMatchObject({ status: 'blocked', surface, by: 'broken', failed: true });
      if (surface === 'input') expect(model.requests).toEqual([]);
      if (surface === 'toolInput') expect(ends).toContain('find_order denied');
      if (surface === 'toolOutput') expect(ends).toContain('find_order error');
      if (surface === 'handoff') expect(ends).toContain('transfer_to_b denied');
      if (surface === 'handoff') expect(result).toMatchObject({ status: 'completed', agent: 'a' });
      if (surface === 'output') expect(result).toMatchObject({ status: 'blocked', surface, by: 'broken', failed: true });
      if (surface === 'output') expect(ends).toEqual([]);
    }
  });

  it('B58: An ask on input, where nobody can be asked, refuses', async () => {
    const model = scriptedModel([say('Hello.')]);
    const asks = defineGuardrail({ name: 'asks', on: ['input'], check: () => ask('may I?') as never });
    const asked = defineAgent({ name: 'a', instructions: '', model, guardrails: [asks] });
    expect(await run(asked, 'hi')).toMatchObject({ status: 'blocked', surface: 'input', by: 'asks', failed: true });
  });

  it('B63: Every guardrail has a deadline and sees the abort signal, on every surface', async () => {
    for (const surface of surfaces) {
      const signals: AbortSignal[] = [];
      const hangs = defineGuardrail({
        name: 'hangs',
        on: [surface],
        timeoutMs: 5,
        check: (_, { signal }) => {
          signals.push(signal);
          return new Promise<never>(() => undefined);
        },
      });
      const model = scriptedModel({
        a: [[say('Let me see.'), callTool('find_order', { orderId: 'o1' }), callTool('transfer_to_b')], say('I stay.')],
        b: [say('b speaks.')],
      });
      const b = defineAgent({ name: 'b', instructions: '', model });
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [findOrder], handoffs: [b], guardrails: [hangs] });
      const result = await run(agent, 'hi');
      expect(signals.length).toBeGreaterThan(0);
      expect(signals.every(({ aborted }) => aborted)).toBe(true);
      expect(eventsOf(result.log, 'guard.verdict')).toContainEqual(expect.objectContaining({ surface, action: 'deny', failed: true }));
    }
  });

  it('B63: The deadline is ten seconds where its author says nothing, and cancelling the run aborts the signal', async () => {
    const deadlines: number[] = [];
    const clock = {
      now: () => Date.now(),
      after: (ms: number) => {
        deadlines.push(ms);
        return () => undefined;
      },
    };
    const cancel = new AbortController();
    let wasAborted = false;
    const hangs = defineGuardrail({
      name: 'hangs',
      on: ['input'],
      check: (_, { signal }) => {
        signal.addEventListener('abort', () => {
          wasAborted = true;
        });
        setTimeout(() => cancel.abort(), 5);
        return new Promise<never>(() => undefined);
      },
    });
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Hello.')]), guardrails: [hangs] });
    expect(await run(agent, 'hi', { clock, signal: cancel.signal })).toMatchObject({ status: 'cancelled' });
    expect(deadlines).toEqual([10_000]);
    expect(wasAborted).toBe(true);
  });

  it('B62: Each verdict is an event with its time', async () => {
    let now = 1_000;
    const clock = { now: () => now, after: () => () => undefined };
    const slow = defineGuardrail({
      name: 'slow',
      on: ['input'],
      check: async () => {
        await Promise.resolve();
        now += 70;
        return allow();
      },
    });
    const quick = defineGuardrail({
      name: 'quick',
      on: ['output'],
      check: () => {
        now += 3;
        return allow();
      },
    });
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Hello.')]), guardrails: [slow, quick] });
    const result = await run(agent, 'hi', { clock });
    expect(eventsOf(result.log, 'guard.verdict')).toMatchObject([
      { guardrail: 'slow', surface: 'input', action: 'allow', ms: 70, at: 1_070 },
      { guardrail: 'quick', surface: 'output', action: 'allow', ms: 3, at: 1_073 },
    ]);
  });
});

describe('results without calls', () => {
  const partings: readonly (readonly [string, (role: string) => boolean])[] = [
    ['its calls', (role) => role !== 'assistant'],
    ['its results', (role) => role !== 'tool'],
  ];

  it.each(partings)('B59: A view that leaves out %s cannot make a broken pair leave', async (_, keeps) => {
    for (const serve of [chatWire, messagesWire]) {
      const wire = await serve([{ calls: [{ id: 'call_1', name: 'find_order', input: { orderId: 'o1' } }] }, { text: 'Done.' }]);
      const agent = defineAgent({ name: 'a', instructions: 'Be brief.', model: wire.model, tools: [findOrder] });
      const result = await run(agent, 'hi', { view: (messages) => messages.filter(({ role }) => keeps(role)) });
      expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
      expect(JSON.stringify(wire.bodies[1]?.messages)).not.toContain('call_1');
    }
  });

  it('B59: A handoff filter that parts a call from its result is refused, and nothing leaves', async () => {
    const wire = await chatWire([
      { calls: [{ id: 'c1', name: 'find_order', input: { orderId: 'o1' } }] },
      { calls: [{ id: 'c2', name: 'transfer_to_b' }] },
      { text: 'I stay.' },
    ]);
    const b = defineAgent({ name: 'b', instructions: '', model: wire.model });
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model: wire.model,
      tools: [findOrder],
      handoffs: [handoff(b, { history: (messages) => messages.filter(({ role }) => role !== 'tool') })],
    });
    expect(await run(agent, 'hi')).toMatchObject({ status: 'completed', agent: 'a', output: 'I stay.' });
  });
});

describe('the log', () => {
  /** A store that keeps what it was given until it is told to break. */
  function breakingStore(breaksAt: number): SessionStore & { readonly events: LogEvent[] } {
    const store = memorySession();
    const events: LogEvent[] = [];
    return {
      events,
      load: (id, after) => store.load(id, after),
      append: async (id, batch, after) => {
        if (events.length + batch.length > breaksAt) throw new Error('the disk is gone');
        await store.append(id, batch, after);
        events.push(...batch);
      },
    };
  }

  it('B60: Every event is stored in order, and before any effect that follows; after a crash at any point the log still tells the truth', async () => {
    const storedAtEffect: string[][] = [];
    const effects: string[] = [];
    const world = (store: { readonly events: readonly LogEvent[] }) => {
      const send = defineTool({
        name: 'send',
        description: 'Sends.',
        input: z.object({ to: z.string() }),
        flow: { effect: 'send' },
        execute: ({ to }, { idempotencyKey }) => {
          effects.push(idempotencyKey);
          storedAtEffect.push(store.events.filter(({ type }) => type === 'tool.start').map((event) => `${event.type}`));
          return `sent to ${to}`;
        },
      });
      const model = scriptedModel([callTool('send', { to: 'ann' }), callTool('send', { to: 'bob' }), say('Sent.')]);
      return defineAgent({ name: 'a', instructions: '', model, tools: [send] });
    };
    const whole = breakingStore(Number.POSITIVE_INFINITY);
    const result = await run(world(whole), 'hi', { session: { store: whole, id: 's' }, runId: 'r' });
    expect(result.status).toBe('completed');
    expect(whole.events).toEqual(result.log.events);
    expect(whole.events.map(({ seq }) => seq)).toEqual(whole.events.map((_, index) => index + 1));
    expect(storedAtEffect).toEqual([['tool.start'], ['tool.start', 'tool.start']]);

    for (let breaksAt = 1; breaksAt < whole.events.length; breaksAt += 1) {
      effects.length = 0;
      const store = breakingStore(breaksAt);
      const broken = await run(world(store), 'hi', { session: { store, id: 's' }, runId: 'r' });
      expect(broken).toMatchObject({ status: 'failed', error: { code: 'STORE_FAILED' } });
      const stored = { version: 1 as const, events: store.events };
      const started = eventsOf(stored, 'tool.start').map(({ idempotencyKey }) => idempotencyKey);
      expect(started).toEqual(expect.arrayContaining(effects));
      const ended = new Set(eventsOf(stored, 'tool.end').map(({ callId }) => `r/${callId}`));
      const again = await resume(world(store), reread(stored), { input: 'hi' });
      const open = started.filter((key) => !ended.has(key));
      expect(again.status).toBe(open.length > 0 ? 'interrupted' : 'completed');
      if (again.status === 'interrupted') expect(again.approvals).toMatchObject(open.map((key) => ({ subject: key, mayHaveRun: true })));
      expect(new Set(effects).size).toBe(effects.length);
    }
  });

  it('B61: An approval can edit the input; the edit is guarded', async () => {
    const paid: number[] = [];
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({ cents: z.number() }),
      approval: true,
      execute: ({ cents }) => {
        paid.push(cents);
        return 'paid';
      },
    });
    const cap = defineGuardrail({
      name: 'cap',
      on: ['toolInput'],
      check: ({ content }) => (content.includes('999999999999') ? deny('too much') : allow()),
    });
    const round = defineGuardrail({
      name: 'round',
      on: ['toolInput'],
      rewrite: ({ content }) => (content.includes('777') ? rewrite({ cents: 700 }, 'rounded') : allow()),
    });
    const model = scriptedModel([callTool('pay', { cents: 100 }), say('Done.')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [pay], guardrails: [round, cap] });
    const asked = await run(agent, 'hi', { runId: 'r' });
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    expect(asked.approvals).toMatchObject([{ id: 'r/p1', tool: 'pay', input: { cents: 100 } }]);
    const edit = (cents: number) => resume(agent, reread(asked.log), { decisions: { 'r/p1': { edit: { cents } } } });

    expect(await edit(90)).toMatchObject({ status: 'completed' });
    expect(paid).toEqual([90]);

    const refused = await edit(999_999_999_999);
    expect(refused).toMatchObject({ status: 'completed' });
    expect(callEnds(refused.log)).toEqual(['pay denied']);
    expect(JSON.stringify(refused.log)).not.toContain('999999999999');

    const changed = await edit(777);
    if (changed.status !== 'interrupted') throw new Error(changed.status);
    expect(changed.approvals).toMatchObject([{ id: 'r/p2', input: { cents: 700 } }]);
    expect(paid).toEqual([90]);
    expect(await resume(agent, reread(changed.log), { decisions: { 'r/p2': 'approve' } })).toMatchObject({ status: 'completed' });
    expect(paid).toEqual([90, 700]);
    await expect(resume(agent, reread(asked.log), { decisions: { 'r/p1': { edit: { cents: 'all' } } } })).rejects.toMatchObject({
      code: 'RESUME_MISMATCH',
    });
  });
});

describe('what guardrails and models are told', () => {
  it('B65: A guardrail is told which items are new and where each came from', async () => {
    const entries: { readonly agent: string; readonly items: readonly Pick<InputItem, 'via' | 'role' | 'text'>[] }[] = [];
    const watchInput = defineGuardrail({
      name: 'watch-input',
      on: ['input'],
      check: ({ items }, { agent }) => {
        entries.push({ agent, items: items.map(({ via, role, text }) => ({ via, role, text })) });
        return allow();
      },
    });
    const model = scriptedModel({
      triage: [callTool('ask_child', { input: 'look' }), callTool('transfer_to_billing')],
      child: [say('Nothing.')],
      billing: [say('Hello.')],
    });
    const child = defineAgent({ name: 'child', instructions: '', model });
    const billing = defineAgent({ name: 'billing', instructions: '', model });
    const triage = defineAgent({
      name: 'triage',
      instructions: '',
      model,
      tools: [asTool(child, { name: 'ask_child', description: 'Asks.' })],
      handoffs: [billing],
    });
    let isSummarised = false;
    await run(triage, 'Now this.', {
      guardrails: [watchInput],
      history: [{ role: 'user', text: 'Before.' }],
      view: (messages, { agent }) => {
        if (agent !== 'billing' || isSummarised) return messages;
        isSummarised = true;
        return [{ text: 'So far: nothing.' }, ...messages];
      },
    });
    expect(entries).toEqual([
      {
        agent: 'triage',
        items: [
          { via: 'session', role: 'user', text: 'Before.' },
          { via: 'user', role: 'user', text: 'Now this.' },
        ],
      },
      { agent: 'child', items: [{ via: 'parent', role: 'user', text: 'look' }] },
      { agent: 'billing', items: [{ via: 'handoff', role: 'user', text: 'Handed off from triage.' }] },
      { agent: 'billing', items: [{ via: 'view', role: 'user', text: 'So far: nothing.' }] },
    ]);
  });

  it('B68: Error texts tell the model which argument was wrong and why, and never repeat its value', async () => {
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({ to: z.object({ iban: z.string().min(5) }), cents: z.number().int().positive(), when: z.enum(['now', 'later']) }),
      execute: () => 'paid',
    });
    const model = scriptedModel([
      callTool('pay', { to: { iban: 'XY' }, cents: 'a-lot-of-money', when: 'yesterday' }),
      callTool('pay', { to: { iban: 'DE123' }, when: 'now' }),
      say('Hm.'),
    ]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [pay] });
    await run(agent, 'hi');
    const [first, second] = observationsIn(model.requests[2]?.messages);
    expect(first).toMatchObject({ status: 'error', error_class: 'invalid_input', retryable: true });
    expect(first?.summary).toMatch(/pay/);
    expect(first?.summary).toMatch(/to\.iban.*5/);
    expect(first?.summary).toMatch(/cents: expected integer above 0/);
    expect(first?.summary).toMatch(/when.*now.*later/);
    expect(first?.summary).not.toMatch(/XY|a-lot-of-money|yesterday/);
    expect(second?.summary).toMatch(/cents/);
    expect(second?.summary).not.toMatch(/iban/);
  });
});

describe('cost', () => {
  /** Twenty rounds of one call, and an answer; `each` sees every request. */
  async function longRun(each: (request: ModelRequest) => void, guardrails: Parameters<typeof run>[2] = {}) {
    const model = scriptedModel((request) => {
      each(request);
      return request.turn <= 20 ? callTool('find_order', { orderId: `o${request.turn}` }) : say('Done.');
    });
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [findOrder] });
    return run(agent, 'hi', { limits: { turns: 30 }, ...guardrails });
  }

  it('B69: The number of guardrail calls per turn does not grow with the transcript', async () => {
    const callsByTurn: number[] = [];
    let calls = 0;
    const everywhere = defineGuardrail({
      name: 'everywhere',
      on: ['input', 'toolInput', 'toolOutput', 'handoff', 'output'],
      check: () => {
        calls += 1;
        return allow();
      },
    });
    const result = await longRun(
      () => {
        callsByTurn.push(calls);
        calls = 0;
      },
      { guardrails: [everywhere] },
    );
    expect(result.status).toBe('completed');
    expect(callsByTurn).toEqual([1, ...Array.from({ length: 20 }, () => 2)]);
    expect(result.log.events.length).toBeLessThan(20 * 8);
  });

  it('B69: The view is one growing array, its items are never copied or changed', async () => {
    const seen = new Set<unknown>();
    let last: { readonly list: unknown; readonly items: readonly unknown[] } | undefined;
    const model: Model = {
      id: 'm',
      provider: 'test',
      async *stream({ messages, turn }) {
        if (last) expect(messages.slice(0, last.items.length).every((item, index) => item === last?.items[index])).toBe(true);
        last = { list: messages, items: [...messages] };
        seen.add(messages);
        if (turn <= 20) yield { type: 'tool.call', call: { name: 'find_order', input: { orderId: `o${turn}` } } };
        else yield { type: 'text.delta', text: 'Done.' };
        yield { type: 'end', stopReason: turn <= 20 ? 'tools' : 'stop', usage: { requests: 1, inputTokens: 1, outputTokens: 1 } };
      },
    };
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [findOrder] });
    expect(await run(agent, 'hi', { limits: { turns: 30 } })).toMatchObject({ status: 'completed' });
    expect(seen.size).toBe(1);
  });

  it.each([
    ['Chat Completions', chatWire],
    ['Messages', messagesWire],
  ] as const)('B69: The wire form of an item is made once in its life: %s', async (_, serve) => {
    const rounds = 12;
    const wire = await serve((body, index) =>
      index < rounds
        ? { calls: [{ id: `c${index}`, name: 'find_order', input: { orderId: `o${index}` } }] }
        : { text: `Done after ${body.messages.length}.` },
    );
    let reads = 0;
    const readsByTurn: number[] = [];
    const watched: object[] = [];
    const counting = <T extends object>(item: T): T =>
      new Proxy(item, {
        get: (target, key) => {
          if (key === 'content' || key === 'parts' || key === 'text') reads += 1;
          return Reflect.get(target, key) as unknown;
        },
      });
    const model: Model = {
      ...wire.model,
      id: wire.model.id,
      provider: wire.model.provider,
      stream: (request, options) => {
        for (const message of request.messages.slice(watched.length)) watched.push(counting(message));
        readsByTurn.push(reads);
        reads = 0;
        return wire.model.stream({ ...request, messages: watched as unknown as ModelRequest['messages'] }, options);
      },
    };
    const agent = defineAgent({ name: 'a', instructions: 'Be brief.', model, tools: [findOrder] });
    expect(await run(agent, 'hi', { limits: { turns: 30 } })).toMatchObject({ status: 'completed' });
    readsByTurn.push(reads);
    const perTurn = readsByTurn.slice(2);
    expect(Math.min(...perTurn)).toBeGreaterThan(0);
    expect(new Set(perTurn).size).toBe(1);
  });
});

describe('coverage', () => {
  const onInput = defineGuardrail({ name: 'on-input', on: ['input'], check: () => allow() });
  const policy = definePolicy({ name: 'policy', rules: [], otherwise: 'allow' });
  const model = scriptedModel([]);
  const child = defineAgent({ name: 'child', instructions: '', model, tools: [findOrder], guardrails: [policy] });
  const billing = defineAgent({ name: 'billing', instructions: '', model });
  const triage = defineAgent({
    name: 'triage',
    instructions: '',
    model,
    tools: [asTool(child, { name: 'ask_child', description: 'Asks.' })],
    handoffs: [billing],
    guardrails: [onInput],
  });

  it('B70: A report says which surfaces of which agents have no guardrail', () => {
    const report = coverage(triage).map(({ agentPath, tool, unguarded }) => [
      [...agentPath, ...(tool ? [tool] : [])].join('>'),
      ...unguarded,
    ]);
    expect(report).toEqual(
      expect.arrayContaining([
        ['triage', 'output', 'handoff'],
        ['triage>ask_child', 'toolInput', 'toolOutput'],
        ['triage>child', 'input', 'output'],
        ['triage>child>find_order', 'toolOutput'],
        ['billing', 'input', 'output'],
      ]),
    );
    expect(report).toHaveLength(5);
    const all = defineGuardrail({ name: 'all', on: ['input', 'toolInput', 'toolOutput', 'handoff', 'output'], check: () => allow() });
    expect(coverage(triage, { guardrails: [all] }).flatMap(({ unguarded }) => unguarded)).toEqual([]);
  });

  it('B70: A strict run refuses to start while a surface has no guardrail', async () => {
    const refusal: unknown = await run(triage, 'hi', { strict: true }).catch((error: unknown) => error);
    expect(GuardloopError.is(refusal) && refusal.code).toBe('CONFIG_INVALID');
    expect((refusal as Error).message).toContain('triage: output');
    expect((refusal as Error).message).toContain('billing: input');
    expect(model.requests).toEqual([]);
  });
});
