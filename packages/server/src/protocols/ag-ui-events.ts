// A run as events of the AG-UI protocol 1.0 (types of @ag-ui/core 1.0.0; order as the client's verifier wants it).
import type { CallApproval, ToolCall, ToolEndEvent } from '@guardloop/core';
import type { DurableEvent } from '@guardloop/durable';
import type { RunOutcome, Show } from '../show.js';
import { outcomeView, showsContent, showsTool } from '../show.js';
import type { OutcomeView } from '../views.js';
import { seenId } from './answers.js';
import type { EndedCall } from './front-end-tools.js';
import { callKey, FrontEndCalls, isFrontEndCall, showsEnd } from './front-end-tools.js';
import type { AskedApproval, Translator } from './turns.js';
import { callsToTell, isForFrontEnd, ShownTexts } from './turns.js';

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
  /** The client answers interrupts with this leg. It keeps them, and says nothing new, until a leg has finished without an error. */
  readonly isAnswer?: boolean | undefined;
  /** What the client sent of the conversation, to give it back when text is taken back. It is theirs, and is used for nothing else. */
  readonly history?: readonly { readonly id: string }[] | undefined;
  /** Ids of calls, and of calls whose results the client has: it is not told of them again. */
  readonly known?: { readonly calls: ReadonlySet<string>; readonly results: ReadonlySet<string> } | undefined;
}

interface ToldCall {
  /** The message that makes the call; left out for calls of inner agents. */
  readonly parent: string | undefined;
  readonly toolCallId: string;
  readonly name: string;
  readonly text: string;
}

/**
 * Its events make a leg of the conversation; the run may go on in another. Each call of `on` gives the events that one event of the run
 * makes. `wait` ends a leg that waits for people.
 */
export class AgUiTranslator implements Translator<AgUiEvent> {
  readonly #run: AgUiRun;
  readonly #texts = new ShownTexts();
  readonly #told = new Set<string>();
  readonly #frontEnd = new FrontEndCalls();
  /** The message of each call of the root run that the front end runs. */
  readonly #parents = new Map<string, string>();
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
    const ended = this.#frontEnd.take(event);
    if (ended !== undefined) return this.#endedThere(ended);
    if (!isForFrontEnd(event, this.#run.root)) return [];
    switch (event.type) {
      case 'model.start':
        return [...this.#closeText(), ...this.#closeStep(), ...this.#beginStep(`turn ${event.turn}`)];
      case 'text.delta':
        return this.#say(event.turn, event.text);
      case 'text.retract':
        return this.#takeBack(event.turn, event.chars);
      case 'model.end': {
        const parent = this.#messageId(event.turn);
        for (const { id, kind } of event.calls) if (kind === 'caller') this.#parents.set(id, parent);
        const told = [...this.#closeText(), ...callsToTell(event).flatMap((call) => this.#tellHere(parent, call)), ...this.#closeStep()];
        this.#texts.close(event.turn);
        return told;
      }
      case 'tool.end':
        return this.#told.has(event.callId)
          ? this.#result(callKey(event.run, event.callId), contentOf(event, showsContent(this.#run.show, event)))
          : [];
      case 'run.end':
        return this.end(event);
      default:
        return [];
    }
  }

  /** The run waits: this leg is over, and what people are asked is its outcome, as are calls that the client is to run. */
  wait(asked: readonly AskedApproval[]): readonly AgUiEvent[] {
    const { threadId, runId } = this.#run;
    // A client has to answer all of them before it may go on: it gets those that it can answer.
    const interrupts = asked.filter(({ mayDecide, toRun }) => mayDecide && toRun === undefined).map((one) => this.#interrupt(one));
    const calls: AgUiEvent[] = [];
    const pendingToolCallIds: string[] = [];
    for (const { approval, toRun } of asked) {
      if (toRun === undefined || !isFrontEndCall(approval)) continue;
      const told = this.#tellThere(approval);
      calls.push(...told);
      if (told.length > 0) pendingToolCallIds.push(seenId(approval));
    }
    const success = { type: 'success', ...(pendingToolCallIds.length === 0 ? {} : { pendingToolCallIds }) };
    const outcome = interrupts.length === 0 ? success : { type: 'interrupt', interrupts };
    const finished = { type: 'RUN_FINISHED', threadId, runId, result: { status: 'waiting' }, outcome };
    return [...this.#closeText(), ...calls, ...this.#closeStep(), finished];
  }

  #interrupt({ approval, expiresAt }: AskedApproval): Readonly<Record<string, unknown>> {
    const { surface, reason, run } = approval;
    const isEditable = surface === 'toolInput' && !isFrontEndCall(approval);
    return {
      id: seenId(approval),
      reason: surface === 'toolInput' ? 'tool_call' : surface,
      message: reason,
      ...('callId' in approval && run === this.#run.root
        ? { toolCallId: isFrontEndCall(approval) ? seenId(approval) : callKey(run, approval.callId) }
        : {}),
      ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
      responseSchema: {
        type: 'object',
        properties: {
          approved: { type: 'boolean' },
          reason: { type: 'string' },
          ...(isEditable ? { editedArgs: { type: 'object' } } : {}),
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

  /** A call that the server runs. */
  #tellHere(parent: string, { id, name, input }: Pick<ToolCall, 'id' | 'name' | 'input'>): readonly AgUiEvent[] {
    const { root, show } = this.#run;
    this.#told.add(id);
    return this.#call({ parent, toolCallId: callKey(root, id), name, text: JSON.stringify(showsTool(show, name) ? input : {}) });
  }
  /** A call that the client runs: it must see what it is to do. Nothing where it has it. */
  #tellThere(approval: CallApproval): readonly AgUiEvent[] {
    const { root, known } = this.#run;
    const parent = approval.run === root ? this.#parents.get(approval.callId) : undefined;
    const toolCallId = seenId(approval);
    const told = this.#call({ parent, toolCallId, name: approval.tool, text: JSON.stringify(approval.input) });
    return known?.calls.has(toolCallId) === true ? [] : told;
  }
  #call({ parent, toolCallId, name, text }: ToldCall): readonly AgUiEvent[] {
    const message = this.#message(parent ?? toolCallId);
    const calls = Array.isArray(message.toolCalls) ? (message.toolCalls as unknown[]) : [];
    message.toolCalls = [...calls, { id: toolCallId, type: 'function', function: { name, arguments: text } }];
    return [
      { type: 'TOOL_CALL_START', toolCallId, toolCallName: name, ...(parent === undefined ? {} : { parentMessageId: parent }) },
      { type: 'TOOL_CALL_ARGS', toolCallId, delta: text },
      { type: 'TOOL_CALL_END', toolCallId },
    ];
  }

  /** The end of a call that a client has run: this one, whose own result stands, or another. */
  #endedThere(ended: EndedCall): readonly AgUiEvent[] {
    const { show, root, known } = this.#run;
    const { approval, end } = ended;
    const toolCallId = seenId(approval);
    const call = this.#tellThere(approval);
    if (known?.results.has(toolCallId) === true) return call;
    return [...call, ...this.#result(toolCallId, contentOf(end, showsEnd(show, ended, root)))];
  }
  #result(toolCallId: string, content: string): readonly AgUiEvent[] {
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
        return outcome.reply === undefined ? this.#broken(result, 'This was refused.') : [finished('success')];
      case 'exhausted':
        return outcome.text === undefined ? this.#broken(result, 'The run came to no end in its limits.') : [finished('success')];
      case 'failed':
        return this.#broken(result, show.system === true ? (outcome.error?.message ?? 'The run failed.') : 'The run failed.');
      default:
        return outcome.status satisfies never;
    }
  }

  #broken(result: OutcomeView, message: string): readonly AgUiEvent[] {
    const { threadId, runId, isAnswer } = this.#run;
    const code = result.status;
    if (isAnswer !== true) return [{ type: 'RUN_ERROR', code, message }];
    return [
      { type: 'CUSTOM', name: 'guardloop.run.error', value: { code, message } },
      { type: 'RUN_FINISHED', threadId, runId, result },
    ];
  }
}

const contentOf = ({ content, status }: ToolEndEvent, isShown: boolean): string => {
  if (!isShown) return JSON.stringify({ status });
  return typeof content === 'string' ? content : JSON.stringify(content);
};
