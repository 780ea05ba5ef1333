import type { ModelEvent } from '@guardloop/core/model';
import type { Context } from '@opentelemetry/api';
import { inContext } from './in-context.js';
import type { OpenChat } from './track.js';

type Measures = Pick<OpenChat, 'tookMs' | 'firstMs'>;
const chunks: ReadonlySet<ModelEvent['type']> = new Set(['text.delta', 'reasoning.delta', 'tool.delta', 'tool.call']);

/** A model's stream, read in a context: passes everything on as it is, and measures when it comes. */
export class MeasuredStream implements AsyncIterableIterator<ModelEvent> {
  private readonly startedAt = performance.now();
  private readonly events: AsyncIterator<ModelEvent>;

  /** Throws what `open` throws. */
  constructor(
    private readonly within: Context,
    open: () => AsyncIterable<ModelEvent>,
    private readonly measures: Measures,
  ) {
    this.events = inContext(within, () => open()[Symbol.asyncIterator]());
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<ModelEvent>> {
    try {
      const result = await inContext(this.within, () => this.events.next());
      if (result.done || result.value.type === 'end') this.stop();
      else if (this.measures.firstMs === undefined && chunks.has(result.value.type))
        this.measures.firstMs = performance.now() - this.startedAt;
      return result;
    } catch (thrown) {
      this.stop();
      throw thrown;
    }
  }

  async return(): Promise<IteratorResult<ModelEvent>> {
    this.stop();
    await inContext(this.within, () => this.events.return?.());
    return { done: true, value: undefined };
  }

  private stop(): void {
    this.measures.tookMs ??= performance.now() - this.startedAt;
  }
}
