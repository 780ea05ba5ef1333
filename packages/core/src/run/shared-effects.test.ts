import { describe, expect, it } from 'vitest';
import type { Turn } from '../../test/scene.js';
import { agentOf, calls, eventsOf, scripted, tool } from '../../test/scene.js';
import { asTool } from '../define/as-tool.js';
import { defineGuardrail } from '../define/guardrail.js';
import { toolError } from '../define/tool-error.js';
import { allow, halt } from '../define/verdict.js';
import { resume, run } from './run.js';

/** An agent above that calls its helper twice; each time the helper sends the same mail. */
function twice({
  options = { effects: 'shared' },
  send = () => 'Sent.',
  turn = [calls('send_mail', { to: 'anna' })],
  helper: more = {},
  tool: toolOptions = {},
}: {
  options?: object;
  send?: (...given: never[]) => unknown;
  turn?: Turn;
  helper?: object;
  tool?: object;
} = {}) {
  const sent: unknown[] = [];
  const mail = tool(
    'send_mail',
    ((input: unknown) => {
      sent.push(input);
      return send();
    }) as never,
    { flow: { effect: 'send' }, ...toolOptions },
  );
  const model = scripted(turn, 'Helped.');
  const helper = agentOf({ name: 'helper', model, tools: [mail], ...more });
  const agent = agentOf({
    model: scripted([calls('ask_helper', { input: 'one' })], [calls('ask_helper', { input: 'two' })], 'Done.'),
    tools: [asTool(helper, { name: 'ask_helper', description: 'Helps.', ...options })],
  });
  return { agent, sent, model };
}

describe('child runs that share effects', () => {
  it('do not do again what one before has done: the call ends with what that gave', async () => {
    const { agent, sent, model } = twice();
    const { status, log } = await run(agent, 'hello', { runId: 'r1' });
    expect([status, sent]).toEqual(['completed', [{ to: 'anna' }]]);
    expect(eventsOf(log, 'tool.start').map(({ run: id, tool: name }) => `${id} ${name}`)).toEqual([
      'r1 ask_helper',
      'r1/1.0 send_mail',
      'r1 ask_helper',
    ]);
    expect(eventsOf(log, 'tool.end').filter(({ tool: name }) => name === 'send_mail')).toMatchObject([
      { run: 'r1/1.0', status: 'ok', content: 'Sent.' },
      { run: 'r1/2.0', status: 'ok', content: 'Sent.', copyOf: 'r1/1.0/1.0', label: { origin: 'tool:send_mail' } },
    ]);
    expect(model.requests.at(-1)?.messages.at(-1)).toMatchObject({
      content: 'Sent.',
      note: 'An earlier run of this work has done this. It was not done again; this is its result.',
    });
  });

  it('are as any other where that is not said: each has its own effects', async () => {
    for (const options of [{}, { effects: 'apart' }]) {
      const { agent, sent } = twice({ options });
      expect((await run(agent, 'hello')).status).toBe('completed');
      expect(sent).toHaveLength(2);
    }
  });

  it.each([
    ['failed', { send: () => toolError('The server was away.') }],
    ['was given up at its deadline', { tool: { timeoutMs: 5 }, send: () => new Promise(() => undefined) }],
  ])('ask a person where the earlier one %s', async (_, scene) => {
    const { agent, sent } = twice(scene);
    const asked = await run(agent, 'hello');
    expect(asked).toMatchObject({
      status: 'interrupted',
      approvals: [
        {
          tool: 'send_mail',
          asks: [{ by: 'core', reason: 'an equal call of this tool was made before in an earlier run of this work: it may have happened' }],
        },
      ],
    });
    const [approval] = asked.status === 'interrupted' ? asked.approvals : [];
    expect((await resume(agent, asked.log, { decisions: { [approval?.id ?? '']: 'approve' } })).status).toBe('completed');
    expect(sent).toHaveLength(2);
  });

  it('know the effects of runs within them, and give none to a run under other guardrails', async () => {
    const sent: unknown[] = [];
    const mail = tool('send_mail', ((input: unknown) => sent.push(input)) as never, { flow: { effect: 'send' } });
    const inner = (guardrails: readonly unknown[]) =>
      asTool(agentOf({ name: 'inner', model: scripted([calls('send_mail')], 'In.'), tools: [mail], guardrails }), {
        name: 'ask_inner',
        description: 'Helps.',
      });
    const outer = (name: string, guardrails: readonly unknown[] = []) =>
      asTool(agentOf({ name, model: scripted([calls('ask_inner', { input: 'x' })], 'Out.'), tools: [inner(guardrails)] }), {
        name: `ask_${name}`,
        description: 'Helps.',
        effects: 'shared',
      });
    const check = defineGuardrail({ name: 'own', on: ['toolOutput'], check: () => allow() });
    const above = (second: ReturnType<typeof outer>) =>
      agentOf({
        model: scripted([calls('ask_one', { input: 'x' })], [calls('ask_two', { input: 'x' })], 'Done.'),
        tools: [outer('one'), second],
      });
    expect((await run(above(outer('two')), 'hello')).status).toBe('completed');
    expect(sent).toHaveLength(1);
    expect((await run(above(outer('two', [check])), 'hello')).status).toBe('interrupted');
    expect(sent).toHaveLength(2);
  });

  it('hold when the run is cut between them', async () => {
    const { log } = await run(twice().agent, 'hello', { runId: 'r1' });
    for (const [index, event] of log.events.entries()) {
      if (event.type !== 'run.start' || event.run !== 'r1/2.0') continue;
      const { agent, sent } = twice();
      const { status } = await resume(agent, { version: 1, events: log.events.slice(0, index + 1) });
      expect([status, sent]).toEqual(['completed', []]);
    }
  });
});

describe('the result that an author makes of a child run', () => {
  const told: unknown[] = [];
  const result = (child: object, input: unknown) => {
    told.push([child, input]);
    return { seen: true };
  };
  const ask = [calls('ask_helper', { input: 'one' })] as const;
  const above = (options: object, more: object = {}) =>
    agentOf({
      model: scripted(ask, 'Done.'),
      tools: [asTool(agentOf({ name: 'helper', ...more }), { name: 'ask_helper', description: 'Helps.', ...options })],
    });

  it('is asked about a run that has answered, and what it gives is guarded', async () => {
    const seen: string[] = [];
    const look = defineGuardrail({
      name: 'look',
      on: ['toolOutput'],
      check: ({ content }) => {
        seen.push(content);
        return allow();
      },
    });
    const { log } = await run(above({ result }), 'hello', { runId: 'r1', guardrails: [look] });
    expect(eventsOf(log, 'tool.end')[0]).toMatchObject({ status: 'ok', content: '{"seen":true}' });
    expect(seen).toEqual(['{"seen":true}']);
    const [child, input] = told.pop() as [{ events: readonly { run: string }[] }, unknown];
    expect(child).toMatchObject({ status: 'completed', run: 'r1/1.0', agent: 'helper', text: 'Hello.', output: 'Hello.' });
    expect(input).toEqual({ input: 'one' });
    expect(new Set(child.events.map((event) => event.run))).toEqual(new Set(['r1/1.0']));
  });

  it('is asked about a run that has failed, and may be a promise', async () => {
    const failing = above(
      { limits: { turns: 1 }, result: async (child: object) => result(child, '') },
      { model: scripted(ask, 'x'), tools: [tool('ask_helper', () => '')] },
    );
    const { log } = await run(failing, 'hello');
    expect(eventsOf(log, 'tool.end').at(-1)).toMatchObject({ status: 'ok', content: '{"seen":true}' });
    expect(told.pop()).toMatchObject([{ status: 'exhausted', summary: 'ask_helper reached its limit turns.' }, '']);
  });

  it.each([
    ['gives', () => toolError('It is not good enough.', { errorClass: 'bad_result' })],
    [
      'throws',
      () => {
        throw toolError('It is not good enough.', { errorClass: 'bad_result' });
      },
    ],
    ['rejects with', () => Promise.reject(toolError('It is not good enough.', { errorClass: 'bad_result' }))],
  ])('fails the call with the error that it %s', async (_, give) => {
    const { log } = await run(above({ result: give }), 'hello');
    expect(eventsOf(log, 'tool.end')[0]).toMatchObject({
      status: 'error',
      errorClass: 'bad_result',
      content: expect.stringContaining('It is not good enough.'),
    });
  });

  it('is not asked about a run that was halted', async () => {
    const stop = defineGuardrail({ name: 'stop', on: ['output'], check: () => halt('no') });
    expect((await run(above({ result }, { guardrails: [stop] }), 'hello')).status).toBe('blocked');
    expect(told).toEqual([]);
  });
});
