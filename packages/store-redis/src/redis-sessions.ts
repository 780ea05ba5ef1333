import type { Page, SessionQuery, SessionRecord, SessionRecords } from '@guardloop/store';
import { checkNewSession, pageSize, readName, readPlace, writeName, writePlace } from '@guardloop/store/kit';
import type { Fields, RedisContext } from './redis-context.js';
import { fieldsOf, newIncarnation } from './redis-context.js';
import { scan } from './redis-lists.js';

/** How a session stands, with what its record does not show. */
export interface Stand {
  readonly record: SessionRecord;
  /** Another one where it was made anew under its id. */
  readonly incarnation: string;
}

/** Undefined for a session that is not there. */
export function readStand(session: string, fields: Fields): Stand | undefined {
  const { inc, owner, tenant, run, agent, status, expiresAt } = fields;
  if (inc === undefined) return undefined;
  const record: SessionRecord = {
    id: readName(session),
    ...(owner === undefined ? {} : { owner: readName(owner) }),
    ...(tenant === undefined ? {} : { tenant: readName(tenant) }),
    events: Number(fields.events),
    ...(run === undefined ? {} : { run: readName(run) }),
    ...(agent === undefined ? {} : { agent: readName(agent) }),
    ...(status === undefined ? {} : { status: status as NonNullable<SessionRecord['status']> }),
    createdAt: Number(fields.createdAt),
    updatedAt: Number(fields.updatedAt),
    ...(expiresAt === undefined ? {} : { expiresAt: Number(expiresAt) }),
  };
  return { record, incarnation: inc };
}

/** Reads how a session stands. */
export async function findStand({ connection, base }: RedisContext, session: string): Promise<Stand | undefined> {
  return readStand(session, await connection.read((client) => client.hgetall(`${base}session:${session}`)));
}

export function redisSessions(context: RedisContext): SessionRecords {
  const { connection } = context;
  return {
    async get(id) {
      return (await findStand(context, writeName(id)))?.record;
    },
    list: (query = {}) => listSessions(context, query),
    async create(id, options = {}) {
      checkNewSession(id, options);
      const { owner = '', tenant = '', ttlMs } = options;
      const session = writeName(id);
      const ttl = ttlMs === undefined ? context.ttl : String(ttlMs);
      const reply = await connection.script('createSession', [session, writeName(owner), writeName(tenant), ttl, newIncarnation()]);
      const [created, fields] = reply as readonly [number, readonly string[]];
      const stand = readStand(session, fieldsOf(fields));
      return { created: created === 1, session: (stand as Stand).record };
    },
    async delete(id) {
      return (await connection.script('deleteSession', [writeName(id)])) === 1;
    },
  };
}

async function listSessions(context: RedisContext, query: SessionQuery): Promise<Page<SessionRecord>> {
  const size = pageSize(query, 'sessions');
  const { owner, tenant, status } = query;
  const index =
    owner !== undefined ? `sessions:o:${writeName(owner)}` : tenant !== undefined ? `sessions:t:${writeName(tenant)}` : 'sessions';
  const [time, member] = readPlace(query.after, ['number', 'string']) ?? [];
  const found = await scan(context, {
    index,
    isLatestFirst: true,
    size,
    from: time === undefined ? undefined : { score: Number(time), member: String(member) },
    async read(sessions) {
      const stands = await readMany(context, sessions);
      return stands.map((stand) => {
        const record = stand?.record;
        const fits =
          record !== undefined &&
          (owner === undefined || record.owner === owner) &&
          (tenant === undefined || record.tenant === tenant) &&
          (status === undefined || record.status === status);
        return fits ? record : undefined;
      });
    },
  });
  const last = found.items.at(-1);
  return {
    items: found.items.map(({ item }) => item),
    ...(found.hasMore && last ? { next: writePlace([last.score, last.member]) } : {}),
  };
}

async function readMany({ connection, base }: RedisContext, sessions: readonly string[]): Promise<readonly (Stand | undefined)[]> {
  const hashes = await connection.read((client) => Promise.all(sessions.map((session) => client.hgetall(`${base}session:${session}`))));
  return hashes.map((fields, index) => readStand(sessions[index] ?? '', fields));
}
