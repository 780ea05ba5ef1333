import { readFileSync } from 'node:fs';

/** A clock that is as far from the true time as the file says, in milliseconds, and so much more. */
export function machineClock(file: string | undefined, aheadMs = 0): (() => number) | undefined {
  if (file === undefined && aheadMs === 0) return undefined;
  return () => Date.now() + aheadMs + (file === undefined ? 0 : Number(readFileSync(file, 'utf8')));
}
