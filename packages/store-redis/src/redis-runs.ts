import type { JsonValue } from '@guardloop/core';
import type { ClaimOptions, Page, RunQuery, RunRecord, RunRecords, RunState } from '@guardloop/store';
import type { Content } from '@guardloop/store/kit';
import {
  changedRun,
  checkClaim,
  checkLease,
  checkSessionOf,
  isDue,
  newRunRecord,
  pageSize,
  placeOf,
  readName,
  readPlace,
  readRunContents,
  writeName,
  writePlace,
} from '@guardloop/store/kit';
import type { Reply } from './redis-connection.js';
import type { Fields, RedisContext } from './redis-context.js';
import { fieldsOf, newIncarnation, payloadParameters, payloadReader } from './redis-context.js';
import { scan } from './redis-lists.js';
import { readStand } from './redis-sessions.js';
import { nowOf } from './redis-time.js';

export function redisRuns(context: RedisContext): RunRecords {
  const { connection } = context;
  const readFields = fieldsReader(context);
  const readReply = async (id: string, reply: Reply): Promise<RunRecord | undefined> =>
    reply === null ? undefined : readRun(context, id, fieldsOf(reply));
  const get = async (id: string): Promise<RunRecord | undefined> => {
    const [fields] = await readFields([writeName(id)]);
    return readRun(context, id, fields ?? {});
  };
  return {
    async create(run) {
      const record = newRunRecord(run, 0);
      const { fields, payloads } = await writeRun(context, record);
      const session = writeName(run.session);
      for (let checked = ''; ; ) {
        const reply = await connection.script('createRun', [
          ...[writeName(run.id), session, newIncarnation(), context.ttl, checked, payloads.length, fields.length / 2],
          ...payloadParameters({ payloads }),
          ...fields,
        ]);
        const [created, flat] = reply as readonly [0 | 1 | 2, readonly string[]];
        if (created !== 2) return { created: created === 1, run: (await readRun(context, run.id, fieldsOf(flat))) as RunRecord };
        const stand = readStand(session, fieldsOf(flat));
        checkSessionOf(stand?.record, run);
        checked = stand?.incarnation ?? '';
      }
    },
    get,
    list: (query = {}) => listRuns(context, query),
    async claim(options) {
      checkClaim(options);
      const reply = await connection.script('claimRun', claimParameters(options));
      if (reply === null) return undefined;
      const [id, flat] = reply as readonly [string, readonly string[]];
      return readRun(context, readName(id), fieldsOf(flat));
    },
    async renew(id, token, leaseMs) {
      checkLease(leaseMs);
      return readReply(id, await connection.script('renewRun', [writeName(id), token, leaseMs]));
    },
    async update(id, version, change) {
      const before = await get(id);
      if (before === undefined || before.version !== version) return undefined;
      const after = changedRun(before, change, 0);
      const { fields, payloads } = await writeChange(context, after, change.submission);
      const counts = [payloads.length, fields.length / 2];
      const parameters = [writeName(id), version, ...counts, ...payloadParameters({ payloads }), ...fields];
      return readReply(id, await connection.script('updateRun', parameters));
    },
  };
}

/** Reads the fields of runs by their ids, as they are written. */
function fieldsReader({ connection }: RedisContext) {
  return async (ids: readonly string[]): Promise<readonly Fields[]> =>
    ((await connection.script('readRuns', ids)) as readonly (readonly string[])[]).map(fieldsOf);
}

function claimParameters({ owner, leaseMs, queues, agents, run, except = [] }: ClaimOptions): readonly (string | number)[] {
  const named = agents ?? [];
  return [
    ...[writeName(owner), leaseMs, run === undefined ? '' : writeName(run), agents === undefined ? 0 : 1, queues.length, named.length],
    ...queues.flatMap(({ queue, concurrency = '', tenantConcurrency = '' }) => [writeName(queue), concurrency, tenantConcurrency]),
    ...named.map(writeName),
    ...except.map(writeName),
  ];
}

const placesOf = (id: string) => ({ submission: placeOf('run', id), cancel: placeOf('cancel', id) });

async function writeRun(context: RedisContext, record: RunRecord) {
  const { id, session, agent, queue, priority, abandons, owner, tenant, submission } = record;
  const { rows, payloads } = await context.codec.encode([{ place: placesOf(id).submission, value: submission }]);
  const change = await writeChange(context, record);
  const fields = [
    ...['session', writeName(session), 'agent', writeName(agent), 'queue', writeName(queue), 'priority', String(priority)],
    ...['abandons', abandons ? '1' : '0', 'submission', rows[0]?.text ?? '', 'version', '1'],
    ...(owner === undefined ? [] : ['owner', writeName(owner)]),
    ...(tenant === undefined ? [] : ['tenant', writeName(tenant)]),
    ...change.fields.flatMap((value, at, all) => (at % 2 === 1 && value !== '' ? [all[at - 1] ?? '', value] : [])),
  ];
  return { fields, payloads };
}

/** The fields that a change may set; an empty text takes one away. */
async function writeChange(
  { codec }: RedisContext,
  { id, state, status, dueAt, attempts, cancel, lease, trouble }: RunRecord,
  submission?: JsonValue,
) {
  const contents: readonly Content[] = [
    ...(cancel === undefined ? [] : [{ place: placesOf(id).cancel, value: cancel }]),
    ...(submission === undefined ? [] : [{ place: placesOf(id).submission, value: submission }]),
  ];
  const { rows, payloads } = await codec.encode(contents);
  const fields = [
    ...['state', state, 'status', status ?? '', 'dueAt', String(dueAt), 'attempts', String(attempts)],
    ...['cancel', cancel === undefined ? '' : (rows[0]?.text ?? '')],
    ...(submission === undefined ? [] : ['submission', rows.at(-1)?.text ?? '']),
    ...['trouble', trouble === undefined ? '' : JSON.stringify(trouble)],
    ...['leaseOwner', lease === undefined ? '' : writeName(lease.owner), 'leaseUntil', lease === undefined ? '' : String(lease.until)],
  ];
  return { fields, payloads };
}

async function readRun(context: RedisContext, id: string, fields: Fields): Promise<RunRecord | undefined> {
  const { state, status, owner, tenant, submission, cancel, trouble, leaseOwner, leaseUntil } = fields;
  if (state === undefined || submission === undefined) return undefined;
  const session = fields.session ?? '';
  const { submission: place, cancel: cancelPlace } = placesOf(id);
  const row = {
    submission: { place, text: submission },
    ...(cancel === undefined ? {} : { cancel: { place: cancelPlace, text: cancel } }),
  };
  const [contents] = await readRunContents(context.codec, [row], payloadReader(context, session));
  return {
    id,
    session: readName(session),
    ...(owner === undefined ? {} : { owner: readName(owner) }),
    ...(tenant === undefined ? {} : { tenant: readName(tenant) }),
    agent: readName(fields.agent ?? ''),
    queue: readName(fields.queue ?? ''),
    priority: Number(fields.priority),
    state: state as RunState,
    ...(status === undefined ? {} : { status: status as NonNullable<RunRecord['status']> }),
    submission: contents?.submission,
    abandons: fields.abandons === '1',
    ...(contents?.cancel === undefined ? {} : { cancel: contents.cancel }),
    attempts: Number(fields.attempts),
    dueAt: Number(fields.dueAt),
    ...(leaseUntil === undefined
      ? {}
      : { lease: { owner: readName(leaseOwner ?? ''), token: Number(fields.token), until: Number(leaseUntil) } }),
    ...(trouble === undefined ? {} : { trouble: JSON.parse(trouble) as NonNullable<RunRecord['trouble']> }),
    ...(contents?.trouble === undefined ? {} : { trouble: contents.trouble }),
    createdAt: Number(fields.createdAt),
    updatedAt: Number(fields.updatedAt),
    version: Number(fields.version),
  };
}

/** The index that is likely to be the shortest. */
function indexOf({ session, state, owner, tenant, due }: RunQuery): string {
  if (session !== undefined) return `runs:${writeName(session)}`;
  if (due === true || state === 'queued' || state === 'running') return 'allruns:active';
  if (state === 'waiting') return 'allruns:waiting';
  if (owner !== undefined) return `allruns:o:${writeName(owner)}`;
  return tenant === undefined ? 'allruns' : `allruns:t:${writeName(tenant)}`;
}

async function listRuns(context: RedisContext, query: RunQuery): Promise<Page<RunRecord>> {
  const readFields = fieldsReader(context);
  const size = pageSize(query, 'runs');
  const [position] = readPlace(query.after, ['number']) ?? [];
  const now = query.due === undefined ? 0 : await nowOf(context);
  const found = await scan(context, {
    index: indexOf(query),
    isLatestFirst: true,
    size,
    from: position === undefined ? undefined : { score: Number(position), member: '' },
    async read(ids) {
      const hashes = await readFields(ids);
      return Promise.all(
        hashes.map((fields, index) => (fitsFields(fields, query, now) ? readRun(context, readName(ids[index] ?? ''), fields) : undefined)),
      );
    },
  });
  const last = found.items.at(-1);
  return { items: found.items.map(({ item }) => item), ...(found.hasMore && last ? { next: writePlace([last.score]) } : {}) };
}

function fitsFields(fields: Fields, query: RunQuery, now: number): boolean {
  const named = ['session', 'queue', 'agent', 'owner', 'tenant'] as const;
  if (!named.every((field) => query[field] === undefined || writeName(query[field]) === fields[field])) return false;
  if (query.state !== undefined && query.state !== fields.state) return false;
  if (query.trouble !== undefined && query.trouble !== (fields.trouble !== undefined)) return false;
  if (query.due === undefined) return true;
  const { state, leaseUntil } = fields;
  const lease = leaseUntil === undefined ? undefined : { owner: '', token: 0, until: Number(leaseUntil) };
  return isDue({ state: state as RunState, dueAt: Number(fields.dueAt), updatedAt: Number(fields.updatedAt), lease }, now) === query.due;
}
