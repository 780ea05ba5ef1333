import type { Equal, Shop } from '../define/shop.test-d.js';
import { billing, context, expectType, is, ownOrders } from '../define/shop.test-d.js';
import type { Guardrail, Subject } from '../define/types.js';
import type { Action, Log } from '../state/events.js';
import { compareVerdicts } from './compare-verdicts.js';
import { comparisonMarkdown } from './comparison-markdown.js';
import type { Comparison, GuardrailSet } from './types.js';

declare const log: Log;
declare const plain: Guardrail<unknown>;

export async function comparisons() {
  expectType<Comparison>()(await compareVerdicts(log, [plain]));
  await compareVerdicts([log, log], { agents: { billing: [plain] }, tools: { refund_order: [plain] } });
  await compareVerdicts(log, [ownOrders], { context });
  await compareVerdicts(log, [ownOrders, plain], { contextOf: (each, index) => (each.version === 1 && index > 0 ? context : context) });
  await compareVerdicts(log, { run: [plain], agents: { billing: [ownOrders] } }, { context, agent: billing });
  // @ts-expect-error a guardrail with a context needs it
  await compareVerdicts(log, [ownOrders]);
  // @ts-expect-error options alone do not give it
  await compareVerdicts(log, [ownOrders], { concurrency: 2 });
  // @ts-expect-error the context is of another kind
  await compareVerdicts(log, [ownOrders], { context: { userId: 7 } });
  // @ts-expect-error no such place
  await compareVerdicts(log, { agent: [plain] });
  // @ts-expect-error no such option
  await compareVerdicts(log, [plain], { recorded: 'both' });

  const { runs, expectations, surfaces } = await compareVerdicts(log, [plain], {
    expected: (subject, at) => {
      expectType<Subject>()(subject);
      return at.surface === 'output' ? 'deny' : undefined;
    },
  });
  is<Equal<NonNullable<(typeof runs)[number]['divergence']>['replayed']['action'], Action>>();
  expectType<number | undefined>()(expectations?.replayed.precision);
  expectType<number>()(surfaces.toolInput.changed);
  expectType<string>()(comparisonMarkdown(await compareVerdicts(log, []), { most: 5 }));
}

is<Equal<GuardrailSet<Shop>['run'], readonly Guardrail<Shop>[] | undefined>>();
