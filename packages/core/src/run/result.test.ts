import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Entered } from '../../test/enter-run.js';
import { enterRun, modelOf, recordAnswer, recordedCall } from '../../test/enter-run.js';
import { defineAgent } from '../define/agent.js';
import { GuardloopError } from '../errors.js';
import type { CallApproval, RunEndEvent } from '../state/events.js';
import { outputOf, resultOf } from './result.js';
import { StoreWriter } from './store-writer.js';

const structured = (output: unknown = z.object({ n: z.number().transform((n) => n + 1) })) =>
  defineAgent({ name: 'a', instructions: '', model: modelOf(), output: output as never });

async function ended(end: Omit<RunEndEvent, 'type' | 'seq' | 'at' | 'run' | 'agent' | 'parent'>, agent?: unknown) {
  const entered = await enterRun(agent);
  recordAnswer(entered.handle, []);
  entered.handle.append({ type: 'run.end', ...end });
  return { ...entered, result: await resultOf(entered.handle) };
}
const base = ({ handle }: Entered) => ({
  runId: 'r',
  agent: 'a',
  log: { version: 1, events: handle.root.events },
  events: handle.root.events,
  messages: handle.state.conversation.messages,
  usage: handle.state.usage,
});

describe('the result of a run', () => {
  it('that completed is its text', async () => {
    const entered = await ended({ status: 'completed', text: 'Done.' });
    expect(entered.result).toStrictEqual({ ...base(entered), status: 'completed', text: 'Done.', output: 'Done.' });
    expect(entered.result.messages).toHaveLength(2);
    expect(entered.result.usage).toEqual({ requests: 1, inputTokens: 1, outputTokens: 1 });
    const silent = await ended({ status: 'completed' });
    expect(silent.result).toStrictEqual({ ...base(silent), status: 'completed', text: '', output: '' });
  });

  it('that completed with a value is what the schema makes of it', async () => {
    const entered = await ended({ status: 'completed', text: '{"n":1}', value: { n: 1 } }, structured());
    expect(entered.result).toStrictEqual({ ...base(entered), status: 'completed', text: '{"n":1}', output: { n: 2 } });
  });

  it('that was blocked says where, by whom, why and what to tell', async () => {
    const refusal = { action: 'deny', surface: 'input', by: 'words', reason: 'Not here.' } as const;
    const entered = await ended({ status: 'blocked', refusal });
    expect(entered.result).toStrictEqual({ ...base(entered), status: 'blocked', surface: 'input', by: 'words', reason: 'Not here.' });
    const failed = await ended({ status: 'blocked', refusal: { ...refusal, failed: true }, reply: 'Sorry.' });
    expect(failed.result).toStrictEqual({
      ...base(failed),
      status: 'blocked',
      surface: 'input',
      by: 'words',
      reason: 'Not here.',
      reply: 'Sorry.',
      failed: true,
    });
    const bare = await ended({ status: 'blocked' });
    expect(bare.result).toStrictEqual({ ...base(bare), status: 'blocked', surface: 'output', by: '', reason: '' });
  });

  it('that is exhausted says which limit, and the last answer where there is one', async () => {
    const entered = await ended({ status: 'exhausted', limit: 'tokens' });
    expect(entered.result).toStrictEqual({ ...base(entered), status: 'exhausted', limit: 'tokens' });
    const answered = await ended({ status: 'exhausted', text: 'So far.' });
    expect(answered.result).toStrictEqual({ ...base(answered), status: 'exhausted', limit: 'turns', text: 'So far.', output: 'So far.' });
    const valued = await ended({ status: 'exhausted', text: '{"n":1}', value: { n: 1 } }, structured());
    expect(valued.result).toMatchObject({ text: '{"n":1}', output: { n: 2 } });
  });

  it('that failed has the error as it was recorded', async () => {
    const error = {
      code: 'MODEL_FAILED',
      message: 'Down.',
      isRetryable: true,
      details: { status: 500 },
      cause: { name: 'TypeError' },
    } as const;
    const entered = await ended({ status: 'failed', error });
    expect(entered.result).toStrictEqual({
      ...base(entered),
      status: 'failed',
      error: new GuardloopError('MODEL_FAILED', 'Down.', { isRetryable: true, details: { status: 500 }, cause: new TypeError('secret') }),
    });
    expect(GuardloopError.is((entered.result as { error?: unknown }).error)).toBe(true);
    const bare = await ended({ status: 'failed' });
    expect(bare.result).toMatchObject({ error: { code: 'INTERNAL', message: 'The run failed.', isRetryable: false, details: {} } });
    expect(bare.result).toHaveProperty('error.cause', undefined);
  });

  it('that was cancelled has the cause where there is one', async () => {
    const entered = await ended({ status: 'cancelled', cause: { name: 'AbortError' } });
    expect(entered.result).toStrictEqual({ ...base(entered), status: 'cancelled', cause: { name: 'AbortError' } });
    const bare = await ended({ status: 'cancelled' });
    expect(bare.result).toStrictEqual({ ...base(bare), status: 'cancelled' });
  });

  it('that waits for people has what they are asked', async () => {
    const entered = await enterRun();
    recordAnswer(entered.handle, [recordedCall('send')]);
    const approval: CallApproval = {
      id: 'r/p1',
      surface: 'toolInput',
      run: 'r',
      agentPath: ['a'],
      subject: 'r/1.0',
      revision: 0,
      digest: 'd',
      reason: '',
      asks: [],
      label: { origin: 'agent:a', integrity: 'trusted' },
      untrustedFrom: [],
      tool: 'send',
      callId: '1.0',
      input: {},
      flow: { effect: 'send', authority: 'all', declared: true },
      mayHaveRun: false,
    };
    entered.handle.append({ type: 'approval.request', approval });
    expect(await resultOf(entered.handle)).toStrictEqual({ ...base(entered), status: 'interrupted', approvals: [approval] });
    entered.handle.abort({ kind: 'halt' });
    expect(await resultOf(entered.handle)).toMatchObject({ status: 'interrupted' });
  });

  it('in which something was thrown has failed, though it has not ended', async () => {
    const entered = await enterRun();
    const error = new GuardloopError('INTERNAL', 'A fault.');
    entered.handle.abort({ kind: 'fault', error });
    expect(await resultOf(entered.handle)).toStrictEqual({ ...base(entered), status: 'failed', error });
  });

  it('whose store has failed has failed, however it ended', async () => {
    const entered = await ended({ status: 'completed', text: 'Done.' });
    const store = { load: async () => [], append: async () => undefined };
    const writer = new StoreWriter({ store, id: 's' }, 'w', { afterSeq: 0, onFailure: () => undefined });
    Object.assign(entered.handle.root, { writer });
    expect(await resultOf(entered.handle)).toMatchObject({ status: 'completed' });
    writer.giveUp(undefined);
    expect(await resultOf(entered.handle)).toStrictEqual({ ...base(entered), status: 'failed', error: writer.failure });
  });

  it('of a session has its own events, and the whole log', async () => {
    const { handle: first } = await enterRun(undefined, { runId: 'r0' });
    first.append({ type: 'run.end', status: 'cancelled' });
    const entered = await enterRun(undefined, {
      session: { store: { load: async () => first.root.events, append: async () => undefined }, id: 's' },
    });
    entered.handle.append({ type: 'run.end', status: 'cancelled' });
    const result = await resultOf(entered.handle);
    expect(result.log.events.map(({ run }) => run)).toEqual(['r0', 'r0', 'r', 'r']);
    expect(result.events.map(({ run, type }) => [run, type])).toEqual([
      ['r', 'run.start'],
      ['r', 'run.end'],
    ]);
  });
});

describe('the output of an answer', () => {
  it('is what was parsed in this process', async () => {
    const { handle } = await enterRun(structured());
    handle.answer = { value: undefined };
    expect(await outputOf(handle, '{"n":1}', { n: 1 })).toBeUndefined();
  });

  it('is the text where the agent wants no other form, is gone, or no value was given', async () => {
    const { handle } = await enterRun();
    expect(await outputOf(handle, 'text', { n: 1 })).toBe('text');
    handle.state.agent = 'gone';
    expect(await outputOf(handle, 'text', { n: 1 })).toBe('text');
    expect(await outputOf((await enterRun(structured())).handle, 'text', undefined)).toBe('text');
  });

  it('is the value itself where the schema takes it no more', async () => {
    expect(await outputOf((await enterRun(structured())).handle, '{"n":"x"}', { n: 'x' })).toEqual({ n: 'x' });
  });

  it('is waited for where the schema is', async () => {
    const later = structured(z.object({ n: z.number() }).transform(async ({ n }) => n + 5));
    expect(await outputOf((await enterRun(later)).handle, '{"n":1}', { n: 1 })).toBe(6);
  });
});
