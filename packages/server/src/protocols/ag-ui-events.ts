// A run as events of the AG-UI protocol 1.0 (types of @ag-ui/core 1.0.0; order as the client's verifier wants it).
import type { JsonValue } from '@guardloop/core';
import type { DurableEvent } from '@guardloop/durable';
import type { RunOutcome, Show } from '../show.js';
import { outcomeView, showsContent, showsTool } from '../show.js';
import type { AskedApproval, Translator } from './turns.js';
import { callKey, callsToTell, isForFrontEnd, ShownTexts, seenId } from './turns.js';

/** Plain JSON with its `type`. */
export interface AgUiEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}
export interface AgUiRun {
  /** The protocol's names for the conversation and this leg of it, as the client chose them. */
  readonly threadId: string;
  readonly runId: string;
  /** Our run. */
  readonly root: string;
  readonly show: Show;
  /** What the client sent of the conversation, to give it back when text is taken back. It is theirs, and is used for nothing else. */
  readonly history?: readonly { readonly id: string }[] | undefined;
}

/**
 * Its events make a leg of the conversation; the run may go on in another. Each call of `on` gives the events that one event of the run
 * makes. `wait` ends a leg that waits for people.
 */
export class AgUiTranslator implements Translator<AgUiEvent> {
  readonly #run: AgUiRun;
  readonly #texts = new ShownTexts();
  readonly #told = new Set<string>();
  /** Messages of this leg, as the client now has them: for a snapshot. */
  #messages: { id: string; [field: string]: unknown }[] = [];
  #openText: string | undefined;
  #openStep: string | undefined;

  constructor(run: AgUiRun) {
    this.#run = run;
  }

  start(): readonly AgUiEvent[] {
    const { threadId, runId, root } = this.#run;
    return [{ type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0', metadata: { guardloop: { run: root } } }];
  }

  on(event: DurableEvent): readonly AgUiEvent[] {
    if (!isForFrontEnd(event, this.#run.root)) return [];
    switch (event.type) {
      case 'model.start':
        return [...this.#closeText(), ...this.#closeStep(), ...this.#beginStep(`turn ${event.turn}`)];
      case 'text.delta':
        return this.#say(event.turn, event.text);
      case 'text.retract':
        return this.#takeBack(event.turn, event.chars);
      case 'model.end': {
        const told = [...this.#closeText(), ...callsToTell(event).flatMap((call) => this.#tell(event.turn, call)), ...this.#closeStep()];
        this.#texts.close(event.turn);
        return told;
      }
      case 'tool.end':
        return this.#told.has(event.callId) ? this.#result(event.callId, event) : [];
      case 'run.end':
        return this.end(event);
      default:
        return [];
    }
  }

  /** The run waits: this leg is over, and what people are asked is its outcome. */
  wait(asked: readonly AskedApproval[]): readonly AgUiEvent[] {
    const { threadId, runId } = this.#run;
    // A client has to answer all of them before it may go on: it gets those that it can answer.
    const interrupts = asked.filter(({ mayDecide }) => mayDecide).map((one) => this.#interrupt(one));
    const outcome = interrupts.length === 0 ? { type: 'success' } : { type: 'interrupt', interrupts };
    return [...this.#closeText(), ...this.#closeStep(), { type: 'RUN_FINISHED', threadId, runId, result: { status: 'waiting' }, outcome }];
  }

  #interrupt({ approval, expiresAt }: AskedApproval): Readonly<Record<string, unknown>> {
    const { surface, reason, run } = approval;
    return {
      id: seenId(approval),
      reason: surface === 'toolInput' ? 'tool_call' : surface,
      message: reason,
      ...('callId' in approval && run === this.#run.root ? { toolCallId: callKey(run, approval.callId) } : {}),
      ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
      responseSchema: {
        type: 'object',
        properties: {
          approved: { type: 'boolean' },
          reason: { type: 'string' },
          ...(surface === 'toolInput' ? { editedArgs: { type: 'object' } } : {}),
        },
        required: ['approved'],
      },
      metadata: { guardloop: { approval } },
    };
  }

  #beginStep(stepName: string): readonly AgUiEvent[] {
    this.#openStep = stepName;
    return [{ type: 'STEP_STARTED', stepName }];
  }
  #closeStep(): readonly AgUiEvent[] {
    if (this.#openStep === undefined) return [];
    const stepName = this.#openStep;
    this.#openStep = undefined;
    return [{ type: 'STEP_FINISHED', stepName }];
  }
  #messageId(turn: number): string {
    const part = this.#texts.part(turn);
    return `${this.#run.root}/${turn}${part === 0 ? '' : `/${part}`}`;
  }
  #message(id: string): { id: string; [field: string]: unknown } {
    let message = this.#messages.find((one) => one.id === id);
    if (message === undefined) {
      message = { id, role: 'assistant' };
      this.#messages.push(message);
    }
    return message;
  }
  #say(turn: number, text: string): readonly AgUiEvent[] {
    const messageId = this.#messageId(turn);
    const events: AgUiEvent[] = [];
    if (this.#openText !== messageId) {
      events.push(...this.#closeText(), { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' });
      this.#openText = messageId;
    }
    this.#texts.add(turn, text);
    const message = this.#message(messageId);
    message.content = `${typeof message.content === 'string' ? message.content : ''}${text}`;
    return [...events, { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: text }];
  }
  #closeText(): readonly AgUiEvent[] {
    if (this.#openText === undefined) return [];
    const messageId = this.#openText;
    this.#openText = undefined;
    return [{ type: 'TEXT_MESSAGE_END', messageId }];
  }

  /** The protocol has no event that shortens a message: a snapshot without it, and what is left of it under a new id. */
  #takeBack(turn: number, chars: number): readonly AgUiEvent[] {
    const void_ = this.#messageId(turn);
    const left = this.#texts.take(turn, chars);
    const closed = this.#closeText();
    this.#messages = this.#messages.filter(({ id }) => id !== void_);
    const { history } = this.#run;
    const standing = new Set([void_, ...this.#messages.map(({ id }) => id)]);
    const theirs = history?.filter(({ id }) => !standing.has(id)) ?? [];
    const taken: AgUiEvent = { type: 'CUSTOM', name: 'guardloop.text.retract', value: { messageId: void_, chars } };
    const snapshot: readonly AgUiEvent[] =
      history === undefined ? [] : [{ type: 'MESSAGES_SNAPSHOT', messages: structuredClone([...theirs, ...this.#messages]) }];
    return [...closed, taken, ...snapshot, ...(left === '' ? [] : this.#restate(turn, left))];
  }
  #restate(turn: number, left: string): readonly AgUiEvent[] {
    const messageId = this.#messageId(turn);
    this.#openText = messageId;
    this.#message(messageId).content = left;
    return [
      { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: left },
    ];
  }

  #tell(turn: number, call: { readonly id: string; readonly name: string; readonly input: JsonValue }): readonly AgUiEvent[] {
    const { root, show } = this.#run;
    this.#told.add(call.id);
    const parentMessageId = this.#messageId(turn);
    const toolCallId = callKey(root, call.id);
    const text = JSON.stringify(showsTool(show, call.name) ? call.input : {});
    const parent = this.#message(parentMessageId);
    const calls = Array.isArray(parent.toolCalls) ? (parent.toolCalls as unknown[]) : [];
    parent.toolCalls = [...calls, { id: toolCallId, type: 'function', function: { name: call.name, arguments: text } }];
    return [
      { type: 'TOOL_CALL_START', toolCallId, toolCallName: call.name, parentMessageId },
      { type: 'TOOL_CALL_ARGS', toolCallId, delta: text },
      { type: 'TOOL_CALL_END', toolCallId },
    ];
  }

  #result(callId: string, end: Extract<DurableEvent, { readonly type: 'tool.end' }>): readonly AgUiEvent[] {
    const { root, show } = this.#run;
    const toolCallId = callKey(root, callId);
    const content = showsContent(show, end)
      ? typeof end.content === 'string'
        ? end.content
        : JSON.stringify(end.content)
      : JSON.stringify({ status: end.status });
    const messageId = `${toolCallId}/result`;
    this.#messages.push({ id: messageId, role: 'tool', toolCallId, content });
    return [{ type: 'TOOL_CALL_RESULT', messageId, toolCallId, content, role: 'tool' }];
  }

  /** The run has ended; also where its log does not say so. */
  end(outcome: RunOutcome): readonly AgUiEvent[] {
    return [...this.#closeText(), ...this.#closeStep(), ...this.#ended(outcome)];
  }
  #ended(outcome: RunOutcome): readonly AgUiEvent[] {
    const { threadId, runId, show } = this.#run;
    const result = outcomeView(outcome, show);
    const finished = (type: 'success' | 'cancelled'): AgUiEvent => ({ type: 'RUN_FINISHED', threadId, runId, result, outcome: { type } });
    switch (outcome.status) {
      case 'completed':
        return [finished('success')];
      case 'cancelled':
        return [finished('cancelled')];
      // The reply has come as text.
      case 'blocked':
        return outcome.reply === undefined ? [error('blocked', 'This was refused.')] : [finished('success')];
      case 'exhausted':
        return outcome.text === undefined ? [error('exhausted', 'The run came to no end in its limits.')] : [finished('success')];
      case 'failed':
        return [error('failed', show.system === true ? (outcome.error?.message ?? 'The run failed.') : 'The run failed.')];
      default:
        return outcome.status satisfies never;
    }
  }
}

const error = (code: string, message: string): AgUiEvent => ({ type: 'RUN_ERROR', code, message });
