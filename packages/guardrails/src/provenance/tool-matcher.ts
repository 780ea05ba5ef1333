import { fitsPattern } from '@guardloop/core';
import { optionFault } from '@guardloop/core/model';

const patternRule = /^[\w*-]+$/;

/** Whether a tool's name is one of these, or fits one of the patterns among them (`search_*`). Of none, no tool is. Throws CONFIG_INVALID. */
export function toolMatcher(where: string, option: string, given: unknown): (tool: string) => boolean {
  if (given === undefined) return () => false;
  if (!Array.isArray(given)) throw optionFault(where, `${option} is no list. Give names of tools, or patterns such as 'search_*'.`);
  for (const name of given as readonly unknown[]) {
    if (typeof name !== 'string' || !patternRule.test(name))
      throw optionFault(where, `${option} has an entry that cannot name a tool. Give names, or patterns such as 'search_*'.`);
  }
  const names = given as readonly string[];
  return (tool) => names.some((name) => fitsPattern(name, tool));
}
