import type { LogEvent } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import { checkOptionNames, optionFault, suggest } from '@guardloop/core/model';
import { writeName } from './codec.js';
import type { ApprovalQuery, Belonging, ClaimOptions, NewRun, PageQuery, RunQuery, SessionQuery, SessionRecords } from './contract.js';

const refuse = (what: string): GuardloopError => new GuardloopError('CONFIG_INVALID', what);

/** A whole number from 0 that is exact. */
export const isTime = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** The conflict that `append` rejects with. */
export function logConflict(session: string, { expected, found }: { readonly expected: number; readonly found: number }): GuardloopError {
  return new GuardloopError(
    'LOG_CONFLICT',
    `Session ${session} ends with event ${found}, but the writer expected ${expected}: another writer has appended. Load the events after ${expected}, and start again from them.`,
    { details: { session, expected, found } },
  );
}

/** What `append` rejects with where the approval is another session's: a run there has the same id. */
export function approvalTaken(session: string, { id, other }: { readonly id: string; readonly other: string }): GuardloopError {
  return refuse(
    `The question ${id} of session ${session} is there already, of session ${other}: a run of each has the same id. Nothing was stored. Give each run of a store an id of its own, or none.`,
  );
}

/** Throws LOG_INVALID for a batch whose events are not numbered one after another, and CONFIG_INVALID for an id that is none. */
export function checkBatch(session: string, events: readonly LogEvent[], afterSeq: number): void {
  checkId('session', session);
  const at = events.findIndex((event, index) => event.seq !== afterSeq + 1 + index);
  if (at === -1) return;
  throw new GuardloopError(
    'LOG_INVALID',
    `An event for session ${session} has number ${events[at]?.seq}, but ${afterSeq + 1 + at} comes next. Number events one after another, from 1.`,
  );
}

/** What an index of every database can hold. */
const mostBytes = 1_000;
const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= mostBytes && new TextEncoder().encode(writeName(value)).length <= mostBytes;

/** Throws CONFIG_INVALID for an id that is no text of 1 to 1,000 bytes in UTF-8. */
export function checkId(what: string, id: unknown): asserts id is string {
  if (!isName(id)) throw refuse(`The id of a ${what} is no text of 1 to 1,000 bytes in UTF-8. Give one that is.`);
}

/** What each list may be asked for, beside what all lists take. */
const filters = {
  sessions: ['owner', 'tenant', 'status'] satisfies readonly (keyof SessionQuery)[],
  approvals: [
    'session',
    'run',
    'state',
    'owner',
    'tenant',
    'tool',
    'surface',
    'agent',
    'dueBefore',
  ] satisfies readonly (keyof ApprovalQuery)[],
  runs: ['session', 'state', 'queue', 'agent', 'owner', 'tenant', 'due', 'trouble'] satisfies readonly (keyof RunQuery)[],
};

/** What a filter may be, where that is one of a few words: any other would find nothing, as if nothing were there. */
const words: { readonly [list in keyof typeof filters]: { readonly [name: string]: readonly string[] } } = {
  sessions: { status: ['open', 'waiting', 'completed', 'blocked', 'exhausted', 'failed', 'cancelled'] satisfies SessionQuery['status'][] },
  approvals: {
    state: ['open', 'decided', 'resolved', 'void'] satisfies ApprovalQuery['state'][],
    surface: ['toolInput', 'handoff', 'output'] satisfies ApprovalQuery['surface'][],
  },
  runs: { state: ['queued', 'running', 'waiting', 'ended'] satisfies RunQuery['state'][] },
};

/**
 * How many items a page has. Throws CONFIG_INVALID for a filter that the list does not have, or that is a word which it cannot be, and for
 * an owner or a tenant that is given and undefined: that would list what belongs to everybody.
 */
export function pageSize(query: PageQuery, list: keyof typeof filters): number {
  if (typeof query !== 'object' || query === null) throw refuse(`The list of ${list} is asked by what is no object. Give one, or nothing.`);
  const names = [...filters[list], 'limit', 'after'];
  for (const [name, value] of Object.entries(query)) {
    if (!names.includes(name))
      throw refuse(`The list of ${list} has no filter \`${name}\`. ${suggest(name, names)}It takes ${names.join(', ')}.`);
    if (value === undefined && (name === 'owner' || name === 'tenant'))
      throw refuse(`\`${name}\` of the list of ${list} is undefined. Give whose ${list} are meant, or leave it out to list all.`);
    const known = words[list][name];
    if (known !== undefined && value !== undefined && !known.includes(value))
      throw refuse(
        `\`${name}\` of the list of ${list} is none of ${known.join(', ')}. ${suggest(String(value), known)}Give one, or leave it out.`,
      );
  }
  const { limit = 100 } = query;
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 1_000)
    throw refuse('The `limit` of a list is no whole number from 1 to 1,000. Leave it out for 100, and go on with `after`.');
  return limit;
}

/** A place in a list, as a text that holds where the next page begins: the keys by which the list is ordered. */
export function writePlace(keys: readonly (string | number)[]): string {
  const bytes = new TextEncoder().encode(JSON.stringify(keys));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

/** The keys of a place: texts and numbers as `kinds` say. Undefined without one. Throws CONFIG_INVALID for what no list gave. */
export function readPlace(after: string | undefined, kinds: readonly ('string' | 'number')[]): readonly (string | number)[] | undefined {
  if (after === undefined) return undefined;
  try {
    const bytes = Uint8Array.from(atob(after.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));
    const keys: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    const fits = (kind: 'string' | 'number', key: unknown): boolean =>
      kind === 'number' ? Number.isSafeInteger(key) : typeof key === kind;
    if (Array.isArray(keys) && keys.length === kinds.length && kinds.every((kind, index) => fits(kind, keys[index]))) return keys;
  } catch {
    // Told below.
  }
  throw refuse('`after` is no place in this list. Give `next` of the page before, as it was.');
}

/** Throws CONFIG_INVALID for a time to live that is none. */
export function checkTtl(ttlMs: number | undefined): void {
  if (ttlMs !== undefined && (!isTime(ttlMs) || ttlMs === 0))
    throw refuse('`ttlMs` is no whole number of milliseconds above 0. Leave it out for sessions that stay.');
}

/**
 * Throws CONFIG_INVALID for what a new session is given: also for a field that it does not have, since one whose owner was misspelt would
 * belong to nobody.
 */
export function checkNewSession(id: string, options: Parameters<SessionRecords['create']>[1] = {}): void {
  checkId('session', id);
  checkOptionNames('sessions.create', options, { owner: true, tenant: true, ttlMs: true });
  checkBelonging(`the session ${id}`, options);
  checkTtl(options.ttlMs);
}

function checkBelonging(what: string, { owner, tenant }: Belonging): void {
  for (const [name, value] of Object.entries({ owner, tenant }))
    if (value !== undefined && !isName(value))
      throw refuse(`\`${name}\` of ${what} is no text of 1 to 1,000 bytes in UTF-8. Give one that is, or leave it out.`);
}

/** Throws CONFIG_INVALID. */
export function checkNewRun(run: NewRun): void {
  checkId('run', run.id);
  checkId('session', run.session);
  checkBelonging(`the run ${run.id}`, run);
  for (const name of ['agent', 'queue'] as const)
    if (!isName(run[name])) throw refuse(`\`${name}\` of the run ${run.id} is no text of 1 to 1,000 bytes in UTF-8. Give one that is.`);
  if (!Number.isSafeInteger(run.priority)) throw refuse(`\`priority\` of the run ${run.id} is no whole number. 0 is taken first.`);
  if (!isTime(run.dueAt)) throw refuse(`\`dueAt\` of the run ${run.id} is no time. Give milliseconds since 1970.`);
}

/**
 * Throws CONFIG_INVALID for a run of an owner or a tenant whose session, as it is there, is another's: a user's name in two tenants is two
 * users. A session that nobody has claimed takes every run, and every session one that is nobody's.
 */
export function checkSessionOf(session: Belonging | undefined, run: Pick<NewRun, 'id' | 'session' | 'owner' | 'tenant'>): void {
  const { owner, tenant } = run;
  const isNobodys = (belonging: Belonging): boolean => belonging.owner === undefined && belonging.tenant === undefined;
  if (session === undefined || isNobodys(session) || isNobodys(run)) return;
  if (tenant === session.tenant && (owner === undefined || session.owner === undefined || owner === session.owner)) return;
  throw refuse(
    `The session ${run.session} belongs to another owner or tenant than the run ${run.id} is for. Nothing was stored. Give a session of theirs, or leave it out for one of the run's own.`,
  );
}

/** Throws CONFIG_INVALID. */
export function checkClaim({ owner, leaseMs, queues }: ClaimOptions): void {
  if (typeof owner !== 'string' || owner === '') throw refuse('`owner` of a claim is no name. Give a text that only this worker has.');
  checkLease(leaseMs);
  for (const { queue, concurrency, tenantConcurrency } of queues)
    for (const [name, limit] of Object.entries({ concurrency, tenantConcurrency }))
      if (limit !== undefined && !isTime(limit))
        throw refuse(`\`${name}\` of the queue ${queue} is no whole number. Leave it out for any number.`);
}

/** The longest lease, milliseconds. One that seems to last longer was given before the clock was set back, and is over. */
export const maxLeaseMs = 3_600_000;

/** Throws CONFIG_INVALID. */
export function checkLease(leaseMs: number): void {
  if (!isTime(leaseMs) || leaseMs === 0 || leaseMs > maxLeaseMs)
    throw refuse('`leaseMs` is no whole number of milliseconds from 1 to 3,600,000.');
}

const longestTimer = 2 ** 31 - 1;

/** Throws CONFIG_INVALID for options that no timer can hold: it would be one of a millisecond. */
export function checkTimers(where: string, options: Readonly<Record<string, number>>, least: number): void {
  for (const [name, ms] of Object.entries(options))
    if (!Number.isInteger(ms) || ms < least || ms > longestTimer)
      throw optionFault(where, `${name} must be a whole number from ${least} to ${longestTimer}, in milliseconds.`);
}
