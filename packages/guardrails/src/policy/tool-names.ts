import { fitsPattern } from '@guardloop/core';
import type { Place } from './fault.js';
import { fault, told } from './fault.js';

/** Whether every name that fits `narrow` fits `wide` too. A `*` of `narrow` is put as a character that no name has: only a `*` can take it. */
export const coversName = (wide: string, narrow: string): boolean => fitsPattern(wide, narrow.replaceAll('*', '\u0000'));

/** Of each list one is enough. */
export const coversNames = (wide: readonly string[], narrow: readonly string[]): boolean =>
  narrow.every((each) => wide.some((pattern) => coversName(pattern, each)));

const toolPattern = /^[a-zA-Z0-9_*-]{1,64}$/;

/** One name or pattern, or a list of them. Throws CONFIG_INVALID. */
export function readToolNames(value: unknown, place: Place): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0) fault(place, 'this list is empty: the rule would be about nothing. Name a tool, or remove the rule.');
  for (const each of list) {
    if (typeof each !== 'string' || !toolPattern.test(each))
      fault(place, `${told(each)} cannot name a tool. Give a tool's name, or a pattern such as find_*.`);
  }
  return list as readonly string[];
}

const switches: ReadonlyMap<string, boolean> = new Map([
  ['yes', true],
  ['on', true],
  ['true', true],
  ['no', false],
  ['off', false],
  ['false', false],
]);

/** As {@link readToolNames}, where true or false could stand too: a word for one of them that YAML reads as a text is no name of a tool. */
export function readReadTools(value: unknown, place: Place): readonly string[] {
  const meant = typeof value === 'string' ? switches.get(value.toLowerCase()) : undefined;
  if (meant !== undefined)
    fault(
      place,
      `${told(value)} is a text here, not ${meant}. Write ${meant}, without quotes; or [${String(value)}] for a tool of that name.`,
    );
  return readToolNames(value, place);
}

/** Names of agents, which may hold anything. */
export function readAgentNames(value: unknown, place: Place): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0 || list.some((each) => typeof each !== 'string' || each === ''))
    fault(place, "give an agent's name, a pattern, or a list of them.");
  return list as readonly string[];
}

/** Asks whether a name is among names and patterns. */
export function nameMatcher(names: readonly string[]): (name: string) => boolean {
  const exact = new Set(names.filter((name) => !name.includes('*')));
  const patterns = names.filter((name) => name.includes('*'));
  return (name) => exact.has(name) || patterns.some((pattern) => pattern === '*' || fitsPattern(pattern, name));
}
