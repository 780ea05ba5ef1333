import type { Log } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, deny, halt, headTail, resume, rewrite, run, stream } from '@guardloop/core';
import { auditLog, callTool, cutAnywhere, normalLog, refuse, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { pipeline } from './pipeline.js';

const topic = z.object({ topic: z.enum(['refund', 'other']), since: z.string() });
const reader = (answer = '{"topic":"refund","since":"2026-01-02"}', more: object = {}) =>
  defineAgent({ name: 'reader', instructions: 'Read.', model: scriptedModel([say(answer)]), output: topic, ...more });
const writing = () => scriptedModel((request) => say(`Wrote about ${JSON.stringify(request.messages[0]).match(/refund since \d+/)?.[0]}.`));
const writer = (model = writing(), more: object = {}) => defineAgent({ name: 'writer', instructions: 'Write.', model, ...more });
const clean = (text: string) => text.trim();
const ask = ({ topic: about, since }: z.infer<typeof topic>) => `Write about a ${about} since ${since.slice(0, 4)}.`;
const build = () => pipeline({ name: 'intake', stages: [clean, reader(), ask, writer()] });

describe('pipeline', () => {
  it('gives each stage what the one before it gave, and answers with the last', async () => {
    const result = await run(build(), '  I want my money back. ', { runId: 'r1' });
    expect(result).toMatchObject({ status: 'completed', agent: 'intake', output: 'Wrote about refund since 2026.' });
    expect(result.usage.requests).toBe(2);
    const calls = result.events.flatMap((event) => (event.type === 'tool.start' ? [`${event.tool} ${JSON.stringify(event.input)}`] : []));
    expect(calls).toEqual([
      'stage_1 {"input":"  I want my money back. "}',
      'stage_2 {"input":"I want my money back."}',
      'stage_3 {"input":{"topic":"refund","since":"2026-01-02"}}',
      'stage_4 {"input":"Write about a refund since 2026."}',
    ]);
    expect(auditLog(result.log)).toEqual([]);
  });

  it('keeps values and texts apart, whole, and as JSON', async () => {
    const seen: unknown[] = [];
    const keep = (value: unknown) => {
      seen.push(value);
      return value;
    };
    const agent = pipeline({
      name: 'values',
      stages: [() => '5', keep, () => ({ at: new Date(0), text: 'x'.repeat(40_000) }), keep, () => null, keep],
    });
    const result = await run(agent, 'Go.', { project: headTail({ maxChars: 10 }) });
    expect(result).toMatchObject({ status: 'completed', output: 'null' });
    expect(seen).toEqual(['5', { at: '1970-01-01T00:00:00.000Z', text: 'x'.repeat(40_000) }, null]);
  });

  it('has a value for an answer where it has a schema for it', async () => {
    const agent = pipeline({ name: 'typed', stages: [reader()], output: topic });
    expect(await run(agent, 'Go.')).toMatchObject({ status: 'completed', output: { topic: 'refund', since: '2026-01-02' } });
    const text = pipeline({ name: 'texted', stages: [reader()] });
    expect(await run(text, 'Go.')).toMatchObject({ output: '{"topic":"refund","since":"2026-01-02"}' });
    const wrong = pipeline({ name: 'wrong', stages: [() => ({ topic: 'none' })], output: topic });
    expect((await run(wrong, 'Go.')).status).toBe('failed');
  });

  it('tells a function the context and a signal', async () => {
    const told: unknown[] = [];
    const look = (_: string, info: { readonly context: { readonly user: string }; readonly signal: AbortSignal }) => {
      told.push(info.context, info.signal.aborted);
      return 'x';
    };
    await run(pipeline({ name: 'told', stages: [look] }), 'Go.', { context: { user: 'anna' } });
    expect(told).toEqual([{ user: 'anna' }, false]);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('no')), 'stage 2 of 3 failed (failed)'],
    ['gives nothing', () => undefined, 'stage 2 of 3 gave nothing'],
    [
      'is an agent that refuses',
      defineAgent({ name: 'r', instructions: '', model: scriptedModel([refuse()]) }),
      'stage 2 of 3 failed (failed)',
    ],
  ])('fails at a stage that %s, and goes no further', async (_, stage, why) => {
    let went = false;
    const last = () => {
      went = true;
      return 'x';
    };
    const result = await run(pipeline({ name: 'fails', stages: [clean, stage as unknown as () => string, last] }), 'Go.');
    expect(result).toMatchObject({ status: 'failed', error: { message: `Agent fails (pipeline) gave up: ${why}.` } });
    expect(went).toBe(false);
    expect(auditLog(result.log)).toEqual([]);
  });

  it('streams to the same log, and cut anywhere goes on to the same end', async () => {
    const whole = await run(build(), 'Money back.');
    expect(normalLog((await stream(build(), 'Money back.').result).log)).toEqual(normalLog(whole.log));
    const report = await cutAnywhere(whole.log, (prefix) => resume(build(), prefix).result, { mayAsk: false, from: 2 });
    expect(report.differences).toEqual([]);
    expect(report.same).toBe(report.cuts);
  });

  it('has each stage judged: what one guardrail rewrites goes on, and what one refuses does not', async () => {
    const hide = defineGuardrail({
      name: 'hide',
      on: ['toolOutput'],
      tools: ['stage_1'],
      rewrite: ({ content }) => rewrite(content.replace('secret', '…'), 'a secret'),
    });
    const seen: unknown[] = [];
    const keep = (value: string) => {
      seen.push(value);
      return value;
    };
    await run(pipeline({ name: 'hides', stages: [clean, keep], guardrails: [hide] }), 'a secret');
    expect(seen).toEqual(['a …']);
    const no = (act: typeof deny | typeof halt) =>
      defineGuardrail({ name: 'no', on: ['toolInput'], tools: ['stage_2'], check: () => act('no') });
    expect(await run(build(), 'x', { guardrails: [no(deny)] })).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('stage 2 of 4 failed (denied)') },
    });
    expect(await run(build(), 'x', { guardrails: [no(halt)] })).toMatchObject({ status: 'blocked', by: 'no' });
    const own: string[] = [];
    const watch = defineGuardrail({
      name: 'watch',
      on: ['input', 'output'],
      check: ({ surface }, { agent }) => {
        own.push(`${agent} ${surface}`);
        return allow();
      },
    });
    await run(pipeline({ name: 'p', stages: [reader(undefined, { guardrails: [watch] })] }), 'Go.');
    expect(own).toEqual(['reader input', 'reader output']);
  });

  it('shares its budgets, and waits for a person within a stage, in another process too', async () => {
    expect(await run(build(), 'x', { limits: { toolCalls: 2 } })).toMatchObject({ status: 'exhausted', limit: 'toolCalls' });
    const make = () => {
      const send = defineTool({ name: 'send', description: 'Sends.', input: z.object({}), approval: true, execute: () => 'Sent.' });
      return pipeline({ name: 'intake', stages: [clean, writer(scriptedModel([callTool('send'), say('Done.')]), { tools: [send] })] });
    };
    const asked = await run(make(), 'x');
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    const log = JSON.parse(JSON.stringify(asked.log)) as Log;
    const result = await resume(make(), log, { decisions: { [asked.approvals[0]?.id ?? '']: 'approve' } });
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
  });

  it('may stand within a pipeline', async () => {
    const outer = pipeline({ name: 'outer', stages: [build(), (text) => `${text}!`] });
    expect(await run(outer, 'x')).toMatchObject({ output: 'Wrote about refund since 2026.!' });
  });

  it('refuses to be of no stage', () => {
    expect(() => (pipeline as unknown as (def: object) => void)({ name: 'none', stages: [] })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  });
});
