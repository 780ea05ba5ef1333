import type { LogEvent } from '../state/events.js';

type Fields = Readonly<Record<string, unknown>>;

/** Fields that hold a run's id. */
const ofRun: ReadonlySet<string> = new Set(['run', 'parent']);
/** Fields that hold a name that begins with one; calls without a run stand in some, too. */
const named: ReadonlySet<string> = new Set(['subject', 'id', 'idempotencyKey', 'byStanding', 'copyOf']);
/** Fields in which such names stand deeper. What people, models and tools said is in none of them. */
const nested: ReadonlySet<string> = new Set(['items', 'item', 'changed', 'judged', 'view', 'entry', 'approval', 'revisions']);

/**
 * Gives a run and its child runs another name wherever an event names them, and its writers one of their own. Texts that were shown keep the
 * old name: the keys of spilled results, which are still kept under it.
 */
export function renameRun(from: string, to: string): (event: LogEvent) => LogEvent {
  const rename = (text: string): string => (text.startsWith(`${from}/`) ? to + text.slice(from.length) : text);
  const renameNested = (value: unknown): unknown => {
    if (typeof value === 'string') return rename(value);
    if (Array.isArray(value)) return value.map(renameNested);
    return isObject(value) ? renameIn(value) : value;
  };
  const renameIn = (fields: Fields): Fields =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]): [string, unknown] => {
        if (ofRun.has(name) && value === from) return [name, to];
        if ((ofRun.has(name) || named.has(name)) && typeof value === 'string') return [name, rename(value)];
        if (name === 'revisions' && isObject(value))
          return [name, Object.fromEntries(Object.entries(value).map(([key, revision]) => [rename(key), revision]))];
        return [name, nested.has(name) ? renameNested(value) : value];
      }),
    );
  return (event) => {
    if (event.run !== from && rename(event.run) === event.run) return event;
    const renamed = renameIn(event as unknown as Fields) as unknown as LogEvent;
    return renamed.type === 'run.start' || renamed.type === 'run.resume' ? { ...renamed, writer: `${renamed.writer}~${to}` } : renamed;
  };
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
