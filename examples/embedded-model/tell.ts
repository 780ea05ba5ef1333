// Says in plain words what tools gave.
import type { JsonValue, ToolMessage } from '@guardloop/core';
import { textOf } from './exchange.js';

/** `totalCents` → `total`, `paidWith` → `paid with`, `find_order` → `find order`. */
export const humanise = (name: string): string =>
  name
    .replace(/(?<=.)(?:Cents|Id)$/, '')
    .replaceAll(/(?<=[a-z])(?=[A-Z])|[_-]/g, ' ')
    .toLowerCase();

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function tellValue(name: string, value: JsonValue | undefined): string {
  if (typeof value === 'number' && /cents$/i.test(name)) return `€${(value / 100).toFixed(2)}`;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map((each) => tellValue(name, each)).join('; ');
  return typeof value === 'object' && value !== null ? tellFields(value) : String(value);
}

function tellFields(fields: object): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${humanise(name)} ${tellValue(name, value)}`)
    .join(', ');
}

/** One result, as a sentence. */
export function tellResult(result: ToolMessage): string {
  const value = parse(textOf(result.content));
  if (result.isError) {
    const summary = typeof value === 'object' && value !== null && 'summary' in value ? value.summary : value;
    return `I could not do that: ${String(summary).replace(/\.?$/, '.')}`;
  }
  const text = typeof value === 'object' && value !== null ? tellValue('', value) : String(value);
  const sentence = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}
