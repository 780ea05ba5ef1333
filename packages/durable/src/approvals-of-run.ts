import type { ApprovalRecord, ApprovalState, Page, RunRecord, Store } from '@guardloop/store';

/** As many as a page can have. */
const limit = 1_000;

/** All approvals of one root run, those of its child runs too, oldest question first; only those of this state where one is given. */
export async function approvalsOfRun(
  store: Store,
  { id: run, session }: Pick<RunRecord, 'id' | 'session'>,
  state?: ApprovalState,
): Promise<Pick<Page<ApprovalRecord>, 'items' | 'unreadable'>> {
  const items: ApprovalRecord[] = [];
  const unreadable: string[] = [];
  // The session is told too: in every store a session's list costs what stands in it.
  const query = { session, run, limit, ...(state === undefined ? {} : { state }) };
  for (let after: string | undefined, isLast = false; !isLast; ) {
    const page: Page<ApprovalRecord> = await store.approvals.list(after === undefined ? query : { ...query, after });
    items.push(...page.items);
    unreadable.push(...(page.unreadable ?? []));
    after = page.next;
    isLast = after === undefined;
  }
  return { items, ...(unreadable.length > 0 ? { unreadable } : {}) };
}
