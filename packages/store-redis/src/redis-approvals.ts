import type { Approval, Decision, GuardloopError } from '@guardloop/core';
import type { ApprovalQuery, ApprovalRecord, ApprovalRecords, DecideOutcome, Page } from '@guardloop/store';
import type { Content, Payload } from '@guardloop/store/kit';
import {
  decideApproval,
  pageSize,
  placeOf,
  readApart,
  readPlace,
  reopenApproval,
  scheduleApproval,
  writeName,
  writePlace,
} from '@guardloop/store/kit';
import type { RedisContext } from './redis-context.js';
import { payloadParameters, payloadReader } from './redis-context.js';
import { scan } from './redis-lists.js';
import { nowOf } from './redis-time.js';

/** A record, and the text that it was read from: a writer compares that. */
export interface StoredApproval {
  readonly record: ApprovalRecord;
  readonly text: string;
}

/** An approval as it is stored: contents are texts of the codec. */
type Stored = Omit<ApprovalRecord, 'approval' | 'decision' | 'decidedBy'> & {
  readonly tool?: string | undefined;
  readonly surface: Approval['surface'];
  readonly agent?: string | undefined;
  readonly approval: string;
  /** Of a decision and whose it is. */
  readonly answer?: string | undefined;
};
interface Answer {
  readonly decision?: Decision | undefined;
  readonly decidedBy?: string | undefined;
}

/** The text of a record, and the payloads that it refers to. */
export async function writeApproval(
  { codec }: RedisContext,
  record: ApprovalRecord,
): Promise<{ readonly text: string; readonly payloads: readonly Payload[] }> {
  const { approval, decision, decidedBy, ...rest } = record;
  const answer: Answer = { decision, decidedBy };
  const contents: Content[] = [{ place: placeOf('approval', record.id), value: approval }];
  if (decision !== undefined || decidedBy !== undefined) contents.push({ place: placeOf('decision', record.id), value: answer });
  const { rows, payloads } = await codec.encode(contents);
  const [first, second] = rows.map(({ text }) => text);
  const { tool, surface, agentPath } = approval;
  const stored: Stored = { ...rest, tool, surface, agent: agentPath.at(-1), approval: first ?? '', answer: second };
  return { text: JSON.stringify(stored), payloads };
}

/** Rejects where it cannot be read. */
async function readApproval(context: RedisContext, text: string): Promise<StoredApproval> {
  const read = await tryApproval(context, text);
  if ('error' in read) throw read.error;
  return { record: read, text };
}

interface Unreadable {
  readonly id: string;
  readonly error: GuardloopError;
}

async function tryApproval(context: RedisContext, text: string): Promise<ApprovalRecord | Unreadable> {
  const { tool: _, surface: __, agent: ___, approval: approvalText, answer: answerText, ...rest } = JSON.parse(text) as Stored;
  const rows = [{ place: placeOf('approval', rest.id), text: approvalText }];
  if (answerText !== undefined) rows.push({ place: placeOf('decision', rest.id), text: answerText });
  const [read] = await readApart(context.codec, [rows], payloadReader(context, writeName(rest.session)));
  if (read === undefined || 'error' in read) return { id: rest.id, error: (read as { readonly error: GuardloopError }).error };
  const [approval, answer] = read.values;
  return { ...rest, approval: approval as Approval, ...(answer as Answer | undefined) };
}

/** What a list gives of records that were tried. */
function pageOf(tried: readonly (ApprovalRecord | Unreadable)[]): Page<ApprovalRecord> {
  const unreadable = tried.flatMap((each) => ('error' in each ? [each.id] : []));
  return { items: tried.flatMap((each) => ('error' in each ? [] : [each])), ...(unreadable.length > 0 ? { unreadable } : {}) };
}

/** Those of a session that are open or decided, oldest question first. */
export async function findUnsettled(context: RedisContext, session: string): Promise<readonly StoredApproval[]> {
  const texts = await context.connection.read((client) => client.hvals(`${context.base}asked:${session}`));
  const unsettled = texts.filter((text) => ['open', 'decided'].includes((JSON.parse(text) as Stored).state));
  const read = await Promise.all(unsettled.map((text) => readApproval(context, text)));
  return read.sort((left, right) => left.record.requestedAt - right.record.requestedAt);
}

export function redisApprovals(context: RedisContext): ApprovalRecords {
  const { connection, base } = context;
  const find = async (id: string): Promise<StoredApproval | undefined> => {
    const name = writeName(id);
    const session = await connection.read((client) => client.hget(`${base}askedby`, name));
    if (session === null) return undefined;
    const text = await connection.read((client) => client.hget(`${base}asked:${session}`, name));
    return text === null ? undefined : readApproval(context, text);
  };
  /** False: it was changed since it was read. */
  const put = async (before: StoredApproval, record: ApprovalRecord): Promise<boolean> => {
    const { text, payloads } = await writeApproval(context, record);
    const names = [writeName(record.session), writeName(record.id)];
    const parameters = [...names, before.text, text, record.state, record.requestedAt, payloads.length, ...payloadParameters({ payloads })];
    return (await connection.script('putApproval', parameters)) === 1;
  };
  const change = async (id: string, make: (record: ApprovalRecord | undefined) => ApprovalRecord | undefined): Promise<boolean> => {
    for (;;) {
      const before = await find(id);
      const after = make(before?.record);
      if (before === undefined || after === undefined) return false;
      if (await put(before, after)) return true;
    }
  };
  return {
    async get(id) {
      return (await find(id))?.record;
    },
    list: (query = {}) => listApprovals(context, query),
    async decide(id, decision, options): Promise<DecideOutcome> {
      for (;;) {
        const [before, now] = await Promise.all([find(id), nowOf(context)]);
        const outcome = decideApproval(before?.record, { decision, options, now });
        if (before === undefined || outcome.status !== 'recorded' || (await put(before, outcome.approval))) return outcome;
      }
    },
    schedule: (id, times) => change(id, (record) => scheduleApproval(record, times)),
    reopen: (id, decidedAt) => change(id, (record) => reopenApproval(record, decidedAt)),
  };
}

async function listApprovals(context: RedisContext, query: ApprovalQuery): Promise<Page<ApprovalRecord>> {
  const size = pageSize(query, 'approvals');
  const [time, member] = readPlace(query.after, ['number', 'string']) ?? [];
  const from = time === undefined ? undefined : { score: Number(time), member: String(member) };
  if (query.session !== undefined) return listOfSession(context, query, { size, from });
  const found = await scan(context, {
    index: indexOf(query),
    isLatestFirst: false,
    size,
    from,
    read: (ids) => readMany(context, ids, query),
  });
  const last = found.items.at(-1);
  return {
    ...pageOf(found.items.map(({ item }) => item)),
    ...(found.hasMore && last ? { next: writePlace([last.score, last.member]) } : {}),
  };
}

/** The index that is likely to be the shortest. */
function indexOf({ owner, tenant, state }: ApprovalQuery): string {
  if (owner !== undefined) return `approvals:o:${writeName(owner)}`;
  if (state === 'open' || state === 'decided') return `approvals:${state}`;
  return tenant === undefined ? 'approvals' : `approvals:t:${writeName(tenant)}`;
}

async function listOfSession(
  context: RedisContext,
  query: ApprovalQuery,
  { size, from }: { readonly size: number; readonly from: { readonly score: number; readonly member: string } | undefined },
): Promise<Page<ApprovalRecord>> {
  const texts = await context.connection.read((client) => client.hvals(`${context.base}asked:${writeName(query.session ?? '')}`));
  const found = texts
    .map((text) => ({ text, stored: JSON.parse(text) as Stored }))
    .map((each) => ({ ...each, member: writeName(each.stored.id), score: each.stored.requestedAt }))
    .filter(({ stored, member, score }) => {
      const isBehind = from === undefined || score > from.score || (score === from.score && member > from.member);
      return isBehind && fitsStored(stored, query);
    })
    .sort((left, right) => left.score - right.score || (left.member < right.member ? -1 : 1));
  const shown = found.slice(0, size);
  const last = shown.at(-1);
  return {
    ...pageOf(await Promise.all(shown.map(({ text }) => tryApproval(context, text)))),
    ...(found.length > size && last ? { next: writePlace([last.score, last.member]) } : {}),
  };
}

async function readMany(
  context: RedisContext,
  ids: readonly string[],
  query: ApprovalQuery,
): Promise<readonly (ApprovalRecord | Unreadable | undefined)[]> {
  const { connection, base } = context;
  const sessions = await connection.read((client) => client.hmget(`${base}askedby`, ...ids));
  const texts = await connection.read((client) =>
    Promise.all(ids.map((id, index) => (typeof sessions[index] === 'string' ? client.hget(`${base}asked:${sessions[index]}`, id) : null))),
  );
  return Promise.all(
    texts.map(async (text) => (text !== null && fitsStored(JSON.parse(text) as Stored, query) ? tryApproval(context, text) : undefined)),
  );
}

function fitsStored(stored: Stored, query: ApprovalQuery): boolean {
  const { dueBefore } = query;
  const fields = ['session', 'run', 'state', 'tool', 'surface', 'agent', 'owner', 'tenant'] as const;
  return (
    fields.every((field) => query[field] === undefined || query[field] === stored[field]) &&
    (dueBefore === undefined || [stored.remindAt, stored.expiresAt].some((at) => at !== undefined && at <= dueBefore))
  );
}
