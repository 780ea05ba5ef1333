import type { Dialect } from './wire-request.js';

/** A call as a provider may say it: with any id, any name, and any text for arguments. */
export interface SpokenCall {
  readonly id?: string;
  readonly name?: string;
  readonly input: string;
}

/** How an answer ends, where it is not just whole. */
export interface Ending {
  readonly reason?: 'length' | 'refusal';
  /** 12 tokens in, 5 out. */
  readonly usage?: boolean;
}

/** The pieces that a stream of a dialect is made of. */
export interface StreamWords {
  readonly begin: string;
  /** Opens the text, where the dialect does so. */
  readonly openText: string;
  text(piece: string): string;
  /** Opens the call number `index`, behind a text. */
  openCall(index: number, call?: SpokenCall): string;
  argument(index: number, piece: string): string;
  /** Closes the call; the dialect may say its arguments again. */
  closeCall(index: number, call: SpokenCall): string;
  /** Ends an answer that holds this text, if it is not empty, and these calls. */
  end(text: string, calls: readonly SpokenCall[], ending?: Ending): string;
}

const named = (event: { readonly type: string; readonly [key: string]: unknown }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const chunk = (delta: object, reason: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
const outputText = (text: string): object => ({
  id: 'msg_0',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', annotations: [], text }],
});
const functionCall = (index: number, { id = `call_${index}`, name = 'find', input }: SpokenCall): object => ({
  id: `fc_${index}`,
  type: 'function_call',
  status: 'completed',
  call_id: id,
  name,
  arguments: input,
});

const unnamed: SpokenCall = { input: '' };

export const streamWords: { readonly [K in Dialect]: StreamWords } = {
  chat: {
    begin: chunk({ role: 'assistant', content: '' }),
    openText: '',
    text: (content) => chunk({ content }),
    openCall: (index, { id = `call_${index}`, name = 'find' } = unnamed) =>
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
    argument: (index, piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
    closeCall: () => '',
    end(_, calls, { reason, usage = false } = {}) {
      const reasons = { length: 'length', refusal: 'content_filter' };
      const counts = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 } })}\n\n`;
      const last = reason === undefined ? (calls.length > 0 ? 'tool_calls' : 'stop') : reasons[reason];
      return `${chunk({}, last)}${usage ? counts : ''}data: [DONE]\n\n`;
    },
  },
  responses: {
    begin: named({ type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } }),
    openText: named({ type: 'response.output_item.added', output_index: 0, item: outputText('') }),
    text: (delta) => named({ type: 'response.output_text.delta', item_id: 'msg_0', output_index: 0, content_index: 0, delta }),
    openCall: (index, call = unnamed) =>
      named({ type: 'response.output_item.added', output_index: index + 1, item: functionCall(index, { ...call, input: '' }) }),
    argument: (index, delta) =>
      named({ type: 'response.function_call_arguments.delta', item_id: `fc_${index}`, output_index: index + 1, delta }),
    closeCall: (index, call) => named({ type: 'response.output_item.done', output_index: index + 1, item: functionCall(index, call) }),
    end(text, calls, { reason, usage = false } = {}) {
      const reasons = { length: 'max_output_tokens', refusal: 'content_filter' };
      const texts = text === '' ? [] : [outputText(text)];
      const status = reason === undefined ? 'completed' : 'incomplete';
      const response = {
        id: 'resp_1',
        status,
        output: [...texts, ...calls.map((call, index) => functionCall(index, call))],
        incomplete_details: reason === undefined ? null : { reason: reasons[reason] },
        usage: usage ? { input_tokens: 12, output_tokens: 5, total_tokens: 17 } : null,
      };
      const done = texts.map((item) => named({ type: 'response.output_item.done', output_index: 0, item }));
      return [...done, named({ type: `response.${status}`, response })].join('');
    },
  },
  messages: {
    begin: named({ type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', content: [] } }),
    openText: named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    text: (text) => named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    openCall: (index, { id = `call_${index}`, name = 'find' } = unnamed) =>
      named({ type: 'content_block_start', index: index + 1, content_block: { type: 'tool_use', id, name, input: {} } }),
    argument: (index, partial_json) =>
      named({ type: 'content_block_delta', index: index + 1, delta: { type: 'input_json_delta', partial_json } }),
    closeCall: (index) => named({ type: 'content_block_stop', index: index + 1 }),
    end(_, calls, { reason, usage = false } = {}) {
      const reasons = { length: 'max_tokens', refusal: 'refusal' };
      const counts = usage ? { usage: { input_tokens: 12, output_tokens: 5 } } : {};
      const stop_reason = reason === undefined ? (calls.length > 0 ? 'tool_use' : 'end_turn') : reasons[reason];
      return named({ type: 'message_delta', delta: { stop_reason }, ...counts }) + named({ type: 'message_stop' });
    },
  },
};

/** A whole answer: a text, and calls behind it. */
export function spokenAnswer(words: StreamWords, text: string, calls: readonly SpokenCall[] = []): string {
  const spoken = calls.map((call, index) => words.openCall(index, call) + words.argument(index, call.input) + words.closeCall(index, call));
  return [words.begin, words.openText, words.text(text), ...spoken, words.end(text, calls)].join('');
}
