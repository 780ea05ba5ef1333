import type { Model, ModelEvent, ModelRequest, Usage } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import type { StreamOptions } from '@guardloop/core/model';

/** What a model does in one call: its events, then it fails, hangs until it is aborted, or is over. */
export type Take = readonly (ModelEvent | Error | 'hang')[];

export interface PlayedModel extends Model {
  readonly calls: readonly { readonly request: ModelRequest; readonly options: StreamOptions }[];
  /** Calls that were begun and are not over yet. */
  readonly open: number;
}

/** A model whose first call is the first take, and so on. */
export function plays(takes: readonly Take[], names: Partial<Pick<Model, 'id' | 'provider' | 'providerTools'>> = {}): PlayedModel {
  const calls: { request: ModelRequest; options: StreamOptions }[] = [];
  let open = 0;
  return {
    id: 'm1',
    provider: 'played',
    ...names,
    calls,
    get open() {
      return open;
    },
    async *stream(request, options) {
      const take = takes[calls.length] ?? [new Error('No take is left.')];
      calls.push({ request, options });
      open += 1;
      try {
        for (const step of take) {
          if (options.signal.aborted) throw aborted();
          if (step === 'hang') await hang(options.signal);
          else if (step instanceof Error) throw step;
          else yield step;
        }
      } finally {
        open -= 1;
      }
    },
  };
}

const aborted = (): GuardloopError => new GuardloopError('MODEL_FAILED', 'Aborted.', { details: { aborted: true } });

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(aborted()), { once: true }));
}

export const text = (words: string): ModelEvent => ({ type: 'text.delta', text: words });
export const thought = (words: string): ModelEvent => ({ type: 'reasoning.delta', text: words });
export const part = (words: string): ModelEvent => ({ type: 'tool.delta', index: 0, text: words });
export const call = (name = 'f'): ModelEvent => ({ type: 'tool.call', call: { name, input: {} } });
export const end = (usage: Usage = { requests: 1, inputTokens: 10, outputTokens: 5 }): ModelEvent => ({
  type: 'end',
  stopReason: 'stop',
  usage,
});

/** A failure of the provider; one that may pass, unless the details say otherwise. */
export function broken(details: Record<string, unknown> = {}, isRetryable = true): GuardloopError {
  return new GuardloopError('MODEL_FAILED', 'The provider broke.', { isRetryable, details });
}

export const request: ModelRequest = { agent: 'a', turn: 1, system: '', messages: [], tools: [], settings: {} };

/** What came of a call: its events, and the error it failed with. */
export interface Outcome {
  readonly events: readonly ModelEvent[];
  readonly failure: GuardloopError | undefined;
}

export async function ask(model: Model, options: Partial<StreamOptions> = {}): Promise<Outcome> {
  const events: ModelEvent[] = [];
  try {
    for await (const event of model.stream(request, { signal: new AbortController().signal, ...options })) events.push(event);
  } catch (thrown) {
    if (!GuardloopError.is(thrown)) throw thrown;
    return { events, failure: thrown };
  }
  return { events, failure: undefined };
}

export const types = ({ events }: Outcome): readonly string[] => events.map(({ type }) => type);
