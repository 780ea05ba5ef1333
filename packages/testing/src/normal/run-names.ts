import type { LogEvent } from '@guardloop/core';

type Fields = Readonly<Record<string, unknown>>;

/** Fields that hold a run's id, or a name that begins with one. */
const named: ReadonlySet<string> = new Set(['run', 'parent', 'subject', 'id', 'idempotencyKey', 'byStanding', 'copyOf']);

/** Fields that hold such names inside: references of a view, messages, an approval. What people, models and tools said is in none of them. */
const nested: ReadonlySet<string> = new Set(['items', 'item', 'changed', 'judged', 'view', 'entry', 'approval', 'revisions']);

/** Names the outermost runs r1, r2, … wherever an event names them. */
export function nameRuns(events: readonly LogEvent[]): (event: Fields) => Fields {
  const names = new Map<string, string>();
  for (const event of events)
    if (event.type === 'run.start' && event.parent === undefined && !names.has(event.run)) names.set(event.run, `r${names.size + 1}`);
  const rename = (text: string): string => {
    for (let end = text.length; end > 0; end = text.lastIndexOf('/', end - 1)) {
      const name = names.get(text.slice(0, end));
      if (name !== undefined) return `${name}${text.slice(end)}`;
    }
    return text;
  };
  const renameIn = (fields: Fields): Fields =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]): [string, unknown] => {
        if (named.has(name) && typeof value === 'string') return [name, rename(value)];
        if (name === 'revisions' && isObject(value))
          return [name, Object.fromEntries(Object.entries(value).map(([key, revision]) => [rename(key), revision]))];
        return [name, nested.has(name) ? renameNested(value) : value];
      }),
    );
  const renameNested = (value: unknown): unknown => {
    if (typeof value === 'string') return rename(value);
    if (Array.isArray(value)) return value.map(renameNested);
    return isObject(value) ? renameIn(value) : value;
  };
  return renameIn;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
