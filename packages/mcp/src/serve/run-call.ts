import type { Agent, Answer, Approval, Decision, JsonObject, RunEvent, RunResult } from '@guardloop/core';
import { resume, run } from '@guardloop/core';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { isObject } from '../client/json.js';
import { CallRefused } from './call-refused.js';
import type { DecideApproval, ServedCall, ServeSettings } from './types.js';

/** What a call brings along of its client. */
export interface ClientOfCall {
  /** Tells the client how far the run is; undefined where it does not want to know. */
  readonly progress: ((step: number, message: string) => void) | undefined;
  /** Asks the person at the client; undefined where the client cannot. */
  readonly askPerson: DecideApproval | undefined;
}

type RunAny = (agent: unknown, input: string, options: object) => Promise<RunResult>;
type ResumeAny = (agent: unknown, log: unknown, options: object) => PromiseLike<RunResult>;
const mostRounds = 100;

/**
 * One run for one call, to its end or to a question that nobody answers. Gives what may leave: a completed answer, or words of our own about
 * how it ended. Rejects with a {@link CallRefused} without anybody else's words.
 */
export async function runCall<C, A extends Answer>(
  agent: Agent<C, A>,
  options: ServeSettings<C>,
  { call, client }: { readonly call: ServedCall; readonly client: ClientOfCall },
): Promise<CallToolResult> {
  let context: C | undefined;
  try {
    context = await options.context?.(call);
  } catch (thrown) {
    notify(() => options.onError?.(thrown));
    throw new CallRefused(ErrorCode.InvalidRequest, 'The call was refused.');
  }
  const { observers = [], ...shared } = options.run ?? {};
  const settings = {
    ...shared,
    ...(options.context === undefined ? {} : { context }),
    observers: [...observers, ...(client.progress ? [tell(client.progress)] : [])],
    signal: call.signal,
  };
  const decide = decider(options, client);
  let result: RunResult;
  try {
    result = await (run as unknown as RunAny)(agent, call.input, settings);
    for (let round = 0; result.status === 'interrupted' && round < mostRounds; round += 1) {
      const decisions = await decideAll(result.approvals, { decide, call });
      if (decisions === undefined) break;
      result = await (resume as unknown as ResumeAny)(agent, result.log, { ...settings, decisions });
    }
  } catch (thrown) {
    notify(() => options.onError?.(thrown));
    throw new CallRefused(ErrorCode.InternalError, 'The agent could not be run.');
  }
  notify(() => options.onResult?.(result, call));
  return toCallResult(result);
}

/** Whoever is told may not change what the client gets. */
function notify(told: () => void): void {
  try {
    told();
  } catch {
    // It is not ours.
  }
}

/** Steps of the run, not words of it: nobody has judged those. */
function tell(progress: (step: number, message: string) => void): (event: RunEvent) => void {
  let step = 0;
  return ({ type }) => {
    if (type !== 'model.start' && type !== 'tool.start' && type !== 'tool.end') return;
    step += 1;
    progress(step, type === 'model.start' ? 'thinking' : 'using a tool');
  };
}

function decider<C>({ approvals = 'refuse' }: ServeSettings<C>, { askPerson }: ClientOfCall): DecideApproval | undefined {
  if (approvals === 'refuse') return undefined;
  return approvals === 'client' ? askPerson : approvals;
}

/** Undefined as soon as one is not decided: then the run goes no further. */
async function decideAll(
  approvals: readonly Approval[],
  { decide, call }: { readonly decide: DecideApproval | undefined; readonly call: ServedCall },
): Promise<Readonly<Record<string, Decision>> | undefined> {
  if (decide === undefined || approvals.length === 0) return undefined;
  const decisions: Record<string, Decision> = {};
  for (const approval of approvals) {
    if (call.signal.aborted) return undefined;
    const decision = await decide(approval, call);
    if (decision === undefined) return undefined;
    decisions[approval.id] = decision;
  }
  return decisions;
}

const failure = (text: string): CallToolResult => ({ isError: true, content: [{ type: 'text', text }] });

function toCallResult(result: RunResult): CallToolResult {
  switch (result.status) {
    case 'completed': {
      const content: CallToolResult['content'] = [{ type: 'text', text: result.text }];
      return isObject(result.output) ? { content, structuredContent: { ...(result.output as JsonObject) } } : { content };
    }
    case 'blocked':
      return failure(result.reply ?? 'This was refused.');
    case 'interrupted': {
      const tools = [...new Set(result.approvals.flatMap((approval) => ('tool' in approval ? [approval.tool] : [])))];
      const what = tools.length === 0 ? 'the answer' : tools.join(', ');
      return failure(`A person has to decide about ${what} before this can go on. It was not done. Ask whoever runs this server.`);
    }
    case 'exhausted':
      return failure([`The agent came to its limit of ${result.limit}.`, ...(result.text === undefined ? [] : [result.text])].join('\n'));
    case 'cancelled':
      return failure('The call was stopped.');
    case 'failed':
      return failure(`The agent failed (${result.error.code}).`);
    default:
      return result satisfies never;
  }
}
