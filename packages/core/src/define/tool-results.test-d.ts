import { z } from 'zod';
import { headTail } from '../project/head-tail.js';
import { jsonFields } from '../project/json-fields.js';
import { withDetails } from './detailed.js';
import { partial } from './partial.js';
import type { Equal, Shop } from './shop.test-d.js';
import { defineTool, expectType, is } from './shop.test-d.js';
import { toolError } from './tool-error.js';
import type { Projection, Tool } from './types.js';

const base = { name: 'find', description: '', input: z.object({ page: z.number() }), flow: { effect: 'read' } } as const;

// ---- parts: `output` and `project` are about the part, also with details around it, and beside failures
export const find = defineTool({
  ...base,
  output: z.array(z.object({ orderId: z.string() })),
  execute: async ({ page }) => {
    if (page > 9) throw toolError('no such page');
    if (page > 1) return partial([{ orderId: 'o' }], { summary: 'One of many.', more: 'Call again.' });
    return page > 0 ? [{ orderId: 'o' }] : withDetails(partial([{ orderId: 'o' }], { summary: 'One of many.' }), { page });
  },
  project: (orders, { arguments: names }) => {
    expectType<string | undefined>()(orders[0]?.orderId);
    expectType<ReadonlySet<string>>()(names);
    return String(orders.length);
  },
});
defineTool({
  ...base,
  execute: () => withDetails(partial([{ orderId: 'o' }], { summary: 'One of many.' }), 1),
  project: (orders) => {
    expectType<{ orderId: string }[]>()(orders);
    return '';
  },
});
is<Equal<typeof find, Tool<Shop, 'find', { page: number }, never>>>();
defineTool({ ...base, execute: () => partial({ orderId: 'o' }, { summary: '' }), project: jsonFields({ keep: ['orderId'] }) });
// @ts-expect-error -- the part has no such field
defineTool({ ...base, execute: () => partial({ orderId: 'o' }, { summary: '' }), project: jsonFields({ keep: ['order'] }) });
// @ts-expect-error -- the part does not fit
defineTool({ ...base, output: z.object({ orderId: z.number() }), execute: () => partial({ orderId: 'o' }, { summary: '' }) });
// @ts-expect-error -- it says what it is a part of
partial(1, { more: 'Call again.' });

// ---- what the agent's tools ask for fits every tool
is<Equal<ReturnType<typeof ofArguments>, Projection>>();
const ofArguments = () => jsonFields({ keep: 'arguments', maxChars: 500 });
defineTool({ ...base, execute: () => ({ orderId: 'o' }), project: ofArguments() });
defineTool({ ...base, execute: () => 'text', project: headTail({ maxChars: 5 }) });
// @ts-expect-error -- a list, or `arguments`
jsonFields({ keep: 'orderId' });

// ---- retries
defineTool({ ...base, execute: () => 1, retry: { attempts: 3, backoffMs: 50, maxBackoffMs: 500, on: ['timeout', 'unavailable'] } });
defineTool({ ...base, execute: () => 1, retry: {} });
// @ts-expect-error -- no class of failures
defineTool({ ...base, execute: () => 1, retry: { on: ['unavailble'] } });
// @ts-expect-error -- no such option
defineTool({ ...base, execute: () => 1, retry: { tries: 3 } });
// @ts-expect-error -- a number
defineTool({ ...base, execute: () => 1, retry: 3 });
