import type { JsonValue } from '../model/types.js';
import { headAndTail } from './cap.js';
import type { Missing } from './missing-fields.js';
import type { JsonFields } from './select-fields.js';
import { essential } from './select-fields.js';

/** Below this, a piece of a text says nothing. */
const leastPieceChars = 80;

/** Writes a selection in less room than it needs: identifiers, counts and status first, then the rest in order, and counts what had none. */
export class FieldWriter {
  constructor(public missing: Missing) {}

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
