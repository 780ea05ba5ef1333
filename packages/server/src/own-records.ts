// Finding what a caller names. What is another's is not there: same answer, same one look.
import { GuardloopError } from '@guardloop/core';
import type { RunInfo } from '@guardloop/durable';
import type { ApprovalRecord, Page, PageQuery, SessionRecord } from '@guardloop/store';
import type { Caller } from './caller.js';
import { isOfTenant, isOwn, mayCaller } from './caller.js';
import type { Call } from './operation.js';
import { Problem } from './problem.js';

/** A run that the caller may see. */
export async function seenRun<U extends Caller>({ settings, caller }: Call<U>, id: string): Promise<RunInfo> {
  const run = await settings.runs.status(id);
  if (run === undefined || !(await mayCaller(settings.authorize, { action: 'run.read', run }, caller))) throw new Problem('not-found');
  return run;
}

export async function ownSession<U extends Caller>({ settings, caller }: Call<U>, id: string): Promise<SessionRecord> {
  const session = await settings.runs.store.sessions.get(id);
  if (session === undefined || !isOwn(session, caller)) throw new Problem('not-found');
  return session;
}

/** An approval that the caller may see, and whether they may decide it. */
export async function seenApproval<U extends Caller>(
  { settings, caller }: Call<U>,
  id: string,
): Promise<{ readonly record: ApprovalRecord; readonly mayDecide: boolean }> {
  const approval = await settings.runs.approvals.get(id);
  if (approval === undefined || !(await mayCaller(settings.authorize, { action: 'approval.read', approval }, caller)))
    throw new Problem('not-found');
  return { record: approval, mayDecide: await mayCaller(settings.authorize, { action: 'approval.decide', approval }, caller) };
}

type Scope = 'own' | 'tenant' | undefined;
/** What the store is asked for, so that only what is theirs, or their tenant's, comes. Throws where they may not list for others. */
export async function belongingOf<U extends Caller>(
  { settings, caller }: Call<U>,
  scope: Scope,
  what: 'runs' | 'approvals' | 'sessions',
): Promise<{ readonly owner?: string; readonly tenant?: string }> {
  const tenant = caller.tenant === undefined ? {} : { tenant: caller.tenant };
  if (scope !== 'tenant') return { owner: caller.user, ...tenant };
  if (!(await mayCaller(settings.authorize, { action: 'tenant.list', what }, caller))) throw new Problem('not-allowed');
  return tenant;
}

/** A place to go on from that no page gave is the client's fault. */
async function pageOf<T>(asked: Promise<Page<T>>): Promise<Page<T>> {
  try {
    return await asked;
  } catch (thrown) {
    if (GuardloopError.is(thrown) && thrown.code === 'CONFIG_INVALID')
      throw new Problem('bad-query', { errors: [{ path: 'after', expected: '`next` of a page before' }] });
    throw thrown;
  }
}

interface Listing<Q extends PageQuery, T> {
  readonly query: Q;
  readonly list: (query: Q) => Promise<Page<T>>;
  readonly scope: Scope;
}
/**
 * A page of what is theirs. A store takes a tenant that is left out for any tenant: what is another's is left out here, and `next`, which
 * holds the id of the item before it, is never made of it, nor given where nothing of theirs follows.
 */
export async function pageWithin<Q extends PageQuery, T extends RunInfo | ApprovalRecord | SessionRecord>(
  { caller }: { readonly caller: Caller },
  { query, list, scope }: Listing<Q, T>,
): Promise<Page<T>> {
  const isTheirs = (item: T): boolean => (scope === 'tenant' ? isOfTenant(item, caller) : isOwn(item, caller));
  let asked = query;
  for (;;) {
    const { items, next } = await pageOf(list(asked));
    const last = items.findLastIndex(isTheirs);
    if (next === undefined) return { items: items.filter(isTheirs) };
    if (last === items.length - 1) {
      const theirs = items.filter(isTheirs);
      return (await follows({ query: { ...query, after: next }, list, scope }, isTheirs)) ? { items: theirs, next } : { items: theirs };
    }
    asked = last === -1 ? { ...asked, after: next } : { ...asked, limit: last + 1 };
  }
}

async function follows<Q extends PageQuery, T>({ query, list }: Listing<Q, T>, isTheirs: (item: T) => boolean): Promise<boolean> {
  for (let { after } = query; after !== undefined; ) {
    const { items, next }: Page<T> = await list({ ...query, after });
    if (items.some(isTheirs)) return true;
    after = next;
  }
  return false;
}
