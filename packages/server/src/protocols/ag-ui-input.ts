// What an AG-UI client sends (RunAgentInput of protocol 1.0). Of the conversation only the last message is taken, and only what a person
// says.
import type { Decision, RunInput } from '@guardloop/core';
import { z } from 'zod';
import { Problem } from '../problem.js';
import { inputSchema, nameSchema } from '../schemas.js';
import type { FrontEndAnswer } from './turns.js';
import { mostParts } from './turns.js';

const sourceSchema = z.looseObject({ type: z.string(), value: z.string(), mimeType: z.string().optional() });
const contentSchema = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.string(), text: z.string().optional(), source: sourceSchema.optional() })),
]);
const messageSchema = z.looseObject({ id: z.string().min(1).max(500), role: z.string(), content: z.unknown().optional() });
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
  .meta({ id: 'AgUiRunAgentInput' });
export type RunAgentInput = z.output<typeof runAgentInputSchema>;

/** What the person says now: the last message, which must be theirs. Earlier ones, results of tools, state and tools are left aside. */
export function agUiInput({ messages }: RunAgentInput): RunInput {
  const last = messages.at(-1);
  const misfit = (): Problem => new Problem('bad-body', { errors: [{ path: 'messages', expected: 'a message of the user at the end' }] });
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
    if (status === 'cancelled') return { seen, decision: { reject: '' } };
    const given = payloadSchema.safeParse(payload);
    if (!given.success)
      throw new Problem('bad-body', { errors: [{ path: 'resume.payload', expected: '{ approved, reason?, editedArgs? }' }] });
    const { approved, reason = '', editedArgs } = given.data;
    const yes: Decision = editedArgs === undefined ? 'approve' : { edit: editedArgs };
    return { seen, decision: approved ? yes : { reject: reason } };
  });
}
