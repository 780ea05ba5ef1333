import type { Store } from '@guardloop/store';
import { sqliteStore } from './index.js';

sqliteStore({ file: 'store.db' }) satisfies Store;
sqliteStore({ file: ':memory:', synchronous: 'normal', ttlMs: 1_000, encryption: { keys: [{ id: 'a', key: new Uint8Array(32) }] } });

// @ts-expect-error a file is needed
sqliteStore({});
// @ts-expect-error not a way to wait for the disk
sqliteStore({ file: 'store.db', synchronous: 'off' });
// @ts-expect-error no such option
sqliteStore({ file: 'store.db', readonly: true });
// @ts-expect-error a list of keys has at least one
sqliteStore({ file: 'store.db', encryption: { keys: [] } });
