import { GuardloopError } from '../errors.js';
import type { Prices } from '../model/cost.js';

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

/** Throws `CONFIG_INVALID` for an option that does not exist. */
export function checkOptionNames(where: string, options: object, names: Readonly<Record<string, true>>): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown !== undefined) throw optionFault(where, `there is no option ${unknown}. The options are ${Object.keys(names).join(', ')}.`);
}

/** Throws `CONFIG_INVALID` for a price that is no number from 0. */
export function checkPrices(where: string, prices: Prices | undefined): void {
  for (const [name, price] of Object.entries(prices ?? {})) {
    if (price !== undefined && !(Number.isFinite(price) && price >= 0))
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
