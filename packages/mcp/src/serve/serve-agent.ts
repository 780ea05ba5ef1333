import type { Agent, Answer } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import { isWireName, suggest } from '@guardloop/core/model';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { CallExtra } from './ask-person.js';
import { personAtClient } from './ask-person.js';
import { CallRefused } from './call-refused.js';
import type { HttpOptions, ListenOptions } from './http-handler.js';
import { goneOf, httpHandler } from './http-handler.js';
import { runCall } from './run-call.js';
import type { Caller, ServeArguments, ServeSettings } from './types.js';

/** An agent that clients of the protocol can call. Each call is a run of its own. */
export interface AgentServer {
  /** Serves one client over any transport of the SDK. Resolves when it is connected. */
  connect(transport: Transport): Promise<void>;
  /** Serves the program that started this one, over standard input and output: nothing else may write there. Resolves when it is connected. */
  stdio(): Promise<void>;
  /** Streamable HTTP as a function from request to response, for a server of your own. */
  http(options: HttpOptions): (request: Request) => Promise<Response>;
  /** Streamable HTTP on a port of this machine, by Node. */
  listen(options?: ListenOptions): Promise<{ readonly url: string; close(): Promise<void> }>;
  /** Ends all sessions, and listens no more; their runs are cancelled, and requests that come later are refused. */
  close(): Promise<void>;
}
const optionNames = ['name', 'version', 'tool', 'context', 'run', 'approvals', 'approvalTimeoutMs', 'maxRuns', 'onResult', 'onError'];
const inputSchema = {
  type: 'object' as const,
  properties: { input: { type: 'string' as const, description: 'What the agent is asked to do, in words.' } },
  required: ['input'],
};

/**
 * Serves an agent, with all its guardrails and those in `run`: what they refuse does not leave, and a call that needs a person waits for one or
 * says so. Throws CONFIG_INVALID.
 */
export function serveAgent<C, A extends Answer>(agent: Agent<C, A>, ...[given]: ServeArguments<C>): AgentServer {
  const options: ServeSettings<C> = given ?? {};
  const { name, description } = checkServe(agent, options);
  const servers = new Set<Server>();
  const running = { count: 0 };

  const makeServer = (callerOf: () => Caller | undefined): Server => {
    const server = new Server({ name: options.name ?? agent.name, version: options.version ?? '1.0.0' }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name, description, inputSchema }] }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra): Promise<CallToolResult> => {
      if (params.name !== name)
        throw new CallRefused(ErrorCode.InvalidParams, `There is no such tool. The one there is is called ${name}.`);
      const input = params.arguments?.input;
      if (typeof input !== 'string' || Object.keys(params.arguments ?? {}).length > 1)
        throw new CallRefused(ErrorCode.InvalidParams, 'The arguments do not fit: input: expected string; nothing else.');
      if (running.count >= (options.maxRuns ?? 8))
        return { isError: true, content: [{ type: 'text', text: 'The agent is busy. Call again later.' }] };
      running.count += 1;
      try {
        const gone = goneOf(extra.authInfo);
        const signal = gone === undefined ? extra.signal : AbortSignal.any([extra.signal, gone]);
        const call = { input, caller: callerOf(), signal };
        const askPerson = personAtClient(server.getClientCapabilities(), extra, options.approvalTimeoutMs ?? 300_000);
        return await runCall(agent, options, { call, client: { progress: progressTo(extra), askPerson } });
      } finally {
        running.count -= 1;
      }
    });
    servers.add(server);
    server.onclose = () => servers.delete(server);
    return server;
  };

  const handlers = new Set<{ close(): Promise<void> }>();
  const listeners = new Set<{ close(): Promise<void> }>();
  const makeHandler = (http: HttpOptions): ReturnType<typeof httpHandler> => {
    const handler = httpHandler(makeServer, http);
    handlers.add(handler);
    return handler;
  };
  return Object.freeze({
    connect: (transport: Transport) => makeServer(() => undefined).connect(transport),
    stdio: async () => {
      const { stdioTransport } = await import('./stdio.js');
      await makeServer(() => undefined).connect(stdioTransport());
    },
    http: (http: HttpOptions) => makeHandler(http).handle,
    listen: async (listen: ListenOptions = {}) => {
      const { listenOn } = await import('./node-http.js');
      const listening = await listenOn(listen, makeHandler);
      listeners.add(listening);
      return listening;
    },
    close: async () => {
      for (const listening of listeners) await listening.close();
      for (const handler of handlers) await handler.close();
      for (const server of [...servers]) await server.close();
    },
  });
}

function progressTo({ _meta, sendNotification }: CallExtra): ((step: number, message: string) => void) | undefined {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress, message) => {
    sendNotification({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => undefined);
  };
}

function checkServe<C, A extends Answer>(
  agent: Agent<C, A>,
  options: ServeSettings<C>,
): { readonly name: string; readonly description: string } {
  const refuse = (what: string): never => {
    throw new GuardloopError('CONFIG_INVALID', `serveAgent ${what}`);
  };
  if (typeof (agent as Partial<Agent<C, A>> | null | undefined)?.name !== 'string')
    refuse('was given no agent. Give what `defineAgent` makes.');
  for (const option of Object.keys(options))
    if (!optionNames.includes(option))
      refuse(`has no option \`${option}\`. ${suggest(option, optionNames)}The options are ${optionNames.join(', ')}.`);
  const name = options.tool?.name ?? agent.name;
  if (!isWireName(name))
    refuse('would offer a tool whose name is not 1 to 64 letters, digits, underscores and hyphens. Give one in `tool.name`.');
  const description = options.tool?.description ?? agent.description;
  if (description === undefined || description.trim() === '')
    return refuse(`has no description of agent ${agent.name}. Give the agent one, or \`tool.description\`: clients choose by it.`);
  const { approvals } = options;
  if (approvals !== undefined && approvals !== 'refuse' && approvals !== 'client' && typeof approvals !== 'function')
    refuse(
      `has \`approvals\` that is neither 'refuse', 'client' nor a function. ${typeof approvals === 'string' ? suggest(approvals, ['refuse', 'client']) : ''}`.trimEnd(),
    );
  for (const option of ['context', 'onResult', 'onError'] as const)
    if (options[option] !== undefined && typeof options[option] !== 'function') refuse(`has \`${option}\` that is no function.`);
  const { maxRuns, approvalTimeoutMs } = options;
  if (approvalTimeoutMs !== undefined && !(Number.isSafeInteger(approvalTimeoutMs) && approvalTimeoutMs > 0 && approvalTimeoutMs < 2 ** 31))
    refuse('has `approvalTimeoutMs` that is no whole number from 1 to 2147483647.');
  if (maxRuns !== undefined && !(Number.isSafeInteger(maxRuns) && maxRuns > 0)) refuse('has `maxRuns` that is no whole number from 1 on.');
  return { name, description };
}
