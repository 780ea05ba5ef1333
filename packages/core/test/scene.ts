// What tests of the engine's own parts need: a model by script, a clock by hand, a run that was entered and does nothing by itself.
import { defineAgent } from '../src/define/agent.js';
import { agentSpecOf } from '../src/define/definition.js';
import { defineTool } from '../src/define/tool.js';
import type { Agent, Tool } from '../src/define/types.js';
import type { JsonValue, Model, ModelEvent, ModelRequest, Usage } from '../src/model/types.js';
import { beginRun } from '../src/run/begin.js';
import type { RunHandle } from '../src/run/handle.js';
import type { OpenCall } from '../src/run/open-call.js';
import { readOptions } from '../src/run/options.js';
import { callModel } from '../src/run/stages/call-model.js';
import { guardInput } from '../src/run/stages/guard-input.js';
import { toolOf } from '../src/run/stages/run-tools.js';
import type { LogEvent } from '../src/state/events.js';
import { StillClock } from './enter-run.js';

/** What the model does in one turn: a text, or events. The end is added where it is not among them. */
export type Turn = string | readonly ModelEvent[];

export const usage: Usage = Object.freeze({ requests: 1, inputTokens: 10, outputTokens: 5 });

export const calls = (name: string, input: JsonValue = {}, providerId?: string): ModelEvent => ({
  type: 'tool.call',
  call: { name, input, ...(providerId === undefined ? {} : { providerId }) },
});

/** A model that answers turn by turn, and keeps its requests with their messages. */
export function scripted(...turns: readonly (Turn | ((request: ModelRequest) => Turn))[]): Model & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    id: 'm1',
    provider: 'maker',
    requests,
    async *stream(request) {
      requests.push({ ...request, messages: [...request.messages] });
      const step = turns[request.turn - 1];
      if (step === undefined) throw new Error(`The script has no turn ${request.turn}.`);
      const turn = typeof step === 'function' ? step(request) : step;
      const events: readonly ModelEvent[] = typeof turn === 'string' ? [{ type: 'text.delta', text: turn }] : turn;
      yield* events;
      const isCalling = events.some(({ type }) => type === 'tool.call');
      if (events.at(-1)?.type !== 'end') yield { type: 'end', stopReason: isCalling ? 'tools' : 'stop', usage };
    },
  };
}

/** As {@link StillClock}; waits for what comes of the time that passed. */
export class HandClock extends StillClock {
  override async pass(ms: number): Promise<void> {
    super.pass(ms);
    await settle();
  }
}

/** Until all that can go on without time has gone on. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A promise that a test settles when it wants. */
export function gate<T>(): { readonly promise: Promise<T>; resolve(value: T): void; reject(error: unknown): void } {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}

/** A tool that takes any object. */
export const tool = (name: string, execute: (...given: never[]) => unknown, more: object = {}): Tool =>
  defineTool({ name, description: `Does ${name}.`, input: { type: 'object' }, execute: execute as () => unknown, ...more });

/** An agent `desk` that says hello. */
export const agentOf = (more: object = {}): Agent<unknown> =>
  defineAgent({ name: 'desk', instructions: 'Help.', model: scripted('Hello.'), ...more }) as Agent<unknown>;

/** A run `r1` that was entered, with its input given and not accepted. */
export async function entered(agent: Agent, options: object = {}): Promise<RunHandle> {
  const spec = agentSpecOf(agent, 'The agent');
  return beginRun(spec, 'hello', { options: readOptions('run', { runId: 'r1', ...options }, spec) });
}

/** As {@link entered}, with the model's first answer recorded: its calls are prepared, and none has begun. */
export async function answered(agent: Agent, options: object = {}): Promise<RunHandle> {
  const handle = await entered(agent, options);
  await guardInput(handle);
  await callModel(handle);
  return handle;
}

/** A call of the latest answer, as its stages get it. */
export function openCall(handle: RunHandle, id = '1.0'): OpenCall {
  const call = handle.state.calls.get(id);
  const spec = call && toolOf(handle, call);
  if (call === undefined || spec === undefined) throw new Error(`There is no call ${id} of a tool.`);
  return { handle, call, tool: spec };
}

/** The latest event of the log. */
export const lastEvent = (handle: RunHandle): LogEvent | undefined => handle.root.events.at(-1);

/** The events of a type, as the log holds them. */
export const eventsOf = <T extends LogEvent['type']>(
  { events }: { readonly events: readonly LogEvent[] },
  type: T,
): readonly Extract<LogEvent, { readonly type: T }>[] =>
  events.filter((event): event is Extract<LogEvent, { readonly type: T }> => event.type === type);
