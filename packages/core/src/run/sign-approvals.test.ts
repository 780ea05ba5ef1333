import { describe, expect, it } from 'vitest';
import { enterRun, modelOf, recordAnswer, recordedCall } from '../../test/enter-run.js';
import { defineAgent } from '../define/agent.js';
import { defineGuardrail } from '../define/guardrail.js';
import { allow } from '../define/verdict.js';
import { canonicalJson } from '../state/canonical-json.js';
import { sha256Hex } from '../state/digest.js';
import type { Approval, CallApproval, RunStartEvent } from '../state/events.js';
import { readApprovalKeys } from './approval-keys.js';
import type { ApprovalClaims } from './approval-tokens.js';
import { readToken, shownDigest, writeToken } from './approval-tokens.js';
import { checkToken, signApprovals, verifyApproval } from './sign-approvals.js';
import type { OpenApproval } from './types.js';

const key = 'k'.repeat(32);
const signing = { approvals: { key } };
const approval: CallApproval = {
  id: 'r/p1',
  surface: 'toolInput',
  run: 'r',
  agentPath: ['a'],
  subject: 'r/1.0',
  revision: 2,
  digest: 'd',
  reason: 'Why.',
  asks: [{ by: 'approval', reason: 'Why.' }],
  label: { origin: 'agent:a', integrity: 'trusted' },
  untrustedFrom: [],
  tool: 'send',
  callId: '1.0',
  input: { to: 'anna' },
  flow: { effect: 'send', authority: 'all', declared: true },
  mayHaveRun: false,
};
const guard = defineGuardrail({ name: 'words', version: '1', on: ['input'], check: () => allow() });

async function entered(options: object = signing, agent?: unknown) {
  const given = await enterRun(agent, options);
  recordAnswer(given.handle, [recordedCall('send')]);
  given.handle.append({ type: 'approval.request', approval });
  return given;
}
type EnteredRun = Awaited<ReturnType<typeof entered>>;
const tokenOf = async ({ handle }: EnteredRun, asked: Approval = approval): Promise<string> => {
  const [signed] = await signApprovals(handle, [asked]);
  return signed?.token ?? '';
};
const claimsOf = async (token: string): Promise<ApprovalClaims | undefined> => readToken(token, await readApprovalKeys(key, 'x'));
const sign = async (claims: ApprovalClaims): Promise<string> => writeToken(claims, (await readApprovalKeys(key, 'x'))[0] as CryptoKey);

describe('approvals', () => {
  it('are given as they are where the run does not sign', async () => {
    const { handle } = await entered({});
    const given = [approval];
    expect(await signApprovals(handle, given)).toBe(given);
  });

  it('are given with a token each, which says what it is for', async () => {
    const run = await entered();
    const { handle } = run;
    const signed = await signApprovals(handle, [approval, { ...approval, id: 'r/p2' }]);
    expect(signed.map(({ token: _, ...rest }: OpenApproval) => rest)).toEqual([approval, { ...approval, id: 'r/p2' }]);
    expect(signed.every(Object.isFrozen)).toBe(true);
    const start = handle.root.events[0] as RunStartEvent;
    expect(await claimsOf(signed[0]?.token ?? '')).toStrictEqual({
      id: 'r/p1',
      run: 'r',
      log: start.writer,
      agentPath: ['a'],
      surface: 'toolInput',
      subject: 'r/1.0',
      revision: 2,
      digest: 'd',
      shown: await shownDigest(approval),
      guardrails: await sha256Hex(canonicalJson(start.manifest as never)),
    });
    expect((await claimsOf(signed[1]?.token ?? ''))?.id).toBe('r/p2');
  });

  it('hold as long as the run says', async () => {
    const run = await entered({ approvals: { key, forMs: 50 } });
    run.clock.pass(7);
    expect((await claimsOf(await tokenOf(run)))?.expiresAt).toBe(1_057);
  });

  it('of a run that cannot be reached name no guardrails', async () => {
    const run = await entered();
    const claims = await claimsOf(await tokenOf(run, { ...approval, run: 'other' }));
    expect(claims?.guardrails).toBe(await sha256Hex('null'));
  });

  it('of a log without its beginning name no writer', async () => {
    const run = await entered();
    (run.handle.root.events as unknown[])[0] = run.handle.root.events[1];
    expect((await claimsOf(await tokenOf(run)))?.log).toBe('');
    run.handle.root.log.root = undefined;
    expect((await claimsOf(await tokenOf(run)))?.log).toBe('');
  });
});

describe('a decision', () => {
  const refused = (why: string) => ({
    code: 'RESUME_MISMATCH',
    message: `The token of the decision for r/p1 ${why}. Nothing was run; resume without decisions to get new tokens, and have a person decide again.`,
  });

  it('passes with the token of its approval', async () => {
    const run = await entered();
    await expect(checkToken(run.handle, approval, await tokenOf(run))).resolves.toBeUndefined();
  });

  it.each<[string, Partial<CallApproval>]>([
    ['another approval', { id: 'r/p2' }],
    ['another run', { run: 'r2' }],
    ['another agent', { agentPath: ['b'] }],
    ['another surface', { surface: 'handoff' as never }],
    ['another call', { subject: 'r/1.1' }],
    ['another revision', { revision: 3 }],
    ['another input', { digest: 'e' }],
    ['an approval that says something else', { reason: 'Because.' }],
  ])('does not pass with a token for %s', async (what, more) => {
    const run = await entered();
    const token = await tokenOf(run, { ...approval, ...more } as CallApproval);
    await expect(checkToken(run.handle, approval, token)).rejects.toMatchObject(refused(`was made for ${what}`));
  });

  it('does not pass with a token of another log, or under other guardrails', async () => {
    const run = await entered();
    await expect(checkToken((await entered()).handle, approval, await tokenOf(run))).rejects.toMatchObject(
      refused('was made for a run of another log'),
    );
    const claims = (await claimsOf(await tokenOf(run))) as ApprovalClaims;
    const guarded = await entered({ ...signing, guardrails: [guard] });
    const token = await tokenOf(guarded);
    await expect(checkToken(guarded.handle, approval, token)).resolves.toBeUndefined();
    const { guardrails } = claims;
    await expect(
      checkToken(guarded.handle, approval, await sign({ ...((await claimsOf(token)) as ApprovalClaims), guardrails })),
    ).rejects.toMatchObject(refused('was made for other guardrails, or other versions of them'));
  });

  it('does not pass without a token of one of the keys', async () => {
    const run = await entered();
    const invalid = refused('is not valid: it was altered, or signed with another key');
    await expect(checkToken(run.handle, approval, 'x.y')).rejects.toMatchObject(invalid);
    const other = await entered({ approvals: { key: 'j'.repeat(32) } });
    await expect(checkToken(run.handle, approval, await tokenOf(other))).rejects.toMatchObject(invalid);
    const unsigned = await entered({});
    await expect(checkToken(unsigned.handle, approval, await tokenOf(run))).rejects.toMatchObject(invalid);
  });

  it('does not pass with a token that misses something or says more', async () => {
    const run = await entered();
    const claims = (await claimsOf(await tokenOf(run))) as ApprovalClaims;
    const { subject: _, ...less } = claims;
    await expect(checkToken(run.handle, approval, await sign(less as ApprovalClaims))).rejects.toMatchObject(
      refused('was made for another call'),
    );
    await expect(checkToken(run.handle, approval, await sign({ ...claims, more: 1 } as ApprovalClaims))).rejects.toMatchObject(
      refused('says something else'),
    );
  });

  it('passes until its token expires, and not from then on', async () => {
    const run = await entered({ approvals: { key, forMs: 50 } });
    const token = await tokenOf(run);
    run.clock.pass(49);
    await expect(checkToken(run.handle, approval, token)).resolves.toBeUndefined();
    run.clock.pass(1);
    await expect(checkToken(run.handle, approval, token)).rejects.toMatchObject(refused('has expired'));
  });
});

describe('verifying an approval', () => {
  it('gives the claims of a token that was signed with the key', async () => {
    const token = await tokenOf(await entered());
    const claims = await claimsOf(token);
    expect(await verifyApproval(token, key)).toStrictEqual({ valid: true, claims });
    expect(await verifyApproval(token, ['j'.repeat(32), key], { approval })).toStrictEqual({ valid: true, claims });
  });

  it('finds what was altered, and an approval that is another', async () => {
    const token = await tokenOf(await entered());
    expect(await verifyApproval(token, 'j'.repeat(32))).toStrictEqual({ valid: false, why: 'altered' });
    expect(await verifyApproval('x', key)).toStrictEqual({ valid: false, why: 'altered' });
    expect(await verifyApproval(token, key, { approval: { ...approval, reason: 'Because.' } })).toStrictEqual({
      valid: false,
      why: 'other',
    });
    const circle: Record<string, unknown> = { ...approval };
    circle.input = circle;
    expect(await verifyApproval(token, key, { approval: circle as never })).toStrictEqual({ valid: false, why: 'other' });
  });

  it('finds what has expired, by the clock that is given or else by the time of day', async () => {
    const run = await entered({ approvals: { key, forMs: 50 } });
    const token = await tokenOf(run);
    run.clock.pass(49);
    expect(await verifyApproval(token, key, { clock: run.clock })).toMatchObject({ valid: true });
    run.clock.pass(1);
    expect(await verifyApproval(token, key, { clock: run.clock })).toStrictEqual({ valid: false, why: 'expired' });
    expect(await verifyApproval(token, key)).toStrictEqual({ valid: false, why: 'expired' });
  });

  it('rejects for a key that is none, and names itself', async () => {
    await expect(verifyApproval('x', 'short')).rejects.toThrow('verifyApproval has a key of 5 bytes.');
  });
});

it('a token is for the stay of the agent that asks, under the manifest of its targets too', async () => {
  const target = defineAgent({ name: 'b', instructions: '', model: modelOf(), guardrails: [guard] });
  const run = await entered(signing, defineAgent({ name: 'a', instructions: '', model: modelOf(), handoffs: [target] }));
  const { manifest } = run.handle.root.events[0] as RunStartEvent;
  expect(manifest.targets).toBeDefined();
  expect((await claimsOf(await tokenOf(run)))?.guardrails).toBe(await sha256Hex(canonicalJson(manifest as never)));
});
