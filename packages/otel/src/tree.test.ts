import type { RunResult } from '@guardloop/core';
import { resume, run } from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import { desk, inMemory, scripts, statusOf, tickingClock, tree } from '../test/scene.js';

const start = async (name: keyof typeof scripts) => {
  const memory = inMemory();
  const result = await run(desk(scripts[name]), 'Where is o1?', { runId: 'r1', observers: [memory.telemetry], clock: tickingClock() });
  return { ...memory, result };
};
const shown = async (name: keyof typeof scripts): Promise<readonly string[]> => tree((await start(name)).spans(), statusOf);
/** Goes on as another process would: from the log, with telemetry of its own. */
const goOn = async (name: keyof typeof scripts, { log, ...result }: RunResult) => {
  const memory = inMemory();
  const decisions = result.status === 'interrupted' ? Object.fromEntries(result.approvals.map(({ id }) => [id, 'approve' as const])) : {};
  const clock = tickingClock(9_000_000);
  const ended = await resume(desk(scripts[name]), structuredClone(log), { decisions, observers: [memory.telemetry], clock });
  return { ...memory, ended };
};

describe('the spans of a run', () => {
  it('are the run, its turns, model calls and guardrails', async () => {
    expect(await shown('answer')).toEqual([
      'invoke_agent desk [completed]',
      '  guardrail hush',
      '  turn',
      '    chat m1',
      '    guardrail manners',
    ]);
  });

  it('hold calls that ran, under their turn, with the guardrails on what they gave', async () => {
    expect(await shown('tools')).toEqual([
      'invoke_agent desk [completed]',
      '  guardrail hush',
      '  turn',
      '    chat m1',
      '    guardrail watch',
      '    execute_tool look_up',
      '      guardrail watch',
      '  turn',
      '    chat m1',
      '    guardrail manners',
    ]);
  });

  it('of a child run hang under the call that started it', async () => {
    expect(await shown('child')).toEqual([
      'invoke_agent desk [completed]',
      '  guardrail hush',
      '  turn',
      '    chat m1',
      '    guardrail watch',
      '    execute_tool ask_clerk',
      '      invoke_agent clerk [completed]',
      '        turn',
      '          chat m1',
      '          execute_tool look_up',
      '        turn',
      '          chat m1',
      '      guardrail watch',
      '  turn',
      '    chat m1',
      '    guardrail manners',
    ]);
  });

  it('hold a handoff, and go on in the same run', async () => {
    expect(await shown('handoff')).toEqual([
      'invoke_agent desk [completed]',
      '  guardrail hush',
      '  turn',
      '    chat m1',
      '    handoff billing',
      '  turn',
      '    chat m1',
    ]);
  });

  it('hold repaired answers as turns, and say how a refused run ended', async () => {
    const turn = ['  turn', '    chat m1', '    guardrail manners'];
    expect(await shown('refused')).toEqual(['invoke_agent desk [completed]', '  guardrail hush', ...turn, ...turn]);
    expect(await shown('blocked')).toEqual(['invoke_agent desk [blocked]', '  guardrail hush', ...turn, ...turn]);
  });

  it('are all ended where it waits for people; what comes then, days later, is a part of its own, with the time of waiting', async () => {
    const { spans, result } = await start('approval');
    expect(tree(spans(), statusOf)).toEqual([
      'invoke_agent desk [interrupted]',
      '  guardrail hush',
      '  turn',
      '    chat m1',
      '    guardrail watch',
      '    guardrail watch',
      '    execute_tool look_up',
      '      guardrail watch',
    ]);
    const { spans: later, ended } = await goOn('approval', result);
    expect(ended.status).toBe('completed');
    expect(tree(later(), statusOf)).toEqual([
      'invoke_agent desk [completed]',
      '  approval',
      '  guardrail watch',
      '  execute_tool refund',
      '    guardrail watch',
      '  turn',
      '    chat m1',
      '    guardrail manners',
    ]);
    const [approval] = later().filter(({ name }) => name === 'approval');
    const askedAt = result.log.events.find(({ type }) => type === 'approval.request')?.at ?? 0;
    expect(approval?.startTime).toEqual([Math.floor(askedAt / 1_000), (askedAt % 1_000) * 1e6]);
    expect(approval?.duration[0]).toBeGreaterThan(7_000);
  });

  it('are all ended where a child run waits, and go on under the run in the next process', async () => {
    const { spans, result } = await start('childApproval');
    expect(tree(spans(), statusOf)).toEqual([
      'invoke_agent desk [interrupted]',
      '  guardrail hush',
      '  turn',
      '    chat m1',
      '    guardrail watch',
      '    execute_tool ask_clerk',
      '      invoke_agent clerk [interrupted]',
      '        turn',
      '          chat m1',
    ]);
    const { spans: later, ended } = await goOn('childApproval', result);
    expect(ended.status).toBe('completed');
    expect(tree(later(), statusOf)).toEqual([
      'invoke_agent desk [completed]',
      '  invoke_agent clerk [completed]',
      '    approval',
      '    execute_tool refund',
      '    turn',
      '      chat m1',
      '  guardrail watch',
      '  turn',
      '    chat m1',
      '    guardrail manners',
    ]);
  });

  it('have the times of the log', async () => {
    const { spans, result } = await start('tools');
    const [first, last] = [result.log.events.at(0), result.log.events.at(-1)];
    const [root] = spans().filter(({ name }) => name === 'invoke_agent desk');
    const pair = (at = 0) => [Math.floor(at / 1_000), (at % 1_000) * 1e6];
    expect([root?.startTime, root?.endTime]).toEqual([pair(first?.at), pair(last?.at)]);
  });
});
