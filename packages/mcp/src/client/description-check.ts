import type { Awaitable, JsonObject, JsonValue, Verdict } from '@guardloop/core';
import { isObject } from './json.js';

/**
 * Judges a text that a model would read: a function, of which any answer but allow refuses the tool, or a search (`findInjection()` of
 * `@guardloop/guardrails`), of which any find does. `where` is `description`, or the place in the schema.
 */
export type DescriptionCheck =
  | ((text: string, where: string) => Awaitable<Verdict>)
  | { readonly find: (text: string, place: { readonly surface: 'toolOutput' }) => readonly { readonly kind: string }[] };

/** One text of a tool that a model would read, and where it stands: `description`, `input.properties.path.description`. */
export interface DescribedText {
  readonly text: string;
  readonly where: string;
}

/** Every text of a tool that a model would read: its description, and all texts and names of fields in the schema of its input. */
export function describedTexts(description: string, input: JsonObject): readonly DescribedText[] {
  const texts: DescribedText[] = [{ text: description, where: 'description' }];
  const stack: { readonly value: JsonValue | undefined; readonly where: string }[] = [{ value: input, where: 'input' }];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    const { value, where } = at;
    if (typeof value === 'string') texts.push({ text: value, where });
    else if (Array.isArray(value))
      for (const [index, element] of (value as readonly JsonValue[]).entries()) stack.push({ value: element, where: `${where}.${index}` });
    else if (isObject(value)) {
      for (const [key, field] of Object.entries(value)) {
        texts.push({ text: key, where: `${where}, the name of a field` });
        stack.push({ value: field, where: where.length > 200 ? where : `${where}.${key}` });
      }
    }
  }
  return texts;
}

/** Letters that are joined or parted by a zero-width joiner and its opposite: Arabic, Syriac, N'Ko, the Indic scripts, Mongolian, Khmer and so on. */
const joining =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}\p{Script=Thai}]/u;
const pictured = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}0-9#*]/u;
const hidden = /[\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/u;
const selector = /\p{Variation_Selector}/u;
const blackFlag = 0x1f3f4;
const cancelTag = 0xe007f;

/**
 * Why a text is not shown to a model: a character in it that people do not see. Joiners between letters that need them and within emoji,
 * variation selectors after a character, and flags of regions are as they should be. Undefined where nothing is hidden.
 */
export function hiddenCharacter(text: string): string | undefined {
  const characters = [...text];
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index] ?? '';
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x7f && (code >= 0x20 || code === 9 || code === 10 || code === 13)) continue;
    const end = code === blackFlag ? endOfRegionFlag(characters, index) : index;
    if (end !== index) {
      index = end;
      continue;
    }
    if (isHidden(character, { before: characters[index - 1] ?? '', after: characters[index + 1] ?? '' }))
      return `the character U+${code.toString(16).toUpperCase().padStart(4, '0')}, which people do not see`;
  }
  return undefined;
}

function isHidden(character: string, { before, after }: { readonly before: string; readonly after: string }): boolean {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return true;
  // Zero-width joiner and non-joiner.
  if (code === 0x200c || code === 0x200d) {
    if (joining.test(before) && (joining.test(after) || code === 0x200c)) return false;
    return !(code === 0x200d && (pictured.test(before) || before === '\ufe0f') && pictured.test(after));
  }
  // Variation selectors: one after a character that is seen. Those beyond the first sixteen choose forms of ideographs.
  if (selector.test(character))
    return before === '' || /\s/.test(before) || selector.test(before) || (code > 0xffff && !/\p{Ideographic}/u.test(before));
  return hidden.test(character);
}

/** The index of the last character of a flag of a region (England, Scotland, Wales): a black flag, letters as tags, the end of tags. */
function endOfRegionFlag(characters: readonly string[], start: number): number {
  for (let index = start + 1; index <= start + 8; index += 1) {
    const code = characters[index]?.codePointAt(0) ?? 0;
    if (code === cancelTag) return index > start + 3 ? index : start;
    const isLetterOrDigit = (code >= 0xe0061 && code <= 0xe007a) || (code >= 0xe0030 && code <= 0xe0039);
    if (!isLetterOrDigit) return start;
  }
  return start;
}
