import type { ServerResponse } from 'node:http';
import { readRecordings } from '@guardloop/testing/conformance';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Play } from './byte-server.js';
import { ByteServer, faultsOf, readStream } from './byte-server.js';
import { readers } from './sides.js';
import { streamFolders } from './stream-folders.js';

let server: ByteServer;
beforeAll(async () => {
  server = await ByteServer.start();
});
afterAll(() => server.stop());

/** `RUNS=2000` for a soak. */
const runs = Number(process.env.RUNS ?? 40);
/** Streams of one run: they are read at the same time. */
const most = 8;

interface Mutation {
  readonly kind: 'flip' | 'cut' | 'repeat' | 'insert' | 'splice' | 'swap' | 'end';
  /** Places, as parts of the whole. */
  readonly at: number;
  readonly to: number;
  readonly bytes: Uint8Array;
}
interface Broken {
  readonly recording: number;
  readonly other: number;
  readonly mutations: readonly Mutation[];
  readonly chunk: number;
  readonly isDestroyed: boolean;
}

const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const mutation = fc.record<Mutation>({
  kind: fc.constantFrom('flip', 'flip', 'cut', 'repeat', 'insert', 'splice', 'swap', 'end'),
  at: place,
  to: place,
  bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }),
});
const oddValue = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    1e21,
    4_294_967_295,
    '',
    ' ',
    '\ud83d',
    'find',
    'stop',
    '0',
    [],
    {},
    [null],
    [[]],
    [{}],
    undefined,
  ),
  fc.jsonValue({ maxDepth: 2 }),
);
const broken = fc.record<Broken>({
  recording: fc.nat(),
  other: fc.nat(),
  mutations: fc.array(mutation, { minLength: 1, maxLength: 4 }),
  chunk: fc.integer({ min: 1, max: 3_000 }),
  isDestroyed: fc.boolean(),
});

describe.each(readers)('$name', (side) => {
  const own = readRecordings(streamFolders[side.dialect]).map(({ bytes }) => bytes);
  const all = Object.values(streamFolders).flatMap((folder) => readRecordings(folder).map(({ bytes }) => bytes));

  it('a recording that was cut, flipped, spliced or filled with anything has an outcome, or is a failure', async () => {
    const play = (plan: Broken): Play => {
      const bytes = plan.mutations.reduce(
        (given, each) => mutate(given, each, all[plan.other % all.length] ?? given),
        own[plan.recording % own.length] ?? new Uint8Array(),
      );
      return inChunks(bytes, plan.chunk, plan.isDestroyed);
    };
    const met = { answers: 0, failures: 0, calls: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(broken, { minLength: 1, maxLength: most }), async (plans) => {
        const read = await Promise.all(plans.map((plan) => readStream(side.model(server.place(play(plan))))));
        expect(read.map(faultsOf)).toEqual(plans.map(() => []));
        met.failures += read.filter(({ error }) => error !== undefined).length;
        met.answers += read.filter(({ error }) => error === undefined).length;
        met.calls += read.filter(({ events }) => events.some(({ type }) => type === 'tool.call')).length;
      }),
      { numRuns: runs },
    );
    for (const [what, count] of Object.entries(met)) expect(count, what).toBeGreaterThan(0);
  });

  it('a recording in which any field holds anything has an outcome, or is a failure', async () => {
    const texts = own.map((bytes) => new TextDecoder().decode(bytes));
    const change = fc.record({ frame: place, node: place, value: oddValue });
    const changed = fc.record({ recording: fc.nat(), changes: fc.array(change, { minLength: 1, maxLength: 3 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(changed, { minLength: 1, maxLength: most }), async (plans) => {
        const bodies = plans.map(({ recording, changes }) => changes.reduce(withOddValue, texts[recording % texts.length] ?? ''));
        const read = await Promise.all(
          bodies.map((body) => readStream(side.model(server.place(inChunks(new TextEncoder().encode(body), 1_000, false))))),
        );
        expect(read.map(faultsOf)).toEqual(plans.map(() => []));
      }),
      { numRuns: runs * 2 },
    );
  });

  it('random bytes, and random events of the format, have no end that is an answer', async () => {
    const line = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc.json().map((json) => new TextEncoder().encode(`data: ${json}\n\n`)),
      fc.string({ unit: 'binary' }).map((text) => new TextEncoder().encode(`event: ${text}\ndata: {}\n\n`)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(line, { maxLength: 20 }), { minLength: 1, maxLength: most }), async (bodies) => {
        const read = await Promise.all(
          bodies.map((lines) =>
            readStream(side.model(server.place(inChunks(new Uint8Array(lines.flatMap((bytes) => [...bytes])), 50, false)))),
          ),
        );
        expect(read.map(faultsOf)).toEqual(bodies.map(() => []));
        expect(read.filter(({ error }) => error === undefined)).toEqual([]);
      }),
      { numRuns: runs },
    );
  });
});

interface OddValue {
  readonly frame: number;
  readonly node: number;
  readonly value: unknown;
}

/** One field of one event, whichever, holds the value instead of its own. */
function withOddValue(text: string, { frame, node, value }: OddValue): string {
  const lines = text.split('\n');
  const places = [...lines.keys()].filter((index) => lines[index]?.startsWith('data: {'));
  const at = places[Math.floor(frame * places.length)];
  if (at === undefined) return text;
  const data = JSON.parse(lines[at]?.slice('data: '.length) ?? '') as object;
  const holders = holdersIn(data);
  const [holder, key] = holders[Math.floor(node * holders.length)] ?? [{}, ''];
  Object.assign(holder, { [key]: value });
  lines[at] = `data: ${JSON.stringify(data)}`;
  return lines.join('\n');
}

function holdersIn(value: object): readonly (readonly [object, string])[] {
  return Object.entries(value).flatMap(([key, child]): readonly (readonly [object, string])[] => [
    [value, key],
    ...(typeof child === 'object' && child !== null ? holdersIn(child as object) : []),
  ]);
}

function mutate(given: Uint8Array, { kind, at, to, bytes }: Mutation, other: Uint8Array): Uint8Array {
  const [start, end] = [Math.floor(at * given.length), Math.floor(to * given.length)].toSorted((one, two) => one - two) as [number, number];
  switch (kind) {
    case 'flip': {
      const flipped = Uint8Array.from(given);
      for (const [index, byte] of bytes.slice(0, 3).entries()) {
        const place = (start + index * byte) % Math.max(1, given.length);
        flipped[place] = (flipped[place] ?? 0) ^ (1 << (byte % 8));
      }
      return flipped;
    }
    case 'cut':
      return joined(given.subarray(0, start), given.subarray(end));
    case 'repeat':
      return joined(given.subarray(0, end), given.subarray(start));
    case 'insert':
      return joined(given.subarray(0, start), bytes, given.subarray(start));
    case 'splice':
      return joined(given.subarray(0, start), other.subarray(Math.floor(to * other.length)));
    case 'swap':
      return joined(given.subarray(end), given.subarray(start, end), given.subarray(0, start));
    case 'end':
      return given.subarray(0, end);
    default:
      return kind satisfies never;
  }
}

function joined(...pieces: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces));
}

function inChunks(bytes: Uint8Array, size: number, isDestroyed: boolean): Play {
  return async (response: ServerResponse) => {
    for (let start = 0; start < bytes.length; start += size) {
      response.write(bytes.subarray(start, start + size));
      if (start % (size * 8) === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    if (isDestroyed) response.destroy();
    else response.end();
  };
}
