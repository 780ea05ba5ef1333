import type { RunResult } from '@guardloop/core';
import { defineGuardrail, deny, resume, run, stream, usageBy } from '@guardloop/core';
import type { Script } from '@guardloop/testing';
import { auditLog, callTool, normalLog, say } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import type { Level, Tree } from './tree.js';
import { levels, makeTree, ofType } from './tree.js';

const script: Script = {
  front: [[say('Front looks.'), callTool('look', { id: 'a' }), callTool('ask_desk', { input: 'for the desk' })], say('Front is done.')],
  desk: [[callTool('ask_clerk', { input: 'for the clerk' }), callTool('send', { id: 'b' })], say('Desk is done.'), say('Desk again.')],
  clerk: [callTool('look', { id: 'c' }), callTool('transfer_to_second', {})],
  second: [callTool('look', { id: 'd' }), say('Second is done.')],
};
const ended = async (running: PromiseLike<RunResult>): Promise<RunResult> => {
  const result = await running;
  expect(auditLog(result.log)).toEqual([]);
  return result;
};
const runIt = (tree: Tree) => run(tree.agent, 'Please.', { guardrails: [tree.ofRun], runId: 'r' });

describe('three levels of agents as tools', () => {
  it('stand in one log, each run under its call, with its parent’s id, from its start to its end', async () => {
    const { log } = await ended(runIt(makeTree({ script })));
    const starts = ofType(log.events, 'run.start');
    expect(starts.map(({ run: id, parent, call, agent }) => ({ id, parent, call, agent }))).toEqual([
      { id: 'r', parent: undefined, call: undefined, agent: 'front' },
      { id: 'r/1.1', parent: 'r', call: '1.1', agent: 'desk' },
      { id: 'r/1.1/1.0', parent: 'r/1.1', call: '1.0', agent: 'clerk' },
    ]);
    for (const { run: id, parent } of starts) {
      const own = log.events.filter((event) => event.run === id);
      expect(own.every((event) => event.parent === parent)).toBe(true);
      expect([own[0]?.type, own.at(-1)?.type]).toEqual(['run.start', 'run.end']);
      // All of a child's lies between the start and the end of its call.
      const call = ofType(starts, 'run.start').find((start) => start.run === id)?.call;
      const around = log.events.filter((event) => event.run === parent && 'callId' in event && event.callId === call);
      if (parent === undefined) continue;
      const [first, last] = [own[0]?.seq ?? 0, own.at(-1)?.seq ?? 0];
      expect(around.find(({ type }) => type === 'tool.start')?.seq).toBeLessThan(first);
      expect(around.find(({ type }) => type === 'tool.end')?.seq).toBeGreaterThan(last);
    }
    expect(log.events.map(({ seq }) => seq)).toEqual(log.events.map((_event, index) => index + 1));
  });

  it('have the run’s guardrails on every surface of every agent, and each agent’s own while that agent is active and nowhere else', async () => {
    const tree = makeTree({ script });
    await ended(runIt(tree));
    const paths: Record<string, string> = { front: 'front', desk: 'front/desk', clerk: 'front/desk/clerk', second: 'front/desk/second' };
    for (const [agent, path] of Object.entries(paths)) {
      const own = tree.asked.filter(
        ({ guardrail, surface }) => guardrail === `of-${agent}` && surface !== 'handoff' && surface !== 'input',
      );
      const ofRun = tree.asked.filter(
        (each) => each.guardrail === 'of-run' && each.agent === agent && each.surface !== 'handoff' && each.surface !== 'input',
      );
      expect(own.length).toBeGreaterThan(0);
      expect(new Set(own.map((each) => `${each.agent} ${each.path}`))).toEqual(new Set([`${agent} ${path}`]));
      const words = ({ surface, content }: { readonly surface: string; readonly content: string }) => `${surface} ${content}`;
      expect(own.map(words)).toEqual(ofRun.map(words));
    }
    const inputs = tree.asked
      .filter(({ surface }) => surface === 'input')
      .map(({ guardrail, agent, content }) => `${guardrail} ${agent}: ${content}`);
    for (const [agent, content] of [
      ['front', 'Please.'],
      ['desk', 'for the desk'],
      ['clerk', 'for the clerk'],
    ])
      for (const guardrail of ['of-run', `of-${agent}`]) expect(inputs).toContain(`${guardrail} ${agent}: ${content}`);
    // What an agent gives to the one above it is a result there: judged again, by those who stand there.
    const results = tree.asked.filter(({ surface, content }) => surface === 'toolOutput' && content.endsWith('is done.'));
    expect(results.map(({ guardrail, agent, content }) => `${guardrail} ${agent}: ${content}`)).toEqual([
      'of-run desk: Second is done.',
      'of-desk desk: Second is done.',
      'of-run front: Desk is done.',
      'of-front front: Desk is done.',
    ]);
  });

  it('show each agent’s model what is its own, and nothing of those above', async () => {
    const tree = makeTree({ script });
    await ended(runIt(tree));
    const first = (agent: string) => JSON.stringify(tree.model.requests.find((request) => request.agent === agent)?.messages);
    expect(first('desk')).toContain('for the desk');
    expect(first('desk')).not.toMatch(/Please\.|Front looks/);
    expect(first('clerk')).toContain('for the clerk');
    expect(first('clerk')).not.toMatch(/Please\.|for the desk/);
    expect(
      tree.model.requests
        .filter(({ agent }) => agent === 'front')
        .at(-1)
        ?.messages.map(({ role }) => role),
    ).toEqual(['user', 'assistant', 'tool', 'tool']);
  });

  it('add up what their models used, once each, in every run above', async () => {
    const tree = makeTree({ script, usage: { requests: 1, inputTokens: 100, outputTokens: 10, cost: 0.5 } });
    const result = await ended(runIt(tree));
    const calls = tree.model.requests.length;
    expect(calls).toBe(8);
    expect(result.usage).toEqual({ requests: 8, inputTokens: 800, outputTokens: 80, cost: 4 });
    const { total, byAgent } = usageBy(result.log);
    expect(total).toEqual(result.usage);
    expect(Object.fromEntries(Object.entries(byAgent).map(([agent, usage]) => [agent, usage.requests]))).toEqual({
      front: 2,
      desk: 2,
      clerk: 2,
      second: 2,
    });
  });

  it('are the same run and streamed, and a child shows its text in the stream only if its tool was made so', async () => {
    const plain = await ended(runIt(makeTree({ script })));
    for (const shows of [false, true]) {
      const tree = makeTree({ script, stream: shows });
      const watched = stream(tree.agent, 'Please.', { guardrails: [tree.ofRun], runId: 'r' });
      const shown: string[] = [];
      for await (const event of watched) if (event.type === 'text.delta') shown.push(`${event.agent}: ${event.text}`);
      const result = await ended(watched.result);
      expect(normalLog(result.log)).toEqual(normalLog(plain.log));
      expect(shown).toEqual(
        shows
          ? ['front: Front looks.', 'second: Second is done.', 'desk: Desk is done.', 'front: Front is done.']
          : ['front: Front looks.', 'front: Front is done.'],
      );
    }
  });

  it.each(levels)('say in words what went wrong in one below: a refusal of %s is a result for the one above', async (level: Level) => {
    const refusing = defineGuardrail({ name: 'no', on: ['output'], check: () => deny('not said here') });
    const tree = makeTree({ script, guardrails: { [level]: [refusing] } });
    const result = await ended(runIt(tree));
    if (level === 'front') {
      expect(result).toMatchObject({ status: 'blocked', by: 'no', reason: 'not said here' });
      return;
    }
    expect(result).toMatchObject({ status: 'completed', output: 'Front is done.' });
    const above = level === 'desk' ? 'r' : 'r/1.1';
    // The clerk hands over, and another agent answers, whose own guardrails these are not.
    const end = ofType(result.log.events, 'tool.end').find((event) => event.run === above && event.tool.startsWith('ask_'));
    expect(end).toMatchObject(level === 'desk' ? { status: 'error', errorClass: 'denied' } : { status: 'ok' });
  });

  it('give back the same result when an ended run is resumed', async () => {
    const tree = makeTree({ script });
    const result = await ended(runIt(tree));
    const later = await ended(resume(tree.agent, result.log, { guardrails: [tree.ofRun] }));
    expect(later).toEqual(result);
    expect(tree.effects).toEqual(['send b r/1.1/1.1']);
  });
});
