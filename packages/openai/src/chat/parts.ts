import type { FilePart, ImagePart, ModelEvent, Part } from '@guardloop/core/model';
import { partData, textOfData, wellFormedText } from '@guardloop/core/model';
import type OpenAI from 'openai';
import type { Dialect } from './dialect.js';

export type WirePart = OpenAI.Chat.ChatCompletionContentPart;
export type Warning = Extract<ModelEvent, { type: 'warning' }>;

/** A part as the API takes it. */
export interface EncodedPart {
  readonly wire: WirePart;
  /** What was changed about it, in a sentence; undefined where it goes as it is. */
  readonly changed: string | undefined;
}

const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const audioFormats: ReadonlyMap<string | undefined, 'wav' | 'mp3'> = new Map([
  ['audio/wav', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/wave', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['audio/mp3', 'mp3'],
]);

/** A part as the API takes it. What it cannot take becomes a text that says so, which never holds its data. */
export function encodePart(part: Part, media: Dialect['media']): EncodedPart {
  if (part.type === 'text') return { wire: text(part.text), changed: undefined };
  const encoded = part.type === 'image' ? encodeImage(part, media) : encodeFile(part, media);
  return typeof encoded === 'string' ? inWords(part, encoded) : encoded;
}

/** Words that stand for an image or file where the API takes text only, and that say where it is. */
export function standIn(part: ImagePart | FilePart): string {
  return `[${named(part)}: in the user message after the results]`;
}

/** The part, or why it cannot be taken. */
function encodeImage(part: ImagePart | FilePart, media: Dialect['media']): EncodedPart | string {
  if (!media.includes('image')) return 'this server takes no images';
  const found = partData(part);
  if (found === 'invalid') return 'its data is not base64';
  if (found === undefined) {
    const { url } = part;
    if (url === undefined || url === '') return 'no data was given';
    return /^https?:\/\//i.test(url) && URL.canParse(url) ? image(wellFormedText(url)) : 'its address does not begin with http';
  }
  const mediaType = found.mediaType ?? 'image/png';
  return imageTypes.has(mediaType) ? image(`data:${mediaType};base64,${found.data}`) : 'this API takes PNG, JPEG, GIF and WebP';
}

/** The part, or why it cannot be taken. */
function encodeFile(part: FilePart, media: Dialect['media']): EncodedPart | string {
  const found = partData(part);
  if (found === 'invalid') return 'its data is not base64';
  if (/^image\//i.test(part.mediaType)) return encodeImage(part, media);
  if (found === undefined)
    return part.url === undefined || part.url === '' ? 'no data was given' : `it is at ${part.url}, and this API takes files as data only`;
  const format = audioFormats.get(found.mediaType);
  if (format !== undefined)
    return media.includes('audio')
      ? { wire: { type: 'input_audio', input_audio: { data: found.data, format } }, changed: undefined }
      : 'this server takes no sound';
  const written = textOfData(found);
  if (written !== undefined)
    return {
      wire: text(`[${named(part)}]\n${written}`),
      changed: 'A file of text was written into the message: this API takes PDF files only.',
    };
  if (found.mediaType !== 'application/pdf') return 'this API takes PDF files only';
  if (!media.includes('file')) return 'this server takes no files';
  const filename = part.name === undefined || part.name === '' ? 'document.pdf' : wellFormedText(part.name);
  return { wire: { type: 'file', file: { filename, file_data: `data:application/pdf;base64,${found.data}` } }, changed: undefined };
}

function inWords(part: ImagePart | FilePart, why: string): EncodedPart {
  const what = part.type === 'image' ? 'An image' : 'A file';
  const reason = why.startsWith('it is at ') ? 'this API takes files as data only' : why;
  return { wire: text(`[${named(part)} is not attached: ${why}]`), changed: `${what} was replaced by words that stand for it: ${reason}.` };
}

function named(part: ImagePart | FilePart): string {
  if (part.type === 'image') return part.mediaType === undefined ? 'image' : `image ${part.mediaType}`;
  return part.name === undefined || part.name === '' ? `file ${part.mediaType}` : `file ${part.name} (${part.mediaType})`;
}

function text(content: string): WirePart {
  return { type: 'text', text: wellFormedText(content) };
}

function image(url: string): EncodedPart {
  return { wire: { type: 'image_url', image_url: { url } }, changed: undefined };
}
