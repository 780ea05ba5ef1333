import type { FilePart, ImagePart } from '../model/types.js';

/** What a part holds, as provider APIs take it. */
export interface PartData {
  /** Lower case, without parameters; undefined where none is given that is one. */
  readonly mediaType: string | undefined;
  /** Base64 of the plain alphabet, in one line, with its padding. */
  readonly data: string;
}

/** How the data of each image type begins, in base64. APIs refuse an image whose data is of another type than it says. */
const imageMarks = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
] as const;

/**
 * The data of an image or file, from `data` or from a `data:` address; base64url, line breaks and missing padding are put right, and so is
 * the media type of an image. Undefined where there is none (there may be an address); `invalid` where it is not base64.
 */
export function partData(part: ImagePart | FilePart): PartData | 'invalid' | undefined {
  const inline = /^data:([^;,]*)((?:;[^;,]*)*?)(;base64)?,(.*)$/is.exec(part.url ?? '');
  if (part.data === undefined || part.data === '') {
    if (inline === null) return undefined;
    return inline[3] === undefined ? 'invalid' : found(inline[1] ?? part.mediaType, inline[4] ?? '');
  }
  return found(part.mediaType, part.data);
}

function found(type: string | undefined, given: string): PartData | 'invalid' {
  const data = plainBase64(given);
  if (data === undefined) return 'invalid';
  const mediaType = mediaTypeOf(type);
  const mayBeImage = mediaType === undefined || mediaType.startsWith('image/');
  const seen = mayBeImage ? imageMarks.find(([mark]) => data.startsWith(mark))?.[1] : undefined;
  return { mediaType: seen ?? mediaType, data };
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

function plainBase64(data: string): string | undefined {
  if (data.length % 4 === 0 && base64.test(data)) return data;
  const letters = data.replace(/\s+/g, '').replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/');
  if (letters.length % 4 === 1 || !base64.test(letters)) return undefined;
  return letters + '='.repeat((4 - (letters.length % 4)) % 4);
}

/** The media type in the one form that can be compared, or undefined for what is none. */
export function mediaTypeOf(value: string | undefined): string | undefined {
  const type = value?.split(';')[0]?.trim().toLowerCase();
  if (type === undefined || !/^[a-z0-9.+-]+\/[a-z0-9.+-]+$/.test(type)) return undefined;
  return type === 'image/jpg' ? 'image/jpeg' : type;
}

/** The text of a file that holds text, for an API that takes it as text only; undefined for data of another kind. */
export function textOfData({ mediaType, data }: PartData): string | undefined {
  if (mediaType === undefined || !isTextType(mediaType)) return undefined;
  return new TextDecoder().decode(Uint8Array.from(atob(data), (character) => character.charCodeAt(0)));
}

function isTextType(mediaType: string): boolean {
  return mediaType.startsWith('text/') || /^application\/(?:[a-z0-9.-]+\+)?(?:json|xml|yaml|x-yaml|javascript|sql)$/.test(mediaType);
}
