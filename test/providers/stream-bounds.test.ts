import type { ServerResponse } from 'node:http';
import type { ModelCall } from '@guardloop/core/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Play } from './byte-server.js';
import { ByteServer, faultsOf, readStream } from './byte-server.js';
import { readers } from './sides.js';
import { spokenAnswer, streamWords } from './stream-words.js';

let server: ByteServer;
beforeAll(async () => {
  server = await ByteServer.start();
});
afterAll(() => server.stop());

const mebibyte = 1024 * 1024;

/** Writes the same until the reader leaves, at most `most` bytes, and keeps how much it wrote. */
function endless(begin: string, piece: string, most: number): { readonly play: Play; readonly written: () => number } {
  let written = 0;
  const play = async (response: ServerResponse): Promise<void> => {
    response.write(begin);
    while (!response.destroyed && written < most) {
      written += piece.length;
      if (!response.write(piece)) await drained(response);
    }
    response.end();
  };
  return { play, written: () => written };
}

async function drained(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

function saying(text: string): Play {
  return (response) => void response.end(text);
}

describe.each(readers)('$name', (side) => {
  const words = streamWords[side.dialect];

  it.each([
    ['line', 'data: {"a":"', 'A'.repeat(mebibyte)],
    ['event', '', `data: ${'A'.repeat(1_000)}\n`.repeat(1_000)],
    ['name of an event', 'event: ', 'A'.repeat(mebibyte)],
  ])('S060: an endless %s is a failure after some mebibytes, and its connection is left', async (_what, begin, piece) => {
    const { play, written } = endless(begin, piece, 256 * mebibyte);
    const read = await readStream(side.model(server.place(play)));
    expect(faultsOf(read)).toEqual([]);
    expect(read.error).toMatchObject({ code: 'MODEL_PROTOCOL', isRetryable: false });
    expect(written()).toBeLessThan(64 * mebibyte);
  });

  it('keep-alives without end are no failure, and take no memory', async () => {
    const { play } = endless(words.begin, ': keep-alive\n\n'.repeat(1_000), 64 * mebibyte);
    const before = process.memoryUsage().heapUsed;
    const read = await readStream(side.model(server.place(play)));
    expect(read.error).toMatchObject({ code: 'MODEL_PROTOCOL' });
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * mebibyte);
  });

  it('a hundred thousand tiny pieces of text and arguments come whole', async () => {
    const count = 50_000;
    const whole = `{"a":"${'y'.repeat(count)}"}`;
    const body = [
      words.begin,
      words.openText,
      words.text('x').repeat(count),
      words.openCall(0),
      words.argument(0, '{"a":"'),
      words.argument(0, 'y').repeat(count),
      words.argument(0, '"}'),
      words.closeCall(0, { input: whole }),
      words.end('x'.repeat(count), [{ input: whole }]),
    ];
    const read = await readStream(side.model(server.place(saying(body.join('')))));
    expect(read.error).toBeUndefined();
    expect(faultsOf(read)).toEqual([]);
    expect(read.events.filter(({ type }) => type === 'text.delta')).toHaveLength(count);
    expect(callsOf(read.events)).toMatchObject([{ name: 'find', input: { a: 'y'.repeat(count) } }]);
  });

  it('a thousand calls in one answer come in order', async () => {
    const calls = Array.from({ length: 1_000 }, (_, index) => ({ input: `{"a":${index}}` }));
    const read = await readStream(side.model(server.place(saying(spokenAnswer(words, 'x', calls)))));
    expect(read.error).toBeUndefined();
    expect(callsOf(read.events).map((call) => 'input' in call && call.input)).toEqual(calls.map((_, a) => ({ a })));
  });

  it.each([1_000, 100_000])('arguments %i levels deep are a call, or a failure in words', async (depth) => {
    const input = `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    const read = await readStream(side.model(server.place(saying(spokenAnswer(words, 'x', [{ input }])))));
    expect(faultsOf(read)).toEqual([]);
  });

  it('indexes of any size take no memory', async () => {
    const indexes = [4_294_967_294, 1e15, -5];
    const calls = indexes.map((index) => words.openCall(index) + words.argument(index, '{}'));
    const end = words.end('x', Array(indexes.length).fill({ input: '{}' }));
    const body = [words.begin, words.openText, words.text('x'), ...calls, end].join('');
    const before = process.memoryUsage().heapUsed;
    const read = await readStream(side.model(server.place(saying(body))));
    expect(faultsOf(read)).toEqual([]);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(16 * mebibyte);
  });
});

function callsOf(events: readonly { readonly type: string; readonly call?: ModelCall }[]): readonly ModelCall[] {
  return events.flatMap((event) => (event.call === undefined ? [] : [event.call]));
}
