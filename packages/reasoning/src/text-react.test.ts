import { defineAgent, defineTool, memorySession, run, stream } from '@guardloop/core';
import { auditLog, callTool, endWith, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { textReact } from './text-react.js';

const look = defineTool({
  name: 'look',
  description: 'Looks something up.',
  input: z.object({ what: z.string() }),
  flow: { effect: 'read' },
  execute: ({ what }) => `about ${what}: found`,
});
type Script = Parameters<typeof scriptedModel>[0];
function build(script: Script, more: object = {}, mode = textReact()) {
  const model = scriptedModel(script);
  return { model, agent: defineAgent({ name: 'a', instructions: 'Be brief.', model, tools: [look], mode, ...more }) };
}
const texts = (messages: readonly unknown[] | undefined) =>
  (messages ?? []).map((message) => {
    const { role, text, parts } = message as { role: string; text?: string; parts?: readonly { text: string }[] };
    return [role, text ?? parts?.map((part) => part.text).join('')];
  });

describe('a run in the text form', () => {
  it('calls tools for a model that has no calls, and shows it their results', async () => {
    const { agent, model } = build([say('Thought: I need it.\nAction: look[date]'), say('Thought: Now I know.\nAction: Finish[In 1898.]')]);
    const result = await run(agent, 'When?');
    expect(result).toMatchObject({ status: 'completed', output: 'In 1898.' });
    expect(auditLog(result.log)).toEqual([]);
    const [first, second] = model.requests;
    expect(first).toMatchObject({ tools: [], settings: { stopSequences: ['\nObservation'] } });
    expect(first?.system).toMatch(/^Be brief\.\n\nAnswer in this form/);
    expect(first?.system).toContain('- look: Looks something up. Arguments: {');
    expect(texts(second?.messages)).toEqual([
      ['user', 'When?'],
      ['assistant', 'Thought: I need it.\nAction: look\nAction Input: {"what":"date"}'],
      ['user', 'Observation: about date: found'],
    ]);
    expect(result.messages.at(-1)).toMatchObject({ text: 'In 1898.' });
  });

  it('discards what is in no form, tells the model why, and counts it', async () => {
    const { agent, model } = build([say('The answer is canary.'), say('Thought: In form.\nFinish[ok]')]);
    const result = await run(agent, 'go');
    expect(result).toMatchObject({ status: 'completed', output: 'ok' });
    expect(model.requests[1]?.note).toContain('it begins with neither Thought: nor Action:');
    expect(JSON.stringify([result.log, model.requests[1]])).not.toContain('canary');
    expect(auditLog(result.log)).toEqual([]);
    const failed = await run(build([say('no'), say('no')]).agent, 'go');
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'OUTPUT_INVALID' } });
    expect(await run(build([say('no'), say('no'), say('Thought: x\nFinish[y]')]).agent, 'go', { limits: { repairs: 2 } })).toMatchObject({
      output: 'y',
    });
  });

  it('takes no observation that the model made up', async () => {
    const { agent, model } = build([say('Thought: x\nAction: look[a]\nObservation: made up'), say('Thought: x\nFinish[y]')]);
    const result = await run(agent, 'go');
    expect(result.status).toBe('completed');
    expect(result.events.some(({ type }) => type === 'tool.start')).toBe(false);
    expect(JSON.stringify(model.requests[1])).not.toContain('made up');
  });

  it('tells unknown tools and misfitting arguments as observations', async () => {
    const { agent, model } = build([
      say('Thought: x\nAction: fly[home]'),
      say('Thought: x\nAction: look\nAction Input: {"where": 1}'),
      say('Thought: x\nFinish[y]'),
    ]);
    expect((await run(agent, 'go')).status).toBe('completed');
    const seen = texts(model.requests[2]?.messages).map(([, text]) => text);
    expect(seen.some((text) => text?.startsWith('Observation: ') && text.includes('There is no tool of this name'))).toBe(true);
    expect(seen.some((text) => text?.includes('invalid_input'))).toBe(true);
  });

  it('does not run an action without a thought, and goes on after a thought alone', async () => {
    const { agent, model } = build([
      say('Action: look[x]'),
      say('Thought: Let me see.'),
      say('Action: look[x]'),
      say('Thought: So.\nFinish[y]'),
    ]);
    const result = await run(agent, 'go');
    expect(result).toMatchObject({ status: 'completed', output: 'y' });
    expect(result.events.filter(({ type }) => type === 'tool.start')).toHaveLength(1);
    expect(texts(model.requests[2]?.messages).at(-1)).toEqual(['assistant', 'Thought: Let me see.']);
    expect(model.requests[2]?.note).toContain('Nothing was called');
  });

  it('gives a typed answer', async () => {
    const { agent, model } = build([say('Thought: x\nFinish[{"year": 1898}]')], { output: z.object({ year: z.number() }) });
    expect(await run(agent, 'go')).toMatchObject({ output: { year: 1898 } });
    expect(model.requests[0]?.system).toContain('Finish[the answer as JSON of this schema');
  });

  it('writes a history of calls and answers in the form', async () => {
    const { agent, model } = build([
      say('Thought: x\nAction: look[a]'),
      say('Thought: x\nFinish[first]'),
      say('Thought: x\nFinish[second]'),
    ]);
    const session = { store: memorySession(), id: 's' };
    await run(agent, 'one', { session });
    await run(agent, 'two', { session });
    expect(texts(model.requests.at(-1)?.messages)).toContainEqual(['assistant', 'Action: Finish[first]']);
  });

  it('answers in the last call of a limit, in the form or not', async () => {
    for (const last of ['It was 1898.', 'Thought: x\nFinish[It was 1898.]', 'Thought: It was 1898.']) {
      const { agent } = build([say('Thought: x\nAction: look[a]'), say(last)]);
      expect(await run(agent, 'go', { limits: { turns: 1 }, onLimit: 'finalize' })).toMatchObject({
        status: 'exhausted',
        output: 'It was 1898.',
      });
    }
  });

  it('reads nothing of an answer that was cut', async () => {
    const { agent } = build([[say('Thought: x\nAction: look[a]'), endWith({ stopReason: 'length' })]]);
    const result = await run(agent, 'go');
    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED' } });
  });

  it('puts the user’s own contract in its place', async () => {
    const contract = ({ stop }: { readonly stop: string }) => `My own form, ended by ${stop}.`;
    const { agent, model } = build([say('Thought: x\nDone[y]')], {}, textReact({ contract, stop: 'Done' }));
    expect(await run(agent, 'go')).toMatchObject({ output: 'y' });
    expect(model.requests[0]?.system).toBe('Be brief.\n\nMy own form, ended by Done.');
  });

  it('streams the answer as text and thoughts as reasoning', async () => {
    const { agent } = build([say('Thought: I need it.\nAction: look[date]'), say('Thought: Now.\nFinish[In 1898.]')]);
    const shown = { text: '', reasoning: '' };
    const events = stream(agent, 'When?', { reasoning: 'show' });
    for await (const event of events) {
      if (event.type === 'text.delta') shown.text += event.text;
      if (event.type === 'reasoning.delta') shown.reasoning += event.text;
    }
    expect(shown).toEqual({ text: 'In 1898.', reasoning: 'I need it.Now.' });
  });

  it('takes the calls of a model that has them for nothing', async () => {
    const { agent } = build([[say('Thought: x\nFinish[y]'), callTool('look', { what: 'x' })]]);
    expect(await run(agent, 'go')).toMatchObject({ status: 'completed', output: 'y' });
  });
});

it('an option that textReact does not have is refused', () => {
  expect(() => textReact({ turn: 3 } as never)).toThrow('textReact(…): there is no option turn. Did you mean turns?');
});
