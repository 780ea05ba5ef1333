import type { Model, ModelEvent, ModelRequest } from '@guardloop/core/model';
import type { Move } from './decide.js';
import { decide } from './decide.js';
import type { Seen } from './read-request.js';
import { readRequest } from './read-request.js';

/**
 * A model without a network, for questions like "What is the A of the B of X?": it chooses among the tools that it is offered by their words and
 * arguments, and decides from what it has read, in calls or in lines of text, as it is told. It has a habit of real ones: a call that failed it
 * repeats at once, without a word. Tokens are counted as a quarter of the characters.
 */
export function hopModel(): Model {
  return {
    id: 'hops',
    provider: 'embedded',
    async *stream(request): AsyncGenerator<ModelEvent> {
      const seen = readRequest(request);
      const said = write(seen, decide(seen));
      if (said.text !== '') yield { type: 'text.delta', text: said.text };
      if (said.call) yield { type: 'tool.call', call: said.call };
      const usage = { requests: 1, inputTokens: tokensIn(request), outputTokens: Math.ceil(JSON.stringify(said).length / 4) };
      yield { type: 'end', stopReason: said.call ? 'tools' : 'stop', usage };
    },
  };
}

interface Said {
  readonly text: string;
  readonly call?: { readonly name: string; readonly input: Extract<Move, { kind: 'call' }>['input'] } | undefined;
}

function write({ form, calls }: Seen, move: Move): Said {
  const last = calls.at(-1);
  const jumps = move.kind === 'call' && last?.error?.retryable === true && !/thought/i.test(last.error.summary);
  const thought = jumps ? '' : move.thought;
  if (form.kind === 'lines') {
    const action =
      move.kind === 'answer' ? `Action: ${form.stop}[${move.text}]` : `Action: ${move.name}\nAction Input: ${JSON.stringify(move.input)}`;
    return { text: thought === '' ? action : `Thought: ${thought}\n${action}` };
  }
  if (move.kind === 'call') return { text: form.kind === 'calls' ? thought : '', call: { name: move.name, input: move.input } };
  return form.kind === 'plain' ? { text: move.text } : { text: thought, call: { name: form.stop, input: { answer: move.text } } };
}

const tokensIn = ({ system, messages, tools, note = '' }: ModelRequest): number =>
  Math.ceil(
    (system.length + note.length + JSON.stringify(tools).length + messages.reduce((sum, message) => sum + charsIn(message), 0)) / 4,
  );

function charsIn(message: ModelRequest['messages'][number]): number {
  if (message.role === 'assistant') return message.text.length + JSON.stringify(message.calls).length;
  const content = message.role === 'user' ? message.parts : message.content;
  return typeof content === 'string'
    ? content.length
    : content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0);
}
