import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { agentOf, answered, calls, gate, HandClock, lastEvent, openCall, scripted, settle, tool } from '../../test/scene.js';
import { withDetails } from '../define/detailed.js';
import { defineGuardrail } from '../define/guardrail.js';
import { handoff } from '../define/handoff.js';
import { toolError } from '../define/tool-error.js';
import type { OutputSubject, Rewrite, Subject, ToolOutputSubject, Verdict } from '../define/types.js';
import { allow, ask, deny, halt, rewrite } from '../define/verdict.js';
import { headTail } from '../project/head-tail.js';
import type { ToolEndEvent } from '../state/events.js';
import { finishCall } from './finish-call.js';
import type { RunHandle } from './handle.js';
import { unknownEnd } from './observations.js';

const given = (value: unknown) => ({ kind: 'value', value }) as const;
type Outcome = Parameters<typeof finishCall>[1];
interface Making {
  readonly more?: object;
  readonly agent?: object;
  readonly options?: object;
}

/** The latest event, without its number and time. */
function endOf(handle: RunHandle): Partial<ToolEndEvent> {
  const { seq, at, ...event } = lastEvent(handle) as ToolEndEvent;
  return event;
}

/** A call of the tool `look` that has given an outcome: what became of it. */
async function finished(outcome: Outcome, { more = {}, agent = {}, options = {} }: Making = {}) {
  const handle = await answered(
    agentOf({ model: scripted([calls('look', { at: 'sky' })]), tools: [tool('look', () => 1, more)], ...agent }),
    {
      clock: new HandClock(),
      ...options,
    },
  );
  await finishCall(openCall(handle), outcome);
  return { handle, event: endOf(handle) };
}

const label = { origin: 'tool:look', integrity: 'untrusted' } as const;
const core = { origin: 'developer', integrity: 'trusted' } as const;
const base = { type: 'tool.end', run: 'r1', agent: 'desk', callId: '1.0', tool: 'look', id: 'r1/1.0', completeness: 'full' };
const none = { ...base, completeness: 'empty' };
const observation = (...[status, errorClass, summary, retryable = false]: [string, string, string, boolean?]) => ({
  status,
  content: JSON.stringify({ status, error_class: errorClass, summary, retryable }),
  errorClass,
  retryable,
});
const onOutput = (check: (subject: ToolOutputSubject) => Verdict<'toolOutput'> | Promise<Verdict<'toolOutput'>>) =>
  defineGuardrail({ name: 'looks', on: ['toolOutput'], check });
const rewriting = (surface: 'toolOutput' | 'output', make: (content: string) => Rewrite | ReturnType<typeof allow>) =>
  defineGuardrail({ name: 'mends', on: [surface], rewrite: ({ content }: Subject) => make(content) as never });
const shout = (surface: 'toolOutput' | 'output') => rewriting(surface, (content) => rewrite(content.toUpperCase(), 'louder'));

describe('a result', () => {
  it('is recorded whole, with the label of its tool', async () => {
    const { event } = await finished(given('Blue.'));
    expect(event).toStrictEqual({ ...base, status: 'ok', content: 'Blue.', label, revision: 0, chars: 5 });
  });

  it('that is a value is recorded as its JSON, and as one', async () => {
    const { event } = await finished(given({ colour: 'blue' }), { more: { flow: { effect: 'read', results: 'trusted' } } });
    const trusted = { origin: 'tool:look', integrity: 'trusted' };
    expect(event).toEqual({
      ...base,
      status: 'ok',
      content: '{"colour":"blue"}',
      label: trusted,
      revision: 0,
      chars: 17,
      structured: true,
    });
  });

  it('is recorded in the form that a guardrail gave it', async () => {
    const { event } = await finished(given('blue'), { agent: { guardrails: [shout('toolOutput')] } });
    expect(event).toMatchObject({ content: 'BLUE', revision: 1, chars: 4, answers: 'r' });
  });

  it('that is too long is cut, with a note; the size is that of the whole', async () => {
    const { event } = await finished(given('x'.repeat(20_000)));
    expect(event).toMatchObject({ chars: 20_000, note: expect.stringContaining('16000 of its 20000 characters') });
    expect(event).not.toHaveProperty('projection');
  });

  it('is shown as its projection has it, of core or of the author', async () => {
    const cut = await finished(given('x'.repeat(100)), { more: { project: headTail({ maxChars: 10 }) } });
    expect(cut.event).toMatchObject({ projection: 'core', chars: 100 });
    const own = await finished(given('blue'), { more: { project: () => 'a colour' } });
    expect(own.event).toEqual({ ...base, status: 'ok', content: 'a colour', label, revision: 0, chars: 4, projection: 'user' });
  });

  it('cannot be shown where its projection fails', async () => {
    const project = () => {
      throw new Error('no');
    };
    const { event } = await finished(given('blue'), { more: { project }, agent: { guardrails: [shout('toolOutput')] } });
    const words = observation('error', 'failed', 'look ran, but its result could not be shown: its projection failed.');
    expect(event).toEqual({ ...none, ...words, label, revision: 1, chars: 4, answers: 'r' });
  });

  it('is withheld where a guardrail denies it, and the run goes on', async () => {
    const { event, handle } = await finished(given('blue'), {
      agent: { guardrails: [shout('toolOutput'), onOutput(() => deny('too loud'))] },
    });
    const refusal = { action: 'deny', surface: 'toolOutput', by: 'looks', reason: 'too loud' };
    const words = observation('error', 'denied', 'look ran; its result was withheld: too loud');
    expect(event).toEqual({ ...none, ...words, label: core, refusal, revision: 1, chars: 0, answers: 'rd' });
    expect(handle.stop).toBeUndefined();
  });

  it('stops the run where a guardrail halts', async () => {
    const { event, handle } = await finished(given('blue'), { agent: { guardrails: [onOutput(() => halt('no more'))] } });
    expect(event).toMatchObject({ status: 'error', errorClass: 'denied', refusal: { action: 'halt' } });
    expect(handle.stop).toEqual({ kind: 'halt' });
  });

  it('of a tool has the same label each time', async () => {
    const both = [calls('look', { at: 'sky' }), calls('look', { at: 'sea' })];
    const handle = await answered(agentOf({ model: scripted(both), tools: [tool('look', () => 1)] }));
    const labels: unknown[] = [];
    for (const id of ['1.0', '1.1']) {
      await finishCall(openCall(handle, id), given(id));
      labels.push((lastEvent(handle) as { readonly label?: unknown }).label);
    }
    expect(labels[0]).toBe(labels[1]);
    expect(Object.isFrozen(labels[0])).toBe(true);
  });

  it.each([
    ['judged', { agent: { guardrails: [onOutput(() => new Promise(() => undefined))] } }],
    ['read', { more: { output: z.string().refine(() => new Promise(() => undefined)) } }],
  ])('may have been when it was not %s within 2,000 ms after the run was stopped', async (_what, making: Making) => {
    const clock = new HandClock();
    const { more = {}, agent = {} } = making;
    const handle = await answered(agentOf({ model: scripted([calls('look')]), tools: [tool('look', () => 1, more)], ...agent }), { clock });
    const finishing = finishCall(openCall(handle), given('blue'));
    handle.abort({ kind: 'cancel', reason: undefined });
    await clock.pass(1_999);
    expect(lastEvent(handle)?.type).not.toBe('tool.end');
    await clock.pass(1);
    await finishing;
    expect(endOf(handle)).toEqual({
      ...none,
      ...unknownEnd('look', 'the run was stopped before its result was judged'),
      revision: 0,
      chars: 0,
    });
  });
});

describe('a result that has a declared form', () => {
  const more = { output: z.object({ cents: z.number() }) };

  it('is recorded where it has it', async () => {
    expect((await finished(given({ cents: 5 }), { more })).event).toMatchObject({ status: 'ok', content: '{"cents":5}' });
  });

  it('is an error that names the fields where it does not', async () => {
    const { event } = await finished(given({ cents: 'secret' }), { more });
    const rest = { status: 'error', errorClass: 'bad_result', retryable: false, label: core, revision: 0, chars: 0 };
    expect(event).toEqual({ ...none, ...rest, content: expect.any(String) });
    expect(event.content).toContain('look ran, but its result does not have its declared form: cents: ');
    expect(event.content).not.toContain('secret');
  });

  it('may be looked at later', async () => {
    const slow = z.string().refine(async () => true);
    expect((await finished(given('blue'), { more: { output: slow } })).event).toMatchObject({ status: 'ok', content: 'blue' });
  });
});

describe('details beside a result', () => {
  const detailed = given(withDetails('blue', { hex: '00f' }));

  it('are recorded and not shown', async () => {
    const { event } = await finished(detailed);
    expect(event).toEqual({ ...base, status: 'ok', content: 'blue', label, revision: 0, chars: 4, details: { hex: '00f' } });
  });

  it('are judged after the result, as details', async () => {
    const seen: unknown[] = [];
    const sees = onOutput(({ form, content, output, isError, input }) => {
      seen.push({ form, content, output, isError, input });
      return allow();
    });
    await finished(detailed, { agent: { guardrails: [sees] } });
    const rest = { isError: false, input: { at: 'sky' } };
    expect(seen).toEqual([
      { form: 'output', content: 'blue', output: 'blue', ...rest },
      { form: 'details', content: '{"hex":"00f"}', output: { hex: '00f' }, ...rest },
    ]);
  });

  it('take the result with them where they are refused; its revision counts', async () => {
    const mends = rewriting('toolOutput', (content) => (content === 'blue' ? rewrite('red', 'nicer') : allow()));
    const sees = onOutput(({ form }) => (form === 'details' ? deny('no details') : allow()));
    const { event } = await finished(detailed, { agent: { guardrails: [mends, sees] } });
    expect(event).toMatchObject({ status: 'error', errorClass: 'denied', revision: 1, chars: 0 });
    expect(event).not.toHaveProperty('details');
  });
});

describe('a failure', () => {
  const failing: Outcome = { kind: 'error', summary: 'look failed: no net', errorClass: 'unavailable', retryable: true };

  it('is recorded with the label of its tool', async () => {
    const { event } = await finished(failing);
    expect(event).toEqual({ ...none, ...observation('error', 'unavailable', 'look failed: no net', true), label, revision: 0, chars: 19 });
  });

  it.each([
    ['returned', given(toolError('no net', { errorClass: 'unavailable', retryable: true }))],
    ['returned with details', given(withDetails(toolError('no net', { errorClass: 'unavailable', retryable: true }), { tried: 2 }))],
  ])('that was %s is recorded as one that was thrown', async (_how, outcome) => {
    expect((await finished(outcome)).event).toEqual((await finished(failing)).event);
  });

  it('is judged as an error, and recorded in the words that passed', async () => {
    const seen: unknown[] = [];
    const sees = onOutput(({ form, isError, content }) => {
      seen.push({ form, isError, content });
      return allow();
    });
    const { event } = await finished(failing, { agent: { guardrails: [shout('toolOutput'), sees] } });
    expect(seen).toEqual([{ form: 'output', isError: true, content: 'LOOK FAILED: NO NET' }]);
    expect(event).toMatchObject({ ...observation('error', 'unavailable', 'LOOK FAILED: NO NET', true), revision: 1, chars: 19 });
  });

  it('is withheld where a guardrail refuses its words', async () => {
    const { event } = await finished(failing, { agent: { guardrails: [onOutput(() => deny('no'))] } });
    expect(event).toMatchObject({ status: 'error', errorClass: 'denied', chars: 0 });
    expect(event.content).not.toContain('no net');
  });

  it('that is too long is cut', async () => {
    const { event } = await finished({ ...failing, summary: 'x'.repeat(20_000) });
    expect(event.chars).toBeLessThan(16_100);
    expect(String(event.content).length).toBeLessThan(16_300);
  });
});

it('records an end that was settled as it is', async () => {
  const { event } = await finished({ kind: 'end', end: unknownEnd('look', 'it hung') });
  expect(event).toEqual({ ...none, ...unknownEnd('look', 'it hung'), revision: 0, chars: 0 });
});

describe('a handoff that a tool returned', () => {
  const billing = agentOf({ name: 'billing' });

  it('ends the call, and tells to whom and with what', async () => {
    const { event, handle } = await finished(given(handoff(billing, { brief: 'Refund.' })));
    expect(event).toEqual({
      ...base,
      status: 'ok',
      content: 'Handed off to billing.',
      label: core,
      revision: 0,
      chars: 7,
      handoff: { to: 'billing', brief: 'Refund.' },
    });
    expect([...(handle.returned?.keys() ?? [])]).toEqual(['1.0']);
  });

  it('says who handed over where it says nothing, and that it filters', async () => {
    const { event } = await finished(given(handoff('billing', { history: (messages) => messages })));
    expect(event).toMatchObject({ chars: 21, handoff: { to: 'billing', brief: 'Handed off from desk.', filtered: true } });
  });

  it('is judged by its brief, and keeps the form that passed', async () => {
    const seen: unknown[] = [];
    const sees = onOutput(({ form, isError, content }) => {
      seen.push({ form, isError, content });
      return allow();
    });
    const { event } = await finished(given(handoff(billing, { brief: 'Refund.' })), { agent: { guardrails: [shout('toolOutput'), sees] } });
    expect(seen).toEqual([{ form: 'output', isError: false, content: 'REFUND.' }]);
    expect(event).toMatchObject({ revision: 1, chars: 7, handoff: { to: 'billing', brief: 'REFUND.' } });
  });

  it('is none where its brief is refused', async () => {
    const { event, handle } = await finished(given(handoff(billing)), { agent: { guardrails: [onOutput(() => deny('stay'))] } });
    expect(event).toMatchObject({ status: 'error', errorClass: 'denied' });
    expect(event).not.toHaveProperty('handoff');
    expect(handle.returned).toBeUndefined();
  });

  it('is kept beside one that another call returned', async () => {
    const handle = await answered(
      agentOf({ model: scripted([calls('look', { at: 1 }), calls('look', { at: 2 })]), tools: [tool('look', () => 1)] }),
    );
    for (const id of ['1.0', '1.1']) await finishCall(openCall(handle, id), given(handoff(billing)));
    expect([...(handle.returned?.keys() ?? [])]).toEqual(['1.0', '1.1']);
  });
});

describe('the result of a tool that ends the run', () => {
  const more = { endsRun: true };
  const output = z.object({ cents: z.number() });

  it('is the answer', async () => {
    const { event } = await finished(given('Paid.'), { more });
    expect(event).toEqual({
      ...base,
      status: 'ok',
      content: 'Paid.',
      label,
      revision: 0,
      chars: 5,
      answer: { text: 'Paid.', revision: 0 },
    });
  });

  it('is the answer as text, where the agent wants no other form', async () => {
    const { event, handle } = await finished(given({ cents: 5 }), { more });
    expect(event).toMatchObject({ answer: { text: '{"cents":5}', revision: 0 } });
    expect(event.answer).not.toHaveProperty('value');
    expect(handle.answer).toBeUndefined();
  });

  it('is the answer in the form that the agent wants', async () => {
    const { event, handle } = await finished(given({ cents: 5 }), { more, agent: { output } });
    expect(event).toMatchObject({ status: 'ok', structured: true, answer: { text: '{"cents":5}', value: { cents: 5 }, revision: 0 } });
    expect(handle.answer).toEqual({ value: { cents: 5 }, callId: '1.0' });
  });

  it('is no answer, but an error, where it does not have that form', async () => {
    const { event, handle } = await finished(given({ cents: 'x' }), { more, agent: { output, guardrails: [shout('output')] } });
    expect(event).toMatchObject({ status: 'error', errorClass: 'bad_result', chars: 13, revision: 0 });
    expect(event.content).toContain('look ran, but its result is no answer in the wanted form: ');
    expect(event).not.toHaveProperty('answer');
    expect(handle.answer).toBeUndefined();
  });

  it('is judged as an answer, whole and last', async () => {
    const seen: OutputSubject[] = [];
    const sees = defineGuardrail({
      name: 'sees',
      on: ['output'],
      check: (subject) => {
        seen.push(subject);
        return allow();
      },
    });
    await finished(given({ cents: 5 }), { more, agent: { output, guardrails: [sees] } });
    const { handle } = await finished(given({ cents: 5 }), { more, agent: { guardrails: [sees] } });
    const subject = { surface: 'output', content: '{"cents":5}', label, final: true, kind: 'answer' };
    expect(seen).toEqual([
      { ...subject, value: { cents: 5 } },
      { ...subject, value: '{"cents":5}' },
    ]);
    expect(Object.isFrozen(seen[0])).toBe(true);
    expect(handle.root.events.at(-2)).toMatchObject({
      type: 'guard.verdict',
      surface: 'output',
      subject: 'r1/1.0',
      revision: 0,
      phase: 'check',
    });
    expect(lastEvent(handle)).toMatchObject({ answers: 'a' });
  });

  it('is kept in no other form than the one that a guardrail gave the answer', async () => {
    const { event } = await finished(given('paid'), { more: { ...more, project: () => 'done' }, agent: { guardrails: [shout('output')] } });
    expect(event).toMatchObject({ content: 'PAID', revision: 0, chars: 4, answer: { text: 'PAID', revision: 1 } });
    expect(event.projection).toBeUndefined();
    const { event: long } = await finished(given('x'.repeat(20_000)), { more, agent: { guardrails: [shout('output')] } });
    expect(long).toMatchObject({ note: expect.stringContaining('was cut'), content: expect.stringMatching(/^XXX/) });
  });

  it('keeps its own form where no guardrail gave it another', async () => {
    const { event } = await finished(given('paid'), { more: { ...more, project: () => 'done' } });
    expect(event).toMatchObject({ content: 'done', projection: 'user', answer: { text: 'paid', revision: 0 } });
  });

  it('is rewritten as a value where the agent wants one, and refused where no value is left', async () => {
    const lower = rewriting('output', (content) => rewrite(content.replace('5', '4'), 'less'));
    const { event, handle } = await finished(given({ cents: 5 }), { more, agent: { output, guardrails: [lower] } });
    expect(event).toMatchObject({ content: '{"cents":4}', answer: { text: '{"cents":4}', value: { cents: 4 }, revision: 1 } });
    expect(handle.answer).toEqual({ value: { cents: 4 }, callId: '1.0' });
    const breaks = rewriting('output', () => rewrite('no JSON', 'broken'));
    const broken = await finished(given({ cents: 5 }), { more, agent: { output, guardrails: [breaks] } });
    expect(broken.event).toMatchObject({ status: 'error', errorClass: 'denied', refusal: { by: 'mends', failed: true } });
    const spans = rewriting('output', () => rewrite([{ start: 9, end: 2, with: '' }], 'broken'));
    const odd = await finished(given('paid'), { more, agent: { guardrails: [spans] } });
    expect(odd.event).toMatchObject({ status: 'error', refusal: { by: 'mends', failed: true } });
  });

  it.each([
    ['denied', deny('no'), { action: 'deny', surface: 'output', by: 'sees', reason: 'no' }],
    [
      'one that a person would have to see',
      ask('look at it'),
      { action: 'ask', surface: 'output', by: 'sees', reason: 'look at it (an answer given by a tool cannot wait for a person)' },
    ],
  ])('is withheld where the answer is %s', async (_what, verdict, refusal) => {
    const sees = defineGuardrail({ name: 'sees', on: ['output'], check: () => verdict });
    const { event } = await finished(given('paid'), { more, agent: { guardrails: [shout('toolOutput'), sees] } });
    const words = observation('error', 'denied', `look ran; its result was withheld: ${refusal.reason}`);
    expect(event).toMatchObject({ ...words, refusal, revision: 1, chars: 0 });
    expect(event).not.toHaveProperty('answer');
  });

  it('counts where it is judged as an answer within 2,000 ms after the run was stopped', async () => {
    const clock = new HandClock();
    const verdict = gate<ReturnType<typeof allow>>();
    const sees = defineGuardrail({ name: 'sees', on: ['output'], check: () => verdict.promise });
    const handle = await answered(agentOf({ model: scripted([calls('look')]), tools: [tool('look', () => 1, more)], guardrails: [sees] }), {
      clock,
    });
    const finishing = finishCall(openCall(handle), given('paid'));
    await settle();
    handle.abort({ kind: 'cancel', reason: undefined });
    await clock.pass(1_999);
    verdict.resolve(allow());
    await finishing;
    expect(lastEvent(handle)).toMatchObject({ status: 'ok', answer: { text: 'paid' } });
  });

  it('counts in call order, whichever was first', async () => {
    for (const order of [
      ['1.0', '1.1'],
      ['1.1', '1.0'],
    ]) {
      const handle = await answered(
        agentOf({ model: scripted([calls('look', { at: 1 }), calls('look', { at: 2 })]), tools: [tool('look', () => 1, more)], output }),
      );
      for (const id of order) await finishCall(openCall(handle, id), given({ cents: id === '1.0' ? 1 : 2 }));
      expect(handle.answer).toEqual({ value: { cents: 1 }, callId: '1.0' });
    }
  });
});
