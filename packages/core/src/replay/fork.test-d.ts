import type { Shop } from '../define/shop.test-d.js';
import { billing, context, expectType } from '../define/shop.test-d.js';
import type { Agent } from '../define/types.js';
import type { Log } from '../state/events.js';
import { fork } from './fork.js';
import { forkLog } from './fork-log.js';
import { replay } from './replay-run.js';

declare const log: Log;
declare const plain: Agent<unknown, { readonly agent: 'plain'; readonly output: string }>;

export async function forks() {
  expectType<Log>()(forkLog(log, { turn: 2 }, { runId: 'f' }));
  const result = await fork(plain, log, { at: 3, limits: { turns: 2 } });
  if (result.status === 'completed') expectType<string>()(result.output);
  expectType<Shop>()(context);
  await fork(billing, log, { at: { turn: 1 }, context, input: 'Again.' });
  // @ts-expect-error an agent with a context needs it
  await fork(billing, log, { at: 3 });
  // @ts-expect-error a fork has a place
  await fork(plain, log, { limits: { turns: 2 } });
  // @ts-expect-error decisions are given to resume
  await fork(plain, log, { at: 3, decisions: {} });
  for (const { run } of replay(log)) expectType<number>()(run.left.turns);
}
