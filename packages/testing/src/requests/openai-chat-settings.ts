import type { Fields, Report } from './openai-fields.js';
import { checkFieldNames, fieldsOf, isGiven } from './openai-fields.js';
import type { SettingRules } from './openai-setting-values.js';
import { checkMetadata, checkSettingValues, efforts, verbosities } from './openai-setting-values.js';

const rules: SettingRules = {
  words: {
    reasoning_effort: efforts,
    verbosity: verbosities,
    service_tier: ['auto', 'default', 'flex', 'scale', 'priority'],
    prompt_cache_retention: ['in_memory', '24h'],
  },
  ranges: { temperature: [0, 2], top_p: [0, 1], presence_penalty: [-2, 2], frequency_penalty: [-2, 2] },
  wholeNumbers: {
    max_tokens: [1, Number.MAX_SAFE_INTEGER],
    max_completion_tokens: [1, Number.MAX_SAFE_INTEGER],
    n: [1, 128],
    seed: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    top_logprobs: [0, 20],
  },
  longestTexts: { user: Number.POSITIVE_INFINITY, prompt_cache_key: 64, safety_identifier: 64 },
  flags: ['stream', 'store', 'logprobs'],
};

/** Settings of a Chat Completions request: everything beside messages, tools and the format of the answer. */
export function checkChatSettings(fields: Fields, report: Report): void {
  checkSettingValues(fields, rules, report);
  if (isGiven(fields.max_tokens) && isGiven(fields.max_completion_tokens))
    report('max_tokens', 'stands beside max_completion_tokens; only one is allowed');
  if (isGiven(fields.top_logprobs) && fields.logprobs !== true) report('top_logprobs', 'is only allowed with logprobs');
  checkStreamOptions(fields, report);
  checkStop(fields.stop, report);
  checkStoredMetadata(fields, report);
  checkBias(fields.logit_bias, report);
  checkModalities(fields, report);
}

function checkStreamOptions({ stream, stream_options: options }: Fields, report: Report): void {
  if (!isGiven(options)) return;
  if (stream !== true) report('stream_options', 'is only allowed with stream');
  const place = 'stream_options';
  const fields = fieldsOf(options);
  if (fields === undefined) {
    report(place, 'must be an object');
    return;
  }
  checkFieldNames(fields, ['include_usage', 'include_obfuscation'], { place, report });
  for (const [name, value] of Object.entries(fields))
    if (isGiven(value) && typeof value !== 'boolean') report(`${place}.${name}`, 'must be true or false');
}

function checkStop(stop: unknown, report: Report): void {
  if (!isGiven(stop)) return;
  const stops: readonly unknown[] = [stop].flat();
  if (stops.length === 0 || stops.length > 4 || stops.some((text) => typeof text !== 'string' || text === ''))
    report('stop', 'must be 1 to 4 texts that are not empty');
}

function checkStoredMetadata({ metadata, store }: Fields, report: Report): void {
  if (isGiven(metadata) && store !== true) report('metadata', 'is only allowed when store is true');
  checkMetadata(metadata, report);
}

function checkBias(bias: unknown, report: Report): void {
  if (!isGiven(bias)) return;
  const fields = fieldsOf(bias);
  const isLegal =
    fields !== undefined &&
    Object.entries(fields).every(([token, value]) => /^\d+$/.test(token) && typeof value === 'number' && Math.abs(value) <= 100);
  if (!isLegal) report('logit_bias', 'must be an object of token numbers and biases from -100 to 100');
}

function checkModalities({ modalities, audio }: Fields, report: Report): void {
  if (isGiven(modalities)) {
    const isLegal = Array.isArray(modalities) && modalities.length > 0 && modalities.every((each) => each === 'text' || each === 'audio');
    if (!isLegal) report('modalities', 'must be a list of text and audio');
  }
  const wantsAudio = Array.isArray(modalities) && modalities.includes('audio');
  if (wantsAudio !== isGiven(audio)) report('audio', 'and the modality audio go together only');
}
