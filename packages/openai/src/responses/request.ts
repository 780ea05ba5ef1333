import type { JsonObject, JsonValue, ModelRequest, ModelSettings, OfferedSchema, StrictRules, ToolSpec } from '@guardloop/core/model';
import {
  answerForm,
  answerInWords,
  GuardloopError,
  namesByWire,
  offeredSchema,
  wellFormed,
  wellFormedText,
  wireName,
} from '@guardloop/core/model';
import type OpenAI from 'openai';
import { strictRules } from '../wire/strict-schema.js';
import type { ResponsesDialect } from './options.js';
import type { Warning } from './parts.js';
import { isObject } from './replay.js';
import type { WireItem } from './transcript.js';
import { responsesProvider, Transcripts } from './transcript.js';

type ResponsesBody = OpenAI.Responses.ResponseCreateParamsStreaming;

/** A request as it is sent, with what is needed to read its answer. */
export interface PreparedRequest {
  readonly body: ResponsesBody;
  readonly headers: ModelSettings['headers'];
  /** Tool names by their wire names, where the two differ or not. */
  readonly names: ReadonlyMap<string, string>;
  /** What was dropped or changed of this request and of items that it sends for the first time. */
  readonly warnings: readonly Warning[];
  /** What not every model takes, for the error should the provider refuse the request. */
  readonly demands: readonly string[];
}

interface OfferedTools {
  readonly wire: readonly OpenAI.Responses.Tool[];
  readonly names: ReadonlyMap<string, string>;
}

/**
 * Fields that `extra` may not set: they belong to the conversation, would let in what no guardrail sees, or would have the provider keep what
 * a guardrail refused or a view left out.
 */
const reservedFields = new Set([
  'model',
  'input',
  'instructions',
  'stream',
  'store',
  'previous_response_id',
  'conversation',
  'background',
  'background_options',
  'prompt',
  'context_management',
  'truncation',
  'tools',
  'tool_choice',
]);
/** The API wants something to answer. */
const nothing: WireItem = { type: 'message', role: 'user', content: '(Nothing was said yet.)' };
/** The least that the API takes. */
const leastOutputTokens = 16;

/** Makes the requests of one model; keeps the wire form of items and tool lists between them. */
export class RequestMaker {
  readonly #model: string;
  readonly #dialect: ResponsesDialect;
  readonly #rules: StrictRules | undefined;
  readonly #transcripts: Transcripts;
  readonly #tools = new WeakMap<readonly ToolSpec[], OfferedTools>();
  #toolWarnings: Warning[] = [];

  /** `server` names the server that the requests go to. */
  constructor(model: string, dialect: ResponsesDialect, server: string) {
    this.#model = model;
    this.#dialect = dialect;
    this.#rules = strictRules(dialect.strictSchemas);
    this.#transcripts = new Transcripts({ reasoning: dialect.reasoningItems, server });
  }

  /** Throws `CONFIG_INVALID` for what the API does not have and may not be left out, `INTERNAL` for a history that no request can hold. */
  make(request: ModelRequest, settings: ModelSettings): PreparedRequest {
    const { wire: tools, names } = this.#offered(request.tools);
    const { format, words } = this.#answer(request);
    const { include, text, ...extra } = extraFields(settings);
    checkBounds(settings);
    const fields = {
      model: this.#model,
      instructions: instructions(request.system, words),
      input: this.#input(request),
      stream: true,
      store: false,
      include: this.#include(include),
      ...(tools.length === 0 ? {} : { tools, tool_choice: toolChoice(request, names), parallel_tool_calls: settings.parallelToolCalls }),
      text: textField(format, text),
      reasoning: this.#reasoning(settings.reasoning),
      max_output_tokens: settings.maxTokens,
      temperature: settings.temperature,
      top_p: settings.topP,
      metadata: wellFormed(settings.metadata),
      ...extra,
    };
    const toolWarnings = this.#toolWarnings;
    this.#toolWarnings = [];
    return {
      body: Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as unknown as ResponsesBody,
      headers: settings.headers,
      names,
      warnings: [...settingWarnings(settings), ...toolWarnings, ...this.#transcripts.takeWarnings()],
      demands: this.#demands(request, settings),
    };
  }

  #input(request: ModelRequest): WireItem[] {
    const input = [...this.#transcripts.encode(request.messages)];
    if (request.note !== undefined && request.note !== '')
      input.push({ type: 'message', role: 'user', content: wellFormedText(request.note) });
    return input.length > 0 ? input : [nothing];
  }

  #include(more: JsonValue | undefined): readonly JsonValue[] | undefined {
    const own = this.#dialect.reasoningItems === 'encrypted' ? ['reasoning.encrypted_content'] : [];
    const wanted: readonly JsonValue[] = Array.isArray(more) ? (more as readonly JsonValue[]) : [];
    const all = [...new Set([...own, ...wanted])];
    return all.length === 0 ? undefined : all;
  }

  #offered(specs: readonly ToolSpec[]): OfferedTools {
    let offered = this.#tools.get(specs);
    if (offered === undefined) {
      const wire = [...specs.map((spec) => this.#wireTool(spec)), ...this.#dialect.providerTools];
      offered = { wire, names: namesByWire(specs.map((spec) => spec.name)) };
      this.#tools.set(specs, offered);
    }
    return offered;
  }

  #wireTool(spec: ToolSpec): OpenAI.Responses.FunctionTool {
    const offered = offeredSchema(spec, this.#rules);
    this.#toolWarnings.push(...offered.changes.map((message): Warning => ({ type: 'warning', about: 'schema', message })));
    return wireTool(spec, offered);
  }

  /** The field that asks for a structured answer, or the instruction where no field can. */
  #answer({ output }: ModelRequest): { readonly format?: JsonObject; readonly words?: string } {
    if (output === undefined) return {};
    const { schema, isStrict } = answerForm(output.schema, this.#rules);
    if (schema === undefined) return { words: answerInWords(output.schema) };
    return { format: { type: 'json_schema', name: wireName(output.name), schema: wellFormed(schema), strict: isStrict } };
  }

  #reasoning(wanted: ModelSettings['reasoning']): JsonObject | undefined {
    const effort = this.#effort(wanted);
    const summary = this.#dialect.reasoningSummary;
    if (effort === undefined && summary === undefined) return undefined;
    return { ...(effort === undefined ? {} : { effort }), ...(summary === undefined ? {} : { summary }) };
  }

  #effort(wanted: ModelSettings['reasoning']): string | undefined {
    if (typeof wanted === 'object') {
      throw invalid('settings.reasoning is a token budget, which the Responses API does not have. Give it as low, medium or high.');
    }
    if (wanted !== 'off') return wanted;
    return this.#dialect.reasoningOff === 'omit' ? undefined : this.#dialect.reasoningOff;
  }

  #demands(request: ModelRequest, settings: ModelSettings): readonly string[] {
    const demands: readonly (readonly [boolean, string])[] = [
      [this.#dialect.reasoningItems === 'encrypted', "encrypted reasoning (option reasoningItems: 'none')"],
      [settings.reasoning !== undefined, 'a reasoning effort'],
      [this.#dialect.reasoningSummary !== undefined, 'reasoning summaries'],
      [settings.temperature !== undefined || settings.topP !== undefined, 'temperature or topP'],
      [request.output !== undefined, 'an answer that fits a schema'],
    ];
    return demands.flatMap(([isMade, what]) => (isMade ? [what] : []));
  }
}

function instructions(system: string, words: string | undefined): string | undefined {
  const text = [wellFormedText(system), words ?? ''].filter((part) => part !== '').join('\n\n');
  return text === '' ? undefined : text;
}

/** `strict` is always said: left out, this API would make the schema strict itself, and change what it means. */
function wireTool({ name, description }: ToolSpec, { schema, isStrict }: OfferedSchema): OpenAI.Responses.FunctionTool {
  return {
    type: 'function',
    name: wireName(name),
    ...(description === '' ? {} : { description: wellFormedText(description) }),
    parameters: wellFormed(schema) as Record<string, unknown>,
    strict: isStrict,
  };
}

function textField(format: JsonObject | undefined, more: JsonValue | undefined): JsonObject | undefined {
  if (format === undefined && more === undefined) return undefined;
  return { ...(isObject(more) ? more : {}), ...(format === undefined ? {} : { format }) };
}

function toolChoice(request: ModelRequest, names: ReadonlyMap<string, string>): ResponsesBody['tool_choice'] {
  const choice = request.toolChoice;
  if (typeof choice !== 'object') return choice;
  const name = wireName(choice.tool);
  if (!names.has(name)) throw invalid(`The tool choice names ${choice.tool}, which agent ${request.agent} does not offer in this turn.`);
  return { type: 'function', name };
}

/** What the API lacks and would lift a bound that the user set, if it were left out. */
function checkBounds({ stopSequences, maxTokens }: ModelSettings): void {
  if (stopSequences !== undefined && stopSequences.length > 0)
    throw invalid('settings.stopSequences are set, which the Responses API does not have. Take them out, or use Chat Completions.');
  if (maxTokens !== undefined && !(Number.isSafeInteger(maxTokens) && maxTokens >= leastOutputTokens))
    throw invalid(`settings.maxTokens must be a whole number from ${leastOutputTokens}, the least that the Responses API takes.`);
}

function settingWarnings({ seed }: ModelSettings): readonly Warning[] {
  if (seed === undefined) return [];
  return [{ type: 'warning', about: 'setting', message: 'seed was left out: the Responses API does not have it.' }];
}

function extraFields(settings: ModelSettings): JsonObject {
  const extra = settings.extra?.[responsesProvider];
  if (extra === undefined) return {};
  const reserved = Object.keys(extra).filter((field) => reservedFields.has(field));
  if (isObject(extra.text) && extra.text.format !== undefined) reserved.push('text.format');
  if (reserved.length > 0) {
    throw invalid(
      `settings.extra['${responsesProvider}'] sets ${reserved.join(', ')}, which the adapter makes itself or does not let through: state at the provider would keep what a guardrail refused. Use the settings of agent and run.`,
    );
  }
  return wellFormed(extra);
}

function invalid(message: string): GuardloopError {
  return new GuardloopError('CONFIG_INVALID', message);
}
