import { allow, defineAgent, defineGuardrail, defineTool, halt } from '@guardloop/core';
import { callTool, callUnparsable, say } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { run, scriptedModel } from './audited.js';
import { callEnds, eventsOf, gate, observationsIn, resultsIn, sleep, untilAborted } from './reading.js';

describe('calls that run together', () => {
  it('B28: Parallel results stand in call order, and the cap holds', async () => {
    let running = 0;
    let most = 0;
    const work = defineTool({
      name: 'work',
      description: 'Works.',
      input: z.object({ id: z.number() }),
      flow: { effect: 'read' },
      execute: async ({ id }) => {
        running += 1;
        most = Math.max(most, running);
        await sleep(10 - id);
        running -= 1;
        return `result ${id}`;
      },
    });
    const ids = [0, 1, 2, 3, 4, 5, 6];
    const model = scriptedModel([ids.map((id) => callTool('work', { id })), say('Done.')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [work] });
    const result = await run(agent, 'hi', { concurrency: 3 });
    expect(result).toMatchObject({ status: 'completed' });
    expect(most).toBe(3);
    expect(resultsIn(model.requests[1]?.messages)).toEqual(ids.map((id) => `result ${id}`));
    most = 0;
    await run(agent, 'hi');
    expect(most).toBe(7);
  });

  it('B28: Nothing queued starts after a halt', async () => {
    const started: number[] = [];
    const work = defineTool({
      name: 'work',
      description: 'Works.',
      input: z.object({ id: z.number() }),
      execute: ({ id }) => {
        started.push(id);
        return `result ${id}`;
      },
    });
    const stop = defineGuardrail({
      name: 'stop',
      on: ['toolOutput'],
      check: async ({ content }) => {
        await sleep(2);
        return content === 'result 1' ? halt('enough') : allow();
      },
    });
    const model = scriptedModel([[0, 1, 2, 3, 4, 5].map((id) => callTool('work', { id })), say('Done.')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [work], guardrails: [stop] });
    const result = await run(agent, 'hi', { concurrency: 2 });
    expect(result).toMatchObject({ status: 'blocked', by: 'stop' });
    expect(started.length).toBeLessThanOrEqual(3);
    expect(eventsOf(result.log, 'tool.start')).toHaveLength(started.length);
    expect(eventsOf(result.log, 'tool.end').filter(({ status }) => status === 'aborted')).toHaveLength(6 - started.length);
    expect(result.messages.filter(({ role }) => role === 'tool')).toHaveLength(6);
  });
});

describe('calls that take too long', () => {
  it('B29: A timeout is an error or an unknown outcome, as the tool says, and never invites a second effect', async () => {
    const settle: ((value: string) => void)[] = [];
    const signals: AbortSignal[] = [];
    const slow = (name: string, flow: { readonly effect: 'read' | 'send' }) =>
      defineTool({
        name,
        description: 'Is slow.',
        input: z.object({}),
        flow,
        timeoutMs: 10,
        execute: (_, { signal }) => {
          signals.push(signal);
          return new Promise<string>((resolve) => settle.push(resolve));
        },
      });
    const model = scriptedModel([
      [callTool('look'), callTool('send')],
      () => {
        for (const each of settle) each('LATE');
        return callTool('send');
      },
    ]);
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model,
      tools: [slow('look', { effect: 'read' }), slow('send', { effect: 'send' })],
    });
    const result = await run(agent, 'hi');
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
    expect(observationsIn(model.requests[1]?.messages)).toEqual([
      { status: 'error', error_class: 'timeout', summary: 'look took longer than 10 ms and was stopped.', retryable: true },
      {
        status: 'unknown',
        error_class: 'timeout',
        summary: 'send was started, but it took longer than 10 ms; it may have happened. Do not call it again before you have looked.',
        retryable: false,
      },
    ]);
    // The model sends again all the same: a person is asked first.
    expect(result).toMatchObject({ status: 'interrupted', approvals: [{ tool: 'send' }] });
    expect(settle).toHaveLength(2);
    expect(JSON.stringify(result)).not.toContain('LATE');
  });

  it('B30: Cancellation reaches the tool’s signal; what had started is awaited; what had not gets an “aborted” result', async () => {
    const cancel = new AbortController();
    const bothRun = gate();
    let running = 0;
    let wasCleanedUp = false;
    const work = defineTool({
      name: 'work',
      description: 'Works.',
      input: z.object({ id: z.number() }),
      execute: async ({ id }, { signal }) => {
        running += 1;
        if (running === 2) bothRun.open();
        return untilAborted(signal).catch(async () => {
          await sleep(10);
          wasCleanedUp ||= id === 0;
          return `cleaned up ${id}`;
        });
      },
    });
    const model = scriptedModel([[0, 1, 2].map((id) => callTool('work', { id })), say('Done.')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [work] });
    void bothRun.opened.then(() => cancel.abort(new Error('the user left')));
    const result = await run(agent, 'hi', { signal: cancel.signal, concurrency: 2 });
    expect(result).toMatchObject({ status: 'cancelled', cause: { name: 'Error' } });
    expect(wasCleanedUp).toBe(true);
    expect(callEnds(result.log).sort()).toEqual(['work aborted', 'work ok', 'work ok']);
    expect(result.messages.slice(2)).toMatchObject([
      { callId: '1.0', content: 'cleaned up 0' },
      { callId: '1.1', content: 'cleaned up 1' },
      { callId: '1.2', isError: true },
    ]);
    expect(observationsIn(result.messages)).toMatchObject([{ status: 'aborted', error_class: 'aborted', retryable: false }]);
    expect(model.requests).toHaveLength(1);
  });
});

describe('arguments that cannot be read', () => {
  it('B31: Malformed arguments become an error the model can act on', async () => {
    const inputs: unknown[] = [];
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({ cents: z.number() }),
      execute: (input) => {
        inputs.push(input);
        return 'paid';
      },
    });
    const model = scriptedModel([
      [callUnparsable('pay', '{"cents": 1'), callTool('pay', [1]), callTool('pay', { cents: '1' }), callUnparsable('pay', '')],
      callTool('pay', { cents: 1 }),
      say('Paid.'),
    ]);
    const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [pay] }), 'hi');
    expect(result).toMatchObject({ status: 'completed', output: 'Paid.' });
    expect(observationsIn(model.requests[1]?.messages)).toEqual([
      {
        status: 'error',
        error_class: 'invalid_input',
        summary: expect.stringMatching(/^pay: the arguments are not valid JSON/),
        retryable: true,
      },
      { status: 'error', error_class: 'invalid_input', summary: 'pay: the arguments must be a JSON object.', retryable: true },
      { status: 'error', error_class: 'invalid_input', summary: 'pay: cents: expected number.', retryable: true },
      {
        status: 'error',
        error_class: 'invalid_input',
        summary: 'pay: the arguments are missing. Send one JSON object.',
        retryable: true,
      },
    ]);
    expect(inputs).toEqual([{ cents: 1 }]);
    expect(eventsOf(result.log, 'model.end')[0]?.calls.map(({ input }) => input)).toEqual([{}, {}, {}, {}]);
  });

  it('B32: An approval rule is not asked about arguments that could not be parsed', async () => {
    const asked: unknown[] = [];
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({ cents: z.number() }),
      approval: (input) => {
        asked.push(input);
        return false;
      },
      execute: () => 'paid',
    });
    const model = scriptedModel([
      [callUnparsable('pay', '{'), callTool('pay', { cents: 'many' })],
      callTool('pay', { cents: 1 }),
      say('Paid.'),
    ]);
    expect(await run(defineAgent({ name: 'a', instructions: '', model, tools: [pay] }), 'hi')).toMatchObject({ status: 'completed' });
    expect(asked).toEqual([{ cents: 1 }]);
  });
});
