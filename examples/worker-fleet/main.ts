// Three worker processes over one SQLite file. One of them is killed in the middle of its work; another is stopped as a deploy stops it. Every
// run ends, and each label is printed under one key.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { durableClient } from '@guardloop/durable';
import { sqliteStore } from '@guardloop/store-sqlite';
import { auditLog } from '@guardloop/testing';

const folder = mkdtempSync(join(tmpdir(), 'guardloop-fleet-'));
const [file, ledger] = [join(folder, 'runs.db'), join(folder, 'ledger.jsonl')];
const program = fileURLToPath(new URL('./worker.js', import.meta.url));
const start = async (name: string): Promise<ChildProcess> => {
  const child = fork(program, [file, name], { execArgv: [] });
  await once(child, 'message');
  return child;
};
const end = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
};

// This process runs nothing: it submits, and watches.
const store = sqliteStore({ file, pollMs: 50 });
const client = durableClient({ store });
const fleet: ChildProcess[] = [];
try {
  for (const name of ['anna', 'berta', 'carl']) fleet.push(await start(name));
  const parcels = Array.from({ length: 12 }, (_, index) => `parcel-${index + 1}`);
  for (const parcel of parcels)
    await client.submit('packer', parcel, { id: parcel, queue: 'parcels', tenant: 'shop', data: { ledger }, priority: 1 });

  // Anna has runs now. She is killed: nothing of hers is handed back.
  for (let isAtWork = false; !isAtWork; ) {
    const { items } = await client.list({ state: 'running' });
    isAtWork = items.some(({ worker }) => worker === 'anna');
  }
  const [anna, berta] = fleet;
  assert(anna && berta);
  await end(anna, 'SIGKILL');
  console.log('anna was killed');
  await end(berta, 'SIGTERM');
  console.log('berta was stopped');

  for (const parcel of parcels) {
    const result = await client.result(parcel, { waitMs: 60_000 });
    assert.equal(result.status, 'completed');
    assert(result.status === 'completed');
    assert.equal(result.text, `${parcel} is ready.`);
    assert.deepEqual(auditLog(result.log), []);
  }
  const printed = readFileSync(ledger, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly parcel: string; readonly key: string });
  const keys = new Map(printed.map(({ parcel, key }) => [parcel, key]));
  assert.equal(keys.size, parcels.length);
  // Whoever printed it, and however often: one key a parcel, by which the printer knows what it has done.
  assert.equal(new Set(printed.map(({ key }) => key)).size, parcels.length);
  console.log(`${parcels.length} parcels are ready, ${new Set(printed.map(({ key }) => key)).size} labels were printed`);
} finally {
  await client.close();
  await store.close();
  for (const child of fleet) await end(child, 'SIGTERM');
  rmSync(folder, { recursive: true, force: true });
}
