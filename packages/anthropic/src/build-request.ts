import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages';
import type { JsonObject, JsonValue, ModelEvent, ModelRequest, ModelSettings } from '@guardloop/core/model';
import { answerInWords, hasText, mergeSettings, wellFormed, wellFormedText } from '@guardloop/core/model';
import type { WireMessage } from './blocks.js';
import { isObject, textBlock } from './blocks.js';
import { withCacheMarks } from './cache-marks.js';
import type { CurrentTurn } from './encode-history.js';
import { encodeHistory } from './encode-history.js';
import { providerName } from './encode-items.js';
import type { Container } from './native-message.js';
import { isAlive } from './native-message.js';
import { checkNames } from './provider-tools.js';
import { checkSettings, droppedSettings, samplingFields, stopSequences } from './request-settings.js';
import { continues, withoutServerCalls } from './server-tools.js';
import { answerSchema, StrictBudget } from './strict-schema.js';
import type { ModelTraits, ThinkingOptions, ThinkingPlan } from './thinking.js';
import { planThinking } from './thinking.js';
import type { ProviderTool, StrictTools, ToolFields, ToolOffer } from './tool-fields.js';
import { toolFields } from './tool-fields.js';
import { checkToolKeys } from './tool-keys.js';
import { withoutThinking } from './without-thinking.js';

/** What stays the same for all requests of a model. */
export interface RequestContext {
  readonly model: string;
  /** The server that imitates the API; undefined for Claude's own. */
  readonly server?: string | undefined;
  readonly settings: ModelSettings;
  /** Where neither the request nor the settings say anything. */
  readonly maxTokens: number;
  readonly thinking: ThinkingOptions;
  readonly traits: ModelTraits;
  readonly cache: 'auto' | 'off';
  readonly structuredOutput: 'native' | 'prompt';
  readonly strictTools: StrictTools;
  readonly toolOffer: ToolOffer;
  readonly providerTools: readonly ProviderTool[];
  /** The caller's own headers, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

type Warning = Extract<ModelEvent, { type: 'warning' }>;

export interface BuiltRequest {
  readonly body: MessageCreateParamsStreaming;
  /** Headers of this request alone. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the request asks for that not every model takes, in words. */
  readonly demands: readonly string[];
  /** What of the request is not sent, or is sent otherwise. */
  readonly warnings: readonly Warning[];
  /** It holds the model to schemas though nobody insisted on it. */
  readonly isEasable: boolean;
}

/** The API version that SDK 1 speaks has no sampling settings; this one has. */
const versionWithSampling = '2023-06-01';

/**
 * Builds the whole request. Throws `CONFIG_INVALID` for a forced tool that is not offered, and for limits and names of fields that the API does not take,
 * `NAME_TAKEN` for two tools of one name, and `INTERNAL` for a history whose calls and results do not match.
 */
export function buildRequest(request: ModelRequest, context: RequestContext): BuiltRequest {
  const { model, traits } = context;
  const settings = mergeSettings(context.settings, request.settings);
  checkSettings(settings, model);
  checkNames(request.tools, context.providerTools);
  checkToolKeys(request.tools, model);
  const history = encodeHistory(request.messages, context.server);
  const budget = new StrictBudget();
  const answer = answerField(request, context, budget);
  const tools = toolFields({
    tools: request.tools,
    providerTools: context.providerTools,
    calledTools: history.calledTools,
    choice: request.toolChoice,
    parallelToolCalls: settings.parallelToolCalls,
    offer: context.toolOffer,
    strict: context.strictTools,
    budget,
  });
  const isForced = tools.tool_choice?.type === 'any' || tools.tool_choice?.type === 'tool';
  const { lostNative, lacksThinking } = history.currentTurn;
  const plan = planThinking(traits, context.thinking, {
    reasoning: settings.reasoning,
    maxTokens: settings.maxTokens,
    defaultMaxTokens: context.maxTokens,
    isForced,
    hasLostThinking: lostNative,
    lacksThinking,
    hasThinkingBlocks: history.hasThinking,
  });
  const sampling = samplingFields(settings, traits, plan.thinking);
  const turn = goOn(history.messages, history.currentTurn, { note: request.note, providerTools: context.providerTools });
  const messages = withNote(plan.isWithoutHistory ? withoutThinking(turn.messages) : turn.messages, request.note);
  const own = compact({
    model,
    max_tokens: plan.maxTokens,
    system: systemText(request, answer),
    tools: tools.tools as JsonValue | undefined,
    messages: messages as unknown as JsonValue,
    tool_choice: isForced && !traits.canBeForced ? unforced(tools) : tools.tool_choice,
    thinking: plan.thinking,
    output_config: outputConfig(answer, plan),
    ...sampling.fields,
    stop_sequences: stopSequences(settings),
    metadata: userOf(settings),
    container: turn.container?.id,
    stream: true,
  });
  const extra = wellFormed(settings.extra?.[providerName] ?? {});
  const body = withCacheMarks(beside(extra, own), context.cache);
  const schemaWarnings = tools.changes.map((message): Warning => ({ type: 'warning', about: 'schema', message }));
  const settingWarnings = [
    ...plan.dropped,
    ...sampling.dropped,
    ...droppedSettings(settings, { extra, own }),
    ...(isForced && !traits.canBeForced ? [`Sent as auto: toolChoice, since ${model} takes none that forces a call.`] : []),
  ].map((message): Warning => ({ type: 'warning', about: 'setting', message }));
  return {
    body: body as unknown as MessageCreateParamsStreaming,
    headers: headersFor(body, plan, { given: context.headers, settings }),
    demands: demandsOf(body),
    isEasable: answer !== undefined || tools.isEasable,
    warnings: [...history.warnings.map((warning): Warning => ({ type: 'warning', ...warning })), ...schemaWarnings, ...settingWarnings],
  };
}

/** The request that goes on after the provider paused: the same, with what it has said so far as the last message. */
export function continuedRequest(built: BuiltRequest, said: WireMessage, container: Container | undefined): BuiltRequest {
  const messages = [...built.body.messages, said as unknown as MessageCreateParamsStreaming['messages'][number]];
  return { ...built, body: { ...built.body, messages, ...(container === undefined ? {} : { container: container.id }) } };
}

interface Ending {
  readonly note: string | undefined;
  readonly providerTools: readonly ProviderTool[];
}

/**
 * Server tools that wait for our results go on where the request can: nothing else may follow the results, the tool must be offered, and
 * code needs the container that it runs in. Where it cannot, their calls are left out.
 */
function goOn(
  messages: readonly WireMessage[],
  { waiting, container }: CurrentTurn,
  { note, providerTools }: Ending,
): { readonly messages: readonly WireMessage[]; readonly container?: Container | undefined } {
  const alive = container !== undefined && isAlive(container, Date.now()) ? container : undefined;
  if (waiting.size === 0) return { messages, container: alive };
  const isNoted = note !== undefined && hasText(note);
  const lost = [...waiting].filter(([, call]) => isNoted || !continues(call, messages, { providerTools, isAlive: alive !== undefined }));
  return { messages: withoutServerCalls(messages, new Set(lost.map(([id]) => id))), container: alive };
}

/** The schema for the API's own field; undefined where a structured answer is asked for in words, or none is. */
function answerField({ output }: ModelRequest, { structuredOutput }: RequestContext, budget: StrictBudget): JsonObject | undefined {
  return output === undefined || structuredOutput === 'prompt' ? undefined : answerSchema(output.schema, budget);
}

function systemText({ system: given, output }: ModelRequest, answer: JsonObject | undefined): string | undefined {
  const asked = output !== undefined && answer === undefined ? answerInWords(output.schema) : '';
  const system = [given, asked].filter(hasText).map(wellFormedText).join('\n\n');
  return system === '' ? undefined : system;
}

function withNote(messages: readonly WireMessage[], note: string | undefined): readonly WireMessage[] {
  if (note === undefined || !hasText(note)) return messages;
  const block = textBlock(wellFormedText(note));
  const last = messages.at(-1);
  if (last?.role !== 'user') return [...messages, { role: 'user', content: [block] }];
  return [...messages.slice(0, -1), { role: 'user', content: [...last.content, block] }];
}

function unforced({ tool_choice: choice }: ToolFields): JsonObject {
  return choice?.disable_parallel_tool_use === true ? { type: 'auto', disable_parallel_tool_use: true } : { type: 'auto' };
}

function outputConfig(schema: JsonObject | undefined, { effort }: ThinkingPlan): JsonObject | undefined {
  if (effort === undefined && schema === undefined) return undefined;
  return compact({ effort, format: schema === undefined ? undefined : { type: 'json_schema', schema: wellFormed(schema) } });
}

function userOf({ metadata }: ModelSettings): JsonObject | undefined {
  return metadata?.user_id === undefined ? undefined : { user_id: wellFormedText(metadata.user_id) };
}

/** Extra fields where the adapter writes none; of fields that are objects of many settings, the extra settings beside its own. */
function beside(extra: JsonObject, own: JsonObject): JsonObject {
  const both = { ...extra, ...own };
  for (const field of ['output_config', 'metadata'] as const) {
    if (isObject(extra[field]) && isObject(own[field])) both[field] = { ...extra[field], ...own[field] };
  }
  if (isObject(extra.container) && typeof own.container === 'string') both.container = { ...extra.container, id: own.container };
  return both;
}

function headersFor(
  body: JsonObject,
  plan: ThinkingPlan,
  { given, settings }: { readonly given: Readonly<Record<string, string>>; readonly settings: ModelSettings },
): Readonly<Record<string, string>> {
  const asked = Object.fromEntries(Object.entries(settings.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  const isSampled = body.temperature !== undefined || body.top_p !== undefined || body.top_k !== undefined;
  const hasVersion = given['anthropic-version'] !== undefined || asked['anthropic-version'] !== undefined;
  const betas = new Set([...betasIn(given), ...betasIn(asked), ...plan.betas]);
  const isBeta = plan.betas.length > 0 || asked['anthropic-beta'] !== undefined;
  return {
    ...asked,
    ...(isSampled && !hasVersion ? { 'anthropic-version': versionWithSampling } : {}),
    ...(isBeta ? { 'anthropic-beta': [...betas].join(',') } : {}),
  };
}

function betasIn(headers: Readonly<Record<string, string>>): readonly string[] {
  return headers['anthropic-beta']?.split(',').map((beta) => beta.trim()) ?? [];
}

function demandsOf(body: JsonObject): readonly string[] {
  const choice = body.tool_choice as JsonObject | undefined;
  const config = body.output_config as JsonObject | undefined;
  const thinking = body.thinking as JsonObject | undefined;
  return [
    ...(['temperature', 'top_p', 'top_k', 'cache_control'] as const).filter((field) => body[field] !== undefined),
    ...(thinking === undefined ? [] : [`thinking ${String(thinking.type)}`]),
    ...(config === undefined ? [] : Object.keys(config).map((key) => `output_config.${key}`)),
    ...(choice?.type === 'any' || choice?.type === 'tool' ? ['a forced tool call'] : []),
    ...(isHeld(body) ? ['strict tools (option strictTools)'] : []),
    `max_tokens ${String(body.max_tokens)}`,
  ];
}

function isHeld({ tools }: JsonObject): boolean {
  return Array.isArray(tools) && tools.some((tool) => isObject(tool) && tool.strict === true);
}

function compact(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
