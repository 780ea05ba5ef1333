import { defineAgent, defineTool, run, withContext } from '@guardloop/core';
import type { Model } from '@guardloop/core/model';
import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import type { Telemetry } from './index.js';
import { otel } from './index.js';

declare const model: Model;
interface Shop {
  readonly shop: string;
}
const { defineTool: defineShopTool, defineAgent: defineShopAgent } = withContext<Shop>();

const telemetry = otel();
expectTypeOf(telemetry).toEqualTypeOf<Telemetry>();

// A tool keeps its name, input and context; the agent's context type stays as it was.
const plain = defineTool({ name: 'look', description: '', input: z.object({ n: z.number() }), execute: ({ n }) => n });
expectTypeOf(telemetry.tool(plain)).toEqualTypeOf<typeof plain>();
const ofShop = defineShopTool({ name: 'sell', description: '', input: z.object({}), execute: (_, { context }) => context.shop });
expectTypeOf(telemetry.tool(ofShop)).toEqualTypeOf<typeof ofShop>();
const agent = defineShopAgent({ name: 'a', instructions: '', model: telemetry.model(model), tools: [telemetry.tool(ofShop)] });
void run(agent, 'hi', { context: { shop: 's' }, observers: [telemetry, telemetry.under({ conversation: 's1' })] });
// @ts-expect-error the context is missing
void run(agent, 'hi', { observers: [telemetry] });
void run(defineAgent({ name: 'b', instructions: '', model }), 'hi', { observers: [telemetry] });

// @ts-expect-error contents are recorded through a redaction only
otel({ contents: {} });
// @ts-expect-error a redaction answers at once
otel({ contents: { redact: async (text) => text } });
// @ts-expect-error there are two places
otel({ parent: 'request' });
// @ts-expect-error a place is an object
telemetry.under('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
