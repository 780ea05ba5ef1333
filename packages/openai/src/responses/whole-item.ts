import type { JsonObject } from '@guardloop/core/model';
import { recordOf } from '@guardloop/core/model';
import type { OpenItem } from './output-items.js';

/**
 * The item as its server ended it, or, where it left that out, put together from its pieces. `isChanged` is true where a message ended with
 * another text than its pieces gave: then what was checked is not what the item says.
 */
export function wholeItem(open: OpenItem): { readonly item: JsonObject; readonly isChanged: boolean } {
  const given = open.done ?? open.begun;
  // The response is whole, and with it every item; the API takes none back that still goes on.
  const isOpen = open.done === undefined ? given.status !== undefined : given.status === 'in_progress';
  const item = isOpen ? { ...given, status: 'completed' } : given;
  if (open.type === 'function_call') return { item: wholeCall(open, item), isChanged: false };
  if (open.type === 'reasoning' && open.done === undefined) return { item: { ...item, encrypted_content: null }, isChanged: false };
  if (open.type !== 'message') return { item, isChanged: false };
  const shown = [...open.given.values()].join('');
  const said = textsOf(item.content).join('');
  if (said === shown) return { item, isChanged: false };
  if (said !== '') return { item, isChanged: true };
  const content = [...open.given.values()].map((text) => ({ type: 'output_text', annotations: [], text }));
  return { item: { ...item, type: 'message', role: 'assistant', content }, isChanged: false };
}

/** Some servers give arguments as an object, or only in pieces. */
function wholeCall({ input, wholeInput, callId }: OpenItem, item: JsonObject): JsonObject {
  const told = typeof item.arguments === 'object' && item.arguments !== null ? JSON.stringify(item.arguments) : item.arguments;
  const pieces = wholeInput ?? input;
  const whole = typeof told === 'string' && (told !== '' || pieces === '') ? told : pieces;
  return item.arguments === whole && item.call_id === callId ? item : { ...item, call_id: callId, arguments: whole };
}

/** The texts of a message's content, by part. */
export function textsOf(content: unknown): readonly string[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((part) => {
    const { type, text } = recordOf(part) ?? {};
    return typeof text === 'string' && (type === 'output_text' || type === 'text') ? [text] : [];
  });
}
