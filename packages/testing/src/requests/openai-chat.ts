import { strictProblems } from './openai-schema.js';

type Fields = Readonly<Record<string, unknown>>;

/** Collects what is wrong; every finding starts with the place in the body. */
type Report = (place: string, what: string) => void;

const topFields = new Set(
  `audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages metadata modalities model
   moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention
   reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools
   top_logprobs top_p user verbosity web_search_options`.split(/\s+/),
);
const messageFields: Readonly<Record<string, ReadonlySet<string>>> = {
  system: new Set(['role', 'content', 'name']),
  developer: new Set(['role', 'content', 'name']),
  user: new Set(['role', 'content', 'name']),
  assistant: new Set(['role', 'content', 'name', 'refusal', 'audio', 'tool_calls', 'annotations']),
  tool: new Set(['role', 'content', 'tool_call_id']),
};
const partTypes: Readonly<Record<string, readonly string[]>> = {
  system: ['text'],
  developer: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  tool: ['text'],
};
const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;
const idPattern = /^[a-zA-Z0-9_-]{1,40}$/;
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/**
 * Checks the body of a Chat Completions request as strictly as the API does, and answers with what it would be refused for: one line for
 * each fault, with its place and the id or name concerned; an empty list for a legal request. Results in another order than their calls
 * are legal. It is stricter than the API in three points, for servers that imitate it: ids are `[a-zA-Z0-9_-]`, arguments are the JSON text
 * of an object, and messages hold no fields of other dialects.
 */
export function checkChatRequest(body: unknown): readonly string[] {
  const found: string[] = [];
  const report: Report = (place, what) => found.push(`${place}: ${what}`);
  const fields = fieldsOf(body);
  if (fields === undefined) return ['body: is no object'];
  for (const name of Object.keys(fields))
    if (!topFields.has(name) && fields[name] !== undefined) report(name, 'is no parameter of the API');
  if (typeof fields.model !== 'string' || fields.model === '') report('model', 'is missing');
  checkMessages(fields.messages, report);
  checkTools(fields, report);
  checkResponseFormat(fields, report);
  checkSettings(fields, report);
  checkSurrogates(fields, '', report);
  return found;
}

function checkMessages(messages: unknown, report: Report): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    report('messages', 'must be a list with at least one message');
    return;
  }
  const turn = new OpenTurn(report);
  for (const [index, item] of messages.entries()) {
    const place = `messages[${index}]`;
    const message = fieldsOf(item);
    const role = message?.role;
    const known = typeof role === 'string' && Object.hasOwn(messageFields, role) ? messageFields[role] : undefined;
    if (message === undefined || typeof role !== 'string' || known === undefined) {
      report(place, `has the unknown role ${JSON.stringify(role)}`);
      continue;
    }
    for (const name of Object.keys(message)) {
      if (!known.has(name) && message[name] !== undefined) report(`${place}.${name}`, `is no field of a message of role ${role}`);
    }
    if (role === 'tool') turn.answer(message.tool_call_id, place);
    else turn.close(place);
    checkContent(message, role, { place, report });
    if (role === 'assistant' && message.tool_calls !== undefined) turn.open(checkCalls(message.tool_calls, place, report), place);
  }
  turn.close('the end of messages');
}

/** The calls of the last assistant message that wait for their results. */
class OpenTurn {
  readonly #report: Report;
  #waiting = new Set<string>();
  #answered = new Set<string>();
  #place = '';

  constructor(report: Report) {
    this.#report = report;
  }

  open(ids: readonly string[], place: string): void {
    this.#place = place;
    for (const id of ids) {
      if (this.#waiting.has(id)) this.#report(place, `has two calls with the id ${id}`);
      this.#waiting.add(id);
    }
  }

  answer(id: unknown, place: string): void {
    if (typeof id !== 'string' || id === '') this.#report(place, 'has no tool_call_id');
    else if (this.#waiting.delete(id)) this.#answered.add(id);
    else if (this.#answered.has(id)) this.#report(place, `answers the call ${id} a second time`);
    else this.#report(place, `answers the call ${id}, which the assistant message directly before these results does not hold`);
  }

  close(place: string): void {
    for (const id of this.#waiting) this.#report(this.#place, `the call ${id} has no result before ${place}`);
    this.#waiting = new Set();
    this.#answered = new Set();
  }
}

function checkCalls(calls: unknown, place: string, report: Report): readonly string[] {
  if (!Array.isArray(calls) || calls.length === 0) {
    report(`${place}.tool_calls`, 'must be a list with at least one call, or left out');
    return [];
  }
  return calls.flatMap((item, index) => {
    const at = `${place}.tool_calls[${index}]`;
    const call = fieldsOf(item) ?? {};
    const target = fieldsOf(call.function);
    if (call.type !== 'function' || target === undefined) report(at, 'must have the type function and a function');
    if (typeof target?.name !== 'string' || !namePattern.test(target.name))
      report(`${at}.function.name`, `${JSON.stringify(target?.name)} is no legal name`);
    if (!isObjectText(target?.arguments))
      report(`${at}.function.arguments`, `of call ${String(call.id)} must be the JSON text of an object`);
    if (typeof call.id !== 'string' || !idPattern.test(call.id))
      report(`${at}.id`, `${JSON.stringify(call.id)} must be 1 to 40 characters of [a-zA-Z0-9_-]`);
    return typeof call.id === 'string' ? [call.id] : [];
  });
}

interface Where {
  readonly place: string;
  readonly report: Report;
}

function checkContent(message: Fields, role: string, { place, report }: Where): void {
  const { content } = message;
  if (role === 'assistant') {
    const isEmpty = content === undefined || content === null || content === '';
    const hasMore = message.tool_calls !== undefined || typeof message.refusal === 'string' || message.audio !== undefined;
    if (isEmpty && !hasMore) report(place, 'has neither content nor tool calls');
    if (content === undefined || content === null) return;
  }
  if (typeof content === 'string') {
    if (content === '' && (role === 'system' || role === 'developer')) report(`${place}.content`, 'is empty');
    return;
  }
  if (!Array.isArray(content)) report(`${place}.content`, 'must be text or a list of parts');
  else if (content.length === 0) report(`${place}.content`, 'is an empty list');
  else
    for (const [index, part] of content.entries()) checkPart(fieldsOf(part) ?? {}, role, { place: `${place}.content[${index}]`, report });
}

function checkPart(part: Fields, role: string, { place, report }: Where): void {
  if (typeof part.type !== 'string' || !partTypes[role]?.includes(part.type)) {
    report(place, `the part type ${JSON.stringify(part.type)} is not taken in the role ${role}`);
    return;
  }
  const problem = partChecks[part.type]?.(part);
  if (problem !== undefined) report(place, problem);
}

const partChecks: Readonly<Record<string, (part: Fields) => string | undefined>> = {
  text: (part) => (typeof part.text === 'string' && part.text !== '' ? undefined : 'a text part needs text'),
  refusal: (part) => (typeof part.refusal === 'string' && part.refusal !== '' ? undefined : 'a refusal part needs text'),
  image_url: (part) => {
    const image = fieldsOf(part.image_url);
    if (!isImageUrl(image?.url)) return 'image_url.url must be an http address or a base64 data URL of a png, jpeg, gif or webp image';
    return image?.detail === undefined || ['auto', 'low', 'high'].includes(String(image.detail))
      ? undefined
      : 'image_url.detail is unknown';
  },
  input_audio: (part) => {
    const audio = fieldsOf(part.input_audio);
    return isBase64(audio?.data) && (audio?.format === 'wav' || audio?.format === 'mp3')
      ? undefined
      : 'input_audio needs base64 data and the format wav or mp3';
  },
  file: (part) => {
    const file = fieldsOf(part.file);
    if (typeof file?.file_id === 'string' && file.file_data === undefined) return undefined;
    const match = typeof file?.file_data === 'string' ? /^data:[\w.+-]+\/[\w.+-]+;base64,(.*)$/s.exec(file.file_data) : null;
    return isBase64(match?.[1]) && typeof file?.filename === 'string' && file.filename !== ''
      ? undefined
      : 'a file needs a filename and file_data as a base64 data URL, or a file_id';
  },
};

function checkTools(fields: Fields, report: Report): void {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = fields;
  if (tools === undefined) {
    if (choice !== undefined) report('tool_choice', 'is only allowed with tools');
    if (parallel !== undefined) report('parallel_tool_calls', 'is only allowed with tools');
    return;
  }
  if (!Array.isArray(tools) || tools.length === 0 || tools.length > 128) {
    report('tools', 'must hold 1 to 128 tools, or be left out');
    return;
  }
  const names = new Set<string>();
  for (const [index, item] of tools.entries()) checkTool(item, names, { place: `tools[${index}]`, report });
  if (parallel !== undefined && typeof parallel !== 'boolean') report('parallel_tool_calls', 'must be true or false');
  if (choice === undefined || choice === 'auto' || choice === 'none' || choice === 'required') return;
  const chosen = fieldsOf(fieldsOf(choice)?.function)?.name;
  if (fieldsOf(choice)?.type !== 'function' || typeof chosen !== 'string')
    report('tool_choice', 'must be auto, none, required or a function');
  else if (!names.has(chosen)) report('tool_choice', `names ${chosen}, which is not among the tools`);
}

function checkTool(item: unknown, names: Set<string>, { place, report }: Where): void {
  const tool = fieldsOf(item);
  const spec = fieldsOf(tool?.function);
  if (tool?.type !== 'function' || spec === undefined) {
    report(place, 'must have the type function and a function');
    return;
  }
  const { name, description, parameters, strict } = spec;
  if (typeof name !== 'string' || !namePattern.test(name))
    report(`${place}.function.name`, `${JSON.stringify(name)} must match ${namePattern.source}`);
  else if (names.has(name)) report(`${place}.function.name`, `${name} is used twice`);
  else names.add(name);
  if (description !== undefined && typeof description !== 'string') report(`${place}.function.description`, 'must be text');
  if (strict !== undefined && strict !== null && typeof strict !== 'boolean') report(`${place}.function.strict`, 'must be true or false');
  if (parameters !== undefined) checkSchema(parameters, strict === true, { place: `${place}.function.parameters`, report });
}

function checkResponseFormat(fields: Fields, report: Report): void {
  const format = fieldsOf(fields.response_format);
  if (fields.response_format === undefined || format?.type === 'text') return;
  if (format?.type === 'json_object') {
    if (!/json/i.test(JSON.stringify(fields.messages) ?? '')) report('response_format', 'json_object needs the word JSON in the messages');
    return;
  }
  const spec = fieldsOf(format?.json_schema);
  if (format?.type !== 'json_schema' || spec === undefined) {
    report('response_format', 'must have the type text, json_object or json_schema, the last with json_schema');
    return;
  }
  const place = 'response_format.json_schema';
  if (typeof spec.name !== 'string' || !namePattern.test(spec.name))
    report(`${place}.name`, `${JSON.stringify(spec.name)} must match ${namePattern.source}`);
  if (spec.strict !== undefined && spec.strict !== null && typeof spec.strict !== 'boolean')
    report(`${place}.strict`, 'must be true or false');
  checkSchema(spec.schema, spec.strict === true, { place: `${place}.schema`, report });
}

function checkSchema(schema: unknown, isStrict: boolean, { place, report }: Where): void {
  const root = fieldsOf(schema);
  if (root?.type !== 'object') report(place, 'must be a JSON Schema of type object');
  else if (isStrict) for (const problem of strictProblems(root)) report(place, problem);
}

function checkSettings(fields: Fields, report: Report): void {
  const within = (name: string, low: number, high: number): void => {
    const value = fields[name];
    if (value !== undefined && value !== null && !(typeof value === 'number' && value >= low && value <= high))
      report(name, `must be ${low} to ${high}`);
  };
  within('temperature', 0, 2);
  within('top_p', 0, 1);
  within('presence_penalty', -2, 2);
  within('frequency_penalty', -2, 2);
  if (isGiven(fields.max_tokens) && isGiven(fields.max_completion_tokens))
    report('max_tokens', 'stands beside max_completion_tokens; only one is allowed');
  for (const name of ['max_tokens', 'max_completion_tokens', 'n']) {
    const value = fields[name];
    if (isGiven(value) && !(Number.isInteger(value) && Number(value) >= 1)) report(name, 'must be a whole number from 1');
  }
  if (fields.stream !== undefined && fields.stream !== null && typeof fields.stream !== 'boolean')
    report('stream', 'must be true or false');
  if (isGiven(fields.stream_options) && fields.stream !== true) report('stream_options', 'is only allowed with stream');
  if (isGiven(fields.reasoning_effort) && !efforts.includes(String(fields.reasoning_effort))) report('reasoning_effort', 'is unknown');
  const stops = isGiven(fields.stop) ? [fields.stop].flat() : undefined;
  if (stops !== undefined && (stops.length === 0 || stops.length > 4 || stops.some((stop) => typeof stop !== 'string' || stop === ''))) {
    report('stop', 'must be 1 to 4 texts that are not empty');
  }
}

function checkSurrogates(value: unknown, place: string, report: Report): void {
  if (typeof value === 'string') {
    if (/\p{Surrogate}/u.test(value)) report(place, 'holds a lone surrogate');
    else if (place.endsWith('.function.arguments') && isObjectText(value)) checkSurrogates(JSON.parse(value), `${place} (parsed)`, report);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [key, entry] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${place}[${key}]` : place === '' ? key : `${place}.${key}`;
    if (/\p{Surrogate}/u.test(key)) report(place, 'has a key with a lone surrogate');
    checkSurrogates(entry, at, report);
  }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isImageUrl(url: unknown): boolean {
  if (typeof url !== 'string') return false;
  if (/^https?:\/\//.test(url)) return URL.canParse(url);
  return isBase64(/^data:image\/(?:png|jpeg|gif|webp);base64,(.*)$/s.exec(url)?.[1]);
}

function isBase64(data: unknown): boolean {
  return typeof data === 'string' && data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}

function isObjectText(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  try {
    return fieldsOf(JSON.parse(text)) !== undefined;
  } catch {
    return false;
  }
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}
