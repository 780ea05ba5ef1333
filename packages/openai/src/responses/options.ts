import type { ModelSettings, Prices } from '@guardloop/core/model';
import {
  checkDefaultSettings,
  checkModelId,
  checkOptionNames,
  checkPrices,
  checkWholeNumber,
  clientOptionNames,
  optionFault,
} from '@guardloop/core/model';
import type { ClientOptions } from '../client.js';
import type { StrictSchemas } from '../wire/strict-schema.js';
import type { ProviderTool } from './provider-tools.js';
import type { ReasoningItems } from './replay.js';

/** Options of {@link openaiResponses}. */
export interface ResponsesOptions extends ClientOptions {
  /** Gives `usage.cost`. */
  readonly prices?: Prices | undefined;
  /** Defaults under the settings of agent and run. A tool choice is a matter of the agent. */
  readonly settings?: Omit<ModelSettings, 'toolChoice'> | undefined;
  /** Longest single event of a stream, in characters (8 Mi); a longer one is `MODEL_PROTOCOL`. */
  readonly maxEventChars?: number | undefined;
  /** Tools that the provider runs itself. No guardrail sees their calls: `coverage` lists them, and `strict` refuses them. */
  readonly providerTools?: readonly ProviderTool[] | undefined;
  /**
   * How reasoning goes back with the answer it belongs to. `encrypted` asks for encrypted content and sends it back; `plain` sends reasoning
   * items back as they came, for servers that give them in plain text; `none` asks for nothing and sends none. Left out, `none` for model ids
   * that are known not to reason (`gpt-4o`, `gpt-4.1`, `gpt-5-chat`), which refuse to be asked, and `encrypted` for any other.
   */
  readonly reasoningItems?: 'encrypted' | 'plain' | 'none' | undefined;
  /** Asks for summaries of the reasoning, which are then streamed as reasoning. */
  readonly reasoningSummary?: 'auto' | 'concise' | 'detailed' | undefined;
  /** What `reasoning: 'off'` sends as effort (`none`); `omit` sends nothing. */
  readonly reasoningOff?: 'none' | 'minimal' | 'omit' | undefined;
  /**
   * Sends tools and answers as strict whose schema can be said in the API's strict subset without changing its meaning (true). `narrow` keeps
   * to the smaller subset of Azure and of fine-tuned models; false is for servers that refuse strict schemas.
   */
  readonly strictSchemas?: StrictSchemas | undefined;
}

/** What shapes the requests of one model. */
export interface ResponsesDialect {
  readonly providerTools: readonly ProviderTool[];
  readonly reasoningItems: ReasoningItems;
  readonly reasoningSummary: ResponsesOptions['reasoningSummary'];
  readonly reasoningOff: 'none' | 'minimal' | 'omit';
  readonly strictSchemas: StrictSchemas;
}

export function responsesDialect(model: string, options: ResponsesOptions): ResponsesDialect {
  return {
    providerTools: options.providerTools ?? [],
    reasoningItems: options.reasoningItems ?? (neverReasons.test(model) ? 'none' : 'encrypted'),
    reasoningSummary: options.reasoningSummary,
    reasoningOff: options.reasoningOff ?? 'none',
    strictSchemas: options.strictSchemas ?? true,
  };
}

/** Families of OpenAI that do not reason, also behind a router's prefix or as a fine-tuned model. No new ones of these kinds will come. */
const neverReasons = /(?:^|[/:])(?:gpt-3\.5|gpt-4|chatgpt-4o|gpt-5-chat)(?:$|[-.o:])/;

const optionNames: { readonly [K in keyof ResponsesOptions]-?: true } = {
  ...clientOptionNames,
  prices: true,
  settings: true,
  maxEventChars: true,
  providerTools: true,
  reasoningItems: true,
  reasoningSummary: true,
  reasoningOff: true,
  strictSchemas: true,
};

const choices = {
  reasoningItems: ['encrypted', 'plain', 'none'],
  reasoningSummary: ['auto', 'concise', 'detailed'],
  reasoningOff: ['none', 'minimal', 'omit'],
} as const;

/** Throws `CONFIG_INVALID` for what no request could be made from. Answers with what opens the messages about the other options. */
export function checkResponsesOptions(model: string, options: ResponsesOptions): string {
  const where = checkModelId('openaiResponses', model, 'gpt-5');
  checkOptionNames(where, options, optionNames);
  checkPrices(where, options.prices);
  checkDefaultSettings(where, options.settings);
  checkWholeNumber(where, { maxEventChars: options.maxEventChars }, 1);
  for (const name of ['reasoningItems', 'reasoningSummary', 'reasoningOff'] as const) {
    const known: readonly string[] = choices[name];
    const value = options[name];
    if (value !== undefined && !known.includes(value)) throw optionFault(where, `${name} must be one of ${known.join(', ')}.`);
  }
  return where;
}
