// What goes in and out, once: these schemas check requests, make the OpenAPI description and give the types.
import type { JsonValue } from '@guardloop/core';
import { z } from 'zod';

/**
 * Schemas that the description names. A registry of our own: names in zod's global one would be those of the whole program, and another schema
 * of the same name, or this package loaded twice, would be a fault.
 */
export const named = z.registry<{ readonly id: string }>();

/** What is read as JSON is JSON. */
const anyJson = z.custom<JsonValue>((value) => value !== undefined);

/** Names of agents and sessions, ids of runs. */
export const nameSchema = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[A-Za-z0-9._~:@-]+$/);
/** Approval ids begin with a run's id and have one slash or more. */
export const approvalIdSchema = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[A-Za-z0-9._~:@/-]+$/);
const digestSchema = z.string().regex(/^[0-9a-f]{64}$/);
const base64Schema = z
  .string()
  .min(1)
  .regex(/^[A-Za-z0-9+/]+={0,2}$/);
const mediaTypeSchema = z
  .string()
  .max(100)
  .regex(/^[a-z]+\/[a-z0-9.+-]+$/);

const textPartSchema = z.strictObject({ type: z.literal('text'), text: z.string().min(1) });
const imagePartSchema = z.strictObject({ type: z.literal('image'), mediaType: mediaTypeSchema, data: base64Schema });
const filePartSchema = z.strictObject({
  type: z.literal('file'),
  mediaType: mediaTypeSchema,
  data: base64Schema,
  name: z.string().min(1).max(200).optional(),
});
/** What the user says. Parts carry their data: no addresses that somebody else would fetch. */
const partSchema = z.discriminatedUnion('type', [textPartSchema, imagePartSchema, filePartSchema], {
  error: "'text', 'image' or 'file'",
});
export const inputSchema = z.union([z.string().min(1), z.array(partSchema).min(1)], {
  error: "a text that is not empty, or a list of parts { type: 'text' | 'image' | 'file', … }",
});

export const startSchema = z
  .strictObject({
    agent: nameSchema,
    input: inputSchema,
    session: nameSchema.optional(),
    /** `abandon`: ends an earlier run of the session that waits for people. Left out: this run waits for that one. */
    unfinished: z.literal('abandon').optional(),
  })
  .register(named, { id: 'StartRun' });
const reasonText = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[ -~\u00a0-\uffff]*$/);
export const cancelSchema = z.strictObject({ reason: reasonText.optional() }).register(named, { id: 'CancelRun' });

const jsonObject = z.record(z.string(), anyJson);
const standing = { approve: z.literal('standing'), when: jsonObject.optional() };
const wholeNumber = z.number().int().positive();
export const decisionSchema = z
  .union(
    [
      z.literal('approve'),
      z.strictObject({ ...standing, forMs: wholeNumber.optional() }),
      z.strictObject({ ...standing, expiresAt: wholeNumber }),
      z.strictObject({ reject: z.string().max(10_000) }),
      z.strictObject({ edit: jsonObject }),
      z.strictObject({ result: anyJson }),
    ],
    { error: "'approve', { approve: 'standing', when?, forMs? or expiresAt? }, { reject: words }, { edit: input } or { result }" },
  )
  .register(named, { id: 'Decision' });
/** `digest` is that of the approval as the person saw it. Who decides is who calls. */
export const decideSchema = z.strictObject({ decision: decisionSchema, digest: digestSchema }).register(named, { id: 'Decide' });

const limitSchema = z.coerce.number().int().min(1).max(200).optional();
const pageQuery = { limit: limitSchema, after: z.string().min(1).max(2_000).optional(), scope: z.enum(['own', 'tenant']).optional() };
export const runStates = ['queued', 'running', 'waiting', 'ended'] as const;
export const runStatuses = ['completed', 'blocked', 'exhausted', 'cancelled', 'failed'] as const;
export const runsQuerySchema = z.strictObject({
  ...pageQuery,
  state: z.enum(runStates).optional(),
  session: nameSchema.optional(),
  agent: nameSchema.optional(),
});
export const approvalsQuerySchema = z.strictObject({
  ...pageQuery,
  state: z.enum(['open', 'decided', 'resolved', 'void']).optional(),
  session: nameSchema.optional(),
  run: nameSchema.optional(),
  tool: z.string().min(1).max(200).optional(),
  surface: z.enum(['toolInput', 'handoff', 'output']).optional(),
});
export const sessionsQuerySchema = z.strictObject({
  ...pageQuery,
  status: z.enum(['open', 'waiting', ...runStatuses]).optional(),
});
/** The number of an event, as durable runs give it: of the log, or inside the text that is being written. */
export const eventNumberSchema = z.string().regex(/^\d{1,15}(?::\d{1,15}:[0-9a-z]{1,7})?$/);

// ------------------------------------------------------------------------------------------------ answers
const time = z.number().int().meta({ description: 'Milliseconds since 1970.' });
export const outcomeSchema = z
  .object({
    status: z.enum(runStatuses),
    text: z.string().optional(),
    value: anyJson.optional(),
    reply: z.string().optional(),
    refusal: z.object({ by: z.string(), surface: z.string(), reason: z.string() }).optional(),
    limit: z.string().optional(),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
  })
  .register(named, { id: 'RunOutcome' });
export const runSchema = z
  .object({
    id: z.string(),
    session: z.string(),
    agent: z.string(),
    state: z.enum(runStates),
    status: z.enum(runStatuses).optional(),
    cancelling: z.boolean().optional(),
    createdAt: time,
    updatedAt: time,
    dueAt: time.optional(),
    queue: z.string().optional(),
    attempts: z.number().int().optional(),
    owner: z.string().optional(),
    trouble: z.object({ code: z.string(), message: z.string(), choices: z.array(z.string()) }).optional(),
  })
  .register(named, { id: 'Run' });
export const approvalSchema = z
  .object({
    id: z.string(),
    session: z.string(),
    run: z.string(),
    state: z.enum(['open', 'decided', 'resolved', 'void']),
    mayDecide: z.boolean(),
    approval: z.looseObject({
      id: z.string(),
      surface: z.enum(['toolInput', 'handoff', 'output']),
      digest: z.string(),
      revision: z.number().int(),
      agentPath: z.array(z.string()),
      reason: z.string(),
    }),
    requestedAt: time,
    expiresAt: time.optional(),
    decision: z.enum(['approve', 'standing', 'reject', 'edit', 'result']).optional(),
    decidedBy: z.string().optional(),
    decidedAt: time.optional(),
    owner: z.string().optional(),
  })
  .register(named, { id: 'Approval' });
export const decidedSchema = z
  .object({ outcome: z.enum(['recorded', 'already', 'late', 'altered']), same: z.boolean().optional(), approval: approvalSchema })
  .register(named, { id: 'Decided' });
export const waitingAnswerSchema = z
  .object({
    id: z.string(),
    digest: z.string(),
    text: z.string(),
    reasoning: z.string(),
    calls: z.array(z.object({ name: z.string(), input: anyJson.optional() })),
  })
  .register(named, { id: 'WaitingAnswer' });
export const sessionSchema = z
  .object({
    id: z.string(),
    run: z.string().optional(),
    agent: z.string().optional(),
    status: z.enum(['open', 'waiting', ...runStatuses]).optional(),
    events: z.number().int(),
    createdAt: time,
    updatedAt: time,
    expiresAt: time.optional(),
    owner: z.string().optional(),
  })
  .register(named, { id: 'Session' });
const pageOf = <T extends z.ZodType>(items: T, id: string) =>
  z.object({ items: z.array(items), next: z.string().optional() }).register(named, { id });
export const runsPageSchema = pageOf(runSchema, 'RunsPage');
export const approvalsPageSchema = pageOf(approvalSchema, 'ApprovalsPage');
export const sessionsPageSchema = pageOf(sessionSchema, 'SessionsPage');
export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string().optional(),
    errors: z.array(z.object({ path: z.string(), expected: z.string() })).optional(),
    outcome: z.enum(['already', 'late', 'altered']).optional(),
    why: z.enum(['void', 'expired']).optional(),
    approval: approvalSchema.optional(),
  })
  .register(named, { id: 'Problem' });

// ------------------------------------------------------------------------------------------------ the stream
/** What a stream shows: the name of the server-sent event is its `type`, its id the number to go on from. */
export const clientEventSchema = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('run.start'), run: z.string(), agent: z.string() }),
    z.object({ type: z.literal('text.delta'), turn: z.number().int(), text: z.string(), run: z.string().optional() }),
    z.object({ type: z.literal('text.retract'), turn: z.number().int(), chars: z.number().int(), run: z.string().optional() }),
    z.object({ type: z.literal('text.end'), turn: z.number().int(), run: z.string().optional() }),
    z.object({
      type: z.literal('tool.start'),
      callId: z.string(),
      tool: z.string(),
      input: anyJson.optional(),
      run: z.string().optional(),
    }),
    z.object({
      type: z.literal('tool.end'),
      callId: z.string(),
      tool: z.string(),
      status: z.enum(['ok', 'error', 'denied', 'rejected', 'aborted', 'unknown']),
      content: anyJson.optional(),
      run: z.string().optional(),
    }),
    z.object({
      type: z.literal('approval'),
      id: z.string(),
      surface: z.enum(['toolInput', 'handoff', 'output']),
      mayDecide: z.boolean(),
      approval: z.looseObject({ id: z.string() }).optional(),
    }),
    z.object({
      type: z.literal('approval.end'),
      id: z.string(),
      decision: z.enum(['approve', 'reject', 'edit', 'result', 'void']),
      by: z.string().optional(),
    }),
    z.object({ type: z.literal('handoff'), from: z.string(), to: z.string() }),
    z.object({
      type: z.literal('verdict'),
      guardrail: z.string(),
      surface: z.string(),
      subject: z.string(),
      action: z.string(),
      reason: z.string().optional(),
    }),
    z.object({ type: z.literal('run.end'), run: z.string(), outcome: outcomeSchema }),
  ])
  .register(named, { id: 'ClientEvent' });

export type StartBody = z.output<typeof startSchema>;
