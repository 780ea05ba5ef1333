import { describe, expect, it } from 'vitest';
import { enterRun, recordAnswer, recordedCall } from '../../test/enter-run.js';
import type { Approval, CallApproval, HandoffApproval, OutputApproval } from '../state/events.js';
import type { RunHandle } from './handle.js';
import { openApprovals } from './open-approvals.js';

const base = (id: string, run = 'r') => ({
  id,
  run,
  agentPath: ['a'],
  subject: `${run}/1.0`,
  revision: 0,
  digest: 'd',
  reason: 'Why.',
  asks: [{ by: 'approval', reason: 'Why.' }],
  label: { origin: 'agent:a', integrity: 'trusted' } as const,
  untrustedFrom: ['look'],
});
const call = (id: string, callId = '1.0', run = 'r'): CallApproval => ({
  ...base(id, run),
  surface: 'toolInput',
  tool: 'send',
  callId,
  input: {},
  flow: { effect: 'send', authority: ['to'], declared: true },
  mayHaveRun: false,
});
const handoff = (id: string, callId: string): HandoffApproval => ({
  ...base(id),
  surface: 'handoff',
  tool: 'transfer_to_b',
  callId,
  input: {},
  from: 'a',
  to: 'b',
  brief: 'Take over.',
});
const output = (id: string): OutputApproval => ({ ...base(id), surface: 'output', key: 'r/1', chars: 5, turn: 1, calls: 2 });
const request = (handle: RunHandle, approval: Approval): void => handle.append({ type: 'approval.request', approval, turn: 1 });
const resolve = (handle: RunHandle, { id, subject, revision, digest }: Approval): void =>
  handle.append({ type: 'approval.resolve', id, subject, revision, digest, decision: 'approve' });

async function answered(...names: readonly string[]): Promise<RunHandle> {
  const { handle } = await enterRun();
  recordAnswer(
    handle,
    names.map((name, index) => recordedCall(name, { id: `1.${index}` })),
  );
  return handle;
}

describe('what waits for people', () => {
  it('is nothing where nothing was asked', async () => {
    expect(openApprovals((await answered('send')).state)).toEqual([]);
  });

  it('is each call that was asked about, until a person has decided', async () => {
    const handle = await answered('send', 'look', 'transfer_to_b');
    request(handle, call('r/p1'));
    request(handle, handoff('r/p2', '1.2'));
    expect(openApprovals(handle.state)).toEqual([call('r/p1'), handoff('r/p2', '1.2')]);
    resolve(handle, call('r/p1'));
    expect(openApprovals(handle.state)).toEqual([handoff('r/p2', '1.2')]);
  });

  it('is an answer in quarantine, until a person has decided', async () => {
    const { handle } = await enterRun();
    request(handle, output('r/p1'));
    expect(openApprovals(handle.state)).toEqual([output('r/p1')]);
    resolve(handle, output('r/p1'));
    expect(openApprovals(handle.state)).toEqual([]);
  });

  it('is also what child runs of started calls ask, however deep', async () => {
    const handle = await answered('helper', 'other');
    const { root } = handle;
    const begin = (run: string, parent: string, callId: string): void =>
      handle.publish({
        type: 'run.start',
        seq: root.log.seq + 1,
        at: 0,
        run,
        agent: 'b',
        parent,
        call: callId,
        writer: 'w',
        limits: { turns: 8, toolCalls: null, tokens: null, cost: null, ms: null, handoffs: 8, repairs: 1, repeats: 3 },
        manifest: { run: [], agent: [], tools: {} },
      });
    begin('r/1.0', 'r', '1.0');
    const inner = root.log.runs.get('r/1.0');
    if (inner === undefined) throw new Error('no child run');
    handle.publish({
      type: 'model.end',
      seq: root.log.seq + 1,
      at: 0,
      run: 'r/1.0',
      agent: 'b',
      turn: 1,
      status: 'ok',
      id: 'r/1.0/1',
      text: '',
      revision: 0,
      calls: [recordedCall('send')],
      label: { origin: 'agent:b', integrity: 'trusted' },
      usage: { requests: 1 },
    });
    handle.publish({
      type: 'approval.request',
      seq: root.log.seq + 1,
      at: 0,
      run: 'r/1.0',
      agent: 'b',
      approval: call('r/1.0/p1', '1.0', 'r/1.0'),
    });
    expect(openApprovals(handle.state)).toEqual([]);
    handle.append({ type: 'tool.start', callId: '1.0', tool: 'helper', revision: 0, input: {}, idempotencyKey: 'r/1.0' });
    request(handle, call('r/p1', '1.1'));
    expect(openApprovals(handle.state).map(({ id }) => id)).toEqual(['r/1.0/p1', 'r/p1']);
  });

  it('is none of a started call without a child run', async () => {
    const handle = await answered('send');
    handle.append({ type: 'tool.start', callId: '1.0', tool: 'send', revision: 0, input: {}, idempotencyKey: 'r/1.0' });
    expect(openApprovals(handle.state)).toEqual([]);
  });
});

describe('an approval of a log that does not say what it depends on', () => {
  const without = <T extends Approval>(approval: T, ...names: readonly string[]): T =>
    Object.fromEntries(Object.entries(approval).filter(([name]) => !names.includes(name))) as unknown as T;
  const strictest = { label: { origin: 'agent:a', integrity: 'untrusted' }, untrustedFrom: [] };

  it.each([[['label', 'untrustedFrom']], [['label']], [['untrustedFrom']]])('takes the strictest where %j is missing', async (names) => {
    const handle = await answered('send', 'transfer_to_b');
    request(handle, without(call('r/p1'), ...names));
    request(handle, without(handoff('r/p2', '1.1'), ...names));
    expect(openApprovals(handle.state)).toEqual([
      { ...call('r/p1'), ...strictest, flow: { effect: 'write', authority: 'all', declared: false } },
      { ...handoff('r/p2', '1.1'), ...strictest },
    ]);
  });

  it('knows the turn of an answer, and counts no calls of it', async () => {
    const { handle } = await enterRun();
    handle.append({ type: 'approval.request', turn: 3, approval: without(output('r/p1'), 'label', 'turn', 'calls') });
    expect(openApprovals(handle.state)).toEqual([{ ...output('r/p1'), ...strictest, turn: 3, calls: 0 }]);
  });
});
