import type { Approval, Decision, Log, RunResult } from '@guardloop/core';
import { memorySession, resume, run } from '@guardloop/core';
import type { Script } from '@guardloop/testing';
import { auditLog, callTool, normalLog, say } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeTree, ofType } from './tree.js';

/** Each level asks for one payment beside its call of the agent below; the deepest for two. */
const script: Script = {
  front: [[callTool('ask_desk', { input: 'x' }), callTool('pay', { id: 'front' })], say('All is paid.')],
  desk: [[callTool('pay', { id: 'desk' }), callTool('ask_clerk', { input: 'x' })], say('Desk is done.')],
  clerk: [[callTool('pay', { id: 'clerk' }), callTool('look', { id: 'l' }), callTool('pay', { id: 'clerk too' })], say('Clerk is done.')],
};
const keys = ['pay front r/1.1', 'pay desk r/1.0/1.0', 'pay clerk r/1.0/1.1/1.0', 'pay clerk too r/1.0/1.1/1.2'];
const json = (log: Log): Log => JSON.parse(JSON.stringify(log)) as Log;
const ended = async (running: PromiseLike<RunResult>): Promise<RunResult> => {
  const result = await running;
  expect(auditLog(result.log)).toEqual([]);
  return result;
};
const approvalsOf = (result: RunResult): readonly Approval[] => (result.status === 'interrupted' ? result.approvals : []);
/** Whom an approval is about. */
const idOf = ({ input }: Approval): string => String(input?.id);

/** All ways to part a list into groups in an order. */
function* groupings<T>(items: readonly T[]): Generator<readonly (readonly T[])[]> {
  if (items.length === 0) {
    yield [];
    return;
  }
  for (let chosen = 1; chosen < 2 ** items.length; chosen += 1) {
    const group = items.filter((_item, index) => chosen & (1 << index));
    for (const rest of groupings(items.filter((_item, index) => !(chosen & (1 << index))))) yield [group, ...rest];
  }
}

async function start() {
  const tree = makeTree({ script });
  return ended(run(tree.agent, 'go', { guardrails: [tree.ofRun], runId: 'r' }));
}

describe('approvals over three levels', () => {
  it('are all asked at once, each with the path of its agents and the run that it belongs to', async () => {
    const first = await start();
    const asked = approvalsOf(first).map((approval) => `${idOf(approval)}: ${approval.agentPath.join('/')}, run ${approval.run}`);
    expect(asked.sort()).toEqual([
      'clerk too: front/desk/clerk, run r/1.0/1.1',
      'clerk: front/desk/clerk, run r/1.0/1.1',
      'desk: front/desk, run r/1.0',
      'front: front, run r',
    ]);
    expect(new Set(approvalsOf(first).map(({ id }) => id)).size).toBe(4);
  });

  it('may be decided in any order and in any groups, each time from the log’s JSON: each effect happens once, and the run ends the same', async () => {
    const first = await start();
    let ways = 0;
    for (const groups of groupings(approvalsOf(first))) {
      ways += 1;
      const effects: string[] = [];
      let result = first;
      let open = 4;
      for (const group of groups) {
        const tree = makeTree({ script });
        const decisions = Object.fromEntries(group.map(({ id }) => [id, 'approve' as const]));
        result = await ended(resume(tree.agent, json(result.log), { guardrails: [tree.ofRun], decisions }));
        effects.push(...tree.effects);
        open -= group.length;
        expect(approvalsOf(result)).toHaveLength(open);
        // What runs is what was approved, at once, and nothing else.
        expect(tree.effects.map((effect) => effect.split(' r')[0]).sort()).toEqual(group.map((approval) => `pay ${idOf(approval)}`).sort());
      }
      expect(result).toMatchObject({ status: 'completed', output: 'All is paid.' });
      expect(effects.sort()).toEqual([...keys].sort());
      expect(ofType(result.log.events, 'run.end')).toHaveLength(3);
    }
    expect(ways).toBe(75);
  });

  const decision = fc.constantFrom<Decision | undefined>(
    'approve',
    { reject: 'not now' },
    { edit: { id: 'edited' } },
    { result: 'done by hand' },
    undefined,
  );
  it('may be decided in any mixture: what was not approved does not run, what was edited runs as edited, and the rest stays open', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(decision, { minLength: 4, maxLength: 4 }), { minLength: 1, maxLength: 4 }), async (rounds) => {
        let result = await start();
        const effects: string[] = [];
        const wanted: string[] = [];
        for (const round of [...rounds, ['approve', 'approve', 'approve', 'approve'] as const]) {
          const open = approvalsOf(result);
          if (open.length === 0) break;
          const tree = makeTree({ script });
          const decisions: Record<string, Decision> = {};
          for (const [index, approval] of open.entries()) {
            const given = round[index];
            if (given === undefined) continue;
            decisions[approval.id] = given;
            if (given === 'approve') wanted.push(`pay ${idOf(approval)} ${approval.subject}`);
            if (typeof given === 'object' && 'edit' in given) wanted.push(`pay edited ${approval.subject}`);
          }
          result = await ended(resume(tree.agent, json(result.log), { guardrails: [tree.ofRun], decisions }));
          effects.push(...tree.effects);
          const left = open.filter(({ id }) => decisions[id] === undefined).map(({ id }) => id);
          expect(approvalsOf(result).map(({ id }) => id)).toEqual(left);
          // Nobody is asked twice, and what was decided once cannot be decided again.
          for (const id of Object.keys(decisions))
            await expect(
              resume(tree.agent, json(result.log), { guardrails: [tree.ofRun], decisions: { [id]: 'approve' } }).result,
            ).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
        }
        expect(effects.sort()).toEqual(wanted.sort());
        expect(result).toMatchObject({ status: 'completed', output: 'All is paid.' });
      }),
      { numRuns: 25, seed: 12 },
    );
  });

  it('a run that was abandoned with approvals of three levels open ends all of them, and starts nothing', async () => {
    const tree = makeTree({ script });
    const session = { store: memorySession(), id: 's' };
    const first = await ended(run(tree.agent, 'go', { session, runId: 'r' }));
    expect(approvalsOf(first)).toHaveLength(4);
    const other = makeTree({ script: { ...script, front: [say('Another matter.')] } as Script });
    const second = await ended(run(other.agent, 'leave it', { session, unfinished: 'abandon' }));
    expect(second).toMatchObject({ status: 'completed', output: 'Another matter.' });
    expect(ofType(second.log.events, 'run.end').map(({ agent, status }) => `${agent} ${status}`)).toEqual([
      'clerk cancelled',
      'desk cancelled',
      'front cancelled',
      'front completed',
    ]);
    const later = resume(other.agent, session, { decisions: { [approvalsOf(first)[0]?.id ?? '']: 'approve' } });
    await expect(later.result).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
    expect([...tree.effects, ...other.effects]).toEqual([]);
  });

  it('the log is the same whether the process went on or another took over', async () => {
    const tree = makeTree({ script });
    const first = await ended(run(tree.agent, 'go', { guardrails: [tree.ofRun], runId: 'r' }));
    const decisions = Object.fromEntries(approvalsOf(first).map(({ id }) => [id, 'approve' as const]));
    const here = await ended(resume(tree.agent, first.log, { guardrails: [tree.ofRun], decisions }));
    const other = makeTree({ script });
    const there = await ended(resume(other.agent, json(first.log), { guardrails: [other.ofRun], decisions }));
    expect(normalLog(there.log)).toEqual(normalLog(here.log));
    expect(there.messages).toEqual(here.messages);
  });
});
