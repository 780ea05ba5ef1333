import { GuardloopError, suggest } from '../errors.js';

/** Throws CONFIG_INVALID for an option of `owner` that does not exist. */
export function checkOptionNames(owner: string, given: unknown, names: readonly string[]): void {
  const unknown = typeof given === 'object' && given !== null ? Object.keys(given).find((name) => !names.includes(name)) : undefined;
  if (unknown !== undefined)
    throw new GuardloopError(
      'CONFIG_INVALID',
      `${owner}: there is no option ${unknown.slice(0, 60)}. ${suggest(unknown, names)}The options are ${names.join(', ')}.`,
    );
}
