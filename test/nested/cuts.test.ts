import type { Decision, Log, RunResult } from '@guardloop/core';
import { resume, run } from '@guardloop/core';
import type { Script } from '@guardloop/testing';
import { auditLog, callTool, cutAnywhere, say } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { makeTree, ofType } from './tree.js';

const scripts: { readonly [name: string]: Script } = {
  'three levels that read and send': {
    front: [
      [say('Front.'), callTool('look', { id: 'a' }), callTool('ask_desk', { input: 'x' })],
      callTool('send', { id: 'f' }),
      say('Front is done.'),
    ],
    desk: [[callTool('ask_clerk', { input: 'x' }), callTool('send', { id: 'd' })], say('Desk is done.')],
    clerk: [callTool('send', { id: 'c' }), callTool('transfer_to_second', {})],
    second: [callTool('look', { id: 's' }), say('Second is done.')],
  },
  'two of them at once': {
    front: [[callTool('ask_desk', { input: 'x' }), callTool('ask_desk', { input: 'y' })], say('Front is done.')],
    desk: [[callTool('ask_clerk', { input: 'x' }), callTool('look', { id: 'd' })], say('Desk is done.')],
    clerk: [callTool('send', { id: 'c' }), say('Clerk is done.')],
  },
};

/** What people say: everything that is asked is approved, but what may have happened is not done again. */
const decide = (result: RunResult): Record<string, Decision> =>
  result.status === 'interrupted'
    ? Object.fromEntries(
        result.approvals.map((approval) => [
          approval.id,
          approval.surface === 'toolInput' && approval.mayHaveRun ? { result: `sent ${approval.input.id}` } : 'approve',
        ]),
      )
    : {};

describe.each(Object.entries(scripts))('a cut after any event of %s', (_name, script) => {
  it('comes to the same end, or asks; no effect happens twice, and with answers it comes to the same end too', async () => {
    const whole = makeTree({ script });
    const result = await run(whole.agent, 'go', { guardrails: [whole.ofRun], runId: 'r' });
    expect(auditLog(result.log)).toEqual([]);
    const report = await cutAnywhere(result.log, async (prefix) => {
      const tree = makeTree({ script });
      const options = { guardrails: [tree.ofRun], input: 'go' };
      const first: RunResult = await resume(tree.agent, JSON.parse(JSON.stringify(prefix)) as Log, options);
      const started = new Set(ofType(prefix.events, 'tool.start').flatMap((event) => (event.once ? [event.idempotencyKey] : [])));
      const done = tree.effects.map((effect) => effect.split(' ').at(-1) ?? '');
      expect(new Set(done).size).toBe(done.length);
      expect(done.filter((key) => started.has(key))).toEqual([]);
      let last = first;
      for (let round = 0; last.status === 'interrupted' && round < 5; round += 1)
        last = await resume(tree.agent, JSON.parse(JSON.stringify(last.log)) as Log, { guardrails: [tree.ofRun], decisions: decide(last) });
      expect(auditLog(last.log)).toEqual([]);
      expect(last).toMatchObject({ status: 'completed', output: 'Front is done.' });
      expect(last.usage).toEqual(expect.objectContaining({ requests: expect.any(Number) }));
      return first;
    });
    expect(report.differences).toEqual([]);
    expect(report.cuts).toBe(result.log.events.length - 1);
    expect(report.same).toBeGreaterThan(report.asked);
  });
});

it('a cut after any event of a run with approvals at three levels comes to the same end', async () => {
  const script: Script = {
    front: [[callTool('ask_desk', { input: 'x' }), callTool('pay', { id: 'f' })], say('Front is done.')],
    desk: [[callTool('pay', { id: 'd' }), callTool('ask_clerk', { input: 'x' })], say('Desk is done.')],
    clerk: [callTool('pay', { id: 'c' }), say('Clerk is done.')],
  };
  const drive = async (log: Log | undefined) => {
    const tree = makeTree({ script });
    const shared = { guardrails: [tree.ofRun] };
    let result: RunResult =
      log === undefined
        ? await run(tree.agent, 'go', { ...shared, runId: 'r' })
        : await resume(tree.agent, log, { ...shared, input: 'go' });
    for (let round = 0; result.status === 'interrupted' && round < 8; round += 1)
      result = await resume(tree.agent, JSON.parse(JSON.stringify(result.log)) as Log, { ...shared, decisions: decide(result) });
    expect(auditLog(result.log)).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', output: 'Front is done.' });
    return { result, effects: tree.effects };
  };
  const { result, effects } = await drive(undefined);
  expect(effects).toHaveLength(3);
  for (let length = 1; length < result.log.events.length; length += 1) {
    const prefix = JSON.parse(JSON.stringify({ version: 1, events: result.log.events.slice(0, length) })) as Log;
    const started = ofType(prefix.events, 'tool.start')
      .filter(({ tool }) => tool === 'pay')
      .map(({ idempotencyKey }) => idempotencyKey);
    const again = await drive(prefix);
    const keys = again.effects.map((effect) => effect.split(' ').at(-1) ?? '');
    expect([...started, ...keys].sort()).toEqual(effects.map((effect) => effect.split(' ').at(-1) ?? '').sort());
  }
});
