// A Redis server of one's own: on loopback, in a temporary folder.
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';

/** Debian's; another one by the environment. */
const binary = process.env.REDIS_SERVER ?? '/usr/bin/redis-server';
const isThere = existsSync(binary);

/** Says what is missing and how to get it; undefined where the server is there. */
export const redisMissing = isThere
  ? undefined
  : `NOT TESTED: Redis is not at ${binary}. Install it (Debian: apt-get install redis-server), or set REDIS_SERVER to its program.`;
if (redisMissing !== undefined) process.stderr.write(`${redisMissing}\n`);

/** Tests of Redis are left out: it is not there, and this is not CI, where that is a failure. */
export const skipsRedis = !isThere && process.env.CI !== 'true';

export interface RedisOptions {
  /** Every write waits for the disk (`appendfsync always`). Default false: once a second. */
  readonly isDurable?: boolean | undefined;
  /** More settings, as in `redis.conf`. */
  readonly settings?: Readonly<Record<string, string | number>> | undefined;
}

/** A running server. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** `kill` is as a crash; `stop` lets it write all out; `freeze` leaves connections open and answers nothing until `thaw`. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  freeze(): void;
  thaw(): void;
  /** Starts it again on the same port, with what it has on disk. Resolves when it answers. */
  start(): Promise<void>;
  /** Ends it and removes the folder. To be called at the end, also of a test that failed. */
  remove(): Promise<void>;
}

/** Starts a new, empty server. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  if (redisMissing !== undefined) throw new Error(redisMissing);
  const server = new Server(mkdtempSync(join(tmpdir(), 'guardloop-redis-')), options);
  try {
    await server.start();
  } catch (thrown) {
    await server.remove();
    throw thrown;
  }
  return server;
}

class Server implements RedisServer {
  port = 0;
  #process: ChildProcess | undefined;
  readonly #onExit = (): void => this.#removeNow();

  constructor(
    private readonly folder: string,
    private readonly options: RedisOptions,
  ) {
    process.once('exit', this.#onExit);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    // Somebody may take the port between looking and listening; later starts keep the one that clients know.
    for (let tries = 0; ; tries += 1) {
      const port = this.port || (await freePort());
      if (await this.#startOn(port)) {
        this.port = port;
        return;
      }
      if (tries >= 4) throw new Error(`Redis does not start on port ${port} of loopback.`);
    }
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  async remove(): Promise<void> {
    process.removeListener('exit', this.#onExit);
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #startOn(port: number): Promise<boolean> {
    const { isDurable = false, settings = {} } = this.options;
    const given = {
      port,
      bind: '127.0.0.1',
      dir: this.folder,
      appendonly: 'yes',
      appendfsync: isDurable ? 'always' : 'everysec',
      save: '',
      ...settings,
    };
    const running = spawn(
      binary,
      Object.entries(given).flatMap(([name, value]) => [`--${name}`, String(value)]),
      { stdio: 'ignore' },
    );
    this.#process = running;
    const deadline = Date.now() + 20_000;
    while (running.exitCode === null && Date.now() < deadline) {
      if ((await ask(port)).startsWith('+PONG')) return true;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await this.kill();
    return false;
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => running.once('exit', () => resolve()));
    running.kill('SIGCONT');
    running.kill(signal);
    await ended;
  }

  #removeNow(): void {
    this.#process?.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** What the server says to PING; empty where nobody answers. */
function ask(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.setTimeout(1_000, () => socket.destroy());
    socket.once('data', (data) => {
      resolve(data.toString());
      socket.destroy();
    });
    socket.once('error', () => resolve(''));
    socket.once('close', () => resolve(''));
  });
}

/** Every key with its value, as text that can be searched. */
export function dumpRedis({ port }: Pick<RedisServer, 'port'>, prefix: string): string {
  const cli = (...command: readonly string[]): string =>
    execFileSync(binary.replace(/redis-server$/, 'redis-cli'), ['-p', String(port), ...command], { maxBuffer: 2 ** 28 }).toString();
  const read = `local all = {} for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
    local kind = redis.call('TYPE', key).ok
    local value = key
    if kind == 'string' then value = value .. redis.call('GET', key)
    elseif kind == 'hash' then value = value .. table.concat(redis.call('HGETALL', key), ' ')
    elseif kind == 'list' then value = value .. table.concat(redis.call('LRANGE', key, 0, -1), ' ')
    elseif kind == 'zset' then value = value .. table.concat(redis.call('ZRANGE', key, 0, -1), ' ') end
    all[#all + 1] = value
  end return table.concat(all, ' ')`;
  return cli('EVAL', read, '0', `{${prefix}}*`);
}
