import { fitsPattern } from '@guardloop/core';

/** What is said of a tool by names and patterns: its name goes before patterns, and of these the first that fits counts. */
export function byPattern<T>(
  entries: Readonly<Record<string, T>>,
  name: string,
): { readonly pattern: string; readonly value: T } | undefined {
  const exact = Object.hasOwn(entries, name) ? entries[name] : undefined;
  if (exact !== undefined) return { pattern: name, value: exact };
  for (const [pattern, value] of Object.entries(entries))
    if (pattern.includes('*') && fitsPattern(pattern, name)) return { pattern, value };
  return undefined;
}
