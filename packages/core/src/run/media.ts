import type { FilePart, ImagePart, Part } from '../model/types.js';
import { wellFormed } from '../project/well-formed.js';
import { base64Bytes, cleanBase64, firstBytes, toBase64 } from './base64.js';

const magicBytes = 12;
const mediaTypePattern = /^[a-z0-9][\w.+-]*\/[\w.+-]+$/i;

/** The media type that the first bytes give away: png, jpeg, gif, webp, pdf. */
export function sniffMediaType(bytes: Uint8Array): string | undefined {
  const text = String.fromCharCode(...bytes.subarray(0, magicBytes));
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return 'image/gif';
  if (text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP') return 'image/webp';
  return text.startsWith('%PDF-') ? 'application/pdf' : undefined;
}

/** The bytes of a buffer, a byte array or a view; undefined for anything else, number arrays such as `Float32Array` too. */
export function bytesOf(value: object): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (value instanceof DataView || value instanceof Uint8ClampedArray)
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return typeof SharedArrayBuffer === 'function' && value instanceof SharedArrayBuffer ? new Uint8Array(value).slice() : undefined;
}

function filePart(mediaType: string, data: string): ImagePart | FilePart {
  return mediaType.startsWith('image/') ? { type: 'image', mediaType, data } : { type: 'file', mediaType, data };
}

/** Bytes in the form in which they cross: an image or file part by their first bytes, else text if they are UTF-8, else a file part. */
export function partOfBytes(bytes: Uint8Array): Part {
  const mediaType = sniffMediaType(bytes);
  if (mediaType !== undefined) return filePart(mediaType, toBase64(bytes));
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return { type: 'text', text };
  } catch {
    // Not UTF-8.
  }
  return filePart('application/octet-stream', toBase64(bytes));
}

interface Payload {
  readonly data?: string;
  readonly url?: string;
  readonly mediaType?: string;
}

const dataUrl = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i;

function payloadOfText(text: string): Payload | undefined {
  const head = dataUrl.exec(text.slice(0, 200));
  const data = cleanBase64(head ? text.slice(head[0].length) : text);
  if (data === undefined) return undefined;
  return head?.[1] ? { data, mediaType: head[1] } : { data };
}

function payloadOf(data: unknown, url: unknown): Payload | undefined {
  if (typeof data === 'object' && data !== null) {
    const bytes = bytesOf(data);
    return bytes && bytes.length > 0 ? { data: toBase64(bytes) } : undefined;
  }
  if (typeof data === 'string') return payloadOfText(data);
  if (typeof url !== 'string') return undefined;
  if (/^data:/i.test(url)) return payloadOfText(url);
  return /^https?:\/\//i.test(url) ? { url: wellFormed(url) } : undefined;
}

const partFields: ReadonlySet<string> = new Set(['type', 'text', 'url', 'mediaType', 'mimeType', 'name', 'label', 'annotations', '_meta']);
const isOnlyPart = (value: object): boolean => Object.keys(value).every((key) => partFields.has(key));

/**
 * The part that a tool says its value is: `{ type: 'text', text }`, or `image` and `file` with `data` (base64, a data URL or bytes) or `url`
 * (http or https), and `mediaType` or `mimeType`. Undefined where it is no whole part; a text or a URL among other fields is somebody's data,
 * not a part. Carries over nothing else, no label either. May throw what the value's own getters throw.
 */
export function explicitPart(value: object): Part | undefined {
  const { type, text } = value as { readonly [key: string]: unknown };
  if (type === 'text') return typeof text === 'string' && isOnlyPart(value) ? { type, text: wellFormed(text) } : undefined;
  return type === 'image' || type === 'file' ? explicitMedia(type, value as { readonly [key: string]: unknown }) : undefined;
}

function explicitMedia(type: 'image' | 'file', value: { readonly [key: string]: unknown }): ImagePart | FilePart | undefined {
  const { name } = value;
  const payload = payloadOf(value.data, value.url);
  if (payload === undefined || (payload.url !== undefined && !isOnlyPart(value))) return undefined;
  const declared = value.mediaType ?? value.mimeType ?? payload.mediaType;
  const stated = typeof declared === 'string' && mediaTypePattern.test(declared) ? declared.toLowerCase() : undefined;
  const mediaType = stated ?? (payload.data === undefined ? undefined : sniffMediaType(firstBytes(payload.data, magicBytes)));
  if (mediaType === undefined) return type === 'image' && payload.url !== undefined ? { type, url: payload.url } : undefined;
  const source = payload.data === undefined ? { url: payload.url } : { data: payload.data };
  if (type === 'image') return { type, mediaType, ...source };
  return { type, mediaType, ...source, ...(typeof name === 'string' ? { name: wellFormed(name) } : {}) };
}

/** What stands in the text for a part that is no text. */
export function standIn(part: ImagePart | FilePart): string {
  const words = [
    part.type,
    [
      part.mediaType,
      part.type === 'file' ? part.name : undefined,
      part.url,
      part.data === undefined ? undefined : `${base64Bytes(part.data)} bytes`,
    ]
      .filter((word) => word !== undefined)
      .join(', '),
  ];
  return `[${words.join(' ')}]`;
}

/** The text of what crosses: text parts and a stand-in for each other part, a line each. */
export function contentText(content: string | readonly Part[]): string {
  return typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : standIn(part))).join('\n');
}
