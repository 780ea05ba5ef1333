import type { FilePart, ImagePart, ModelEvent, Part } from '@guardloop/core/model';
import { wellFormed, wellFormedText } from '@guardloop/core/model';
import type OpenAI from 'openai';

export type WirePart = OpenAI.Responses.ResponseInputText | OpenAI.Responses.ResponseInputImage | OpenAI.Responses.ResponseInputFile;
export type Warning = Extract<ModelEvent, { type: 'warning' }>;

const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** The content of a message or of a result: text alone as text, anything else as a list. `warn` is told what the API does not take. */
export function wireContent(parts: readonly Part[], warn: (message: string) => void): string | WirePart[] {
  const filled = parts.filter((part) => part.type !== 'text' || part.text !== '');
  if (filled.every((part) => part.type === 'text')) return wellFormedText(filled.map((part) => part.text).join('\n'));
  return filled.map((part) => wellFormed(wirePart(part, warn) as never) as WirePart);
}

/** A part as the API takes it. What it cannot take becomes a text that says so, without its data. */
function wirePart(part: Part, warn: (message: string) => void): WirePart {
  if (part.type === 'text') return { type: 'input_text', text: part.text };
  const wire = part.type === 'image' ? wireImage(part) : wireFile(part);
  if (typeof wire !== 'string') return wire;
  warn(`${part.type === 'image' ? 'An image' : 'A file'} was replaced by words that stand for it: ${wire}.`);
  return { type: 'input_text', text: `[${part.type}${part.mediaType === undefined ? '' : ` ${part.mediaType}`} is not attached: ${wire}]` };
}

function wireImage({ data, url, mediaType = 'image/png' }: ImagePart): WirePart | string {
  if (data !== undefined && data !== '') {
    if (!imageTypes.has(mediaType)) return 'the API takes png, jpeg, gif and webp images only';
    return { type: 'input_image', detail: 'auto', image_url: `data:${mediaType};base64,${data}` };
  }
  return url === undefined || url === '' ? 'it has neither data nor an address' : { type: 'input_image', detail: 'auto', image_url: url };
}

function wireFile({ data, url, name, mediaType }: FilePart): WirePart | string {
  if (/^(audio|video)\//.test(mediaType)) return 'the API takes no audio and no video';
  if (data !== undefined && data !== '') {
    const filename = name ?? (mediaType === 'application/pdf' ? 'document.pdf' : 'document');
    return { type: 'input_file', filename, file_data: `data:${mediaType};base64,${data}` };
  }
  return url === undefined || url === '' ? 'it has neither data nor an address' : { type: 'input_file', file_url: url };
}
