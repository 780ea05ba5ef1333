import { Hono } from 'hono';
import type { BlankEnv, BlankSchema } from 'hono/types';
import { answer } from './answer.js';
import type { Caller } from './caller.js';
import { openApiDocument, openApiPath } from './openapi.js';
import type { Operation } from './operation.js';
import { json } from './operation.js';
import type { ServerOptions, Settings } from './options.js';
import { readOptions } from './options.js';
import { Problem, problemOf } from './problem.js';
import { agUiOperations } from './protocols/ag-ui-routes.js';
import { aiSdkOperations } from './protocols/ai-sdk-routes.js';
import { checkPlace, crossOrigin, secure } from './request-place.js';
import { approvalOperations } from './routes/approvals.js';
import { runOperations } from './routes/runs.js';
import { sessionOperations } from './routes/sessions.js';

/**
 * Durable runs over HTTP: an app of hono, whose `fetch` runs wherever requests and responses are the web's. Each user sees what is theirs,
 * and what is another's is not there. Throws CONFIG_INVALID.
 */
export function guardloopServer<U extends Caller>(options: ServerOptions<U>): Hono<BlankEnv, BlankSchema, '/'> {
  const settings = readOptions(options);
  const operations: readonly Operation<U>[] = [
    ...runOperations<U>(),
    ...approvalOperations<U>(),
    ...sessionOperations<U>(),
    ...(settings.protocols.has('ag-ui') ? agUiOperations<U>() : []),
    ...(settings.protocols.has('ai-sdk') ? aiSdkOperations<U>() : []),
  ];
  const document = openApiDocument(operations, settings);
  const streams = new Map<string, number>();
  const app = new Hono();

  // Whoever has left is told nothing, and what broke for it is no fault.
  app.onError((error, context) => {
    const response = failed(error, context.req.raw.signal.aborted ? { onError: () => undefined } : settings);
    secure(response.headers, settings);
    return response;
  });
  app.notFound(() => {
    const response = new Problem('not-found').response();
    secure(response.headers, settings);
    return response;
  });
  const watch = (path: string): void => {
    app.use(path, async (context, next) => {
      checkPlace(context.req.raw, settings);
      await next();
      secure(context.res.headers, settings);
    });
    if (settings.origins.length > 0) app.use(path, crossOrigin(settings.origins));
  };

  const { prefix } = settings;
  // What stands elsewhere in a larger app is not ours.
  if (prefix !== '') watch(`${prefix}/*`);
  else for (const path of [openApiPath, ...operations.map((made) => honoPath(made.path))]) watch(path);
  app.get(`${prefix}${openApiPath}`, () => json(document));
  allow(app, `${prefix}${openApiPath}`, ['GET']);
  // Path by path, as they stand: `/runs/stream` is no run.
  const paths = new Map<string, Operation<U>[]>();
  for (const made of operations) paths.set(made.path, [...(paths.get(made.path) ?? []), made]);
  for (const [form, those] of paths) {
    const path = `${prefix}${honoPath(form)}`;
    for (const made of those)
      app.on(made.method, path, async (context) => {
        const params = context.req.param() as Readonly<Record<string, string>>;
        return answer(context.req.raw, { made, params, settings, streams });
      });
    allow(
      app,
      path,
      those.map(({ method }) => method),
    );
  }
  return app;
}

/** hono's form of a path. Ids of approvals have slashes, which proxies like to decode. */
const honoPath = (path: string): string =>
  path.replaceAll(/\{(\w+)(\+?)\}/g, (_all, name, many) => (many === '' ? `:${name}` : `:${name}{.+}`));

/** Tells which methods a path has, where another one comes. */
function allow(app: Hono, path: string, methods: readonly string[]): void {
  const allowed = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
  app.all(path, (context) => {
    if (context.req.method === 'OPTIONS') return new Response(null, { status: 204, headers: { allow: allowed } });
    return new Problem('no-method', { headers: { allow: allowed } }).response();
  });
}

function failed(error: unknown, { onError }: Pick<Settings<Caller>, 'onError'>): Response {
  const problem = problemOf(error);
  if (problem !== error && problem.body.status >= 500) onError(error);
  return problem.response();
}
