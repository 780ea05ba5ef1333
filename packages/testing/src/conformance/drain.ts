import { getEventListeners } from 'node:events';
import type { Model, ModelAnswer, ModelEvent, ModelRequest, StreamOptions } from '@guardloop/core/model';
import { collect, GuardloopError } from '@guardloop/core/model';
import { expect } from 'vitest';
import type { ModelBench } from './model-bench.js';

/** The longest that a model may go on after an abort, on a machine that has much else to do. */
export const promptMs = 4_000;

/** For tests that make many requests. */
export const patient = { timeout: 60_000 } as const;

export interface Drained extends ModelAnswer {
  readonly events: readonly ModelEvent[];
}

/** A whole answer. Its events are held to the contract. */
export async function drain(model: Model, request: ModelRequest, options: Partial<StreamOptions> = {}): Promise<Drained> {
  const { signal = new AbortController().signal } = options;
  const events: ModelEvent[] = [];
  for await (const event of model.stream(request, { ...options, signal })) events.push(event);
  expectOrder(events);
  const answer = await collect(replay(events));
  expect(answer.end, 'a stream that does not throw has an end event').toBeDefined();
  return { ...answer, events };
}

export interface Failed {
  readonly error: GuardloopError;
  readonly events: readonly ModelEvent[];
}

/** A stream that fails, as it must: with a `GuardloopError`, without an end and without a call. */
export async function failure(model: Model, request: ModelRequest, options: Partial<StreamOptions> = {}): Promise<Failed> {
  const { signal = new AbortController().signal } = options;
  const events: ModelEvent[] = [];
  try {
    for await (const event of model.stream(request, { ...options, signal })) events.push(event);
  } catch (error) {
    if (!GuardloopError.is(error)) throw new Error(`The model threw ${String(error)}, expected a GuardloopError.`, { cause: error });
    expect(typesOf(events), 'a failed stream has no end event').not.toContain('end');
    expect(typesOf(events), 'a failed stream gives out no call').not.toContain('tool.call');
    return { error, events };
  }
  throw new Error(`The model did not throw, but gave ${typesOf(events).join(', ')}.`);
}

export function typesOf(events: readonly ModelEvent[]): readonly ModelEvent['type'][] {
  return events.map(({ type }) => type);
}

/** Retries and warnings, then deltas, then calls, then one end. */
function expectOrder(events: readonly ModelEvent[]): void {
  const ranks = { retry: 0, warning: 0, 'text.delta': 1, 'reasoning.delta': 1, 'tool.delta': 1, 'tool.call': 2, end: 3 };
  const order = events.map(({ type }) => ranks[type]);
  expect(order, `the order of ${typesOf(events).join(', ')}`).toEqual(order.toSorted((one, other) => one - other));
  expect(order.filter((rank) => rank === 3)).toHaveLength(1);
}

export function expectNoListeners(signal: AbortSignal, when: string): void {
  const left = `listeners left on the signal ${when} (fetch leaves one on any signal: give it a signal of the call's own, as HttpCall does)`;
  expect(getEventListeners(signal, 'abort'), left).toHaveLength(0);
}

export async function waitFor(isTrue: () => boolean): Promise<void> {
  for (let waited = 0; waited < promptMs && !isTrue(); waited += 5) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isTrue()).toBe(true);
}

/** The last request as text, for what must be somewhere, or nowhere, in it. */
export function lastBody(bench: ModelBench): string {
  return JSON.stringify(bench.requests.at(-1)?.body);
}

async function* replay(events: readonly ModelEvent[]): AsyncGenerator<ModelEvent> {
  yield* events;
}
