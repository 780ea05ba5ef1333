import type { FilePart, ImagePart, Part } from '@guardloop/core/model';
import { hasText, mediaTypeOf, partData, textOfData, wellFormedText } from '@guardloop/core/model';
import type { Block } from './blocks.js';
import { isObject, textBlock } from './blocks.js';

/** Parts as blocks, and a sentence for each part that the API does not take. */
export interface EncodedParts {
  readonly blocks: readonly Block[];
  readonly dropped: readonly string[];
}

const imageTypes = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);
/** Characters of base64: the API refuses a larger image, and with it every later request that holds it. */
const mostImageData = 10 * 1024 * 1024;

/** Parts as blocks, for user messages and tool results. Text without a readable character is left out. */
export function encodeParts(parts: readonly Part[]): EncodedParts {
  const blocks: Block[] = [];
  const dropped: string[] = [];
  for (const part of parts) {
    if (part.type === 'text') {
      if (hasText(part.text)) blocks.push(textBlock(wellFormedText(part.text)));
      continue;
    }
    const encoded = part.type === 'image' ? encodeImage(part) : encodeFile(part);
    blocks.push(typeof encoded === 'string' ? standIn(part) : encoded);
    if (typeof encoded === 'string') dropped.push(`${named(part)} is shown to the model as a line of words: ${encoded}.`);
  }
  return { blocks, dropped };
}

/** The same blocks where nothing but text may stand: the text of documents, and words for the rest. `why` ends the sentences about these. */
export function textOnly(blocks: readonly Block[], why: string): EncodedParts {
  const dropped: string[] = [];
  const words = blocks.map((block) => {
    if (block.type === 'text') return block;
    const source = isObject(block.source) ? block.source : {};
    if (source.type === 'text' && typeof source.data === 'string') return textBlock(source.data);
    const what = block.type === 'image' ? 'An image' : 'A file';
    dropped.push(`${what} is shown to the model as a line of words: ${why}.`);
    return textBlock(`(${what} stands here; this model cannot be shown it.)`);
  });
  return { blocks: words, dropped };
}

/** A block, or why the API does not take the image. */
function encodeImage(part: ImagePart | FilePart): Block | string {
  const found = partData(part);
  if (found === 'invalid') return 'its data is not base64';
  if (found === undefined) return byAddress('image', part.url);
  const { mediaType, data } = found;
  if (mediaType === undefined || !imageTypes.has(mediaType)) return 'Anthropic takes JPEG, PNG, GIF and WebP';
  if (data.length > mostImageData) return 'Anthropic takes no image of more than 10 MB';
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } };
}

/** A block, or why the API does not take the file. */
function encodeFile(part: FilePart): Block | string {
  if (mediaTypeOf(part.mediaType)?.startsWith('image/') === true) return encodeImage(part);
  const title = part.name === undefined || !hasText(part.name) ? {} : { title: wellFormedText(part.name) };
  const found = partData(part);
  if (found === 'invalid') return 'its data is not base64';
  if (found === undefined) {
    if (mediaTypeOf(part.mediaType) !== 'application/pdf') return 'Anthropic takes no address of a file that is not a PDF';
    const block = byAddress('document', part.url);
    return typeof block === 'string' ? block : { ...block, ...title };
  }
  if (found.mediaType === 'application/pdf')
    return { type: 'document', source: { type: 'base64', media_type: found.mediaType, data: found.data }, ...title };
  const text = textOfData(found);
  if (text === undefined) return 'Anthropic takes PDF and text';
  return hasText(text)
    ? { type: 'document', source: { type: 'text', media_type: 'text/plain', data: wellFormedText(text) }, ...title }
    : 'no text stands in it';
}

function byAddress(type: 'image' | 'document', url: string | undefined): Block | string {
  if (url === undefined || !/^https:\/\/./i.test(url)) return 'Anthropic takes data, or an address that begins with https';
  return { type, source: { type: 'url', url: wellFormedText(url) } };
}

/** What stands in place of something that the API does not take. Never the data itself. */
function standIn(part: ImagePart | FilePart): Block {
  return textBlock(`(${named(part)} stands here; this model cannot be shown it.)`);
}

function named(part: ImagePart | FilePart): string {
  const type = mediaTypeOf(part.mediaType);
  return `${part.type === 'image' ? 'An image' : 'A file'}${type === undefined ? '' : ` of type ${type}`}`;
}
