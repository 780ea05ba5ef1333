// What an AG-UI client sends (RunAgentInput of protocol 1.0). Of the conversation only the last message is taken, and only what a person
// says, or results of tools that the front end runs.
import type { Decision, JsonValue, RunInput } from '@guardloop/core';
import { z } from 'zod';
import { Problem } from '../problem.js';
import { jsonIn } from '../read-body.js';
import { inputSchema, named, nameSchema } from '../schemas.js';
import type { FrontEndAnswer } from './answers.js';
import { readSeenId } from './answers.js';
import { mostParts } from './turns.js';

const sourceSchema = z.looseObject({ type: z.string(), value: z.string(), mimeType: z.string().optional() });
const contentSchema = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.string(), text: z.string().optional(), source: sourceSchema.optional() })),
]);
const messageSchema = z.looseObject({
  id: z.string().min(1).max(500),
  role: z.string(),
  content: z.unknown().optional(),
  toolCalls: z.unknown().optional(),
  toolCallId: z.unknown().optional(),
  error: z.unknown().optional(),
});
/** Of one request. */
export const mostAnswers = 100;
const resumeSchema = z.looseObject({
  interruptId: z.string().max(1_000),
  status: z.enum(['resolved', 'cancelled']),
  payload: z.unknown().optional(),
});
export const runAgentInputSchema = z
  .looseObject({
    threadId: nameSchema,
    runId: nameSchema,
    messages: z.array(messageSchema),
    resume: z.array(resumeSchema).min(1).max(mostAnswers).optional(),
  })
  .register(named, { id: 'AgUiRunAgentInput' });
export type RunAgentInput = z.output<typeof runAgentInputSchema>;

const endOfMessages = 'at the end a message of the user, or results of tools that the front end runs';

/** What the person says now: the last message, which must be theirs. Earlier ones, state and tools are left aside. */
export function agUiInput({ messages }: RunAgentInput): RunInput {
  const last = messages.at(-1);
  const misfit = (): Problem => new Problem('bad-body', { errors: [{ path: 'messages', expected: endOfMessages }] });
  if (last?.role !== 'user') throw misfit();
  if (Array.isArray(last.content) && last.content.length > mostParts) throw misfit();
  const content = contentSchema.safeParse(last.content);
  if (!content.success) throw misfit();
  const input = typeof content.data === 'string' ? content.data : content.data.map(partOf);
  const parsed = inputSchema.safeParse(input);
  if (!parsed.success) throw misfit();
  return parsed.data;
}

function partOf({ type, text, source }: Exclude<z.output<typeof contentSchema>, string>[number]): unknown {
  if (type === 'text') return { type, text };
  if (source?.type !== 'data')
    throw new Problem('bad-body', { errors: [{ path: 'messages', expected: 'parts of text, or with their data' }] });
  const { mimeType: mediaType, value: data } = source;
  return type === 'image' ? { type, mediaType, data } : { type: 'file', mediaType, data };
}

const payloadSchema = z.looseObject({
  approved: z.boolean(),
  reason: z.string().max(10_000).optional(),
  editedArgs: z.record(z.string(), z.unknown()).optional(),
});

/** The client's answers to interrupts. Anything but a clear yes is a no. */
export function agUiAnswers({ resume = [] }: RunAgentInput): readonly FrontEndAnswer[] {
  return resume.map(({ interruptId: seen, status, payload }) => {
    if (status === 'cancelled') return { seen, decision: { reject: '' }, isWithdrawn: true };
    const given = payloadSchema.safeParse(payload);
    if (!given.success)
      throw new Problem('bad-body', { errors: [{ path: 'resume.payload', expected: '{ approved, reason?, editedArgs? }' }] });
    const { approved, reason = '', editedArgs } = given.data;
    const yes: Decision = editedArgs === undefined ? 'approve' : { edit: editedArgs };
    return { seen, decision: approved ? yes : { reject: reason } };
  });
}

const textsSchema = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.literal('text'), text: z.string() })).transform((parts) => parts.map(({ text }) => text).join('')),
]);

/**
 * The results with which the conversation ends, of calls that this server has asked the front end to run; those of other calls are left
 * aside. An error is a result too: guardrails judge it like any.
 */
export function agUiResults({ messages }: RunAgentInput, { maxDepth }: { readonly maxDepth: number }): readonly FrontEndAnswer[] {
  const results = messages.slice(messages.findLastIndex(({ role }) => role !== 'tool') + 1);
  const answers = results.flatMap(({ toolCallId, content, error }): readonly FrontEndAnswer[] => {
    if (typeof toolCallId !== 'string' || readSeenId(toolCallId) === undefined) return [];
    const text = textsSchema.safeParse(content ?? '');
    if (!text.success) throw new Problem('bad-body', { errors: [{ path: 'messages', expected: 'results of tools as text' }] });
    const value = dataIn(text.data, maxDepth);
    const failed = typeof error === 'string' && error !== '' ? { error, ...(text.data === '' ? {} : { content: value }) } : undefined;
    return [{ seen: toolCallId, decision: { result: failed ?? value }, isResult: true }];
  });
  if (answers.length > mostAnswers)
    throw new Problem('bad-body', { errors: [{ path: 'messages', expected: `at most ${mostAnswers} results` }] });
  return answers;
}

/** Data travels as text in this protocol: what is an object or a list in JSON is one. */
function dataIn(text: string, maxDepth: number): JsonValue {
  const value = /^\s*[[{]/.test(text) ? jsonIn(text, maxDepth) : undefined;
  return value === undefined ? text : (value as JsonValue);
}

/** Calls that the client has, and those whose results it has, by the ids of the protocol: it is not told of them again. */
export function agUiKnown({ messages }: RunAgentInput): { readonly calls: ReadonlySet<string>; readonly results: ReadonlySet<string> } {
  const calls = new Set<string>();
  const results = new Set<string>();
  for (const { role, toolCalls, toolCallId } of messages) {
    if (role === 'tool' && typeof toolCallId === 'string') results.add(toolCallId);
    for (const call of Array.isArray(toolCalls) ? (toolCalls as readonly unknown[]) : []) {
      const id = typeof call === 'object' && call !== null && 'id' in call ? call.id : undefined;
      if (typeof id === 'string') calls.add(id);
    }
  }
  return { calls, results };
}
