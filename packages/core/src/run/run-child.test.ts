import { describe, expect, it } from 'vitest';
import type { Turn } from '../../test/scene.js';
import { agentOf, answered, calls, eventsOf, HandClock, openCall, scripted, settle, tool } from '../../test/scene.js';
import { asTool } from '../define/as-tool.js';
import { defineGuardrail } from '../define/guardrail.js';
import { allow, deny } from '../define/verdict.js';
import type { Model } from '../model/types.js';
import type { RunEndEvent } from '../state/events.js';
import { resume, run } from './run.js';
import { runCall } from './run-call.js';

/** A model that never answers. */
const hanging = (): Model => ({
  id: 'm1',
  provider: 'maker',
  stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) }),
});

const above = (more: object = {}, options: object = {}, first: Turn = [calls('ask_helper', { input: 'What is up?' })]) => {
  const helper = asTool(agentOf({ name: 'helper', model: scripted('Helped.'), ...more }), {
    name: 'ask_helper',
    description: 'Helps.',
    ...options,
  });
  return agentOf({ model: scripted(first, 'Done.'), tools: [helper, tool('read_mail', () => 'Mail.')] });
};
const summaryOf = (content: unknown): unknown => JSON.parse(String(content)).summary;

describe('the run of an agent that was called', () => {
  it('begins in the log of the run above, under its guardrails and in its name', async () => {
    const guard = (name: string) => defineGuardrail({ name, on: ['output'], check: () => allow() });
    const { log } = await run(above({ guardrails: [guard('own')] }, { limits: { turns: 3 } }), 'hello', {
      runId: 'r1',
      guardrails: [guard('all')],
    });
    const [first, start] = eventsOf(log, 'run.start');
    expect(start).toEqual({
      type: 'run.start',
      seq: start?.seq,
      at: expect.any(Number),
      run: 'r1/1.0',
      agent: 'helper',
      parent: 'r1',
      writer: first?.writer,
      limits: { turns: 3, toolCalls: null, tokens: null, cost: null, ms: null, handoffs: 8, repairs: 1, repeats: 3 },
      manifest: {
        run: [expect.objectContaining({ name: 'all' })],
        agent: [expect.objectContaining({ name: 'own' })],
        tools: {},
        definitions: expect.objectContaining({ name: 'helper', tools: {} }),
      },
      call: '1.0',
    });
    expect(log.events.map(({ seq }) => seq)).toEqual(log.events.map((_, index) => index + 1));
  });

  it.each([
    ['trusted', [calls('ask_helper', { input: 'What is up?' })], '1.0'],
    ['untrusted', [calls('read_mail')], '2.0'],
  ] as const)('is given what the agent above says, which is as %s as what that has read', async (integrity, first, call) => {
    const helper = asTool(agentOf({ name: 'helper' }), { name: 'ask_helper', description: 'Helps.' });
    const turns = integrity === 'trusted' ? [first, 'Done.'] : [first, [calls('ask_helper', { input: 'What is up?' })], 'Done.'];
    const agent = agentOf({ model: scripted(...turns), tools: [helper, tool('read_mail', () => 'Mail.')] });
    const { log } = await run(agent, 'hello', { runId: 'r1' });
    const label = { origin: 'agent:desk', integrity };
    expect(eventsOf(log, 'input.accept').at(-1)?.items).toEqual([
      { role: 'user', id: `r1/${call}/i1`, via: 'parent', parts: [{ type: 'text', text: 'What is up?', label }], label },
    ]);
  });

  it('leaves no timer behind', async () => {
    const clock = new HandClock();
    expect(await run(above({}, { limits: { ms: 500 } }), 'hello', { clock })).toMatchObject({ status: 'completed' });
    expect(clock.timers).toEqual([]);
  });

  it('ends at its own time, of which the call tells', async () => {
    const clock = new HandClock();
    const running = run(above({ model: hanging() }, { limits: { ms: 500 } }), 'hello', { clock });
    await settle();
    await clock.pass(500);
    // What it used may still be told by its model.
    await clock.pass(100);
    const { status, log } = await running;
    expect(status).toBe('completed');
    const end = eventsOf(log, 'tool.end').at(-1);
    expect(end).toMatchObject({ status: 'error', errorClass: 'failed', retryable: false });
    expect(summaryOf(end?.content)).toBe('ask_helper reached its limit ms.');
  });

  it('is stopped with the run above, and both end', async () => {
    const controller = new AbortController();
    const running = run(above({ model: hanging() }), 'hello', { runId: 'r1', signal: controller.signal });
    await settle();
    controller.abort('enough');
    const { status, log } = await running;
    expect(status).toBe('cancelled');
    expect(eventsOf(log, 'run.end')).toEqual([
      expect.objectContaining({ run: 'r1/1.0', parent: 'r1', status: 'cancelled' }),
      expect.objectContaining({ run: 'r1', status: 'cancelled' }),
    ]);
    const end = eventsOf(log, 'tool.end').at(-1);
    expect(end).toMatchObject({ status: 'error', errorClass: 'aborted', retryable: false });
    expect(summaryOf(end?.content)).toBe('ask_helper was stopped with the run.');
  });

  it('is not listened for any more once it has ended', async () => {
    const handle = await answered(above());
    const stopping: unknown[] = [];
    const { onStop } = handle;
    handle.onStop = (listener) => {
      stopping.push(listener);
      const off = onStop.call(handle, listener);
      return () => {
        stopping.splice(stopping.indexOf(listener), 1);
        off();
      };
    };
    const running = runCall(openCall(handle), { input: 'x' });
    await settle();
    await running;
    expect(stopping).toEqual([]);
  });

  it('is stopped before it begins where the run above was stopped', async () => {
    const handle = await answered(above({ model: hanging() }));
    const running = runCall(openCall(handle), { input: 'x' });
    handle.abort({ kind: 'halt' });
    await running;
    expect(eventsOf(handle.root, 'run.end')).toMatchObject([{ run: 'r1/1.0', status: 'cancelled' }]);
  });

  it('is aborted for the reason of the run above', async () => {
    const controller = new AbortController();
    let signal: AbortSignal | undefined;
    const model: Model = {
      ...hanging(),
      stream(request, options) {
        signal = options.signal;
        return hanging().stream(request, options);
      },
    };
    const running = run(above({ model }), 'hello', { signal: controller.signal });
    await settle();
    controller.abort('enough');
    await running;
    expect(signal?.reason).toBe('enough');
  });

  it('is told once what the agent above says, also where it is resumed', async () => {
    const briefs: unknown[] = [];
    const risky = tool('risky', () => 'Paid.', { approval: true });
    const helper = asTool(agentOf({ name: 'helper', model: scripted([calls('risky')], 'Helped.'), tools: [risky] }), {
      name: 'ask_helper',
      description: 'Helps.',
      brief: (input) => `brief ${briefs.push(input)}`,
    });
    const agent = agentOf({ model: scripted([calls('ask_helper', { input: 'sky' })], 'Done.'), tools: [helper] });
    const asked = await run(agent, 'hello', { runId: 'r1' });
    expect(await resume(agent, asked.log, { decisions: { 'r1/1.0/p1': 'approve' } })).toMatchObject({ status: 'completed' });
    expect(briefs).toEqual([{ input: 'sky' }]);
  });

  it.each([
    ['blocked', 'ask_helper was refused by a guardrail: ', 'denied'],
    ['failed', 'ask_helper failed: INTERNAL.', 'unavailable'],
  ])('that ended %s in a log that does not say why is an error all the same', async (status, summary, errorClass) => {
    const refuses = defineGuardrail({ name: 'refuses', on: ['input'], check: () => (status === 'blocked' ? deny('no') : allow()) });
    const agent = above({ guardrails: [refuses], model: { ...hanging(), stream: () => [] } });
    const { log } = await run(agent, 'hello', { runId: 'r1' });
    const at = log.events.findIndex(({ type }) => type === 'run.end');
    const { refusal, error, ...end } = log.events[at] as RunEndEvent;
    expect(end).toMatchObject({ run: 'r1/1.0', status });
    const done = await resume(agent, { version: 1, events: [...log.events.slice(0, at), end] });
    const call = eventsOf(done.log, 'tool.end').at(-1);
    expect(call).toMatchObject({ status: 'error', errorClass, retryable: false });
    expect(summaryOf(call?.content)).toBe(summary);
  });
});
