import { allow, asTool, defineAgent, defineGuardrail, defineTool, GuardloopError } from '@guardloop/core';
import { callTool, callUnparsable, failWith, normalLog, refuse, say } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resume, run, scriptedModel, stream } from './audited.js';
import { callEnds, eventsOf, observationsIn, reread, resultsIn, textOf, watch } from './reading.js';
import { chatWire, messagesWire } from './wire.js';

const lookups: string[] = [];
const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks up a word.',
  input: z.object({ word: z.string() }),
  flow: { effect: 'read' },
  execute: ({ word }) => {
    lookups.push(word);
    return `${word} means nothing`;
  },
});
const lookUpAgent = (model: ReturnType<typeof scriptedModel>) =>
  defineAgent({ name: 'a', instructions: 'Be brief.', model, tools: [lookUp] });

describe('turns', () => {
  it('B01: One text answer is the final output, after exactly one model call', async () => {
    const model = scriptedModel([say('Hello.')]);
    const result = await run(lookUpAgent(model), 'hi');
    expect(result).toMatchObject({ status: 'completed', agent: 'a', output: 'Hello.', text: 'Hello.' });
    expect(model.requests).toHaveLength(1);
    expect(model.requests[0]).toMatchObject({ agent: 'a', turn: 1, system: 'Be brief.' });
    expect(result.messages.map(textOf)).toEqual(['hi', 'Hello.']);
  });

  it('B02: A tool call, then text: the tool runs once; the second request holds call and result with the same id, in order', async () => {
    lookups.length = 0;
    const wire = await chatWire([{ calls: [{ id: 'call_x', name: 'look_up', input: { word: 'foo' } }] }, { text: 'Nothing.' }]);
    expect(await run(defineAgent({ name: 'a', instructions: '', model: wire.model, tools: [lookUp] }), 'hi')).toMatchObject({
      status: 'completed',
      output: 'Nothing.',
    });
    expect(lookups).toEqual(['foo']);
    expect(wire.bodies).toHaveLength(2);
    expect(wire.bodies[1]?.messages).toMatchObject([
      { role: 'user', content: 'hi' },
      { role: 'assistant', tool_calls: [{ id: 'call_x', function: { name: 'look_up', arguments: '{"word":"foo"}' } }] },
      { role: 'tool', tool_call_id: 'call_x', content: 'foo means nothing' },
    ]);
  });

  it('B03: Text beside a tool call is not final', async () => {
    const model = scriptedModel([[say('I look.'), callTool('look_up', { word: 'foo' })], say('Nothing.')]);
    const result = await run(lookUpAgent(model), 'hi');
    expect(result).toMatchObject({ status: 'completed', output: 'Nothing.' });
    expect(model.requests).toHaveLength(2);
    expect(result.messages.map(textOf)).toEqual(['hi', 'I look.', 'foo means nothing', 'Nothing.']);
  });

  const script = [
    [say('I look.'), callTool('look_up', { word: 'foo' }), callTool('look_up', { word: 'bar' })],
    callTool('nowhere'),
    say('Nothing.'),
  ] as const;

  it('B04: Each model answer is recorded once, in run and in stream', async () => {
    const ran = await run(lookUpAgent(scriptedModel(script)), 'hi');
    const streamed = await watch(stream(lookUpAgent(scriptedModel(script)), 'hi'));
    for (const { log, messages } of [ran, streamed.result]) {
      expect(eventsOf(log, 'model.end').map(({ turn, text }) => [turn, text])).toEqual([
        [1, 'I look.'],
        [2, ''],
        [3, 'Nothing.'],
      ]);
      expect(messages.filter(({ role }) => role === 'assistant').map(({ id }) => id.split('/')[1])).toEqual(['1', '2', '3']);
    }
    expect(streamed.events.filter(({ type }) => type === 'model.end')).toHaveLength(3);
  });

  it('B05: Run and stream end the same', async () => {
    const watchAll = defineGuardrail({
      name: 'watch-all',
      on: ['input', 'toolInput', 'toolOutput', 'output'],
      check: async () => allow(),
    });
    const scripts = [script, [failWith(new GuardloopError('MODEL_FAILED', 'no'))], [refuse('policy')], [callUnparsable('look_up', '{')]];
    for (const each of scripts) {
      const agent = () => defineAgent({ name: 'a', instructions: '', model: scriptedModel(each), tools: [lookUp], guardrails: [watchAll] });
      const ran = await run(agent(), 'hi', { limits: { turns: 3 } });
      const { result } = await watch(stream(agent(), 'hi', { limits: { turns: 3 } }));
      expect(normalLog(result.log)).toEqual(normalLog(ran.log));
      expect([result.status, result.usage]).toEqual([ran.status, ran.usage]);
    }
  });

  it('B07: A turn that fails before its model call does not use up a turn', async () => {
    let isBroken = true;
    const view = (messages: Parameters<NonNullable<NonNullable<Parameters<typeof run>[2]>['view']>>[0]) => {
      if (isBroken) throw new Error('no summary');
      return messages;
    };
    const model = scriptedModel([say('Hello.')]);
    const agent = lookUpAgent(model);
    const failed = await run(agent, 'hi', { view, limits: { turns: 1 } });
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'CONFIG_INVALID' } });
    expect(model.requests).toEqual([]);
    isBroken = false;
    expect(await resume(agent, reread(failed.log), { view })).toMatchObject({ status: 'completed', output: 'Hello.' });
    expect(model.requests.map(({ turn }) => turn)).toEqual([1]);
  });

  it('B11: An unknown tool becomes an error the model can act on; its siblings still run', async () => {
    lookups.length = 0;
    const model = scriptedModel([[callTool('lookup', { word: 'SECRET' }), callTool('look_up', { word: 'foo' })], say('Nothing.')]);
    const result = await run(lookUpAgent(model), 'hi');
    expect(result).toMatchObject({ status: 'completed' });
    expect(lookups).toEqual(['foo']);
    expect(observationsIn(model.requests[1]?.messages)).toEqual([
      { status: 'error', error_class: 'unknown_tool', summary: 'There is no tool of this name. Use one of: look_up.', retryable: false },
    ]);
    expect(resultsIn(model.requests[1]?.messages)[1]).toBe('foo means nothing');
    expect(JSON.stringify(result)).not.toContain('SECRET');
  });

  it('B12: A forced tool choice is lifted after its first use', async () => {
    for (const toolChoice of ['required', { tool: 'look_up' }] as const) {
      const model = scriptedModel([callTool('look_up', { word: 'foo' }), say('Nothing.')]);
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [lookUp], settings: { toolChoice } });
      expect(await run(agent, 'hi')).toMatchObject({ status: 'completed' });
      expect(model.requests.map((request) => request.toolChoice)).toEqual([toolChoice, undefined]);
      expect(model.requests.map(({ settings }) => settings)).toEqual([{}, {}]);
    }
    const wire = await messagesWire([{ calls: [{ id: 'c1', name: 'look_up', input: { word: 'foo' } }] }, { text: 'Nothing.' }]);
    const agent = defineAgent({ name: 'a', instructions: '', model: wire.model, tools: [lookUp], settings: { toolChoice: 'required' } });
    expect(await run(agent, 'hi')).toMatchObject({ status: 'completed' });
    expect(wire.bodies[0]?.tool_choice).toMatchObject({ type: 'any' });
    expect(wire.bodies[1]?.tool_choice).not.toMatchObject({ type: 'any' });
  });
});

describe('limits', () => {
  it('B06: Passing the turn limit is its own outcome; it counts across resumes', async () => {
    const ask = defineTool({ name: 'ask', description: 'Asks.', input: z.object({ n: z.number() }), approval: true, execute: () => 'yes' });
    const model = scriptedModel(({ turn }) => callTool('ask', { n: turn }));
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [ask] });
    let result = await run(agent, 'hi', { limits: { turns: 3 }, runId: 'r' });
    for (const id of ['r/p1', 'r/p2', 'r/p3']) {
      expect(result).toMatchObject({ status: 'interrupted', approvals: [{ id }] });
      result = await resume(agent, reread(result.log), { decisions: { [id]: 'approve' } });
    }
    expect(result).toMatchObject({ status: 'exhausted', limit: 'turns' });
    expect(model.requests).toHaveLength(3);
    const more = await resume(agent, reread(result.log), { limits: { turns: 4 } });
    expect(more).toMatchObject({ status: 'interrupted', approvals: [{ id: 'r/p4' }] });
    expect(model.requests.map(({ turn }) => turn)).toEqual([1, 2, 3, 4]);
  });

  it('B08: At the limit a final answer can be asked for', async () => {
    const model = scriptedModel(({ turn, toolChoice }) =>
      toolChoice === 'none' ? say('This is what I have.') : callTool('look_up', { word: `w${turn}` }),
    );
    const result = await run(lookUpAgent(model), 'hi', { limits: { turns: 2 }, onLimit: 'finalize' });
    expect(result).toMatchObject({ status: 'exhausted', limit: 'turns', output: 'This is what I have.' });
    expect(model.requests.map(({ toolChoice, note }) => [toolChoice, note !== undefined])).toEqual([
      [undefined, false],
      [undefined, false],
      ['none', true],
    ]);
  });

  it('B08: At the limit a final answer can be supplied', async () => {
    const agent = lookUpAgent(scriptedModel(({ turn }) => callTool('look_up', { word: `w${turn}` })));
    const result = await run(agent, 'hi', { limits: { turns: 2 } });
    expect(result).toMatchObject({ status: 'exhausted', limit: 'turns' });
    expect(result).not.toHaveProperty('output');
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool']);
    const supplied = scriptedModel(({ messages }) => say(`I found ${messages.filter(({ role }) => role === 'tool').length} words.`));
    const finished = await resume(agent, reread(result.log), { limits: { turns: 3 }, model: supplied });
    expect(finished).toMatchObject({ status: 'completed', output: 'I found 2 words.' });
  });
});

describe('answers', () => {
  it('B09: A refusal by the model is blocked by the model, and a reply can stand in for it', async () => {
    const model = scriptedModel([[say('I would'), refuse('safety')]]);
    const { result, events } = await watch(
      stream(defineAgent({ name: 'a', instructions: '', model, refusal: 'I cannot help with that.' }), 'hi'),
    );
    expect(result).toMatchObject({ status: 'blocked', by: 'model', surface: 'output', reply: 'I cannot help with that.' });
    expect(JSON.stringify(result)).not.toContain('I would');
    expect(events.filter(({ type }) => type === 'text.retract')).toHaveLength(1);
    const bare = await run(defineAgent({ name: 'a', instructions: '', model }), 'hi');
    expect(bare).toMatchObject({ status: 'blocked', by: 'model' });
    expect(bare).not.toHaveProperty('reply');
  });

  it('B10: Structured output that does not fit its schema is repaired or refused, never passed on', async () => {
    const output = z.object({ cents: z.number().int() });
    const agent = (...answers: readonly string[]) => {
      const model = scriptedModel(answers.map((answer) => say(answer)));
      return { model, agent: defineAgent({ name: 'a', instructions: '', model, output }) };
    };
    const repaired = agent('{"cents":"a lot"}', '{"cents":12}');
    const { result, shown } = await watch(stream(repaired.agent, 'hi'));
    expect(result).toMatchObject({ status: 'completed', output: { cents: 12 }, text: '{"cents":12}' });
    expect(shown).toBe('{"cents":12}');
    expect(repaired.model.requests[1]?.note).toMatch(/cents.*integer/);
    expect(repaired.model.requests[1]?.messages.map(textOf)).toEqual(['hi']);
    expect(JSON.stringify(result)).not.toContain('a lot');

    const refused = await run(agent('{"cents":"a lot"}', 'twelve').agent, 'hi');
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'OUTPUT_INVALID' } });
    expect(refused).not.toHaveProperty('output');
    expect(JSON.stringify(refused)).not.toMatch(/a lot|twelve/);
    expect(await run(agent('{"cents":1}{').agent, 'hi', { limits: { repairs: 0 } })).toMatchObject({ status: 'failed' });
  });

  it('B13: Usage is summed over all calls, failed attempts included', async () => {
    const wire = await chatWire(
      (_, index) => {
        if (index === 0) return { failure: { status: 500, headers: { 'retry-after-ms': '1' } } };
        if (index === 1) return { calls: [{ id: 'c1', name: 'look_up', input: { word: 'foo' } }] };
        return { text: 'Nothing.' };
      },
      { maxRetries: 1 },
    );
    const result = await run(defineAgent({ name: 'a', instructions: '', model: wire.model, tools: [lookUp] }), 'hi');
    expect(result).toMatchObject({ status: 'completed', usage: { requests: 3, inputTokens: 20, outputTokens: 10 } });
  });

  it('B13: Usage counts refused answers, failed calls and nested agents', async () => {
    let isDown = true;
    const model = scriptedModel({
      child: [say('Sure.')],
      a: [
        callTool('ask_child', { input: 'go' }),
        () => (isDown ? failWith(new GuardloopError('MODEL_FAILED', 'down')) : say('not JSON')),
        say('{"ok":true}'),
      ],
    });
    const child = defineAgent({ name: 'child', instructions: '', model });
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model,
      tools: [asTool(child, { name: 'ask_child', description: 'Asks.' })],
      output: z.object({ ok: z.boolean() }),
    });
    const failed = await run(agent, 'hi');
    expect(failed).toMatchObject({ status: 'failed', usage: { requests: 3, inputTokens: 20, outputTokens: 10 } });
    isDown = false;
    const result = await resume(agent, reread(failed.log));
    expect(result).toMatchObject({ status: 'completed', usage: { requests: 5, inputTokens: 40, outputTokens: 20 } });
    expect(callEnds(result.log)).toEqual(['ask_child ok']);
  });
});
