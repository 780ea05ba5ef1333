import { GuardloopError } from '../errors.js';
import type { AssistantMessage, ToolMessage } from '../model/types.js';

interface OpenCall {
  readonly id: string;
  readonly tool: string;
  isAnswered: boolean;
}

/**
 * Holds an encoder to the pairing rule of every dialect: each call has one result, directly after its assistant message, and no result
 * stands elsewhere. Calls and results are matched within their turn alone, never by an id over the whole history. What breaks the rule is
 * `INTERNAL`, names the item, and is to be thrown before any request: core mends what a view or a filter parts, and a result that an
 * adapter made up could deny an effect that took place.
 */
export class OpenCalls {
  #item = '';
  #calls: OpenCall[] = [];

  /** True where a call of the last assistant message waits for its result. */
  get areWaiting(): boolean {
    return this.#calls.some((call) => !call.isAnswered);
  }

  /** An assistant message begins a turn: its calls wait for their results. Throws where calls of the turn before still wait. */
  open(message: AssistantMessage): void {
    this.close();
    this.#item = message.id;
    this.#calls = message.calls.map(({ id, name }) => ({ id, tool: name, isAnswered: false }));
  }

  /** The place, in call order, of the call that the result answers. Throws where none waits for it. */
  answer(message: ToolMessage): number {
    const index = this.#calls.findIndex((call) => call.id === message.callId && !call.isAnswered);
    const call = this.#calls[index];
    if (call !== undefined) {
      call.isAnswered = true;
      return index;
    }
    const isSecond = this.#calls.some(({ id }) => id === message.callId);
    const what = isSecond
      ? `is a second result of call ${message.callId}`
      : `answers call ${message.callId}, which the assistant message directly before these results does not hold`;
    throw new GuardloopError('INTERNAL', `Tool message ${message.id} (tool ${message.tool}) ${what}. ${rule}`);
  }

  /** The turn ends: anything but a result follows, or the history is over. Throws where a call has no result. */
  close(): void {
    const call = this.#calls.find(({ isAnswered }) => !isAnswered);
    if (call === undefined) {
      this.#calls = [];
      return;
    }
    throw new GuardloopError(
      'INTERNAL',
      `Call ${call.id} (tool ${call.tool}) of assistant message ${this.#item} has no result directly after that message. ${rule}`,
    );
  }
}

const rule = 'Each call must have one result, directly after its assistant message: keep the two together, or leave both out.';
