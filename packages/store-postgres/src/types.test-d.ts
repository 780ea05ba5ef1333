import type { Store } from '@guardloop/store';
import type { Pool } from 'pg';
import { postgresStore } from './index.js';

declare const pool: Pool;
postgresStore({ connectionString: 'postgresql://localhost/x', connections: 4, schema: 's' }) satisfies Store;
postgresStore({ pool, prepared: false }) satisfies Store;

// @ts-expect-error a database is needed
postgresStore({ schema: 's' });
// @ts-expect-error one or the other
postgresStore({ connectionString: 'postgresql://localhost/x', pool });
// @ts-expect-error the pool has its own number
postgresStore({ pool, connections: 4 });
// @ts-expect-error no such option
postgresStore({ pool, table: 'x' });
