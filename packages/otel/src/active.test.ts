import { defineAgent, defineTool, run } from '@guardloop/core';
import type { Model } from '@guardloop/core/model';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import type { ContextManager } from '@opentelemetry/api';
import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { inMemory, spanNamed } from '../test/scene.js';

afterEach(() => {
  context.disable();
});
const useContexts = (manager: ContextManager = new AsyncLocalStorageContextManager()): void => {
  context.setGlobalContextManager(manager.enable());
};
const activeId = (): string | undefined => trace.getActiveSpan()?.spanContext().spanId;

/** Takes its time, and notes which span is active at each step. */
const noting = (seen: (string | undefined)[], model: Model): Model => ({
  ...model,
  async *stream(request, options) {
    seen.push(activeId());
    await new Promise((resolve) => setImmediate(resolve));
    for await (const event of model.stream(request, options)) {
      seen.push(activeId());
      yield event;
    }
  },
});

describe('telemetry.model', () => {
  it('makes the call’s span the active one while the model answers', async () => {
    useContexts();
    const { telemetry, spans } = inMemory();
    const seen: (string | undefined)[] = [];
    const model = telemetry.model(noting(seen, scriptedModel([say(['Hel', 'lo.'])])));
    await run(defineAgent({ name: 'a', instructions: '', model }), 'hi', { observers: [telemetry] });
    const chat = spanNamed(spans(), 'chat scripted');
    expect(seen.length).toBeGreaterThan(2);
    expect(new Set(seen)).toEqual(new Set([chat.spanContext().spanId]));
  });

  it('tells provider and settings, and when the first of the answer came', async () => {
    const { telemetry, spans, points } = inMemory();
    const model = telemetry.model(scriptedModel([say('Hello.')], { provider: 'openai.responses' }));
    const settings = { temperature: 0.5, topP: 0.9, maxTokens: 100, seed: 3 };
    await run(defineAgent({ name: 'a', instructions: '', model, settings }), 'hi', { observers: [telemetry] });
    const { attributes } = spanNamed(spans(), 'chat scripted');
    expect(attributes).toMatchObject({
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.max_tokens': 100,
      'gen_ai.request.seed': 3,
      'gen_ai.response.time_to_first_chunk': expect.any(Number),
    });
    expect(Object.keys(await points())).toContain('gen_ai.client.operation.time_to_first_chunk');
  });

  it('keeps runs apart that go on at the same time, and leaves calls alone that belong to no run', async () => {
    useContexts();
    const { telemetry, spans } = inMemory();
    const seen: (string | undefined)[] = [];
    const agentOf = (name: string, notes: (string | undefined)[]) =>
      defineAgent({ name, instructions: '', model: telemetry.model(noting(notes, scriptedModel([say('Hello.')], { id: name }))) });
    const notes = Array.from({ length: 8 }, () => [] as (string | undefined)[]);
    await Promise.all(notes.map((each, index) => run(agentOf(`a${index}`, each), 'hi', { observers: [telemetry] })));
    notes.forEach((each, index) => {
      expect(new Set(each)).toEqual(new Set([spanNamed(spans(), `chat a${index}`).spanContext().spanId]));
    });
    const alone = telemetry.model(noting(seen, scriptedModel([say('Hello.')])));
    for await (const _ of alone.stream(
      { agent: 'x', turn: 1, system: '', messages: [], tools: [], settings: {} },
      { signal: new AbortController().signal },
    ));
    expect(new Set(seen)).toEqual(new Set([undefined]));
  });
});

describe('telemetry.model of what is no model', () => {
  it.each([undefined, null, 'gpt-5', { id: 'm' }])('is refused: %j', (model) => {
    const { telemetry } = inMemory();
    expect(() => telemetry.model(model as never)).toThrow('the first argument is no model');
  });
});

describe('telemetry.tool', () => {
  const toolOf = (seen: (string | undefined)[]) =>
    defineTool({
      name: 'look',
      description: 'Looks.',
      input: z.object({}),
      flow: { effect: 'read' },
      execute: async () => {
        seen.push(activeId());
        await new Promise((resolve) => setImmediate(resolve));
        seen.push(activeId());
        return 'seen';
      },
    });
  const agentOf = (tool: ReturnType<typeof toolOf>) =>
    defineAgent({ name: 'a', instructions: '', model: scriptedModel([[callTool('look'), callTool('look')], say('Done.')]), tools: [tool] });

  it('makes the call’s span the active one while the tool runs, also of calls at the same time', async () => {
    useContexts();
    const { telemetry, spans } = inMemory();
    const seen: (string | undefined)[] = [];
    await run(agentOf(telemetry.tool(toolOf(seen))), 'hi', { observers: [telemetry] });
    const ids = [0, 1].map((index) => spanNamed(spans(), 'execute_tool look', index).spanContext().spanId);
    expect(seen).toHaveLength(4);
    expect(new Set(seen)).toEqual(new Set(ids));
  });

  it('leaves a tool as it is where nobody watches, and where the context fails', async () => {
    const seen: (string | undefined)[] = [];
    const { telemetry } = inMemory();
    expect((await run(agentOf(telemetry.tool(toolOf(seen))), 'hi')).status).toBe('completed');
    let asked = 0;
    const broken: ContextManager = {
      active: () => ROOT_CONTEXT,
      with() {
        asked += 1;
        throw new Error('no context');
      },
      bind: (_, target) => target,
      enable: () => broken,
      disable: () => broken,
    };
    useContexts(broken);
    const result = await run(agentOf(telemetry.tool(toolOf(seen))), 'hi', { observers: [telemetry] });
    expect(result.status).toBe('completed');
    expect(result.log.events.filter((event) => event.type === 'tool.end' && event.status === 'ok')).toHaveLength(2);
    expect(asked).toBeGreaterThanOrEqual(2);
    expect(seen).toHaveLength(8);
  });

  it('refuses what does not execute here', () => {
    const { telemetry } = inMemory();
    const asked = defineTool({ name: 'ask', description: 'Asks.', input: z.object({}) });
    expect(() => telemetry.tool(asked)).toThrow('Give it a tool with `execute`');
  });
});
