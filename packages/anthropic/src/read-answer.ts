import type { ModelEvent } from '@guardloop/core/model';
import type { AnswerAssembly } from './assemble-answer.js';
import { BrokenStream } from './assemble-answer.js';
import type { ServerEvent } from './server-events.js';
import { ServerEventDecoder } from './server-events.js';

/** Events that matter. Others, and pings, are passed over without a look at their data, as the API asks of its clients. */
const known = new Set([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'error',
]);

/** How long the rest of a finished response may take before its connection is given up. */
const drainMs = 1_000;

/**
 * Feeds a response into an assembly and passes on what comes out, chunk by chunk, up to the end of the message. Ends quietly when the body
 * ends too early, or when the signal is aborted: `answer.isFinished` and the signal tell which.
 */
export async function* readAnswer(
  body: ReadableStream<Uint8Array>,
  answer: AnswerAssembly,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[]> {
  const reader = body.getReader();
  const cancel = (): void => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const decoder = new ServerEventDecoder();
    for (let isDone = signal.aborted; !isDone && !answer.isFinished; ) {
      const { value, done } = await reader.read();
      isDone = done;
      if (signal.aborted) break;
      const batch = takeAll(done ? decoder.end().filter(isWhole) : decoder.push(value), answer);
      if (batch.events.length > 0) yield batch.events;
      if (batch.failure !== undefined) throw batch.failure;
    }
  } finally {
    signal.removeEventListener('abort', cancel);
    if (answer.isFinished) void drain(reader);
    else cancel();
  }
}

/** What came before a failure in the same chunk counts, as it would have if it had come in a chunk of its own. */
function takeAll(
  events: readonly ServerEvent[],
  answer: AnswerAssembly,
): { readonly events: readonly ModelEvent[]; readonly failure?: unknown } {
  const taken: ModelEvent[] = [];
  try {
    for (const event of events) {
      taken.push(...take(event, answer));
      if (answer.isFinished) break;
    }
  } catch (failure) {
    return { events: taken, failure };
  }
  return { events: taken };
}

/** A stream that ends in the middle of an event just ended too early. */
function isWhole({ data }: ServerEvent): boolean {
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}

function take({ name, data }: ServerEvent, answer: AnswerAssembly): readonly ModelEvent[] {
  if (name !== undefined && name !== '' && !known.has(name)) return [];
  if (data === '[DONE]') return [];
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch {
    throw new BrokenStream('Anthropic sent an event that is not JSON');
  }
  return answer.take(event);
}

/** Reads what follows the end of the message, nothing as a rule, so that the connection can be used again. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), drainMs);
  try {
    while (!(await reader.read()).done);
  } catch {
    // A connection that breaks after the end of the message has nothing left to say.
  } finally {
    clearTimeout(timer);
  }
}
