import type { Message, RunResult, Usage, ViewInfo, ViewText } from '@guardloop/core';
import {
  allow,
  asTool,
  defineAgent,
  defineGuardrail,
  defineTool,
  deny,
  GuardloopError,
  resume,
  run,
  stream,
  usageBy,
} from '@guardloop/core';
import { collect } from '@guardloop/core/model';
import { callTool, endWith, failWith, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatChunk, serve } from './provider-server.js';
import { ofType, sound, stored } from './sound.js';

const approvalIds = (result: RunResult): readonly string[] => (result.status === 'interrupted' ? result.approvals.map(({ id }) => id) : []);
const used = (inputTokens: number, outputTokens: number): Usage => ({ requests: 1, inputTokens, outputTokens });

describe('K18', () => {
  it('S186: what agents within agents use is counted once, over a pause, and each copy of a paused run counts for itself', async () => {
    const gated = defineTool({ name: 'gated', description: 'G.', input: z.object({}), approval: true, execute: () => 'ok' });
    const model = scriptedModel(
      {
        main: [[callTool('ask_helper', { input: '1' }, 'm1'), callTool('ask_helper', { input: '2' }, 'm2')], say('done')],
        helper: [callTool('gated', {}, 'h1'), say('h')],
      },
      { usage: ({ agent }) => (agent === 'main' ? used(10, 5) : used(100, 50)) },
    );
    const helper = defineAgent({ name: 'helper', instructions: '', model, tools: [gated] });
    const main = defineAgent({ name: 'main', instructions: '', model, tools: [asTool(helper, { name: 'ask_helper', description: 'H.' })] });
    const first = await sound(run(main, 'go'));
    expect(first.usage).toEqual({ requests: 3, inputTokens: 210, outputTokens: 105 });
    const before = JSON.stringify(first.usage);
    const decisions = Object.fromEntries(approvalIds(first).map((id) => [id, 'approve' as const]));
    expect(Object.keys(decisions)).toHaveLength(2);
    for (let copy = 0; copy < 2; copy += 1) {
      const result = await sound(resume(main, stored(first.log), { decisions }).result);
      expect(result).toMatchObject({ status: 'completed', output: 'done' });
      expect(result.usage).toEqual({ requests: 6, inputTokens: 420, outputTokens: 210 });
      expect(usageBy(result.events)).toEqual({
        total: result.usage,
        byModel: { scripted: result.usage },
        byAgent: { main: { requests: 2, inputTokens: 20, outputTokens: 10 }, helper: { requests: 4, inputTokens: 400, outputTokens: 200 } },
      });
      expect(JSON.stringify(first.usage)).toBe(before);
    }
  });

  it('S137: what a view used to write a summary counts with the run, and against its limits', async () => {
    const summarizer = scriptedModel([say('So far: x.')], { id: 'small', usage: used(1_000, 100) });
    const view = async (messages: readonly Message[], { turn }: ViewInfo): Promise<readonly (Message | ViewText)[]> => {
      if (turn > 1) return messages;
      const request = { agent: 'summary', turn, system: 'Sum up.', messages, tools: [], settings: {} };
      const { text, end } = await collect(summarizer.stream(request, { signal: new AbortController().signal }));
      return [{ text, ...(end === undefined ? {} : { used: { model: summarizer.id, usage: end.usage } }) }, ...messages];
    };
    const model = scriptedModel([callTool('nothing'), say('never')], { usage: used(500, 50) });
    const agent = defineAgent({ name: 'a', instructions: '', model });
    const result = await sound(run(agent, 'go', { view, limits: { tokens: 1_500 } }));
    expect(result).toMatchObject({ status: 'exhausted', limit: 'tokens' });
    expect(result.usage).toEqual({ requests: 2, inputTokens: 1_500, outputTokens: 150 });
    expect(usageBy(result.events)).toEqual({
      total: result.usage,
      byModel: { small: used(1_000, 100), scripted: used(500, 50) },
      byAgent: { a: result.usage },
    });
    expect(model.requests).toHaveLength(1);
  });

  it('S137: what a view used for a text that is refused counts as well, and what it says of that is checked', async () => {
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('never')]) });
    const noSecrets = defineGuardrail({
      name: 'no-secrets',
      on: ['input'],
      check: ({ content }) => (content.includes('secret') ? deny('no') : allow()),
    });
    const view = (messages: readonly Message[]) => [{ text: 'a secret', used: { model: 'small', usage: used(9, 1) } }, ...messages];
    const result = await sound(run(agent, 'go', { view, guardrails: [noSecrets] }));
    expect(result).toMatchObject({ status: 'blocked', usage: used(9, 1) });
    expect(usageBy(result.events).byModel).toEqual({ small: used(9, 1) });
    for (const wrong of [5, { model: 'm' }, { usage: used(1, 1) }, { model: 'm', usage: {} }]) {
      const failed = await sound(run(agent, 'go', { view: (messages) => [{ text: 'x', used: wrong as never }, ...messages] }));
      expect(failed).toMatchObject({ status: 'failed', error: { code: 'CONFIG_INVALID' } });
    }
  });

  it('S186: a child’s use counts against the limits of its parent', async () => {
    const model = scriptedModel(
      { main: [callTool('ask', { input: 'x' }), say('never')], helper: [say('h')] },
      { usage: ({ agent }) => (agent === 'main' ? used(10, 5) : used(100, 50)) },
    );
    const helper = defineAgent({ name: 'helper', instructions: '', model });
    const main = defineAgent({ name: 'main', instructions: '', model, tools: [asTool(helper, { name: 'ask', description: 'A.' })] });
    const result = await sound(run(main, 'go', { limits: { tokens: 100 } }));
    expect(result).toMatchObject({ status: 'exhausted', limit: 'tokens', usage: { requests: 2, inputTokens: 110, outputTokens: 55 } });
    expect(model.requests).toHaveLength(2);
  });

  it('S186: refused, failed and odd answers count once, and what is no finite number counts as nothing', async () => {
    const odd = { requests: 1, inputTokens: Number.NaN, outputTokens: Number.POSITIVE_INFINITY, cost: -1 } as Usage;
    const lost = new GuardloopError('MODEL_FAILED', 'Lost.', {
      isRetryable: true,
      details: { usage: { requests: 1, inputTokens: 7, outputTokens: 1 } },
    });
    const model = scriptedModel([[callTool('nothing'), endWith({ usage: odd })], [endWith({ usage: used(3, 1) })], [failWith(lost)]]);
    const result = await sound(run(defineAgent({ name: 'a', instructions: '', model }), 'go'));
    expect(result.status).toBe('failed');
    expect(result.usage).toMatchObject({ requests: 3, inputTokens: 10, outputTokens: 2 });
  });

  it.each(['run', 'stream'] as const)('S164: where a provider tells no usage, requests are counted all the same (%s)', async (mode) => {
    const silent = { steps: [chatChunk({ content: 'x' }), chatChunk({}, 'stop'), 'data: [DONE]\n\n'] };
    const server = await serve({ status: 500, headers: { 'retry-after-ms': '1' }, steps: ['{}'] }, silent);
    const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat({ maxRetries: 1 }) });
    const result = await sound(mode === 'run' ? run(agent, 'go') : stream(agent, 'go').result);
    expect(result.status).toBe('completed');
    expect(result.usage).toEqual({ requests: 2 });
    expect(ofType(result.events, 'model.end')).toHaveLength(1);
  });
});
