import { describe, expect, it } from 'vitest';
import { base64Bytes, cleanBase64, firstBytes, toBase64 } from './base64.js';

const bytesUpTo = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => (index * 7 + 3) % 256);

describe('toBase64', () => {
  it.each([0, 1, 2, 3, 255, 8_191, 8_192, 8_193, 16_384, 16_385])('writes %i bytes as every other encoder does', (length) => {
    const bytes = bytesUpTo(length);
    expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'));
  });
});

describe('cleanBase64', () => {
  it.each([
    ['what is clean already', 'QUJD', 'QUJD'],
    ['two missing signs of padding', 'QQ', 'QQ=='],
    ['one missing sign of padding', 'QUI', 'QUI='],
    ['half of the padding', 'QQ=', 'QQ=='],
    ['padding that is not needed', 'QUJD==', 'QUJD'],
    ['one sign of padding too many', 'QUI==', 'QUI='],
    ['missing padding of a longer text', 'QUJDREVGRw', 'QUJDREVGRw=='],
    ['the alphabet of addresses', '-_-_', '+/+/'],
    ['the alphabet of addresses with its padding left out', 'a-b_cQ', 'a+b/cQ=='],
    ['white space anywhere', ' QU\n JD\t', 'QUJD'],
    ['white space of several signs', 'QU  \r\n\r\n  JD', 'QUJD'],
    ['the last signs of its alphabet', 'az09+/AZ', 'az09+/AZ'],
  ])('takes %s', (_what, text, clean) => {
    expect(cleanBase64(text)).toBe(clean);
  });

  it.each([
    ['nothing', ''],
    ['only padding', '=='],
    ['only white space', ' \n'],
    ['a sign left over', 'QUJDR'],
    ['a single sign', 'Q'],
    ['three signs of padding', 'Q==='],
    ['padding in the middle', 'QQ==QUJD'],
    ['padding at the beginning', '=QUI'],
    ['a sign of another alphabet', 'QUJ!'],
    ['a sign of another alphabet at the end', 'QUJD!'],
    ['a sign of another alphabet at the beginning', '!QUJD'],
    ['a letter with a mark', 'QÜJD'],
  ])('does not take %s', (_what, text) => {
    expect(cleanBase64(text)).toBeUndefined();
  });
});

it.each([
  ['', 0],
  ['QUJD', 3],
  ['QUI=', 2],
  ['QQ==', 1],
  ['QUJDQUJD', 6],
  ['QUJDQQ==', 4],
  ['QUI', 2],
])('counts the bytes behind %j', (text, count) => {
  expect(base64Bytes(text)).toBe(count);
});

describe('firstBytes', () => {
  const bytes = Uint8Array.from([0, 255, 1, 254, 127, 128, 90, 165, 16, 239, 3, 252, 200]);
  const text = toBase64(bytes);

  it('gives as many bytes as are asked for', () => {
    for (let count = 0; count <= bytes.length; count += 1) expect(firstBytes(text, count)).toEqual(bytes.slice(0, count));
  });

  it('gives fewer where there are no more', () => {
    expect(firstBytes(text, 100)).toEqual(bytes);
    expect(firstBytes('QUI=', 100)).toEqual(Uint8Array.from([65, 66]));
    expect(firstBytes('QUI', 100)).toEqual(Uint8Array.from([65, 66]));
    expect(firstBytes('QQ', 100)).toEqual(Uint8Array.from([65]));
    expect(firstBytes('', 100)).toEqual(Uint8Array.from([]));
  });

  it('ends where the text is no base64 any more', () => {
    expect(firstBytes('QU!D', 100)).toEqual(Uint8Array.from([65]));
    expect(firstBytes('!QUJD', 100)).toEqual(Uint8Array.from([]));
  });

  it('takes the first sign of the alphabet for bits like any other', () => {
    expect(firstBytes('AAAA', 100)).toEqual(Uint8Array.from([0, 0, 0]));
    expect(firstBytes('////', 100)).toEqual(Uint8Array.from([255, 255, 255]));
  });
});
