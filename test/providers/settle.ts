import type { Agent, Answer, RunEvent, RunInput, RunOptions, RunResult } from '@guardloop/core';
import { run, stream } from '@guardloop/core';
import { auditLog } from '@guardloop/testing';
import { expect } from 'vitest';
import { findBrokenPairs } from '../promises/pairs.js';

export type Mode = 'run' | 'stream';
export const modes: readonly Mode[] = ['run', 'stream'];

export interface Settled<A extends Answer> {
  readonly result: RunResult<A>;
  /** What a reader of the stream saw; empty for `run`. */
  readonly events: readonly RunEvent[];
}

/** Runs through one of the doors to the end, and holds the log to the audit and the transcript to its pairs. */
export async function settle<A extends Answer>(
  mode: Mode,
  agent: Agent<unknown, A>,
  { input, ...options }: RunOptions & { readonly input: RunInput },
): Promise<Settled<A>> {
  if (mode === 'run') return { result: passed(await run(agent, input, options)), events: [] };
  const events: RunEvent[] = [];
  const watched = stream(agent, input, options);
  for await (const event of watched) events.push(event);
  return { result: passed(await watched.result), events };
}

/** The result, if its log passes the audit and every call in its transcript has its one result. */
export function passed<A extends Answer>(result: RunResult<A>): RunResult<A> {
  expect(auditLog(result.log)).toEqual([]);
  if (result.status !== 'interrupted') expect(findBrokenPairs(result.messages)).toEqual([]);
  return result;
}

export function textOf(events: readonly RunEvent[]): string {
  return events.map((event) => (event.type === 'text.delta' ? event.text : '')).join('');
}
