import type { Model, ModelEvent } from '@guardloop/core/model';
import { GuardloopError } from '@guardloop/core/model';
import { describe, expect, it } from 'vitest';
import { patient } from './drain.js';
import { randomFrom } from './histories.js';
import { requestOf, userItem } from './items.js';
import type { RecordedError, RecordedStream } from './recordings.js';
import { framings } from './stream-framings.js';

export interface StreamConformanceOptions {
  /** Makes the adapter's model, with this in place of the global `fetch`. It makes no further attempts of its own. */
  readonly model: (send: typeof fetch) => Model;
  /** See `readRecordings`. */
  readonly recordings: readonly RecordedStream[];
  /** In how many places, at random, each recording is cut in two, and in how many it ends too early (60). The same in each run. */
  readonly cuts?: number | undefined;
}

/**
 * The suite for what an adapter reads: recorded streams, whole, cut anywhere, in every framing that the format allows, many at the same
 * time, and ended too early. The events are a function of the bytes, not of how they were cut. Call it at the top level of a vitest file.
 *
 * ```ts
 * streamConformance('my adapter', { model: (send) => mine('m-1', { fetch: send }), recordings: readRecordings(new URL('streams/', import.meta.url)) });
 * ```
 */
export function streamConformance(name: string, { model, recordings, cuts = 60 }: StreamConformanceOptions): void {
  if (recordings.length === 0)
    throw new Error(`streamConformance('${name}') was given no recording. Put NAME.sse and NAME.json into the folder that is read.`);
  const replayed = (recording: RecordedStream, chunks: readonly Uint8Array[]): Promise<Outcome> =>
    outcomeOf(
      model(async () => responseOf(recording, chunks)),
      recording.name,
    );

  describe.each(recordings.map((recording) => ({ recording, title: `${name} reads "${recording.name}"` })))('$title', ({ recording }) => {
    const expected: Outcome = { events: recording.events, error: recording.error };
    const isEventStream = (recording.contentType ?? eventStream) === eventStream;
    const places = samplePlaces(recording.bytes, cuts);

    it('in every framing, whole and in pieces', patient, async () => {
      for (const { name: framing, frame } of isEventStream ? framings : framings.slice(0, 1)) {
        const bytes = framing === 'as recorded' ? recording.bytes : encode(frame(decode(recording.bytes)));
        const random = randomFrom(bytes.length);
        expect(await replayed(recording, [bytes]), `${framing}, whole`).toEqual(expected);
        for (const most of [4, 40, 400]) {
          const chunks = inPieces(bytes, () => Math.floor(random() * (most + 1)));
          expect(await replayed(recording, chunks), `${framing}, in pieces of up to ${most} bytes`).toEqual(expected);
        }
      }
    });

    it('byte by byte', patient, async () => {
      const chunks = Array.from(recording.bytes, (byte) => Uint8Array.of(byte));
      expect(await replayed(recording, chunks)).toEqual(expected);
    });

    it('cut in two anywhere', patient, async () => {
      for (const at of places) {
        const { bytes } = recording;
        expect(await replayed(recording, [bytes.subarray(0, at), bytes.subarray(at)]), `cut at byte ${at}`).toEqual(expected);
      }
    });

    it(
      'ended too early anywhere: as a failure without end and calls, or as the whole answer if that was known to be whole',
      patient,
      async () => {
        for (const at of places) {
          const { events, error } = await replayed(recording, [recording.bytes.subarray(0, at)]);
          const where = `ended at byte ${at}`;
          if (error === undefined) expect(events.map(withoutCounts), where).toEqual(recording.events.map(withoutCounts));
          else {
            expect(error.code, where).toMatch(/^MODEL_(PROTOCOL|FAILED)$/);
            expect(events, where).toEqual(recording.events.slice(0, events.length));
            expect(events.filter(isOfTheEnd), where).toEqual([]);
          }
        }
      },
    );
  });

  it(`${name} reads all recordings at the same time`, patient, async () => {
    const random = randomFrom(recordings.length);
    const byName = new Map(recordings.map((recording) => [recording.name, recording]));
    const shared = model(async (_input, init) => {
      const asked = /recording <(.*?)>/.exec(String(init?.body))?.[1];
      const recording = byName.get(asked ?? '');
      if (recording === undefined) throw new Error('The request does not hold the text of its user message.');
      return responseOf(
        recording,
        inPieces(recording.bytes, () => 1 + Math.floor(random() * 60)),
      );
    });
    const outcomes = await Promise.all(recordings.flatMap(({ name: asked }) => [outcomeOf(shared, asked), outcomeOf(shared, asked)]));
    expect(outcomes).toEqual(
      recordings.flatMap(({ events, error }) => [
        { events, error },
        { events, error },
      ]),
    );
  });
}

interface Outcome {
  readonly events: readonly ModelEvent[];
  readonly error: RecordedError | undefined;
}

const eventStream = 'text/event-stream';

async function outcomeOf(model: Model, asked: string): Promise<Outcome> {
  const events: ModelEvent[] = [];
  const request = requestOf([userItem('r/i1', `Give the recording <${asked}>.`)]);
  try {
    for await (const event of model.stream(request, { signal: new AbortController().signal })) events.push(event);
  } catch (error) {
    if (!GuardloopError.is(error)) throw new Error(`The model threw ${String(error)}, expected a GuardloopError.`, { cause: error });
    return { events, error: { code: error.code, isRetryable: error.isRetryable } };
  }
  return { events, error: undefined };
}

/** A response whose reader gets these chunks, one at a time, as it asks for them. */
function responseOf({ contentType = eventStream }: RecordedStream, chunks: readonly Uint8Array[]): Response {
  let next = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = chunks[next];
        next += 1;
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { 'content-type': contentType } });
}

/** Empty pieces too, where `size` gives 0. */
function inPieces(bytes: Uint8Array, size: () => number): readonly Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const piece = bytes.subarray(start, start + size());
    pieces.push(piece);
    start += piece.length;
  }
  return pieces;
}

/** Places within the bytes: some of those that are delicate (within characters, around line ends), and some at random. */
function samplePlaces(bytes: Uint8Array, count: number): readonly number[] {
  const random = randomFrom(bytes.length + count);
  const isDelicate = (at: number): boolean => (bytes[at] ?? 0) >= 0x80 || bytes[at] === 0x0a || bytes[at - 1] === 0x0a;
  const all = Array.from(bytes.keys());
  const delicate = all.filter(isDelicate);
  const pick = (places: readonly number[]): number => places[Math.floor(random() * places.length)] ?? 0;
  const picked = Array.from({ length: count }, (_, index) => pick(index % 2 === 0 && delicate.length > 0 ? delicate : all));
  return [...new Set(picked)].toSorted((one, other) => one - other);
}

function isOfTheEnd({ type }: ModelEvent): boolean {
  return type === 'tool.call' || type === 'end';
}

/** What was used is often told last, behind what makes an answer whole. */
function withoutCounts(event: ModelEvent): ModelEvent {
  return event.type === 'end' ? { ...event, usage: { requests: event.usage.requests } } : event;
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
