import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OversizedEvent, ServerEventDecoder } from './server-events.js';

function decode(pieces: readonly Uint8Array[]) {
  const decoder = new ServerEventDecoder();
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
}

function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...places, bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const two = [
  { name: 'message', data: '{"a":"ä😀"}' },
  { name: undefined, data: 'one\ntwo' },
];
const framings: Readonly<Record<string, string>> = {
  LF: 'event: message\ndata: {"a":"ä😀"}\n\ndata: one\ndata: two\n\n',
  CRLF: 'event: message\r\ndata: {"a":"ä😀"}\r\n\r\ndata: one\r\ndata: two\r\n\r\n',
  CR: 'event: message\rdata: {"a":"ä😀"}\r\rdata: one\rdata: two\r\r',
  'mixed line ends': 'event: message\r\ndata: {"a":"ä😀"}\n\r\ndata: one\rdata: two\n\n',
  'no space after the colon': 'event:message\ndata:{"a":"ä😀"}\n\ndata:one\ndata:two\n\n',
  'no blank line at the end': 'event: message\ndata: {"a":"ä😀"}\n\ndata: one\ndata: two',
  'a line end but no blank line at the end': 'event: message\ndata: {"a":"ä😀"}\r\n\r\ndata: one\r\ndata: two\r\n',
  'comments and blank events':
    ': hello\n\n\nevent: message\n: in between\ndata: {"a":"ä😀"}\n\ndata:\n\nid: 7\nretry: 10\ndata: one\ndata: two\n\n',
  'a byte order mark': '\uFEFFevent: message\ndata: {"a":"ä😀"}\n\ndata: one\ndata: two\n\n',
};

describe('S058: every framing gives the same events, however the bytes are cut', () => {
  it.each(Object.entries(framings))('%s', (_, text) => {
    const bytes = encode(text);
    expect(decode([bytes])).toEqual(two);
    for (let place = 0; place <= bytes.length; place += 1) expect(decode(cutAt(bytes, [place]))).toEqual(two);
    expect(decode(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(two);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (places) => {
        expect(decode(cutAt(bytes, places))).toEqual(two);
      }),
      {
        numRuns: 50,
      },
    );
  });
});

it('S058: any text gives the same events, however its bytes are cut', () => {
  const line = fc.constantFrom('data: x', 'data:', 'event: e', ': c', '', 'data', 'nonsense');
  const lines = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r', '\r\n')), { maxLength: 20 });
  fc.assert(
    fc.property(lines, fc.array(fc.nat(300), { maxLength: 20 }), (parts, places) => {
      const bytes = encode(parts.flat().join(''));
      const cut = cutAt(
        bytes,
        places.filter((place) => place <= bytes.length),
      );
      expect(decode(cut)).toEqual(decode([bytes]));
    }),
  );
});

it('an event without an end does not fill the memory', () => {
  const decoder = new ServerEventDecoder();
  const piece = encode('x'.repeat(1024 * 1024));
  expect(() => {
    for (let count = 0; count < 40; count += 1) decoder.push(piece);
  }).toThrow(OversizedEvent);
});
