// Where faults are tried: a store and an engine, and a folder for what processes leave.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PostgresServer } from '../servers/postgres.js';
import type { EngineAddress, StoreAddress } from './child-config.js';

export type StoreKind = StoreAddress['kind'];
export type EngineKind = EngineAddress['kind'];

export interface Field {
  readonly store: StoreKind;
  readonly engineKind: EngineKind;
  readonly folder: string;
  readonly postgres: PostgresServer | undefined;
  /** The address of a store of its own for one try, and of an engine that shares kicks with no other try: a worker takes whatever is due. */
  address(name: string): StoreAddress;
  engine(name: string): EngineAddress;
  close(): Promise<void>;
}

/** Opens a field and starts the servers that it needs. */
export async function openField(store: StoreKind, engineKind: EngineKind = 'embedded'): Promise<Field> {
  const folder = mkdtempSync(join(tmpdir(), 'guardloop-faults-'));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', removeFolder);
  const closers: (() => Promise<void>)[] = [
    async () => {
      process.removeListener('exit', removeFolder);
      removeFolder();
    },
  ];
  const close = async (): Promise<void> => {
    for (const each of closers.reverse()) await each();
  };
  try {
    let postgres: PostgresServer | undefined;
    let redisUrl = '';
    if (store === 'postgres' || engineKind === 'dbos') {
      const { startPostgres } = await import('../servers/postgres.js');
      postgres = await startPostgres({ isDurable: true });
      closers.push(() => postgres?.remove() ?? Promise.resolve());
    }
    if (store === 'redis') {
      const { startRedis } = await import('../servers/redis.js');
      const redis = await startRedis();
      redisUrl = redis.url;
      closers.push(() => redis.remove());
    }
    let engine = (_: string): EngineAddress => ({ kind: 'embedded' });
    if (engineKind === 'dbos') {
      const databaseUrl = postgres?.createDatabase('engine') ?? '';
      engine = (name) => ({ kind: 'dbos', databaseUrl, application: name });
    }
    if (engineKind === 'restate') {
      const { startRestate } = await import('../servers/restate.js');
      const restate = await startRestate();
      closers.push(() => restate.remove());
      const { ingressUrl, adminUrl } = restate;
      engine = (name) => ({ kind: 'restate', ingressUrl, adminUrl, service: `faults-${name}` });
    }
    const address = (name: string): StoreAddress => {
      if (store === 'sqlite') return { kind: store, file: join(folder, `${name}.db`) };
      if (store === 'redis') return { kind: store, url: redisUrl, prefix: `faults-${name}` };
      return { kind: store, connectionString: postgres?.connectionString ?? '', schema: name };
    };
    return { store, engineKind, engine, folder, postgres, address, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}
