// A ledger outside of the run: what tools really did. One file, appended to with O_APPEND and synced; keyed by idempotency key.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';

/** One try to make an effect. Of all with one key the first was applied; the others were refused, and given what the first gave. */
export interface Attempt {
  readonly key: string;
  readonly tool: string;
  readonly input: string;
  /** What the effect gave: another value for each effect. */
  readonly value: string;
  readonly pid: number;
}

/** All attempts so far, oldest first. */
export function readLedger(file: string): readonly Attempt[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Attempt);
}

/** What was applied under this key; undefined: nothing. */
export function appliedUnder(file: string, key: string): Attempt | undefined {
  return readLedger(file).find((attempt) => attempt.key === key);
}

/** Tries to make an effect, and gives what the one that counts gave. It is on the disk when this returns. */
export function applyOnce(file: string, attempt: Omit<Attempt, 'pid'>): Attempt {
  const descriptor = openSync(file, 'a');
  try {
    writeSync(descriptor, `${JSON.stringify({ ...attempt, pid: process.pid })}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  return appliedUnder(file, attempt.key) ?? { ...attempt, pid: process.pid };
}
