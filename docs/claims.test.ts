// What the guides say and no snippet shows.
import { setTimeout as delay } from 'node:timers/promises';
import type { RunResult, ToolMessage } from '@guardloop/core';
import {
  allow,
  ask,
  asTool,
  defineAgent,
  defineGuardrail,
  definePolicy,
  defineTool,
  deny,
  halt,
  handoff,
  memorySession,
  resume,
  run,
  stream,
} from '@guardloop/core';
import { auditLog, callTool, endWith, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

const silent = scriptedModel([]);
const echo = defineTool({
  name: 'echo',
  description: 'Echo.',
  input: z.object({ text: z.string() }),
  flow: { effect: 'read' },
  execute: ({ text }) => text,
});
const results = (result: RunResult): readonly ToolMessage[] => result.messages.filter((message) => message.role === 'tool');
const ends = (result: RunResult) => result.events.flatMap((event) => (event.type === 'tool.end' ? [event] : []));
const approvalOf = (result: RunResult) => {
  if (result.status !== 'interrupted') throw new Error(`ended ${result.status}`);
  const [approval] = result.approvals;
  if (approval === undefined) throw new Error('nothing is asked');
  return approval;
};

describe('guardrails.md', () => {
  test('a refusal goes before a failure, whichever was declared first', async () => {
    const fails = defineGuardrail({
      name: 'fails',
      on: ['input'],
      check: async () => {
        throw new Error('down');
      },
    });
    const refuses = defineGuardrail({ name: 'refuses', on: ['input'], check: () => deny('no') });
    const result = await run(defineAgent({ name: 'a', instructions: '', model: silent, guardrails: [fails, refuses] }), 'Hi.');
    expect(result).toMatchObject({ status: 'blocked', by: 'refuses', reason: 'no' });
    expect(result).not.toHaveProperty('failed');
  });

  test('a refusal beside the model aborts its call, and nothing of it is kept', async () => {
    const late = defineGuardrail({
      name: 'late',
      on: ['input'],
      beside: 'model',
      check: async () => {
        await delay(5);
        return deny('no');
      },
    });
    const model = scriptedModel([say(['one ', 'two ', 'three'])], { delayMs: 20 });
    const result = await run(defineAgent({ name: 'a', instructions: '', model, guardrails: [late] }), 'Hi.');
    expect(result.status).toBe('blocked');
    expect(result.events.find((event) => event.type === 'model.end')).toMatchObject({ status: 'aborted', text: '' });
    expect(auditLog(result.log)).toEqual([]);
  });

  test('a person is asked about a handoff where a guardrail says so', async () => {
    const careful = defineGuardrail({ name: 'careful', on: ['handoff'], check: () => ask('who may go there?') });
    const billing = defineAgent({ name: 'billing', instructions: '', model: silent });
    const triage = defineAgent({ name: 'triage', instructions: '', model: silent, handoffs: [billing], guardrails: [careful] });
    const model = scriptedModel({ triage: [callTool('transfer_to_billing')], billing: [say('Hello from billing.')] });
    const paused = await run(triage, 'Hi.', { model });
    const approval = approvalOf(paused);
    expect(approval).toMatchObject({ surface: 'handoff', from: 'triage', to: 'billing', brief: 'Handed off from triage.' });
    const done = await resume(triage, paused.log, { model, decisions: { [approval.id]: 'approve' } });
    expect(done).toMatchObject({ status: 'completed', agent: 'billing' });
    expect(auditLog(done.log)).toEqual([]);
  });

  test("a typing error in an agent's policy is refused at definition", () => {
    const policy = definePolicy({ name: 'p', rules: [{ tool: 'ecko', then: 'allow' }], otherwise: 'deny' });
    expect(() => defineAgent({ name: 'a', instructions: '', model: silent, tools: [echo], guardrails: [policy] })).toThrow(/ecko/);
  });

  test('a provider tool has to be listed as unguarded, and strict refuses even then', async () => {
    const model = scriptedModel([say('Hi.')], { providerTools: ['web_search'] });
    expect(() => defineAgent({ name: 'a', instructions: '', model })).toThrow(/web_search/);
    const listed = defineAgent({ name: 'a', instructions: '', model, providerTools: [{ name: 'web_search', unguarded: true }] });
    const all = defineGuardrail({ name: 'all', on: ['input', 'toolInput', 'toolOutput', 'handoff', 'output'], check: () => allow() });
    await expect(run(listed, 'Hi.', { strict: true, guardrails: [all] })).rejects.toThrow(/web_search/);
    expect((await run(listed, 'Hi.')).status).toBe('completed');
  });

  test('text beside a call is judged, and its call does not start if it is refused', async () => {
    const polite = defineGuardrail({
      name: 'polite',
      on: ['output'],
      check: ({ content }) => (content.includes('stupid') ? deny('be polite') : allow()),
    });
    const model = scriptedModel([[say('A stupid one.'), callTool('echo', { text: 'x' })], say('Fine.')]);
    const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [echo], guardrails: [polite] }), 'Hi.');
    expect(result).toMatchObject({ status: 'completed', text: 'Fine.' });
    expect(ends(result)).toEqual([]);
  });
});

describe('handoffs.md', () => {
  const billing = defineAgent({ name: 'billing', description: 'Refunds.', instructions: '', model: silent });
  const script = (brief = {}) =>
    scriptedModel({ triage: [callTool('transfer_to_billing', brief), say('I stay.')], billing: [say('Billing.')] });

  test('text that a filter wrote is judged by the target as new', async () => {
    const seen: string[] = [];
    const watching = defineGuardrail({
      name: 'watching',
      on: ['input'],
      check: ({ items }) => {
        seen.push(...items.map(({ text }) => text));
        return allow();
      },
    });
    const target = defineAgent({ name: 'billing', instructions: '', model: silent, guardrails: [watching] });
    const shorter = handoff(target, {
      history: (messages) =>
        messages.map((message) => (message.role === 'user' ? { ...message, parts: [{ type: 'text', text: 'short' }] } : message)),
    });
    const triage = defineAgent({ name: 'triage', instructions: '', model: silent, handoffs: [shorter] });
    const result = await run(triage, 'A long story.', { model: script() });
    expect(result).toMatchObject({ status: 'completed', agent: 'billing' });
    expect(seen).toEqual(['short', 'Handed off from triage.']);
    expect(auditLog(result.log)).toEqual([]);
  });

  test('a filter that parts a call from its result fails the handoff, and the old agent stays', async () => {
    const parting = handoff(billing, { history: (messages) => messages.filter(({ role }) => role !== 'tool') });
    const triage = defineAgent({ name: 'triage', instructions: '', model: silent, tools: [echo], handoffs: [parting] });
    const model = scriptedModel({
      triage: [callTool('echo', { text: 'x' }), callTool('transfer_to_billing'), say('I stay.')],
      billing: [say('Billing.')],
    });
    const result = await run(triage, 'Hi.', { model });
    expect(result).toMatchObject({ status: 'completed', agent: 'triage', text: 'I stay.' });
    expect(String(results(result).at(-1)?.content)).toContain('parted a call from its result');
  });

  test('of several handoffs only the first is tried, and circles have a bound', async () => {
    const other = defineAgent({ name: 'other', instructions: '', model: silent });
    const triage = defineAgent({ name: 'triage', instructions: '', model: silent, handoffs: [billing, other] });
    const model = scriptedModel({ triage: [[callTool('transfer_to_billing'), callTool('transfer_to_other')]], billing: [say('Billing.')] });
    expect(await run(triage, 'Hi.', { model })).toMatchObject({ status: 'completed', agent: 'billing' });
    const ping = defineAgent({
      name: 'ping',
      instructions: '',
      model: silent,
      handoffs: [defineAgent({ name: 'pong', instructions: '', model: silent, handoffs: ['ping'] })],
    });
    const circle = scriptedModel((request) => callTool(request.agent === 'ping' ? 'transfer_to_pong' : 'transfer_to_ping'));
    expect(await run(ping, 'Hi.', { model: circle, limits: { turns: 50 } })).toMatchObject({ status: 'exhausted', limit: 'handoffs' });
  });

  test('the next run of a session begins with the active agent, or the agent given takes over', async () => {
    const session = { store: memorySession(), id: 's' };
    const triage = defineAgent({ name: 'triage', instructions: '', model: silent, handoffs: [billing] });
    await run(triage, 'Hi.', { session, model: script() });
    expect(await run(triage, 'And?', { session, model: scriptedModel([say('Still here.')]) })).toMatchObject({ agent: 'billing' });
    const lone = defineAgent({ name: 'lone', instructions: '', model: scriptedModel([say('Me now.')]) });
    const last = await run(lone, 'And?', { session });
    expect(last).toMatchObject({ status: 'completed', agent: 'lone' });
    expect(auditLog(last.log)).toEqual([]);
  });

  test("a child's halt ends the outer run, its refusals are an error observation", async () => {
    const stops = (verdict: ReturnType<typeof deny> | ReturnType<typeof halt>) =>
      defineAgent({
        name: 'child',
        instructions: '',
        model: silent,
        guardrails: [defineGuardrail({ name: 'g', on: ['input'], check: () => verdict })],
      });
    const parent = (child: ReturnType<typeof stops>) =>
      defineAgent({
        name: 'parent',
        instructions: '',
        model: scriptedModel([callTool('child', { input: 'x' }), say('Done.')]),
        tools: [asTool(child, { name: 'child', description: 'C.' })],
      });
    expect(await run(parent(stops(halt('stop all'))), 'Hi.')).toMatchObject({ status: 'blocked', by: 'g', reason: 'stop all' });
    const denied = await run(parent(stops(deny('not this'))), 'Hi.');
    expect(denied.status).toBe('completed');
    expect(JSON.parse(String(results(denied)[0]?.content))).toMatchObject({
      status: 'error',
      error_class: 'denied',
      summary: 'child was refused by g: not this',
    });
  });
});

describe('tools-and-observations.md', () => {
  const call = (tool: ReturnType<typeof defineTool>, input: Record<string, string> = {}) =>
    run(
      defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool(tool.name, input), say('Done.')]), tools: [tool] }),
      'Hi.',
    );

  test('a schema that JSON Schema cannot say is refused at definition', () => {
    expect(() => defineTool({ name: 't', description: 'T.', input: z.object({ at: z.date() }), execute: () => '' })).toThrow(
      /CONFIG_INVALID|at/,
    );
  });

  test('a deadline ends a repeatable call retryable, any other unknown', async () => {
    const slow = (effect: 'read' | 'write') =>
      defineTool({ name: 'slow', description: 'S.', input: z.object({}), flow: { effect }, timeoutMs: 10, execute: () => delay(200) });
    expect(ends(await call(slow('read')))[0]).toMatchObject({ status: 'error', errorClass: 'timeout', retryable: true });
    expect(ends(await call(slow('write')))[0]).toMatchObject({ status: 'unknown', errorClass: 'timeout', retryable: false });
  });

  test('a result that does not fit the declared form is bad_result', async () => {
    const wrong = defineTool({
      name: 'w',
      description: 'W.',
      input: z.object({}),
      output: z.object({ id: z.string() }),
      execute: () => ({ id: 1 }) as never,
    });
    expect(ends(await call(wrong))[0]).toMatchObject({ status: 'error', errorClass: 'bad_result' });
  });

  test('one result takes 16,000 characters, and the cut is noted beside it', async () => {
    const long = defineTool({ name: 'l', description: 'L.', input: z.object({}), execute: () => 'x'.repeat(100_000) });
    const [end] = ends(await call(long));
    expect(end?.chars).toBe(100_000);
    expect(String(end?.content).length).toBeLessThan(16_200);
    expect(end?.note).toContain('cut');
  });

  test('bytes become images, files or text', async () => {
    const png = defineTool({
      name: 'p',
      description: 'P.',
      input: z.object({}),
      execute: () => new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    });
    const text = defineTool({ name: 't', description: 'T.', input: z.object({}), execute: () => new TextEncoder().encode('grüß') });
    expect(ends(await call(png))[0]?.content).toMatchObject([{ type: 'image', mediaType: 'image/png' }]);
    expect(ends(await call(text))[0]?.content).toBe('grüß');
  });

  test('a declared write runs once in a turn, and asks a person when it comes again', async () => {
    let sent = 0;
    const send = defineTool({
      name: 'send',
      description: 'S.',
      input: z.object({ to: z.string() }),
      flow: { effect: 'send' },
      execute: () => `sent ${++sent}`,
    });
    const model = scriptedModel([
      [callTool('send', { to: 'a' }), callTool('send', { to: 'a' })],
      callTool('send', { to: 'a' }),
      say('Done.'),
    ]);
    const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [send] }), 'Hi.');
    expect(sent).toBe(1);
    expect(ends(result).map(({ content }) => content)).toEqual(['sent 1', 'sent 1']);
    expect(approvalOf(result).asks).toMatchObject([{ by: 'core' }]);
  });

  test('equal calls of a tool that declares nothing are not held back', async () => {
    let calls = 0;
    const plain = defineTool({ name: 'plain', description: 'P.', input: z.object({}), execute: () => `${++calls}` });
    const model = scriptedModel([[callTool('plain'), callTool('plain')], callTool('plain'), say('Done.')]);
    expect((await run(defineAgent({ name: 'a', instructions: '', model, tools: [plain] }), 'Hi.')).status).toBe('completed');
    expect(calls).toBe(3);
  });

  test('the third equal call gets a note, and the sixth ends the run', async () => {
    const model = scriptedModel(() => callTool('echo', { text: 'x' }));
    const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [echo] }), 'Hi.', { limits: { turns: 50 } });
    expect(result).toMatchObject({ status: 'exhausted', limit: 'repeats' });
    expect(ends(result).map(({ note }) => note !== undefined)).toEqual([false, false, true, true, true, true]);
  });
});

describe('approvals.md', () => {
  const open = defineTool({
    name: 'open',
    description: 'O.',
    input: z.object({ door: z.string() }),
    approval: true,
    rejection: 'Doors stay shut.',
    execute: ({ door }) => `${door} is open`,
  });

  test('approvals without a decision stay open, and a rejection without words uses those of the tool', async () => {
    const model = scriptedModel([[callTool('open', { door: 'a' }), callTool('open', { door: 'b' })], say('Done.')]);
    const porter = defineAgent({ name: 'porter', instructions: '', model, tools: [open] });
    const paused = await run(porter, 'Hi.');
    if (paused.status !== 'interrupted') throw new Error(paused.status);
    const [first, second] = paused.approvals;
    const half = await resume(porter, paused.log, { decisions: { [first?.id ?? '']: 'approve' } });
    expect(half).toMatchObject({ status: 'interrupted', approvals: [{ id: second?.id }] });
    const done = await resume(porter, half.log, { decisions: { [second?.id ?? '']: { reject: '' } } });
    expect(results(done).map(({ content }) => String(content))).toEqual(['a is open', expect.stringContaining('Doors stay shut.')]);
    expect(auditLog(done.log)).toEqual([]);
  });

  test('a call that was cut after its start may have run, and a person decides', async () => {
    let runs = 0;
    const pay = defineTool({
      name: 'pay',
      description: 'P.',
      input: z.object({}),
      flow: { effect: 'send' },
      execute: () => `paid ${++runs}`,
    });
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('pay'), say('Done.')]), tools: [pay] });
    const whole = await run(agent, 'Hi.');
    const start = whole.log.events.findIndex(({ type }) => type === 'tool.start');
    const cut = await resume(agent, { version: 1, events: whole.log.events.slice(0, start + 1) });
    const approval = approvalOf(cut);
    expect(approval).toMatchObject({ surface: 'toolInput', mayHaveRun: true });
    expect(runs).toBe(1);
    const rejected = await resume(agent, cut.log, { decisions: { [approval.id]: { reject: 'I looked: it was paid.' } } });
    expect(ends(rejected)[0]).toMatchObject({ status: 'unknown' });
    const given = await resume(agent, cut.log, { decisions: { [approval.id]: { result: 'paid 1' } } });
    expect(ends(given)[0]).toMatchObject({ status: 'ok', content: 'paid 1' });
  });

  test('of two processes that resume a stored run, one is refused before it did anything', async () => {
    let opened = 0;
    const gate = defineTool({ name: 'gate', description: 'G.', input: z.object({}), approval: true, execute: () => `${++opened}` });
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('gate'), say('Done.')]), tools: [gate] });
    const session = { store: memorySession(), id: 's' };
    const { id } = approvalOf(await run(agent, 'Hi.', { session }));
    const both = await Promise.allSettled([1, 2].map(() => resume(agent, session, { decisions: { [id]: 'approve' } }).result));
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(both.find((each) => each.status === 'rejected')?.reason).toMatchObject({ code: 'LOG_CONFLICT' });
    expect(opened).toBe(1);
  });

  test('a guardrail that is missing at resume is a mismatch, unless the change is accepted', async () => {
    const guard = defineGuardrail({ name: 'guard', on: ['toolInput'], check: () => allow() });
    const model = scriptedModel([callTool('open', { door: 'a' }), say('Done.')]);
    const paused = await run(defineAgent({ name: 'a', instructions: '', model, tools: [open], guardrails: [guard] }), 'Hi.');
    const bare = defineAgent({ name: 'a', instructions: '', model, tools: [open] });
    const decisions = { [approvalOf(paused).id]: 'approve' } as const;
    await expect(resume(bare, paused.log, { decisions }).result).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
    expect((await resume(bare, paused.log, { decisions, accept: 'changed' })).status).toBe('completed');
  });
});

describe('streaming.md, sessions.md, errors.md', () => {
  const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Hi.')]) });

  test('an observer that throws harms nobody, and is shown', async () => {
    const types: string[] = [];
    const events = stream(agent, 'Hi.', {
      observers: [
        () => {
          throw new Error('broken');
        },
      ],
    });
    for await (const event of events) types.push(event.type);
    expect(types).toContain('observer.error');
    expect((await events.result).status).toBe('completed');
  });

  test('blocked input is not in the session, and a reply is told', async () => {
    const no = defineGuardrail({
      name: 'no',
      on: ['input'],
      check: ({ content }) => (content === 'secret plan' ? deny('no', { reply: 'Not here.' }) : allow()),
    });
    const guarded = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Hi.')]), guardrails: [no] });
    const session = { store: memorySession(), id: 's' };
    expect(await run(guarded, 'secret plan', { session })).toMatchObject({ status: 'blocked', reply: 'Not here.' });
    const next = await run(guarded, 'Hello.', { session });
    expect(next.messages.length).toBe(2);
    expect(JSON.stringify(next.log)).not.toContain('secret plan');
  });

  test('a new guardrail sees the whole history of a session before the model does', async () => {
    const session = { store: memorySession(), id: 's' };
    await run(agent, 'My name is Eve.', { session });
    const no = defineGuardrail({
      name: 'no-eve',
      on: ['input'],
      check: ({ content }) => (content.includes('Eve') ? deny('not with Eve') : allow()),
    });
    const model = scriptedModel([say('Hi.')]);
    const result = await run(defineAgent({ name: 'a', instructions: '', model, guardrails: [no] }), 'Hello?', { session });
    expect(result).toMatchObject({ status: 'blocked', by: 'no-eve' });
    expect(model.requests).toEqual([]);
  });

  test('what a view writes is guarded, and its refusal blocks the run', async () => {
    const no = defineGuardrail({
      name: 'no',
      on: ['input'],
      check: ({ items }) => (items.some(({ via }) => via === 'view') ? deny('no summaries') : allow()),
    });
    const result = await run(agent, 'Hi.', { guardrails: [no], view: (messages) => [{ text: 'A summary.' }, ...messages] });
    expect(result).toMatchObject({ status: 'blocked', by: 'no', surface: 'input' });
  });

  test('a call and its result that a view parts are left out together', async () => {
    const model = scriptedModel([callTool('echo', { text: 'x' }), say('Done.')]);
    const parted = await run(defineAgent({ name: 'a', instructions: '', model, tools: [echo] }), 'Hi.', {
      view: (messages) => messages.filter(({ role }) => role !== 'tool'),
    });
    expect(parted.status).toBe('completed');
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user']);
  });

  test('an exhausted run is reopened with new limits only', async () => {
    const model = scriptedModel([callTool('echo', { text: 'x' }), say('Done.')]);
    const looking = defineAgent({ name: 'a', instructions: '', model, tools: [echo] });
    const short = await run(looking, 'Hi.', { limits: { turns: 1 } });
    expect(short).toMatchObject({ status: 'exhausted', limit: 'turns' });
    expect((await resume(looking, short.log)).status).toBe('exhausted');
    expect(await resume(looking, short.log, { limits: { turns: 2 } })).toMatchObject({ status: 'completed', text: 'Done.' });
  });

  test('a cancelled run, and one blocked by a guardrail that failed, are reopened', async () => {
    const controller = new AbortController();
    controller.abort();
    const cancelled = await run(agent, 'Hi.', { signal: controller.signal });
    expect(cancelled.status).toBe('cancelled');
    expect((await resume(agent, cancelled.log, { input: 'Hi.' })).status).toBe('completed');
    let isDown = true;
    const flaky = defineGuardrail({
      name: 'flaky',
      on: ['output'],
      check: () => {
        if (isDown) throw new Error('down');
        return allow();
      },
    });
    const guarded = defineAgent({ name: 'a', instructions: '', model: scriptedModel(() => say('Hi.')), guardrails: [flaky] });
    const blocked = await run(guarded, 'Hi.');
    expect(blocked).toMatchObject({ status: 'blocked', failed: true });
    isDown = false;
    expect((await resume(guarded, blocked.log)).status).toBe('completed');
  });

  test('each code of a failed run is where errors.md says', async () => {
    const code = async (result: Promise<RunResult>): Promise<string> => {
      const ended = await result;
      return ended.status === 'failed' ? ended.error.code : ended.status;
    };
    const on = (model: ReturnType<typeof scriptedModel>) => run(agent, 'Hi.', { model });
    expect(await code(on(scriptedModel([[say('Hel'), endWith({ stopReason: 'length' })]])))).toBe('MODEL_FAILED');
    expect(await code(on(scriptedModel(() => say(''))))).toBe('MODEL_PROTOCOL');
    const typed = defineAgent({
      name: 'a',
      instructions: '',
      model: scriptedModel(() => say('{"n":"x"}')),
      output: z.object({ n: z.number() }),
    });
    expect(await code(run(typed, 'Hi.'))).toBe('OUTPUT_INVALID');
    const throwing = defineAgent({
      name: 'a',
      model: scriptedModel([say('Hi.')]),
      instructions: () => {
        throw new Error('no');
      },
    });
    expect(await code(run(throwing, 'Hi.'))).toBe('INTERNAL');
    expect(await code(run(agent, 'Hi.', { view: () => 'nonsense' as never }))).toBe('CONFIG_INVALID');
    await expect(resume(agent, { version: 2, events: [] } as never).result).rejects.toMatchObject({ code: 'LOG_INVALID' });
  });
});
