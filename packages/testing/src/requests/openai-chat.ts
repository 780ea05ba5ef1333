import { checkContent } from './openai-chat-parts.js';
import { checkChatSettings } from './openai-chat-settings.js';
import { checkChatTools, checkResponseFormat } from './openai-chat-tools.js';
import type { Report } from './openai-fields.js';
import { checkFieldNames, checkSurrogates, fieldsOf, isObjectText, namePattern } from './openai-fields.js';

const topFields = new Set(
  `audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages metadata modalities model
   moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention
   reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools
   top_logprobs top_p user verbosity web_search_options`.split(/\s+/),
);
const messageFields: Readonly<Record<string, readonly string[]>> = {
  system: ['role', 'content', 'name'],
  developer: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  assistant: ['role', 'content', 'name', 'refusal', 'audio', 'tool_calls', 'annotations'],
  tool: ['role', 'content', 'tool_call_id'],
};
const participant = /^[^\s<|\\/>]{1,64}$/;
const idPattern = /^[a-zA-Z0-9_-]{1,40}$/;
const mostCalls = 128;

/**
 * Checks the body of a Chat Completions request as strictly as the API does, and answers with what it would be refused for: one line for
 * each fault, with its place and the id or name concerned; an empty list for a legal request. Results in another order than their calls
 * are legal. It is stricter than the API in three points, for servers that imitate it: ids are `[a-zA-Z0-9_-]`, arguments are the JSON text
 * of an object, and nothing holds fields of other dialects.
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
  checkChatTools(fields, report);
  checkResponseFormat(fields, report);
  checkChatSettings(fields, report);
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
    checkFieldNames(message, known, { place, report });
    if (message.name !== undefined && !(typeof message.name === 'string' && participant.test(message.name)))
      report(`${place}.name`, `${JSON.stringify(message.name)} is no legal name of a participant`);
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
  if (!Array.isArray(calls) || calls.length === 0 || calls.length > mostCalls) {
    report(`${place}.tool_calls`, `must be a list of 1 to ${mostCalls} calls, or left out`);
    return [];
  }
  return calls.flatMap((item, index) => {
    const at = `${place}.tool_calls[${index}]`;
    const call = fieldsOf(item) ?? {};
    const target = fieldsOf(call.function);
    if (call.type !== 'function' || target === undefined) report(at, 'must have the type function and a function');
    checkFieldNames(call, ['id', 'type', 'function'], { place: at, report });
    checkFieldNames(target ?? {}, ['name', 'arguments'], { place: `${at}.function`, report });
    if (typeof target?.name !== 'string' || !namePattern.test(target.name))
      report(`${at}.function.name`, `${JSON.stringify(target?.name)} is no legal name`);
    if (!isObjectText(target?.arguments))
      report(`${at}.function.arguments`, `of call ${String(call.id)} must be the JSON text of an object`);
    if (typeof call.id !== 'string' || !idPattern.test(call.id))
      report(`${at}.id`, `${JSON.stringify(call.id)} must be 1 to 40 characters of [a-zA-Z0-9_-]`);
    return typeof call.id === 'string' ? [call.id] : [];
  });
}
