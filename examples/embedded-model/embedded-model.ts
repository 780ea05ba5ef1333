// A model that lives in the process: no network, no key, no weights, and no script of answers.
//
// It does by plain rules what a language model does by training: it reads the transcript and the tools' schemas, picks the tools that fit
// the words of the request, finds their arguments in the text, and says what they gave. Like a language model it is gullible: an order that
// stands in a tool's result is obeyed as if the user had given it. That is what guardrails are for.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Model, ModelEvent, ModelRequest } from '@guardloop/core';
import { decide } from './decide.js';

export interface EmbeddedModelOptions {
  /** Wait this long before each word, as if someone typed. Default: not at all. */
  readonly wordMs?: number | undefined;
}

export function embeddedModel(options: EmbeddedModelOptions = {}): Model {
  return {
    id: 'embedded',
    provider: 'embedded',
    stream: (request, { signal }) => speak(request, options, signal),
  };
}

async function* speak(request: ModelRequest, { wordMs = 0 }: EmbeddedModelOptions, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  signal.throwIfAborted();
  const move = decide(request);
  if ('text' in move) {
    for (const text of move.text.match(/\S+\s*/g) ?? []) {
      if (wordMs > 0) await sleep(wordMs, undefined, { signal });
      signal.throwIfAborted();
      yield { type: 'text.delta', text };
    }
  } else for (const call of move.calls) yield { type: 'tool.call', call };
  const inputTokens = countTokens(JSON.stringify([request.system, request.messages, request.tools]));
  yield {
    type: 'end',
    stopReason: 'text' in move ? 'stop' : 'tools',
    usage: { requests: 1, inputTokens, outputTokens: countTokens(JSON.stringify(move)) },
  };
}

/** About four characters a token. */
const countTokens = (text: string): number => Math.ceil(text.length / 4);
