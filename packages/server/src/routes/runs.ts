import { z } from 'zod';
import type { Caller } from '../caller.js';
import { mayCaller } from '../caller.js';
import { runId } from '../ids.js';
import type { Call, Operation } from '../operation.js';
import { json, operation } from '../operation.js';
import { outcomeOf } from '../outcome.js';
import { belongingOf, pageWithin, seenRun } from '../own-records.js';
import { Problem } from '../problem.js';
import { placeOf, runStream } from '../run-stream.js';
import type { StartBody } from '../schemas.js';
import {
  cancelSchema,
  clientEventSchema,
  eventNumberSchema,
  nameSchema,
  outcomeSchema,
  runSchema,
  runsPageSchema,
  runsQuerySchema,
  startSchema,
} from '../schemas.js';
import { outcomeView, runView } from '../show.js';
import { startRun } from '../start-run.js';

const keySchema = z.string().regex(/^[\x21-\x7e]{1,200}$/);
const keyHeader = {
  'idempotency-key': { schema: keySchema, description: 'The same key again, from the same user, is the same run: it is started once.' },
};
const resultQuerySchema = z.strictObject({ waitMs: z.coerce.number().int().min(0).max(20_000).optional() });
const lastEventHeader = {
  'last-event-id': { schema: eventNumberSchema, description: 'Number of the last event that was seen: what follows it comes.' },
};

const longestInput = ({ maxParts }: { readonly maxParts: number }) => ({ input: maxParts });

async function started<U extends Caller>(call: Call<U, unknown, StartBody>): ReturnType<typeof startRun> {
  const key = call.request.headers.get('idempotency-key') ?? undefined;
  if (key !== undefined && !keySchema.safeParse(key).success)
    throw new Problem('bad-request', { detail: 'Idempotency-Key takes 1 to 200 letters, digits and signs.' });
  const { agent, input, session, unfinished } = call.body;
  return startRun(call, { agent, input, session, unfinished, id: key === undefined ? undefined : await runId(call.caller, 'key', key) });
}

export function runOperations<U extends Caller>(): readonly Operation<U>[] {
  const params = { run: nameSchema };
  return [
    operation<U, z.ZodObject, typeof startSchema>({
      id: 'startRun',
      method: 'POST',
      path: '/runs',
      summary: 'Starts a run. It goes on whether or not anybody watches.',
      headers: keyHeader,
      body: startSchema,
      longest: longestInput,
      answers: {
        201: { description: 'It was started.', schema: runSchema },
        200: { description: 'It was started before, under the same key.', schema: runSchema },
      },
      problems: [404, 422],
      handle: async (call) => {
        const { created, run } = await started(call);
        return json(runView(run, call.show), created ? 201 : 200, { location: `${new URL(call.request.url).pathname}/${run.id}` });
      },
    }),
    operation<U, z.ZodObject, typeof startSchema>({
      id: 'startAndStream',
      method: 'POST',
      path: '/runs/stream',
      summary: 'Starts a run and streams it. The header Guardloop-Run names it.',
      headers: { ...keyHeader, ...lastEventHeader },
      body: startSchema,
      longest: longestInput,
      answers: { 200: { description: 'The run as it goes on.', schema: clientEventSchema, isStream: true } },
      problems: [404, 422],
      handle: async (call) => {
        const after = placeOf(call.request, undefined);
        const { run } = await started(call);
        return runStream(call, run, after);
      },
    }),
    operation<U, typeof runsQuerySchema, z.ZodType>({
      id: 'listRuns',
      method: 'GET',
      path: '/runs',
      summary: 'Lists runs, latest first: their own, or with `scope=tenant` those of everybody in the tenant.',
      query: runsQuerySchema,
      answers: { 200: { description: 'Some of them.', schema: runsPageSchema } },
      handle: async (call) => {
        const { scope, ...query } = call.query;
        const { items, next } = await pageWithin(call, {
          query: { ...query, ...(await belongingOf(call, scope, 'runs')) },
          list: (asked) => call.settings.runs.list(asked),
          scope,
        });
        return json({ items: items.map((run) => runView(run, call.show)), ...(next === undefined ? {} : { next }) });
      },
    }),
    operation<U, z.ZodObject, z.ZodType>({
      id: 'getRun',
      method: 'GET',
      path: '/runs/{run}',
      summary: 'How a run stands.',
      params,
      answers: { 200: { description: 'The run.', schema: runSchema } },
      problems: [404],
      handle: async (call) => json(runView(await seenRun(call, call.params.run ?? ''), call.show)),
    }),
    operation<U, typeof resultQuerySchema, z.ZodType>({
      id: 'getResult',
      method: 'GET',
      path: '/runs/{run}/result',
      summary: 'How a run has ended. `waitMs` waits for it.',
      params,
      query: resultQuerySchema,
      answers: { 200: { description: 'Its end.', schema: outcomeSchema } },
      problems: [404, 409],
      handle: async (call) => {
        const { id } = await seenRun(call, call.params.run ?? '');
        const { runs, timeoutMs } = call.settings;
        const waitMs = Math.min(call.query.waitMs ?? 0, Math.floor(timeoutMs * 0.8));
        const outcome = outcomeOf(await runs.result(id, { waitMs, until: 'end', signal: call.request.signal }));
        if (outcome === undefined) throw new Problem('conflict', { detail: 'The run has not ended.' });
        return json(outcomeView(outcome, call.show));
      },
    }),
    operation<U, z.ZodObject<{ after: z.ZodOptional<typeof eventNumberSchema> }>, z.ZodType>({
      id: 'streamRun',
      method: 'GET',
      path: '/runs/{run}/events',
      summary: 'Streams a run from its beginning, or from behind the number that was seen last.',
      params,
      query: z.strictObject({ after: eventNumberSchema.optional() }),
      headers: lastEventHeader,
      answers: {
        200: { description: 'The run as it goes on.', schema: clientEventSchema, isStream: true },
        204: { description: 'It has ended, and all of it was seen.' },
      },
      problems: [404],
      handle: async (call) => {
        const after = placeOf(call.request, call.query.after);
        const run = await seenRun(call, call.params.run ?? '');
        // A browser that reconnects after the end would do so for ever; this status tells it to stop.
        if (after !== undefined && run.state === 'ended' && (await isSeen(call, run.id, after))) return new Response(null, { status: 204 });
        return runStream(call, run, after);
      },
    }),
    operation<U, z.ZodObject, typeof cancelSchema>({
      id: 'cancelRun',
      method: 'POST',
      path: '/runs/{run}/cancel',
      summary: 'Asks a run to end. It may take a moment; one that has ended stays as it is.',
      params,
      body: cancelSchema,
      answers: {
        202: { description: 'It was asked to end.', schema: runSchema },
        200: { description: 'It has ended already.', schema: runSchema },
      },
      problems: [404],
      handle: async (call) => {
        const { runs } = call.settings;
        const run = await seenRun(call, call.params.run ?? '');
        if (!(await mayCaller(call.settings.authorize, { action: 'run.cancel', run }, call.caller))) throw new Problem('not-allowed');
        if (run.state === 'ended') return json(runView(run, call.show));
        await runs.cancel(run.id, { reason: call.body.reason ?? 'The user cancelled it.' });
        const now = (await runs.status(run.id)) ?? run;
        return json(runView(now, call.show), now.state === 'ended' ? 200 : 202);
      },
    }),
  ];
}

async function isSeen<U extends Caller>(call: Call<U>, run: string, after: string): Promise<boolean> {
  for await (const _ of call.settings.runs.events(run, { after })) return false;
  return true;
}
