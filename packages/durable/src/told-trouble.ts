// What is told of runs that do not get on: names and what to do, never content.
import type { RunRecord } from '@guardloop/store';
import type { Outcome } from './outcome.js';

export const givenUp = (entries: number) => ({
  code: 'INTERNAL',
  message: `The run was taken up ${entries} times and never got on: a worker died each time, or the run broke. It was given up; look at what its agent does there, and submit it anew.`,
});

/** A trouble that was there before has been told; one that the store tells of the record itself, at the first try. */
export function beginsTrouble(before: RunRecord, { trouble }: RunRecord): boolean {
  if (trouble === undefined) return false;
  const known = before.submission === undefined && before.attempts <= 1 ? undefined : before.trouble;
  return trouble.code !== known?.code || trouble.message !== known.message;
}

export const heldUp = (session: string): Outcome => ({
  kind: 'trouble',
  code: 'LOG_CONFLICT',
  message: `The session ${session} has a run that was begun outside of workers, and has not ended: it is under way, waits for people or was cut. This one is tried again; resume that run or end it, submit with unfinished: 'abandon', or cancel this one.`,
});

export const notServed = (queue: string): NonNullable<RunRecord['trouble']> => ({
  code: 'CONFIG_INVALID',
  message: `No worker that looks serves the queue ${queue}. Start one that does, or cancel the run.`,
});

export const notRegistered = (agent: string): Outcome & { readonly kind: 'trouble' } => ({
  kind: 'trouble',
  code: 'CONFIG_INVALID',
  message: `No worker that looks has an agent registered under the name ${agent}. Start one that has it, or cancel the run.`,
});
