import type { GuardInfo, Guardrail, RunResult, Subject, Surface } from '@guardloop/core';
import { allow, asTool, defineAgent, defineGuardrail, defineTool, halt, memorySession, resume, run, stream } from '@guardloop/core';
import type { Script } from '@guardloop/testing';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { levels, makeTree, ofType, surfaces } from './tree.js';

const script: Script = {
  front: [[callTool('ask_desk', { input: 'x' }), callTool('send', { id: 'late' })], say('Front.')],
  desk: [[callTool('ask_clerk', { input: 'x' }), callTool('look', { id: 'b' })], say('Desk.')],
  clerk: [[say('Clerk looks.'), callTool('look', { id: 'c' })], callTool('transfer_to_second', {}), say('never')],
  second: [say('Second.')],
};
const ended = async (running: PromiseLike<RunResult>): Promise<RunResult> => {
  const result = await running;
  expect(auditLog(result.log)).toEqual([]);
  return result;
};
const halting = (
  name: string,
  when: (subject: Subject, info: GuardInfo) => boolean,
  on: readonly Surface[] = surfaces,
): Guardrail<unknown> =>
  defineGuardrail({
    name,
    on: [...on],
    check: (subject, info) => (when(subject, info as GuardInfo) ? halt('enough', { reply: 'We stop here.' }) : allow()),
  }) as never;

describe('a halt two levels down', () => {
  const placed = surfaces.flatMap((surface) => (['the run’s', 'the clerk’s own'] as const).map((whose) => [surface, whose] as const));
  it.each(placed)('on %s, by %s guardrail, halts the root, and nothing starts after it', async (surface, whose) => {
    const stop = halting('stop', (subject, { agent }) => subject.surface === surface && agent === 'clerk', [surface]);
    const tree = makeTree({ script, ...(whose === 'the run’s' ? {} : { guardrails: { clerk: [stop] } }) });
    for (const mode of ['run', 'stream'] as const) {
      tree.effects.length = 0;
      const shared = { guardrails: whose === 'the run’s' ? [stop] : [] };
      const options = { ...shared, runId: 'r' };
      const result = await ended(mode === 'run' ? run(tree.agent, 'go', options) : stream(tree.agent, 'go', options));
      expect(result).toMatchObject({ status: 'blocked', surface, by: 'stop', reason: 'enough', reply: 'We stop here.' });
      expect(ofType(result.log.events, 'run.end').map(({ run: id, status, refusal }) => `${id} ${status} ${refusal?.by}`)).toEqual([
        'r/1.0/1.0 blocked stop',
        'r/1.0 blocked stop',
        'r blocked stop',
      ]);
      expect(tree.effects).toEqual([]);
      const started = ofType(result.log.events, 'tool.start').map(({ run: id, callId }) => `${id} ${callId}`);
      const over = ofType(result.log.events, 'tool.end').map(({ run: id, callId }) => `${id} ${callId}`);
      expect(over).toEqual(expect.arrayContaining(started));
      const later = await ended(resume(tree.agent, result.log, shared));
      expect(later).toEqual(result);
    }
  });

  it('tells the person its reply once, where the texts of child runs are shown too', async () => {
    const stop = halting('stop', ({ surface }, { agent }) => surface === 'toolOutput' && agent === 'child', ['toolOutput']);
    const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), execute: () => 'seen' });
    const model = scriptedModel({
      parent: [callTool('child', { input: 'x' }), say('never')],
      child: [[say('I look.'), callTool('look')], say('never')],
    });
    const child = defineAgent({ name: 'child', instructions: '', model, tools: [look] });
    const tools = [asTool(child, { name: 'child', description: 'Asks.', stream: true })];
    const watched = stream(defineAgent({ name: 'parent', instructions: '', model, tools }), 'go', { guardrails: [stop] });
    const shown: string[] = [];
    for await (const event of watched) if (event.type === 'text.delta') shown.push(event.text);
    expect(await ended(watched.result)).toMatchObject({ status: 'blocked', reply: 'We stop here.' });
    expect(shown).toEqual(['I look.', 'We stop here.']);
  });

  it('over what a person gave two levels down, an edit or a result, halts the root, and other decisions are not followed', async () => {
    const asking: Script = {
      front: [[callTool('ask_desk', { input: 'x' }), callTool('pay', { id: 'front' })], say('Front.')],
      desk: [[callTool('ask_clerk', { input: 'x' }), callTool('pay', { id: 'desk' })], say('Desk.')],
      clerk: [callTool('pay', { id: 'clerk' }), say('Clerk.')],
    };
    const stop = halting('stop', ({ content }) => content.includes('evil'));
    for (const given of [{ edit: { id: 'evil' } }, { result: 'evil' }] as const) {
      const tree = makeTree({ script: asking });
      const first = await ended(run(tree.agent, 'go', { guardrails: [stop], runId: 'r' }));
      if (first.status !== 'interrupted') throw new Error(first.status);
      const decisions = Object.fromEntries(
        first.approvals.map((approval) => [approval.id, approval.agentPath.length === 3 ? given : ('approve' as const)]),
      );
      const result = await ended(resume(tree.agent, first.log, { guardrails: [stop], decisions }));
      expect(result).toMatchObject({ status: 'blocked', by: 'stop', reply: 'We stop here.' });
      expect(tree.effects).toEqual([]);
      expect(JSON.stringify(result.log)).not.toContain('evil');
    }
  });
});

describe('the end of a run from outside', () => {
  const waiting = (onWait: () => void) => {
    const seen: string[] = [];
    const slow = defineGuardrail({
      name: 'slow',
      on: ['toolOutput'],
      check: (_subject, { agent, signal }) => {
        if (agent !== 'clerk') return allow();
        onWait();
        return new Promise((resolve) => {
          setTimeout(() => resolve(allow()), 30);
          signal.addEventListener('abort', () => seen.push('guardrail'));
        });
      },
    });
    return { slow, seen };
  };

  it.each(['a signal', 'leaving the stream'])(
    'by %s ends the runs of all levels, deepest first, with no call left open, and can be resumed to its end',
    async (how) => {
      const controller = new AbortController();
      let leave = (): void => undefined;
      const { slow } = waiting(() => leave());
      const tree = makeTree({ script });
      const session = { store: memorySession(), id: 's' };
      if (how === 'a signal') {
        leave = () => controller.abort();
        const result = await ended(run(tree.agent, 'go', { guardrails: [slow], signal: controller.signal, session }));
        expect(result.status).toBe('cancelled');
      } else {
        const watched = stream(tree.agent, 'go', { guardrails: [slow], session });
        for await (const event of watched) if (event.type === 'tool.start' && event.agent === 'clerk') break;
        const result = await ended(watched.result);
        expect(result.status).toBe('cancelled');
      }
      const { events } = { events: await session.store.load('s') };
      const ends = ofType(events, 'run.end');
      expect(ends.map(({ agent, status }) => `${agent} ${status}`)).toEqual(['clerk cancelled', 'desk cancelled', 'front cancelled']);
      const calls = ofType(events, 'model.end').flatMap((event) => event.calls.map(({ id }) => `${event.run}/${id}`));
      expect(
        ofType(events, 'tool.end')
          .map((event) => `${event.run}/${event.callId}`)
          .sort(),
      ).toEqual(calls.sort());
      leave = () => undefined;
      const later = await ended(resume(tree.agent, session, { guardrails: [slow] }));
      expect(later).toMatchObject({ status: 'completed', output: 'Front.' });
    },
  );

  it('by a store that fails ends all levels, and no effect starts after it', async () => {
    const tree = makeTree({ script: { ...script, clerk: [callTool('send', { id: 'c' }), say('never')] } as Script });
    const store = memorySession();
    const failing = {
      ...store,
      append: async (...given: Parameters<typeof store.append>) => {
        if (given[1].some((event) => event.agent === 'clerk' && event.type === 'tool.start')) throw new Error('the disk is full');
        return store.append(...given);
      },
    };
    const result = await run(tree.agent, 'go', { session: { store: failing, id: 's' } });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'STORE_FAILED' } });
    expect(tree.effects).toEqual([]);
  });
});

it.each(levels)('a guardrail of %s that stands on no other agent halts only what that agent does', async (level) => {
  const tree = makeTree({
    script,
    guardrails: { [level]: [halting('own', (_subject, { agent }) => agent !== level, ['toolInput', 'toolOutput', 'output'])] },
  });
  const result = await ended(run(tree.agent, 'go'));
  expect(result).toMatchObject({ status: 'completed', output: 'Front.' });
});

it('a run that ends while children below wait for people ends them too, deepest first, with all that they had open', async () => {
  const asking: Script = {
    front: [[callTool('ask_desk', { input: 'x' }), callTool('pay', { id: 'front' })], say('Front.')],
    desk: [[callTool('ask_clerk', { input: 'x' }), callTool('pay', { id: 'desk' })], say('Desk.')],
    clerk: [callTool('pay', { id: 'clerk' }), say('Clerk.')],
  };
  const stop = halting('stop', ({ content }) => content.includes('evil'));
  for (const level of [1, 2]) {
    const tree = makeTree({ script: asking });
    const first = await ended(run(tree.agent, 'go', { guardrails: [stop], runId: 'r' }));
    if (first.status !== 'interrupted') throw new Error(first.status);
    const id = first.approvals.find(({ agentPath }) => agentPath.length === level)?.id ?? '';
    const result = await ended(resume(tree.agent, first.log, { guardrails: [stop], decisions: { [id]: { edit: { id: 'evil' } } } }));
    expect(result).toMatchObject({ status: 'blocked', by: 'stop' });
    expect(ofType(result.log.events, 'run.end').map(({ run: ending, status }) => `${ending} ${status}`)).toEqual(
      level === 1 ? ['r/1.0/1.0 cancelled', 'r/1.0 cancelled', 'r blocked'] : ['r/1.0/1.0 cancelled', 'r/1.0 blocked', 'r blocked'],
    );
    const calls = ofType(result.log.events, 'model.end').flatMap((event) => event.calls.map((call) => `${event.run}/${call.id}`));
    expect(
      ofType(result.log.events, 'tool.end')
        .map((event) => `${event.run}/${event.callId}`)
        .sort(),
    ).toEqual(calls.sort());
    expect(tree.effects).toEqual([]);
  }
});
