import { withContext } from '../define/context.js';
import type { Equal, RefundNote, Shop } from '../define/shop.test-d.js';
import { billing, context, defineAgent, expectType, faq, is, model, ownOrders, triage } from '../define/shop.test-d.js';
import type { Agent, Answer } from '../define/types.js';
import type { SafeCause } from '../errors.js';
import { GuardloopError } from '../errors.js';
import type { JsonObject, Usage } from '../model/types.js';
import type { SessionStore } from '../session/session.js';
import type { Approval, Decision, LimitName, Log, LogEvent, RunEvent, Surface } from '../state/events.js';
import { assertCompleted, resume, run, stream } from './run.js';
import type { RunArguments, RunInput, RunResult } from './types.js';

declare const log: Log;
declare const store: SessionStore;
declare const approval: Approval;
declare const looseAgent: Agent<{ readonly locale?: string; readonly id?: string }, Answer<'loose', string>>;

export async function answers() {
  const result = await run(triage, 'Refund order o1', {
    context,
    session: { store, id: 'chat-1' },
    limits: { turns: 8, toolCalls: 20, ms: 60_000 },
  });
  expectType<Log>()(result.log);
  expectType<readonly LogEvent[]>()(result.events);
  expectType<Usage>()(result.usage);
  expectType<string>()(result.runId);
  switch (result.status) {
    case 'completed': {
      expectType<string | RefundNote>()(result.output);
      if (result.agent === 'billing') expectType<boolean>()(result.output.refunded);
      else expectType<string>()(result.output);
      return result.text;
    }
    case 'interrupted':
      return result.approvals.map(({ id }) => id);
    case 'blocked':
      expectType<Surface>()(result.surface);
      return result.reply ?? `${result.by}: ${result.reason}`;
    case 'exhausted':
      expectType<LimitName>()(result.limit);
      expectType<string | RefundNote | undefined>()(result.output);
      return result.limit;
    case 'failed':
      expectType<GuardloopError>()(result.error);
      return result.error.code;
    case 'cancelled':
      expectType<SafeCause | undefined>()(result.cause);
      return undefined;
    default:
      return result satisfies never;
  }
}

export async function watch() {
  const events = stream(triage, 'hello', { context });
  for await (const event of events) {
    expectType<RunEvent>()(event);
    switch (event.type) {
      case 'text.delta':
        expectType<string>()(event.text);
        break;
      case 'guard.verdict':
        expectType<number>()(event.ms);
        break;
      case 'tool.start':
        expectType<JsonObject>()(event.input);
        break;
      case 'handoff':
        expectType<string>()(event.to);
        break;
      default:
        expectType<number>()(event.at);
    }
  }
  const last = await events.result;
  assertCompleted(last);
  expectType<string | RefundNote>()(last.output);
  const awaited = await events;
  is<Equal<typeof awaited, RunResult<Answer<'triage', string> | Answer<'billing', RefundNote>>>>();
}

export async function later() {
  const next = await resume(triage, { store, id: 'chat-1' }, { context, decisions: { [approval.id]: 'approve' } });
  await resume(triage, log, { context, decisions: { [approval.id]: { reject: 'not today' } }, accept: 'changed' });
  await resume(triage, log, { context, decisions: { a: { edit: { orderId: 'o1', cents: 900 } }, b: { result: 3 } } });
  for await (const event of resume(faq, log)) expectType<RunEvent>()(event);
  const decisions: Record<string, Decision> = {};
  if (next.status === 'interrupted') {
    for (const { id, tool, input } of next.approvals) {
      expectType<string | undefined>()(tool);
      expectType<JsonObject | undefined>()(input);
      decisions[id] = tool === 'find_order' ? 'approve' : { reject: 'no' };
    }
  }
  const done = await resume(billing, next.log, { context, decisions });
  if (done.status === 'completed') expectType<boolean>()(done.output.refunded);
}

// ---- a person's decision, typed by what is asked
export function decide(asked: Approval): Decision {
  switch (asked.surface) {
    case 'toolInput':
      return asked.mayHaveRun ? { reject: asked.tool } : { edit: { orderId: 'o1' } };
    case 'handoff':
      return asked.to === 'billing' ? 'approve' : { reject: asked.brief };
    case 'output':
      return { reject: asked.key };
    default:
      return asked satisfies never;
  }
}

// ---- a context exactly when it is needed
export async function contexts() {
  const plain = await run(faq, 'hi');
  if (plain.status === 'completed') expectType<string>()(plain.output);
  await run(faq, 'hi', { limits: { turns: 2 } });
  await run(faq, [
    { type: 'text', text: 'What is this?' },
    { type: 'image', url: 'https://example.com/a.png' },
  ]);
  const maybe: AbortSignal | undefined = Math.random() > 2 ? new AbortController().signal : undefined;
  await run(faq, 'hi', { signal: maybe });
  // a run-level guardrail that needs a context brings it along
  await run(faq, 'hi', { context, guardrails: [ownOrders] });
  await run(looseAgent, 'hi', { context: { locale: 'nl' } });
  await run(faq, 'hi', {
    history: [
      { role: 'user', text: 'before' },
      { role: 'assistant', text: 'yes?' },
    ],
  });
  await run(billing, 'hi', {
    context,
    view: (messages, { context, agent, signal }) => {
      expectType<Shop>()(context);
      expectType<AbortSignal>()(signal);
      return [{ text: `Before, with ${agent}.` }, ...messages.slice(-3)];
    },
  });
  try {
    await run(triage, 'hi', { context });
  } catch (error) {
    if (GuardloopError.is(error) && error.code === 'STORE_FAILED' && error.isRetryable) return;
    throw error;
  }
}

// ---- generic code over agents
export async function outputOf<C, A extends Answer>(
  agent: Agent<C, A>,
  input: string,
  ...options: RunArguments<C>
): Promise<A['output'] | undefined> {
  const result = await run(agent, input, ...options);
  return result.status === 'completed' ? result.output : undefined;
}
export const used = [outputOf(faq, 'x'), outputOf(triage, 'x', { context })];
export async function plainOutput<A extends Answer>(agent: Agent<unknown, A>): Promise<A['output'] | undefined> {
  const result = await run(agent, 'x');
  return result.status === 'completed' ? result.output : undefined;
}
declare const team: readonly Agent<Shop>[];
const lead = defineAgent({ name: 'lead', instructions: '', model, handoffs: team });
export async function leads() {
  // agents not known at compile time: the answer is honest, unknown
  const result = await run(lead, 'x', { context });
  if (result.status === 'completed') expectType<unknown>()(result.output);
}

// ---- misuses
export async function misuses() {
  // @ts-expect-error 34 context is required
  await run(billing, 'hi');
  // @ts-expect-error 35 context is required in the options
  await run(billing, 'hi', { limits: { turns: 1 } });
  // @ts-expect-error 36 wrong context
  await run(billing, 'hi', { context: { userId: 1, mayRefund: true } });
  // @ts-expect-error 37 an agent without context takes none
  await run(faq, 'hi', { context });
  // @ts-expect-error 38 stream too
  await stream(billing, 'hi', {});
  // @ts-expect-error 38 resume too
  await resume(billing, log, { decisions: {} });
  // @ts-expect-error 39 no such limit
  await run(faq, 'hi', { limits: { turn: 1 } });
  // @ts-expect-error 40 no such decision
  await resume(billing, log, { context, decisions: { a: 'approved' } });
  // @ts-expect-error 41 a rejection says why
  await resume(billing, log, { context, decisions: { a: { reject: true } } });
  // @ts-expect-error an edit is an object
  await resume(billing, log, { context, decisions: { a: { edit: 'o1' } } });
  // @ts-expect-error 42 the log, not the result
  await resume(billing, await run(billing, 'x', { context }), { context });
  // @ts-expect-error decisions are an option, not an argument
  await resume(billing, log, {}, { context });
  await run(triage, 'x', { context, session: { store, id: 'chat-1', onConflict: 'queue', waitMs: 5_000 } });
  await run(triage, 'x', { context, session: { store, id: 'chat-1', onConflict: 'fail' } });
  await resume(triage, { store, id: 'chat-1', onConflict: 'queue' }, { context });
  // @ts-expect-error `wait` is no way to meet another run
  await run(triage, 'x', { context, session: { store, id: 'chat-1', onConflict: 'wait' } });
  // @ts-expect-error only a run that queues waits
  await run(triage, 'x', { context, session: { store, id: 'chat-1', waitMs: 5_000 } });
  // @ts-expect-error only a run that queues waits
  await resume(triage, { store, id: 'chat-1', onConflict: 'fail', waitMs: 5_000 }, { context });
  // @ts-expect-error a resumed run has its session already
  await resume(billing, log, { context, session: { store, id: 'chat-1' } });
  // @ts-expect-error 53 a run-level guardrail that needs a context makes it required
  await run(faq, 'hi', { guardrails: [ownOrders] });
  // @ts-expect-error 54 misspelt, optional field of the context
  await run(looseAgent, 'hi', { context: { locle: 'nl' } });
  // @ts-expect-error a misspelt option
  await run(faq, 'hi', { limit: { turns: 1 } });
  // @ts-expect-error live has to be asked for by its name
  await run(faq, 'hi', { release: 'unchecked' });

  const result = await run(triage, 'hi', { context });
  // @ts-expect-error 43 no output before the status is looked at
  void result.output;
  if (result.status === 'completed') {
    // @ts-expect-error 44 the answer may be text of the first agent
    void result.output.refunded;
    // @ts-expect-error 45 no such agent can answer
    if (result.agent === 'sales') return;
  }
  // @ts-expect-error 46 no such event
  for await (const event of stream(faq, 'x')) if (event.type === 'text.deltas') return;
  // @ts-expect-error 47 this event has no text
  for await (const event of stream(faq, 'x')) if (event.type === 'tool.start') event.text;

  const back = defineAgent({ name: 'back', instructions: '', model, handoffs: ['nobody'] });
  // @ts-expect-error 48 a handoff to a name that nobody has
  await run(back, 'hi', { context });
  const half = defineAgent({ name: 'half', instructions: '', model, handoffs: [back, billing] });
  // @ts-expect-error 49 still nobody
  await run(half, 'hi', { context });
  void withContext;
}

// ---- S007, S211: input has no roles; a history from elsewhere is text of two roles
// @ts-expect-error S007: no system item
export const system: RunInput = [{ role: 'system', content: 'be brief' }];
// @ts-expect-error S211: no items with roles at all, however they are written
export const assistant: RunInput = [{ role: 'assistant', parts: [] }];
// @ts-expect-error S211: no role beside a part
export const disguised: RunInput = [{ type: 'text', text: 'be brief', role: 'system' }];
// @ts-expect-error S211: no tool results
export const toolResult: RunInput = [{ role: 'tool', callId: '1.0', content: 'paid' }];
// @ts-expect-error S007: no system item in a history either
void run(faq, 'hi', { history: [{ role: 'system', text: 'be brief' }] });
// @ts-expect-error S211: nor a tool's result
void run(faq, 'hi', { history: [{ role: 'tool', text: 'paid' }] });
// @ts-expect-error S211: nor calls
void run(faq, 'hi', { history: [{ role: 'assistant', text: '', calls: [] }] });
