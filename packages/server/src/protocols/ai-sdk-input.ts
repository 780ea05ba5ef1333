// What the AI SDK's DefaultChatTransport sends. Of the messages only the last is taken: what the person says, or answers to approvals and
// results of tools that the front end runs.
import type { JsonValue, RunInput } from '@guardloop/core';
import { z } from 'zod';
import { Problem } from '../problem.js';
import { inputSchema, named, nameSchema } from '../schemas.js';
import type { FrontEndAnswer } from './answers.js';
import { readSeenId } from './answers.js';
import { mostParts } from './turns.js';

const partSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  url: z.string().optional(),
  mediaType: z.string().optional(),
  filename: z.string().optional(),
  state: z.string().optional(),
  toolCallId: z.string().max(1_000).optional(),
  output: z.unknown().optional(),
  errorText: z.string().max(100_000).optional(),
  providerExecuted: z.boolean().optional(),
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
  .register(named, { id: 'AiSdkChatRequest' });
export type ChatRequest = z.output<typeof chatRequestSchema>;

const misfit = (expected: string): Problem => new Problem('bad-body', { errors: [{ path: 'messages', expected }] });

/** How a call ended that the front end ran. */
export type GivenResult = { readonly output: JsonValue } | { readonly errorText: string };
/** What is wanted: something said, under the message's id, or approvals answered and results given. */
export type ChatWish =
  | { readonly kind: 'say'; readonly message: string; readonly input: RunInput }
  | {
      readonly kind: 'answer';
      readonly answers: readonly FrontEndAnswer[];
      /** Ids of calls that the client has. */
      readonly known: ReadonlySet<string>;
      /** What it gives in this request, by the calls' ids. */
      readonly given: ReadonlyMap<string, GivenResult>;
    };

export function chatWish({ messages, trigger }: ChatRequest): ChatWish {
  // What was said stands in the log, and what it has done in the world: it is not unsaid.
  if (trigger === 'regenerate-message')
    throw new Problem('bad-body', {
      detail: 'An answer is not taken back: it stands in the conversation. Say in a new message that another one is wanted.',
      errors: [{ path: 'trigger', expected: 'submit-message' }],
    });
  const last = messages.at(-1);
  if (last === undefined || last.parts.length > mostParts) throw misfit(`a message of the user at the end, of at most ${mostParts} parts`);
  const parts = z.array(partSchema).safeParse(last.parts);
  if (!parts.success) throw misfit('a message of the user at the end');
  if (last.role === 'assistant') return answersIn(parts.data);
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

/**
 * Only answers count, and results of calls that this server has asked the front end to run. What a client claims for other calls is left
 * aside, as is what this server told it. Anything but a clear yes is a no; an error is a result too: guardrails judge it like any.
 */
function answersIn(parts: readonly z.output<typeof partSchema>[]): ChatWish {
  const answers: FrontEndAnswer[] = [];
  const known = new Set<string>();
  const given = new Map<string, GivenResult>();
  for (const part of parts) {
    const { state, approval, toolCallId } = part;
    if (toolCallId !== undefined) known.add(toolCallId);
    if (state === 'approval-responded' && approval !== undefined) {
      const { id: seen, approved, reason = '' } = approval;
      answers.push({ seen, decision: approved === true ? 'approve' : { reject: reason } });
    }
    const result = resultOf(part);
    if (toolCallId === undefined || result === undefined) continue;
    given.set(toolCallId, result);
    answers.push({
      seen: toolCallId,
      decision: { result: 'output' in result ? result.output : { error: result.errorText } },
      isResult: true,
    });
  }
  if (answers.length === 0)
    throw misfit('a message of the user, or answers to approvals or results of tools that the front end runs, at the end');
  return { kind: 'answer', answers, known, given };
}

function resultOf({
  state,
  toolCallId = '',
  providerExecuted,
  output,
  errorText = '',
}: z.output<typeof partSchema>): GivenResult | undefined {
  // `providerExecuted` marks what the server has told: the result is taken up, or the call is its own.
  if (providerExecuted === true || readSeenId(toolCallId) === undefined) return undefined;
  if (state === 'output-available') return { output: (output ?? null) as JsonValue };
  return state === 'output-error' ? { errorText } : undefined;
}
