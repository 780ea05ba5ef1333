import type { RedisContext } from './redis-context.js';

/** One of an index, with where it stands there. */
export interface Placed<T> {
  readonly item: T;
  readonly score: number;
  readonly member: string;
}

interface Scan<T> {
  /** A sorted set. */
  readonly index: string;
  readonly isLatestFirst: boolean;
  readonly size: number;
  /** The last one of the page before. */
  readonly from: { readonly score: number; readonly member: string } | undefined;
  /** The records of members, in their order; undefined for one that is not asked for, or not there any more. */
  read(members: readonly string[]): Promise<readonly (T | undefined)[]>;
}

/** Goes through an index until a page is full. */
export async function scan<T>(
  { connection, base }: RedisContext,
  { index, isLatestFirst, size, from, read }: Scan<T>,
): Promise<{ readonly items: readonly Placed<T>[]; readonly hasMore: boolean }> {
  const items: Placed<T>[] = [];
  const chunk = Math.min(Math.max(size + 1, 20), 200);
  const isBehind = (score: number, member: string): boolean => {
    if (from === undefined) return true;
    if (score !== from.score) return isLatestFirst ? score < from.score : score > from.score;
    return isLatestFirst ? member < from.member : member > from.member;
  };
  for (let offset = 0; ; offset += chunk) {
    const flat = await connection.read((client) => {
      const [name, start] = [`${base}${index}`, from === undefined ? undefined : String(from.score)];
      return isLatestFirst
        ? client.zrevrangebyscore(name, start ?? '+inf', '-inf', 'WITHSCORES', 'LIMIT', offset, chunk)
        : client.zrangebyscore(name, start ?? '-inf', '+inf', 'WITHSCORES', 'LIMIT', offset, chunk);
    });
    const members: { readonly member: string; readonly score: number }[] = [];
    for (let at = 0; at + 1 < flat.length; at += 2) {
      const [member, score] = [flat[at] ?? '', Number(flat[at + 1])];
      if (isBehind(score, member)) members.push({ member, score });
    }
    const records = members.length === 0 ? [] : await read(members.map(({ member }) => member));
    for (const [place, { member, score }] of members.entries()) {
      const item = records[place];
      if (item === undefined) continue;
      if (items.length === size) return { items, hasMore: true };
      items.push({ item, score, member });
    }
    if (flat.length < chunk * 2) return { items, hasMore: false };
  }
}
