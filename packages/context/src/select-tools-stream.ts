import type { Awaitable } from '@guardloop/core';
import type { Model, ModelEvent, ModelRequest, StreamOptions } from '@guardloop/core/model';
import { searchTools, withFound } from './search-tools.js';

/** How the tools of one model call are chosen. */
export interface Choice {
  /** The request as the model is to see it. */
  readonly choose: () => Awaitable<ModelRequest>;
  /** Of the words of a search; left out where the agent has none. */
  readonly rank: ((words: string) => Awaitable<readonly string[]>) | undefined;
}

/** One model call with the chosen tools. A search that passes is given what it found. */
export class SelectedCall implements AsyncIterableIterator<ModelEvent> {
  #stream: AsyncIterator<ModelEvent> | undefined;
  #isLeft = false;

  constructor(
    private readonly model: Model,
    private readonly choice: Choice,
    private readonly options: StreamOptions,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<ModelEvent, undefined>> {
    if (this.#isLeft) return { done: true, value: undefined };
    if (this.#stream === undefined) {
      const chosen = this.choice.choose();
      const request = 'then' in chosen ? await chosen : chosen;
      if (this.#isLeft) return { done: true, value: undefined };
      this.#stream = this.model.stream(request, this.options)[Symbol.asyncIterator]();
    }
    const result = await this.#stream.next();
    if (result.done) return { done: true, value: undefined };
    return this.choice.rank !== undefined && result.value.type === 'tool.call'
      ? { done: false, value: await this.#answered(result.value) }
      : result;
  }

  async return(): Promise<IteratorResult<ModelEvent, undefined>> {
    this.#isLeft = true;
    try {
      // Not waited for: one that does not listen holds up nobody.
      this.#stream?.return?.().then(undefined, () => undefined);
    } catch {
      // It is left either way.
    }
    return { done: true, value: undefined };
  }

  async #answered(event: Extract<ModelEvent, { type: 'tool.call' }>): Promise<ModelEvent> {
    const { call } = event;
    if (call.name !== searchTools.name || 'unparsable' in call) return event;
    const { input } = call;
    if (typeof input !== 'object' || input === null || Array.isArray(input)) return event;
    const query: unknown = 'query' in input ? input.query : undefined;
    const found = typeof query === 'string' ? ((await this.choice.rank?.(query)) ?? []) : [];
    return { ...event, call: { ...call, input: withFound(input as Parameters<typeof withFound>[0], found) } };
  }
}
