// The worker's side of Restate: an HTTP/2 server that lets itself be told of runs.

import type { ServerHttp2Session } from 'node:http2';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { GuardloopError } from '@guardloop/core';
import type { ObjectSharedContext } from '@restatedev/restate-sdk';
import { createEndpointHandler, handlers, object } from '@restatedev/restate-sdk';
import type { Places } from '../places.js';
import type { KickService } from './kicks.js';
import type { RestateSettings } from './settings.js';

/** The SDK's endpoint uses what Node has from 22 on. */
function provideResolvers(): void {
  if (typeof (Promise as { withResolvers?: unknown }).withResolvers === 'function') return;
  Object.defineProperty(Promise, 'withResolvers', {
    configurable: true,
    writable: true,
    value: function withResolvers<T>(this: PromiseConstructor) {
      let resolve: (value: T | PromiseLike<T>) => void = () => undefined;
      let reject: (reason?: unknown) => void = () => undefined;
      const promise = new this<T>((onResolve, onReject) => {
        resolve = onResolve;
        reject = onReject;
      });
      return { promise, resolve, reject };
    },
  });
}

/** After this without a message Restate lets go of a call, if `holdMs` allows it. */
const inactivityMs = 60_000;

/**
 * The service of one queue. Its handler journals nothing, not even a sleep: so Restate binds no kick to the deployment that it came to
 * first, and gives it to the next when that one is gone. It stays open while the run goes on; when Restate lets go of it earlier, it is
 * called anew, finds the run under way, and ends.
 */
function kickService(name: string, settings: RestateSettings, take: Places['take']): KickService {
  return object({
    name,
    handlers: {
      advance: handlers.object.shared(async (_context: ObjectSharedContext, _version: number): Promise<void> => {
        await take();
      }),
    },
    options: {
      inactivityTimeout: Math.min(inactivityMs, settings.holdMs),
      abortTimeout: settings.holdMs,
      // A kick that reaches nobody for minutes is given up: a worker that starts looks for what is due.
      retryPolicy: { initialInterval: 100, exponentiationFactor: 2, maxInterval: 10_000, maxAttempts: 40, onMaxAttempts: 'kill' },
      idempotencyRetention: settings.keepMs,
      journalRetention: 0,
    },
  });
}

export interface Listening {
  readonly port: number;
  /** New calls are refused from now on, so that Restate takes them elsewhere. */
  refuse(): void;
  close(): Promise<void>;
}

/** Listens for kicks. Rejects with `CONFIG_INVALID` where it cannot listen there. */
export async function listen(settings: RestateSettings, services: readonly string[], take: Places['take']): Promise<Listening> {
  provideResolvers();
  let isRefusing = false;
  const takeUnlessStopping: Places['take'] = () => {
    if (isRefusing) throw new Error('This worker stops. Another one is to be told.');
    return take();
  };
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer(
    createEndpointHandler({
      services: services.map((name) => kickService(name, settings, takeUnlessStopping)),
      identityKeys: [...settings.identityKeys],
      logger: settings.logger,
    }),
  );
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => undefined);
    session.on('close', () => sessions.delete(session));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new GuardloopError(
          'CONFIG_INVALID',
          `restateEngine cannot listen at port ${settings.port} of ${settings.host}. Give a free \`port\`, or 0.`,
          { cause },
        ),
      ),
    );
    server.listen(settings.port, settings.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    refuse() {
      isRefusing = true;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.close();
        setTimeout(() => {
          for (const session of sessions) session.destroy();
        }, 1_000).unref();
      }),
  };
}
