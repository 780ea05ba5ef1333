import type { Log, LogEvent, Model } from '@guardloop/core';
import { allow, asTool, compareVerdicts, defineAgent, defineGuardrail, resume, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';

const look = defineGuardrail({ name: 'look', on: ['input', 'toolInput', 'output'], check: () => allow() });

it.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('CANARY');
    },
  ],
  ['gives an object, which says one thing to a guardrail and another to a model', () => ({ toString: () => 'fine', task: 'CANARY' })],
  ['is asynchronous', async () => 'CANARY'],
  ['gives nothing', () => undefined],
])('an agent used as a tool whose brief %s is not started, and the call ends as failed', async (_, brief) => {
  const asked = scriptedModel([say('never')]);
  const child = defineAgent({ name: 'child', instructions: '', model: asked });
  const model = scriptedModel([callTool('ask_child', { input: 'x' }), say('done')]);
  const tools = [asTool(child, { name: 'ask_child', description: '', brief: brief as () => string })];
  const result = await run(defineAgent({ name: 'desk', instructions: '', model, tools }), 'hi', { guardrails: [look] });
  expect(result).toMatchObject({ status: 'completed', text: 'done' });
  expect(result.log.events.find(({ type }) => type === 'tool.end')).toMatchObject({ status: 'error', errorClass: 'failed' });
  expect(asked.requests).toEqual([]);
  expect(JSON.stringify([result, model.requests])).not.toContain('CANARY');
  expect(auditLog(result.log)).toEqual([]);
});

it('a model call beside its checks that was stopped as it began is recorded and let go', async () => {
  const controller = new AbortController();
  let isLeft = false;
  const model: Model = {
    id: 'm',
    provider: 'p',
    stream() {
      controller.abort();
      return {
        [Symbol.asyncIterator]: () => ({
          next: () => Promise.reject(new Error('aborted')),
          return: async () => {
            isLeft = true;
            return { done: true, value: undefined };
          },
        }),
      };
    },
  };
  const beside = defineGuardrail({ name: 'beside', on: ['input'], beside: 'model', check: () => allow() });
  const agent = defineAgent({ name: 'desk', instructions: '', model, guardrails: [beside] });
  const result = await run(agent, 'hi', { signal: controller.signal });
  expect(result).toMatchObject({ status: 'cancelled', usage: { requests: 1 } });
  expect(result.log.events.map(({ type }) => type)).toEqual(['run.start', 'model.start', 'model.end', 'run.end']);
  expect(isLeft).toBe(true);
});

async function damagedLogs(): Promise<readonly Log[]> {
  const agent = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('none', {}), say('done')]) });
  const { log } = await run(agent, 'hi', { guardrails: [look] });
  const cut = { ...log, events: log.events.slice(0, -1) };
  const isOf = (type: LogEvent['type'], more: object) => ({
    ...cut,
    events: cut.events.map((event) => (event.type === type ? { ...event, ...more } : event)) as readonly LogEvent[],
  });
  return [
    isOf('run.start', { manifest: { run: [{ ...look, surfaces: ['input'], phases: 7 }], agent: [], tools: {} } }),
    isOf('run.start', { manifest: { run: [], agent: [], tools: undefined } }),
    isOf('input.accept', { items: [{}] }),
    isOf('model.end', { calls: 7 }),
    isOf('guard.verdict', { subject: 7 }),
  ];
}

it('a damaged log is LOG_INVALID for who resumes or compares it, or no harm', async () => {
  const agent = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('done')]) });
  const codes: unknown[] = [];
  for (const log of await damagedLogs()) {
    const opening = Promise.resolve(resume(agent, log, { guardrails: [look], accept: 'changed' }));
    codes.push(
      await opening.then(
        ({ status }) => status,
        ({ code }: { readonly code?: string }) => code,
      ),
    );
    codes.push(
      await compareVerdicts([log], [look]).then(
        () => 'compared',
        ({ code }: { readonly code?: string }) => code,
      ),
    );
  }
  expect(new Set(codes)).toContain('LOG_INVALID');
  for (const code of codes) expect(['LOG_INVALID', 'compared', 'completed', 'failed', 'exhausted']).toContain(code);
});

it('what `expected` throws is the caller’s own, and no damage of the log', async () => {
  const agent = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('done')]) });
  const { log } = await run(agent, 'hi', { guardrails: [look] });
  const own = new Error('own');
  const expected = () => {
    throw own;
  };
  await expect(compareVerdicts([log], [look], { expected })).rejects.toBe(own);
});
