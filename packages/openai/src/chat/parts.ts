import type { FilePart, ImagePart, Part } from '@guardloop/core/model';
import type OpenAI from 'openai';

export type WirePart = OpenAI.Chat.ChatCompletionContentPart;

/** A part as the API takes it. What it cannot take (a file by address, a part without data) becomes a text that says so. */
export function wirePart(part: Part): WirePart {
  if (part.type === 'text') return { type: 'text', text: part.text };
  return part.type === 'image' ? wireImage(part) : wireFile(part);
}

/** Words that stand for an image or file where the API takes text only; they never hold its data. */
export function standIn(part: ImagePart | FilePart): string {
  return `[${part.type}${part.mediaType === undefined ? '' : ` ${part.mediaType}`}: in the user message after the results]`;
}

function wireImage(image: ImagePart): WirePart {
  if (image.data !== undefined) return { type: 'image_url', image_url: { url: dataUrl(image.mediaType ?? 'image/png', image.data) } };
  if (image.url !== undefined && image.url !== '') return { type: 'image_url', image_url: { url: image.url } };
  return { type: 'text', text: '[image without data]' };
}

function wireFile(file: FilePart): WirePart {
  const name = file.name ?? (file.mediaType === 'application/pdf' ? 'document.pdf' : 'document');
  if (file.data === undefined) {
    const where = file.url === undefined ? 'no data was given' : `it is at ${file.url}, and this API takes files as data only`;
    return { type: 'text', text: `[file ${name} (${file.mediaType}) is not attached: ${where}]` };
  }
  const audio = audioFormats.get(file.mediaType);
  if (audio !== undefined) return { type: 'input_audio', input_audio: { data: file.data, format: audio } };
  return { type: 'file', file: { filename: name, file_data: dataUrl(file.mediaType, file.data) } };
}

const audioFormats: ReadonlyMap<string, 'wav' | 'mp3'> = new Map([
  ['audio/wav', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['audio/mp3', 'mp3'],
]);

function dataUrl(mediaType: string, data: string): string {
  return `data:${mediaType};base64,${data}`;
}
