import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { skipsPostgres, startPostgres } from '../servers/postgres.js';

describe.skipIf(skipsPostgres)('the outbox example, on PostgreSQL', () => {
  it('orders once and sends with one key, although two processes are killed', async () => {
    const server = await startPostgres();
    try {
      const main = fileURLToPath(new URL('../../examples/dist/outbox/main.js', import.meta.url));
      const child = spawnSync(process.execPath, [main], {
        env: { ...process.env, DATABASE_URL: server.connectionString },
        encoding: 'utf8',
        timeout: 60_000,
      });
      expect(child.stderr).toBe('');
      expect(child.stdout).toContain('Orders: 1. Messages marked as sent: 1. Deliveries: 2, for 1 key.');
      expect(child.status).toBe(0);
    } finally {
      await server.remove();
    }
  }, 90_000);
});
