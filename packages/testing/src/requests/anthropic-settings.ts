import { isCited } from './anthropic-blocks.js';
import type { Fields, Problems } from './anthropic-fields.js';
import { contentOf, hasText, isFields, isThinking, isWhole, listOf, show, thinks } from './anthropic-fields.js';
import { checkModel } from './anthropic-models.js';
import { checkStrictSchema, checkStrictSize } from './anthropic-strict.js';
import { checkToolChoice, checkTools } from './anthropic-tools.js';

const bodyFields = new Set([
  'model',
  'messages',
  'max_tokens',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'stop_sequences',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'metadata',
  'service_tier',
  'cache_control',
  'container',
  'context_management',
  'diagnostics',
  'fallbacks',
  'thread',
  'inference_geo',
  'mcp_servers',
  'speed',
]);
const efforts: readonly unknown[] = ['low', 'medium', 'high', 'xhigh', 'max'];
const mostMarks = 4;

/** Everything in a request but its messages. */
export function* checkSettings(body: Fields, apiVersion: string | undefined): Problems {
  yield* checkHead(body);
  yield* checkSystem(body.system);
  yield* checkSampling(body, apiVersion);
  yield* checkTools(body.tools);
  yield* checkToolChoice(body);
  yield* checkStrictSize(body);
  yield* checkThinkingField(body);
  yield* checkOutput(body);
  yield* checkCacheMarks(body);
  yield* checkMetadata(body.metadata);
  yield* checkModel(body);
}

function* checkHead(body: Fields): Problems {
  for (const field of Object.keys(body)) if (!bodyFields.has(field)) yield `${field}: the API has no such field`;
  if (typeof body.model !== 'string' || body.model === '') yield 'model: missing';
  if (!isWhole(body.max_tokens) || body.max_tokens < 1) yield 'max_tokens: missing, or not a whole number above 0';
  if (body.stream !== undefined && typeof body.stream !== 'boolean') yield 'stream: not a boolean';
  const { stop_sequences: stops } = body;
  if (stops !== undefined && !(Array.isArray(stops) && stops.every((stop) => typeof stop === 'string' && hasText(stop)))) {
    yield 'stop_sequences: not a list of texts that hold more than whitespace';
  }
}

function* checkSystem(system: unknown): Problems {
  if (system === undefined) return;
  if (typeof system === 'string') {
    if (!hasText(system)) yield 'system: empty or only whitespace; leave it out';
    return;
  }
  if (!Array.isArray(system)) yield 'system: neither text nor a list of text blocks';
  if (listOf(system).length === 0) yield 'system: an empty list; leave it out';
  for (const [index, block] of listOf(system).entries()) {
    const isText = isFields(block) && block.type === 'text' && typeof block.text === 'string';
    if (!isText || !hasText(String(block.text))) yield `system.${index}: not a text block that holds more than whitespace`;
  }
}

function* checkSampling(body: Fields, apiVersion: string | undefined): Problems {
  for (const field of ['temperature', 'top_p', 'top_k'] as const) {
    const value = body[field];
    if (value === undefined) continue;
    if (apiVersion !== undefined && apiVersion > '2023-06-01') yield `${field}: API version ${apiVersion} has no such field`;
    else if (typeof value !== 'number' || value < 0 || (field !== 'top_k' && value > 1)) yield `${field}: not a number in its range`;
  }
  if (body.temperature !== undefined && body.top_p !== undefined) yield 'temperature and top_p: only one of them can be given';
  if (!thinks(body)) return;
  if (body.temperature !== undefined && body.temperature !== 1) yield 'temperature: can only be 1 with thinking';
  if (body.top_k !== undefined) yield 'top_k: cannot be given with thinking';
  if (typeof body.top_p === 'number' && body.top_p < 0.95) yield 'top_p: cannot be under 0.95 with thinking';
}

function* checkThinkingField(body: Fields): Problems {
  const { thinking } = body;
  if (thinking === undefined) return;
  const { type, budget_tokens: budget }: Fields = isFields(thinking) ? thinking : {};
  if (type !== 'enabled') {
    if (type !== 'adaptive' && type !== 'disabled' && type !== 'between_tools') yield `thinking.type: ${show(type)} is unknown`;
    if (budget !== undefined) yield 'thinking.budget_tokens: only with type enabled';
    return;
  }
  if (!isWhole(budget) || budget < 1_024) yield 'thinking.budget_tokens: missing, or not a whole number from 1024';
  else if (typeof body.max_tokens === 'number' && budget >= body.max_tokens) yield 'thinking.budget_tokens: not less than max_tokens';
}

function* checkMetadata(metadata: unknown): Problems {
  if (metadata === undefined) return;
  if (!isFields(metadata)) return yield 'metadata: not an object';
  for (const [key, value] of Object.entries(metadata)) {
    if (key !== 'user_id') yield `metadata.${key}: the API has no such field`;
    else if (value !== null && typeof value !== 'string') yield 'metadata.user_id: not a text';
  }
}

function* checkOutput({ output_config: config, messages }: Fields): Problems {
  if (config === undefined) return;
  if (!isFields(config)) return yield 'output_config: not an object';
  if (config.effort !== undefined && !efforts.includes(config.effort)) yield `output_config.effort: ${show(config.effort)} is unknown`;
  const { format } = config;
  if (format === undefined || format === null) return;
  if (listOf(messages).flatMap(contentOf).some(isCited)) yield 'output_config.format: not beside documents that are to be cited';
  if (isFields(format) && format.type === 'json_schema') yield* checkStrictSchema(format.schema, 'output_config.format.schema');
  else yield 'output_config.format: not a json_schema with a schema';
}

function* checkCacheMarks(body: Fields): Problems {
  const markedOnes = [...marked(body)];
  if (markedOnes.length > mostMarks) yield `cache_control: ${markedOnes.length} marks, and ${mostMarks} are allowed`;
  for (const { cache_control: mark, type } of markedOnes) {
    if (!isFields(mark) || mark.type !== 'ephemeral') yield 'cache_control: its type is not ephemeral';
    else if (mark.ttl !== undefined && mark.ttl !== '5m' && mark.ttl !== '1h')
      yield `cache_control.ttl: ${show(mark.ttl)} is neither 5m nor 1h`;
    if (isThinking({ type })) yield 'cache_control: not on a thinking block';
  }
  const lives = markedOnes.map(({ cache_control: mark }) => (isFields(mark) && mark.ttl === '1h' ? '1h' : '5m'));
  if (lives.lastIndexOf('1h') > lives.indexOf('5m') && lives.includes('5m')) yield 'cache_control.ttl: a mark of 1h stands after one of 5m';
}

/** In the order of the cache: tools, system text, messages; a mark of the whole request counts as one at its end. */
function* marked(value: unknown): Generator<Fields, void> {
  for (const item of listOf(value)) yield* marked(item);
  if (!isFields(value)) return;
  for (const inner of [value.content, value.tools, value.system, value.messages]) yield* marked(inner);
  if (value.cache_control !== undefined && value.cache_control !== null) yield value;
}
