import type { FilePart, ImagePart, JsonObject, JsonValue, Part, TextPart } from '@guardloop/core';
import { canonicalJson } from '@guardloop/core';
import { isObject } from './json.js';
import { oneLine, showName } from './show-text.js';

/** What a server gave for a call, read leniently: what is not known still leaves its mark. */
export interface CallResult {
  readonly content: readonly unknown[];
  readonly structured: JsonValue | undefined;
  readonly isError: boolean;
}

const mediaType = /^[a-z0-9][\w.+-]{0,60}\/[\w.+-]{1,60}$/i;
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;
const mostBlocks = 500;

export function readCallResult(result: JsonObject): CallResult {
  const { content, structuredContent, toolResult, isError } = result;
  // Servers of the first protocol gave anything at all as `toolResult`.
  return { content: blocksOf(content), structured: structuredContent ?? toolResult, isError: isError === true };
}

/** A list of blocks; some servers give one block, or a bare text. */
function blocksOf(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content as readonly unknown[];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content === undefined || content === null ? [] : [content];
}

/**
 * What a tool gives of a result: the structured content as it is where there is nothing else to say, else text, images and files in the
 * server's order, the structured content's JSON first. A text that says the same as the structured content is not said twice. Never empty.
 */
export function outputOf({ content, structured }: CallResult): JsonValue | readonly Part[] {
  const isMirror = structured === undefined ? () => false : mirrorOf(structured);
  const parts = partsOf(content).filter((part) => part.type !== 'text' || !isMirror(part.text));
  if (structured !== undefined) {
    if (parts.length === 0) return isPartLike(structured) ? JSON.stringify(structured) : structured;
    return [{ type: 'text', text: JSON.stringify(structured) }, ...parts];
  }
  return parts.length === 1 && parts[0]?.type === 'text' ? parts[0].text : parts.length === 0 ? '(the tool gave no content)' : parts;
}

/** Data of a server's that would be taken for a part of a message, with an address of its choice in it. */
const isPartLike = (value: JsonValue): boolean =>
  !isObject(value) || value.type === 'text' || value.type === 'image' || value.type === 'file';

/** A failure's words, in one line: its texts and stand-ins, and the structured content where no text says it. */
export function errorWords({ content, structured }: CallResult, mostChars: number): string {
  const texts = partsOf(content).map((part) => (part.type === 'text' ? part.text : `[${part.type} ${part.mediaType ?? ''}]`));
  if (structured !== undefined && !texts.some(mirrorOf(structured))) texts.push(JSON.stringify(structured));
  const words = oneLine(texts.join('\n'), mostChars);
  return words === '' ? 'the server gave no words for it' : words;
}

/** Blocks of the protocol as parts of a result or a message. Every block leaves a part. */
export function partsOf(content: readonly unknown[]): readonly Part[] {
  const parts: Part[] = content.slice(0, mostBlocks).map(partOfBlock);
  if (content.length > mostBlocks) parts.push(words(`[left out: ${content.length - mostBlocks} more blocks]`));
  return parts;
}

const words = (text: string): TextPart => ({ type: 'text', text });
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

function partOfBlock(block: unknown): Part {
  if (!isObject(block)) return words('[content that is none]');
  switch (block.type) {
    case 'text':
      return words(typeof block.text === 'string' ? block.text : '[text that is none]');
    case 'image':
      return mediaPart('image', block);
    case 'audio':
      return words(standIn('audio', block));
    case 'resource_link':
      return words(`[resource link] ${JSON.stringify(linkFields(block))}`);
    case 'resource':
      return isObject(block.resource) ? partOfResource(block.resource) : words('[resource that is none]');
    default:
      return words(`[content of a kind that is not known: ${typeof block.type === 'string' ? showName(block.type) : 'none'}]`);
  }
}

/** The contents of a resource: its text with where it is from, an image or a file. */
export function partOfResource(resource: JsonObject): Part {
  const uri = textOf(resource.uri);
  if (typeof resource.text === 'string')
    return words(uri === undefined ? resource.text : `[resource ${oneLine(uri, 2_000)}]\n${resource.text}`);
  if (typeof resource.blob === 'string') {
    const { mimeType } = resource;
    const kind = typeof mimeType === 'string' && mimeType.toLowerCase().startsWith('image/') ? 'image' : 'file';
    const part = mediaPart(kind, { data: resource.blob, mimeType: mimeType ?? 'application/octet-stream' });
    return part.type === 'file' && uri !== undefined ? { ...part, name: oneLine(uri, 200) } : part;
  }
  return words(`[resource ${uri === undefined ? 'without contents' : `${oneLine(uri, 2_000)}, without contents`}]`);
}

function mediaPart(kind: 'image' | 'file', { data, mimeType }: JsonObject): ImagePart | FilePart | TextPart {
  const clean = typeof data === 'string' ? cleanBase64(data) : undefined;
  if (clean === undefined || typeof mimeType !== 'string' || !mediaType.test(mimeType))
    return words(standIn(`${kind} that cannot be read`, { data, mimeType }));
  return { type: kind, mediaType: mimeType.toLowerCase(), data: clean };
}

/** Base64 in its usual alphabet, padded; undefined for what is none, which core would take for a text. */
function cleanBase64(data: string): string | undefined {
  const compact = data.replace(/\s/g, '').replaceAll('-', '+').replaceAll('_', '/');
  if (!base64.test(compact)) return undefined;
  const bare = compact.replace(/={1,2}$/, '');
  return bare.length % 4 === 1 ? undefined : bare.padEnd(Math.ceil(bare.length / 4) * 4, '=');
}

/** Stands for what no model here takes: what it is and how large. */
function standIn(what: string, { data, mimeType }: JsonObject): string {
  const type = typeof mimeType === 'string' && mediaType.test(mimeType) ? mimeType.toLowerCase() : 'of an unknown type';
  const bytes = typeof data === 'string' ? Math.floor((data.replace(/=+$/, '').length * 3) / 4) : 0;
  return `[${what}, ${type}, ${bytes} bytes]`;
}

function linkFields({ uri, name, title, description, mimeType, size }: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries({ uri, name, title, description, mimeType, size }).filter(([, value]) => value !== undefined));
}

/**
 * Tells whether a text says nothing that the value does not: it is its JSON, however spaced, or one of its fields, or one entry of a list among
 * them. The value is looked through once, however many texts there are: a server chooses the size of both.
 */
function mirrorOf(value: JsonValue): (text: string) => boolean {
  let said: { readonly texts: ReadonlySet<string>; readonly forms: ReadonlySet<string> } | undefined;
  return (text) => {
    said ??= saidBy(value);
    if (said.texts.has(text)) return true;
    const json = readJson(text);
    const form = json === undefined ? undefined : formOf(json);
    return form !== undefined && said.forms.has(form);
  };
}

function saidBy(value: JsonValue): { readonly texts: ReadonlySet<string>; readonly forms: ReadonlySet<string> } {
  const fields = isObject(value)
    ? Object.values(value).flatMap((field) =>
        Array.isArray(field) ? [field as JsonValue, ...(field as readonly JsonValue[])] : field === undefined ? [] : [field],
      )
    : [];
  return {
    texts: new Set(fields.filter((field) => typeof field === 'string')),
    forms: new Set([value, ...fields].flatMap((each) => formOf(each) ?? [])),
  };
}

function readJson(text: string): JsonValue | undefined {
  const trimmed = text.trim();
  if (!/^[[{"\d\-tfn]/.test(trimmed)) return undefined;
  try {
    return JSON.parse(trimmed) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Undefined for what is nested too deep to be compared. */
function formOf(value: JsonValue): string | undefined {
  try {
    return canonicalJson(value);
  } catch {
    return undefined;
  }
}
