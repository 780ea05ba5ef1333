import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundedBody } from './bounded-body.js';

/** Reads a body that comes in these pieces, and tells how it ended. */
const read = async (pieces: readonly string[], { isEvents, maxBytes }: { readonly isEvents: boolean; readonly maxBytes: number }) => {
  const told: string[] = [];
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });
  const body = boundedBody(source, {
    isEvents,
    maxBytes,
    onTooLarge: () => told.push('too large'),
    onEnd: (canGoOn) => told.push(canGoOn ? 'can go on' : 'over'),
  });
  const text = await new Response(body).text().catch(() => undefined);
  return { text, told };
};
/** A text in pieces of a few characters each. */
const cut = (text: string, size: number): readonly string[] => text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];

describe('a bounded body', () => {
  it('is read whole up to its bound, and no further', async () => {
    expect(await read(['abc', 'def'], { isEvents: false, maxBytes: 6 })).toEqual({ text: 'abcdef', told: ['over'] });
    expect(await read(['abc', 'defg'], { isEvents: false, maxBytes: 6 })).toEqual({ text: undefined, told: ['too large', 'can go on'] });
  });

  it('of events has the bound on each of them, however they are cut and ended', async () => {
    const event = 'event: message\ndata: 0123456789\n\n';
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 40 }), fc.constantFrom('\n', '\r\n', '\r'), async (size, end) => {
        const stream = event.repeat(50).replaceAll('\n', end);
        expect(await read(cut(stream, size), { isEvents: true, maxBytes: 60 })).toEqual({ text: stream, told: ['over'] });
        const long = `data: ${'x'.repeat(100)}`;
        expect((await read(cut(stream + long, size), { isEvents: true, maxBytes: 60 })).told).toEqual(['too large', 'can go on']);
      }),
      { numRuns: 100, seed: 5 },
    );
  });

  it('of events can be gone on with where one had an id, at the beginning of a line only', async () => {
    const bounds = { isEvents: true, maxBytes: 1_000 };
    for (const size of [1, 2, 3, 100]) {
      expect((await read(cut('id: 1\ndata: x\n\n', size), bounds)).told).toEqual(['can go on']);
      expect((await read(cut('data: x\r\nid:2\r\n\r\n', size), bounds)).told).toEqual(['can go on']);
      expect((await read(cut('data: id: 1\nidx: 2\ni\nd: 3\n\n', size), bounds)).told).toEqual(['over']);
    }
  });

  it('that breaks off, or is left, tells so once', async () => {
    const told: boolean[] = [];
    const broken = new ReadableStream<Uint8Array>({
      pull: () => {
        throw new Error('gone');
      },
    });
    const settings = { isEvents: false, maxBytes: 10, onTooLarge: () => undefined, onEnd: (canGoOn: boolean) => told.push(canGoOn) };
    await expect(new Response(boundedBody(broken, settings)).text()).rejects.toThrow('broke off');
    await boundedBody(new ReadableStream(), settings).cancel();
    expect(told).toEqual([false, false]);
  });
});
