// A PgBouncer of one's own before a PostgreSQL server: on loopback, in a temporary folder, never as root.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { accountToUse } from './postgres.js';

/** Debian's; another one by the environment. */
const binary = process.env.PGBOUNCER ?? '/usr/sbin/pgbouncer';
const isThere = existsSync(binary);

/** Says what is missing and how to get it; undefined where the program is there. */
export const pgbouncerMissing = isThere
  ? undefined
  : `NOT TESTED: PgBouncer is not at ${binary}. Install it (Debian: apt-get install pgbouncer), or set PGBOUNCER to its program.`;
if (pgbouncerMissing !== undefined) process.stderr.write(`${pgbouncerMissing}\n`);

/** Tests of PgBouncer are left out: it is not there, and this is not CI, where that is a failure. */
export const skipsPgbouncer = !isThere && process.env.CI !== 'true';

/** A running pooler. */
export interface PgbouncerServer {
  /** Of the server's database `postgres`, through the pooler. */
  readonly connectionString: string;
  /** Ends it and removes the folder. To be called at the end, also of a test that failed. */
  remove(): Promise<void>;
}

/** Starts one that gives each transaction any of a few connections to the server at this port. */
export async function startPgbouncer({ port: target }: { readonly port: number }): Promise<PgbouncerServer> {
  if (pgbouncerMissing !== undefined) throw new Error(pgbouncerMissing);
  const account = accountToUse();
  const folder = mkdtempSync(join(tmpdir(), 'guardloop-pgbouncer-'));
  if (account) chownSync(folder, account.uid, account.gid);
  const log = join(folder, 'log');
  // Somebody may take the port between looking and listening.
  for (let tries = 0; ; tries += 1) {
    const port = await freePort();
    writeFileSync(join(folder, 'users.txt'), '"postgres" ""\n');
    writeFileSync(
      join(folder, 'pgbouncer.ini'),
      `[databases]
* = host=127.0.0.1 port=${target}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = 8
max_client_conn = 500
logfile = ${log}
`,
    );
    const started = spawn(binary, ['-q', join(folder, 'pgbouncer.ini')], { ...account, cwd: folder, stdio: 'ignore' });
    const removeNow = (): void => {
      started.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    };
    if (await answers(started, port)) {
      process.once('exit', removeNow);
      return {
        connectionString: `postgresql://postgres@127.0.0.1:${port}/postgres`,
        async remove() {
          process.removeListener('exit', removeNow);
          const ended = new Promise<void>((resolve) => started.once('exit', () => resolve()));
          removeNow();
          if (started.exitCode === null && started.signalCode === null) await ended;
        },
      };
    }
    const told = existsSync(log) ? readFileSync(log, 'utf8').slice(-2_000) : '';
    started.kill('SIGKILL');
    if (tries < 4) continue;
    removeNow();
    throw new Error(`PgBouncer does not start. Its log ends so:\n${told}`);
  }
}

/** Whether it listens before it ends, within a minute. */
async function answers(started: ChildProcess, port: number): Promise<boolean> {
  let hasEnded = false;
  const end = (): void => {
    hasEnded = true;
  };
  started.once('exit', end);
  started.once('error', end);
  const canConnect = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' }, () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
  for (const deadline = Date.now() + 60_000; !hasEnded && Date.now() < deadline; ) {
    if (await canConnect()) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return false;
}
