import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages';
import type { JsonObject, JsonValue, ModelRequest, ModelSettings } from '@guardloop/core/model';
import { hasText, mergeSettings, wellFormed, wellFormedText } from '@guardloop/core/model';
import type { WireMessage } from './blocks.js';
import { textBlock } from './blocks.js';
import { encodeHistory } from './encode-history.js';
import { providerName } from './encode-items.js';
import { outputSchema } from './output-schema.js';
import type { ThinkingOptions, ThinkingPlan, ThinkingTraits } from './thinking.js';
import { planThinking } from './thinking.js';
import type { ProviderTool, ToolFields } from './tool-fields.js';
import { toolFields } from './tool-fields.js';

/** What stays the same for all requests of a model. */
export interface RequestContext {
  readonly model: string;
  readonly settings: ModelSettings;
  /** Where neither the request nor the settings say anything. */
  readonly maxTokens: number;
  readonly thinking: ThinkingOptions;
  readonly traits: ThinkingTraits;
  readonly cache: 'auto' | 'off';
  readonly structuredOutput: 'native' | 'prompt';
  readonly providerTools: readonly ProviderTool[];
  /** The caller's own headers, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface BuiltRequest {
  readonly body: MessageCreateParamsStreaming;
  /** Headers of this request alone. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the request asks for that not every model takes, in words. */
  readonly demands: readonly string[];
}

/** The API version that SDK 1 speaks has no sampling settings; this one has. */
const versionWithSampling = '2023-06-01';
const cached = { cache_control: { type: 'ephemeral' } } as const;

/** Builds the whole request. Throws `CONFIG_INVALID` for a forced tool that is not offered. */
export function buildRequest(request: ModelRequest, context: RequestContext): BuiltRequest {
  const settings = mergeSettings(context.settings, request.settings);
  const history = encodeHistory(request.messages);
  const choice = request.toolChoice;
  const { lostNative, lacksThinking } = history.currentTurn;
  const style = context.thinking.style ?? context.traits.style;
  const plan = planThinking(context.traits, context.thinking, {
    reasoning: settings.reasoning,
    maxTokens: settings.maxTokens,
    defaultMaxTokens: context.maxTokens,
    mustBeOff: choice === 'required' || typeof choice === 'object' || lostNative || (style === 'budget' && lacksThinking),
    hasThinkingBlocks: history.hasThinking,
  });
  const tools = toolFields({
    tools: request.tools,
    providerTools: context.providerTools,
    calledTools: history.calledTools,
    choice,
    parallelToolCalls: settings.parallelToolCalls,
  });
  const body: JsonObject = compact({
    ...extraFields(settings),
    model: context.model,
    max_tokens: plan.maxTokens,
    ...prefixFields(request, context, tools),
    messages: withNote(history.messages, request.note) as unknown as JsonValue,
    tool_choice: tools.tool_choice,
    thinking: plan.thinking,
    output_config: outputConfig(request, context, plan),
    ...samplingFields(settings, plan),
    stop_sequences: stopSequences(settings),
    stream: true,
  });
  return { body: body as unknown as MessageCreateParamsStreaming, headers: headersFor(body, plan, context), demands: demandsOf(body) };
}

/** The request that goes on after the provider paused: the same, with what it has said so far as the last message. */
export function continuedRequest(built: BuiltRequest, said: WireMessage): BuiltRequest {
  const messages = [...built.body.messages, said as unknown as MessageCreateParamsStreaming['messages'][number]];
  return { ...built, body: { ...built.body, messages } };
}

/** System text and tools: what all conversations of an agent begin with, marked for the cache; the end of the request is marked by the API. */
function prefixFields(request: ModelRequest, context: RequestContext, { tools }: ToolFields): JsonObject {
  const asked = request.output !== undefined && formatOf(request, context) === undefined ? inWords(request.output.schema) : '';
  const system = [request.system, asked].filter(hasText).map(wellFormedText).join('\n\n');
  return {
    ...(context.cache === 'off' ? {} : cached),
    system: system === '' ? undefined : context.cache === 'off' ? system : [{ ...textBlock(system), ...cached }],
    tools: tools as JsonValue | undefined,
  };
}

function withNote(messages: readonly WireMessage[], note: string | undefined): readonly WireMessage[] {
  if (note === undefined || !hasText(note)) return messages;
  const block = textBlock(wellFormedText(note));
  const last = messages.at(-1);
  if (last?.role !== 'user') return [...messages, { role: 'user', content: [block] }];
  return [...messages.slice(0, -1), { role: 'user', content: [...last.content, block] }];
}

function outputConfig(request: ModelRequest, context: RequestContext, { effort }: ThinkingPlan): JsonObject | undefined {
  const schema = formatOf(request, context);
  if (effort === undefined && schema === undefined) return undefined;
  return compact({ effort, format: schema === undefined ? undefined : { type: 'json_schema', schema: wellFormed(schema) } });
}

function formatOf(request: ModelRequest, context: RequestContext): JsonObject | undefined {
  return request.output === undefined || context.structuredOutput === 'prompt' ? undefined : outputSchema(request.output.schema);
}

function inWords(schema: JsonObject): string {
  return `Give your final answer as one JSON value that fits this JSON Schema, with no other words and no code fence around it:\n${JSON.stringify(schema)}`;
}

/** With thinking the API takes neither; of the two it takes one, and `temperature` goes first. */
function samplingFields(settings: ModelSettings, { thinking }: ThinkingPlan): JsonObject {
  if (thinking?.type === 'enabled' || thinking?.type === 'adaptive') return {};
  if (settings.temperature !== undefined) return { temperature: settings.temperature };
  return settings.topP === undefined ? {} : { top_p: settings.topP };
}

function stopSequences(settings: ModelSettings): readonly string[] | undefined {
  const stops = settings.stopSequences?.filter(hasText).map(wellFormedText);
  return stops === undefined || stops.length === 0 ? undefined : stops;
}

function extraFields(settings: ModelSettings): JsonObject {
  return wellFormed(settings.extra?.[providerName] ?? {}) as JsonObject;
}

function headersFor(body: JsonObject, plan: ThinkingPlan, { headers }: RequestContext): Readonly<Record<string, string>> {
  const isSampled = body.temperature !== undefined || body.top_p !== undefined || body.top_k !== undefined;
  const betas = [...(headers['anthropic-beta']?.split(',').map((beta) => beta.trim()) ?? []), ...plan.betas];
  return {
    ...(isSampled && headers['anthropic-version'] === undefined ? { 'anthropic-version': versionWithSampling } : {}),
    ...(plan.betas.length === 0 ? {} : { 'anthropic-beta': [...new Set(betas)].join(',') }),
  };
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
    `max_tokens ${String(body.max_tokens)}`,
  ];
}

function compact(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
