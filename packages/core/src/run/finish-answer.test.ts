import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Turn } from '../../test/scene.js';
import { agentOf, calls, eventsOf, gate, scripted, settle, tool, usage } from '../../test/scene.js';
import { defineGuardrail } from '../define/guardrail.js';
import { handoff } from '../define/handoff.js';
import type { OutputSubject, Subject } from '../define/types.js';
import { allow, ask, deny, halt, rewrite } from '../define/verdict.js';
import type { JsonValue, ModelCall, ModelEvent } from '../model/types.js';
import type { RunEvent } from '../state/events.js';
import { resume, run } from './run.js';

interface Making {
  readonly agent?: object;
  readonly options?: object;
}

const ending = (more: object = {}): ModelEvent => ({ type: 'end', stopReason: 'stop', usage, ...more }) as ModelEvent;
const says = (text: string): ModelEvent => ({ type: 'text.delta', text });
const thinks = (text: string): ModelEvent => ({ type: 'reasoning.delta', text });
const native: JsonValue = { raw: true };
const look = tool('look', () => 'Seen.');
const label = { origin: 'agent:desk', integrity: 'trusted' } as const;
const end = { type: 'model.end', run: 'r1', agent: 'desk', turn: 1, id: 'r1/1', text: '', revision: 0, calls: [], label, usage };

/** What a run recorded of its model's answers, and what of them was shown. */
async function answered(turns: readonly Turn[], { agent = {}, options = {} }: Making = {}) {
  const told: RunEvent[] = [];
  const made = agentOf({ model: scripted(...turns), tools: [look], ...agent });
  const result = await run(made, 'hello', { runId: 'r1', observers: [(event: RunEvent) => told.push(event)], ...options });
  return { result, agent: made, ends: endsOf(result.log), shown: shownOf(told) };
}
const endsOf = (log: Parameters<typeof eventsOf>[0]) => eventsOf(log, 'model.end').map(({ seq, at, ...event }) => event);
const shownOf = (told: readonly RunEvent[]): string[] =>
  told.flatMap((event) => {
    if (event.type === 'text.delta') return [event.text];
    if (event.type === 'reasoning.delta') return [`(${event.text})`];
    return event.type === 'text.retract' ? [`-${event.chars}: ${event.reason}`] : [];
  });

const onOutput = (check: (subject: OutputSubject) => ReturnType<typeof deny> | ReturnType<typeof allow> | ReturnType<typeof ask>) =>
  defineGuardrail({ name: 'sees', on: ['output'], check });
const mending = (surface: 'output' | 'toolInput' | 'handoff', make: (subject: Subject) => unknown) =>
  defineGuardrail({ name: 'mends', on: [surface], rewrite: make as never });
const shout = mending('output', ({ content }) => rewrite(content.toUpperCase(), 'louder'));
const denies = (kind: OutputSubject['kind']) => onOutput((subject) => (subject.kind === kind ? deny('not this') : allow()));

describe('an answer', () => {
  it('is recorded with all that is known of it', async () => {
    const { ends, shown } = await answered([[says('Hello.'), ending()]]);
    expect(ends).toStrictEqual([{ ...end, status: 'ok', text: 'Hello.', stopReason: 'stop' }]);
    expect(shown).toEqual(['Hello.']);
  });

  it('that is empty is recorded as such, and asked for once more', async () => {
    const { ends } = await answered([[ending()], 'Hello.']);
    expect(ends[0]).toStrictEqual({ ...end, status: 'ok', stopReason: 'stop', empty: true });
    expect(ends[1]).toMatchObject({ turn: 2, text: 'Hello.' });
  });

  it('that only calls is not empty', async () => {
    const { ends } = await answered([[calls('look')], 'Hello.']);
    expect(ends[0]).not.toHaveProperty('empty');
    expect(ends[0]).toMatchObject({ stopReason: 'tools', calls: [{ id: '1.0', name: 'look' }] });
  });

  it.each([
    ['an answer', [says('Hello.')]],
    ['an empty one', []],
  ])('tells who gave %s where it is another model than was asked', async (_what, events) => {
    const { ends } = await answered([[...events, ending({ by: { id: 'm2', provider: 'other' }, native })], 'Hello.']);
    expect(ends[0]).toMatchObject({ model: 'm2' });
    expect(ends[0]?.native).toEqual(events.length === 0 ? undefined : { provider: 'other', message: native });
  });

  it('is recorded in the form that a guardrail gave it', async () => {
    const { ends, shown, result } = await answered([[says('Hello.'), ending({ native })]], { agent: { guardrails: [shout] } });
    expect(ends).toEqual([{ ...end, status: 'ok', text: 'HELLO.', revision: 1, stopReason: 'stop', answers: 'r' }]);
    expect(shown).toEqual(['HELLO.']);
    expect(result).toMatchObject({ status: 'completed', text: 'HELLO.' });
  });

  it('is not recorded where a guardrail refuses it, but its size, and why', async () => {
    const { ends, shown } = await answered(['secret', 'Hello.'], {
      agent: { guardrails: [onOutput(({ content }) => (content === 'secret' ? deny('no secrets') : allow()))] },
    });
    const refusal = { action: 'deny', surface: 'output', by: 'sees', reason: 'no secrets' };
    expect(ends[0]).toStrictEqual({ ...end, status: 'refused', chars: 6, refusal, stopReason: 'stop', answers: 'd' });
    expect(shown).toEqual(['Hello.']);
  });

  it('that was shown at once is taken back where it is refused, or shown anew where it was rewritten', async () => {
    const options = { release: 'live' };
    const refused = await answered(['secret', 'Hello.'], {
      agent: { guardrails: [onOutput(({ content }) => (content === 'secret' ? deny('no') : allow()))] },
      options,
    });
    expect(refused.shown).toEqual(['secret', '-6: no', 'Hello.']);
    const rewritten = await answered(['Hello.'], { agent: { guardrails: [shout] }, options });
    expect(rewritten.shown).toEqual(['Hello.', '-6: a guardrail rewrote the answer', 'HELLO.']);
    const passed = await answered(['Hello.'], { agent: { guardrails: [denies('reasoning')] }, options });
    expect(passed.shown).toEqual(['Hello.']);
  });

  it('that flowed through a window is not shown again', async () => {
    const windowed = defineGuardrail({
      name: 'windowed',
      on: ['output'],
      window: 4,
      rewrite: ({ content }: Subject) =>
        (content.includes('bad')
          ? rewrite([{ start: content.indexOf('bad'), end: content.indexOf('bad') + 3, with: '***' }], 'bad')
          : allow()) as never,
    });
    const { ends, shown } = await answered([[says('It is bad, and'), says(' it is good.'), ending({ native })]], {
      agent: { guardrails: [windowed] },
    });
    expect(shown.join('')).toBe('It is ***, and it is good.');
    expect(ends).toEqual([{ ...end, status: 'ok', text: 'It is ***, and it is good.', revision: 1, stopReason: 'stop', answers: 'r' }]);
  });

  it('is judged as the last word where it calls nothing, else as one beside calls', async () => {
    const seen: unknown[] = [];
    const sees = onOutput(({ content, final, kind, value }) => {
      seen.push({ content, final, kind, value });
      return allow();
    });
    const { ends } = await answered([[says('Let me look.'), calls('look')], 'Hello.'], { agent: { guardrails: [sees] } });
    expect(seen).toEqual([
      { content: 'Let me look.', final: false, kind: 'answer', value: 'Let me look.' },
      { content: 'Hello.', final: true, kind: 'answer', value: 'Hello.' },
    ]);
    expect(ends[0]).toMatchObject({ text: 'Let me look.' });
  });

  it('without a word beside its calls is put to nobody', async () => {
    let asked = 0;
    const sees = onOutput(() => {
      asked += 1;
      return allow();
    });
    await answered([[calls('look')], 'Hello.'], { agent: { guardrails: [sees] } });
    expect(asked).toBe(1);
  });

  it('ends with the run where it was stopped while a guardrail looked, and is taken back', async () => {
    const controller = new AbortController();
    const sees = defineGuardrail({ name: 'sees', on: ['output'], check: () => new Promise(() => undefined) });
    const told: RunEvent[] = [];
    const running = run(agentOf({ model: scripted('Hello.'), guardrails: [sees] }), 'hello', {
      runId: 'r1',
      signal: controller.signal,
      release: 'live',
      observers: [(event: RunEvent) => told.push(event)],
    });
    await settle();
    controller.abort();
    const { log } = await running;
    expect(endsOf(log)).toEqual([{ ...end, status: 'aborted', chars: 6 }]);
    expect(shownOf(told)).toEqual(['Hello.', '-6: the run was stopped']);
  });
});

describe('a structured answer', () => {
  const output = z.object({ cents: z.number() });

  it('is recorded as its text and as the value that the model gave', async () => {
    const { ends, result } = await answered(['{"cents":5}'], { agent: { output: z.object({ cents: z.number().transform(String) }) } });
    expect(ends).toEqual([{ ...end, status: 'ok', text: '{"cents":5}', value: { cents: 5 }, stopReason: 'stop' }]);
    expect(result).toMatchObject({ status: 'completed', output: { cents: '5' } });
  });

  it('that does not fit is not recorded, but what does not fit', async () => {
    const { ends, result } = await answered(['{"cents":"x"}', '{"cents":5}'], { agent: { output } });
    expect(ends[0]).toEqual({ ...end, status: 'refused', chars: 13, misfit: expect.stringContaining('cents'), stopReason: 'stop' });
    expect(ends[0]).not.toHaveProperty('refusal');
    expect(result.status).toBe('completed');
  });

  it('that is no JSON is told so', async () => {
    const { ends } = await answered(['five', '{"cents":5}'], { agent: { output } });
    expect(ends[0]).toMatchObject({ status: 'refused', misfit: expect.stringContaining('it is not valid JSON') });
  });

  it('is not asked of words beside calls', async () => {
    const { ends, result } = await answered([[says('Let me look.'), calls('look')], '{"cents":5}'], { agent: { output } });
    expect(ends[0]).toMatchObject({ status: 'ok', text: 'Let me look.' });
    expect(ends[0]).not.toHaveProperty('value');
    expect(result).toMatchObject({ status: 'completed', output: { cents: 5 } });
  });

  it('is recorded as the value that a guardrail made of it', async () => {
    const lower = mending('output', ({ content }) => rewrite(content.replace('5', '4'), 'less'));
    const { ends, result } = await answered(['{"cents":5}'], { agent: { output, guardrails: [lower] } });
    expect(ends[0]).toMatchObject({ text: '{"cents":4}', value: { cents: 4 }, revision: 1 });
    expect(result).toMatchObject({ output: { cents: 4 } });
  });

  it('is no value where the agent wants none, and none beside calls', async () => {
    expect((await answered(['{"cents":5}'])).ends[0]).not.toHaveProperty('value');
    const { ends } = await answered([[says('{"cents":5}'), calls('look')], '{"cents":5}'], {
      agent: { output, guardrails: [onOutput(() => allow())] },
    });
    expect(ends.map(({ value }) => value)).toEqual([undefined, { cents: 5 }]);
  });

  it('alone must keep its form where a guardrail rewrites: words beside calls and reasoning are free', async () => {
    const mends = mending('output', ({ content }) => (content.startsWith('{') ? allow() : rewrite('Well.', 'softer')));
    const beside = await answered([[says('So.'), calls('look')], '{"cents":5}'], { agent: { output, guardrails: [mends] } });
    expect(beside.ends.map(({ text }) => text)).toEqual(['Well.', '{"cents":5}']);
    const thought = await answered([[thinks('Hm.'), says('{"cents":5}')]], {
      agent: { output, guardrails: [mends] },
      options: { reasoning: 'show' },
    });
    expect(thought.ends).toMatchObject([{ status: 'ok', reasoning: 'Well.', value: { cents: 5 } }]);
  });

  it('is refused where a rewrite makes no sense', async () => {
    const odd = mending('output', ({ content }) => (content === 'So.' ? rewrite([{ start: 2, end: 1, with: '' }], 'odd') : allow()));
    const { ends } = await answered(['So.', 'Hello.'], { agent: { guardrails: [odd] } });
    expect(ends[0]).toMatchObject({ status: 'refused', refusal: { by: 'mends', failed: true } });
  });

  it('is void where the run was stopped while its schema looked at it', async () => {
    const controller = new AbortController();
    const slow = z.object({ cents: z.number() }).refine(() => new Promise<boolean>(() => undefined));
    const running = run(agentOf({ model: scripted('{"cents":5}'), output: slow }), 'hello', { runId: 'r1', signal: controller.signal });
    await settle();
    controller.abort();
    const { log, status } = await running;
    expect(status).toBe('cancelled');
    expect(endsOf(log)).toEqual([{ ...end, status: 'aborted', chars: 11 }]);
  });

  it('is taken when its schema has looked at it for a while', async () => {
    const slow = z.object({ cents: z.number() }).refine(async () => true);
    expect((await answered(['{"cents":5}'], { agent: { output: slow } })).result).toMatchObject({
      status: 'completed',
      output: { cents: 5 },
    });
  });
});

describe('the message of the provider', () => {
  const kept = { provider: 'maker', message: native };
  const order = handoff(agentOf({ name: 'billing' }), { name: 'to_billing', input: z.object({ cents: z.number() }) });
  const brief = handoff(agentOf({ name: 'billing' }), { name: 'to_billing', brief: () => 'Bill it.' });
  const mendCall = mending('toolInput', () => rewrite({ at: 'sea' }, 'nearer'));
  const calling = (name: string, input: JsonValue): Turn => [says('So.'), calls(name, input), ending({ stopReason: 'tools', native })];
  const billing = { 'Bill it.': 1 };

  it.each([
    ['nothing of the answer was touched', [says('So.'), ending({ native })], {}, kept],
    ['a call goes as it was made', calling('look', { at: 'sky' }), {}, kept],
    ['a handoff goes as it was made', calling('to_billing', { cents: 5 }), { handoffs: [order] }, kept],
    ['a call was rewritten', calling('look', { at: 'sky' }), { guardrails: [mendCall] }, undefined],
    ['a call does not run', calling('nothing', {}), {}, undefined],
    ['one of two calls does not run', [calls('look'), calls('nothing'), ending({ native })], {}, undefined],
    ['the arguments of a handoff are not recorded', calling('to_billing', billing), { handoffs: [brief] }, undefined],
    ['a handoff with a brief has no arguments', calling('to_billing', {}), { handoffs: [brief] }, kept],
    ['the text was rewritten', [says('So.'), ending({ native })], { guardrails: [shout] }, undefined],
  ] as const)('is kept or dropped where %s', async (...[, turn, agent, expected]) => {
    const { ends } = await answered([turn as Turn, 'Done.', 'Done.'], { agent });
    expect(ends[0]?.status).toBe('ok');
    expect(ends[0]?.native).toEqual(expected);
  });

  it('is dropped where shown reasoning was rewritten, and kept where it passed', async () => {
    const onlyReasoning = mending('output', (subject) =>
      (subject as OutputSubject).kind === 'reasoning' ? rewrite('Hm!', 'short') : allow(),
    );
    const turn: Turn = [thinks('Hm.'), says('So.'), ending({ native })];
    const rewritten = await answered([turn], { agent: { guardrails: [onlyReasoning] }, options: { reasoning: 'show' } });
    expect(rewritten.ends[0]).toMatchObject({ text: 'So.', reasoning: 'Hm!' });
    expect(rewritten.ends[0]).not.toHaveProperty('native');
    const passed = await answered([turn], { agent: { guardrails: [onOutput(() => allow())] }, options: { reasoning: 'show' } });
    expect(passed.ends[0]).toMatchObject({ reasoning: 'Hm.', native: kept });
  });
});

describe('shown reasoning', () => {
  const options = { reasoning: 'show' };
  const turn: Turn = [thinks('Hm.'), says('So.')];

  it('is recorded and shown before the answer once both have passed', async () => {
    const { ends, shown } = await answered([turn], { agent: { guardrails: [onOutput(() => allow())] }, options });
    expect(ends[0]).toMatchObject({ text: 'So.', reasoning: 'Hm.' });
    expect(shown).toEqual(['(Hm.)', 'So.']);
  });

  it('that nothing guards is shown once', async () => {
    const { ends, shown } = await answered([turn], { options });
    expect(shown).toEqual(['(Hm.)', 'So.']);
    expect(ends[0]).toMatchObject({ reasoning: 'Hm.' });
  });

  it('is neither judged nor recorded where the run hides it, or where there is none', async () => {
    const kinds: string[] = [];
    const sees = onOutput(({ kind }) => {
      kinds.push(kind);
      return allow();
    });
    const hidden = await answered([turn], { agent: { guardrails: [sees] } });
    const none = await answered(['So.'], { agent: { guardrails: [sees] }, options });
    for (const { ends } of [hidden, none]) expect(ends[0]).not.toHaveProperty('reasoning');
    expect(kinds).toEqual(['answer', 'answer']);
  });

  it('is judged as what it is, under its own name', async () => {
    const sees: OutputSubject[] = [];
    const { result } = await answered([[thinks('Hm.'), says('So.'), calls('look')], 'Done.'], {
      agent: { guardrails: [onOutput((subject) => (sees.push(subject) > 0 ? allow() : deny('')))] },
      options,
    });
    expect(sees[0]).toEqual({ surface: 'output', content: 'Hm.', label, value: 'Hm.', final: false, kind: 'reasoning' });
    expect(eventsOf(result.log, 'guard.verdict').map(({ subject }) => subject)).toEqual(['r1/1/reasoning', 'r1/1', 'r1/2']);
  });

  it.each([
    ['refused', deny('not this'), { action: 'deny', surface: 'output', by: 'sees', reason: 'not this' }],
    [
      'one that a person would have to see',
      ask('look'),
      { action: 'ask', surface: 'output', by: 'sees', reason: 'look (shown reasoning cannot wait for a person)' },
    ],
  ])('takes the answer with it where it is %s', async (_what, verdict, refusal) => {
    const sees = onOutput(({ kind }) => (kind === 'reasoning' ? verdict : allow()));
    const { ends, shown } = await answered([turn, 'Hello.'], { agent: { guardrails: [sees] }, options });
    expect(ends[0]).toMatchObject({ status: 'refused', chars: 3, refusal });
    expect(shown).toEqual(['Hello.']);
  });

  it('is not shown where the answer is refused', async () => {
    const { ends, shown } = await answered([turn, 'Hello.'], {
      agent: { guardrails: [onOutput(({ content }) => (content === 'So.' ? deny('no') : allow()))] },
      options,
    });
    expect(ends[0]).toMatchObject({ status: 'refused' });
    expect(shown).toEqual(['Hello.']);
  });

  it('is void where the run was stopped while a guardrail looked at it', async () => {
    const controller = new AbortController();
    const sees = defineGuardrail({ name: 'sees', on: ['output'], check: () => new Promise(() => undefined) });
    const running = run(agentOf({ model: scripted(turn), guardrails: [sees] }), 'hello', {
      runId: 'r1',
      signal: controller.signal,
      reasoning: 'show',
    });
    await settle();
    controller.abort();
    expect(endsOf((await running).log)).toEqual([{ ...end, status: 'aborted', chars: 3 }]);
  });
});

describe('an answer that a person is to see', () => {
  const asks = onOutput(({ content }) => (content.toLowerCase() === 'so.' ? ask('look at it') : allow()));
  function quarantine() {
    const kept = new Map<string, JsonValue>();
    const store = {
      put: async (key: string, value: JsonValue) => void kept.set(key, value),
      get: async (key: string) => kept.get(key),
      delete: async (key: string) => void kept.delete(key),
    };
    return { kept, store };
  }

  it('is refused where there is no place for it to wait', async () => {
    const { ends } = await answered(['So.', 'Hello.'], { agent: { guardrails: [asks] } });
    const reason = 'look at it (a person would have to see this answer, and the run has no quarantine store)';
    expect(ends[0]).toMatchObject({ status: 'refused', refusal: { action: 'ask', surface: 'output', by: 'sees', reason } });
  });

  it('waits in quarantine with its reasoning, taken back where it was shown', async () => {
    const { kept, store } = quarantine();
    const { result, ends, shown } = await answered([[thinks('Hm.'), says('So.'), ending({ native })]], {
      agent: { guardrails: [asks] },
      options: { quarantine: store, release: 'live', reasoning: 'show' },
    });
    expect(result.status).toBe('interrupted');
    expect(ends).toEqual([]);
    expect(shown).toEqual(['So.', '-3: the answer waits for a person']);
    expect(kept.get('r1/1')).toMatchObject({ text: 'So.', answer: { text: 'So.', reasoning: 'Hm.', native } });
  });

  it('waits without its reasoning where that is hidden, and without the message of the provider where it was rewritten', async () => {
    const { kept, store } = quarantine();
    await answered([[thinks('Hm.'), says('So.'), ending({ native })]], {
      agent: { guardrails: [shout, asks] },
      options: { quarantine: store },
    });
    expect(kept.get('r1/1')).toMatchObject({ text: 'SO.', answer: { text: 'So.', reasoning: '' } });
    expect(kept.get('r1/1')).not.toHaveProperty('answer.native');
  });

  it('waits without the message of the provider where its reasoning was rewritten', async () => {
    const { kept, store } = quarantine();
    const mends = mending('output', (subject) => ((subject as OutputSubject).kind === 'reasoning' ? rewrite('Hm!', 'short') : allow()));
    await answered([[thinks('Hm.'), says('So.'), ending({ native })]], {
      agent: { guardrails: [mends, asks] },
      options: { quarantine: store, reasoning: 'show' },
    });
    expect(kept.get('r1/1')).toMatchObject({ answer: { reasoning: 'Hm!' } });
    expect(kept.get('r1/1')).not.toHaveProperty('answer.native');
  });

  it('is void where the run was stopped before it lay there', async () => {
    const controller = new AbortController();
    const store = { ...quarantine().store, put: () => new Promise<void>(() => undefined) };
    const running = run(agentOf({ model: scripted('So.'), guardrails: [asks] }), 'hello', {
      runId: 'r1',
      signal: controller.signal,
      quarantine: store,
    });
    for (let turns = 0; turns < 20; turns += 1) await settle();
    controller.abort();
    expect(endsOf((await running).log)).toEqual([{ ...end, status: 'aborted', chars: 3, answers: 'k' }]);
  });

  it('is shown and recorded once it was approved, as it was', async () => {
    const { store } = quarantine();
    const options = { quarantine: store, release: 'live', reasoning: 'show' } as const;
    const asked = await answered([[thinks('Hm.'), says('So.'), ending({ native })]], { agent: { guardrails: [asks] }, options });
    const told: RunEvent[] = [];
    const done = await resume(asked.agent, asked.result.log, {
      ...options,
      decisions: { 'r1/p1': 'approve' },
      observers: [(event: RunEvent) => told.push(event)],
    });
    expect(done).toMatchObject({ status: 'completed', text: 'So.' });
    expect(shownOf(told)).toEqual(['(Hm.)', 'So.']);
    expect(endsOf(done.log)).toMatchObject([
      { status: 'ok', text: 'So.', reasoning: 'Hm.', native: { provider: 'maker', message: native } },
    ]);
  });

  it('goes on waiting where the run is stopped while it is judged again', async () => {
    const { store } = quarantine();
    const asked = await answered(['So.'], { agent: { guardrails: [asks] }, options: { quarantine: store } });
    const controller = new AbortController();
    const begun = gate<void>();
    const hangs = defineGuardrail({
      name: 'sees',
      on: ['output'],
      check: () => {
        begun.resolve();
        return new Promise(() => undefined);
      },
    });
    const again = agentOf({ model: scripted('So.'), tools: [look], guardrails: [hangs] });
    const running = resume(again, asked.result.log, { quarantine: store, decisions: { 'r1/p1': 'approve' }, signal: controller.signal });
    await begun.promise;
    controller.abort();
    const stopped = await running;
    expect(stopped.status).toBe('cancelled');
    expect(endsOf(stopped.log)).toEqual([]);
  });

  it('is not put to rewrites again once it was approved', async () => {
    const { store } = quarantine();
    let asked = 0;
    const counts = mending('output', () => {
      asked += 1;
      return allow();
    });
    const waiting = await answered(['So.'], { agent: { guardrails: [counts, asks] }, options: { quarantine: store } });
    expect(await resume(waiting.agent, waiting.result.log, { quarantine: store, decisions: { 'r1/p1': 'approve' } })).toMatchObject({
      status: 'completed',
    });
    expect(asked).toBe(1);
  });

  it('that flowed through windows is judged whole once it was approved', async () => {
    const { store } = quarantine();
    const windowed = defineGuardrail({ name: 'sees', on: ['output'], window: 4, rewrite: () => allow() });
    const asking = await answered(['So.'], { agent: { guardrails: [asks] }, options: { quarantine: store } });
    const done = await resume(agentOf({ model: scripted('So.'), tools: [look], guardrails: [windowed] }), asking.result.log, {
      quarantine: store,
      accept: 'changed',
      decisions: { 'r1/p1': 'approve' },
    });
    expect(done).toMatchObject({ status: 'completed', text: 'So.' });
  });
});

describe('the calls of an answer', () => {
  it('are told once they have passed, but for those that will not run', async () => {
    const told: RunEvent[] = [];
    const turn: Turn = [calls('look', { at: 'sky' }), calls('nothing', { at: 'sea' })];
    await answered([turn, 'Done.'], { options: { observers: [(event: RunEvent) => told.push(event)] } });
    expect(told.filter(({ type }) => type === 'tool.delta')).toEqual([
      { type: 'tool.delta', at: expect.any(Number), run: 'r1', agent: 'desk', callId: '1.0', tool: 'look', text: '{"at":"sky"}' },
    ]);
  });

  it('do not run in the last answer after a limit', async () => {
    const { ends, result } = await answered(
      [[calls('look')], [says('So.'), calls('look', { at: 'sky' }), calls('made_up'), ending({ native, stopReason: 'tools' })]],
      {
        options: { limits: { turns: 1 }, onLimit: 'finalize' },
      },
    );
    expect(result).toMatchObject({ status: 'exhausted', limit: 'turns' });
    const summary = 'This call was not started: the limit of the run is reached.';
    const call = (id: string, name: string) => ({
      id,
      name,
      input: {},
      kind: 'unknown',
      revision: 0,
      end: {
        status: 'aborted',
        content: JSON.stringify({ status: 'aborted', error_class: 'aborted', summary, retryable: false }),
        errorClass: 'aborted',
        retryable: false,
        label: { origin: 'developer', integrity: 'trusted' },
      },
    });
    expect(ends[1]?.calls).toEqual([call('2.0', 'look'), call('2.1', 'unknown_tool')]);
    expect(ends[1]).not.toHaveProperty('native');
  });

  it('are void with the answer where the run was stopped while they were judged', async () => {
    const controller = new AbortController();
    const sees = defineGuardrail({ name: 'sees', on: ['toolInput'], check: () => new Promise(() => undefined) });
    const running = run(agentOf({ model: scripted([says('So.'), calls('look')]), tools: [look], guardrails: [sees] }), 'hello', {
      runId: 'r1',
      signal: controller.signal,
    });
    await settle();
    controller.abort();
    expect(endsOf((await running).log)).toEqual([{ ...end, status: 'aborted', chars: 3 }]);
  });

  it('are recorded where a guardrail halted the run over one of them', async () => {
    const sees = defineGuardrail({ name: 'sees', on: ['toolInput'], check: () => halt('no more') });
    const { ends, result } = await answered([[says('So.'), calls('look')]], { agent: { guardrails: [sees] } });
    expect(ends).toMatchObject([{ status: 'ok', text: 'So.', calls: [{ end: { status: 'denied', refusal: { action: 'halt' } } }] }]);
    expect(result).toMatchObject({ status: 'blocked', by: 'sees' });
  });

  it('are recorded when the guardrails have answered, however late', async () => {
    const verdict = gate<ReturnType<typeof allow>>();
    const sees = defineGuardrail({ name: 'sees', on: ['toolInput'], check: () => verdict.promise });
    const running = answered([[calls('look')], 'Done.'], { agent: { guardrails: [sees] } });
    await settle();
    verdict.resolve(allow());
    expect((await running).result).toMatchObject({ status: 'completed' });
  });

  it('keep a message of the provider where a handoff leaves out fields that are absent', async () => {
    const order = handoff(agentOf({ name: 'billing' }), {
      name: 'to_billing',
      input: z.object({ cents: z.number(), note: z.string().optional() }),
    });
    const model = [calls('to_billing', { cents: 5, note: null }), ending({ native, stopReason: 'tools' })];
    const { ends } = await answered([model], { agent: { handoffs: [order] } });
    expect(ends[0]?.calls[0]?.input).toEqual({ cents: 5 });
    expect(ends[0]).toHaveProperty('native');
  });

  it('drop the message of the provider where a handoff could not be read', async () => {
    const call: ModelCall = { name: 'transfer_to_billing', unparsable: '' };
    const { ends } = await answered([[{ type: 'tool.call', call }, ending({ native, stopReason: 'tools' })]], {
      agent: { handoffs: [agentOf({ name: 'billing' })] },
    });
    expect(ends[0]?.calls[0]).toMatchObject({ kind: 'handoff', input: {} });
    expect(ends[0]).not.toHaveProperty('native');
  });
});
