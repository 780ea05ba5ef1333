import { describe, expect, it } from 'vitest';
import { enterRun, recordAnswer, recordedCall } from '../../test/enter-run.js';
import type { JsonObject } from '../model/types.js';
import { canonicalJson } from '../state/canonical-json.js';
import { sha256Hex } from '../state/digest.js';
import type { Approval, CallApproval, HandoffApproval, RecordedCall } from '../state/events.js';
import { checkDigests } from './check-digests.js';
import type { RunHandle } from './handle.js';

const digestOf = (content: JsonObject): Promise<string> => sha256Hex(canonicalJson(content));
const input = { to: 'anna', amount: 5 };
const base = {
  id: 'r/p1',
  run: 'r',
  agentPath: ['a'],
  subject: 'r/1.0',
  revision: 0,
  reason: 'Why.',
  asks: [{ by: 'approval', reason: 'Why.' }],
  label: { origin: 'agent:a', integrity: 'trusted' } as const,
  untrustedFrom: [],
  callId: '1.0',
};
const call = (digest: string, more: Partial<CallApproval> = {}): CallApproval => ({
  ...base,
  surface: 'toolInput',
  digest,
  tool: 'send',
  input,
  flow: { effect: 'send', authority: 'all', declared: true },
  mayHaveRun: false,
  ...more,
});
const handoff = (digest: string, more: Partial<HandoffApproval> = {}): HandoffApproval => ({
  ...base,
  surface: 'handoff',
  digest,
  tool: 'transfer_to_b',
  input: {},
  from: 'a',
  to: 'b',
  brief: 'As asked.',
  ...more,
});

async function asked(recorded: RecordedCall, approval: Approval): Promise<RunHandle> {
  const { handle } = await enterRun();
  recordAnswer(handle, [recorded]);
  handle.append({ type: 'approval.request', approval });
  return handle;
}
const send = recordedCall('send', { input });
const transfer = recordedCall('transfer_to_b', { kind: 'handoff', handoff: { to: 'b', brief: 'As recorded.' } });
const altered = expect.objectContaining({
  code: 'LOG_INVALID',
  message:
    'The digest of the approval for call 1.0 of run r does not fit what the log holds for that call: the log was altered. Nothing was run; resume from the log as it was written.',
}) as unknown;

describe('a call that waits for a person', () => {
  it('passes with the digest of its input', async () => {
    const handle = await asked(send, call(await digestOf(input)));
    await expect(checkDigests(handle.state)).resolves.toBeUndefined();
  });

  it('is altered where the digest, the input that will run, or the input that was shown is another', async () => {
    await expect(checkDigests((await asked(send, call('0'))).state)).rejects.toEqual(altered);
    const other = { ...input, amount: 500 };
    const inputChanged = await asked(recordedCall('send', { input: other }), call(await digestOf(input)));
    await expect(checkDigests(inputChanged.state)).rejects.toEqual(altered);
    const shownChanged = await asked(send, call(await digestOf(input), { input: other }));
    await expect(checkDigests(shownChanged.state)).rejects.toEqual(altered);
  });
});

describe('a handoff that waits for a person', () => {
  it('passes with the digest of its target and brief', async () => {
    const handle = await asked(transfer, handoff(await digestOf({ to: 'b', brief: 'As asked.' })));
    await expect(checkDigests(handle.state)).resolves.toBeUndefined();
  });

  it('is altered where its target or brief is another', async () => {
    const digest = await digestOf({ to: 'b', brief: 'As asked.' });
    for (const more of [{ to: 'c' }, { brief: 'Do as I say.' }])
      await expect(checkDigests((await asked(transfer, handoff(digest, more))).state)).rejects.toEqual(altered);
  });
});

describe('what a person has decided', () => {
  const decide = (handle: RunHandle, { id, subject, revision, digest }: Approval): void =>
    handle.append({ type: 'approval.resolve', id, subject, revision, digest, decision: 'approve' });

  it('is for the input that will run', async () => {
    const approval = call(await digestOf(input));
    const handle = await asked(send, approval);
    decide(handle, approval);
    await expect(checkDigests(handle.state)).resolves.toBeUndefined();
    const other = await asked(recordedCall('send', { input: { to: 'eve' } }), approval);
    decide(other, approval);
    await expect(checkDigests(other.state)).rejects.toEqual(altered);
  });

  it('is for the brief that was asked about, to the target that was recorded', async () => {
    const approval = handoff(await digestOf({ to: 'b', brief: 'As asked.' }));
    const handle = await asked(transfer, approval);
    decide(handle, approval);
    await expect(checkDigests(handle.state)).resolves.toBeUndefined();
    const elsewhere = await asked({ ...transfer, handoff: { to: 'c', brief: 'As recorded.' } }, approval);
    decide(elsewhere, approval);
    await expect(checkDigests(elsewhere.state)).rejects.toEqual(altered);
  });

  it('is for the brief that was recorded, where none was asked about', async () => {
    const handle = await asked(transfer, handoff(await digestOf({ to: 'b', brief: 'As recorded.' })));
    const state = handle.state.calls.get('1.0');
    if (state === undefined) throw new Error('no call');
    state.brief = undefined;
    await expect(checkDigests(handle.state)).resolves.toBeUndefined();
  });

  it('is for no target and no brief where the log names none', async () => {
    const { handoff: _, ...bare } = transfer;
    const approval = handoff(await digestOf({ to: '', brief: '' }), { to: '', brief: '' });
    const handle = await asked(bare, approval);
    decide(handle, approval);
    const state = handle.state.calls.get('1.0');
    if (state === undefined) throw new Error('no call');
    state.brief = undefined;
    await expect(checkDigests(handle.state)).resolves.toBeUndefined();
  });
});

describe('what is not looked at', () => {
  it('are calls that nobody was asked about, or that have begun', async () => {
    const { handle } = await enterRun();
    recordAnswer(handle, [send]);
    await expect(checkDigests(handle.state)).resolves.toBeUndefined();
    const begun = await asked(send, call('0'));
    begun.append({ type: 'tool.start', callId: '1.0', tool: 'send', revision: 0, input, idempotencyKey: 'r/1.0' });
    await expect(checkDigests(begun.state)).resolves.toBeUndefined();
  });

  it('are child runs that have ended, and those that go on are', async () => {
    const { handle } = await enterRun();
    recordAnswer(handle, [recordedCall('helper')]);
    const { handle: inner } = await enterRun(undefined, { runId: 'r2' });
    recordAnswer(inner, [send]);
    inner.append({ type: 'approval.request', approval: call('0', { run: 'r2' }) });
    handle.state.children = new Map([['1.0', inner.state]]);
    await expect(checkDigests(handle.state)).rejects.toMatchObject({
      code: 'LOG_INVALID',
      message: expect.stringContaining('call 1.0 of run r2') as string,
    });
    inner.append({ type: 'run.end', status: 'cancelled' });
    await expect(checkDigests(handle.state)).resolves.toBeUndefined();
  });
});
