import type { StrictRules } from '@guardloop/core/model';

/**
 * The strict subset of the API, for tools and structured answers alike (https://developers.openai.com/api/docs/guides/structured-outputs,
 * "Supported schemas"). It takes no default, nothing beside a `$ref`, no pattern that looks around (vercel/ai#21037), and no alternatives that
 * begin with the same field unless that tells them apart (openai/openai-python#2193).
 */
const wide: StrictRules = {
  provider: 'OpenAI',
  root: 'object',
  absent: 'null',
  recursive: true,
  sameFirstField: false,
  keywords: ['pattern', 'multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems'],
  formats: ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'],
  limits: { depth: 10, properties: 5_000, enumValues: 1_000, chars: 120_000, longEnum: [250, 15_000] },
};

/**
 * The subset of Azure (https://learn.microsoft.com/azure/ai-foundry/openai/how-to/structured-outputs, "JSON Schema support and limitations")
 * and of fine-tuned models: the same types, but nothing that narrows a value, and less of everything.
 */
const narrow: StrictRules = {
  ...wide,
  keywords: [],
  formats: [],
  limits: { depth: 5, properties: 100, enumValues: 500, chars: 15_000, longEnum: [250, 7_500] },
};

/** Which strict subset a server has: that of OpenAI (true), the smaller one of Azure and of fine-tuned models, or none. */
export type StrictSchemas = boolean | 'narrow';

export function strictRules(subset: StrictSchemas): StrictRules | undefined {
  if (subset === 'narrow') return narrow;
  return subset ? wide : undefined;
}
