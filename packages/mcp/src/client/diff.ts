import type { JsonValue } from '@guardloop/core';
import { isObject } from './json.js';
import type { Pin } from './pins.js';
import { showText } from './show-text.js';

const mostLines = 400;

/**
 * What has changed between two definitions of a tool, for people: lines that are gone begin with `-`, new ones with `+`. Keys stand in order,
 * and characters that are not seen are written out.
 */
export function describeChange(before: Pin | undefined, now: Pin): string {
  const lines = [before === undefined ? `${showText(now.name)} is new` : `${showText(now.name)} has changed`];
  for (const [part, old, fresh] of [
    ['description', before?.description.split('\n'), now.description.split('\n')],
    ['input', before && jsonLines(before.input), jsonLines(now.input)],
    ['output', before?.output && jsonLines(before.output), now.output && jsonLines(now.output)],
    ['hints of the server', before?.hints && jsonLines({ ...before.hints }), now.hints && jsonLines({ ...now.hints })],
  ] as const) {
    const changes = diffLines(old ?? [], fresh ?? []);
    if (changes.length > 0) lines.push(`  ${part}`, ...changes.map((line) => `    ${showText(line)}`));
  }
  return lines.join('\n');
}

function jsonLines(value: JsonValue): readonly string[] {
  return JSON.stringify(inOrder(value), undefined, 2).split('\n');
}

function inOrder(value: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((element) => inOrder(element) ?? null);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .filter((key) => key !== '__proto__')
      .sort()
      .map((key) => [key, inOrder(value[key])]),
  );
}

function diffLines(old: readonly string[], fresh: readonly string[]): readonly string[] {
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let ends = 0;
  while (ends < old.length - start && ends < fresh.length - start && old[old.length - 1 - ends] === fresh[fresh.length - 1 - ends])
    ends += 1;
  const before = old.slice(start, old.length - ends);
  const after = fresh.slice(start, fresh.length - ends);
  if (before.length > mostLines || after.length > mostLines)
    return cut([...before.map((line) => `- ${line}`), ...after.map((line) => `+ ${line}`)]);
  return cut(shortest(before, after));
}

function cut(lines: readonly string[]): readonly string[] {
  return lines.length <= mostLines ? lines : [...lines.slice(0, mostLines), `… and ${lines.length - mostLines} more lines`];
}

/** By the longest common subsequence; both lists are short. */
function shortest(before: readonly string[], after: readonly string[]): readonly string[] {
  const width = after.length + 1;
  const lengths = new Uint16Array((before.length + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1)
    for (let column = after.length - 1; column >= 0; column -= 1)
      lengths[row * width + column] =
        before[row] === after[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
  const changes: string[] = [];
  let row = 0;
  let column = 0;
  while (row < before.length || column < after.length) {
    if (row < before.length && column < after.length && before[row] === after[column]) {
      row += 1;
      column += 1;
    } else if (row < before.length && (column === after.length || at(row + 1, column) >= at(row, column + 1))) {
      changes.push(`- ${before[row]}`);
      row += 1;
    } else {
      changes.push(`+ ${after[column]}`);
      column += 1;
    }
  }
  return changes;
}
