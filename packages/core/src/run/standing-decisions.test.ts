import { describe, expect, it } from 'vitest';
import { enterRun, recordAnswer, recordedCall } from '../../test/enter-run.js';
import type { CallApproval, StandingApproval } from '../state/events.js';
import { answerByStanding, answerOpenByStanding } from './standing-decisions.js';

const approvalOf = (id: string, callId: string, more: Partial<CallApproval> = {}): CallApproval => ({
  id,
  surface: 'toolInput',
  run: 'r',
  agentPath: ['a'],
  subject: `r/${callId}`,
  revision: 0,
  digest: `digest of ${callId}`,
  reason: 'Why.',
  asks: [{ by: 'approval', reason: 'Why.' }],
  label: { origin: 'agent:a', integrity: 'trusted' },
  untrustedFrom: [],
  tool: 'send',
  callId,
  input: {},
  flow: { effect: 'send', authority: 'all', declared: true },
  mayHaveRun: false,
  ...more,
});
const [first, second, third] = [approvalOf('r/p1', '1.0'), approvalOf('r/p2', '1.1'), approvalOf('r/p3', '1.2')];
const standing: StandingApproval = { agentPath: ['a'], tool: 'send', when: {} };

/** The first call was approved for later ones too; the second and third were asked about after that. */
async function decided(given: Partial<StandingApproval> = {}, options: object = {}) {
  const entered = await enterRun(undefined, options);
  const { handle } = entered;
  recordAnswer(
    handle,
    ['1.0', '1.1', '1.2'].map((id) => recordedCall('send', { id })),
  );
  handle.append({ type: 'approval.request', approval: first });
  const { id, subject, revision, digest } = first;
  handle.append({ type: 'approval.resolve', id, subject, revision, digest, decision: 'approve', standing: { ...standing, ...given } });
  handle.append({ type: 'approval.request', approval: second });
  handle.append({ type: 'approval.request', approval: third });
  return entered;
}
const byStanding = ({ id, subject, revision, digest }: CallApproval, seq: number, at = 1_000) => ({
  type: 'approval.resolve',
  seq,
  at,
  run: 'r',
  agent: 'a',
  id,
  subject,
  revision,
  digest,
  decision: 'approve',
  byStanding: 'r/p1',
});

describe('a question that a standing decision is for', () => {
  it('is answered by it, and the log says by which', async () => {
    const { handle } = await decided();
    const { seq } = handle.root.log;
    expect(answerByStanding(handle, second)).toBe(true);
    expect(handle.root.events.at(-1)).toStrictEqual(byStanding(second, seq + 1));
    expect(handle.state.calls.get('1.1')?.phase).toBe('decided');
    expect(handle.state.calls.get('1.2')?.phase).toBe('waiting');
  });

  it('is answered at the time at which the decision still held', async () => {
    const { handle, clock } = await decided({ expiresAt: 1_010 });
    clock.pass(9);
    expect(answerByStanding(handle, second)).toBe(true);
    expect(handle.root.events.at(-1)?.at).toBe(1_009);
    clock.pass(1);
    expect(answerByStanding(handle, third)).toBe(false);
  });

  it('names the run above where it is one of a child run', async () => {
    const { handle } = await decided();
    const { handle: parent } = await enterRun(undefined, { runId: 'above' });
    Object.assign(handle.state, { parent: parent.state });
    expect(answerByStanding(handle, second)).toBe(true);
    expect(handle.root.events.at(-1)).toHaveProperty('parent', 'above');
  });
});

describe('nothing is answered, and nothing recorded', () => {
  it('where no decision stands', async () => {
    const { handle } = await enterRun();
    recordAnswer(handle, [recordedCall('send')]);
    handle.append({ type: 'approval.request', approval: first });
    const count = handle.root.events.length;
    expect(answerByStanding(handle, first)).toBe(false);
    answerOpenByStanding(handle, new Map());
    expect(handle.root.events).toHaveLength(count);
  });

  it('where the run ignores them', async () => {
    const { handle } = await decided({}, { standing: 'ignore' });
    const count = handle.root.events.length;
    expect(answerByStanding(handle, second)).toBe(false);
    answerOpenByStanding(handle, new Map());
    expect(handle.root.events).toHaveLength(count);
  });

  it('where the decision is for something else, was given later, or the log does not hold the question', async () => {
    const { handle } = await decided({ tool: 'look' });
    expect(answerByStanding(handle, second)).toBe(false);
    const { handle: other } = await decided();
    expect(answerByStanding(other, first)).toBe(false);
    expect(answerByStanding(other, approvalOf('r/p9', '1.1'))).toBe(false);
    expect(other.root.events.at(-1)?.type).toBe('approval.request');
  });

  it('where a question of that id was asked before, and again after', async () => {
    const { handle } = await decided();
    handle.append({ type: 'approval.request', approval: first });
    expect(answerByStanding(handle, first)).toBe(true);
  });
});

describe('after a cut', () => {
  it('all that is open is answered, but for what a person has decided now', async () => {
    const { handle } = await decided();
    answerOpenByStanding(handle, new Map([['r/p3', 'reject']]));
    expect(handle.root.events.filter((event) => event.type === 'approval.resolve').map(({ id }) => id)).toEqual(['r/p1', 'r/p2']);
    answerOpenByStanding(handle, new Map());
    expect(handle.root.events.filter((event) => event.type === 'approval.resolve').map(({ id }) => id)).toEqual(['r/p1', 'r/p2', 'r/p3']);
  });

  it('what is of a run that the log does not hold stays open', async () => {
    const { handle } = await decided();
    handle.append({ type: 'approval.request', approval: { ...third, run: 'gone' } });
    answerOpenByStanding(handle, new Map());
    expect(handle.state.calls.get('1.2')?.phase).toBe('waiting');
    expect(handle.state.calls.get('1.1')?.phase).toBe('decided');
  });
});
