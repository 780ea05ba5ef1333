// A PostgreSQL server of one's own: on loopback, in a temporary folder, never as root.
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { chownSync, closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';

/** Debian's; another one by the environment. */
const binaries = process.env.POSTGRES_BIN ?? '/usr/lib/postgresql/15/bin';
const isThere = existsSync(join(binaries, 'postgres'));

/** Says what is missing and how to get it; undefined where the server is there. */
export const postgresMissing = isThere
  ? undefined
  : `NOT TESTED: PostgreSQL is not at ${binaries}. Install it (Debian: apt-get install postgresql-15), or set POSTGRES_BIN to the folder of its programs.`;
if (postgresMissing !== undefined) process.stderr.write(`${postgresMissing}\n`);

/** Tests of PostgreSQL are left out: it is not there, and this is not CI, where that is a failure. */
export const skipsPostgres = !isThere && process.env.CI !== 'true';

export interface PostgresOptions {
  /** Commits wait for the disk. Default false: tests are about outcomes, benchmarks about time. */
  readonly isDurable?: boolean | undefined;
  /** More settings, as in `postgresql.conf`. */
  readonly settings?: Readonly<Record<string, string | number>> | undefined;
}

/** A running server. */
export interface PostgresServer {
  readonly port: number;
  /** Of the database `postgres`, for a superuser without a password. */
  readonly connectionString: string;
  /** Over the socket in the temporary folder. */
  readonly socketConnectionString: string;
  /** Makes an empty database and gives its connection string. */
  createDatabase(name: string): string;
  /** Runs SQL with psql and gives what it prints, without headings. */
  sql(statements: string, database?: string): string;
  /** A copy of a database as text: what can be searched for. */
  dump(database?: string): string;
  /** `fast` ends sessions and writes all out; `immediate` is as a crash of the server. */
  stop(mode: 'fast' | 'immediate'): Promise<void>;
  /** Starts it again on the same port, with the same data. Resolves when it answers. */
  start(): Promise<void>;
  /** Ends it and removes the folder. To be called at the end, also of a test that failed. */
  remove(): Promise<void>;
}

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root. */
export function accountToUse(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  const line = lines.find((each) => each.startsWith('postgres:')) ?? lines.find((each) => each.startsWith('nobody:'));
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid === undefined || gid === undefined)
    throw new Error('PostgreSQL may not run as root, and there is no user postgres or nobody. Add one, or run the tests as another user.');
  return { uid: Number(uid), gid: Number(gid) };
}

/** Starts a new, empty server. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  if (postgresMissing !== undefined) throw new Error(postgresMissing);
  const account = accountToUse();
  const folder = mkdtempSync(join(tmpdir(), 'guardloop-postgres-'));
  if (account) chownSync(folder, account.uid, account.gid);
  const data = join(folder, 'data');
  execFileSync(join(binaries, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'], {
    ...account,
    stdio: 'pipe',
    cwd: folder,
  });
  const server = new Server(folder, { data, account, options });
  try {
    await server.start();
  } catch (thrown) {
    await server.remove();
    throw thrown;
  }
  return server;
}

class Server implements PostgresServer {
  port = 0;
  #process: ChildProcess | undefined;
  readonly #onExit = (): void => this.#removeNow();

  constructor(
    private readonly folder: string,
    private readonly setting: { readonly data: string; readonly account: Account | undefined; readonly options: PostgresOptions },
  ) {
    process.once('exit', this.#onExit);
  }

  get connectionString(): string {
    return this.#stringFor('postgres');
  }

  get socketConnectionString(): string {
    return `postgresql://postgres@/postgres?host=${encodeURIComponent(this.folder)}&port=${this.port}`;
  }

  createDatabase(name: string): string {
    this.sql(`create database "${name}"`);
    return this.#stringFor(name);
  }

  sql(statements: string, database = 'postgres'): string {
    return this.#run('psql', ['-X', '-At', '-v', 'ON_ERROR_STOP=1', '-d', this.#stringFor(database)], statements);
  }

  dump(database = 'postgres'): string {
    return this.#run('pg_dump', ['-d', this.#stringFor(database)]);
  }

  async start(): Promise<void> {
    // Somebody may take the port between looking and listening; later starts keep the one that clients know.
    for (let tries = 0; ; tries += 1) {
      const port = this.port || (await freePort());
      if (await this.#startOn(port)) {
        this.port = port;
        return;
      }
      if (tries >= 4) throw new Error(`PostgreSQL does not start. Its log ends so:\n${this.#log().slice(-2_000)}`);
    }
  }

  async stop(mode: 'fast' | 'immediate'): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const ended = new Promise<void>((resolve) => running.once('exit', () => resolve()));
    running.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
  }

  async remove(): Promise<void> {
    process.removeListener('exit', this.#onExit);
    await this.stop('immediate');
    rmSync(this.folder, { recursive: true, force: true });
  }

  #removeNow(): void {
    this.#process?.kill('SIGQUIT');
    rmSync(this.folder, { recursive: true, force: true });
  }

  #stringFor(database: string): string {
    return `postgresql://postgres@127.0.0.1:${this.port}/${encodeURIComponent(database)}`;
  }

  #run(program: string, parameters: readonly string[], input = ''): string {
    return execFileSync(join(binaries, program), parameters, { input, encoding: 'utf8', maxBuffer: 1e9, stdio: ['pipe', 'pipe', 'pipe'] });
  }

  #log(): string {
    return readFileSync(join(this.folder, 'log'), 'utf8');
  }

  async #startOn(port: number): Promise<boolean> {
    const { data, account, options } = this.setting;
    // What was committed has reached the system: it outlives the server, though not the machine.
    const fast = { fsync: 'off', full_page_writes: 'off' };
    const settings = { max_connections: 200, ...(options.isDurable ? {} : fast), ...options.settings };
    const parameters = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const log = openSync(join(this.folder, 'log'), 'a');
    const started = spawn(
      join(binaries, 'postgres'),
      ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', this.folder, ...parameters],
      { ...account, cwd: this.folder, stdio: ['ignore', log, log] },
    );
    closeSync(log);
    let hasEnded = false;
    started.once('exit', () => {
      hasEnded = true;
    });
    started.once('error', () => {
      hasEnded = true;
    });
    const deadline = Date.now() + 60_000;
    while (!hasEnded && Date.now() < deadline) {
      if (isReady(port)) {
        this.#process = started;
        return true;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    if (!hasEnded) started.kill('SIGQUIT');
    return false;
  }
}

function isReady(port: number): boolean {
  try {
    execFileSync(join(binaries, 'pg_isready'), ['-q', '-h', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
