import type { Fields, Where } from './openai-fields.js';
import { checkFieldNames, fieldsOf, isBase64, isGiven } from './openai-fields.js';

const partTypes: Readonly<Record<string, readonly string[]>> = {
  system: ['text'],
  developer: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  tool: ['text'],
};
const partFields: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  refusal: ['refusal'],
  image_url: ['image_url'],
  input_audio: ['input_audio'],
  file: ['file'],
};

/** The content of a message of a known role. */
export function checkContent(message: Fields, role: string, { place, report }: Where): void {
  const { content } = message;
  if (role === 'assistant') {
    const isEmpty = !isGiven(content) || content === '';
    const hasMore = message.tool_calls !== undefined || typeof message.refusal === 'string' || isGiven(message.audio);
    if (isEmpty && !hasMore) report(place, 'has neither content nor tool calls');
    if (!isGiven(content)) return;
  }
  if (typeof content === 'string') {
    if (content === '' && (role === 'system' || role === 'developer')) report(`${place}.content`, 'is empty');
    return;
  }
  if (!Array.isArray(content)) report(`${place}.content`, 'must be text or a list of parts');
  else if (content.length === 0) report(`${place}.content`, 'is an empty list');
  else
    for (const [index, part] of content.entries()) checkPart(fieldsOf(part) ?? {}, role, { place: `${place}.content[${index}]`, report });
}

function checkPart(part: Fields, role: string, { place, report }: Where): void {
  if (typeof part.type !== 'string' || !partTypes[role]?.includes(part.type)) {
    report(place, `the part type ${JSON.stringify(part.type)} is not taken in the role ${role}`);
    return;
  }
  checkFieldNames(part, ['type', 'prompt_cache_breakpoint', ...(partFields[part.type] ?? [])], { place, report });
  const problem = partChecks[part.type]?.(part);
  if (problem !== undefined) report(place, problem);
}

const partChecks: Readonly<Record<string, (part: Fields) => string | undefined>> = {
  text: (part) => (typeof part.text === 'string' && part.text !== '' ? undefined : 'a text part needs text'),
  refusal: (part) => (typeof part.refusal === 'string' && part.refusal !== '' ? undefined : 'a refusal part needs text'),
  image_url: (part) => {
    const image = fieldsOf(part.image_url);
    if (!isImageUrl(image?.url)) return 'image_url.url must be an http address or a base64 data URL of a png, jpeg, gif or webp image';
    return image?.detail === undefined || ['auto', 'low', 'high'].includes(String(image.detail))
      ? undefined
      : 'image_url.detail is unknown';
  },
  input_audio: (part) => {
    const audio = fieldsOf(part.input_audio);
    return isBase64(audio?.data) && (audio?.format === 'wav' || audio?.format === 'mp3')
      ? undefined
      : 'input_audio needs base64 data and the format wav or mp3';
  },
  file: (part) => {
    const file = fieldsOf(part.file);
    if (isGiven(file?.file_url)) return 'file.file_url is not taken here: a file goes as data or as a file_id';
    if (typeof file?.file_id === 'string' && file.file_data === undefined) return undefined;
    const match = typeof file?.file_data === 'string' ? /^data:application\/pdf;base64,(.*)$/s.exec(file.file_data) : null;
    return isBase64(match?.[1]) && typeof file?.filename === 'string' && file.filename !== ''
      ? undefined
      : 'a file needs a filename and file_data as a base64 data URL of a PDF, or a file_id';
  },
};

function isImageUrl(url: unknown): boolean {
  if (typeof url !== 'string') return false;
  if (/^https?:\/\//.test(url)) return URL.canParse(url);
  return isBase64(/^data:image\/(?:png|jpeg|gif|webp);base64,(.*)$/s.exec(url)?.[1]);
}
