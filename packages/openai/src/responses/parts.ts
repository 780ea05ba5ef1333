import type { FilePart, ImagePart, ModelEvent, Part } from '@guardloop/core/model';
import { mediaTypeOf, partData, wellFormedText } from '@guardloop/core/model';
import type OpenAI from 'openai';

export type WirePart = OpenAI.Responses.ResponseInputText | OpenAI.Responses.ResponseInputImage | OpenAI.Responses.ResponseInputFile;
export type Warning = Extract<ModelEvent, { type: 'warning' }>;

const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
/** PDF, text and code, office documents: what the API's guide to file inputs lists. */
const fileTypes =
  /^(?:text\/.+|application\/(?:pdf|json|xml|rtf|csv|(?:x-)?(?:javascript|typescript|yaml|sh|httpd-php|tex|latex|sql)|toml|graphql|msword|vnd\.(?:ms-|openxmlformats-officedocument\.|oasis\.opendocument\.|apple\.).+))$/;

/** The content of a message or of a result: text alone as text, anything else as a list. `warn` is told what the API does not take. */
export function wireContent(parts: readonly Part[], warn: (message: string) => void): string | WirePart[] {
  const filled = parts.filter((part) => part.type !== 'text' || part.text !== '');
  if (filled.every((part) => part.type === 'text')) return wellFormedText(filled.map((part) => part.text).join('\n'));
  return filled.map((part) => wirePart(part, warn));
}

/** A part as the API takes it. What it cannot take becomes a text that says so, without its data. */
function wirePart(part: Part, warn: (message: string) => void): WirePart {
  if (part.type === 'text') return { type: 'input_text', text: wellFormedText(part.text) };
  const isImage = part.type === 'image' || mediaTypeOf(part.mediaType)?.startsWith('image/') === true;
  const wire = isImage ? wireImage(part) : wireFile(part as FilePart);
  if (typeof wire !== 'string') return wire;
  warn(`${part.type === 'image' ? 'An image' : 'A file'} was replaced by words that stand for it: ${wire}.`);
  const mediaType = part.mediaType === undefined ? '' : ` ${part.mediaType}`;
  return { type: 'input_text', text: wellFormedText(`[${part.type}${mediaType} is not attached: ${wire}]`) };
}

/** The part, or why it cannot be taken. */
function wireImage(part: ImagePart | FilePart): WirePart | string {
  const found = partData(part);
  if (found === undefined) {
    const url = httpAddress(part.url);
    return url === undefined
      ? 'it has neither data nor an address that begins with http'
      : { type: 'input_image', detail: 'auto', image_url: url };
  }
  if (found === 'invalid') return 'its data is not base64';
  const mediaType = found.mediaType ?? 'image/png';
  if (!imageTypes.has(mediaType)) return 'the API takes PNG, JPEG, GIF and WebP images';
  return { type: 'input_image', detail: 'auto', image_url: `data:${mediaType};base64,${found.data}` };
}

/** The part, or why it cannot be taken. */
function wireFile(part: FilePart): WirePart | string {
  const found = partData(part);
  if (found === undefined) {
    const url = httpAddress(part.url);
    return url === undefined ? 'it has neither data nor an address that begins with http' : { type: 'input_file', file_url: url };
  }
  if (found === 'invalid') return 'its data is not base64';
  const { mediaType = '', data } = found;
  if (!fileTypes.test(mediaType)) return 'the API takes PDF, text and office documents';
  const filename = part.name === undefined || part.name === '' ? `document${mediaType === 'application/pdf' ? '.pdf' : ''}` : part.name;
  return { type: 'input_file', filename: wellFormedText(filename), file_data: `data:${mediaType};base64,${data}` };
}

function httpAddress(url: string | undefined): string | undefined {
  return url !== undefined && /^https?:\/\//i.test(url) && URL.canParse(url) ? wellFormedText(url) : undefined;
}
