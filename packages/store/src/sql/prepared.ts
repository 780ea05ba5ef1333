import type { Compilable, QueryResult } from 'kysely';
import { CompiledQuery, sql } from 'kysely';
import type { Db, Now, SqlContext } from './sql-context.js';

/** Stands in a statement for a value that is given when it is run. */
class Slot {
  constructor(readonly name: string) {}
}

/** What a statement is built with. */
export interface Build<V> {
  readonly db: Db;
  /** Stand-ins for the values; they are nothing else. */
  readonly slots: V;
  readonly now: Now;
}

/** A statement that is built once for each store, since building costs more than running on a database in the same process. */
export class Prepared<V extends object, R> {
  readonly #compiled = new WeakMap<SqlContext, CompiledQuery<R>>();

  constructor(private readonly build: (build: Build<V>) => Compilable<R>) {}

  run(db: Db, context: SqlContext, values: V): Promise<QueryResult<R>> {
    return db.executeQuery(this.query(db, context, values));
  }

  /** The statement with its values. */
  query(db: Db, context: SqlContext, values: V): CompiledQuery<R> {
    const { sql: text, parameters } = this.#compile(db, context);
    const { clock } = context.database;
    const filled = parameters.map((parameter) => {
      if (!(parameter instanceof Slot)) return parameter;
      return parameter.name === nowSlot && typeof clock === 'function'
        ? clock()
        : (values as Readonly<Record<string, unknown>>)[parameter.name];
    });
    return CompiledQuery.raw(text, filled) as CompiledQuery<R>;
  }

  #compile(db: Db, context: SqlContext): CompiledQuery<R> {
    const known = this.#compiled.get(context);
    if (known) return known;
    const { clock } = context.database;
    const now = typeof clock === 'function' ? sql<number>`${new Slot(nowSlot)}` : clock;
    const slots = new Proxy({}, { get: (_, name) => new Slot(String(name)) }) as V;
    const made = this.build({ db, slots, now }).compile();
    this.#compiled.set(context, made);
    return made;
  }
}

const nowSlot = ' now';
