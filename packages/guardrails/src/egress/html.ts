import { decodeHTML } from 'entities/decode';
import { cssTargets } from './css.js';
import type { TextTarget } from './text-target.js';

/** Attributes that name an address, and what becomes of it in most elements. */
const attributes: Readonly<Record<string, TextTarget['kind']>> = {
  src: 'content',
  srcset: 'image',
  imagesrcset: 'image',
  poster: 'image',
  background: 'image',
  lowsrc: 'image',
  dynsrc: 'image',
  data: 'content',
  code: 'content',
  codebase: 'content',
  archive: 'content',
  classid: 'content',
  manifest: 'content',
  ping: 'content',
  href: 'content',
  'xlink:href': 'content',
  action: 'link',
  formaction: 'link',
  cite: 'link',
  longdesc: 'link',
  to: 'link',
  from: 'link',
  values: 'link',
};
/** Elements whose `href` waits for a click. */
const linkElements: ReadonlySet<string> = new Set(['a', 'area', 'svg:a']);
const imageElements: ReadonlySet<string> = new Set(['img', 'image', 'input', 'source', 'picture', 'feimage']);
/** Lists of addresses, one or more in a value. */
const listAttributes: ReadonlySet<string> = new Set(['srcset', 'imagesrcset', 'ping', 'archive', 'values']);

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0c || (code >= 0x09 && code <= 0x0d);
const isLetter = (code: number): boolean => (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);

interface Attribute {
  readonly tag: string;
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/**
 * The addresses that HTML in a text names, and its scripts: elements, handlers, documents in attributes. It looks into comments, code and the
 * values of other attributes too, since programs do not agree on where those end. Time grows with the length; never throws.
 */
export function htmlTargets(text: string): readonly TextTarget[] {
  const found: TextTarget[] = scriptElements(text);
  scan(text, { from: 0, to: text.length, depth: 0 }, (attribute) => {
    found.push(...targetsOf(text, attribute));
  });
  return found;
}

/** Whole elements; of `style` elements what they load. */
function scriptElements(text: string): TextTarget[] {
  const found: TextTarget[] = [];
  const opening = /<(script|style)(?=[\s/>])/gi;
  const closing = { script: /<\/script/gi, style: /<\/style/gi };
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const name = match[1]?.toLowerCase() === 'script' ? 'script' : 'style';
    const pattern = closing[name];
    pattern.lastIndex = opening.lastIndex;
    const close = pattern.exec(text)?.index;
    if (name === 'style') {
      for (const target of cssTargets(text.slice(opening.lastIndex, close))) {
        found.push({ ...target, start: target.start + opening.lastIndex, end: target.end + opening.lastIndex });
      }
    } else {
      const end = close === undefined ? -1 : text.indexOf('>', close);
      found.push({ start: match.index, end: end === -1 ? text.length : end + 1, kind: 'script' });
    }
    if (close === undefined) break;
    opening.lastIndex = close;
  }
  return found;
}

interface Range {
  readonly from: number;
  readonly to: number;
  /** Of values within values: quotes of one kind cannot stand in themselves, so two are all. */
  readonly depth: number;
}

function scan(text: string, { from, to, depth }: Range, see: (attribute: Attribute) => void): void {
  let at = from;
  while (at < to) {
    const open = text.indexOf('<', at);
    if (open === -1 || open >= to) return;
    at = open + 1;
    if (!isLetter(text.charCodeAt(at))) continue;
    at = readTag(text, { from: at, to, depth }, see);
  }
}

/** Reads the attributes of one element; gives where it ends. */
function readTag(text: string, { from, to, depth }: Range, see: (attribute: Attribute) => void): number {
  let at = from;
  const skip = (isPart: (code: number) => boolean): void => {
    while (at < to && isPart(text.charCodeAt(at))) at += 1;
  };
  const isNamePart = (code: number): boolean => !isSpace(code) && code !== 0x2f && code !== 0x3e && code !== 0x3c;
  skip(isNamePart);
  const tag = text.slice(from, Math.min(at, from + 32)).toLowerCase();
  while (at < to) {
    skip((code) => isSpace(code) || code === 0x2f);
    const code = text.charCodeAt(at);
    if (at >= to || code === 0x3c) return at;
    if (code === 0x3e) return at + 1;
    const nameStart = at;
    at += 1;
    skip((part) => isNamePart(part) && part !== 0x3d);
    const name = text.slice(nameStart, Math.min(at, nameStart + 64)).toLowerCase();
    skip(isSpace);
    if (text.charCodeAt(at) !== 0x3d) continue;
    at += 1;
    skip(isSpace);
    const quote = text.charAt(at);
    let start = at;
    if (quote === '"' || quote === "'") {
      start = at + 1;
      const close = text.indexOf(quote, start);
      const end = close === -1 || close > to ? to : close;
      see({ tag, name, start, end });
      if (depth < 2 && text.slice(start, end).includes('<')) scan(text, { from: start, to: end, depth: depth + 1 }, see);
      at = end + 1;
    } else {
      skip((part) => !isSpace(part) && part !== 0x3e);
      see({ tag, name, start, end: at });
    }
  }
  return at;
}

function targetsOf(text: string, { tag, name, start, end }: Attribute): readonly TextTarget[] {
  if (end <= start) return [];
  if (/^on[a-z]/.test(name) || name === 'srcdoc') return [{ start, end, kind: 'script' }];
  const value = text.slice(start, end);
  if (name === 'style') return cssOfAttribute(value, start, end);
  if (name === 'content' && tag === 'meta') {
    const target = /url\s*=\s*(.*)/is.exec(decodeHTML(value).replace(/["']/g, ''))?.[1];
    return target === undefined ? [] : [{ start, end, kind: 'content', target }];
  }
  if (name.startsWith('data-')) return [{ start, end, kind: 'content', target: absoluteOnly(value) }];
  const usual = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  if (usual === undefined) return [];
  const kind = kindIn(tag, name, usual);
  if (!listAttributes.has(name)) return [{ start, end, kind }];
  return [...value.matchAll(/[^\s,;][^\s;]*/g)].map(({ 0: piece, index }) => ({
    start: start + index,
    end: start + index + piece.length,
    kind,
    target: piece.endsWith(',') ? piece.slice(0, -1) : piece,
  }));
}

function kindIn(tag: string, name: string, usual: TextTarget['kind']): TextTarget['kind'] {
  if ((name === 'href' || name === 'xlink:href') && linkElements.has(tag)) return 'link';
  return usual === 'content' && imageElements.has(tag) ? 'image' : usual;
}

/** Values of `data-` attributes are addresses only where they name a host. */
const absoluteOnly = (value: string): string => (/^[\s\p{Cc}]*(?:[\\/]{2}|[a-z][a-z0-9+.-]*:)/iu.test(value) ? value : '');

function cssOfAttribute(value: string, start: number, end: number): readonly TextTarget[] {
  const plain = decodeHTML(value);
  if (plain === value) return cssTargets(value).map((target) => ({ ...target, start: start + target.start, end: start + target.end }));
  return cssTargets(plain).map((target) => ({ ...target, start, end, target: target.target ?? plain.slice(target.start, target.end) }));
}
