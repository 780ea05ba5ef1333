import type { DurableClient } from '@guardloop/durable';
import { expectTypeOf } from 'vitest';
import type { Authorize, Caller, RunsService } from './index.js';
import { anonymous, guardloopServer } from './index.js';

declare const runs: RunsService;
declare const client: DurableClient;
expectTypeOf(client).toExtend<RunsService>();

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
// @ts-expect-error nobody is let in by leaving it out
guardloopServer({ runs, agents: { desk: {} } });
// @ts-expect-error a caller has a name
guardloopServer({ runs, agents: { desk: {} }, authenticate: () => ({ role: 'boss' }) });
// @ts-expect-error no such protocol
guardloopServer({ runs, agents: { desk: {} }, authenticate: anonymous(), protocols: ['agui'] });
// @ts-expect-error a truthy answer is none
const loose: Authorize<Person> = () => 'yes';
expectTypeOf(loose).not.toBeAny();
