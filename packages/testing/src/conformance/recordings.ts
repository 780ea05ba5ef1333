import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ErrorCode, ModelEvent } from '@guardloop/core/model';

/** One answer as a provider sent it, and what an adapter must make of it. */
export interface RecordedStream {
  readonly name: string;
  /** The body of the response. */
  readonly bytes: Uint8Array;
  /** `text/event-stream` where left out. */
  readonly contentType?: string | undefined;
  /** All events that come of it, in order. */
  readonly events: readonly ModelEvent[];
  /** What is thrown after them. Left out for an answer that has an end. */
  readonly error?: RecordedError | undefined;
}

export interface RecordedError {
  readonly code: ErrorCode;
  readonly isRetryable: boolean;
}

/**
 * Reads the recorded streams of a folder, by name: of each the bytes from `NAME.sse`, and from `NAME.json` what must come of them, as
 * `{ "about": "…", "events": […], "error": { "code": "…", "isRetryable": … } }`.
 */
export function readRecordings(folder: URL): readonly RecordedStream[] {
  const path = fileURLToPath(folder);
  return readdirSync(path)
    .filter((file) => file.endsWith('.sse'))
    .toSorted()
    .map((file) => {
      const name = file.slice(0, -'.sse'.length);
      const expected = JSON.parse(readFileSync(`${path}/${name}.json`, 'utf8')) as Pick<RecordedStream, 'events' | 'error'>;
      return { name, bytes: new Uint8Array(readFileSync(`${path}/${file}`)), events: expected.events, error: expected.error };
    });
}
