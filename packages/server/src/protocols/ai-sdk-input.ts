// What the AI SDK's DefaultChatTransport sends. Of the messages only the last is taken: what the person says, or answers to approvals.
import type { RunInput } from '@guardloop/core';
import { z } from 'zod';
import { Problem } from '../problem.js';
import { inputSchema, nameSchema } from '../schemas.js';
import type { FrontEndAnswer } from './turns.js';
import { mostParts } from './turns.js';

const partSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  url: z.string().optional(),
  mediaType: z.string().optional(),
  filename: z.string().optional(),
  state: z.string().optional(),
  approval: z
    .looseObject({ id: z.string().max(1_000), approved: z.boolean().optional(), reason: z.string().max(10_000).optional() })
    .optional(),
});
const messageSchema = z.looseObject({ id: z.string().min(1).max(500), role: z.string(), parts: z.array(z.unknown()) });
export const chatRequestSchema = z
  .looseObject({
    id: nameSchema,
    messages: z.array(messageSchema).min(1),
    trigger: z.enum(['submit-message', 'regenerate-message']).optional(),
    messageId: z.string().optional(),
  })
  .meta({ id: 'AiSdkChatRequest' });
export type ChatRequest = z.output<typeof chatRequestSchema>;

const misfit = (expected: string): Problem => new Problem('bad-body', { errors: [{ path: 'messages', expected }] });

/** What is wanted: something said, under the message's id, or approvals answered. */
export type ChatWish =
  | { readonly kind: 'say'; readonly message: string; readonly input: RunInput }
  | { readonly kind: 'answer'; readonly answers: readonly FrontEndAnswer[] };

export function chatWish({ messages, trigger }: ChatRequest): ChatWish {
  // What was said stands in the log, and is not unsaid.
  if (trigger === 'regenerate-message') throw new Problem('bad-body', { errors: [{ path: 'trigger', expected: 'submit-message' }] });
  const last = messages.at(-1);
  if (last === undefined || last.parts.length > mostParts) throw misfit(`a message of the user at the end, of at most ${mostParts} parts`);
  const parts = z.array(partSchema).safeParse(last.parts);
  if (!parts.success) throw misfit('a message of the user at the end');
  if (last.role === 'assistant') return { kind: 'answer', answers: answersIn(parts.data) };
  if (last.role !== 'user') throw misfit('a message of the user at the end');
  const input = inputSchema.safeParse(parts.data.map(inputPart));
  if (!input.success) throw misfit('parts of text, or files with their data');
  return { kind: 'say', message: last.id, input: input.data };
}

function inputPart({ type, text, url, mediaType = '', filename }: z.output<typeof partSchema>): unknown {
  if (type === 'text') return { type, text };
  const data = /^data:[^,;]*;base64,(.*)$/s.exec(url ?? '')?.[1];
  if (type !== 'file' || data === undefined) throw misfit('parts of text, or files with their data');
  if (mediaType.startsWith('image/')) return { type: 'image', mediaType, data };
  return { type: 'file', mediaType, data, ...(filename === undefined ? {} : { name: filename }) };
}

/** Only answers count; results that a client claims for calls are left aside. Anything but a clear yes is a no. */
function answersIn(parts: readonly z.output<typeof partSchema>[]): readonly FrontEndAnswer[] {
  const answers = parts.flatMap(({ state, approval }): readonly FrontEndAnswer[] => {
    if (state !== 'approval-responded' || approval === undefined) return [];
    const { id: seen, approved, reason = '' } = approval;
    return [{ seen, decision: approved === true ? 'approve' : { reject: reason } }];
  });
  if (answers.length === 0) throw misfit('a message of the user, or answers to approvals, at the end');
  return answers;
}
