// Who calls, what is theirs, and what else they may.
import type { Awaitable, Decision } from '@guardloop/core';
import type { RunInfo } from '@guardloop/durable';
import type { ApprovalRecord, Belonging } from '@guardloop/store';

/** Who calls, as `authenticate` says. The same user name in two tenants is two users. */
export interface Caller {
  /** A line of 1 to 200 characters. Recorded as the owner of what they start, and as who decided. */
  readonly user: string;
  readonly tenant?: string | undefined;
}
/** Says who calls. Undefined: nobody, and the request is refused. Called once for each request; it may throw, which refuses too. */
export type Authenticate<U extends Caller> = (request: Request) => Awaitable<U | undefined>;

/** What a caller wants beyond reading what is their own. */
export type AuthorizeQuestion =
  /** To see how a run stands, its result and its stream, or to end it: the owner may. */
  | { readonly action: 'run.read' | 'run.cancel'; readonly run: RunInfo }
  /** To see one approval: the owner may. */
  | { readonly action: 'approval.read'; readonly approval: ApprovalRecord }
  /** To decide one: the owner may. `kind` is that of the decision; left out where it is asked whether they may at all. */
  | { readonly action: 'approval.decide'; readonly approval: ApprovalRecord; readonly decision?: Decision | undefined }
  /** To list what belongs to everybody of their tenant: nobody may. */
  | { readonly action: 'tenant.list'; readonly what: 'runs' | 'approvals' | 'sessions' };
/**
 * True or false decides; undefined leaves it to the rule that stands with each action. What it throws, or anything else it gives, is false.
 */
export type Authorize<U extends Caller> = (question: AuthorizeQuestion, caller: U) => Awaitable<boolean | undefined>;

const local: unique symbol = Symbol.for('guardloop.server.anonymous');

/**
 * For this machine alone: everybody who reaches the port is one user (default `local`). The server is then reached under names of this
 * machine only, unless `hosts` says otherwise.
 */
export function anonymous(user = 'local'): Authenticate<Caller> {
  return Object.assign(() => ({ user }), { [local]: true });
}
export const isAnonymous = (authenticate: object): boolean => Object.hasOwn(authenticate, local);

const control = /\p{Cc}|\p{Cs}|\u2028|\u2029/u;

/** Undefined where the answer names nobody: callers without a name, of a line that every store can carry, could not be told apart. */
export function checkedCaller<U extends Caller>(caller: U | undefined): U | undefined {
  if (typeof caller !== 'object' || caller === null) return undefined;
  const isName = (name: unknown): boolean => typeof name === 'string' && name.trim() !== '' && name.length <= 200 && !control.test(name);
  return isName(caller.user) && (caller.tenant === undefined || isName(caller.tenant)) ? caller : undefined;
}

export const isOwn = (belonging: Belonging, caller: Caller): boolean =>
  belonging.owner === caller.user && belonging.tenant === caller.tenant;
export const isOfTenant = (belonging: Belonging, caller: Caller): boolean => belonging.tenant === caller.tenant;

function subjectOf(question: AuthorizeQuestion): Belonging | undefined {
  if (question.action === 'tenant.list') return undefined;
  return 'run' in question ? question.run : question.approval;
}

/** Whether the caller may; never rejects. Nothing of another tenant is ever allowed. */
export async function mayCaller<U extends Caller>(
  authorize: Authorize<U> | undefined,
  question: AuthorizeQuestion,
  caller: U,
): Promise<boolean> {
  const about = subjectOf(question);
  const byRule = about !== undefined && isOwn(about, caller);
  if (about !== undefined && !isOfTenant(about, caller)) return false;
  if (authorize === undefined) return byRule;
  try {
    const answer = await authorize(question, caller);
    return answer === undefined ? byRule : answer === true;
  } catch {
    return false;
  }
}
