import type { Projection, ProjectionInfo } from '../define/types.js';
import { GuardloopError } from '../errors.js';
import type { JsonValue } from '../model/types.js';
import { checkMaxChars, headAndTail, resultCapChars } from './cap.js';
import { ownProjection } from './own-projection.js';

/** What {@link jsonFields} takes. */
export interface JsonFieldsOptions<K extends string> {
  /** Names of fields that stay with their whole value, wherever they stand. */
  readonly keep: readonly K[];
  /** Characters (UTF-16 units) of JSON at most; a line that says what is missing comes on top. Default 16,000. */
  readonly maxChars?: number | undefined;
}

type JsonFields = { readonly [key: string]: JsonValue | undefined };

/** Identifiers, counts, status and error class: a model that acts on a result needs them. They are never cut. */
const essential =
  /^(?:id|ids|ID|uuid|.*(?:_id|_ids|Id|Ids|ID)|count|total|.*(?:_count|_total|Count|Total)|status|code|error|error_?class|errorClass)$/;
/** Below this, a piece of a text says nothing. */
const leastPieceChars = 80;

/** What was left out of one output. */
interface Missing {
  fields: number;
  elements: number;
  values: number;
  cut: number;
  /** Lengths of lists of plain values that were left out, by the list's name. */
  readonly lists: string[];
}

/** Nothing of this value was asked for. */
const nothing = Symbol('nothing');

class Selection {
  missing: Missing = { fields: 0, elements: 0, values: 0, cut: 0, lists: [] };
  private readonly keep: ReadonlySet<string>;

  constructor(keep: ReadonlySet<string>) {
    this.keep = keep;
  }

  private keeps(name: string): boolean {
    return this.keep.has(name) || essential.test(name);
  }

  /** The value with only the fields asked for; objects and lists are searched, plain values in lists stay. */
  select(value: JsonValue): JsonValue | typeof nothing {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return (value as readonly JsonValue[]).map((element) => this.selectElement(element));
    return this.selectFields(value as JsonFields);
  }

  private selectElement(element: JsonValue): JsonValue {
    const selected = this.select(element);
    return selected === nothing ? {} : selected;
  }

  private selectFields(value: JsonFields): JsonValue | typeof nothing {
    const selected: Record<string, JsonValue> = {};
    let isEmpty = true;
    for (const [name, field] of Object.entries(value)) {
      if (field === undefined || name === '__proto__') continue;
      const kept = this.keeps(name) ? field : this.search(name, field);
      if (kept === nothing) {
        this.missing.fields += 1;
        continue;
      }
      isEmpty = false;
      selected[name] = kept;
    }
    return isEmpty ? nothing : selected;
  }

  /** A field that was not asked for stays if it holds one that was. */
  private search(name: string, field: JsonValue): JsonValue | typeof nothing {
    if (typeof field !== 'object' || field === null) return nothing;
    if (!Array.isArray(field)) return this.selectFields(field as JsonFields);
    const list = field as readonly JsonValue[];
    if (list.some((element) => typeof element === 'object' && element !== null && !Array.isArray(element))) {
      const selected = list.map((element) => this.select(element));
      if (selected.some((element) => element !== nothing && typeof element === 'object'))
        return selected.map((element) => (element === nothing ? {} : element));
    }
    if (this.missing.lists.length < 20) this.missing.lists.push(`${name} ${list.length}`);
    return nothing;
  }

  /** The JSON of a value in at most `budget` characters; undefined if nothing of it has room. Stops when the room is used up. */
  write(value: JsonValue, budget: number, isWhole: boolean): string | undefined {
    if (typeof value === 'string') return this.writeText(value, budget, isWhole);
    if (typeof value !== 'object' || value === null) {
      const text = JSON.stringify(value);
      return text.length <= budget ? text : undefined;
    }
    if (budget < 2) return undefined;
    return Array.isArray(value) ? this.writeElements(value, budget) : this.writeFields(value as JsonFields, budget);
  }

  private writeText(value: string, budget: number, isWhole: boolean): string | undefined {
    if (value.length + 2 <= budget) {
      const text = JSON.stringify(value);
      if (text.length <= budget) return text;
    }
    if (isWhole) return undefined;
    for (let room = Math.min(value.length - 1, budget - 80); room >= leastPieceChars; room = Math.floor(room / 2)) {
      const text = JSON.stringify(headAndTail(value, room));
      if (text.length > budget) continue;
      this.missing.cut += 1;
      return text;
    }
    return undefined;
  }

  /** Whole elements from the first on; only the first may have lost something. */
  private writeElements(list: readonly JsonValue[], budget: number): string {
    let text = '[';
    for (const [index, element] of list.entries()) {
      const comma = index === 0 ? '' : ',';
      const before = { ...this.missing };
      const written = this.write(element, budget - text.length - comma.length - 1, index > 0);
      const isWhole = before.values === this.missing.values && before.elements === this.missing.elements && before.cut === this.missing.cut;
      if (written === undefined || (index > 0 && !isWhole)) {
        this.missing = { ...before, elements: before.elements + list.length - index };
        break;
      }
      text += comma + written;
    }
    return `${text}]`;
  }

  /** Essential plain values get their room first; all stand in the order of the output. */
  private writeFields(value: JsonFields, budget: number): string | undefined {
    const entries = Object.entries(value);
    const written = new Array<string | undefined>(entries.length);
    let room = budget - 2;
    const isEssential = ([name, field]: readonly [string, JsonValue | undefined]): boolean =>
      typeof field !== 'object' && essential.test(name);
    for (const essentials of [true, false]) {
      for (const [index, entry] of entries.entries()) {
        if (isEssential(entry) !== essentials) continue;
        const label = `${JSON.stringify(entry[0])}:`;
        const field = this.write(entry[1] ?? null, room - label.length - 1, essentials);
        if (field === undefined) {
          this.missing.values += 1;
          continue;
        }
        written[index] = label + field;
        room -= label.length + field.length + 1;
      }
    }
    const kept = written.filter((field) => field !== undefined);
    return kept.length === 0 && entries.length > 0 ? undefined : `{${kept.join(',')}}`;
  }
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

function describeMissing({ fields, elements, values, cut, lists }: Missing): string | undefined {
  const parts = [
    ...(fields > 0 ? [counted(fields, 'field')] : []),
    ...(elements > 0 ? [`${counted(elements, 'list element')} for want of room`] : []),
    ...(values > 0 ? [`${counted(values, 'value')} for want of room`] : []),
  ];
  const sentences = [
    ...(parts.length > 0 ? [`left out: ${parts.join(', ')}`] : []),
    ...(cut > 0 ? [`${counted(cut, 'long text')} cut inside`] : []),
    ...(lists.length > 0 ? [`lengths of lists left out: ${lists.join(', ')}`] : []),
  ];
  return sentences.length > 0 ? `[${sentences.join('; ')}]` : undefined;
}

function structured(output: unknown): JsonValue | undefined {
  if (typeof output === 'object') return output as JsonValue;
  if (typeof output !== 'string' || !/^\s*[{[]/.test(output)) return undefined;
  try {
    return JSON.parse(output) as JsonValue;
  } catch {
    return undefined;
  }
}

/**
 * Shows the model the fields named in `keep`, and identifiers, counts, `status`, `code` and errors, wherever they stand; the rest is left out
 * and counted. What is shown is valid JSON, followed by one line in brackets if anything is missing. Output that is no JSON is cut to its
 * head and tail.
 */
export function jsonFields<const K extends string>(options: JsonFieldsOptions<K>): Projection<unknown, K> {
  const maxChars = checkMaxChars(options?.maxChars ?? resultCapChars, 'jsonFields');
  if (!Array.isArray(options.keep) || options.keep.some((name) => typeof name !== 'string')) {
    throw new GuardloopError(
      'CONFIG_INVALID',
      "jsonFields: keep must be a list of field names. Give them as strings, for example keep: ['orderId'].",
    );
  }
  const keep: ReadonlySet<string> = new Set(options.keep);
  return ownProjection<Projection<unknown, K>>((output: unknown, { content }: ProjectionInfo) => {
    const value = structured(output);
    if (value === undefined || value === null) return headAndTail(content, maxChars);
    const selection = new Selection(keep);
    const selected = selection.select(value);
    const text = selection.write(selected === nothing ? {} : selected, maxChars, false) ?? '{}';
    const missing = describeMissing(selection.missing);
    return missing === undefined ? text : `${text}\n${missing}`;
  });
}
