import type { JsonValue, Part } from '../model/types.js';
import type { ReportText } from './types.js';

/** The beginning of a text, without half a character at its end. */
export function excerpt(text: string, maxChars: number): ReportText {
  if (text.length <= maxChars) return { text, chars: text.length };
  const last = text.charCodeAt(maxChars - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? maxChars - 1 : maxChars;
  return { text: text.slice(0, end), chars: text.length };
}

/** A content in words: text as it is, of images and files what they are. */
export function textOf(content: string | readonly Part[]): string {
  return typeof content === 'string' ? content : content.map(textOfPart).join('\n');
}

function textOfPart(part: Part): string {
  if (part.type === 'text') return part.text;
  const name = part.type === 'file' && part.name !== undefined ? ` ${part.name}` : '';
  const where = part.data === undefined ? ` at ${part.url ?? 'nowhere'}` : `, ${part.data.length} characters of base64`;
  return `[${part.type}${name}${part.mediaType === undefined ? '' : ` (${part.mediaType})`}${where}]`;
}

/** JSON for people: in one line where that is short. */
export function jsonText(value: JsonValue): string {
  const lines = JSON.stringify(value, undefined, 2) ?? '';
  return lines.length <= 80 ? lines.replaceAll(/\n */g, ' ') : lines;
}
