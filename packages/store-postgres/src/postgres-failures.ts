import { GuardloopError } from '@guardloop/core';

function codeOf(thrown: unknown): string {
  const code = typeof thrown === 'object' && thrown !== null ? (thrown as { readonly code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : '';
}

// pg tells these by their message alone.
const lost =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Client was closed|Postgres connection has been discarded)/;

/**
 * A pooler stands between that gives each transaction another connection, or refuses what a connection asks for at its start (which it tells
 * as a fault of the protocol): no such prepared statement, or one that is there already.
 */
function isOfPooler(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return (
    /^(26000|42P05)$/.test(code) || (code === '08P01' && thrown instanceof Error && /^unsupported startup parameter/.test(thrown.message))
  );
}

/**
 * The server could not be reached, or the connection was lost: SQLSTATE classes 08 and 57P, too many connections, a transaction that stood
 * still for too long, and those of the socket.
 */
export function isAway(thrown: unknown): boolean {
  const code = codeOf(thrown);
  if (isOfPooler(thrown)) return false;
  if (/^(08|57P|53300$|25P03$)/.test(code)) return true;
  if (/^(ECONN|EPIPE|EHOST|ENET|ETIMEDOUT|EAI_AGAIN|ENOENT$)/.test(code)) return true;
  if (thrown instanceof AggregateError) return thrown.errors.every(isAway);
  return code === '' && thrown instanceof Error && lost.test(thrown.message);
}

/** No connection was made: nothing was sent. */
export function isUnreached(thrown: unknown): boolean {
  if (thrown instanceof AggregateError) return thrown.errors.every(isUnreached);
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT', 'EHOSTUNREACH', '57P03', '53300'].includes(codeOf(thrown));
}

/** The server has undone the whole transaction, and another try may succeed: deadlock, serialization, a payload that went meanwhile. */
export function isUndone(thrown: unknown): boolean {
  return ['40P01', '40001', '23503'].includes(codeOf(thrown));
}

/** `STORE_FAILED` that tells people what to do; holds nothing of what was to be stored. */
export function postgresFailure(
  thrown: unknown,
  { isOpen, patienceMs }: { readonly isOpen: boolean; readonly patienceMs: number },
): GuardloopError {
  const code = codeOf(thrown);
  const fail = (what: string, isRetryable: boolean): GuardloopError =>
    new GuardloopError('STORE_FAILED', `PostgreSQL ${what}`, { cause: thrown, isRetryable });
  if (isOpen)
    return fail(
      'went away while it committed: what was to be stored may be there or not. Load the log and go on from what it holds.',
      true,
    );
  if (isAway(thrown))
    return fail(`could not be reached for ${patienceMs} ms. Nothing was stored. Look at the server and at the connection string.`, true);
  if (isOfPooler(thrown))
    return fail(
      'is behind a pooler that gives each transaction another connection. Nothing was stored. Give postgresStore `prepared: false`, or the address of the server itself.',
      false,
    );
  if (/^(53100|53200)$/.test(code))
    return fail('has no room: its disk or its memory is full. Nothing was stored. Make room, then go on.', true);
  if (code === '25006') return fail('is read-only: a standby, or set so. Nothing was stored. Connect to the primary.', true);
  if (/^(28|3D000)/.test(code)) return fail('refused the connection. Look at user, password and database in the connection string.', false);
  if (code === '42501')
    return fail("refused a statement: this user may not do it. Grant it rights on the store's schema, or create on the database.", false);
  if (code === '57014' || code === '55P03')
    return fail('cancelled a statement, since it took longer than the server allows. Nothing was stored.', true);
  if (isUndone(thrown)) return fail('undid the transaction again and again, since others changed the same rows. Nothing was stored.', true);
  return fail('refused a statement. Look at the cause.', false);
}
