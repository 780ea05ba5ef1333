import { checkNames } from '../errors.js';

/** Throws CONFIG_INVALID for an option that does not exist. What is no object is left to whoever reads the options. */
export function checkOptionNames(owner: string, given: unknown, names: readonly string[]): void {
  if (typeof given === 'object' && given !== null) checkNames(owner, given, { what: 'option', names });
}
