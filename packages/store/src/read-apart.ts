import { GuardloopError } from '@guardloop/core';
import type { Codec, ReadPayloads, Row } from './codec.js';

/** The values of one record's rows, in their order, or why one of them cannot be read. */
export type ReadContents = { readonly values: readonly unknown[] } | { readonly error: GuardloopError };

/**
 * Reads the rows of records, in their order: together where all can be read, else each record by itself, so that one that is damaged, or
 * whose key is not here, hides no other. Rejects where the database does not answer.
 */
export async function readApart(
  codec: Codec,
  records: readonly (readonly Row[])[],
  readPayloads: ReadPayloads,
): Promise<readonly ReadContents[]> {
  try {
    const values = await codec.decode(records.flat(), readPayloads);
    let from = 0;
    return records.map(({ length }) => {
      from += length;
      return { values: values.slice(from - length, from) };
    });
  } catch (thrown) {
    if (!GuardloopError.is(thrown) || thrown.code !== 'STORE_FAILED' || thrown.isRetryable) throw thrown;
    if (records.length === 1) return [{ error: thrown }];
    return (await Promise.all(records.map((each) => readApart(codec, [each], readPayloads)))).flat();
  }
}
