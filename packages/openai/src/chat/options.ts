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
import type { ChatDialect } from './dialect.js';
import { dialectLists, dialectWords } from './dialect.js';

/** Options of {@link openai}. */
export interface ChatOptions extends ClientOptions, ChatDialect {
  /** Gives `usage.cost`. */
  readonly prices?: Prices | undefined;
  /** Defaults under the settings of agent and run. A tool choice is a matter of the agent. */
  readonly settings?: Omit<ModelSettings, 'toolChoice'> | undefined;
  /** Longest single event of a stream, in characters (8 Mi); a longer one is `MODEL_PROTOCOL`, and so is an answer of more than 16 times that. */
  readonly maxEventChars?: number | undefined;
}

const optionNames: { readonly [K in keyof ChatOptions]-?: true } = {
  ...clientOptionNames,
  prices: true,
  settings: true,
  maxEventChars: true,
  dialect: true,
  maxTokensField: true,
  strictSchemas: true,
  systemRole: true,
  streamUsage: true,
  structuredOutput: true,
  reasoningOff: true,
  replayReasoning: true,
  thinkTags: true,
  callIds: true,
  roleOrder: true,
  callContent: true,
  media: true,
  toolChoice: true,
  calledTools: true,
  seedField: true,
  metadata: true,
  lacks: true,
};

/** Throws `CONFIG_INVALID` for what no request could be made from. Answers with what opens the messages about the client's own options. */
export function checkChatOptions(model: string, options: ChatOptions): string {
  const where = checkModelId('openai', model, 'gpt-5');
  checkOptionNames(where, options, optionNames);
  checkPrices(where, options.prices);
  checkDefaultSettings(where, options.settings);
  checkWholeNumber(where, { maxEventChars: options.maxEventChars }, 1);
  for (const [name, words] of Object.entries(dialectWords)) checkWord(where, name, { value: options[name as keyof ChatOptions], words });
  for (const [name, words] of Object.entries(dialectLists)) {
    const value: unknown = options[name as keyof typeof dialectLists];
    if (value === undefined) continue;
    if (!Array.isArray(value)) throw optionFault(where, `${name} must be a list of ${words.join(', ')}.`);
    for (const entry of value as readonly unknown[]) checkWord(where, `each entry of ${name}`, { value: entry, words });
  }
  return where;
}

function checkWord(where: string, name: string, { value, words }: { readonly value: unknown; readonly words: readonly string[] }): void {
  if (value !== undefined && !(typeof value === 'string' && words.includes(value)))
    throw optionFault(where, `${name} must be one of ${words.join(', ')}.`);
}
