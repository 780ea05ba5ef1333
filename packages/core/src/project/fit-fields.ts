import type { JsonValue } from '../model/types.js';
import type { Missing } from './missing-fields.js';
import type { JsonFields } from './select-fields.js';
import { essential, isContainer } from './select-fields.js';
import { FieldWriter } from './write-fields.js';

/** The JSON of a selection in at most `maxChars` characters, and what had no room in it. */
export interface Fitted {
  readonly text: string;
  readonly missing: Missing;
}

interface Fitting {
  /** Fields whose whole values must stand. */
  readonly keep: ReadonlySet<string>;
  readonly maxChars: number;
  /** What was not selected. */
  readonly missing: Missing;
}

/**
 * Fits a selection into its room. Whole if it fits. Else the kept fields have their room first, wherever they stand, then identifiers, counts
 * and status, then the rest in order. Where not even the kept fields fit, identifiers, counts and status are first, lists lose elements from
 * their end, and long texts their middles.
 */
export function fitFields(selected: JsonValue, { keep, maxChars, missing }: Fitting): Fitted {
  const whole = JSON.stringify(selected);
  if (whole.length <= maxChars) return { text: whole, missing };
  const skeleton = new Skeleton(keep, missing);
  const need = skeleton.measure(selected);
  if (need !== undefined && need <= maxChars) return { text: skeleton.write(selected, maxChars - need), missing: skeleton.missing };
  const writer = new FieldWriter({ ...missing });
  return { text: writer.write(selected, maxChars, false) ?? '{}', missing: writer.missing };
}

const label = (name: string): string => `${JSON.stringify(name)}:`;

/** The kept fields where they stand, and around them what has room. */
class Skeleton {
  missing: Missing;
  /** Characters of what holds a kept field, with nothing but those. */
  private readonly needs = new Map<object, number>();
  private spare = 0;

  constructor(
    private readonly keep: ReadonlySet<string>,
    missing: Missing,
  ) {
    this.missing = { ...missing };
  }

  /** Undefined: it holds no kept field. */
  measure(value: JsonValue | undefined): number | undefined {
    if (!isContainer(value)) return undefined;
    const isList = Array.isArray(value);
    let chars = 0;
    let count = 0;
    for (const [name, field] of Object.entries(value)) {
      const isKept = !isList && this.keep.has(name);
      const need = isKept ? (JSON.stringify(field) ?? 'null').length : this.measure(field);
      if (need === undefined) continue;
      chars += need + (isList ? 0 : label(name).length);
      count += 1;
    }
    if (count === 0) return undefined;
    const need = chars + count + 1;
    this.needs.set(value, need);
    return need;
  }

  /** What holds a kept field. `spare`: characters beyond what it needs. */
  write(value: JsonValue, spare: number): string {
    this.spare = spare;
    return this.within(value);
  }

  private within(value: JsonValue): string {
    return Array.isArray(value) ? this.list(value as readonly JsonValue[]) : this.object(value as JsonFields);
  }

  private object(value: JsonFields): string {
    const entries = Object.entries(value);
    const pieces = new Array<string | undefined>(entries.length);
    const isFirst = ([name, field]: readonly [string, JsonValue | undefined]): boolean => !isContainer(field) && essential.test(name);
    for (const first of [true, false]) {
      for (const [index, entry] of entries.entries()) {
        const [name, field = null] = entry;
        if (this.keep.has(name)) pieces[index] ??= label(name) + JSON.stringify(field);
        else if (isFirst(entry) === first) pieces[index] = this.field(name, field);
      }
    }
    return `{${pieces.filter((piece) => piece !== undefined).join(',')}}`;
  }

  private field(name: string, field: JsonValue): string | undefined {
    if (isContainer(field) && this.needs.has(field)) return label(name) + this.within(field);
    const text = this.optional(field, { around: label(name).length + 1, mayBePart: isContainer(field) });
    if (text === undefined) this.missing.values += 1;
    return text === undefined ? undefined : label(name) + text;
  }

  /** The elements that hold a kept field, and of the others as many from the first on as have room. */
  private list(list: readonly JsonValue[]): string {
    const pieces: string[] = [];
    let hasRoom = true;
    for (const element of list) {
      if (isContainer(element) && this.needs.has(element)) {
        pieces.push(this.within(element));
        continue;
      }
      const text: string | undefined = hasRoom ? this.optional(element, { around: 1, mayBePart: pieces.length === 0 }) : undefined;
      if (text === undefined) this.missing.elements += 1;
      else pieces.push(text);
      hasRoom = text !== undefined;
    }
    return `[${pieces.join(',')}]`;
  }

  /** `around`: characters that come with it. */
  private optional(value: JsonValue, { around, mayBePart }: { readonly around: number; readonly mayBePart: boolean }): string | undefined {
    const room = this.spare - around;
    let text: string | undefined = JSON.stringify(value);
    if (text.length > room) {
      if (!mayBePart) return undefined;
      const writer = new FieldWriter(this.missing);
      text = writer.write(value, room, false);
      if (text === undefined) return undefined;
      this.missing = writer.missing;
    }
    this.spare -= text.length + around;
    return text;
  }
}
