import type { z } from 'zod';
import type { Caller } from '../caller.js';
import type { Operation } from '../operation.js';
import { json, operation } from '../operation.js';
import { belongingOf, ownSession, pageWithin } from '../own-records.js';
import { Problem } from '../problem.js';
import { nameSchema, sessionSchema, sessionsPageSchema, sessionsQuerySchema } from '../schemas.js';
import { sessionView } from '../show.js';

export function sessionOperations<U extends Caller>(): readonly Operation<U>[] {
  const params = { session: nameSchema };
  return [
    operation<U, typeof sessionsQuerySchema, z.ZodType>({
      id: 'listSessions',
      method: 'GET',
      path: '/sessions',
      summary: 'Lists sessions, the last changed first.',
      query: sessionsQuerySchema,
      answers: { 200: { description: 'Some of them.', schema: sessionsPageSchema } },
      handle: async (call) => {
        const { scope, ...query } = call.query;
        const { items, next } = await pageWithin(call, {
          query: { ...query, ...(await belongingOf(call, scope, 'sessions')) },
          list: (asked) => call.settings.runs.store.sessions.list(asked),
          scope,
        });
        return json({ items: items.map((session) => sessionView(session, call.show)), ...(next === undefined ? {} : { next }) });
      },
    }),
    operation<U, z.ZodObject, z.ZodType>({
      id: 'getSession',
      method: 'GET',
      path: '/sessions/{session}',
      summary: 'How a session stands.',
      params,
      answers: { 200: { description: 'The session.', schema: sessionSchema } },
      problems: [404],
      handle: async (call) => json(sessionView(await ownSession(call, call.params.session ?? ''), call.show)),
    }),
    operation<U, z.ZodObject, z.ZodType>({
      id: 'deleteSession',
      method: 'DELETE',
      path: '/sessions/{session}',
      summary: 'Deletes a session with everything that was said, asked and queued in it.',
      params,
      answers: { 204: { description: 'It is gone.' } },
      problems: [404, 409],
      handle: async (call) => {
        const { runs } = call.settings;
        const { id } = await ownSession(call, call.params.session ?? '');
        const { items } = await runs.list({ session: id, state: 'running', limit: 1 });
        if (items.length > 0) throw new Problem('conflict', { detail: 'A run of it is at work. Cancel it first.' });
        await runs.store.sessions.delete(id);
        return new Response(null, { status: 204 });
      },
    }),
  ];
}
