/** A known value in a text. */
export interface KnownPlace {
  readonly start: number;
  readonly end: number;
  readonly placeholder: string;
}

/** Values that differ in capitals alone. */
interface Ending {
  readonly length: number;
  /** Of the first of them: for one that is written otherwise. */
  readonly placeholder: string;
  readonly isWritten: (text: string) => boolean;
  readonly byText: Map<string, string>;
}
interface Node {
  readonly next: Map<string, Node>;
  /** Where to go on when no character fits. */
  back: Node | undefined;
  /** A value ends here. */
  ends: Ending | undefined;
  /** The nearest node on the way back at which a value ends. */
  inner: Node | undefined;
}

const newNode = (): Node => ({ next: new Map(), back: undefined, ends: undefined, inner: undefined });
const folded = (character: string): string => {
  const lower = character.toLowerCase();
  return lower.length === 1 ? lower : character;
};
// Both match one character.
const partOfWord = /[\p{L}\p{N}]/u;

const shortWord = /^\p{L}{1,7}$/u;
const always = (): boolean => true;
/** A short word is meant only as it was written, or in capitals: somebody called Will is not in every sentence. */
const writtenAs = (value: string): ((text: string) => boolean) =>
  shortWord.test(value) ? (text) => text === value || text === value.toUpperCase() : always;

/** Shorter values are told from other text only by a finder. */
export const shortestKnown = 4;

/**
 * Finds many values at once, in any case (short words as they were written), where they stand as words of their own: one pass over the text, however many values there are
 * (Aho and Corasick, 1975).
 */
export class KnownValues {
  private readonly root = newNode();
  private isLinked = false;
  private count = 0;

  add(value: string, placeholder: string): void {
    if (value.length < shortestKnown) return;
    let node = this.root;
    for (let at = 0; at < value.length; at += 1) {
      const character = folded(value.charAt(at));
      let next = node.next.get(character);
      if (next === undefined) {
        next = newNode();
        node.next.set(character, next);
      }
      node = next;
    }
    node.ends ??= { length: value.length, placeholder, isWritten: writtenAs(value), byText: new Map() };
    if (!node.ends.byText.has(value)) node.ends.byText.set(value, placeholder);
    this.isLinked = false;
    this.count += 1;
  }

  /** In order, none over another; of values that begin alike the longest. Of two that overlap no piece is left. */
  find(text: string): readonly KnownPlace[] {
    if (this.count === 0) return [];
    if (!this.isLinked) this.link();
    const found: KnownPlace[] = [];
    let node = this.root;
    for (let at = 0; at < text.length; at += 1) {
      const character = folded(text.charAt(at));
      let next = node.next.get(character);
      while (next === undefined && node.back !== undefined) {
        node = node.back;
        next = node.next.get(character);
      }
      node = next ?? this.root;
      const place = placeAt(text, at + 1, node);
      if (place !== undefined) add(found, place);
    }
    return found;
  }

  private link(): void {
    const waiting: Node[] = [];
    for (const child of this.root.next.values()) {
      child.back = this.root;
      waiting.push(child);
    }
    for (let index = 0; index < waiting.length; index += 1) {
      const node = waiting[index];
      if (node === undefined) break;
      node.inner = node.back?.ends === undefined ? node.back?.inner : node.back;
      for (const [character, child] of node.next) {
        let back = node.back;
        while (back !== undefined && !back.next.has(character)) back = back.back;
        child.back = back?.next.get(character) ?? this.root;
        waiting.push(child);
      }
    }
    this.isLinked = true;
  }
}

/** So many values that end alike are tried at one place: more are made only to take time. */
const mostInner = 64;

/** The longest value that ends here and is a word of its own. */
function placeAt(text: string, end: number, node: Node): KnownPlace | undefined {
  if (node.ends === undefined && node.inner === undefined) return undefined;
  if (continues(text, end)) return undefined;
  let steps = 0;
  for (let at: Node | undefined = node; at !== undefined && steps < mostInner; at = at.inner, steps += 1) {
    const { ends } = at;
    if (ends === undefined) continue;
    const start = end - ends.length;
    if (continues(text, start)) continue;
    const written = text.slice(start, end);
    const exact = ends.byText.get(written);
    if (exact !== undefined || ends.isWritten(written)) return { start, end, placeholder: exact ?? ends.placeholder };
  }
  return undefined;
}

/** Whether a word goes on over this offset. */
function continues(text: string, at: number): boolean {
  return at > 0 && at < text.length && partOfWord.test(text.charAt(at - 1)) && partOfWord.test(text.charAt(at));
}

/** A place takes the room of those in it; of one that it only overlaps it leaves all, and takes what is behind. */
function add(found: KnownPlace[], place: KnownPlace): void {
  let last = found.at(-1);
  while (last !== undefined && last.start >= place.start) {
    found.pop();
    last = found.at(-1);
  }
  found.push(last !== undefined && last.end > place.start ? { ...place, start: last.end } : place);
}
