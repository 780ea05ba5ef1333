import type { Log, LogEvent } from '@guardloop/core';
import { assertLog, GuardloopError } from '@guardloop/core';
import { checkId } from './check-arguments.js';
import type { ApprovalRecord, SessionRecord, Store } from './contract.js';
import { deriveAll } from './derive.js';
import type { Redaction, RedactionCount } from './redact-contents.js';
import { Redactor } from './redact-contents.js';

/** A session outside of its store: plain JSON. */
export interface SessionExport {
  readonly format: 'guardloop.session';
  readonly version: 1;
  /** Milliseconds since 1970, by the store's clock. */
  readonly exportedAt: number;
  readonly session: SessionRecord;
  readonly log: Log;
  readonly approvals: readonly ApprovalRecord[];
  /** Present where contents were redacted: how many texts were changed, and how many fields left out. Such an export cannot be imported. */
  readonly redacted?: Readonly<RedactionCount> | undefined;
}
/** Options of {@link exportSession}. */
export interface ExportOptions {
  /** What is done to the contents of the copy. Left out: nothing. The stored log never changes. */
  readonly redact?: Redaction | undefined;
}

/**
 * A copy of a session: its record, log and approvals. Undefined for one that is not there. With `redact` every text of a content goes
 * through it; native messages of providers, data and addresses of media, and digests of contents are left out then, since nothing can look
 * into them or they tell a content to who guesses it. Run records and live text are not in it.
 *
 * Rejects with CONFIG_INVALID for a redaction that says nothing or throws, and with what the store rejects with.
 */
export async function exportSession(store: Store, id: string, { redact }: ExportOptions = {}): Promise<SessionExport | undefined> {
  checkId('session', id);
  const redactor = redact && new Redactor(redact);
  for (;;) {
    const found = await store.sessions.get(id);
    if (found === undefined) return undefined;
    const events = await store.load(id);
    const stored = await allApprovals(store, id);
    // Another session has this id now.
    if ((await store.sessions.get(id))?.createdAt !== found.createdAt) continue;
    const { session, approvals } = asOfLog(found, { events, stored });
    const whole = { format: 'guardloop.session', version: 1, exportedAt: await store.now() } as const;
    if (redactor === undefined) return { ...whole, session, log: { version: 1, events }, approvals };
    return {
      ...whole,
      session: redactor.redact(session, 'session'),
      log: { version: 1, events: events.map((event) => redactor.redact(event, event.type)) },
      approvals: approvals.map((record) => redactor.redact(record, 'approval')),
      redacted: { ...redactor.count },
    };
  }
}

/**
 * The records as they stood when the log ended so: a run that is under way appends while they are read. Answers that no run has taken up, and
 * times, are not in a log.
 */
function asOfLog(
  found: SessionRecord,
  { events, stored }: { readonly events: readonly LogEvent[]; readonly stored: readonly ApprovalRecord[] },
): { readonly session: SessionRecord; readonly approvals: readonly ApprovalRecord[] } {
  if (events.length === 0) return { session: { ...found, events: 0 }, approvals: [] };
  const { run, agent, status, approvals } = deriveAll(found, events);
  const { run: _, agent: __, status: ___, ...rest } = found;
  const isUnsettled = ({ state }: ApprovalRecord): boolean => state === 'open' || state === 'decided';
  const known = new Map(stored.map((record) => [record.id, record]));
  return {
    session: {
      ...rest,
      events: events.length,
      ...(run === undefined ? {} : { run }),
      ...(agent === undefined ? {} : { agent }),
      ...(status === undefined ? {} : { status }),
    },
    approvals: approvals.map((derived) => {
      const record = known.get(derived.id);
      return record !== undefined && isUnsettled(record) === isUnsettled(derived) ? record : derived;
    }),
  };
}

const batchSize = 500;

/**
 * Puts an exported session into a store under its own id: owner, tenant, log, approvals, and their answers that no run has taken up. Times
 * of creation are new. Rejects with CONFIG_INVALID for a redacted export, one of another format, or where the id is taken, with LOG_INVALID
 * for a log that is damaged, and stores nothing then. Rejects with what the store rejects with; what was stored before is deleted again.
 */
export async function importSession(store: Store, exported: SessionExport): Promise<SessionRecord> {
  checkExport(exported);
  const { session, log, approvals } = exported;
  const { id, owner, tenant } = session;
  const { created } = await store.sessions.create(id, { owner, tenant });
  if (!created) throw refuse(`The session ${id} is in the store already. Delete it first, or leave it as it is.`);
  try {
    for (let seq = 0; seq < log.events.length; seq += batchSize) await store.append(id, log.events.slice(seq, seq + batchSize), seq);
    for (const approval of approvals) await putAnswer(store, approval);
    return (await store.sessions.get(id)) ?? session;
  } catch (error) {
    await store.sessions.delete(id);
    throw error;
  }
}

async function putAnswer(store: Store, { id, state, decision, decidedBy, expiresAt, remindAt }: ApprovalRecord): Promise<void> {
  if (state !== 'open' && state !== 'decided') return;
  if (expiresAt !== undefined || remindAt !== undefined) await store.approvals.schedule(id, { expiresAt, remindAt });
  if (decision !== undefined) await store.approvals.decide(id, decision, { by: decidedBy, evenIfExpired: true });
}

async function allApprovals(store: Store, session: string): Promise<readonly ApprovalRecord[]> {
  const records: ApprovalRecord[] = [];
  let after: string | undefined;
  do {
    const page = await store.approvals.list({ session, limit: 1_000, after });
    // Says why, by rejecting: an export without it would not be whole.
    for (const id of page.unreadable ?? []) await store.approvals.get(id);
    records.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return records;
}

const refuse = (message: string): GuardloopError => new GuardloopError('CONFIG_INVALID', message);

function checkExport(exported: SessionExport): void {
  const given = exported as Partial<SessionExport> | null | undefined;
  if (given?.format !== 'guardloop.session' || given.version !== 1 || !isWhole(given))
    throw refuse(
      'This is no session that `exportSession` gave. Give { format: "guardloop.session", version: 1, session, log, approvals }.',
    );
  if (given.redacted !== undefined)
    throw refuse('This export is redacted: no run could go on from it. Import a whole one, made without `redact`.');
  checkId('session', given.session?.id);
  assertLog(given.log, { words: 'any' });
}

function isWhole({ session, log, approvals }: Partial<SessionExport>): boolean {
  const events: readonly LogEvent[] | undefined = log?.events;
  const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null;
  const isList = Array.isArray(approvals) && approvals.every((approval) => isRecord(approval) && typeof approval.id === 'string');
  return isRecord(session) && log?.version === 1 && Array.isArray(events) && events.length > 0 && isList;
}
