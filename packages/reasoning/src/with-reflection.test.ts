import type { Log } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, deny, halt, resume, run, stream, toolError } from '@guardloop/core';
import { guardReport } from '@guardloop/core/report';
import { auditLog, callTool, cutAnywhere, failWith, normalLog, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { planAndExecute } from './plan-and-execute.js';
import { planSchema } from './plan-schema.js';
import type { Attempt, ReflectionOptions } from './with-reflection.js';
import { verdictSchema, withReflection } from './with-reflection.js';

type Turns = Parameters<typeof scriptedModel>[0] & readonly unknown[];
type More = Partial<ReflectionOptions<unknown, 'careful', string>>;

const attemptOf = (request: { readonly messages: readonly unknown[] }): number => {
  const text = JSON.stringify(request.messages[0]);
  return 1 + (text.includes('Earlier attempts') ? (text.match(/\\n\d+\. /g)?.length ?? 0) : 0);
};

/** A worker that goes by one script in each attempt, and a judge that wants the word `euro`. */
function build(scripts: readonly Turns[], more: More = {}, send: () => unknown = () => 'Sent.') {
  const sent: unknown[] = [];
  const mail = defineTool({
    name: 'send_mail',
    description: 'Sends a mail.',
    input: z.object({ to: z.string() }),
    flow: { effect: 'send' },
    execute: (input) => {
      sent.push(input);
      return send();
    },
  });
  const model = scriptedModel((request) => {
    const turn = scripts[attemptOf(request) - 1]?.[request.turn - 1];
    return (typeof turn === 'function' ? turn(request) : turn) as ReturnType<typeof say>;
  });
  const worker = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [mail] });
  const judged: Attempt<string>[] = [];
  const judge = (attempt: Attempt<string>) => {
    judged.push(attempt);
    return attempt.status === 'completed' && !attempt.output?.includes('euro') ? 'The currency is missing. Name it.' : undefined;
  };
  return { agent: withReflection({ name: 'careful', agent: worker, judge, ...more }), model, sent, judged };
}
const good = [say('It is 5 euro.')];
const bad = [say('It is 5.')];

describe('withReflection', () => {
  it('gives the answer of an attempt that is good enough at once', async () => {
    const { agent, model, judged } = build([good]);
    const result = await run(agent, 'What is the price?', { runId: 'r1' });
    expect(result).toMatchObject({ status: 'completed', agent: 'careful', output: 'It is 5 euro.' });
    expect(model.requests).toHaveLength(1);
    expect(judged).toMatchObject([{ number: 1, task: 'What is the price?', status: 'completed', steps: [{ status: 'final' }] }]);
    expect(auditLog(result.log)).toEqual([]);
  });

  it('tells the next attempt what was wrong with those before it', async () => {
    const { agent, model } = build([bad, [say('About 5.')], good]);
    expect(await run(agent, 'What is the price?')).toMatchObject({ status: 'completed', output: 'It is 5 euro.' });
    expect(model.requests[2]?.messages[0]).toMatchObject({
      via: 'parent',
      parts: [
        {
          text: 'What is the price?\n\nEarlier attempts were not good enough:\n1. The currency is missing. Name it.\n2. The currency is missing. Name it.',
        },
      ],
    });
  });

  it('tries again after an attempt that failed, whatever the judge says of it', async () => {
    const { agent, model, judged } = build(
      [[failWith(new Error('down'))], [callTool('send_mail', { to: 'a' }), callTool('send_mail', { to: 'b' })], good],
      {
        attemptLimits: { turns: 2 },
      },
    );
    expect((await run(agent, 'Price?')).status).toBe('completed');
    expect(judged.map(({ status }) => status)).toEqual(['failed', 'exhausted', 'completed']);
    const last = model.requests.at(-1)?.messages[0];
    const [part] = last?.role === 'user' ? last.parts : [];
    const text = part?.type === 'text' ? part.text : '';
    expect(text).toContain('1. make_attempt failed: MODEL_FAILED.\n2. make_attempt reached its limit turns.');
    expect(text).toContain(
      'They have done this already, and it is not to be done again:\n- send_mail {"to":"a"}: Sent.\n- send_mail {"to":"b"}: Sent.',
    );
  });

  it('fails when no attempt was good enough', async () => {
    expect(await run(build([bad, bad], { attempts: 2 }).agent, 'Price?')).toMatchObject({
      status: 'failed',
      error: { code: 'MODEL_FAILED', message: 'Agent careful (reflection) gave up: none of 2 attempts was good enough.' },
    });
  });

  it('ends when its judge throws: what nobody judged is no answer', async () => {
    const judge = () => {
      throw new Error('no judge');
    };
    const result = await run(build([good], { judge }).agent, 'Price?');
    expect(result).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('attempt 1 could not be made or judged') },
    });
  });

  it('may be judged by an agent, which is shown the task, the steps and the answer', async () => {
    const judging = scriptedModel((request) => {
      const isGood = JSON.stringify(request.messages).includes('5 euro');
      return say(JSON.stringify({ isGood, critique: isGood ? '' : 'Say the currency.' }));
    });
    const judge = defineAgent({ name: 'judge', instructions: 'Judge.', model: judging, output: verdictSchema });
    const { agent, model } = build([[callTool('send_mail', { to: 'a' }), say('It is 5.')], good], { judge });
    const result = await run(agent, 'What is the price?');
    expect(result).toMatchObject({ status: 'completed', output: 'It is 5 euro.' });
    expect(JSON.stringify(judging.requests[0]?.messages[0])).toMatch(/Task: What is the price\?.*send_mail.*It answered: It is 5\./);
    expect(JSON.stringify(model.requests.at(-1)?.messages[0])).toContain('1. Say the currency.');
    expect(auditLog(result.log)).toEqual([]);
    const broken = build([good], {
      judge: defineAgent({ name: 'judge', instructions: '', model: scriptedModel([say('?'), say('?')]), output: verdictSchema }),
    });
    expect(await run(broken.agent, 'Price?')).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('attempt 1 could not be judged') },
    });
  });

  it('gives a structured answer on as one', async () => {
    const output = z.object({ price: z.number() });
    const model = scriptedModel((request) => say(attemptOf(request) === 1 ? '{"price":0}' : '{"price":5}'));
    const worker = defineAgent({ name: 'worker', instructions: '', model, output });
    const agent = withReflection({
      name: 'careful',
      agent: worker,
      output,
      judge: ({ output: given }) => (given?.price ? undefined : 'It is not 0.'),
    });
    expect(await run(agent, 'Price?')).toMatchObject({ status: 'completed', output: { price: 5 } });
  });
});

describe('effects of an attempt', () => {
  const mailing = [callTool('send_mail', { to: 'anna' }), say('It is 5.')];
  const mailingWell = [callTool('send_mail', { to: 'anna' }), say('It is 5 euro.')];

  it('are not repeated by a later one: it gets the earlier result', async () => {
    const { agent, sent, model } = build([mailing, mailingWell]);
    const result = await run(agent, 'Mail anna the price.');
    expect([result.status, sent]).toEqual(['completed', [{ to: 'anna' }]]);
    expect(model.requests.at(-1)?.messages.at(-1)).toMatchObject({
      content: 'Sent.',
      note: expect.stringContaining('It was not done again'),
    });
    expect(auditLog(result.log)).toEqual([]);
  });

  it('that failed are put before a person', async () => {
    const { agent, sent } = build([mailing, mailingWell], {}, () => toolError('The server broke down on the way.'));
    const asked = await run(agent, 'Mail anna.');
    expect(asked).toMatchObject({ status: 'interrupted', approvals: [{ agentPath: ['careful', 'worker'], tool: 'send_mail' }] });
    const [approval] = asked.status === 'interrupted' ? asked.approvals : [];
    expect(await resume(agent, asked.log, { decisions: { [approval?.id ?? '']: { reject: 'leave it' } } })).toMatchObject({
      status: 'completed',
    });
    expect(sent).toHaveLength(1);
  });

  it('are not repeated where each attempt is a plan whose steps have the effects, wherever it is cut', async () => {
    const make = () => {
      const sent: string[] = [];
      const mail = defineTool({
        name: 'send_mail',
        description: 'Sends a mail.',
        input: z.object({ to: z.string() }),
        flow: { effect: 'send' },
        execute: ({ to }) => {
          sent.push(to);
          return 'Sent.';
        },
      });
      const model = scriptedModel(({ agent, turn }) => {
        if (agent === 'planner') return say('{"steps":[{"id":"mail","goal":"Mail anna","needs":[]}]}');
        return turn === 1 ? callTool('send_mail', { to: 'anna' }) : say('Mailed.');
      });
      const planned = planAndExecute({
        name: 'planned',
        planner: defineAgent({ name: 'planner', instructions: '', model, output: planSchema }),
        executor: defineAgent({ name: 'executor', instructions: '', model, tools: [mail] }),
      });
      const judge = ({ number }: Attempt) => (number === 1 ? 'Once more.' : undefined);
      return { agent: withReflection({ name: 'careful', agent: planned, judge }), sent };
    };
    const { agent, sent } = make();
    const whole = await run(agent, 'Mail anna.');
    expect([whole.status, sent]).toEqual(['completed', ['anna']]);
    expect(guardReport(whole.log).runs).toHaveLength(1);
    const report = await cutAnywhere(
      whole.log,
      async (prefix) => {
        const again = make();
        const result = await resume(again.agent, prefix);
        const before = prefix.events.filter((event) => event.type === 'tool.start' && event.tool === 'send_mail').length;
        expect(before + again.sent.length).toBeLessThanOrEqual(1);
        return result;
      },
      { from: 2 },
    );
    expect(report).toMatchObject({ differences: [], asked: 1 });
  });

  it('are not repeated wherever the run is cut', async () => {
    const whole = await run(build([mailing, mailingWell]).agent, 'Mail anna.');
    const counts: number[] = [];
    const report = await cutAnywhere(
      whole.log,
      async (prefix) => {
        const { agent, sent } = build([mailing, mailingWell]);
        const result = await resume(agent, prefix);
        const before = prefix.events.filter((event) => event.type === 'tool.start' && event.tool === 'send_mail').length;
        counts.push(before + sent.length);
        return result;
      },
      { from: 2 },
    );
    expect(report.differences).toEqual([]);
    expect(Math.max(...counts)).toBe(1);
    expect(report.asked).toBe(1);
  });
});

describe('a run with reflection is a run like any other', () => {
  it('streams to the same log, and cut anywhere goes on to the same end', async () => {
    const whole = await run(build([bad, good]).agent, 'Price?');
    const streamed = await stream(build([bad, good]).agent, 'Price?').result;
    expect(normalLog(streamed.log)).toEqual(normalLog(whole.log));
    const report = await cutAnywhere(whole.log, (prefix) => resume(build([bad, good]).agent, prefix).result, { mayAsk: false, from: 2 });
    expect(report.differences).toEqual([]);
    expect(report.same).toBe(report.cuts);
  });

  it('makes another attempt when a person says more while it runs', async () => {
    const { agent, model } = build([good, [say('Es sind 5 euro.')]]);
    const events = stream(agent, 'Price?');
    for await (const event of events)
      if (event.type === 'tool.end' && event.callId === '1.0' && event.tool === 'make_attempt') void events.steer('In German.');
    expect(await events).toMatchObject({ status: 'completed', output: 'Es sind 5 euro.' });
    expect(JSON.stringify(model.requests.at(-1)?.messages[0])).toContain('Price?\\n\\nIn German.');
  });

  it('shows its answer alone', async () => {
    let shown = '';
    for await (const event of stream(build([bad, good]).agent, 'Price?')) if (event.type === 'text.delta') shown += event.text;
    expect(shown).toBe('It is 5 euro.');
  });

  it('shares its budgets with its attempts', async () => {
    expect(await run(build([bad, bad, good]).agent, 'Price?', { limits: { tokens: 25 } })).toMatchObject({
      status: 'exhausted',
      limit: 'tokens',
    });
    expect(await run(build([bad, bad, good]).agent, 'Price?', { limits: { toolCalls: 1 } })).toMatchObject({
      status: 'exhausted',
      limit: 'toolCalls',
    });
  });

  it('asks the guardrails of the run in each attempt; what one refuses is another attempt, and a halt the end', async () => {
    const guard = (act: typeof deny | typeof halt) =>
      defineGuardrail({
        name: 'no-keys',
        on: ['output'],
        check: ({ content }) => (content.includes('sk-') ? act('a key was in it') : allow()),
      });
    const leaking = [say('sk-1 euro'), say('sk-1 euro')];
    const denied = await run(build([leaking, good]).agent, 'Price?', { guardrails: [guard(deny)] });
    expect(denied).toMatchObject({ status: 'completed', output: 'It is 5 euro.' });
    expect(JSON.stringify(denied.log)).not.toContain('sk-1');
    expect(await run(build([leaking, good]).agent, 'Price?', { guardrails: [guard(halt)] })).toMatchObject({
      status: 'blocked',
      by: 'no-keys',
    });
  });

  it('waits for a person within an attempt, in another process too', async () => {
    const make = () => {
      const mail = defineTool({ name: 'send_mail', description: 'Sends.', input: z.object({}), approval: true, execute: () => 'Sent.' });
      const model = scriptedModel([callTool('send_mail'), say('Told.')]);
      return withReflection({
        name: 'careful',
        agent: defineAgent({ name: 'worker', instructions: '', model, tools: [mail] }),
        judge: () => undefined,
      });
    };
    const asked = await run(make(), 'Mail.');
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    const log = JSON.parse(JSON.stringify(asked.log)) as Log;
    expect(await resume(make(), log, { decisions: { [asked.approvals[0]?.id ?? '']: 'approve' } })).toMatchObject({
      status: 'completed',
      output: 'Told.',
    });
  });

  it('refuses a number of attempts that is none', () => {
    expect(() => build([], { attempts: 0 })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});
