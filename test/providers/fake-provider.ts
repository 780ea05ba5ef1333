import type { BenchStream, FakeProvider } from '@guardloop/testing/conformance';
import { checkRequest } from './model-server.js';
import type { Side } from './sides.js';
import type { StreamWords } from './stream-words.js';
import { streamWords } from './stream-words.js';
import { wireRequest } from './wire-request.js';

/** The provider of a side, for the suite of adapters. */
export function fakeProvider(side: Side): FakeProvider {
  return {
    model: (url, maxRetries) => side.model({ url, fetch }, { maxRetries }),
    stream: (said) => streamOf(streamWords[side.dialect], said),
    check: ({ body, headers }) => checkRequest(side.dialect, body, new Headers(headers)),
    toolNames: (body) => wireRequest(side.dialect, body).tools,
    countsAttempts: side.countsAttempts,
  };
}

function streamOf(words: StreamWords, said: BenchStream): string {
  if (said.type === 'refusal') return words.begin + words.end('', [], { reason: 'refusal', usage: true });
  const texts = said.type === 'answer' ? (said.text ?? []) : [said.text].filter((text) => text !== '');
  const begin = [words.begin, ...(texts.length > 0 ? [words.openText] : []), ...texts.map((text) => words.text(text))];
  if (said.type === 'beginning') return begin.join('');
  const calls = (said.calls ?? []).map((call) => ({ ...call, input: call.arguments }));
  const spoken = calls.map((call, index) => {
    const half = Math.ceil(call.input.length / 2);
    const pieces = [call.input.slice(0, half), call.input.slice(half)].map((piece) => words.argument(index, piece));
    return [words.openCall(index, call), ...pieces, words.closeCall(index, call)].join('');
  });
  const ending = said.type === 'length' ? ({ reason: 'length', usage: true } as const) : { usage: said.usage !== false };
  return [...begin, ...spoken, words.end(texts.join(''), calls, ending)].join('');
}
