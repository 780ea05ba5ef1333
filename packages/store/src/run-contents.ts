import { GuardloopError } from '@guardloop/core';
import type { Codec, ReadPayloads, Row } from './codec.js';
import type { RunRecord } from './contract.js';

/** The contents of one run as they are stored. */
export interface RunContentRows {
  readonly submission: Row;
  readonly cancel?: Row | undefined;
}
/** What of a record they become. */
export type RunContents = Pick<RunRecord, 'submission' | 'cancel' | 'trouble'>;

/**
 * Reads the contents of runs, in their order. One that cannot be read, since it is damaged or its key is not here, hides no other: it has trouble in
 * place of its submission. Rejects where the database does not answer.
 */
export async function readRunContents(
  codec: Codec,
  runs: readonly RunContentRows[],
  readPayloads: ReadPayloads,
): Promise<readonly RunContents[]> {
  try {
    const values = (
      await codec.decode(
        runs.flatMap(({ submission, cancel }) => (cancel === undefined ? [submission] : [submission, cancel])),
        readPayloads,
      )
    )[Symbol.iterator]();
    return runs.map(({ cancel }) => ({
      submission: values.next().value as RunRecord['submission'],
      ...(cancel === undefined ? {} : { cancel: values.next().value as RunRecord['cancel'] }),
    }));
  } catch (thrown) {
    if (!GuardloopError.is(thrown) || thrown.code !== 'STORE_FAILED' || thrown.isRetryable) throw thrown;
    const [run, ...others] = runs;
    if (run === undefined) throw thrown;
    if (others.length > 0) return (await Promise.all(runs.map((each) => readRunContents(codec, [each], readPayloads)))).flat();
    const { code, message } = thrown;
    // That somebody wants its end is known without their words.
    return [{ submission: undefined, trouble: { code, message }, ...(run.cancel === undefined ? {} : { cancel: { reason: '' } }) }];
  }
}
