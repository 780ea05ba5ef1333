import { billing, context, expectType, faq } from '../define/shop.test-d.js';
import type { Approval, ApprovalFlow, Ask, CallApproval, Decision, HandoffApproval, Log, OutputApproval } from '../state/events.js';
import type { QuarantinedAnswer } from './quarantine.js';
import { readQuarantined } from './quarantine.js';
import { resume, run, stream } from './run.js';
import type { VerifiedApproval } from './sign-approvals.js';
import { verifyApproval } from './sign-approvals.js';
import type { Interrupted, OpenApproval, QuarantineStore, ResumeOptions } from './types.js';

declare const log: Log;
declare const paused: Interrupted;
declare const approval: OpenApproval;
declare const store: QuarantineStore;
declare const key: CryptoKey;
const secret = 'of thirty-two bytes at the very least';
const approvals = { key: [secret, new Uint8Array(32), key], forMs: 60_000 } as const;

export function seen(asked: Approval) {
  expectType<readonly Ask[]>()(asked.asks);
  expectType<'trusted' | 'untrusted'>()(asked.label.integrity);
  switch (asked.surface) {
    case 'toolInput':
      expectType<CallApproval>()(asked);
      expectType<ApprovalFlow>()(asked.flow);
      expectType<boolean>()(asked.mayHaveRun);
      return asked.input.orderId;
    case 'handoff':
      expectType<HandoffApproval>()(asked);
      // @ts-expect-error a handoff has no flow
      void asked.flow;
      return `${asked.from} ${asked.to} ${asked.brief}`;
    case 'output':
      expectType<OutputApproval>()(asked);
      // @ts-expect-error the text of an answer stands in quarantine alone
      void asked.text;
      return asked.chars + asked.calls;
    default:
      return asked satisfies never;
  }
}

export async function standing() {
  await resume(faq, log, { decisions: { a: { approve: 'standing' } } });
  await resume(faq, log, { decisions: { a: { approve: 'standing', when: { orderId: 'o1' }, forMs: 1_000 } } });
  await resume(faq, log, { decisions: { a: { approve: 'standing', when: {}, expiresAt: 1_000 } } });
  // @ts-expect-error only one way to say how long
  await resume(faq, log, { decisions: { a: { approve: 'standing', forMs: 1_000, expiresAt: 1_000 } } });
  // @ts-expect-error no such word
  await resume(faq, log, { decisions: { a: { approve: 'always' } } });
  // @ts-expect-error nothing that JSON does not have
  await resume(faq, log, { decisions: { a: { approve: 'standing', when: { at: new Date() } } } });
  // @ts-expect-error no functions
  await resume(faq, log, { decisions: { a: { approve: 'standing', when: () => true } } });
  // @ts-expect-error a rejection does not stand
  await resume(faq, log, { decisions: { a: { approve: 'standing', reject: 'no' } } });
  // @ts-expect-error a misspelt option
  await resume(faq, log, { decisions: { a: { approve: 'standing', expires: 5 } } });
}

export async function signed() {
  await run(faq, 'hi', { approvals });
  await stream(billing, 'hi', { context, approvals: { key } });
  expectType<string | undefined>()(approval.token);
  await resume(faq, log, { approvals });
  await resume(faq, log, { approvals, decisions: { [approval.id]: { decision: 'approve', token: approval.token } } });
  await resume(billing, log, { context, approvals, decisions: { a: { decision: { edit: { cents: 1 } }, token: '' } } });
  await resume(faq, log, { decisions: Object.fromEntries(paused.approvals.map(({ id }) => [id, 'approve'])) });
  await resume(faq, log, {
    approvals,
    decisions: Object.fromEntries(paused.approvals.map(({ id, token }) => [id, { decision: 'approve' as const, token }])),
  });
  const options: ResumeOptions = { approvals, decisions: { a: { decision: 'approve', token: '' } } };
  await resume(faq, log, options);
  // @ts-expect-error signed approvals are decided with their tokens
  await resume(faq, log, { approvals, decisions: { a: 'approve' } });
  // @ts-expect-error no decision without its token
  await resume(faq, log, { approvals, decisions: { a: { decision: 'approve' } } });
  // @ts-expect-error no token where nothing is signed
  await resume(faq, log, { decisions: { a: { decision: 'approve', token: '' } } });
  // @ts-expect-error a run decides nothing
  await run(faq, 'hi', { approvals, decisions: {} });
  // @ts-expect-error no key
  await run(faq, 'hi', { approvals: {} });
  // @ts-expect-error no key either
  await run(faq, 'hi', { approvals: { key: 7 } });
  // @ts-expect-error a misspelt option
  await run(faq, 'hi', { approvals: { key, forMS: 5 } });
  // @ts-expect-error the log's approvals have no token
  void (approval as Approval).token;
  const decision: Decision = { reject: 'no' };
  void decision;
}

export async function shown(token: string) {
  expectType<VerifiedApproval>()(await verifyApproval(token, [secret, key], { approval }));
  const verified = await verifyApproval(token, secret);
  // @ts-expect-error no claims before it is known to be valid
  void verified.claims;
  if (verified.valid) expectType<readonly string[]>()(verified.claims.agentPath);
  else expectType<'altered' | 'other' | 'expired'>()(verified.why);
  // @ts-expect-error a key is needed
  await verifyApproval(token);
  if (approval.surface === 'output') expectType<QuarantinedAnswer>()(await readQuarantined(store, approval));
  // @ts-expect-error only answers are in quarantine
  await readQuarantined(store, approval);
}
