import { defineAgent, resume, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { askHuman } from './ask-human.js';

const build = () => {
  const model = scriptedModel([callTool('ask_human', { question: 'Which colour?', choices: ['red', 'blue'] }), say('Blue it is.')]);
  return { model, agent: defineAgent({ name: 'a', instructions: '', model, tools: [askHuman()] }) };
};

describe('a question to a person', () => {
  it('interrupts the run, and goes on with the answer in another process', async () => {
    const asked = await run(build().agent, 'Paint the door.');
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    expect(asked.approvals).toMatchObject([
      { tool: 'ask_human', caller: true, input: { question: 'Which colour?', choices: ['red', 'blue'] } },
    ]);
    const { agent, model } = build();
    const id = asked.approvals[0]?.id ?? '';
    const log = JSON.parse(JSON.stringify(asked.log)) as typeof asked.log;
    const done = await resume(agent, log, { decisions: { [id]: { decision: { result: 'blue' }, by: 'anna' } } });
    expect(done).toMatchObject({ status: 'completed', output: 'Blue it is.' });
    expect(model.requests[0]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'blue', label: { integrity: 'trusted' } });
    expect(auditLog(done.log)).toEqual([]);
  });

  it('may stay without an answer', async () => {
    const { agent, model } = build();
    const asked = await run(agent, 'Paint the door.');
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    await resume(agent, asked.log, { decisions: { [asked.approvals[0]?.id ?? '']: { reject: 'Nobody is there.' } } });
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain('Nobody is there.');
  });

  it('has another name and other words where it is given them', () => {
    expect(askHuman({ name: 'ask_doctor', description: 'Asks a doctor.' })).toMatchObject({
      name: 'ask_doctor',
      description: 'Asks a doctor.',
    });
    expect(() => askHuman({ nam: 'ask' } as never)).toThrow('askHuman(…): there is no option nam. Did you mean name?');
    expect(() => askHuman({ name: 'not a name' })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});
