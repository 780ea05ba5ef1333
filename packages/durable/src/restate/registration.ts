// Which worker Restate sends kicks to: the one that was registered last.
import { connect } from 'node:http2';
import { GuardloopError } from '@guardloop/core';
import type { RestateSettings } from './settings.js';

type Admin = Pick<RestateSettings, 'headers'> & { readonly adminUrl: string };

const requestMs = 10_000;
async function ask(
  admin: Admin,
  path: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly json: Record<string, unknown> }> {
  const response = await fetch(`${admin.adminUrl.replace(/\/$/, '')}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { accept: 'application/json', ...admin.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(requestMs),
  });
  const json: unknown = await response.json().catch(() => ({}));
  return { status: response.status, json: typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {} };
}

/** Tells Restate of this worker's address, and gives the deployment's id. Rejects with `STORE_FAILED`. */
export async function register(admin: Admin, uri: string): Promise<string> {
  let status: number | undefined;
  try {
    // `force`: the same address is read anew, and becomes the one that new calls go to. No call holds a journal that could break by it.
    const answer = await ask(admin, '/deployments', { uri, force: true });
    status = answer.status;
    if (status < 300 && typeof answer.json.id === 'string') return answer.json.id;
  } catch (cause) {
    throw new GuardloopError('STORE_FAILED', 'Restate cannot be reached at `adminUrl`, or does not answer.', { cause, isRetryable: true });
  }
  throw new GuardloopError(
    'STORE_FAILED',
    `Restate has not taken this worker's address (HTTP ${status}). It must reach the worker at \`advertiseUrl\`; and \`headers\` must let us in.`,
    { isRetryable: true },
  );
}

/** Whether something listens there. */
function answers(uri: string): Promise<boolean> {
  return new Promise((resolve) => {
    let session: ReturnType<typeof connect>;
    try {
      session = connect(uri);
    } catch {
      resolve(false);
      return;
    }
    const end = (isAnswering: boolean) => {
      clearTimeout(timer);
      session.destroy();
      resolve(isAnswering);
    };
    const timer = setTimeout(end, 2_000, false);
    session.on('error', () => end(false));
    session.once('connect', () => end(true));
  });
}

/** Whether the kicks of this service go to somebody who is there. Rejects if Restate does not answer. */
async function isServed(admin: Admin, service: string, own: string): Promise<boolean> {
  const { json } = await ask(admin, `/services/${service}`);
  const deployment = json.deployment_id;
  if (typeof deployment !== 'string') return false;
  if (deployment === own) return true;
  const { uri } = (await ask(admin, `/deployments/${deployment}`)).json;
  return typeof uri === 'string' && (await answers(uri));
}

const checkMs = 5_000;

/**
 * Registers this worker, and again when the one that was registered after it is gone, or Restate has forgotten it. Returns what ends it.
 * Rejects if the first registration fails.
 */
export async function stayRegistered(admin: Admin, services: readonly string[], uri: string): Promise<() => void> {
  let own = await register(admin, uri);
  const check = async () => {
    for (const service of services) {
      if (await isServed(admin, service, own)) continue;
      own = await register(admin, uri);
      return;
    }
  };
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const later = () => {
    timer = setTimeout(
      async () => {
        await check().catch(() => undefined);
        if (!isStopped) later();
      },
      checkMs * (1 + Math.random() / 5),
    );
  };
  later();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
