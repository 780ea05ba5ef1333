import type { Tables } from '@guardloop/store/sql';
import fc from 'fast-check';
import { CompiledQuery, Kysely, sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { sqliteDialect } from './sqlite-dialect.js';
import { SqliteFile } from './sqlite-file.js';
import type { Work } from './write-batches.js';
import { WriteBatches } from './write-batches.js';

function setting() {
  const file = new SqliteFile({ file: ':memory:', synchronous: 'full', maxBytes: undefined });
  const db = new Kysely<Tables>({ dialect: sqliteDialect(file) });
  file.prepare('create table kept (value integer)').run([]);
  const transactions: number[] = [];
  const batches = new WriteBatches({
    async transact(work) {
      transactions.push(1);
      return db.transaction().execute(work);
    },
    async transactNow(work) {
      transactions.push(1);
      return file.transact((run) => work(run, db));
    },
  });
  const values = (): readonly number[] =>
    (file.prepare('select value from kept order by rowid').all([]) as { value: number }[]).map(({ value }) => value);
  const put =
    (value: number): Work<number> =>
    async (trx) => {
      await sql`insert into kept values (${value})`.execute(trx);
      return value;
    };
  return { batches, transactions, values, put };
}

describe('writes that come together', () => {
  it('share a transaction, in the order in which they came', async () => {
    const { batches, transactions, values, put } = setting();
    const written = await Promise.all(Array.from({ length: 10 }, (_, index) => batches.add(put(index))));
    expect(written).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(values()).toEqual(written);
    expect(transactions.length).toBe(1);
  });

  it('are stored whole or not at all, each by itself, whichever of them throw', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('stores', 'throws before', 'throws after'), { maxLength: 150 }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
        async (kinds, inOneGo) => {
          const { batches, values, put } = setting();
          const works = kinds.map((kind, index): Promise<number> => {
            const throwIf = (when: string): void => {
              if (kind === when) throw new Error(when);
            };
            if (inOneGo[index % inOneGo.length])
              return batches.addNow((run) => {
                throwIf('throws before');
                for (const value of [index, 1_000 + index]) run(CompiledQuery.raw('insert into kept values (?)', [value]));
                throwIf('throws after');
                return index;
              });
            return batches.add(async (trx) => {
              throwIf('throws before');
              await put(index)(trx);
              await put(1_000 + index)(trx);
              throwIf('throws after');
              return index;
            });
          });
          const settled = await Promise.allSettled(works);
          expect(settled.map(({ status }) => status)).toEqual(kinds.map((kind) => (kind === 'stores' ? 'fulfilled' : 'rejected')));
          expect(values()).toEqual(kinds.flatMap((kind, index) => (kind === 'stores' ? [index, 1_000 + index] : [])));
        },
      ),
      { numRuns: 40, seed: 7 },
    );
  });

  it('are tried by themselves where one of them ends the whole transaction', async () => {
    const { batches, values, put } = setting();
    const settled = await Promise.allSettled([
      batches.add(put(1)),
      batches.add(put(2)),
      batches.add(async (trx) => {
        // As SQLite does by itself when the disk is full.
        await sql`rollback`.execute(trx);
        throw new Error('full');
      }),
      batches.add(put(4)),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(values()).toEqual([1, 2, 4]);
  });
});
