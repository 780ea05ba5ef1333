import type { ModelSettings, ToolChoice } from '@guardloop/core';
import { defineAgent, defineGuardrail, defineTool, deny, memorySession, resume, run } from '@guardloop/core';
import { callTool, cutOff, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sound } from '../scenarios/sound.js';

const look = defineTool({ name: 'look', description: 'L.', input: z.object({}), execute: () => 'seen' });
const all: ModelSettings = {
  temperature: 0,
  topP: 1,
  maxTokens: 5,
  parallelToolCalls: false,
  stopSequences: ['END'],
  reasoning: { maxTokens: 9 },
  seed: 0,
  metadata: { team: 'a', user: 'u1' },
  headers: { 'x-trace': 't1' },
  extra: { 'openai.chat': { user: 'u' } },
};

describe('settings', () => {
  it('of the agent reach each request as they are, 0 and false among them', async () => {
    const model = scriptedModel([callTool('look'), say('ok')]);
    await sound(run(defineAgent({ name: 'a', instructions: '', model, tools: [look], settings: all }), 'go'));
    expect(model.requests.map(({ settings }) => settings)).toEqual([all, all]);
  });

  it('of the run are laid over every agent’s, child runs and handoffs too; records are merged by name', async () => {
    const model = scriptedModel({ a: [callTool('transfer_to_b')], b: [say('ok')] });
    const b = defineAgent({
      name: 'b',
      instructions: '',
      model,
      settings: ({ turn }: { readonly turn: number }) => ({ seed: turn, topP: 0.5 }),
    });
    const a = defineAgent({ name: 'a', instructions: '', model, handoffs: [b], settings: all });
    const settings = {
      seed: 7,
      metadata: { user: 'u2', run: 'r' },
      headers: { 'x-b': '2' },
      extra: { 'openai.chat': { n: 1 } },
      temperature: undefined,
    };
    const result = await sound(run(a, 'go', { settings }));
    expect(result.status).toBe('completed');
    expect(model.requests.map((request) => request.settings)).toEqual([
      {
        ...all,
        seed: 7,
        metadata: { team: 'a', user: 'u2', run: 'r' },
        headers: { 'x-trace': 't1', 'x-b': '2' },
        extra: { 'openai.chat': { user: 'u', n: 1 } },
      },
      { seed: 7, topP: 0.5, metadata: settings.metadata, headers: settings.headers, extra: settings.extra },
    ]);
  });

  it('of the run are checked before anything happens', async () => {
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('never')]) });
    await expect(run(agent, 'go', { settings: { seed: 0.5 } })).rejects.toThrow(
      '`settings` of the run has 0.5 as `seed`. Give a whole number.',
    );
    await expect(run(agent, 'go', { settings: { temprature: 1 } as never })).rejects.toThrow('Did you mean temperature?');
  });
});

describe('a forced tool choice', () => {
  const choices = async (toolChoice: ToolChoice | undefined, turns = 3) => {
    const model = scriptedModel([...Array.from({ length: turns - 1 }, () => callTool('look', {})), say('ok')]);
    const settings = toolChoice === undefined ? {} : { toolChoice };
    await sound(run(defineAgent({ name: 'a', instructions: '', model, tools: [look], settings }), 'go'));
    expect(model.requests.every((request) => !('toolChoice' in request.settings))).toBe(true);
    return model.requests.map((request) => request.toolChoice);
  };

  it('is lifted after its first use, in both of its forms; what forces nothing stays', async () => {
    expect(await choices('required')).toEqual(['required', undefined, undefined]);
    expect(await choices({ tool: 'look' })).toEqual([{ tool: 'look' }, undefined, undefined]);
    expect(await choices('auto')).toEqual(['auto', 'auto', 'auto']);
    expect(await choices(undefined)).toEqual([undefined, undefined, undefined]);
    const model = scriptedModel([callTool('look'), say('ok')]);
    await run(defineAgent({ name: 'a', instructions: '', model, tools: [look], settings: { toolChoice: 'none' } }), 'go');
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['none', 'none']);
  });

  it('of the run is lifted in the same way', async () => {
    const model = scriptedModel([callTool('look'), say('ok')]);
    await run(defineAgent({ name: 'a', instructions: '', model, tools: [look] }), 'go', { settings: { toolChoice: 'required' } });
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['required', undefined]);
  });

  it('of a function of the turn is lifted as well', async () => {
    const model = scriptedModel([callTool('look'), callTool('look'), say('ok')]);
    const settings = (): ModelSettings => ({ toolChoice: { tool: 'look' } });
    await run(defineAgent({ name: 'a', instructions: '', model, tools: [look], settings }), 'go');
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([{ tool: 'look' }, undefined, undefined]);
  });

  it('is used up by an answer that was refused', async () => {
    let isFirst = true;
    const picky = defineGuardrail({
      name: 'picky',
      on: ['output'],
      check: () => {
        const first = isFirst;
        isFirst = false;
        return first ? deny('say it otherwise') : { action: 'allow' as const };
      },
    });
    const model = scriptedModel([[say('well'), callTool('look')], say('ok')]);
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model,
      tools: [look],
      guardrails: [picky],
      settings: { toolChoice: 'required' },
    });
    await sound(run(agent, 'go'));
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['required', undefined]);
  });

  it('is not used up by a call that failed: the run that is resumed forces it again', async () => {
    let isFirst = true;
    const model = scriptedModel([
      () => {
        const first = isFirst;
        isFirst = false;
        return first ? cutOff() : callTool('look');
      },
      say('ok'),
    ]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [look], settings: { toolChoice: 'required' } });
    const failed = await run(agent, 'go');
    expect(failed.status).toBe('failed');
    await sound(resume(agent, failed.log).result);
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['required', 'required', undefined]);
  });

  it('holds anew for each stay of an agent, and for each run of a session', async () => {
    const model = scriptedModel({
      a: [callTool('transfer_to_b'), say('ok')],
      b: [callTool('look'), callTool('transfer_to_a')],
    });
    const b = defineAgent({
      name: 'b',
      instructions: '',
      model,
      tools: [look],
      handoffs: ['a'],
      settings: { toolChoice: { tool: 'look' } },
    });
    const a = defineAgent({ name: 'a', instructions: '', model, handoffs: [b] });
    const session = { store: memorySession(), id: 's' };
    // In its second stay, agent a is asked for its first step again: it hands over once more, and the script of b begins anew.
    const result = await run(a, 'go', { session, limits: { turns: 6 } });
    expect(result).toMatchObject({ status: 'exhausted', limit: 'turns' });
    expect(model.requests.map(({ agent, toolChoice }) => [agent, toolChoice])).toEqual([
      ['a', undefined],
      ['b', { tool: 'look' }],
      ['b', undefined],
      ['a', undefined],
      ['b', { tool: 'look' }],
      ['b', undefined],
    ]);
    const again = scriptedModel([callTool('look'), say('ok')]);
    const forced = defineAgent({ name: 'c', instructions: '', model: again, tools: [look], settings: { toolChoice: 'required' } });
    const other = { store: session.store, id: 't' };
    await run(forced, 'one', { session: other });
    await run(forced, 'two', { session: other });
    expect(again.requests.map(({ toolChoice }) => toolChoice)).toEqual(['required', undefined, 'required', undefined]);
  });

  it('gives way to the last answer after a limit, which calls nothing', async () => {
    const model = scriptedModel([callTool('look'), say('ok')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [look], settings: { toolChoice: 'required' } });
    await run(agent, 'go', { limits: { turns: 1 }, onLimit: 'finalize' });
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['required', 'none']);
  });
});
