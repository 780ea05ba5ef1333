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
  return (tool) => names.some((name) => fits(name, tool));
}

/** Whether a name fits a pattern, in which `*` stands for any characters. */
export function fits(pattern: string, name: string): boolean {
  const pieces = pattern.split('*');
  const [first = ''] = pieces;
  if (pieces.length === 1) return name === pattern;
  const last = pieces.at(-1) ?? '';
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return at <= name.length - last.length;
}
