import type { Place } from './fault.js';
import { fault } from './fault.js';

/** A step of a path: a name, a place in a list, or every entry of a list. */
export type Step = { readonly key: string } | { readonly index: number } | 'each';
export interface FieldPath {
  readonly text: string;
  readonly steps: readonly Step[];
  readonly isMany: boolean;
}

const longestPath = 200;

// One name, or one bracket. A name takes all characters up to the next dot or bracket: each is looked at once.
const piece = /(\.?)((?:[^.[\]\\]|\\.)+)|\[(\d{0,6})\]/y;

/** Reads `a.b[0].c` and `a[].b`; `\.` and `\[` stand for themselves. Undefined: it is no path. */
export function parsePath(text: string): FieldPath | undefined {
  if (text === '' || text.length > longestPath) return undefined;
  const steps: Step[] = [];
  for (let from = 0; from < text.length; from = piece.lastIndex) {
    piece.lastIndex = from;
    const [whole, dot, name, place] = piece.exec(text) ?? [];
    // The first is a name; a name after anything is parted from it by a dot.
    if (whole === undefined || (from === 0 ? dot !== '' : name !== undefined && dot === '')) return undefined;
    if (name !== undefined) steps.push({ key: name.replace(/\\(.)/g, '$1') });
    else steps.push(place === '' || place === undefined ? 'each' : { index: Number(place) });
  }
  return { text, steps, isMany: steps.includes('each') };
}

/** Throws CONFIG_INVALID. `many`: whether it goes through lists. */
export function readPath(value: unknown, place: Place, many: boolean): FieldPath {
  const path = typeof value === 'string' ? parsePath(value) : undefined;
  if (path === undefined)
    fault(place, 'this is no path. Give one such as cents, to.address, items[0].id, or orders[].total for the entries of a list.');
  if (path.isMany && !many) fault(place, `${path.text} goes through a list. Write \`every\` or \`some\` in the place of \`field\`.`);
  if (!path.isMany && many) fault(place, `${path.text} names one value. Write \`field\`, or [] after the name of the list.`);
  return path;
}

const step = (value: unknown, { key }: { readonly key: string }): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, key)
    ? (value as { readonly [key: string]: unknown })[key]
    : undefined;

/** The one value at a path; undefined where there is none. Own fields only. */
export function valueAt(root: unknown, { steps }: FieldPath): unknown {
  let value = root;
  for (const each of steps) {
    if (each === 'each') return undefined;
    value = 'key' in each ? step(value, each) : Array.isArray(value) ? value[each.index] : undefined;
    if (value === undefined || value === null) return undefined;
  }
  return value;
}

/** A value with where it stands. */
export interface ValuePlace {
  /** `orders[2].total`. */
  readonly path: string;
  readonly value: unknown;
}

/** All values at a path through lists; one that is missing in an entry stands as undefined. Undefined: a list is missing. */
export function placesAt(root: unknown, { steps }: FieldPath): readonly ValuePlace[] | undefined {
  let places: readonly ValuePlace[] = [{ path: '', value: root }];
  for (const each of steps) {
    if (each === 'each') {
      if (!places.every(({ value }) => Array.isArray(value))) return undefined;
      places = places.flatMap(({ path, value }) =>
        (value as readonly unknown[]).map((entry, index) => ({ path: `${path}[${index}]`, value: entry })),
      );
    } else {
      places = places.map(({ path, value }) =>
        'key' in each
          ? { path: path === '' ? each.key : `${path}.${each.key}`, value: step(value, each) }
          : { path: `${path}[${each.index}]`, value: Array.isArray(value) ? value[each.index] : undefined },
      );
    }
  }
  return places.map(({ path, value }) => ({ path, value: value ?? undefined }));
}
