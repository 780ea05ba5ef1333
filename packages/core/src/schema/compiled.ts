import type { JsonObject, JsonValue } from '../model/types.js';

/** One way in which an input does not fit. Holds names and expectations of the schema, never anything of the input. */
export interface SchemaIssue {
  /** For example `items[2].cents`; empty for the whole. A name that is not the schema's stands as `*`. */
  readonly path: string;
  /** In plain words: `integer above 0`. */
  readonly expected: string;
}
export type Parsed = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly issues: readonly SchemaIssue[] };

/** The one form in which core holds a schema, whatever it was made from. */
export interface CompiledSchema {
  /** JSON Schema (draft 2020-12) of the input side. Frozen. */
  readonly json: JsonObject;
  /** Never throws and never rejects; gives a promise only where the schema's own functions are asynchronous. Does not change `raw`. */
  readonly parse: (raw: JsonValue) => Parsed | Promise<Parsed>;
  /**
   * What a model wrote, without the nulls that stand for an absent field: to be asked before `parse`. Its argument where there are none;
   * never throws.
   */
  readonly withoutAbsent: (written: JsonValue) => JsonValue;
  /** The root is an object of which some field must be given. */
  readonly required: boolean;
}
