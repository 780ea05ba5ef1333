import type { Decision, JsonValue } from '@guardloop/core';
import { canonicalJson, GuardloopError } from '@guardloop/core';
import { isTime } from './check-arguments.js';
import type { ApprovalRecord, ApprovalRecords, DecideOptions, DecideOutcome } from './contract.js';

/** A decision that is to be recorded, and when. */
export interface GivenDecision {
  readonly decision: Decision;
  readonly options?: DecideOptions | undefined;
  /** The store's now. */
  readonly now: number;
}

/**
 * What comes of a decision for an approval as it stands. Pure: with `recorded`, a store writes `approval` where the record is still the one
 * that was read, in one step, and asks again where it is not. Throws CONFIG_INVALID for a decision that no run could take up.
 */
export function decideApproval(record: ApprovalRecord | undefined, { decision, options = {}, now }: GivenDecision): DecideOutcome {
  const given = readDecision(decision);
  checkOptions(options);
  if (record === undefined) return { status: 'unknown' };
  if (record.state === 'void') return { status: 'late', why: 'void', approval: record };
  if (record.state !== 'open') return { status: 'already', same: isSame(record.decision, given), approval: record };
  if (options.digest !== undefined && options.digest !== record.approval.digest) return { status: 'altered', approval: record };
  if (record.expiresAt !== undefined && record.expiresAt <= now && options.evenIfExpired !== true)
    return { status: 'late', why: 'expired', approval: record };
  checkFit(record, given);
  const { by } = options;
  const { remindAt: _, ...rest } = record;
  return {
    status: 'recorded',
    approval: { ...rest, state: 'decided', decision: given, ...(by === undefined ? {} : { decidedBy: by }), decidedAt: now },
  };
}

/**
 * The record with other times; undefined where it is not open, or somebody has counted a reminder meanwhile. A reminder without a next
 * `remindAt` is the last. Pure; a store writes it as it writes a decision. Throws CONFIG_INVALID.
 */
export function scheduleApproval(
  record: ApprovalRecord | undefined,
  times: Parameters<ApprovalRecords['schedule']>[1],
): ApprovalRecord | undefined {
  const { expiresAt, remindAt, reminded } = times;
  for (const [name, time] of Object.entries({ expiresAt, remindAt }))
    if (time !== undefined && !isTime(time)) throw misfit(`\`${name}\` is no time. Give milliseconds since 1970.`);
  if (reminded !== undefined && !isTime(reminded))
    throw misfit('`reminded` is no count. Give `reminders` of the record on which the reminder was sent.');
  if (record === undefined || record.state !== 'open') return undefined;
  if (reminded !== undefined && reminded !== record.reminders) return undefined;
  const { remindAt: before, ...rest } = record;
  const next = remindAt ?? (reminded === undefined ? before : undefined);
  return {
    ...rest,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(next === undefined ? {} : { remindAt: next }),
    reminders: record.reminders + (reminded === undefined ? 0 : 1),
  };
}

/**
 * The record as it was before it was decided; undefined where that decision is not there any more. Pure; a store writes it as it writes a
 * decision.
 */
export function reopenApproval(record: ApprovalRecord | undefined, decidedAt: number): ApprovalRecord | undefined {
  if (record === undefined || record.state !== 'decided' || record.decidedAt !== decidedAt) return undefined;
  const { decision: _, decidedBy: __, decidedAt: ___, ...rest } = record;
  return { ...rest, state: 'open' };
}

/** What is kept of a decision once its approval is settled: not an edit or a result, which guardrails may have refused. */
export function settledDecision(decision: Decision | undefined): Decision | undefined {
  if (typeof decision !== 'object') return decision;
  return 'edit' in decision || 'result' in decision ? undefined : decision;
}

const forms =
  "Give 'approve', { approve: 'standing', when, forMs | expiresAt }, { reject: reason }, { edit: input } or { result: value }, one of them alone.";
const misfit = (what: string): GuardloopError => new GuardloopError('CONFIG_INVALID', `The approval cannot be changed: ${what}`);

const kinds = ['approve', 'reject', 'edit', 'result'] as const;
const fieldsOf = { approve: ['approve', 'when', 'forMs', 'expiresAt'], reject: ['reject'], edit: ['edit'], result: ['result'] } as const;

/** A plain copy of a decision of a known form. */
function readDecision(decision: unknown): Decision {
  if (decision === 'approve') return decision;
  if (typeof decision !== 'object' || decision === null) throw misfit(`the decision has no form that is known. ${forms}`);
  const copy = plainCopy(decision);
  const [kind, ...others] = kinds.filter((name) => Object.hasOwn(copy, name));
  const fits =
    kind !== undefined &&
    others.length === 0 &&
    Object.keys(copy).every((name) => (fieldsOf[kind] as readonly string[]).includes(name)) &&
    (kind !== 'approve' || copy.approve === 'standing') &&
    (kind !== 'reject' || typeof copy.reject === 'string') &&
    (kind !== 'edit' || (typeof copy.edit === 'object' && copy.edit !== null && !Array.isArray(copy.edit)));
  if (!fits) throw misfit(`the decision has no form that is known. ${forms}`);
  return copy as Decision;
}

function plainCopy(decision: object): { readonly [name: string]: JsonValue | undefined } {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(decision));
    if (typeof copy === 'object' && copy !== null && !Array.isArray(copy)) return copy as { readonly [name: string]: JsonValue };
  } catch {
    // Told below.
  }
  throw misfit(`the decision is no plain JSON. ${forms}`);
}

/** What `resume` would refuse for this approval is refused before it is recorded, since nobody could take it back. */
function checkFit({ id, approval }: ApprovalRecord, decision: Decision): void {
  const isPlain = typeof decision === 'string' || 'reject' in decision;
  if (approval.surface === 'toolInput') {
    const isApproval = typeof decision === 'string' || 'approve' in decision;
    if (approval.caller && (isApproval || 'edit' in decision))
      throw misfit(`${id} is of a tool that the caller runs. Give { result: value } or { reject: reason }.`);
    return;
  }
  if (!isPlain) throw misfit(`${id} is no call's. Give 'approve' or { reject: reason }.`);
}

function checkOptions({ by, digest, evenIfExpired }: DecideOptions): void {
  if (by !== undefined && (typeof by !== 'string' || by === '' || by.length > 200 || !isWellFormed(by)))
    throw misfit('`by` does not say who decided. Give a name or an id of 1 to 200 characters.');
  if (digest !== undefined && typeof digest !== 'string') throw misfit('`digest` is no text. Give `digest` of the approval that was seen.');
  if (evenIfExpired !== undefined && typeof evenIfExpired !== 'boolean') throw misfit('`evenIfExpired` is neither true nor false.');
}

const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

function isSame(decision: Decision | undefined, given: Decision): boolean {
  return decision !== undefined && canonicalJson(decision as JsonValue) === canonicalJson(given as JsonValue);
}
