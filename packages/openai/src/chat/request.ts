import type { ModelRequest, ModelSettings, OfferedSchema, StrictRules, ToolSpec } from '@guardloop/core/model';
import {
  answerForm,
  answerInWords,
  GuardloopError,
  namesByWire,
  offeredSchema,
  standIns,
  wellFormed,
  wellFormedText,
  wireName,
} from '@guardloop/core/model';
import type OpenAI from 'openai';
import { strictRules } from '../wire/strict-schema.js';
import type { Dialect } from './dialect.js';
import type { Warning } from './parts.js';
import type { WireMessage } from './role-order.js';
import { addInTurn, endInTurn } from './role-order.js';
import { settingFields } from './settings.js';
import { Transcripts } from './transcript.js';

export type ChatBody = OpenAI.Chat.ChatCompletionCreateParamsStreaming;
type WireTool = OpenAI.Chat.ChatCompletionFunctionTool;

/** A request as it is sent, with what is needed to read its answer. */
export interface PreparedRequest {
  readonly body: ChatBody;
  /** Tool names by their wire names, where the two differ or not. */
  readonly names: ReadonlyMap<string, string>;
  /** The token limit that was sent. */
  readonly maxTokens: number | undefined;
  /** What was dropped or changed of this request, and of tools and items that it sends for the first time. */
  readonly warnings: readonly Warning[];
  /** What not every server and model takes, for the error should the request be refused. */
  readonly demands: readonly string[];
}

/** A limit of OpenAI itself; servers that imitate it have none, or others. */
const mostTools = 128;
const isOpenAI = /(^|\.)openai\.(azure\.)?com$/;

/** Makes the requests of one model; keeps the wire form of items and tools between them. */
export class RequestMaker {
  readonly #model: string;
  readonly #dialect: Dialect;
  readonly #server: string;
  readonly #rules: StrictRules | undefined;
  readonly #transcripts: Transcripts;
  readonly #tools = new WeakMap<ToolSpec, WireTool>();
  readonly #names = new WeakMap<readonly ToolSpec[], ReadonlyMap<string, string>>();
  #toolWarnings: Warning[] = [];

  /** `server` names the server that the requests go to. */
  constructor(model: string, dialect: Dialect, server: string) {
    this.#model = model;
    this.#dialect = dialect;
    this.#server = server;
    this.#rules = strictRules(dialect.strictSchemas);
    this.#transcripts = new Transcripts({ ...dialect, server });
  }

  /** Throws `CONFIG_INVALID` for what the API would refuse, `INTERNAL` for a history that no request can hold. */
  make(request: ModelRequest, settings: ModelSettings): PreparedRequest {
    const names = this.#namesOf(request.tools);
    const { fields: settingsOfBody, warnings, maxTokens, parallelToolCalls } = settingFields(settings, this.#dialect);
    const answer = this.#answer(request);
    const { messages, calledTools } = this.#messages(request, answer.words);
    const offer = this.#offer(request, calledTools);
    const fields = {
      model: this.#model,
      messages,
      stream: true,
      stream_options: this.#dialect.streamUsage ? { include_usage: true } : undefined,
      ...(offer.tools.length === 0 ? {} : { tools: offer.tools, tool_choice: offer.choice, parallel_tool_calls: parallelToolCalls }),
      response_format: answer.format,
      ...settingsOfBody,
    };
    const body = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as unknown as ChatBody;
    const toolWarnings = this.#toolWarnings;
    this.#toolWarnings = [];
    return {
      body,
      names,
      maxTokens,
      warnings: [...warnings, ...offer.warnings, ...toolWarnings, ...this.#transcripts.takeWarnings()],
      demands: demandsOf(body),
    };
  }

  #messages(
    request: ModelRequest,
    words: string | undefined,
  ): { readonly messages: WireMessage[]; readonly calledTools: ReadonlySet<string> } {
    const isInTurn = this.#dialect.roleOrder === 'alternating';
    const messages: WireMessage[] = [];
    const add = (message: WireMessage): void => {
      if (isInTurn) addInTurn(messages, message);
      else messages.push(message);
    };
    const system = [wellFormedText(request.system), words ?? ''].filter((text) => text !== '').join('\n\n');
    if (system !== '') messages.push({ role: this.#dialect.systemRole, content: system });
    const { messages: transcript, calledTools } = this.#transcripts.encode(request.messages);
    for (const [index, message] of transcript.entries()) {
      // The transcript is in order already: only its first message can meet the instructions.
      if (index === 0) add(message);
      else messages.push(message);
    }
    if (request.note !== undefined && request.note !== '') add({ role: 'user', content: wellFormedText(request.note) });
    if (isInTurn) endInTurn(messages);
    if (messages.length === 0) messages.push({ role: 'user', content: standIns.nothing });
    return { messages, calledTools };
  }

  /** The tools and the choice among them, as far as the server takes one. */
  #offer(request: ModelRequest, calledTools: ReadonlySet<string>): Offer {
    const { toolChoice: reach } = this.#dialect;
    const { toolChoice: choice, tools } = request;
    if (typeof choice === 'object' && !tools.some(({ name }) => name === choice.tool))
      throw new GuardloopError(
        'CONFIG_INVALID',
        `The tool choice names ${choice.tool}, which agent ${request.agent} does not offer in this turn.`,
      );
    if (tools.length > mostTools && isOpenAI.test(this.#server))
      throw new GuardloopError(
        'CONFIG_INVALID',
        `Agent ${request.agent} offers ${tools.length} tools, and OpenAI takes at most ${mostTools}. Switch some off with enabled, or divide the work over more agents.`,
      );
    if (tools.length === 0 || (choice === 'none' && reach === 'auto')) return declared(this.#dialect, calledTools);
    const isOne = typeof choice === 'object' && reach !== 'any';
    const wire = (isOne ? tools.filter(({ name }) => name === choice.tool) : tools).map((spec) => this.#wireToolOnce(spec));
    if (reach === 'auto') return { tools: wire, choice: undefined, warnings: lostChoice(choice) };
    if (typeof choice !== 'object') return { tools: wire, choice, warnings: [] };
    return { tools: wire, choice: isOne ? 'required' : { type: 'function', function: { name: wireName(choice.tool) } }, warnings: [] };
  }

  #namesOf(specs: readonly ToolSpec[]): ReadonlyMap<string, string> {
    let names = this.#names.get(specs);
    if (names === undefined) {
      names = namesByWire(specs.map((spec) => spec.name));
      this.#names.set(specs, names);
    }
    return names;
  }

  #wireToolOnce(spec: ToolSpec): WireTool {
    let tool = this.#tools.get(spec);
    if (tool === undefined) {
      const offered = offeredSchema(spec, this.#rules);
      tool = wireTool(spec, offered);
      this.#tools.set(spec, tool);
      const { name } = tool.function;
      if (name !== spec.name)
        this.#toolWarnings.push(
          warning('name', `Tool ${wellFormedText(spec.name)} goes to the provider as ${name}, which takes no other names.`),
        );
      this.#toolWarnings.push(...offered.changes.map((change) => warning('schema', change)));
    }
    return tool;
  }

  /** The field that asks for a structured answer, and the instruction where no field says it all. */
  #answer({ output }: ModelRequest): { readonly format?: ChatBody['response_format']; readonly words?: string } {
    if (output === undefined) return {};
    const { structuredOutput } = this.#dialect;
    const { schema, isStrict, isObject } = answerForm(output.schema, this.#rules);
    if (structuredOutput === 'json_schema' && schema !== undefined) {
      const strict = this.#rules === undefined ? {} : { strict: isStrict };
      const asked = { name: wireName(output.name), schema: wellFormed(schema) as Record<string, unknown>, ...strict };
      return { format: { type: 'json_schema', json_schema: asked } };
    }
    const words = answerInWords(output.schema);
    return structuredOutput !== 'instructions' && isObject ? { format: { type: 'json_object' }, words } : { words };
  }
}

function wireTool({ name, description }: ToolSpec, { schema, isStrict }: OfferedSchema): WireTool {
  return {
    type: 'function',
    function: {
      name: wireName(name),
      ...(description === '' ? {} : { description: wellFormedText(description) }),
      parameters: wellFormed(schema) as Record<string, unknown>,
      ...(isStrict ? { strict: true } : {}),
    },
  };
}

function demandsOf(body: ChatBody): readonly string[] {
  const demands: readonly (readonly [boolean, string])[] = [
    [body.stream_options !== undefined, 'usage in the stream (option streamUsage)'],
    [body.reasoning_effort !== undefined, 'a reasoning effort'],
    [body.temperature !== undefined || body.top_p !== undefined, 'temperature or topP'],
    [body.stop !== undefined, 'stop sequences'],
    [body.max_completion_tokens !== undefined, 'max_completion_tokens (option maxTokensField)'],
    [body.parallel_tool_calls !== undefined, 'parallelToolCalls'],
    [body.response_format?.type === 'json_schema', 'an answer that fits a schema (option structuredOutput)'],
    [body.response_format?.type === 'json_object', 'an answer that is a JSON object (option structuredOutput)'],
    [body.tools?.some((tool) => tool.type === 'function' && tool.function.strict === true) === true, 'strict tools (option strictSchemas)'],
  ];
  return demands.flatMap(([isMade, what]) => (isMade ? [what] : []));
}

interface Offer {
  readonly tools: readonly WireTool[];
  readonly choice: ChatBody['tool_choice'];
  readonly warnings: readonly Warning[];
}

function declared({ calledTools: way, toolChoice }: Dialect, names: ReadonlySet<string>): Offer {
  if (way === 'omit' || names.size === 0) return { tools: [], choice: undefined, warnings: [] };
  const tools = [...names].map(
    (name): WireTool => ({ type: 'function', function: { name, parameters: { type: 'object', properties: {} } } }),
  );
  return { tools, choice: toolChoice === 'auto' ? undefined : 'none', warnings: [] };
}

function lostChoice(choice: ModelRequest['toolChoice']): readonly Warning[] {
  if (choice === undefined || choice === 'auto' || choice === 'none') return [];
  return [warning('setting', 'toolChoice was left out: this server cannot be told to call a tool (option toolChoice).')];
}

function warning(about: string, message: string): Warning {
  return { type: 'warning', about, message };
}
