import type { ApprovalRecord, ApprovalState, Page, Store } from '@guardloop/store';

/** As many as a page can have. */
const limit = 1_000;

/** All approvals of one root run, those of its child runs too, oldest question first; only those of this state where one is given. */
export async function approvalsOfRun(
  store: Store,
  run: string,
  state?: ApprovalState,
): Promise<Pick<Page<ApprovalRecord>, 'items' | 'unreadable'>> {
  const items: ApprovalRecord[] = [];
  const unreadable: string[] = [];
  const query = { run, limit, ...(state === undefined ? {} : { state }) };
  for (let after: string | undefined, isLast = false; !isLast; ) {
    const page: Page<ApprovalRecord> = await store.approvals.list(after === undefined ? query : { ...query, after });
    items.push(...page.items);
    unreadable.push(...(page.unreadable ?? []));
    after = page.next;
    isLast = after === undefined;
  }
  return { items, ...(unreadable.length > 0 ? { unreadable } : {}) };
}
