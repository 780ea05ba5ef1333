import type { ErrorClass, JsonObject, JsonValue, ToolInfo } from '@guardloop/core';
import { toolError } from '@guardloop/core';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Connection } from './connection.js';
import { RequestFailure, toToolError } from './failure.js';
import { errorWords, outputOf, readCallResult } from './result-content.js';
import { oneLine, showName } from './show-text.js';

const resultSchema = z.looseObject({});
const mostErrorChars = 4_000;
const mostStep = 1_000_000;
/** Of one call: a server may send as many as it likes. */
const mostTold = 1_000;

export interface CalledTool {
  readonly serverName: string;
  readonly name: string;
  readonly isRepeatable: boolean;
  /** Rejects, with a `toolError`, where the tool may not be called as the server has it now. */
  readonly check: (signal: AbortSignal) => Promise<void>;
  /** Says what in a structured result does not fit what the server declared; undefined where it fits. Left out: the server declared nothing. */
  readonly misfit: ((structured: JsonValue) => string | undefined) | undefined;
}

/** Calls a tool of a server. Gives what core takes as a result; every failure is thrown as a `toolError`. */
export async function callTool(
  connection: Connection,
  { serverName, name, isRepeatable, check, misfit }: CalledTool,
  { input, info }: { readonly input: JsonObject; readonly info: Pick<ToolInfo, 'signal' | 'progress'> },
): Promise<unknown> {
  let given: JsonObject;
  await check(info.signal);
  try {
    const request = { method: 'tools/call', params: { name, arguments: input } };
    given = (await connection.request(request, resultSchema, {
      signal: info.signal,
      onprogress: steps(info),
      isRepeatable,
      beforeRetry: () => check(info.signal),
    })) as JsonObject;
  } catch (thrown) {
    if (thrown instanceof RequestFailure) throw toToolError(thrown, isRepeatable);
    if (thrown instanceof Error && 'errorClass' in thrown) throw thrown;
    throw readError(thrown, serverName);
  }
  const result = readCallResult(given);
  if (result.isError) {
    const words = readable(serverName, () => errorWords(result, mostErrorChars));
    throw toolError(words, { errorClass: 'failed', ...(isRepeatable ? { retryable: true } : {}) });
  }
  if (misfit) {
    if (result.structured === undefined)
      throw toolError(`it ran, but server ${serverName} gave no structured result, which it declares`, { errorClass: 'bad_result' });
    const fault = misfit(result.structured);
    if (fault !== undefined)
      throw toolError(`it ran, but its result does not have the form that server ${serverName} declares: ${fault}`, {
        errorClass: 'bad_result',
      });
  }
  return readable(serverName, () => outputOf(result));
}

/** What is nested so deep that it cannot be written out is no result. */
function readable<T>(serverName: string, read: () => T): T {
  try {
    return read();
  } catch {
    throw toolError(`it ran, but server ${serverName} gave a result that cannot be read`, { errorClass: 'bad_result' });
  }
}

/** A server's words about its progress are judged by nobody, so only how far it is is told: a whole number, once each. */
function steps(info: Pick<ToolInfo, 'progress'>): (progress: { readonly progress: number }) => void {
  let last = -1;
  let told = 0;
  return ({ progress }) => {
    const step = Math.floor(progress);
    if (!(step > last && step <= mostStep) || told >= mostTold) return;
    last = step;
    told += 1;
    info.progress(step);
  };
}

const classes: ReadonlyMap<number, ErrorClass> = new Map<number, ErrorClass>([
  [-32_601, 'not_found'],
  [-32_602, 'invalid_input'],
  [-32_002, 'not_found'],
]);
/** A page that a person would have to open. */
const needsPage = -32_042;

/** What the server answered in place of a result, or an answer that is none. */
function readError(thrown: unknown, serverName: string): Error {
  if (!(thrown instanceof McpError))
    return toolError(`server ${serverName} gave a result that cannot be read. It ran.`, { errorClass: 'bad_result' });
  if (thrown.code === needsPage)
    return toolError(`server ${serverName} wants a person to open a page first, which this client does not ask for`, {
      errorClass: 'unavailable',
    });
  const errorClass = classes.get(thrown.code) ?? 'failed';
  const said = oneLine(thrown.message.replace(/^(?:MCP error -?\d+: )+/, ''), mostErrorChars);
  return toolError(said === '' ? `server ${serverName} answered with error ${showName(String(thrown.code))}` : said, {
    errorClass,
    retryable: errorClass === 'invalid_input',
  });
}
