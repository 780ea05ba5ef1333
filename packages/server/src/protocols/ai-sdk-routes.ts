import { z } from 'zod';
import type { Caller } from '../caller.js';
import { runId } from '../ids.js';
import type { Call, Operation } from '../operation.js';
import { operation } from '../operation.js';
import { nameSchema } from '../schemas.js';
import type { SseMessage } from '../sse.js';
import { offeredAgent, sessionOf, startRun } from '../start-run.js';
import { refuseWhileWaiting } from './ag-ui-routes.js';
import { UiMessageTranslator } from './ai-sdk-events.js';
import type { ChatWish } from './ai-sdk-input.js';
import { chatRequestSchema, chatWish } from './ai-sdk-input.js';
import { decideAll } from './answers.js';
import type { Leg } from './turns.js';
import { legOf, mostMessages } from './turns.js';

const resumeQuerySchema = z.strictObject({ ended: z.literal('replay').optional() });

/** The two addresses that a DefaultChatTransport uses: `api` itself, and `api/<chat>/stream` to come back. */
export function aiSdkOperations<U extends Caller>(): readonly Operation<U>[] {
  return [
    operation<U, z.ZodObject, typeof chatRequestSchema>({
      id: 'aiSdkChat',
      method: 'POST',
      path: '/ai/{agent}',
      summary: 'Starts a run, or answers what a run waits for, and streams it as a UI message stream of the AI SDK.',
      params: { agent: nameSchema },
      body: chatRequestSchema,
      longest: () => ({ messages: mostMessages }),
      isHistory: true,
      answers: { 200: { description: 'A UI message stream, protocol v1.', isStream: true } },
      problems: [404, 409, 410, 422],
      handle: async (call) => {
        const { agent = '' } = call.params;
        const { id: chat } = call.body;
        const wish = chatWish(call.body);
        const session = await sessionOf(call, chat);
        if (wish.kind === 'answer') {
          await offeredAgent(call, agent);
          return streamLeg(call, { session, leg: await decideAll(call, session, wish.answers), wish });
        }
        const id = await runId(call.caller, 'ai', agent, chat, wish.message);
        if ((await call.settings.runs.status(id)) === undefined) await refuseWhileWaiting(call, chat);
        const { run } = await startRun(call, { agent, input: wish.input, session: chat, id });
        return streamLeg(call, { session, leg: { run: run.id } });
      },
    }),
    operation<U, typeof resumeQuerySchema, z.ZodType>({
      id: 'aiSdkResume',
      method: 'GET',
      path: '/ai/{agent}/{chat}/stream',
      summary: 'Streams the last run of a chat from its beginning, if it has not ended; with `ended=replay` also then.',
      query: resumeQuerySchema,
      params: { agent: nameSchema, chat: nameSchema },
      answers: { 200: { description: 'A UI message stream, protocol v1.', isStream: true }, 204: { description: 'Nothing is under way.' } },
      problems: [404],
      handle: async (call) => {
        const { agent = '', chat = '' } = call.params;
        await offeredAgent(call, agent);
        const session = await sessionOf(call, chat);
        const { items } = await call.settings.runs.list({ session, limit: 1 });
        const [run] = items;
        const isOver = run?.state === 'ended' && call.query.ended === undefined;
        if (run === undefined || run.agent !== agent || isOver) return new Response(null, { status: 204 });
        return streamLeg(call, { session, leg: { run: run.id } });
      },
    }),
  ];
}

interface ChatLeg {
  readonly session: string;
  readonly leg: Leg;
  /** What the client answers with this leg. */
  readonly wish?: Extract<ChatWish, { readonly kind: 'answer' }> | undefined;
}

function streamLeg<U extends Caller>(call: Call<U>, { session, leg, wish }: ChatLeg): Response {
  const { run: root, answered } = leg;
  const make = new UiMessageTranslator({ root, session, show: call.show, answered, known: wish?.known, given: wish?.given });
  return call.stream(
    async function* (signal): AsyncGenerator<SseMessage> {
      for await (const piece of legOf(call, leg, { make, signal })) yield { data: JSON.stringify(piece) };
      if (!signal.aborted) yield { data: '[DONE]' };
    },
    { 'x-vercel-ai-ui-message-stream': 'v1', 'guardloop-run': leg.run },
  );
}
