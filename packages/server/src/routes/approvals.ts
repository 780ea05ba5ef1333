import type { z } from 'zod';
import type { Caller } from '../caller.js';
import { mayCaller } from '../caller.js';
import type { Decided } from '../decide.js';
import { decideFor } from '../decide.js';
import type { Call, Operation } from '../operation.js';
import { json, operation } from '../operation.js';
import { belongingOf, pageWithin, seenApproval } from '../own-records.js';
import { Problem } from '../problem.js';
import {
  approvalIdSchema,
  approvalSchema,
  approvalsPageSchema,
  approvalsQuerySchema,
  decidedSchema,
  decideSchema,
  waitingAnswerSchema,
} from '../schemas.js';
import { approvalView } from '../show.js';
import type { ApprovalView } from '../views.js';
import { waitingAnswer } from '../waiting-answer.js';

export function approvalOperations<U extends Caller>(): readonly Operation<U>[] {
  const params = { approval: approvalIdSchema };
  return [
    operation<U, typeof approvalsQuerySchema, z.ZodType>({
      id: 'listApprovals',
      method: 'GET',
      path: '/approvals',
      summary: 'Lists what people are asked, oldest first: what they may see of their own, or with `scope=tenant` of the tenant.',
      query: approvalsQuerySchema,
      answers: { 200: { description: 'Some of them.', schema: approvalsPageSchema } },
      handle: async (call) => {
        const { settings, caller, show } = call;
        const { scope, ...query } = call.query;
        const { items, next } = await pageWithin(call, {
          query: { ...query, ...(await belongingOf(call, scope, 'approvals')) },
          list: (asked) => settings.runs.approvals.list(asked),
          scope,
        });
        const views: ApprovalView[] = [];
        for (const approval of items) {
          if (!(await mayCaller(settings.authorize, { action: 'approval.read', approval }, caller))) continue;
          const mayDecide = await mayCaller(settings.authorize, { action: 'approval.decide', approval }, caller);
          views.push(approvalView(approval, { mayDecide, show, user: caller.user }));
        }
        return json({ items: views, ...(next === undefined ? {} : { next }) });
      },
    }),
    // Before the approval itself, whose id may have any number of steps.
    operation<U, z.ZodObject, typeof decideSchema>({
      id: 'decideApproval',
      method: 'POST',
      path: '/approvals/{approval+}/decision',
      summary: 'Decides, once. `digest` is that of the approval as the person saw it; who decides is who calls.',
      params,
      body: decideSchema,
      answers: { 200: { description: 'It is recorded, or was before by the very same decision.', schema: decidedSchema } },
      problems: [404, 409, 410, 422],
      handle: async (call) => {
        const { decision, digest } = call.body;
        const decided = await decideFor(call, { id: call.params.approval ?? '', decision, digest });
        return decidedResponse(call, decided);
      },
    }),
    operation<U, z.ZodObject, z.ZodType>({
      id: 'getWaitingAnswer',
      method: 'GET',
      path: '/approvals/{approval+}/answer',
      summary: 'The answer that waits for this approval, of surface `output`: for who may decide it, while nobody has.',
      params,
      answers: { 200: { description: 'The answer. Guardrails have not passed it.', schema: waitingAnswerSchema } },
      problems: [404, 410, 422, 501],
      handle: async (call) => json(await waitingAnswer(call, call.params.approval ?? '')),
    }),
    operation<U, z.ZodObject, z.ZodType>({
      id: 'getApproval',
      method: 'GET',
      path: '/approvals/{approval+}',
      summary: 'What a person is asked, word for word as it stands in the log.',
      params,
      answers: { 200: { description: 'The approval.', schema: approvalSchema } },
      problems: [404],
      handle: async (call) => {
        const { record, mayDecide } = await seenApproval(call, call.params.approval ?? '');
        return json(approvalView(record, { mayDecide, show: call.show, user: call.caller.user }));
      },
    }),
  ];
}

function decidedResponse<U extends Caller>({ show, caller }: Call<U>, decided: Decided): Response {
  const approval = approvalView(decided.approval, { mayDecide: false, show, user: caller.user });
  switch (decided.status) {
    case 'recorded':
      return json({ outcome: 'recorded', approval });
    case 'already':
      if (decided.same) return json({ outcome: 'already', same: true, approval });
      return problemWith('conflict', 'Somebody has decided otherwise before.', { outcome: 'already', approval });
    case 'late':
      return problemWith('gone', decided.why === 'expired' ? 'Its time is over.' : 'The run has ended, or asked anew, without it.', {
        outcome: 'late',
        why: decided.why,
        approval,
      });
    case 'altered':
      return problemWith('altered', 'Look at the approval as it is now, and decide on that.', { outcome: 'altered', approval });
    default:
      return decided satisfies never;
  }
}

function problemWith(kind: 'conflict' | 'gone' | 'altered', detail: string, more: object): Response {
  const { body } = new Problem(kind, { detail });
  return json({ ...body, ...more }, body.status, { 'content-type': 'application/problem+json' });
}
