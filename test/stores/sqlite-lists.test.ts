import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@guardloop/store';
import { sqliteStore } from '@guardloop/store-sqlite';
import Database from 'libsql';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { asked, common, many, none, placeOfEnd, rare, seed } from './seeded-lists.js';

describe(`a page of one of ${many} records in SQLite`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'guardloop-lists-'));
  const file = join(folder, 'store.db');
  const prepared = new Set<string>();
  let database: Database.Database;
  let store: Store;
  /** Turns pages, and leaves nothing prepared in the other. */
  const pages = sqliteStore({ file, busyMs: 4_000 });
  beforeAll(async () => {
    const first = sqliteStore({ file });
    await first.sessions.get('s');
    await first.close();
    database = new Database(file);
    const numbers = `with recursive numbers(i) as (select 1 union all select i + 1 from numbers where i < ${many}) select i from numbers`;
    for (const statement of seed(numbers)) database.exec(statement);
  });
  // Each test has a store of its own, which has prepared nothing yet.
  beforeEach(() => {
    const prepare = Database.prototype.prepare;
    vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Database.Database, text: string) {
      prepared.add(text);
      return prepare.call(this, text);
    });
    store = sqliteStore({ file });
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await store.close();
  });
  afterAll(async () => {
    await pages.close();
    database?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** How SQLite comes to the page, a line for each step. */
  async function stepsFor(act: () => Promise<unknown>): Promise<string> {
    prepared.clear();
    await act();
    const texts = [...prepared].filter((text) => / limit \?/.test(text));
    expect(texts).toHaveLength(1);
    const steps = texts.flatMap((text) => database.prepare(`explain query plan ${text}`).all([]) as readonly { readonly detail: string }[]);
    return steps.map(({ detail }) => detail).join('\n');
  }

  it.each(asked(rare))('$name is found by an index', async ({ ask }) => {
    const steps = await stepsFor(async () => expect((await ask(store, { limit: 50 })).items.length).toBeLessThan(2));
    expect(steps).toMatch(/^(SEARCH|SCAN) (sessions|approvals|runs) USING INDEX|MULTI-INDEX OR/m);
    expect(steps).not.toMatch(/SCAN (?!runs USING INDEX runs_by_trouble)/);
  });
  it.each(asked(none))('$name goes through nothing that many have', async ({ ask }) => {
    const steps = await stepsFor(async () => expect((await ask(store, { limit: 50 })).items).toEqual([]));
    expect(steps).not.toMatch(/SCAN (?!runs USING INDEX runs_by_trouble)|_by_(queue|agent|tenant|owner|tool|time|change) /);
  });
  it.each(asked(common))('$name is read in order, from where the page begins', async (list) => {
    expect(await stepsFor(() => list.ask(store, { limit: 50 }))).not.toMatch(/FOR ORDER BY/);
    const after = await placeOfEnd(list, pages);
    const steps = await stepsFor(() => list.ask(store, { limit: 50, after }));
    expect(steps).toMatch(/^SEARCH (sessions|approvals|runs) USING .*(updated_at<|requested_at>|position<|rowid<)/m);
    expect(steps).not.toMatch(/SCAN|FOR ORDER BY/);
  });
  it('a claim looks at runs that are not ended, in their order', async () => {
    const claim = () => store.runs.claim({ owner: 'w', leaseMs: 60_000, queues: [{ queue: 'common' }], agents: ['common', 'rare'] });
    const steps = await stepsFor(async () => expect(await claim()).toBeUndefined());
    expect(steps).toMatch(/^SEARCH runs USING INDEX runs_by_turn/);
    expect(steps).not.toMatch(/SCAN|FOR ORDER BY/);
  });
});
