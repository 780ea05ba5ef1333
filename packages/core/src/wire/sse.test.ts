import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SseFrame } from './sse.js';
import { SseReader, SseTooLong } from './sse.js';

function read(chunks: readonly Uint8Array[], maxChars = 1_000): SseFrame[] {
  const reader = new SseReader(maxChars);
  return [...chunks.flatMap((chunk) => [...reader.push(chunk)]), ...reader.end()];
}
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const readText = (text: string): SseFrame[] => read([bytesOf(text)]);

test('a frame has its event name and its data lines, joined with a line feed', () => {
  expect(readText('event: a\ndata: 1\ndata: 2\nid: 7\n\ndata:3\n\n')).toEqual([
    { event: 'a', data: '1\n2' },
    { event: '', data: '3' },
  ]);
});

test('only one space after the colon is not data, and a field without a colon has no value', () => {
  expect(readText('data:  x\n\ndata\n\n')).toEqual([
    { event: '', data: ' x' },
    { event: '', data: '' },
  ]);
});

test('an event without data is none, and its name does not reach the next', () => {
  expect(readText('event: a\n\ndata: 1\n\n')).toEqual([{ event: '', data: '1' }]);
});

test('a line that is named error is an error event', () => {
  expect(readText('data: 1\n\nerror: {"code":400}\n\ndata: [DONE]\n\n')).toEqual([
    { event: '', data: '1' },
    { event: 'error', data: '{"code":400}' },
    { event: '', data: '[DONE]' },
  ]);
});

test('a byte order mark is passed over, and the last event needs no blank line', () => {
  expect(readText('\ufeffdata: 1\n\ndata: 2')).toEqual([
    { event: '', data: '1' },
    { event: '', data: '2' },
  ]);
});

test('every way to cut the bytes of any stream gives the same frames, also up to where it is too long', () => {
  const piece = fc.constantFrom('data: a', 'data:é😀', 'event: x', ': c', 'data', '\n', '\n', '\r', '\r\n', '\n\n', 'data: 0123456789');
  const outcome = (chunks: readonly Uint8Array[]): unknown[] => {
    const seen: unknown[] = [];
    const reader = new SseReader(30);
    try {
      for (const chunk of chunks) for (const frame of reader.push(chunk)) seen.push(frame);
      for (const frame of reader.end()) seen.push(frame);
    } catch (error) {
      seen.push((error as Error).name);
    }
    return seen;
  };
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), fc.array(fc.nat({ max: 200 }), { maxLength: 8 }), (pieces, cuts) => {
      const bytes = bytesOf(pieces.join(''));
      const edges = [0, ...cuts.filter((cut) => cut < bytes.length).sort((left, right) => left - right), bytes.length];
      const chunks = edges.slice(1).map((edge, index) => bytes.slice(edges[index], edge));
      expect(outcome(chunks)).toEqual(outcome([bytes]));
      expect(outcome(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(outcome([bytes]));
    }),
    { numRuns: 500 },
  );
});

test('S060: an event longer than the limit is refused, in one line or in many; any number of shorter ones pass', () => {
  expect(() => read([bytesOf(`data: ${'x'.repeat(1_000)}`)])).toThrow(SseTooLong);
  expect(() => read([bytesOf('data: xxxx\n'.repeat(200))])).toThrow(SseTooLong);
  expect(readText('data: xxxx\n\n'.repeat(200))).toHaveLength(200);
  expect(readText(': keep-alive\n'.repeat(200))).toEqual([]);
});

test('S060: time is linear in the bytes of one long line', () => {
  const chunk = bytesOf('A'.repeat(1_024));
  const reader = new SseReader(64 * 1024 * 1024);
  const began = process.cpuUsage();
  for (let index = 0; index < 16 * 1024; index += 1) for (const _frame of reader.push(chunk)) expect.unreachable();
  expect(process.cpuUsage(began).user).toBeLessThan(5_000_000);
});
