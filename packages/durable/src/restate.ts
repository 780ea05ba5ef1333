// Restate as the engine: it takes kicks, times them, and brings them to a worker.
import { GuardloopError } from '@guardloop/core';
import type { RunRecord } from '@guardloop/store';
import { connect, HttpCallError, rpc } from '@restatedev/restate-sdk-clients';
import type { Engine, EngineWork, EngineWorker } from './engine.js';
import { lookInterval } from './look-interval.js';
import type { Places } from './places.js';
import { openPlaces } from './places.js';
import { invalid, OptionReader } from './read-options.js';
import { listen } from './restate/endpoint.js';
import { idempotencyKey, serviceName } from './restate/kicks.js';
import { stayRegistered } from './restate/registration.js';
import type { RestateLogger, RestateSettings } from './restate/settings.js';
import { silent } from './restate/settings.js';
import { isWellFormed } from './well-formed.js';

export type { RestateLogger } from './restate/settings.js';

export interface RestateOptions {
  /** Where Restate takes kicks: its ingress, `http://host:8080`. */
  readonly ingressUrl: string;
  /** Where workers register: its admin API, `http://host:9070`. Left out: you register their address yourself. */
  readonly adminUrl?: string | undefined;
  /** Begins the names of the services, one for each queue. Letters, digits, `-` and `.`, a letter first. Default `guardloop`. */
  readonly service?: string | undefined;
  /** Where a worker listens. Default 127.0.0.1, and any free port. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /**
   * How Restate reaches this worker. Default `http://host:port`. Behind a load balancer give its address, the same for all workers: without
   * one, kicks go to the worker that was registered last, and the others find runs by looking.
   */
  readonly advertiseUrl?: string | undefined;
  /** Sent with each request to Restate, for example `authorization`. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** Public keys (`publickeyv1_…`) of the Restate servers that may call. Default: anybody who reaches the port; a call can only ring. */
  readonly identityKeys?: readonly string[] | undefined;
  /**
   * How often a worker looks for runs whose kick was lost or met a limit, and for those of dead workers, milliseconds, 50 to 60,000.
   * Default: a third of the lease, at most 2,000.
   */
  readonly lookMs?: number | undefined;
  /** How long Restate knows a kick that is done, milliseconds. Default 3,600,000: an hour. */
  readonly keepMs?: number | undefined;
  /** How long a kick waits for Restate, milliseconds. Default 5,000; then workers find the run by looking. */
  readonly kickMs?: number | undefined;
  /**
   * How long Restate keeps a call to a worker open while its run goes on, milliseconds. Default 86,400,000: a day. A longer run is not cut.
   */
  readonly holdMs?: number | undefined;
  /** Where the log lines of Restate's SDK go: ids and states. Default: nowhere. */
  readonly logger?: RestateLogger | undefined;
}

const names = [
  'ingressUrl',
  'adminUrl',
  'service',
  'host',
  'port',
  'advertiseUrl',
  'headers',
  'identityKeys',
  'lookMs',
  'keepMs',
  'kickMs',
  'holdMs',
  'logger',
] as const;
type Name = (typeof names)[number];

function readUrl(reader: OptionReader<Name>, name: Name): string | undefined {
  const value = reader.get(name);
  if (value === undefined) return undefined;
  if (typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return value.replace(/\/+$/, '');
  return invalid(`restateEngine: \`${name}\` is no web address. Give \`http://host:port\`.`);
}

function readSettings(options: RestateOptions): RestateSettings {
  const reader = new OptionReader('restateEngine', options, names);
  const ingressUrl = readUrl(reader, 'ingressUrl') ?? invalid('restateEngine: `ingressUrl` is missing. Give `http://host:8080`.');
  const service = reader.text('service', 100) ?? 'guardloop';
  if (!/^[A-Za-z][A-Za-z0-9.-]*$/.test(service)) reader.refuse('service', 'Give letters, digits, `-` and `.`, a letter first.');
  const keys = reader.get('identityKeys') ?? [];
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string'))
    reader.refuse('identityKeys', 'Give a list of public keys, or leave it out.');
  const headers = reader.get('headers') ?? {};
  if (typeof headers !== 'object' || Array.isArray(headers) || !Object.values(headers).every((value) => typeof value === 'string'))
    invalid('restateEngine: `headers` is no object of texts. Give `{ authorization: … }`, or leave it out.');
  return {
    ingressUrl,
    adminUrl: readUrl(reader, 'adminUrl'),
    service,
    host: reader.text('host', 255) ?? '127.0.0.1',
    port: reader.number('port', { least: 0, most: 65_535, isWhole: true }) ?? 0,
    advertiseUrl: readUrl(reader, 'advertiseUrl'),
    headers: options.headers ?? {},
    identityKeys: options.identityKeys ?? [],
    lookMs: reader.number('lookMs', { least: 50, most: 60_000 }),
    keepMs: reader.number('keepMs', { least: 1_000 }) ?? 3_600_000,
    kickMs: reader.number('kickMs', { least: 1, most: 600_000 }) ?? 5_000,
    holdMs: reader.number('holdMs', { least: 1_000 }) ?? 86_400_000,
    logger: reader.function('logger') ?? silent,
  };
}

/** Restate refuses the request itself, rather than being away, slow, or without a worker yet. */
const isRefused = (error: unknown): error is HttpCallError =>
  error instanceof HttpCallError && error.status >= 400 && error.status < 500 && error.status !== 404 && error.status !== 429;

/**
 * Runs with Restate: it holds kicks, delays them, and calls a worker for each, which asks the store for the run and advances it. What is
 * running, waiting, limited or lost stands in the store alone, so a run that waits for people is nothing in Restate.
 *
 * Needs `@restatedev/restate-sdk` and `@restatedev/restate-sdk-clients`. A worker listens at a port and registers it.
 *
 * Throws `CONFIG_INVALID`. `kick` rejects with `STORE_FAILED` where Restate refuses it; one that does not arrive is no error, since workers
 * look for runs too. A worker rejects with `STORE_FAILED` if it cannot be registered.
 */
export function restateEngine(options: RestateOptions): Engine {
  const settings = readSettings(options);
  const ingress = connect({ url: settings.ingressUrl, headers: { ...settings.headers } });
  let isClosed = false;

  const send = async (run: RunRecord): Promise<void> => {
    const delayMs = run.dueAt - run.updatedAt;
    try {
      await ingress.send<number>({
        service: serviceName(settings.service, run.queue),
        handler: 'advance',
        key: run.id,
        parameter: run.version,
        opts: rpc.sendOpts({ idempotencyKey: idempotencyKey(run), timeout: settings.kickMs, ...(delayMs > 0 ? { delay: delayMs } : {}) }),
      });
    } catch (cause) {
      if (isRefused(cause))
        throw new GuardloopError(
          'STORE_FAILED',
          `The run ${run.id} is recorded, but Restate refuses to be told of it (HTTP ${cause.status}). Workers find it by looking.`,
          { cause },
        );
    }
  };

  return {
    name: 'restate',
    async kick(run) {
      if (isClosed) invalid('restateEngine: this engine is closed. Make another one.');
      if (isWellFormed(run.id)) await send(run);
    },
    work: (work) => startWorker(settings, work),
    async close() {
      isClosed = true;
    },
  };
}

async function startWorker(settings: RestateSettings, work: EngineWork): Promise<EngineWorker> {
  let places: Places | undefined;
  const services = work.queues.map(({ queue }) => serviceName(settings.service, queue));
  const listening = await listen(settings, services, async () => places?.take() ?? { status: 'nothing' });
  const { adminUrl, headers, host } = settings;
  let unregister: () => void = () => undefined;
  try {
    const uri = settings.advertiseUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${listening.port}`;
    if (adminUrl !== undefined) unregister = await stayRegistered({ adminUrl, headers }, services, uri);
  } catch (error) {
    await listening.close();
    throw error;
  }
  const opened = openPlaces(work, settings.lookMs ?? lookInterval(work.leaseMs));
  places = opened;
  return {
    async stop() {
      unregister();
      listening.refuse();
      await opened.stop();
      await listening.close();
    },
  };
}
