import type { JsonObject, ModelRequest, ModelSettings, ToolSpec } from '@guardloop/core/model';
import { GuardloopError, namesByWire, wellFormed, wellFormedText, wireName, wireToolSchema } from '@guardloop/core/model';
import type OpenAI from 'openai';
import { fitsStrictSubset } from '../wire/strict-schema.js';
import type { Dialect } from './options.js';
import type { WireMessage } from './transcript.js';
import { chatProvider, Transcripts } from './transcript.js';

export type ChatBody = OpenAI.Chat.ChatCompletionCreateParamsStreaming;

/** A request as it is sent, with what is needed to read its answer. */
export interface PreparedRequest {
  readonly body: ChatBody;
  /** Tool names by their wire names, where the two differ or not. */
  readonly names: ReadonlyMap<string, string>;
  /** The token limit that was sent. */
  readonly maxTokens: number | undefined;
}

interface OfferedTools {
  readonly wire: readonly OpenAI.Chat.ChatCompletionFunctionTool[];
  readonly names: ReadonlyMap<string, string>;
}

/** Fields that `extra` may not set: they belong to the conversation, or would let in what no guardrail sees. */
const reservedFields = new Set([
  'model',
  'messages',
  'stream',
  'n',
  'tools',
  'tool_choice',
  'functions',
  'function_call',
  'response_format',
  'web_search_options',
  'audio',
  'modalities',
]);

/** Makes the requests of one model; keeps the wire form of items and tool lists between them. */
export class RequestMaker {
  readonly #model: string;
  readonly #dialect: Dialect;
  readonly #transcripts: Transcripts;
  readonly #tools = new WeakMap<readonly ToolSpec[], OfferedTools>();

  constructor(model: string, dialect: Dialect) {
    this.#model = model;
    this.#dialect = dialect;
    this.#transcripts = new Transcripts(dialect);
  }

  make(request: ModelRequest, settings: ModelSettings): PreparedRequest {
    const { wire: tools, names } = this.#offered(request.tools);
    const extra = extraFields(settings);
    const limit = 'max_tokens' in extra || 'max_completion_tokens' in extra ? {} : { [this.#dialect.maxTokensField]: settings.maxTokens };
    const fields = {
      model: this.#model,
      messages: this.#messages(request),
      stream: true,
      stream_options: this.#dialect.streamUsage ? { include_usage: true } : undefined,
      ...(tools.length === 0 ? {} : { tools, tool_choice: toolChoice(request, names), parallel_tool_calls: settings.parallelToolCalls }),
      response_format: this.#responseFormat(request),
      temperature: settings.temperature,
      top_p: settings.topP,
      ...limit,
      stop:
        settings.stopSequences === undefined || settings.stopSequences.length === 0
          ? undefined
          : settings.stopSequences.map(wellFormedText),
      reasoning_effort: this.#reasoningEffort(settings.reasoning),
      ...extra,
    };
    const body = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as unknown as ChatBody;
    return { body, names, maxTokens: settings.maxTokens };
  }

  #messages(request: ModelRequest): WireMessage[] {
    const messages: WireMessage[] = [];
    const system = this.#systemText(request);
    if (system !== '') messages.push({ role: this.#dialect.systemRole, content: system });
    for (const message of this.#transcripts.encode(request.messages)) messages.push(message);
    if (request.note !== undefined && request.note !== '') messages.push({ role: 'user', content: wellFormedText(request.note) });
    return messages;
  }

  #systemText(request: ModelRequest): string {
    const system = wellFormedText(request.system);
    if (request.output === undefined || this.#dialect.structuredOutput === 'json_schema') return system;
    const wanted = `Answer with one JSON object that fits this JSON Schema, and with nothing else:\n${JSON.stringify(wellFormed(request.output.schema))}`;
    return system === '' ? wanted : `${system}\n\n${wanted}`;
  }

  #offered(specs: readonly ToolSpec[]): OfferedTools {
    let offered = this.#tools.get(specs);
    if (offered === undefined) {
      offered = { wire: specs.map((spec) => this.#wireTool(spec)), names: namesByWire(specs.map((spec) => spec.name)) };
      this.#tools.set(specs, offered);
    }
    return offered;
  }

  #wireTool(spec: ToolSpec): OpenAI.Chat.ChatCompletionFunctionTool {
    const isStrict = this.#dialect.strictSchemas && fitsStrictSubset(spec.schema);
    return {
      type: 'function',
      function: {
        name: wireName(spec.name),
        ...(spec.description === '' ? {} : { description: wellFormedText(spec.description) }),
        parameters: wellFormed(isStrict ? spec.schema : wireToolSchema(spec.schema).schema) as Record<string, unknown>,
        ...(isStrict ? { strict: true } : {}),
      },
    };
  }

  #responseFormat(request: ModelRequest): ChatBody['response_format'] {
    if (request.output === undefined || this.#dialect.structuredOutput === 'instructions') return undefined;
    if (this.#dialect.structuredOutput === 'json_object') return { type: 'json_object' };
    const { name, schema } = request.output;
    return {
      type: 'json_schema',
      json_schema: {
        name: wireName(name),
        schema: wellFormed(schema) as Record<string, unknown>,
        ...(this.#dialect.strictSchemas ? { strict: fitsStrictSubset(schema) } : {}),
      },
    };
  }

  #reasoningEffort(reasoning: ModelSettings['reasoning']): string | undefined {
    if (typeof reasoning === 'object') {
      throw invalid('settings.reasoning is a token budget, which Chat Completions does not have. Give it as low, medium or high.');
    }
    if (reasoning !== 'off') return reasoning;
    return this.#dialect.reasoningOff === 'omit' ? undefined : this.#dialect.reasoningOff;
  }
}

function toolChoice(request: ModelRequest, names: ReadonlyMap<string, string>): ChatBody['tool_choice'] {
  const choice = request.toolChoice;
  if (typeof choice !== 'object') return choice;
  const name = wireName(choice.tool);
  if (!names.has(name)) throw invalid(`The tool choice names ${choice.tool}, which agent ${request.agent} does not offer in this turn.`);
  return { type: 'function', function: { name } };
}

function extraFields(settings: ModelSettings): JsonObject {
  const extra = settings.extra?.[chatProvider];
  if (extra === undefined) return {};
  const reserved = Object.keys(extra).filter((field) => reservedFields.has(field));
  if (reserved.length > 0) {
    throw invalid(
      `settings.extra['${chatProvider}'] sets ${reserved.join(', ')}, which the adapter makes itself or does not let through. Use the settings of agent and run.`,
    );
  }
  return wellFormed(extra) as JsonObject;
}

function invalid(message: string): GuardloopError {
  return new GuardloopError('CONFIG_INVALID', message);
}
