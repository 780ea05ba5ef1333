import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { GuardloopError } from '@guardloop/core';
import { Watchers } from '@guardloop/store/kit';
import type { SqlDatabase } from '@guardloop/store/sql';
import type { SharedFileOptions } from './shared-file.js';
import { SharedFile } from './shared-file.js';
import { sqliteFailure } from './sqlite-failures.js';

/** How one store uses its file. */
export interface SqliteDatabaseOptions extends SharedFileOptions {
  /** How often a watcher looks whether another process has written, milliseconds. */
  readonly pollMs: number;
  readonly now: () => number;
}

/** Files that are open in this process, with how many stores use them. */
const openFiles = new Map<string, { readonly shared: SharedFile; users: number }>();

/** The database of one store. */
export function sqliteDatabase(options: SqliteDatabaseOptions): SqlDatabase {
  const { file, now } = options;
  const { shared, leave } = enter(options);
  const watching = new SqliteWatching(shared, file === ':memory:' ? undefined : options.pollMs);
  const tell = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (thrown) {
      throw GuardloopError.is(thrown) ? thrown : sqliteFailure(thrown, options);
    }
  };
  return {
    dialect: 'sqlite',
    read: (work) => tell(() => shared.read(work)),
    write: (work) => tell(() => shared.write(work)),
    once: (work) => tell(() => shared.write(work)),
    writeNow: (work) => tell(() => shared.writeNow(work)),
    clock: now,
    watching,
    async close() {
      watching.close();
      await leave();
    },
  };
}

/** The file as all stores of this process use it that were given the same options. */
function enter({ file, synchronous, maxBytes, busyMs }: SqliteDatabaseOptions): { readonly shared: SharedFile; leave(): Promise<void> } {
  const options: SharedFileOptions = { file, synchronous, maxBytes, busyMs };
  if (file === ':memory:') {
    const shared = new SharedFile(options);
    return { shared, leave: () => shared.close() };
  }
  const key = JSON.stringify({ ...options, file: realPath(file) });
  const entry = openFiles.get(key) ?? { shared: new SharedFile(options), users: 0 };
  openFiles.set(key, entry);
  entry.users += 1;
  return {
    shared: entry.shared,
    async leave() {
      entry.users -= 1;
      if (entry.users > 0) return;
      openFiles.delete(key);
      await entry.shared.close();
    },
  };
}

function realPath(file: string): string {
  const path = resolve(file);
  try {
    return realpathSync(path);
  } catch {
    // It is not there yet; its folder may be, and be a link.
  }
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return path;
  }
}

/** Writes of this process are told at once; others are seen when one looks. */
class SqliteWatching {
  readonly #watchers = new Watchers();
  readonly #listener = (session: string | undefined): void => this.#watchers.tell(session);
  #looking: { stop(): void } | undefined;

  constructor(
    private readonly shared: SharedFile,
    private readonly pollMs: number | undefined,
  ) {
    shared.listeners.add(this.#listener);
  }

  announce(session: string | undefined): void {
    for (const listener of this.shared.listeners) listener(session);
  }

  watch(session: string | undefined, listener: (session: string | undefined) => void): () => void {
    const leave = this.#watchers.add(session, listener);
    if (this.pollMs !== undefined)
      this.#looking ??= lookAgain(this.shared, { pollMs: this.pollMs, tell: () => this.#watchers.tell(undefined) });
    return () => {
      leave();
      if (this.#watchers.size === 0) this.#stopLooking();
    };
  }

  close(): void {
    this.shared.listeners.delete(this.#listener);
    this.#watchers.clear();
    this.#stopLooking();
  }

  #stopLooking(): void {
    this.#looking?.stop();
    this.#looking = undefined;
  }
}

function lookAgain(shared: SharedFile, { pollMs, tell }: { readonly pollMs: number; tell(): void }): { stop(): void } {
  let seen: number | undefined;
  const look = async (): Promise<void> => {
    try {
      const version = await shared.version();
      if (version !== seen && seen !== undefined) tell();
      seen = version;
    } catch {
      // Whoever reads is told why; perhaps the next look works.
    }
  };
  void look();
  const timer = setInterval(() => void look(), pollMs);
  return { stop: () => clearInterval(timer) };
}
