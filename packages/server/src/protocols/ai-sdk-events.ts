// A run as chunks of the AI SDK's UI message stream, protocol v1 (schemas of ai 6: ui-message-stream/ui-message-chunks).
import type { Approval, CallApproval, JsonValue, RecordedCall, ToolEndEvent } from '@guardloop/core';
import type { DurableEvent } from '@guardloop/durable';
import type { RunOutcome, Show } from '../show.js';
import { outcomeView, showsContent, showsTool } from '../show.js';
import type { GivenResult } from './ai-sdk-input.js';
import { seenId } from './answers.js';
import type { EndedCall } from './front-end-tools.js';
import { callKey, FrontEndCalls, isFrontEndCall, showsEnd } from './front-end-tools.js';
import type { AskedApproval, Translator } from './turns.js';
import { callsToTell, isForFrontEnd, ShownTexts } from './turns.js';

/** Plain JSON with its `type`. */
export interface UiChunk {
  readonly type: string;
  readonly [field: string]: unknown;
}
export interface UiRun {
  readonly root: string;
  readonly session: string;
  readonly show: Show;
  /** Approvals that the client answers with this leg: it has their calls. */
  readonly answered?: ReadonlySet<string> | undefined;
  /** Ids of calls that the client has in its message: it is not asked a second time to run one. */
  readonly known?: ReadonlySet<string> | undefined;
  /** What it gave for calls with this leg, by their ids. */
  readonly given?: ReadonlyMap<string, GivenResult> | undefined;
}

/** One run is one message: its id is the run's, also when it goes on after people have decided. */
export class UiMessageTranslator implements Translator<UiChunk> {
  readonly #run: UiRun;
  readonly #texts = new ShownTexts();
  readonly #told = new Set<string>();
  readonly #frontEnd = new FrontEndCalls();
  /** Calls of agents used as tools: a chat answers by itself only once no call is open, so they are told with their ends. */
  readonly #agentCalls = new Map<string, UiChunk>();
  /** What agents used as tools have asked people. */
  readonly #childAsks = new Map<string, Approval>();
  #openText: string | undefined;
  #isInStep = false;

  constructor(run: UiRun) {
    this.#run = run;
  }

  start(): readonly UiChunk[] {
    const { root, session } = this.#run;
    return [{ type: 'start', messageId: root, messageMetadata: { guardloop: { run: root, session } } }];
  }

  on(event: DurableEvent): readonly UiChunk[] {
    const { root } = this.#run;
    const ended = this.#frontEnd.take(event);
    if (ended !== undefined) return this.#endedThere(ended);
    if (!isForFrontEnd(event, root)) return [];
    switch (event.type) {
      case 'model.start':
        return [...this.#closeText(), ...this.#closeStep(), ...this.#openStep()];
      case 'text.delta':
        return this.#say(event.turn, event.text);
      case 'text.retract':
        return this.#takeBack(event.turn, event.chars);
      case 'model.end': {
        const told = [...this.#closeText(), ...callsToTell(event).flatMap((call) => this.#tell(call))];
        this.#texts.close(event.turn);
        return told;
      }
      case 'tool.end':
        return this.#result(event);
      case 'approval.request':
        if (isFrontEndCall(event.approval)) return [];
        if (event.run === root && 'callId' in event.approval) this.#told.add(event.approval.callId);
        else this.#childAsks.set(event.approval.id, event.approval);
        return [];
      case 'approval.resolve':
        return this.#settled(event);
      case 'run.end':
        return this.end(event);
      default:
        return [];
    }
  }

  wait(asked: readonly AskedApproval[]): readonly UiChunk[] {
    const chunks = asked.flatMap((one) => this.#ask(one));
    return [...this.#closeText(), ...chunks, ...this.#closeStep(), { type: 'finish', finishReason: 'tool-calls' }];
  }

  end(outcome: RunOutcome): readonly UiChunk[] {
    const { show } = this.#run;
    const view = outcomeView(outcome, show);
    const closed = [...this.#closeText(), ...this.#closeStep()];
    const finish = (finishReason: string): UiChunk => ({ type: 'finish', finishReason, messageMetadata: { guardloop: { outcome: view } } });
    switch (outcome.status) {
      case 'completed':
        return [...closed, finish('stop')];
      case 'cancelled':
        return [...closed, { type: 'abort' }];
      case 'blocked':
        return [...closed, ...(outcome.reply === undefined ? [fault('This was refused.')] : []), finish('content-filter')];
      case 'exhausted':
        return [...closed, ...(outcome.text === undefined ? [fault('The run came to no end in its limits.')] : []), finish('length')];
      case 'failed':
        return [
          ...closed,
          fault(show.system === true ? (outcome.error?.message ?? 'The run failed.') : 'The run failed.'),
          finish('error'),
        ];
      default:
        return outcome.status satisfies never;
    }
  }

  #openStep(): readonly UiChunk[] {
    this.#isInStep = true;
    return [{ type: 'start-step' }];
  }
  #closeStep(): readonly UiChunk[] {
    if (!this.#isInStep) return [];
    this.#isInStep = false;
    return [{ type: 'finish-step' }];
  }
  #textId(turn: number): string {
    return `${this.#run.root}/${turn}/${this.#texts.part(turn)}`;
  }
  #say(turn: number, text: string): readonly UiChunk[] {
    const id = this.#textId(turn);
    const chunks: UiChunk[] = [];
    if (this.#openText !== id) {
      chunks.push(...this.#closeText(), { type: 'text-start', id });
      this.#openText = id;
    }
    this.#texts.add(turn, text);
    return [...chunks, { type: 'text-delta', id, delta: text }];
  }
  #closeText(): readonly UiChunk[] {
    if (this.#openText === undefined) return [];
    const id = this.#openText;
    this.#openText = undefined;
    return [{ type: 'text-end', id }];
  }

  /** The protocol cannot take a part away: it is marked, so that front ends leave it out, and what is left of it begins anew. */
  #takeBack(turn: number, chars: number): readonly UiChunk[] {
    const id = this.#textId(turn);
    const isOpen = this.#openText === id;
    const left = this.#texts.take(turn, chars);
    this.#openText = undefined;
    const chunks: UiChunk[] = [{ type: 'data-guardloop-retract', data: { text: id, chars } }];
    if (isOpen) chunks.unshift({ type: 'text-end', id, providerMetadata: { guardloop: { retracted: true } } });
    if (left === '') return chunks;
    const again = this.#textId(turn);
    this.#openText = again;
    return [...chunks, { type: 'text-start', id: again }, { type: 'text-delta', id: again, delta: left }];
  }

  #tell({ id, name, input, kind }: RecordedCall): readonly UiChunk[] {
    this.#told.add(id);
    const chunk = this.#call(callKey(this.#run.root, id), name, showsTool(this.#run.show, name) ? input : {});
    if (kind !== 'agent') return [chunk];
    this.#agentCalls.set(id, chunk);
    return [];
  }
  #call(toolCallId: string, toolName: string, input: JsonValue): UiChunk {
    // Run here: the client's own hook for tools is not for it.
    return { type: 'tool-input-available', toolCallId, toolName, input, dynamic: true, providerExecuted: true };
  }

  #result(event: ToolEndEvent): readonly UiChunk[] {
    if (!this.#told.has(event.callId)) return [];
    const begun = this.#agentCalls.get(event.callId);
    const end = endOf(callKey(event.run, event.callId), event, showsContent(this.#run.show, event));
    return [...(begun === undefined ? [] : [begun]), { ...end, dynamic: true }];
  }

  /**
   * The end of a call that a client has run: `providerExecuted` says that it is taken up, so that a chat does not send it a second time. Who
   * gave the result keeps what it gave.
   */
  #endedThere(ended: EndedCall): readonly UiChunk[] {
    const { show, root, known, given } = this.#run;
    const { approval, end } = ended;
    const toolCallId = seenId(approval);
    const begun = known?.has(toolCallId) === true ? [] : [this.#callThere(approval, true)];
    const result = end.status === 'ok' ? given?.get(toolCallId) : undefined;
    if (result === undefined) return [...begun, endOf(toolCallId, end, showsEnd(show, ended, root))];
    const type = 'output' in result ? 'tool-output-available' : 'tool-output-error';
    return [...begun, { type, toolCallId, ...result, providerExecuted: true }];
  }
  /** A call for the front end: no dynamic part, since a hook for tools looks at no such. */
  #callThere(approval: CallApproval, isSettled: boolean): UiChunk {
    const { tool: toolName, input } = approval;
    return { type: 'tool-input-available', toolCallId: seenId(approval), toolName, input, providerExecuted: isSettled };
  }

  /** Of a call of an agent used as a tool nothing more will be told: it is closed, or a chat would send its answer again. */
  #settled({ id, decision, subject }: Extract<DurableEvent, { readonly type: 'approval.resolve' }>): readonly UiChunk[] {
    const decided: UiChunk = { type: 'data-guardloop-decided', id: `${id}/decided`, data: { id, decision } };
    const asked = this.#childAsks.get(id);
    if (asked === undefined || asked.surface === 'output') return [decided];
    const begun = this.#run.answered?.has(id) === true ? [] : [this.#call(subject, asked.tool, {})];
    const isNo = decision === 'reject' || decision === 'void';
    const end: UiChunk = isNo
      ? { type: 'tool-output-denied', toolCallId: subject }
      : { type: 'tool-output-available', toolCallId: subject, output: { status: decision }, dynamic: true, providerExecuted: true };
    return [...begun, end, decided];
  }

  /** The question as the log has it; a call is shown with the input that is asked about. */
  #ask({ approval, mayDecide, expiresAt, toRun }: AskedApproval): readonly UiChunk[] {
    if (toRun !== undefined && isFrontEndCall(approval))
      return toRun === 'asked' && this.#run.known?.has(seenId(approval)) === true ? [] : [this.#callThere(approval, false)];
    if (!mayDecide) return [{ type: 'data-guardloop-waiting', id: approval.id, data: { id: approval.id, surface: approval.surface } }];
    const details: UiChunk = {
      type: 'data-guardloop-approval',
      id: approval.id,
      data: { approvalId: seenId(approval), approval, ...(expiresAt === undefined ? {} : { expiresAt }) },
    };
    if (approval.surface === 'output') return [details];
    const isThere = isFrontEndCall(approval);
    const toolCallId = isThere ? seenId(approval) : callKey(approval.run, approval.callId);
    const asked = isThere ? this.#callThere(approval, true) : this.#call(toolCallId, approval.tool, approval.input);
    return [asked, details, { type: 'tool-approval-request', approvalId: seenId(approval), toolCallId }];
  }
}

function endOf(toolCallId: string, { status, content }: ToolEndEvent, isShown: boolean): UiChunk {
  if (status === 'ok') return { type: 'tool-output-available', toolCallId, output: isShown ? content : { status }, providerExecuted: true };
  if (status === 'rejected') return { type: 'tool-output-denied', toolCallId };
  const errorText = isShown && typeof content === 'string' ? content : status;
  return { type: 'tool-output-error', toolCallId, errorText, providerExecuted: true };
}

const fault = (errorText: string): UiChunk => ({ type: 'error', errorText });
