import type { ModelSettings, Prices } from '@guardloop/core/model';
import { checkModelId, checkOptionNames, checkPrices, checkWholeNumber } from '@guardloop/core/model';
import type { ClientOptions } from '../client.js';

/** What a server that imitates the API does otherwise. The defaults are right for OpenAI itself. */
export interface ChatDialect {
  /** Field of the token limit (`max_completion_tokens`). Most imitators and older ones know only `max_tokens`. */
  readonly maxTokensField?: 'max_completion_tokens' | 'max_tokens' | undefined;
  /**
   * Asks for constrained decoding (`strict: true`) of tools and answers whose schema fits the API's strict subset as it is: every object
   * closed, every property required, no keyword outside the subset (true). A schema is never changed to fit; one that does not fit goes
   * without. With false no `strict` is ever sent, for servers that refuse the field.
   */
  readonly strictSchemas?: boolean | undefined;
  /** Role of the instructions (`system`, which OpenAI takes for all its models). */
  readonly systemRole?: 'system' | 'developer' | undefined;
  /** Asks for a usage chunk with `stream_options` (true). False for servers that refuse it; usage is then 0 where they send none. */
  readonly streamUsage?: boolean | undefined;
  /**
   * How a structured answer is asked for (`json_schema`). `json_object` and `instructions` put the schema into the instructions, with and
   * without JSON mode. Core validates the answer in any case.
   */
  readonly structuredOutput?: 'json_schema' | 'json_object' | 'instructions' | undefined;
  /** What `reasoning: 'off'` sends as `reasoning_effort` (`none`); `omit` sends nothing. */
  readonly reasoningOff?: 'none' | 'minimal' | 'omit' | undefined;
  /**
   * Sends back what a server's reasoning needs (false): `reasoning_content`, `reasoning`, `reasoning_details`, and extension fields of tool
   * calls such as `extra_content`. OpenAI neither sends nor takes them.
   */
  readonly replayReasoning?: boolean | undefined;
}

/** Options of {@link openai}. */
export interface ChatOptions extends ClientOptions, ChatDialect {
  /** Gives `usage.cost`. */
  readonly prices?: Prices | undefined;
  /** Defaults under the settings of agent and run. A tool choice is a matter of the agent. */
  readonly settings?: Omit<ModelSettings, 'toolChoice'> | undefined;
  /** Longest single event of a stream, in characters (8 Mi); a longer one is `MODEL_PROTOCOL`. */
  readonly maxEventChars?: number | undefined;
}

export type Dialect = { readonly [K in keyof ChatDialect]-?: Exclude<ChatDialect[K], undefined> };

export function dialectOf(options: ChatDialect): Dialect {
  return {
    maxTokensField: options.maxTokensField ?? 'max_completion_tokens',
    strictSchemas: options.strictSchemas ?? true,
    systemRole: options.systemRole ?? 'system',
    streamUsage: options.streamUsage ?? true,
    structuredOutput: options.structuredOutput ?? 'json_schema',
    reasoningOff: options.reasoningOff ?? 'none',
    replayReasoning: options.replayReasoning ?? false,
  };
}

const optionNames: { readonly [K in keyof ChatOptions]-?: true } = {
  client: true,
  apiKey: true,
  baseURL: true,
  maxRetries: true,
  timeoutMs: true,
  headers: true,
  fetch: true,
  transport: true,
  prices: true,
  settings: true,
  maxEventChars: true,
  maxTokensField: true,
  strictSchemas: true,
  systemRole: true,
  streamUsage: true,
  structuredOutput: true,
  reasoningOff: true,
  replayReasoning: true,
};

/** Throws `CONFIG_INVALID` for what no request could be made from. Answers with what opens the messages about the client's own options. */
export function checkChatOptions(model: string, options: ChatOptions): string {
  const where = checkModelId('openai', model, 'gpt-5');
  checkOptionNames(where, options, optionNames);
  checkPrices(where, options.prices);
  checkWholeNumber(where, { maxEventChars: options.maxEventChars }, 1);
  return where;
}
