/** A server whose ways are known; {@link ChatDialect} says what each name stands for. */
export type ChatServer =
  | 'openai'
  | 'azure'
  | 'deepseek'
  | 'gemini'
  | 'groq'
  | 'litellm'
  | 'llamacpp'
  | 'lmstudio'
  | 'mistral'
  | 'ollama'
  | 'openrouter'
  | 'vllm';

/** A setting that a server may lack. */
export type LackedSetting =
  | 'temperature'
  | 'topP'
  | 'maxTokens'
  | 'parallelToolCalls'
  | 'stopSequences'
  | 'reasoning'
  | 'seed'
  | 'metadata';

/**
 * What a server that imitates the API does otherwise. The defaults are right for OpenAI itself. What a server refuses was looked up in the
 * public threads that the options name.
 */
export interface ChatDialect {
  /** Sets the options below as this server wants them (`openai`); an option that is given beside it goes over it. */
  readonly dialect?: ChatServer | undefined;
  /**
   * Field of the token limit (`max_completion_tokens`). Most imitators and older ones know only `max_tokens`, and some refuse the other
   * (Mistral: editor-code-assistant/eca#231).
   */
  readonly maxTokensField?: 'max_completion_tokens' | 'max_tokens' | undefined;
  /**
   * Asks for constrained decoding (`strict: true`) of answers, and of tools that leave it to `auto` or ask for it, whose schema can be said
   * in the API's strict subset without changing its meaning (true). `narrow` keeps to the smaller subset of Azure and of fine-tuned models.
   * With false no `strict` is ever sent, for servers that refuse the field (run-llama/llama_index#19121 of vLLM,
   * OpenRouterTeam/openrouter-examples#71 of Cohere) or take it for one kind of tools only (vercel/ai#19387 of DeepSeek).
   */
  readonly strictSchemas?: boolean | 'narrow' | undefined;
  /**
   * Role of the instructions (`system`, which OpenAI takes for all its models). `user` puts them into a first user message, for chat
   * templates without a system role (vllm-project/vllm#2964 of Gemma).
   */
  readonly systemRole?: 'system' | 'developer' | 'user' | undefined;
  /**
   * Asks for a usage chunk with `stream_options` (true). False for servers that refuse it (avante-corp/avante.nvim#2347 of Mistral); usage
   * is then what they send of their own accord, or stays unknown.
   */
  readonly streamUsage?: boolean | undefined;
  /**
   * How a structured answer is asked for (`json_schema`). `json_object` and `instructions` put the schema into the instructions, with and
   * without JSON mode, for servers without schemas (langchain-ai/langchain#29282 of DeepSeek); `json_schema` does so too for an answer that is
   * a union at its root or no object, which the API takes none of. Core validates the answer in any case.
   */
  readonly structuredOutput?: 'json_schema' | 'json_object' | 'instructions' | undefined;
  /** What `reasoning: 'off'` sends as `reasoning_effort` (`none`); `omit` sends nothing. */
  readonly reasoningOff?: 'none' | 'minimal' | 'omit' | undefined;
  /**
   * Sends back what a server's reasoning needs (false): `reasoning_content`, `reasoning`, `reasoning_details`, and extension fields of tool
   * calls such as `extra_content`; only to the server that sent them. Some refuse a request without them (earendil-works/pi#3636 of
   * DeepSeek, securo-finance/securo#884 of Gemini), others one with them (janhq/jan#8136 of Groq). OpenAI neither sends nor takes them.
   */
  readonly replayReasoning?: boolean | undefined;
  /**
   * Where a text begins with `<think>`, what stands up to `</think>` is reasoning (`tagged`); with `untagged` also where only the end is
   * written, because the chat template opens it. `text` (the default) takes everything as text.
   */
  readonly thinkTags?: 'text' | 'tagged' | 'untagged' | undefined;
  /** Ids of calls as OpenAI takes them (`any`: 1 to 40 of `[a-zA-Z0-9_-]`), or exactly 9 of `[a-zA-Z0-9]` (langchain-ai/langchain#24668 of Mistral). */
  readonly callIds?: 'any' | 'nine' | undefined;
  /**
   * `alternating` keeps the order of strict chat templates (vllm-project/vllm#6862, charmbracelet/crush#279 of Mistral): user and assistant
   * in turn after the instructions, no user directly after results, the last word not the assistant's. User messages in a row become one;
   * where a message is missing, a line of words stands in (`any`).
   */
  readonly roleOrder?: 'any' | 'alternating' | undefined;
  /** Content of an assistant message that has only calls (`null`). Some want text (pydantic/pydantic-ai#5206 of Ollama), some no field (sigoden/aichat#1326). */
  readonly callContent?: 'null' | 'empty' | 'omit' | undefined;
  /** What a user message may hold beside text (all). With an empty list content is always text; what is missing is told in words, with a warning. */
  readonly media?: readonly ('image' | 'audio' | 'file')[] | undefined;
  /**
   * How far a tool choice goes (`any`). With `words`, for servers that refuse the choice of one tool (lmstudio-ai/lmstudio-bug-tracker#670),
   * that tool alone is offered with `required`. With `auto`, for servers that take no choice, `none` offers no tools, the choice of one
   * tool offers that one, and that a call was wanted is lost, with a warning.
   */
  readonly toolChoice?: 'any' | 'words' | 'auto' | undefined;
  /** `declare` offers the tools of earlier calls with the choice `none` where a request offers none, for servers that refuse calls without tools (camel-ai/owl#532 of LiteLLM). Default `omit`. */
  readonly calledTools?: 'omit' | 'declare' | undefined;
  /** Field of `settings.seed` (`seed`); Mistral has `random_seed` (simonw/llm-mistral#2). */
  readonly seedField?: 'seed' | 'random_seed' | undefined;
  /**
   * OpenAI refuses metadata of what it does not store (tmc/langchaingo#1484), so `settings.metadata` is sent only where `settings.extra`
   * sets `store: true` (`stored`), and left out with a warning elsewhere. `always` is for servers that take it.
   */
  readonly metadata?: 'stored' | 'always' | undefined;
  /**
   * Settings that the server lacks (none). They are left out with a warning; `maxTokens` and `stopSequences` are bounds, and refused with
   * `CONFIG_INVALID` instead.
   */
  readonly lacks?: readonly LackedSetting[] | undefined;
}

/** The options, each with its value. */
export type Dialect = { readonly [K in Exclude<keyof ChatDialect, 'dialect'>]-?: Exclude<ChatDialect[K], undefined> };

const openai: Dialect = {
  maxTokensField: 'max_completion_tokens',
  strictSchemas: true,
  systemRole: 'system',
  streamUsage: true,
  structuredOutput: 'json_schema',
  reasoningOff: 'none',
  replayReasoning: false,
  thinkTags: 'text',
  callIds: 'any',
  roleOrder: 'any',
  callContent: 'null',
  media: ['image', 'audio', 'file'],
  toolChoice: 'any',
  calledTools: 'omit',
  seedField: 'seed',
  metadata: 'stored',
  lacks: [],
};

/** Only what is sure of every model behind the server; what hangs on a model or a chat template is an option of its own. */
const servers: { readonly [S in ChatServer]: Partial<Dialect> } = {
  openai: {},
  azure: { strictSchemas: 'narrow' },
  deepseek: {
    maxTokensField: 'max_tokens',
    strictSchemas: false,
    structuredOutput: 'json_object',
    replayReasoning: true,
    lacks: ['seed', 'metadata', 'parallelToolCalls'],
  },
  gemini: { strictSchemas: false, replayReasoning: true, lacks: ['seed', 'metadata'] },
  groq: { media: ['image'] },
  litellm: { metadata: 'always', calledTools: 'declare' },
  llamacpp: { maxTokensField: 'max_tokens', strictSchemas: false, lacks: ['metadata'] },
  lmstudio: { maxTokensField: 'max_tokens', strictSchemas: false, toolChoice: 'words', lacks: ['metadata'] },
  mistral: {
    maxTokensField: 'max_tokens',
    streamUsage: false,
    callIds: 'nine',
    roleOrder: 'alternating',
    seedField: 'random_seed',
    reasoningOff: 'omit',
    lacks: ['metadata'],
  },
  ollama: { maxTokensField: 'max_tokens', strictSchemas: false, lacks: ['metadata', 'parallelToolCalls'] },
  openrouter: { replayReasoning: true },
  vllm: { maxTokensField: 'max_tokens', strictSchemas: false, lacks: ['metadata'] },
};

/** The words that each option of several takes; for checks of what untyped callers give. */
export const dialectWords = {
  dialect: Object.keys(servers),
  maxTokensField: ['max_completion_tokens', 'max_tokens'],
  systemRole: ['system', 'developer', 'user'],
  structuredOutput: ['json_schema', 'json_object', 'instructions'],
  reasoningOff: ['none', 'minimal', 'omit'],
  thinkTags: ['text', 'tagged', 'untagged'],
  callIds: ['any', 'nine'],
  roleOrder: ['any', 'alternating'],
  callContent: ['null', 'empty', 'omit'],
  toolChoice: ['any', 'words', 'auto'],
  calledTools: ['omit', 'declare'],
  seedField: ['seed', 'random_seed'],
  metadata: ['stored', 'always'],
} as const satisfies { readonly [K in keyof ChatDialect]?: readonly string[] };

/** The words that each option with a list may hold. */
export const dialectLists = {
  media: openai.media,
  lacks: ['temperature', 'topP', 'maxTokens', 'parallelToolCalls', 'stopSequences', 'reasoning', 'seed', 'metadata'],
} as const satisfies { readonly [K in keyof ChatDialect]?: readonly string[] };

/** What a server is sent, from the options: those given, over those of its name, over those of OpenAI. */
export function dialectOf(options: ChatDialect): Dialect {
  const named = servers[options.dialect ?? 'openai'];
  const given = Object.fromEntries(
    Object.keys(openai).flatMap((name) => {
      const value = options[name as keyof Dialect];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
  return { ...openai, ...named, ...given };
}
