// Many records, and what lists of them are asked for: to see how much of a database a page reads.
import type { Store } from '@guardloop/store';

/** Records of each kind. All are alike but one, which comes last in its list. */
export const many = 10_000;

/** SQL that fills the tables of a store; `numbers` is SQL that gives rows with a column `i`, from 1 to {@link many}. */
export function seed(numbers: string, schema = ''): readonly string[] {
  const other = (rare: string, common: string, at: number) => `case i when ${at} then ${rare} else ${common} end`;
  const first = (rare: string, common: string) => other(rare, common, 1);
  const last = (rare: string, common: string) => other(rare, common, many);
  return [
    `insert into ${schema}sessions (id, events, run, agent, status, owner, tenant, ttl_ms, created_at, updated_at, expires_at)
     select 's' || i, 0, null, 'desk', ${first("'failed'", "'completed'")}, ${first("'rare'", "'common'")},
       ${first("'rare'", "'common'")}, null, i, i, null from (${numbers}) as numbers`,
    `insert into ${schema}approvals (id, session, run, owner, tenant, tool, surface, agent, state, approval, decision, decided_at,
       requested_at, expires_at, remind_at, due_at, reminders)
     select 'a' || i, 's' || i, 'r' || i, ${last("'rare'", "'common'")}, ${last("'rare'", "'common'")}, ${last("'rare'", "'common'")},
       ${last("'output'", "'toolInput'")}, ${last("'rare'", "'common'")}, ${last("'open'", "'resolved'")}, '{}', null, null,
       i, ${last('5', 'null')}, null, ${last('5', 'null')}, 0 from (${numbers}) as numbers`,
    `insert into ${schema}runs (id, session, agent, queue, priority, state, status, owner, tenant, submission, abandons, cancel, attempts,
       due_at, lease_owner, lease_until, free_at, token, events_at_claim, trouble, created_at, updated_at, version)
     select 'r' || i, 's' || i, ${first("'rare'", "'common'")}, ${first("'rare'", "'common'")}, 100, ${first("'queued'", "'ended'")},
       ${first('null', "'completed'")}, ${first("'rare'", "'common'")}, ${first("'rare'", "'common'")}, '{}', 0, null, 0,
       i, null, null, ${first('0', 'null')}, 0, 0, ${first(`'{"code":"STORE_FAILED","message":"It does not answer."}'`, 'null')}, i, i, 1
       from (${numbers}) as numbers order by i`,
  ];
}

type List = 'sessions' | 'approvals' | 'runs';
/** Each filter of each list, alone: with the one record that has what is asked for. */
export const rare = {
  sessions: [{ owner: 'rare' }, { tenant: 'rare' }, { status: 'failed' }],
  approvals: [
    { session: `s${many}` },
    { run: `r${many}` },
    { run: `r${many}`, state: 'open' },
    { state: 'open' },
    { state: 'open', dueBefore: 5 },
    { owner: 'rare' },
    { tenant: 'rare' },
    { tool: 'rare' },
    { surface: 'output' },
    { agent: 'rare' },
    { dueBefore: 5 },
  ],
  runs: [
    { session: 's1' },
    { state: 'queued' },
    { queue: 'rare' },
    { agent: 'rare' },
    { owner: 'rare' },
    { tenant: 'rare' },
    { due: true },
    { trouble: true },
  ],
} as const;
/** What is asked for together, and no record has. */
export const none = {
  sessions: [{ tenant: 'common', status: 'failed' }],
  approvals: [
    { run: 'r5', state: 'open' },
    { tenant: 'common', state: 'open' },
    { tool: 'common', state: 'open', dueBefore: 5 },
  ],
  runs: [
    { queue: 'common', due: true },
    { agent: 'common', state: 'running', due: false },
    { session: 's5', state: 'queued' },
    { tenant: 'common', trouble: true },
  ],
} as const;
/** Without a filter, and with those that nearly all records have. */
export const common = {
  sessions: [{}, { owner: 'common' }, { tenant: 'common' }, { status: 'completed' }],
  approvals: [
    {},
    { state: 'resolved' },
    { owner: 'common' },
    { tenant: 'common' },
    { tool: 'common' },
    { surface: 'toolInput' },
    { agent: 'common' },
  ],
  runs: [
    {},
    { state: 'ended' },
    { queue: 'common' },
    { agent: 'common' },
    { owner: 'common' },
    { tenant: 'common' },
    { due: false },
    { trouble: false },
  ],
} as const;

const lists: readonly List[] = ['sessions', 'approvals', 'runs'];
/** A list and a query, in words and as a call. */
export interface Asked {
  readonly name: string;
  ask(store: Store, page: { readonly limit: number; readonly after?: string }): Promise<{ items: readonly unknown[]; next?: string }>;
}
export const asked = (queries: typeof rare | typeof none | typeof common): readonly Asked[] =>
  lists.flatMap((list) =>
    queries[list].map((query) => ({
      name: `${list} by ${JSON.stringify(query)}`,
      ask: (store, page) => (store[list] as { list(query: object): ReturnType<Asked['ask']> }).list({ ...query, ...page }),
    })),
  );

/** Where the last pages of a list of nearly all begin. */
export async function placeOfEnd({ ask }: Asked, store: Store): Promise<string> {
  let after = '';
  for (;;) {
    const { next } = await ask(store, { limit: 1_000, ...(after === '' ? {} : { after }) });
    if (next === undefined) return after;
    after = next;
  }
}
