import { describe, expect, it } from 'vitest';
import type { FilePart, ImagePart } from '../model/types.js';
import { bytesOf, contentText, explicitPart, partOfBytes, sniffMediaType, standIn } from './media.js';

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'latin1'));
const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64');
const png = '\x89PNG\r\n\x1a\n0000';

describe('sniffMediaType', () => {
  it.each([
    ['image/png', png],
    ['image/png', '\x89PNG\r\n\x1a\n'],
    ['image/jpeg', '\xff\xd8\xff'],
    ['image/jpeg', '\xff\xd8\xff\xe0 and more'],
    ['image/gif', 'GIF87a'],
    ['image/gif', 'GIF89a......'],
    ['image/webp', 'RIFF....WEBP'],
    ['image/webp', 'RIFF....WEBPVP8 '],
    ['application/pdf', '%PDF-'],
    ['application/pdf', '%PDF-1.7 ...'],
  ])('knows %s by its first bytes', (mediaType, text) => {
    expect(sniffMediaType(bytes(text))).toBe(mediaType);
  });

  it.each([
    '',
    'text',
    '\x89PNG',
    ' \x89PNG\r\n\x1a\n',
    '\xff\xd8',
    ' \xff\xd8\xff',
    'GIF88a',
    ' GIF87a',
    ' GIF89a',
    'RIFF....WAVE',
    'RIFF...WEBP.',
    'RIFF.....WEBP',
    '.RIFF...WEBP',
    'LIFF....WEBP',
    '%PDF',
    ' %PDF-',
  ])('knows nothing of %j', (text) => {
    expect(sniffMediaType(bytes(text))).toBeUndefined();
  });
});

describe('bytesOf', () => {
  const { buffer } = Uint8Array.from([1, 2, 3, 4]);

  it('gives byte arrays as they are', () => {
    const given = Uint8Array.from([1, 2]);
    expect(bytesOf(given)).toBe(given);
  });

  it.each<[string, object, readonly number[]]>([
    ['a buffer', buffer, [1, 2, 3, 4]],
    ['a view of a part', new DataView(buffer, 1, 2), [2, 3]],
    ['a clamped array of a part', new Uint8ClampedArray(buffer, 2, 1), [3]],
  ])('gives those of %s', (_what, value, expected) => {
    expect(bytesOf(value)).toEqual(Uint8Array.from(expected));
  });

  it('gives a copy of those of shared memory', () => {
    const shared = new SharedArrayBuffer(2);
    const view = new Uint8Array(shared);
    view.set([5, 6]);
    const given = bytesOf(shared);
    view.set([9, 9]);
    expect(given).toEqual(Uint8Array.from([5, 6]));
  });

  it.each<[string, object]>([
    ['vectors', Float32Array.from([1])],
    ['other number arrays', Uint16Array.from([1])],
    ['lists', [1, 2]],
    ['objects', { length: 1, 0: 1 }],
  ])('gives none of %s', (_what, value) => {
    expect(bytesOf(value)).toBeUndefined();
  });
});

describe('partOfBytes', () => {
  it.each([
    ['an image', png, { type: 'image', mediaType: 'image/png', data: base64(png) }],
    ['a file', '%PDF-1.7', { type: 'file', mediaType: 'application/pdf', data: base64('%PDF-1.7') }],
    ['text in UTF-8', '\xc3\xa9', { type: 'text', text: 'é' }],
    ['what is no UTF-8', '\xff\xfe', { type: 'file', mediaType: 'application/octet-stream', data: base64('\xff\xfe') }],
    ['text with a zero in it', 'a\0b', { type: 'file', mediaType: 'application/octet-stream', data: base64('a\0b') }],
    ['nothing', '', { type: 'text', text: '' }],
  ])('makes a part of %s', (_what, text, part) => {
    expect(partOfBytes(bytes(text))).toEqual(part);
  });
});

describe('explicitPart', () => {
  const data = base64(png);
  const pdf = base64('%PDF-1.7');

  it.each<[string, object, object]>([
    ['a text', { type: 'text', text: 'hi' }, { type: 'text', text: 'hi' }],
    ['an empty text', { type: 'text', text: '' }, { type: 'text', text: '' }],
    ['a text with a lone surrogate', { type: 'text', text: 'a\ud800' }, { type: 'text', text: 'a\ufffd' }],
    ['a text beside what parts may have', { type: 'text', text: 'hi', label: 1, annotations: {}, _meta: {} }, { type: 'text', text: 'hi' }],
    ['an image', { type: 'image', data, mediaType: 'image/webp' }, { type: 'image', mediaType: 'image/webp', data }],
    ['an image under the other name', { type: 'image', data, mimeType: 'image/webp' }, { type: 'image', mediaType: 'image/webp', data }],
    [
      'an image with both names',
      { type: 'image', data, mediaType: 'image/gif', mimeType: 'image/webp' },
      { type: 'image', mediaType: 'image/gif', data },
    ],
    [
      'an image whose type is in capitals',
      { type: 'image', data, mediaType: 'IMAGE/WEBP' },
      { type: 'image', mediaType: 'image/webp', data },
    ],
    ['an image by its bytes', { type: 'image', data: bytes(png) }, { type: 'image', mediaType: 'image/png', data }],
    ['an image by the first bytes of its text', { type: 'image', data }, { type: 'image', mediaType: 'image/png', data }],
    [
      'an image whose stated type is no type',
      { type: 'image', data, mediaType: 'a picture' },
      { type: 'image', mediaType: 'image/png', data },
    ],
    [
      'an image whose stated type is no text',
      { type: 'image', data, mediaType: { toString: () => 'image/webp' } },
      { type: 'image', mediaType: 'image/png', data },
    ],
    [
      'an image beside other fields',
      { type: 'image', data, mediaType: 'image/webp', width: 5 },
      { type: 'image', mediaType: 'image/webp', data },
    ],
    ['an image as a data URL', { type: 'image', data: `data:image/webp;base64,${data}` }, { type: 'image', mediaType: 'image/webp', data }],
    [
      'an image as a data URL in `url`',
      { type: 'image', url: `DATA:image/webp;charset=x;BASE64,${data}` },
      { type: 'image', mediaType: 'image/webp', data },
    ],
    [
      'an image as a data URL without a type',
      { type: 'image', url: `data:;base64,${data}` },
      { type: 'image', mediaType: 'image/png', data },
    ],
    [
      'a stated type before that of the data URL',
      { type: 'image', mediaType: 'image/gif', url: `data:image/webp;base64,${data}` },
      { type: 'image', mediaType: 'image/gif', data },
    ],
    [
      'bytes before an address',
      { type: 'image', data: bytes(png), url: 'https://example.test/a.png' },
      { type: 'image', mediaType: 'image/png', data },
    ],
    ['an image at an address', { type: 'image', url: 'https://example.test/a' }, { type: 'image', url: 'https://example.test/a' }],
    [
      'an image at an address without TLS',
      { type: 'image', url: 'HTTP://example.test/a' },
      { type: 'image', url: 'HTTP://example.test/a' },
    ],
    [
      'an image of a known type at an address',
      { type: 'image', url: 'https://example.test/a', mediaType: 'image/png' },
      { type: 'image', mediaType: 'image/png', url: 'https://example.test/a' },
    ],
    ['an address with a lone surrogate', { type: 'image', url: 'https://x.test/\ud800' }, { type: 'image', url: 'https://x.test/\ufffd' }],
    ['a file by its first bytes', { type: 'file', data: pdf }, { type: 'file', mediaType: 'application/pdf', data: pdf }],
    [
      'a file with a name',
      { type: 'file', data: pdf, name: 'a\ud800.pdf' },
      { type: 'file', mediaType: 'application/pdf', data: pdf, name: 'a\ufffd.pdf' },
    ],
    ['a file whose name is none', { type: 'file', data: pdf, name: 5 }, { type: 'file', mediaType: 'application/pdf', data: pdf }],
    ['an image without its name', { type: 'image', data, name: 'a.png' }, { type: 'image', mediaType: 'image/png', data }],
    [
      'a file at an address',
      { type: 'file', url: 'https://example.test/a.pdf', mediaType: 'application/pdf' },
      { type: 'file', mediaType: 'application/pdf', url: 'https://example.test/a.pdf' },
    ],
    [
      'types with signs in them',
      { type: 'file', data: pdf, mediaType: 'application/vnd.x+json' },
      { type: 'file', mediaType: 'application/vnd.x+json', data: pdf },
    ],
    ['clean base64', { type: 'file', data: ` ${pdf.replaceAll('=', '')}\n` }, { type: 'file', mediaType: 'application/pdf', data: pdf }],
  ])('takes %s', (_what, value, part) => {
    expect(explicitPart(value)).toEqual(part);
  });

  it.each<[string, object]>([
    ['a text without text', { type: 'text' }],
    ['a text that is a number', { type: 'text', text: 5 }],
    ['a text among other fields', { type: 'text', text: 'hi', author: 'x' }],
    ['another type', { type: 'audio', data, mediaType: 'audio/wav' }],
    ['no type', { data, mediaType: 'image/png' }],
    ['an image without data and address', { type: 'image', mediaType: 'image/png' }],
    ['an image of no bytes', { type: 'image', mediaType: 'image/png', data: new Uint8Array(0) }],
    ['an image whose data are something else', { type: 'image', mediaType: 'image/png', data: { a: 1 } }],
    ['an image whose data are null', { type: 'image', mediaType: 'image/png', data: null }],
    ['an image whose data are a number', { type: 'image', mediaType: 'image/png', data: 5 }],
    ['an image that is no base64', { type: 'image', mediaType: 'image/png', data: 'no base64!' }],
    ['a data URL that is no base64', { type: 'image', mediaType: 'image/png', url: 'data:image/png,plain' }],
    ['an image whose data give no type away', { type: 'image', data: base64('something') }],
    ['a file whose data give no type away', { type: 'file', data: base64('something') }],
    ['a file at an address without a type', { type: 'file', url: 'https://example.test/a' }],
    ['an image at an address among other fields', { type: 'image', url: 'https://example.test/a', width: 5 }],
    ['an address that is not on the web', { type: 'image', mediaType: 'image/png', url: 'file:///etc/passwd' }],
    ['an address of a longer scheme', { type: 'image', mediaType: 'image/png', url: 'xhttps://example.test' }],
    ['a data URL further back', { type: 'image', mediaType: 'image/png', url: `x data:image/png;base64,${data}` }],
    ['an address without slashes', { type: 'image', mediaType: 'image/png', url: 'https:example.test' }],
    ['an address that is a number', { type: 'image', mediaType: 'image/png', url: 5 }],
  ])('does not take %s', (_what, value) => {
    expect(explicitPart(value)).toBeUndefined();
  });

  it.each(['image', 'image/', '/png', 'image/p ng', ' image/png', 'image/png;x', '-image/png', 'im age/png', 'image/png '])(
    'takes %j for no media type',
    (mediaType) => {
      expect(explicitPart({ type: 'image', url: 'https://example.test/a', mediaType })).toEqual({
        type: 'image',
        url: 'https://example.test/a',
      });
    },
  );

  it('does not look for the head of a data URL behind its first characters', () => {
    const far = `data:image/webp;${'x'.repeat(300)};base64,${data}`;
    expect(explicitPart({ type: 'image', url: far })).toBeUndefined();
    const near = `data:image/webp;${'x'.repeat(100)};base64,${data}`;
    expect(explicitPart({ type: 'image', url: near })).toEqual({ type: 'image', mediaType: 'image/webp', data });
  });
});

it.each<[string, ImagePart | FilePart, string]>([
  ['an image', { type: 'image', mediaType: 'image/png', data: 'QUJD' }, '[image image/png, 3 bytes]'],
  ['an image at an address', { type: 'image', url: 'https://example.test/a' }, '[image https://example.test/a]'],
  ['a file', { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'QUJDRA==' }, '[file application/pdf, a.pdf, 4 bytes]'],
  [
    'a file at an address',
    { type: 'file', mediaType: 'application/pdf', url: 'https://example.test/a' },
    '[file application/pdf, https://example.test/a]',
  ],
  [
    'an image that has a name',
    { type: 'image', mediaType: 'image/png', data: 'QQ==', name: 'a' } as ImagePart,
    '[image image/png, 1 bytes]',
  ],
])('lets words stand in for %s', (_what, part, words) => {
  expect(standIn(part)).toBe(words);
});

it('contentText gives text as it is, and of parts a line each', () => {
  expect(contentText('a\nb')).toBe('a\nb');
  expect(contentText([])).toBe('');
  expect(
    contentText([
      { type: 'text', text: 'a' },
      { type: 'image', url: 'https://example.test/a' },
      { type: 'text', text: 'b' },
    ]),
  ).toBe('a\n[image https://example.test/a]\nb');
});
