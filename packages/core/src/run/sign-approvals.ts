import { GuardloopError } from '../errors.js';
import type { Clock } from '../model/clock.js';
import { systemClock } from '../model/clock.js';
import type { JsonValue } from '../model/types.js';
import { canonicalJson } from '../state/canonical-json.js';
import { sha256Hex } from '../state/digest.js';
import type { Approval } from '../state/events.js';
import type { ApprovalKey } from './approval-keys.js';
import { readApprovalKeys } from './approval-keys.js';
import type { ApprovalClaims } from './approval-tokens.js';
import { readToken, shownDigest, writeToken } from './approval-tokens.js';
import type { RunHandle } from './handle.js';
import { placeOfRun } from './place-of-run.js';
import { manifestOf, standOf } from './plan.js';
import type { OpenApproval } from './types.js';

async function claimsOf(handle: RunHandle, approval: Approval, expiresAt: number | undefined): Promise<ApprovalClaims> {
  const { root } = handle;
  const { id, run, agentPath, surface, subject, revision, digest } = approval;
  const start = root.log.root && root.events[root.log.root.startSeq - 1];
  const place = placeOfRun(handle, run);
  const manifest = place && manifestOf(standOf(place.agent, root.runGuards), place.agents);
  return {
    id,
    run,
    log: start?.type === 'run.start' ? start.writer : '',
    agentPath,
    surface,
    subject,
    revision,
    digest,
    shown: await shownDigest(approval),
    guardrails: await sha256Hex(canonicalJson((manifest ?? null) as unknown as JsonValue)),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

/** The approvals as the caller gets them: with a token each, where the run signs. */
export async function signApprovals(handle: RunHandle, approvals: readonly Approval[]): Promise<readonly OpenApproval[]> {
  const { settings, clock } = handle.root;
  const { signer } = settings;
  const [key] = (await signer?.keys) ?? [];
  if (signer === undefined || key === undefined) return approvals;
  const expiresAt = signer.forMs === undefined ? undefined : clock.now() + signer.forMs;
  return Promise.all(
    approvals.map(async (approval) =>
      Object.freeze({ ...approval, token: await writeToken(await claimsOf(handle, approval, expiresAt), key) }),
    ),
  );
}

const said: { readonly [K in keyof Required<ApprovalClaims>]?: string } = {
  id: 'another approval',
  run: 'another run',
  log: 'a run of another log',
  agentPath: 'another agent',
  surface: 'another surface',
  subject: 'another call',
  revision: 'another revision',
  digest: 'another input',
  shown: 'an approval that says something else',
  guardrails: 'other guardrails, or other versions of them',
};

/** Throws RESUME_MISMATCH unless one of the keys has signed the token, for this very approval, and it has not expired. */
export async function checkToken(handle: RunHandle, approval: Approval, token: string): Promise<void> {
  const { settings, clock } = handle.root;
  const refuse = (why: string): never => {
    throw new GuardloopError(
      'RESUME_MISMATCH',
      `The token of the decision for ${approval.id} ${why}. Nothing was run; resume without decisions to get new tokens, and have a person decide again.`,
    );
  };
  const claims =
    (await readToken(token, (await settings.signer?.keys) ?? [])) ?? refuse('is not valid: it was altered, or signed with another key');
  const wanted = await claimsOf(handle, approval, claims.expiresAt);
  for (const [name, what] of Object.entries(said) as [keyof ApprovalClaims, string][])
    if (canonicalJson((claims[name] ?? null) as JsonValue) !== canonicalJson((wanted[name] ?? null) as JsonValue))
      refuse(`was made for ${what}`);
  if (canonicalJson(claims as unknown as JsonValue) !== canonicalJson(wanted as unknown as JsonValue)) refuse('says something else');
  if (claims.expiresAt !== undefined && !(clock.now() < claims.expiresAt)) refuse('has expired');
}

/** What {@link verifyApproval} may be told. */
export interface VerifyOptions {
  /** The approval as it is about to be shown: it must be, word for word, the one that was signed. */
  readonly approval?: Approval | undefined;
  /** Time, for tests; the run's clock where it has one. */
  readonly clock?: Clock | undefined;
}
/** What a token is worth. `altered`: no key of ours signed it. `other`: it was made for another approval than the one given. */
export type VerifiedApproval =
  | { readonly valid: true; readonly claims: ApprovalClaims }
  | { readonly valid: false; readonly why: 'altered' | 'other' | 'expired' };

/**
 * Whether a token is one that a run with this key made, for the service that shows an approval to a person. Says nothing about whether the
 * approval is still open: `resume` does. Rejects only with CONFIG_INVALID, for a key that is none.
 */
export async function verifyApproval(
  token: string,
  key: ApprovalKey | readonly ApprovalKey[],
  { approval, clock = systemClock }: VerifyOptions = {},
): Promise<VerifiedApproval> {
  const claims = await readToken(token, await readApprovalKeys(key, 'verifyApproval'));
  if (claims === undefined) return { valid: false, why: 'altered' };
  if (approval !== undefined && (await shownDigest(approval).catch(() => undefined)) !== claims.shown)
    return { valid: false, why: 'other' };
  if (claims.expiresAt !== undefined && !(clock.now() < claims.expiresAt)) return { valid: false, why: 'expired' };
  return { valid: true, claims };
}
