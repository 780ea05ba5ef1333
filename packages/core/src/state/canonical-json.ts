import type { JsonValue } from '../model/types.js';

/** Whether the keys of all objects stand in order. */
function isInOrder(value: JsonValue | undefined): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isInOrder);
  let last = '';
  for (const key in value) {
    if (key < last || !isInOrder((value as { readonly [key: string]: JsonValue | undefined })[key])) return false;
    last = key;
  }
  return true;
}

/**
 * The JSON text that is the same for equal values (RFC 8785): keys in the order of their UTF-16 units, no white space, fields without a
 * value left out. Equal values have equal texts whatever the order of their keys.
 */
export function canonicalJson(value: JsonValue): string {
  if (isInOrder(value)) return JSON.stringify(value);
  let text = '';
  if (Array.isArray(value)) {
    for (const element of value as readonly (JsonValue | undefined)[]) {
      if (text !== '') text += ',';
      text += element === undefined ? 'null' : canonicalJson(element);
    }
    return `[${text}]`;
  }
  const object = value as { readonly [key: string]: JsonValue | undefined };
  for (const key of Object.keys(object).sort()) {
    const field = object[key];
    if (field === undefined) continue;
    if (text !== '') text += ',';
    text += `${JSON.stringify(key)}:${canonicalJson(field)}`;
  }
  return `{${text}}`;
}
