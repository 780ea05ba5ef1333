import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeConformance } from '@guardloop/store/conformance';
import Database from 'libsql';
import { afterAll } from 'vitest';
import { sqliteStore } from './index.js';

const folder = mkdtempSync(join(tmpdir(), 'guardloop-sqlite-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const fileOf = (database: string): string => join(folder, `${database}.db`);

/** All rows of all tables. */
function raw(database: string): string {
  const connection = new Database(fileOf(database));
  const tables = connection.prepare("select name from sqlite_master where type = 'table'").all() as readonly { readonly name: string }[];
  const rows = tables.map(({ name }) => connection.prepare(`select * from "${name}"`).all());
  connection.close();
  return JSON.stringify(rows);
}

storeConformance('sqliteStore', ({ database, ...options }) => sqliteStore({ file: fileOf(database), pollMs: 20, ...options }), {
  hasClock: true,
  isLasting: true,
  hasCodec: true,
  raw,
});

storeConformance('sqliteStore in memory', ({ database: _, ...options }) => sqliteStore({ file: ':memory:', ...options }), {
  hasClock: true,
  hasCodec: true,
});
