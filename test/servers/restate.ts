// A Restate server of one's own: on loopback, in a temporary folder.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';

/** The binary comes with an optional package for each platform. */
function findBinary(): string | undefined {
  try {
    const wrapper = createRequire(import.meta.url).resolve('@restatedev/restate-server/package.json');
    return createRequire(wrapper).resolve(`@restatedev/restate-server-${platform()}-${arch()}/bin/restate-server`);
  } catch {
    return undefined;
  }
}
const binary = findBinary();

/** Says what is missing and how to get it; undefined where the server is there. */
export const restateMissing =
  binary === undefined
    ? `NOT TESTED: Restate's server is not installed for ${platform()}-${arch()}. It comes from npm with the optional dependencies of @restatedev/restate-server.`
    : undefined;
if (restateMissing !== undefined) process.stderr.write(`${restateMissing}\n`);

/** Tests of Restate are left out: it is not there, and this is not CI, where that is a failure. */
export const skipsRestate = binary === undefined && process.env.CI !== 'true';

/** A running server. */
export interface RestateServer {
  readonly ingressUrl: string;
  readonly adminUrl: string;
  /** Asks its tables; `sys_invocation` is what it holds of kicks. */
  query(sql: string): Promise<readonly Record<string, unknown>[]>;
  /** As a crash of the server. */
  kill(): Promise<void>;
  /** Starts it again on the same ports, with the same data. Resolves when it takes requests. */
  start(): Promise<void>;
  /** Ends it and removes the folder. To be called at the end, also of a test that failed. */
  remove(): Promise<void>;
}

/** Starts a new, empty server. */
export async function startRestate(): Promise<RestateServer> {
  if (restateMissing !== undefined) throw new Error(restateMissing);
  const server = new Server(mkdtempSync(join(tmpdir(), 'guardloop-restate-')));
  try {
    await server.start();
  } catch (thrown) {
    await server.remove();
    throw thrown;
  }
  return server;
}

const waitMs = 60_000;

class Server implements RestateServer {
  #ports: { readonly ingress: number; readonly admin: number; readonly fabric: number } | undefined;
  #process: ChildProcess | undefined;
  readonly #onExit = (): void => this.#removeNow();

  constructor(private readonly folder: string) {
    process.once('exit', this.#onExit);
  }

  get ingressUrl(): string {
    return `http://127.0.0.1:${this.#ports?.ingress}`;
  }

  get adminUrl(): string {
    return `http://127.0.0.1:${this.#ports?.admin}`;
  }

  async query(sql: string): Promise<readonly Record<string, unknown>[]> {
    const response = await fetch(`${this.adminUrl}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query: sql }),
    });
    if (!response.ok) throw new Error(`Restate does not answer the query: HTTP ${response.status}`);
    return ((await response.json()) as { readonly rows: readonly Record<string, unknown>[] }).rows;
  }

  async start(): Promise<void> {
    const isFirst = this.#ports === undefined;
    for (let tries = 0; ; tries += 1) {
      // Somebody may take a port between looking and listening; later starts keep those that clients know.
      if (isFirst) this.#ports = { ingress: await freePort(), admin: await freePort(), fabric: await freePort() };
      if (await this.#startNow()) return;
      if (tries >= 4)
        throw new Error(`Restate does not start. Its log ends so:\n${readFileSync(join(this.folder, 'log'), 'utf8').slice(-2_000)}`);
    }
  }

  async kill(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const ended = new Promise<void>((resolve) => running.once('exit', () => resolve()));
    running.kill('SIGKILL');
    await ended;
  }

  async remove(): Promise<void> {
    process.removeListener('exit', this.#onExit);
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #removeNow(): void {
    this.#process?.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #startNow(): Promise<boolean> {
    if (binary === undefined || this.#ports === undefined) return false;
    const { ingress, admin, fabric } = this.#ports;
    writeFileSync(
      join(this.folder, 'restate.toml'),
      [
        'node-name = "one"',
        `base-dir = ${JSON.stringify(join(this.folder, 'data'))}`,
        'listen-mode = "tcp"',
        'bind-ip = "127.0.0.1"',
        'advertised-host = "127.0.0.1"',
        `bind-port = ${fabric}`,
        'default-num-partitions = 1',
        'rocksdb-total-memory-size = "64 MiB"',
        'disable-telemetry = true',
        'log-filter = "warn"',
        '[ingress]',
        `bind-port = ${ingress}`,
        '[admin]',
        `bind-port = ${admin}`,
        'disable-web-ui = true',
      ].join('\n'),
    );
    const log = openSync(join(this.folder, 'log'), 'a');
    const started = spawn(binary, ['--no-logo', '--config-file', join(this.folder, 'restate.toml')], {
      cwd: this.folder,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    let hasEnded = false;
    for (const event of ['exit', 'error'])
      started.once(event, () => {
        hasEnded = true;
      });
    const deadline = Date.now() + waitMs;
    while (!hasEnded && Date.now() < deadline) {
      if ((await answers(`${this.adminUrl}/health`)) && (await answers(`${this.ingressUrl}/restate/health`))) {
        this.#process = started;
        return true;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    if (!hasEnded) started.kill('SIGKILL');
    return false;
  }
}

function answers(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}
