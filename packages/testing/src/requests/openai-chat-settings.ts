import type { Fields, Report } from './openai-fields.js';
import { checkFieldNames, fieldsOf, isGiven } from './openai-fields.js';

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const words: Readonly<Record<string, readonly string[]>> = {
  reasoning_effort: efforts,
  verbosity: ['low', 'medium', 'high'],
  service_tier: ['auto', 'default', 'flex', 'scale', 'priority'],
  prompt_cache_retention: ['in_memory', '24h'],
};
const ranges: Readonly<Record<string, readonly [number, number]>> = {
  temperature: [0, 2],
  top_p: [0, 1],
  presence_penalty: [-2, 2],
  frequency_penalty: [-2, 2],
};
const wholeNumbers: Readonly<Record<string, readonly [number, number]>> = {
  max_tokens: [1, Number.MAX_SAFE_INTEGER],
  max_completion_tokens: [1, Number.MAX_SAFE_INTEGER],
  n: [1, 128],
  seed: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  top_logprobs: [0, 20],
};
const longestTexts: Readonly<Record<string, number>> = { user: Number.POSITIVE_INFINITY, prompt_cache_key: 64, safety_identifier: 64 };
const flags = ['stream', 'store', 'logprobs'];

/** Settings of a Chat Completions request: everything beside messages, tools and the format of the answer. */
export function checkChatSettings(fields: Fields, report: Report): void {
  checkValues(fields, report);
  if (isGiven(fields.max_tokens) && isGiven(fields.max_completion_tokens))
    report('max_tokens', 'stands beside max_completion_tokens; only one is allowed');
  if (isGiven(fields.top_logprobs) && fields.logprobs !== true) report('top_logprobs', 'is only allowed with logprobs');
  checkStreamOptions(fields, report);
  checkStop(fields.stop, report);
  checkMetadata(fields, report);
  checkBias(fields.logit_bias, report);
  checkModalities(fields, report);
}

function checkValues(fields: Fields, report: Report): void {
  const check = (names: readonly string[], isLegal: (value: unknown, name: string) => boolean, what: (name: string) => string): void => {
    for (const name of names) if (isGiven(fields[name]) && !isLegal(fields[name], name)) report(name, what(name));
  };
  const isWithin = (value: unknown, [low, high]: readonly [number, number] = [0, 0]): boolean =>
    typeof value === 'number' && value >= low && value <= high;
  check(
    Object.keys(ranges),
    (value, name) => isWithin(value, ranges[name]),
    (name) => `must be ${ranges[name]?.join(' to ') ?? ''}`,
  );
  check(
    Object.keys(wholeNumbers),
    (value, name) => Number.isInteger(value) && isWithin(value, wholeNumbers[name]),
    (name) => `must be a whole number from ${wholeNumbers[name]?.join(' to ') ?? ''}`,
  );
  check(
    Object.keys(words),
    (value, name) => typeof value === 'string' && words[name]?.includes(value) === true,
    () => 'is unknown',
  );
  check(
    Object.keys(longestTexts),
    (value, name) => typeof value === 'string' && value.length <= (longestTexts[name] ?? 0),
    (name) => `must be text of at most ${longestTexts[name]} characters`,
  );
  check(
    flags,
    (value) => typeof value === 'boolean',
    () => 'must be true or false',
  );
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

function checkMetadata({ metadata, store }: Fields, report: Report): void {
  if (!isGiven(metadata)) return;
  if (store !== true) report('metadata', 'is only allowed when store is true');
  const fields = fieldsOf(metadata);
  if (fields === undefined) {
    report('metadata', 'must be an object');
    return;
  }
  const keys = Object.keys(fields);
  if (keys.length > 16) report('metadata', 'has more than 16 keys');
  for (const key of keys) {
    const value = fields[key];
    if (key.length > 64) report('metadata', `the key ${JSON.stringify(key.slice(0, 20))}… is longer than 64 characters`);
    if (typeof value !== 'string') report(`metadata.${key}`, 'must be text');
    else if (value.length > 512) report(`metadata.${key}`, 'is longer than 512 characters');
  }
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
