import type { Fields, Report } from './openai-fields.js';
import { checkFieldNames, fieldsOf, isGiven } from './openai-fields.js';
import type { SettingRules } from './openai-setting-values.js';
import { checkMetadata, checkSettingValues, efforts } from './openai-setting-values.js';

const rules: SettingRules = {
  words: {
    service_tier: ['auto', 'default', 'flex', 'scale', 'priority', 'fast', 'ultrafast'],
    prompt_cache_retention: ['in_memory', '24h'],
    truncation: ['auto', 'disabled'],
  },
  ranges: { temperature: [0, 2], top_p: [0, 1] },
  wholeNumbers: {
    max_output_tokens: [16, Number.MAX_SAFE_INTEGER],
    max_tool_calls: [1, Number.MAX_SAFE_INTEGER],
    top_logprobs: [0, 20],
  },
  longestTexts: { user: Number.POSITIVE_INFINITY, prompt_cache_key: 64, safety_identifier: 128 },
  flags: ['stream', 'store', 'background', 'parallel_tool_calls'],
};
const includable = new Set([
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'message.output_text.logprobs',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
]);
const summaries = ['auto', 'concise', 'detailed'];

/** Settings of a Responses request: everything beside input, tools and the format of the answer. */
export function checkResponsesSettings(fields: Fields, report: Report): void {
  checkSettingValues(fields, rules, report);
  checkMetadata(fields.metadata, report);
  checkInclude(fields.include, report);
  checkReasoning(fields.reasoning, report);
  if (isGiven(fields.stream_options)) {
    if (fields.stream !== true) report('stream_options', 'is only allowed with stream');
    checkFieldNames(fieldsOf(fields.stream_options) ?? {}, ['include_obfuscation'], { place: 'stream_options', report });
  }
}

function checkInclude(include: unknown, report: Report): void {
  if (!isGiven(include)) return;
  if (!Array.isArray(include)) report('include', 'must be a list');
  else for (const word of include) if (!includable.has(String(word))) report('include', `${JSON.stringify(word)} cannot be included`);
}

function checkReasoning(reasoning: unknown, report: Report): void {
  if (!isGiven(reasoning)) return;
  const fields = fieldsOf(reasoning);
  if (fields === undefined) {
    report('reasoning', 'must be an object');
    return;
  }
  checkFieldNames(fields, ['effort', 'summary', 'generate_summary', 'context', 'mode'], { place: 'reasoning', report });
  if (isGiven(fields.effort) && !efforts.includes(String(fields.effort))) report('reasoning.effort', 'is unknown');
  if (isGiven(fields.summary) && !summaries.includes(String(fields.summary))) report('reasoning.summary', 'is unknown');
}
