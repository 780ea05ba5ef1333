import type { Message } from '@guardloop/core';

/** What is wrong with the calls and results of a transcript; empty when every call has its one result, in call order, right after it. */
export function findBrokenPairs(messages: readonly Message[]): readonly string[] {
  const faults: string[] = [];
  let due: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      const wanted = due.shift();
      if (wanted !== message.callId) faults.push(`the result ${message.id} stands where ${wanted ?? 'no result'} is due`);
      continue;
    }
    if (due.length > 0) faults.push(`${due.join(', ')} have no result before ${message.id}`);
    due = message.role === 'assistant' ? message.calls.map(({ id }) => id) : [];
  }
  if (due.length > 0) faults.push(`${due.join(', ')} have no result`);
  return faults;
}
