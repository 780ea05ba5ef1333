// Subpath ./sql: the store over any SQL database that Kysely speaks to; what packages of stores are made of.
export type { SqlDatabase, StatementsWork, Watching } from './sql/database.js';
export { type Migration, type MigrationSetting, migrate, migrations } from './sql/migrations.js';
export { type Patience, type Pauses, patiently } from './sql/patience.js';
export { type SqlStoreOptions, sqlStore } from './sql/sql-store.js';
export type { Tables } from './sql/tables.js';
