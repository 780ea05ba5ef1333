import type { JsonValue } from '../model/types.js';
import { nothingMissing } from './missing-fields.js';

export type JsonFields = { readonly [key: string]: JsonValue | undefined };

/** Identifiers, counts, status and error class: a model that acts on a result needs them. They are never cut. */
export const essential =
  /^(?:id|ids|ID|uuid|.*(?:_id|_ids|Id|Ids|ID)|count|total|.*(?:_count|_total|Count|Total)|status|code|error|error_?class|errorClass)$/;
/** Nothing of this value was asked for. */
export const nothing: unique symbol = Symbol('nothing');

const mostLists = 20;

export const isContainer = (value: JsonValue | undefined): value is readonly JsonValue[] | JsonFields =>
  typeof value === 'object' && value !== null;
const isList = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value);

/** Chooses of an output what was asked for, and counts the rest. */
export class FieldSelection {
  readonly missing = nothingMissing();

  constructor(private readonly keep: ReadonlySet<string>) {}

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
    if (!isContainer(field)) return nothing;
    if (!isList(field)) return this.selectFields(field);
    const selected = this.searchList(field);
    if (selected === nothing && this.missing.lists.length < mostLists) this.missing.lists.push({ name, length: field.length });
    return selected;
  }

  /** A list stays if one of its elements does; plain values stay beside it. */
  private searchList(list: readonly JsonValue[]): JsonValue | typeof nothing {
    if (!list.some(isContainer)) return nothing;
    const selected = list.map((element) => {
      if (!isContainer(element)) return element;
      return isList(element) ? this.searchList(element) : this.selectFields(element);
    });
    if (!selected.some((element, index) => element !== nothing && isContainer(list[index]))) return nothing;
    return selected.map((element, index) => (element !== nothing ? element : isList(list[index]) ? [] : {}));
  }
}
