import type { Codec, ReadPayloads, Row } from './codec.js';
import type { RunRecord } from './contract.js';
import { readApart } from './read-apart.js';

/** The contents of one run as they are stored. */
export interface RunContentRows {
  readonly submission: Row;
  readonly cancel?: Row | undefined;
}
/** What of a record they become. */
export type RunContents = Pick<RunRecord, 'submission' | 'cancel' | 'trouble'>;

/**
 * Reads the contents of runs, in their order. One that cannot be read, since it is damaged or its key is not here, hides no other: it has
 * trouble in place of its submission. Rejects where the database does not answer.
 */
export async function readRunContents(
  codec: Codec,
  runs: readonly RunContentRows[],
  readPayloads: ReadPayloads,
): Promise<readonly RunContents[]> {
  const rows = runs.map(({ submission, cancel }) => (cancel === undefined ? [submission] : [submission, cancel]));
  const read = await readApart(codec, rows, readPayloads);
  return read.map((contents, index): RunContents => {
    const hasCancel = runs[index]?.cancel !== undefined;
    if ('values' in contents) {
      const [submission, cancel] = contents.values as readonly [RunRecord['submission'], RunRecord['cancel']];
      return { submission, ...(hasCancel ? { cancel } : {}) };
    }
    const { code, message } = contents.error;
    // That somebody wants its end is known without their words.
    return { submission: undefined, trouble: { code, message }, ...(hasCancel ? { cancel: { reason: '' } } : {}) };
  });
}
