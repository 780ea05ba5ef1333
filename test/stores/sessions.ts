import type { LogEvent } from '@guardloop/core';
import { defineAgent, defineTool } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { expect } from 'vitest';
import { z } from 'zod';

/** One accepted input, as an event. */
export function inputEvent(seq: number, text = 'x'): LogEvent {
  const label = { origin: 'user', integrity: 'trusted' } as const;
  const items = [{ role: 'user', id: `r/i${seq}`, via: 'user', parts: [{ type: 'text', text }], label }] as const;
  return { type: 'input.accept', seq, at: 1, run: 'r', agent: 'a', subject: 'r/input', revision: 0, items };
}

/** An agent that answers at once. */
export const speaker = () => defineAgent({ name: 'a', instructions: '', model: scriptedModel(() => say('ok')) });

/** An agent that calls a tool and then answers. */
export function caller(text: string) {
  const f = defineTool({ name: 'f', description: 'F.', input: z.object({}), execute: () => `f of ${text}` });
  const model = scriptedModel((request) => (request.messages.at(-1)?.role === 'tool' ? say(`${text} done`) : callTool('f')));
  return defineAgent({ name: 'a', instructions: '', model, tools: [f] });
}

/** What it rejects with; undefined where it does not. */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** Waits until it holds: half a minute, since machines of CI are slow. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!(await holds())) {
    if (Date.now() > deadline) expect.fail(`this did not come to hold: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Expects of a log that so many runs of {@link caller} ended in it, each in one piece and with both halves of every pair. */
export function expectWholeRuns(events: readonly LogEvent[], runs: number): void {
  expect(auditLog({ version: 1, events })).toEqual([]);
  const ids = events.map((event) => event.run);
  const blocks = ids.filter((id, index) => id !== ids[index - 1]);
  expect(new Set(blocks).size).toBe(blocks.length);
  for (const type of ['run.end', 'tool.start', 'tool.end'] as const)
    expect(events.filter((event) => event.type === type)).toHaveLength(runs);
}

/** Expects of runs on one session that started together: at least one entered, the others were told. Gives how many entered. */
export function expectRefusals(outcomes: readonly { readonly status: string; readonly code?: string | undefined }[]): number {
  const entered = outcomes.filter(({ status }) => status === 'completed').length;
  expect(entered).toBeGreaterThanOrEqual(1);
  for (const { status, code } of outcomes)
    if (status !== 'completed') expect([status, ['LOG_CONFLICT', 'RESUME_MISMATCH'].includes(String(code))]).toEqual(['rejected', true]);
  return entered;
}
