import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { agentOf, answered, calls, entered, eventsOf, gate, scripted, settle, tool } from '../../test/scene.js';
import { asTool } from '../define/as-tool.js';
import { agentSpecOf } from '../define/definition.js';
import { defineGuardrail } from '../define/guardrail.js';
import { handoff } from '../define/handoff.js';
import { defineTool } from '../define/tool.js';
import type { HandoffSubject, Subject, ToolInputSubject } from '../define/types.js';
import { allow, ask, deny, halt, rewrite } from '../define/verdict.js';
import type { JsonValue, ModelCall, ModelEvent } from '../model/types.js';
import type { RecordedCall } from '../state/events.js';
import type { RunHandle } from './handle.js';
import { handoffGuards, nameOfUnknown, prepareCalls, rewriteObject, runsOnce } from './prepare-calls.js';
import { callModel } from './stages/call-model.js';
import { guardInput } from './stages/guard-input.js';

const look = tool('look', () => 1);
const made = (call: ModelCall): ModelEvent => ({ type: 'tool.call', call });
const unparsable = (name: string, text: string) => made({ name, unparsable: text });
const core = { origin: 'developer', integrity: 'trusted' } as const;
const label = { origin: 'agent:desk', integrity: 'trusted' } as const;

/** The calls of an answer as they were recorded. */
async function prepared(events: readonly ModelEvent[], agent: object = {}) {
  const handle = await answered(agentOf({ model: scripted(events), tools: [look], ...agent }));
  const recorded = eventsOf(handle.root, 'model.end')[0]?.calls ?? [];
  return { handle, recorded, first: recorded[0] as RecordedCall };
}
const ended = (...[status, errorClass, summary, retryable = false]: [string, string, string, boolean?]) => ({
  status,
  content: JSON.stringify({ status, error_class: errorClass, summary, retryable }),
  errorClass,
  retryable,
  label: core,
});
const summaryOf = (call: RecordedCall | undefined): string => JSON.parse(String(call?.end?.content)).summary;
const guard = (surface: 'toolInput' | 'handoff', check: (subject: never) => unknown, more: object = {}) =>
  defineGuardrail({ name: 'sees', on: [surface], check: check as () => ReturnType<typeof allow>, ...more });
const mending = (surface: 'toolInput' | 'handoff', make: (subject: Subject) => unknown) =>
  defineGuardrail({ name: 'mends', on: [surface], rewrite: make as () => ReturnType<typeof allow> });

describe('a call', () => {
  it('is recorded with its input as it was made', async () => {
    const { first, handle } = await prepared([calls('look', { at: 'sky' }, 'c1')]);
    expect(first).toStrictEqual({ id: '1.0', providerId: 'c1', name: 'look', input: { at: 'sky' }, kind: 'tool', revision: 0 });
    expect(handle.inputs?.get('1.0')).toEqual({ raw: { at: 'sky' }, parsed: { at: 'sky' } });
  });

  it('is recorded without an id that the provider did not give', async () => {
    expect((await prepared([calls('look')])).first).toStrictEqual({ id: '1.0', name: 'look', input: {}, kind: 'tool', revision: 0 });
  });

  it('tells what runs it', async () => {
    const caller = defineTool({ name: 'caller', description: 'You.', input: { type: 'object' } });
    const helper = asTool(agentOf({ name: 'helper' }), { name: 'helper', description: 'Helps.', input: z.object({}) });
    const billing = agentOf({ name: 'billing' });
    const names = ['look', 'caller', 'helper', 'transfer_to_billing'];
    const { recorded } = await prepared(
      names.map((name) => calls(name)),
      { tools: [look, caller, helper], handoffs: [billing] },
    );
    expect(recorded.map(({ id, kind }) => `${id} ${kind}`)).toEqual(['1.0 tool', '1.1 caller', '1.2 agent', '1.3 handoff']);
  });

  it('is parsed by the schema of its tool; what the model gave is recorded', async () => {
    const input = z.object({ cents: z.string().transform(Number) });
    const { first, handle } = await prepared([calls('pay', { cents: '5' })], { tools: [tool('pay', () => 1, { input })] });
    expect(first.input).toEqual({ cents: '5' });
    expect(handle.inputs?.get('1.0')).toEqual({ raw: { cents: '5' }, parsed: { cents: 5 } });
    expect(Object.isFrozen(handle.inputs?.get('1.0')?.raw)).toBe(true);
    expect(Object.isFrozen(handle.inputs?.get('1.0')?.parsed)).toBe(true);
  });

  it('is parsed by a schema that takes its time', async () => {
    const input = z.object({ cents: z.number() }).refine(async () => true);
    const { first } = await prepared([calls('pay', { cents: 5 })], { tools: [tool('pay', () => 1, { input })] });
    expect(first).toMatchObject({ input: { cents: 5 }, kind: 'tool' });
    const bad = await prepared([calls('pay', { cents: 'x' }), calls('look')], { tools: [tool('pay', () => 1, { input }), look] });
    expect(bad.recorded.map((call) => call.end?.errorClass)).toEqual(['invalid_input', undefined]);
  });

  it('forgets the inputs of the answer before', async () => {
    const { handle } = await prepared([calls('look', { at: 1 })]);
    expect([...(handle.inputs?.keys() ?? [])]).toEqual(['1.0']);
  });
});

describe('a call that cannot run', () => {
  it('is recorded without its input, and numbered by it', async () => {
    const { first } = await prepared([calls('nothing', { secret: 1 }, 'c1')]);
    const summary = 'There is no tool of this name. Use one of: look.';
    expect(first).toStrictEqual({
      id: '1.0',
      providerId: 'c1',
      name: 'unknown_tool',
      input: {},
      kind: 'unknown',
      revision: 0,
      end: ended('error', 'unknown_tool', summary),
      variant: 1,
    });
    expect(Object.isFrozen(first)).toBe(true);
  });

  it('is told where there are no tools at all, or the names of those that there are', async () => {
    expect(summaryOf((await prepared([calls('nothing')], { tools: [] })).first)).toBe('There is no tool of this name; there are no tools.');
    const { first } = await prepared([calls('nothing')], { handoffs: [agentOf({ name: 'billing' })] });
    expect(summaryOf(first)).toBe('There is no tool of this name. Use one of: look, transfer_to_billing.');
  });

  it('has no number where it has no input, one for each different input, the same for equal ones', async () => {
    const odd = calls('nothing', { at: 1n as never });
    const { recorded } = await prepared([
      calls('nothing'),
      unparsable('nothing', ''),
      calls('nothing', { a: 1, b: 2 }),
      unparsable('nothing', 'x'),
      calls('nothing', { b: 2, a: 1 }),
      odd,
      unparsable('nothing', '{}'),
    ]);
    expect(recorded.map(({ variant }) => variant)).toEqual([undefined, undefined, 1, 2, 1, undefined, undefined]);
  });

  it('is not given a number that an earlier process may have given', async () => {
    const { handle } = await prepared([calls('nothing', { a: 1 })]);
    const answer = {
      text: '',
      reasoning: '',
      calls: [{ name: 'nothing', input: { a: 2 } }],
      native: undefined,
      usage: { requests: 1 },
      stopReason: 'tools',
      provider: 'm',
    } as const;
    const finishing = { turn: 4, names: new Map(), isFinal: false, release: undefined as never, label, isReasoningShown: false };
    const again = async (): Promise<number | undefined> => (await prepareCalls(handle, answer, finishing))[0]?.variant;
    expect(await again()).toBe(2);
    handle.unrecorded = undefined;
    handle.unrecordedCount = 0;
    expect(await again()).toBe(1_001);
  });

  it('keeps a name that an agent of the run has, and no other', async () => {
    const billing = agentOf({ name: 'billing', tools: [tool('refund', () => 1)], handoffs: ['desk'] });
    const { recorded } = await prepared([calls('refund'), calls('transfer_to_desk'), calls('made_up')], { handoffs: [billing] });
    expect(recorded.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'refund unknown',
      'transfer_to_desk unknown',
      'unknown_tool unknown',
    ]);
    const handle = { agents: new Map([['desk', agentSpecOf(agentOf(), '')]]) } as unknown as RunHandle;
    expect(nameOfUnknown(handle, 'look')).toBe('unknown_tool');
  });

  it.each([
    ['does not fit', calls('pay', { cents: 'x' }), expect.stringMatching(/^pay: cents: /)],
    ['is a list', calls('pay', []), 'pay: the arguments must be a JSON object.'],
    ['is a text', calls('pay', 'x'), 'pay: the arguments must be a JSON object.'],
    ['is nothing', calls('pay', null), 'pay: the arguments must be a JSON object.'],
    ['is missing', unparsable('pay', ' '), 'pay: the arguments are missing. Send one JSON object.'],
    [
      'is broken',
      unparsable('pay', '{"cents":5'),
      expect.stringMatching(/^pay: the arguments are not valid JSON: .*\. Send one JSON object\.$/),
    ],
    [
      'says more than can be read',
      unparsable('pay', '{"cents":5,"cents":6}'),
      'pay: the arguments cannot be read: a key stands twice in one object.',
    ],
  ])('is told where its input %s, and may be made again', async (_what, event, summary) => {
    const { first } = await prepared([event], { tools: [tool('pay', () => 1, { input: z.object({ cents: z.number() }) })] });
    expect(summaryOf(first)).toEqual(summary);
    expect(first).toMatchObject({
      name: 'pay',
      input: {},
      kind: 'tool',
      revision: 0,
      end: { status: 'error', errorClass: 'invalid_input', retryable: true },
    });
  });

  it('is none where nothing was given and nothing is needed', async () => {
    const { first } = await prepared([unparsable('pay', ' ')], {
      tools: [tool('pay', () => 1, { input: z.object({ cents: z.number().optional() }) })],
    });
    expect(first).toStrictEqual({ id: '1.0', name: 'pay', input: {}, kind: 'tool', revision: 0 });
  });

  it('has fields that are absent left out', async () => {
    const input = z.object({ cents: z.number(), note: z.string().optional() });
    const { first } = await prepared([calls('pay', { cents: 5, note: null })], { tools: [tool('pay', () => 1, { input })] });
    expect(first.input).toEqual({ cents: 5 });
  });

  it('is told of a name that no object may have, also where a handoff has no schema', async () => {
    const input = JSON.parse('{"__proto__":{"x":1}}') as JsonValue;
    const { first } = await prepared([calls('transfer_to_billing', input)], { handoffs: [agentOf({ name: 'billing' })] });
    expect(first.end).toMatchObject({ errorClass: 'invalid_input' });
  });

  it('was never started where the run was stopped while its schema looked at it', async () => {
    const input = z.object({}).refine(() => new Promise<boolean>(() => undefined));
    const making = agentOf({ model: scripted([calls('pay')]), tools: [tool('pay', () => 1, { input })] });
    const handle = await entered(making);
    await guardInput(handle);
    const going = callModel(handle);
    await settle();
    // A halt lets the answer be recorded.
    handle.abort({ kind: 'halt' });
    await going;
    const [call] = eventsOf(handle.root, 'model.end')[0]?.calls ?? [];
    expect(call?.end).toEqual(ended('aborted', 'aborted', 'The run was stopped before this call was started.'));
  });
});

describe('the guardrails of a call', () => {
  it('are shown the call', async () => {
    const seen: ToolInputSubject[] = [];
    const input = z.object({ cents: z.string().transform(Number) });
    const { handle } = await prepared([calls('pay', { cents: '5' })], {
      tools: [tool('pay', () => 1, { input, flow: { effect: 'write' } })],
      guardrails: [guard('toolInput', (subject) => (seen.push(subject) > 0 ? allow() : deny('')))],
    });
    expect(seen).toEqual([
      {
        surface: 'toolInput',
        content: '{"cents":"5"}',
        label,
        tool: 'pay',
        callId: '1.0',
        input: { cents: 5 },
        raw: { cents: '5' },
        flow: expect.objectContaining({ effect: 'write' }),
        schema: expect.objectContaining({ type: 'object' }),
      },
    ]);
    expect(Object.isFrozen(seen[0])).toBe(true);
    expect(eventsOf(handle.root, 'guard.verdict')).toMatchObject([{ subject: 'r1/1.0', surface: 'toolInput', revision: 0 }]);
    expect(eventsOf(handle.root, 'model.end')[0]).toMatchObject({ answers: 'a' });
  });

  it('may rewrite it: the fields that changed are told', async () => {
    const mends = mending('toolInput', () => rewrite({ at: 'sea', far: true }, 'nearer'));
    const { first, handle } = await prepared([calls('look', { at: 'sky', far: true })], { guardrails: [mends] });
    expect(first).toStrictEqual({
      id: '1.0',
      name: 'look',
      input: { at: 'sea', far: true },
      kind: 'tool',
      revision: 1,
      changedFields: ['at'],
    });
    expect(handle.inputs?.get('1.0')).toEqual({ raw: { at: 'sea', far: true }, parsed: { at: 'sea', far: true } });
    expect(Object.isFrozen(handle.inputs?.get('1.0')?.raw)).toBe(true);
    expect(Object.isFrozen(first.changedFields)).toBe(true);
  });

  it.each([
    ['at once', z.object({ cents: z.number() })],
    ['later', z.object({ cents: z.number() }).refine(async () => true)],
  ])('may rewrite it to what its schema takes %s, parsed anew', async (_when, input) => {
    const rewriting = (to: object) => ({
      tools: [tool('pay', () => 1, { input })],
      guardrails: [mending('toolInput', () => rewrite(to, 'less'))],
    });
    const fits = await prepared([calls('pay', { cents: 5 })], rewriting({ cents: 4 }));
    expect(fits.first).toMatchObject({ input: { cents: 4 }, revision: 1 });
    expect(fits.handle.inputs?.get('1.0')).toEqual({ raw: { cents: 4 }, parsed: { cents: 4 } });
    expect(Object.isFrozen(fits.handle.inputs?.get('1.0')?.parsed)).toBe(true);
    const misfits = await prepared([calls('pay', { cents: 5 })], rewriting({ cents: 'x' }));
    expect(misfits.first.end).toMatchObject({ status: 'denied', refusal: { by: 'mends', failed: true } });
  });

  it('may not make something else of it than an object', async () => {
    const { first } = await prepared([calls('look')], { guardrails: [mending('toolInput', () => rewrite('no JSON', 'odd'))] });
    expect(first.end).toMatchObject({ status: 'denied', refusal: { by: 'mends', failed: true } });
  });

  it('may deny it: the run goes on', async () => {
    const { first, handle } = await prepared([calls('look', { at: 1 })], {
      guardrails: [mending('toolInput', () => rewrite({ at: 2 }, 'x')), guard('toolInput', () => deny('not there'))],
    });
    const refusal = { action: 'deny', surface: 'toolInput', by: 'sees', reason: 'not there' };
    expect(first).toStrictEqual({
      id: '1.0',
      name: 'look',
      input: {},
      kind: 'tool',
      revision: 1,
      end: { ...ended('denied', 'denied', 'not there'), refusal },
      variant: 1,
    });
    expect(handle.stop).toBeUndefined();
    expect(handle.inputs).toBeUndefined();
  });

  it('may halt the run over it', async () => {
    const { first, handle } = await prepared([calls('look')], { guardrails: [guard('toolInput', () => halt('no more'))] });
    expect(first.end).toMatchObject({ status: 'denied', refusal: { action: 'halt' } });
    expect(handle.stop).toEqual({ kind: 'halt' });
  });

  it('may want a person to see it', async () => {
    const { first } = await prepared([calls('look')], { guardrails: [guard('toolInput', () => ask('look at it'))] });
    expect(first.asks).toEqual([{ by: 'sees', reason: 'look at it' }]);
    expect(Object.isFrozen(first.asks)).toBe(true);
  });

  it('are waited for, all calls together', async () => {
    const verdicts = [gate<unknown>(), gate<unknown>()];
    const asked: string[] = [];
    const sees = guard('toolInput', ({ callId }: ToolInputSubject) => {
      asked.push(callId);
      return verdicts[Number(callId.at(-1))]?.promise;
    });
    const going = prepared([calls('look', { at: 1 }), calls('look', { at: 2 })], { guardrails: [sees] });
    for (let turns = 0; turns < 5; turns += 1) await settle();
    expect(asked).toEqual(['1.0', '1.1']);
    verdicts[1]?.resolve(allow());
    verdicts[0]?.resolve(deny('no'));
    expect((await going).recorded.map((call) => call.end?.status)).toEqual(['denied', undefined]);
  });

  it('leave a call unstarted where a guardrail of another halted the run', async () => {
    const sees = guard('toolInput', ({ callId }: ToolInputSubject) => (callId === '1.0' ? new Promise(() => undefined) : halt('no more')));
    const { recorded } = await prepared([calls('look', { at: 1 }), calls('look', { at: 2 })], { guardrails: [sees] });
    expect(recorded.map((call) => call.end?.status)).toEqual(['aborted', 'denied']);
    expect(recorded[0]).toMatchObject({ revision: 0 });
  });
});

describe('a handoff', () => {
  const billing = agentOf({ name: 'billing' });

  it.each([
    ['its arguments', handoff(billing, { input: z.object({ cents: z.number() }) }), { cents: 5 }, '{"cents":5}', { cents: 5 }],
    ['who hands over where it has none', billing, {}, 'Handed off from desk.', {}],
    [
      'what its author makes of them',
      handoff(billing, { brief: (given: object) => `Bill ${JSON.stringify(given)}` }),
      { cents: 5 },
      'Bill {"cents":5}',
      {},
    ],
    ['its author’s text', handoff(billing, { brief: 'Bill it.' }), { cents: 5 }, 'Bill it.', {}],
  ])('tells %s', async (...[, entry, input, brief, recorded]) => {
    const { first } = await prepared([calls('transfer_to_billing', input, 'c1')], { handoffs: [entry] });
    expect(first).toStrictEqual({
      id: '1.0',
      providerId: 'c1',
      name: 'transfer_to_billing',
      input: recorded,
      kind: 'handoff',
      revision: 0,
      handoff: { to: 'billing', brief },
    });
    expect(Object.isFrozen(first.handoff)).toBe(true);
  });

  it('has no id that the provider did not give', async () => {
    expect((await prepared([calls('transfer_to_billing')], { handoffs: [billing] })).first).not.toHaveProperty('providerId');
  });

  it('by name goes to the agent of that name', async () => {
    const accounts = agentOf({ name: 'accounts', handoffs: [billing] });
    const { first } = await prepared([calls('transfer_to_billing')], { handoffs: [accounts, 'billing'] });
    expect(first.handoff).toEqual({ to: 'billing', brief: 'Handed off from desk.' });
  });

  it.each([
    ['throws', () => JSON.parse('{') as string],
    ['is no text', () => 7 as never],
  ])('does not happen where its brief %s', async (_what, brief) => {
    const { first } = await prepared([calls('transfer_to_billing')], { handoffs: [handoff(billing, { brief })] });
    expect(first.end).toEqual(ended('error', 'failed', 'The brief for billing could not be made; the conversation stays here.'));
  });

  it('is shown to its guardrails, and judged in the form that passed', async () => {
    const seen: HandoffSubject[] = [];
    const { first, handle } = await prepared([calls('transfer_to_billing', { note: 'pay' })], {
      handoffs: [handoff(billing, { input: z.object({ note: z.string() }) })],
      guardrails: [
        mending('handoff', ({ content }) => rewrite(content.toUpperCase(), 'louder')),
        guard('handoff', (subject: HandoffSubject) => (seen.push(subject) > 0 ? ask('look') : deny(''))),
      ],
    });
    const brief = '{"NOTE":"PAY"}';
    expect(seen).toEqual([
      { surface: 'handoff', content: brief, label, from: 'desk', to: 'billing', brief, history: expect.any(Array), callId: '1.0' },
    ]);
    expect(Object.isFrozen(seen[0])).toBe(true);
    expect(first).toMatchObject({ input: {}, revision: 1, handoff: { to: 'billing', brief }, asks: [{ by: 'sees', reason: 'look' }] });
    expect(eventsOf(handle.root, 'guard.verdict').map(({ subject, revision }) => `${subject}@${revision}`)).toEqual([
      'r1/1.0@0',
      'r1/1.0@1',
    ]);
  });

  it('has no wish for a person where none is wanted', async () => {
    const { first } = await prepared([calls('transfer_to_billing')], {
      handoffs: [billing],
      guardrails: [guard('handoff', () => allow())],
    });
    expect(first).not.toHaveProperty('asks');
  });

  it('may be refused, or rewritten to nothing that makes sense', async () => {
    const denied = await prepared([calls('transfer_to_billing')], {
      handoffs: [billing],
      guardrails: [guard('handoff', () => deny('stay'))],
    });
    expect(denied.first).toMatchObject({ kind: 'handoff', end: { status: 'denied', refusal: { by: 'sees' } } });
    const odd = mending('handoff', () => rewrite([{ start: 5, end: 2, with: '' }], 'odd'));
    const broken = await prepared([calls('transfer_to_billing')], { handoffs: [billing], guardrails: [odd] });
    expect(broken.first.end).toMatchObject({ status: 'denied', refusal: { by: 'mends', failed: true } });
    const halted = await prepared([calls('transfer_to_billing')], {
      handoffs: [billing],
      guardrails: [guard('handoff', () => halt('no'))],
    });
    expect(halted.handle.stop).toEqual({ kind: 'halt' });
  });

  it('is waited for, and not started where the run was halted meanwhile', async () => {
    const late = guard('handoff', () => new Promise(() => undefined));
    const halts = defineGuardrail({ name: 'halts', on: ['toolInput'], check: () => halt('no more') });
    const { recorded } = await prepared([calls('transfer_to_billing'), calls('look')], { handoffs: [billing], guardrails: [late, halts] });
    expect(recorded.map((call) => call.end?.status)).toEqual(['aborted', 'denied']);
    const allowed = await prepared([calls('transfer_to_billing')], {
      handoffs: [billing],
      guardrails: [guard('handoff', async () => allow())],
    });
    expect(allowed.first.handoff).toEqual({ to: 'billing', brief: 'Handed off from desk.' });
  });

  it('is tried once in an answer: the later ones are told so', async () => {
    const { recorded } = await prepared([calls('look'), calls('transfer_to_billing'), calls('transfer_to_billing', {}, 'c2')], {
      handoffs: [billing],
    });
    expect(recorded.map((call) => call.end?.status)).toEqual([undefined, undefined, 'aborted']);
    expect(summaryOf(recorded[2])).toBe('Only the first handoff of an answer is tried, and this was a later one.');
    expect(recorded[2]).toMatchObject({ id: '1.2', providerId: 'c2', kind: 'handoff', input: {} });
  });

  it('is tried alone also where it stands first', async () => {
    const { recorded } = await prepared([calls('transfer_to_billing'), calls('transfer_to_billing')], { handoffs: [billing] });
    expect(recorded.map((call) => call.end?.status)).toEqual([undefined, 'aborted']);
  });

  it('is guarded by those of the run, of the agent, and of its target, each once', async () => {
    const named = (name: string) => defineGuardrail({ name, on: ['handoff'], check: () => allow() });
    const target = agentOf({ name: 'billing', guardrails: [named('target')] });
    const bare = agentOf({ name: 'bare' });
    const agent = agentOf({ guardrails: [named('source')], handoffs: [target, bare] });
    const handle = await answered(agent, { guardrails: [named('run')] });
    const names = (to: string) => handoffGuards(handle, to).map(({ spec, level }) => `${level} ${spec.name}`);
    expect(names('billing')).toEqual(['run run', 'agent source', 'agent target']);
    for (const to of ['bare', 'desk', 'nobody']) expect(names(to)).toEqual(['run run', 'agent source']);
  });
});

describe('a declared write or send', () => {
  const pay = tool('pay', () => 1, { flow: { effect: 'send' } });
  const copies = (recorded: readonly RecordedCall[]) => recorded.map(({ copyOf }) => copyOf);

  it('that stands twice in an answer is marked as a copy of the first', async () => {
    const events = [
      calls('pay', { a: 1, b: 2 }),
      calls('look', { a: 1 }),
      calls('pay', { a: 2 }),
      calls('pay', { b: 2, a: 1 }),
      calls('look', { a: 1 }),
      calls('pay', { a: 2 }),
    ];
    const { recorded } = await prepared(events, { tools: [pay, look] });
    expect(copies(recorded)).toEqual([undefined, undefined, undefined, '1.0', undefined, '1.2']);
    expect(recorded[3]).toStrictEqual({ id: '1.3', name: 'pay', input: { b: 2, a: 1 }, kind: 'tool', revision: 0, copyOf: '1.0' });
    expect(Object.isFrozen(recorded[3])).toBe(true);
  });

  it('is no copy of another tool’s call, nor of one that does not run', async () => {
    const other = tool('give', () => 1, { flow: { effect: 'write' } });
    const sees = guard('toolInput', ({ callId }: ToolInputSubject) => (callId === '1.1' ? deny('no') : allow()));
    const { recorded } = await prepared([calls('give'), calls('pay'), calls('pay'), calls('give')], {
      tools: [pay, other],
      guardrails: [sees],
    });
    expect(copies(recorded)).toEqual([undefined, undefined, undefined, '1.0']);
  });

  it('is told by what its author declared', async () => {
    const handle = await answered(agentOf());
    expect(handle.stop).toBeUndefined();
    const spec = (more: object) => agentSpecOf(agentOf({ tools: [tool('pay', () => 1, more)] }), '').tools[0];
    const once = (more: object) => {
      const found = spec(more);
      return found && runsOnce(found);
    };
    expect(once({ flow: { effect: 'write' } })).toBe(true);
    expect(once({ flow: { effect: 'send' } })).toBe(true);
    expect(once({ flow: { effect: 'send' }, repeatable: true })).toBe(false);
    expect(once({ flow: { effect: 'read' } })).toBe(false);
    expect(once({ flow: { effect: 'none' } })).toBe(false);
    expect(once({})).toBe(false);
  });
});

describe('a rewrite of an object', () => {
  const raw = { a: 'x', b: 1 };
  it.each([
    ['an object', { c: 1 }, { c: 1 }],
    ['its text', '{"c":1}', { c: 1 }],
    ['spans of its text', [{ start: 6, end: 7, with: 'y' }], { a: 'y', b: 1 }],
    ['no spans', [], raw],
    [
      'spans that overlap',
      [
        { start: 6, end: 7, with: 'y' },
        { start: 6, end: 8, with: 'z' },
      ],
      undefined,
    ],
    ['spans that break it', [{ start: 0, end: 1, with: '' }], undefined],
    ['a list', '[1]', undefined],
    ['a text that is no JSON', 'x', undefined],
    ['a JSON text', '"x"', undefined],
    ['null', 'null', undefined],
    ['nothing', undefined, undefined],
    ['a function', () => 1, undefined],
    ['a number', 7, undefined],
  ])('may be %s', (_what, by, expected) => {
    expect(rewriteObject(raw, by)).toEqual(expected);
  });
});
