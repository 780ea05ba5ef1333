import { checkNames, GuardloopError } from '../errors.js';
import type { Prices } from '../model/cost.js';
import type { ModelSettings } from '../model/types.js';
import { recordOf } from './record.js';

/** `CONFIG_INVALID` for an option of an adapter. `where` names the call: `openai('gpt-5')`. */
export function optionFault(where: string, message: string, cause?: unknown): GuardloopError {
  return new GuardloopError('CONFIG_INVALID', `${where}: ${message}`, { cause });
}

/** Throws `CONFIG_INVALID` for a model id that is none, and answers with what opens the messages about the other options. */
export function checkModelId(adapter: string, modelId: unknown, example: string): string {
  if (typeof modelId !== 'string')
    throw optionFault(`${adapter}(…)`, `the model id is no text. Call it so: ${adapter}('${example}', { …options }).`);
  const where = `${adapter}('${modelId}')`;
  if (modelId.trim() === '') throw optionFault(where, `the model id is empty. Give the id of a model, such as ${example}.`);
  return where;
}

/** Throws `CONFIG_INVALID` for options that are no object, and for one that does not exist. */
export function checkOptionNames(where: string, options: object, names: Readonly<Record<string, true>>): void {
  if (recordOf(options) === undefined) throw optionFault(where, 'the options are no object. Give one, or leave them out.');
  checkNames(where, options, { what: 'option', names: Object.keys(names) });
}

const settingNames: { readonly [K in Exclude<keyof ModelSettings, 'toolChoice'>]: true } = {
  temperature: true,
  topP: true,
  maxTokens: true,
  parallelToolCalls: true,
  stopSequences: true,
  reasoning: true,
  seed: true,
  metadata: true,
  headers: true,
  extra: true,
};

/** Throws `CONFIG_INVALID` for default settings that are no object, and for one that does not exist or is a matter of the agent. */
export function checkDefaultSettings(where: string, settings: object | undefined): void {
  if (settings === undefined) return;
  if (recordOf(settings) === undefined) throw optionFault(where, 'settings is no object. Give one, or leave it out.');
  checkNames(where, settings, { what: 'default setting', names: Object.keys(settingNames) });
}

const priceNames: { readonly [K in keyof Prices]-?: true } = {
  input: true,
  output: true,
  cacheRead: true,
  cacheWrite: true,
  audioInput: true,
  audioOutput: true,
};

/** Throws `CONFIG_INVALID` for prices that no cost could be told from. `more` are names of prices that only this provider has. */
export function checkPrices(where: string, prices: Prices | undefined, more: readonly string[] = []): void {
  if (prices === undefined) return;
  const given = recordOf(prices);
  if (given === undefined) throw optionFault(where, 'prices is no object. Give { input, output }, per million tokens, or leave it out.');
  checkNames(where, given, { what: 'price', names: [...Object.keys(priceNames), ...more] });
  for (const name of new Set(['input', 'output', ...Object.keys(given)])) {
    const price = given[name];
    const isLeftOut = price === undefined && name !== 'input' && name !== 'output';
    if (!isLeftOut && !(typeof price === 'number' && Number.isFinite(price) && price >= 0))
      throw optionFault(where, `prices.${name} must be a number from 0, per million tokens.`);
  }
}

/** Throws `CONFIG_INVALID` for options that are given and no whole numbers from `least`. */
export function checkWholeNumber(where: string, options: Readonly<Record<string, number | undefined>>, least: number): void {
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && !(Number.isInteger(value) && value >= least))
      throw optionFault(where, `${name} must be a whole number from ${least}${name.endsWith('Ms') ? ', in milliseconds' : ''}.`);
  }
}
