import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mediaTypeOf, partData, textOfData } from './part-data.js';

const image = (fields: object): ReturnType<typeof partData> => partData({ type: 'image', ...fields });
const png = 'iVBORw0KGgoAAAANSUhEUg==';

describe('the data of a part', () => {
  it('is taken as it is where it is base64, and from a data: address', () => {
    expect(image({ mediaType: 'image/png', data: png })).toEqual({ mediaType: 'image/png', data: png });
    expect(image({ url: `data:image/png;base64,${png}` })).toEqual({ mediaType: 'image/png', data: png });
    expect(image({ url: `data:image/svg+xml;charset=utf-8;base64,${png.slice(12)}` })).toMatchObject({ mediaType: 'image/svg+xml' });
  });

  it('is of the type that an image shows, whatever it says', () => {
    expect(image({ mediaType: 'image/jpeg', data: png })).toMatchObject({ mediaType: 'image/png' });
    expect(image({ data: '/9j/QUJD' })).toMatchObject({ mediaType: 'image/jpeg' });
    expect(partData({ type: 'file', mediaType: 'audio/wav', data: 'UklGRkJD' })).toMatchObject({ mediaType: 'audio/wav' });
  });

  it.each([
    ['an address', { url: 'https://example.com/a.png' }],
    ['nothing', {}],
    ['empty data', { data: '' }],
  ])('is not there where there is %s', (_name, fields) => {
    expect(image(fields)).toBeUndefined();
  });

  it.each([
    ['text', { data: 'hello, world' }],
    ['five characters', { data: 'QUJDR' }],
    ['a data: address in plain text', { url: 'data:text/plain,hello' }],
    ['a data: address without data', { url: 'data:image/png;base64,' }],
    ['a data: prefix in the data', { data: `data:image/png;base64,${png}` }],
  ])('is invalid where it is %s', (_name, fields) => {
    expect(image(fields)).toBe('invalid');
  });

  it('comes out the same from every form of base64', () => {
    const forms = fc.record({ isUrl: fc.boolean(), isPadded: fc.boolean(), cut: fc.nat({ max: 80 }) });
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 60 }), forms, (bytes, { isUrl, isPadded, cut }) => {
        const plain = Buffer.from(bytes).toString('base64');
        const form = isUrl ? plain.replaceAll('+', '-').replaceAll('/', '_') : plain;
        const padded = isPadded ? form : form.replace(/=+$/, '');
        const data = `${padded.slice(0, cut)}\r\n${padded.slice(cut)}`;
        expect(partData({ type: 'file', mediaType: 'application/pdf', data })).toEqual({ mediaType: 'application/pdf', data: plain });
      }),
      { numRuns: 100 },
    );
  });
});

it('the text of a file is read where it holds text', () => {
  const data = Buffer.from('a;ü😀').toString('base64');
  for (const mediaType of ['text/csv', 'application/json', 'application/ld+json', 'image/svg+xml'])
    expect(textOfData({ mediaType, data })).toBe(mediaType === 'image/svg+xml' ? undefined : 'a;ü😀');
  expect(textOfData({ mediaType: 'application/pdf', data })).toBeUndefined();
  expect(textOfData({ mediaType: undefined, data })).toBeUndefined();
});

it('a media type has one form', () => {
  expect(['IMAGE/JPG', ' image/png ; q=1', 'text', '', undefined, 'a/b/c'].map(mediaTypeOf)).toEqual([
    'image/jpeg',
    'image/png',
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
