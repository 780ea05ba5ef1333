/** A piece of a sentence: our own words, or what stands in the log. The two are never mixed up: each page quotes the second in its way. */
export type Piece = string | { readonly quote: string };
/** A sentence. */
export type Words = readonly Piece[];

/** A sentence of our own with words of the log in it. Numbers and sentences are ours. */
export function say(literals: TemplateStringsArray, ...values: readonly (string | number | Words)[]): Words {
  const pieces: Piece[] = [];
  const add = (own: string): void => {
    if (own !== '') pieces.push(own);
  };
  add(literals[0] ?? '');
  for (const [index, value] of values.entries()) {
    if (typeof value === 'number') add(tellCount(value));
    else if (typeof value === 'string') pieces.push({ quote: value });
    else pieces.push(...value);
    add(literals[index + 1] ?? '');
  }
  return pieces;
}

/** Names with commas between them. */
export const sayList = (names: readonly string[]): Words =>
  names.length === 0 ? ['none'] : names.flatMap((name, index) => (index === 0 ? [{ quote: name }] : [', ', { quote: name }]));

/** A count, by thousands. */
export const tellCount = (count: number): string => (Number.isFinite(count) ? count.toLocaleString('en-US') : 'unlimited');

/** A count with its noun. */
export const tellCounted = (count: number, noun: string): string =>
  `${tellCount(count)} ${count === 1 ? noun : noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;

/** A length of time. */
export function tellDuration(ms: number): string {
  if (!Number.isFinite(ms)) return 'unknown';
  if (ms < 1_000) return `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A point in time as machines write it; empty where it is none. */
export function isoTime(at: number): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}

/** A point in time, in UTC. */
export const tellTime = (at: number): string =>
  isoTime(at)
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC') || 'unknown';

/** Time since the beginning. */
export const tellSince = (ms: number): string => (ms < 60_000 ? `+${(Math.max(0, ms) / 1_000).toFixed(3)} s` : `+${tellDuration(ms)}`);
