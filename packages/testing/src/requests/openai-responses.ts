import type { Report } from './openai-fields.js';
import { checkSurrogates, fieldsOf, isGiven } from './openai-fields.js';
import { checkInput } from './openai-responses-input.js';
import { checkResponsesSettings } from './openai-responses-settings.js';
import { checkResponsesTools, checkTextFormat } from './openai-responses-tools.js';

const topFields = new Set(
  `access_programs background background_options context_management conversation image include input instructions max_output_tokens
   max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options
   prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools
   top_logprobs top_p truncation user`.split(/\s+/),
);
/** What has the provider keep or look up a conversation. */
const stateFields = ['previous_response_id', 'conversation', 'prompt'];

/**
 * Checks the body of a Responses request that leaves no state at the provider (`store: false`) as strictly as the API does, and answers with
 * what it would be refused for: one line for each fault, with its place and the id or name concerned; an empty list for a legal request.
 * It is stricter than the API in four points, for servers that imitate it: ids of calls are `[a-zA-Z0-9_-]` and used once, arguments are the
 * JSON text of an object, a function always says whether it is strict, and reasoning is always followed by what it led to.
 */
export function checkResponsesRequest(body: unknown): readonly string[] {
  const found: string[] = [];
  const report: Report = (place, what) => found.push(`${place}: ${what}`);
  const fields = fieldsOf(body);
  if (fields === undefined) return ['body: is no object'];
  for (const name of Object.keys(fields))
    if (!topFields.has(name) && fields[name] !== undefined) report(name, 'is no parameter of the API');
  if (typeof fields.model !== 'string' || fields.model === '') report('model', 'is missing');
  if (isGiven(fields.instructions) && typeof fields.instructions !== 'string') report('instructions', 'must be text');
  if (fields.store !== false) report('store', 'must be false: left out, the provider keeps the conversation');
  for (const name of stateFields) if (isGiven(fields[name])) report(name, 'refers to state at the provider');
  if (isGiven(fields.background) && fields.background !== false) report('background', 'needs store');
  checkInput(fields.input, report);
  checkResponsesTools(fields, report);
  checkTextFormat(fields, report);
  checkResponsesSettings(fields, report);
  checkSurrogates(fields, '', report);
  return found;
}
