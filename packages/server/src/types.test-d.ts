import type { QuarantineStore } from '@guardloop/core';
import type { DurableClient } from '@guardloop/durable';
import { expectTypeOf } from 'vitest';
import type { z } from 'zod';
import type {
  ApprovalView,
  Authorize,
  Caller,
  ClientEvent,
  OutcomeView,
  RunsService,
  RunView,
  SessionView,
  WaitingAnswerView,
} from './index.js';
import { anonymous, guardloopServer } from './index.js';
import type { approvalSchema, clientEventSchema, outcomeSchema, runSchema, sessionSchema, waitingAnswerSchema } from './schemas.js';

type Deep<T> = T extends readonly (infer E)[] ? readonly Deep<E>[] : T extends object ? { readonly [K in keyof T]: Deep<T[K]> } : T;
type Fields<E> = E extends { readonly type: infer T } ? { readonly type: T; readonly fields: keyof E } : never;
type Described<S extends z.ZodType> = Deep<z.output<S>>;

declare const runs: RunsService;
declare const client: DurableClient;
expectTypeOf(client).toExtend<RunsService>();

// What is described is what is given.
expectTypeOf<RunView>().toExtend<Described<typeof runSchema>>();
expectTypeOf<OutcomeView>().toExtend<Described<typeof outcomeSchema>>();
expectTypeOf<Omit<ApprovalView, 'approval'>>().toExtend<Omit<Described<typeof approvalSchema>, 'approval'>>();
expectTypeOf<SessionView>().toExtend<Described<typeof sessionSchema>>();
expectTypeOf<Fields<ClientEvent>>().toEqualTypeOf<Fields<Described<typeof clientEventSchema>>>();
expectTypeOf<keyof RunView>().toEqualTypeOf<keyof Described<typeof runSchema>>();
expectTypeOf<keyof OutcomeView>().toEqualTypeOf<keyof Described<typeof outcomeSchema>>();
expectTypeOf<keyof ApprovalView>().toEqualTypeOf<keyof Described<typeof approvalSchema>>();
expectTypeOf<keyof SessionView>().toEqualTypeOf<keyof Described<typeof sessionSchema>>();
expectTypeOf<WaitingAnswerView>().toExtend<Described<typeof waitingAnswerSchema>>();
expectTypeOf<keyof WaitingAnswerView>().toEqualTypeOf<keyof Described<typeof waitingAnswerSchema>>();
expectTypeOf<ClientEvent['type']>().toEqualTypeOf<Described<typeof clientEventSchema>['type']>();

interface Person extends Caller {
  readonly role: 'clerk' | 'boss';
}
declare const whoCalls: (request: Request) => Promise<Person | undefined>;
guardloopServer({
  runs,
  agents: { desk: { allow: (caller) => caller.role === 'boss', data: ({ user }) => ({ user }) } },
  authenticate: whoCalls,
  authorize: (question, caller) => (question.action === 'approval.decide' ? caller.role === 'boss' : undefined),
  rateLimit: ({ caller }) => (caller.role === 'clerk' ? { retryAfterMs: 5 } : undefined),
  show: (caller) => (caller.role === 'boss' ? 'internal' : 'client'),
});
guardloopServer({ runs, agents: { desk: {} }, authenticate: anonymous() });
declare const quarantine: QuarantineStore;
guardloopServer({ runs, agents: { desk: {} }, authenticate: anonymous(), quarantine });
// @ts-expect-error a store that gives nothing back
guardloopServer({ runs, agents: { desk: {} }, authenticate: anonymous(), quarantine: { put: quarantine.put } });
// @ts-expect-error nobody is let in by leaving it out
guardloopServer({ runs, agents: { desk: {} } });
// @ts-expect-error a caller has a name
guardloopServer({ runs, agents: { desk: {} }, authenticate: () => ({ role: 'boss' }) });
// @ts-expect-error no such protocol
guardloopServer({ runs, agents: { desk: {} }, authenticate: anonymous(), protocols: ['agui'] });
// @ts-expect-error a truthy answer is none
const loose: Authorize<Person> = () => 'yes';
expectTypeOf(loose).not.toBeAny();
