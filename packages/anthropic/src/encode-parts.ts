import type { FilePart, ImagePart, Part } from '@guardloop/core/model';
import { hasText, wellFormedText } from '@guardloop/core/model';
import type { Block } from './blocks.js';
import { textBlock } from './blocks.js';

const imageTypes = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

/** Parts as blocks, for user messages and tool results. Text without a readable character is left out. */
export function encodeParts(parts: readonly Part[]): Block[] {
  return parts.flatMap((part) => {
    if (part.type === 'text') return hasText(part.text) ? [textBlock(wellFormedText(part.text))] : [];
    return [part.type === 'image' ? encodeImage(part) : encodeFile(part)];
  });
}

function encodeImage(part: ImagePart): Block {
  const source = dataOf(part);
  if (source !== undefined) {
    return imageTypes.has(source.mediaType)
      ? { type: 'image', source: { type: 'base64', media_type: source.mediaType, data: source.data } }
      : standIn('An image', source.mediaType);
  }
  return isWebAddress(part.url)
    ? { type: 'image', source: { type: 'url', url: wellFormedText(part.url) } }
    : standIn('An image', part.mediaType);
}

function encodeFile(part: FilePart): Block {
  if (mediaTypeOf(part.mediaType)?.startsWith('image/') === true) return encodeImage({ ...part, type: 'image' });
  const title = part.name === undefined || !hasText(part.name) ? {} : { title: wellFormedText(part.name) };
  const source = dataOf(part);
  if (source === undefined) {
    return mediaTypeOf(part.mediaType) === 'application/pdf' && isWebAddress(part.url)
      ? { type: 'document', source: { type: 'url', url: wellFormedText(part.url) }, ...title }
      : standIn('A file', part.mediaType);
  }
  if (source.mediaType === 'application/pdf') {
    return { type: 'document', source: { type: 'base64', media_type: source.mediaType, data: source.data }, ...title };
  }
  const text = isTextType(source.mediaType) ? decodeText(source.data) : undefined;
  return text !== undefined && hasText(text)
    ? { type: 'document', source: { type: 'text', media_type: 'text/plain', data: wellFormedText(text) }, ...title }
    : standIn('A file', source.mediaType);
}

/** What stands in place of something that the API does not take. Never the data itself. */
function standIn(what: string, mediaType: string | undefined): Block {
  const type = mediaTypeOf(mediaType);
  return textBlock(`(${what}${type === undefined ? '' : ` of type ${type}`} stands here; this model cannot be shown it.)`);
}

function dataOf(part: ImagePart | FilePart): { readonly mediaType: string; readonly data: string } | undefined {
  if (part.data !== undefined && part.data !== '')
    return { mediaType: mediaTypeOf(part.mediaType) ?? 'application/octet-stream', data: part.data };
  const inline = /^data:([^;,]*)(?:;[^,]*)?;base64,(.+)$/s.exec(part.url ?? '');
  return inline?.[2] === undefined ? undefined : { mediaType: mediaTypeOf(inline[1]) ?? 'application/octet-stream', data: inline[2] };
}

function mediaTypeOf(value: string | undefined): string | undefined {
  const type = value?.split(';')[0]?.trim().toLowerCase();
  if (type === undefined || !/^[a-z0-9.+-]+\/[a-z0-9.+-]+$/.test(type)) return undefined;
  return type === 'image/jpg' ? 'image/jpeg' : type;
}

function isTextType(mediaType: string): boolean {
  return mediaType.startsWith('text/') || /^application\/(?:[a-z0-9.-]+\+)?(?:json|xml|yaml|x-yaml|javascript)$/.test(mediaType);
}

function decodeText(data: string): string | undefined {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(data), (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

function isWebAddress(url: string | undefined): url is string {
  return url !== undefined && /^https?:\/\//i.test(url);
}
