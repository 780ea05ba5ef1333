import { GuardloopError } from '@guardloop/core';

/** SQLite's primary result codes that are told apart. */
const codes = { busy: 5, locked: 6, readOnly: 8, io: 10, corrupt: 11, full: 13, cannotOpen: 14, notADatabase: 26 } as const;

function codeOf(thrown: unknown): number | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  const { rawCode, message } = thrown as { readonly rawCode?: unknown; readonly message?: unknown };
  if (typeof rawCode === 'number') return rawCode & 0xff;
  // What failed at opening has its code in the message alone.
  const told = typeof message === 'string' ? /^ConnectionFailed\(.*: (\d+)"\)$/s.exec(message)?.[1] : undefined;
  return told === undefined ? undefined : Number(told) & 0xff;
}

/** Another connection holds the lock: nothing was done. */
export function isBusy(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return code === codes.busy || code === codes.locked;
}

/** `STORE_FAILED` that tells people what to do; holds nothing of what was to be stored. */
export function sqliteFailure(thrown: unknown, { file, busyMs }: { readonly file: string; readonly busyMs: number }): GuardloopError {
  const fail = (what: string, isRetryable: boolean): GuardloopError =>
    new GuardloopError('STORE_FAILED', `The SQLite file ${file} ${what}`, { cause: thrown, isRetryable });
  switch (codeOf(thrown)) {
    case codes.busy:
    case codes.locked:
      return fail(
        `was locked by another process for ${busyMs} ms. Nothing was stored. Look for what holds a transaction open, or give sqliteStore a larger busyMs.`,
        true,
      );
    case codes.readOnly:
      return fail(
        'cannot be written: it, its folder or its file system is read-only. Nothing was stored. Make all three writable for this user.',
        false,
      );
    case codes.full:
      return fail(
        'cannot grow: the disk, or maxBytes, is full. Nothing was stored. Make room, then go on from what the store holds.',
        true,
      );
    case codes.io:
      return fail('could not be read or written by the system. Look at the disk, then go on from what the store holds.', true);
    case codes.corrupt:
      return fail('is damaged. Put a backup in its place.', false);
    case codes.notADatabase:
      return fail('is no SQLite database. Give the path of one, or of a file that is not there yet.', false);
    case codes.cannotOpen:
      return fail('cannot be opened. Its folder must be there, and this user must be allowed to read and write in it.', false);
    default:
      return fail('refused a statement. Look at the cause.', false);
  }
}
