import type { AssistantMessage, JsonObject, JsonValue, Label, Message, ToolMessage, Usage, UserMessage } from '../model/types.js';
import { canonicalJson } from './canonical-json.js';
import type {
  Approval,
  ApprovalResolveEvent,
  Ask,
  CallEnd,
  HandoffEvent,
  LimitName,
  Limits,
  LogEvent,
  Manifest,
  ModelEndEvent,
  OutputApproval,
  RecordedCall,
  RecordedError,
  Refusal,
  RunEndEvent,
  ToolEndEvent,
  ViewEntry,
} from './events.js';
import { addUsage, noUsage, readLimits } from './limits.js';

/** One stay of one agent in a conversation: which input guardrails stood, and what they have passed. */
export interface Activation {
  readonly agent: string;
  /** `run:name@version`, or `agent:AGENT:name@version`. */
  readonly guards: ReadonlySet<string>;
  /** `all`: every message before `start` was passed, too. */
  readonly view: 'all' | ReadonlySet<string>;
  /** The brief it began with, which is seen but not recorded. */
  readonly brief: string | undefined;
  /** Index in `messages` where the stay began. */
  readonly start: number;
  /** What entered with it was accepted: before that, it tells nothing of what was passed. */
  isAccepted: boolean;
  /** Index after its last message; undefined while it lasts. */
  end: number | undefined;
}

/** The messages that the runs of one session share; a child run has its own. */
export interface Conversation {
  /** Everything recorded, pair-complete at every turn's end. */
  readonly messages: Message[];
  /** What the active agent sees; the same array as `messages` while that is everything. */
  view: Message[];
  /** The active agent; undefined before the first run. */
  agent: string | undefined;
  readonly activations: Activation[];
  /** Whether the active agent's view holds anything untrusted. */
  isUntrusted: boolean;
  untrustedReads: { readonly tool: string; readonly callId: string }[];
}

/** One call of the latest answer. */
export interface CallState {
  readonly call: RecordedCall;
  input: JsonObject;
  /** Canonical JSON of `input`, once something asked for it. */
  key: string | undefined;
  revision: number;
  /** Of a handoff: the brief in the form that a person was asked about. */
  brief: string | undefined;
  /** `prepared`: recorded, not begun. `waiting`: for a person. `decided`: by one. `started`: its effect may have happened. `handoff`: its tool returned one. */
  phase: 'prepared' | 'waiting' | 'decided' | 'started' | 'handoff' | 'ended';
  approval: Approval | undefined;
  decision: ApprovalResolveEvent | undefined;
  /** What a person is to be asked anew: a rewrite changed an edit, or the run was cut before a decision came to an end of the call. */
  asksAnew: readonly Ask[] | undefined;
  /** Its effect may have happened. */
  wasStarted: boolean;
  end: (CallEnd & { readonly id: string; readonly answer?: ToolEndEvent['answer'] }) | undefined;
  /** From the end of a tool that returned a handoff. */
  returned: { readonly to: string; readonly brief: string; readonly filtered?: true | undefined } | undefined;
}

/** A run's end that events have already settled; `run.end` follows. */
export type Ending =
  | { readonly status: 'blocked'; readonly refusal: Refusal }
  | { readonly status: 'failed'; readonly error: RecordedError }
  | { readonly status: 'exhausted'; readonly limit: LimitName };

export interface RunState {
  readonly id: string;
  readonly parent: RunState | undefined;
  /** The parent's call that started it. */
  readonly parentCall: string | undefined;
  readonly conversation: Conversation;
  readonly startSeq: number;
  limits: Limits;
  onLimit: 'stop' | 'finalize';
  manifest: Manifest;
  agent: string;
  accepted: boolean;
  /** Recorded answers, refused ones included. */
  turn: number;
  /** `turn` when the active agent's stay began. */
  agentTurn: number;
  /** The answer of the latest turn has calls that may not all have ended. */
  calls: Map<string, CallState>;
  /** The assistant message of `calls`, by index in the conversation's messages. */
  openIndex: number;
  /** What views wrote and the active agent's guardrails have passed, by its text: it is not put to them again. */
  viewItems: Map<string, UserMessage> | undefined;
  quarantine:
    | { readonly approval: OutputApproval; readonly turn: number; readonly usage: Usage; decision: ApprovalResolveEvent | undefined }
    | undefined;
  /** `callId`: a tool gave it. */
  answer: { readonly text: string; readonly value?: JsonValue | undefined; readonly callId?: string | undefined } | undefined;
  /** Core's note for the next request: why the last answer was refused. */
  note: string | undefined;
  ending: Ending | undefined;
  ended: RunEndEvent | undefined;
  usage: Usage;
  usedTurns: number;
  usedToolCalls: number;
  usedHandoffs: number;
  repairs: number;
  empties: number;
  /** A call was kept from running by this limit. */
  limitHit: LimitName | undefined;
  /** The last call of `onLimit: 'finalize'` was begun, for this limit. */
  finalizing: LimitName | undefined;
  /** The highest number of equal calls with equal results in a row. */
  repeated: number;
  readonly repeats: Map<string, { readonly first: Repeat; byInput: Map<string, Repeat> | undefined }>;
  /** Inputs of started calls that run once. */
  effects: Map<string, { readonly callId: string; readonly input: JsonObject }[]> | undefined;
  approvals: number;
  activeMs: number;
  lastAt: number;
  children: Map<string, RunState> | undefined;
}
interface Repeat {
  readonly input: JsonObject;
  result: string;
  count: number;
  turn: number;
}

/** The fold of a log. Mutable, owned by one writer; users never see it. */
export interface LogState {
  seq: number;
  readonly conversation: Conversation;
  readonly runs: Map<string, RunState>;
  /** The latest run that is no child. */
  root: RunState | undefined;
  /** Of the latest `run.start` or `run.resume`. */
  writer: string | undefined;
}

const emptyManifest: Manifest = { run: [], agent: [], tools: {} };

export function isUntrustedView(conversation: Conversation): boolean {
  return conversation.isUntrusted;
}

export function newConversation(): Conversation {
  const messages: Message[] = [];
  return { messages, view: messages, agent: undefined, activations: [], isUntrusted: false, untrustedReads: [] };
}

export function newLogState(): LogState {
  return { seq: 0, conversation: newConversation(), runs: new Map(), root: undefined, writer: undefined };
}

/** Folds events into a new state. */
export function fold(events: Iterable<LogEvent>): LogState {
  const state = newLogState();
  for (const event of events) apply(state, event);
  return state;
}

/** Adds one event to the state. Pure apart from the state given: no I/O, no clock. */
export function apply(state: LogState, event: LogEvent): void {
  state.seq = event.seq;
  if (event.type === 'run.start') {
    startRun(state, event);
    return;
  }
  const run = state.runs.get(event.run);
  if (run === undefined) return;
  spendTime(run, event.at, event.type === 'run.resume');
  switch (event.type) {
    case 'run.resume':
      state.writer = event.writer;
      run.manifest = event.manifest;
      if (event.limits) run.limits = readLimits(event.limits);
      if (event.onLimit) run.onLimit = event.onLimit;
      if (event.reopens) reopen(run);
      // Before its input is accepted, nothing has happened in a run.
      for (const each of state.runs.values()) if (!each.accepted) each.viewItems = undefined;
      return;
    case 'guard.verdict':
      return;
    case 'input.accept':
      run.accepted = true;
      acceptActivation(run.conversation);
      if (event.changed) run.conversation.view = [...changeTexts(run.conversation.view, event.changed)];
      for (const item of event.items) addMessage(run.conversation, item);
      return;
    case 'model.start':
      run.usedTurns += 1;
      if (event.final) run.finalizing = event.final;
      if (event.view) keepViewItems(run, event.view);
      return;
    case 'model.end':
      endAnswer(run, event);
      return;
    case 'approval.request':
      requestApproval(run, event.approval, event.turn ?? 0, event.usage);
      return;
    case 'approval.resolve':
      resolveApproval(run, event);
      return;
    case 'tool.start': {
      const call = run.calls.get(event.callId);
      if (call === undefined) return;
      call.phase = 'started';
      call.wasStarted = true;
      for (let each: RunState | undefined = run; each; each = each.parent) each.usedToolCalls += 1;
      if (event.once) {
        run.effects ??= new Map();
        const inputs = run.effects.get(event.tool);
        if (inputs) inputs.push({ callId: event.callId, input: event.input });
        else run.effects.set(event.tool, [{ callId: event.callId, input: event.input }]);
      }
      return;
    }
    case 'tool.end':
      endCall(run, event);
      return;
    case 'handoff':
      handOver(run, event);
      return;
    case 'handoff.refused': {
      const call = run.calls.get(event.callId);
      if (call) {
        call.end = { ...event, id: `${run.id}/${event.callId}` };
        call.phase = 'ended';
      }
      if (event.limit) run.limitHit = event.limit;
      if (event.refusal?.action === 'halt') run.ending ??= { status: 'blocked', refusal: event.refusal };
      closeTurn(run);
      return;
    }
    case 'run.end':
      run.ended = event;
      if (event.reply !== undefined && run.accepted) {
        addMessage(run.conversation, {
          role: 'assistant',
          id: `${run.id}/reply`,
          agent: run.agent,
          text: event.reply,
          calls: [],
          label: { origin: 'developer', integrity: 'trusted' },
        });
      }
      if (run.parent === undefined) closeActivation(run.conversation);
      return;
    default:
      event satisfies never;
  }
}

function startRun(state: LogState, event: Extract<LogEvent, { type: 'run.start' }>): void {
  const parent = event.parent === undefined ? undefined : state.runs.get(event.parent);
  const conversation = parent === undefined ? state.conversation : newConversation();
  const run: RunState = {
    id: event.run,
    parent,
    parentCall: event.call,
    conversation,
    startSeq: event.seq,
    limits: readLimits(event.limits),
    onLimit: event.onLimit ?? 'stop',
    manifest: emptyManifest,
    agent: event.agent,
    accepted: false,
    turn: 0,
    agentTurn: 0,
    calls: new Map(),
    openIndex: -1,
    quarantine: undefined,
    viewItems: undefined,
    answer: undefined,
    note: undefined,
    ending: undefined,
    ended: undefined,
    usage: noUsage,
    usedTurns: 0,
    usedToolCalls: 0,
    usedHandoffs: 0,
    repairs: 0,
    empties: 0,
    limitHit: undefined,
    finalizing: undefined,
    repeated: 0,
    repeats: new Map(),
    effects: undefined,
    approvals: 0,
    activeMs: 0,
    lastAt: event.at,
    children: undefined,
  };
  run.manifest = event.manifest;
  state.writer = event.writer;
  state.runs.set(run.id, run);
  if (parent) {
    if (run.parentCall !== undefined) {
      parent.children ??= new Map();
      parent.children.set(run.parentCall, run);
    }
    spendTime(parent, event.at, false);
  } else {
    state.root = run;
    if (conversation.agent !== undefined && conversation.agent !== event.agent) {
      setView(conversation, conversation.messages.map(withoutNative));
    }
  }
  const view = conversation.view === conversation.messages ? 'all' : idsOf(conversation.view);
  activate(conversation, { agent: event.agent, manifest: event.manifest, view });
}

function spendTime(run: RunState, at: number, isResume: boolean): void {
  for (let each: RunState | undefined = run; each; each = each.parent) {
    if (!isResume && at > each.lastAt) each.activeMs += at - each.lastAt;
    each.lastAt = at;
  }
}

interface Stay {
  readonly agent: string;
  readonly manifest: Manifest;
  readonly view: Activation['view'];
  readonly brief?: string | undefined;
}

const guardKeys = new WeakMap<Manifest, { readonly agent: string; readonly keys: ReadonlySet<string> }>();

/** The keys of the input guardrails of a stay; the same set for the same manifest. */
function inputGuards(agent: string, manifest: Manifest): ReadonlySet<string> {
  const known = guardKeys.get(manifest);
  if (known?.agent === agent) return known.keys;
  const keys = new Set<string>();
  for (const entry of manifest.run) if (entry.surfaces.includes('input')) keys.add(`run:${entry.name}@${entry.version ?? ''}`);
  for (const entry of manifest.agent) if (entry.surfaces.includes('input')) keys.add(`agent:${agent}:${entry.name}@${entry.version ?? ''}`);
  guardKeys.set(manifest, { agent, keys });
  return keys;
}

/** Leaves one agent's stay and begins another's. */
function activate(conversation: Conversation, { agent, manifest, view, brief }: Stay): void {
  closeActivation(conversation);
  const guards = inputGuards(agent, manifest);
  conversation.agent = agent;
  conversation.activations.push({ agent, guards, view, brief, start: conversation.messages.length, isAccepted: false, end: undefined });
}

function acceptActivation(conversation: Conversation): void {
  const last = conversation.activations.at(-1);
  if (last) last.isAccepted = true;
}

function closeActivation(conversation: Conversation): void {
  const last = conversation.activations.at(-1);
  if (last && last.end === undefined) last.end = conversation.messages.length;
}

/**
 * Whether a guardrail (by its key, see {@link Activation}) has, in the first `stays` stays, passed the message at `index`, or its agent was
 * there when it came. The index of a brief is -1.
 */
export function hasPassed(conversation: Conversation, stays: number, guard: string, index: number, id: string): boolean {
  for (let at = stays - 1; at >= 0; at -= 1) {
    const activation = conversation.activations[at];
    if (activation === undefined || !activation.isAccepted || !activation.guards.has(guard)) continue;
    if (index < 0) {
      if (activation.brief === id || (activation.view !== 'all' && activation.view.has(id))) return true;
      continue;
    }
    const end = activation.end ?? Number.POSITIVE_INFINITY;
    if (index >= activation.start && index < end) return true;
    // The call that handed over was left out of what its target saw.
    const wasSeen = activation.view === 'all' ? activation.brief !== `${id}/brief` : activation.view.has(id);
    if (index < activation.start && wasSeen) return true;
  }
  return false;
}

function reopen(run: RunState): void {
  run.ended = undefined;
  run.ending = undefined;
  run.answer = undefined;
  run.limitHit = undefined;
  run.finalizing = undefined;
  run.empties = 0;
  run.repairs = 0;
  run.repeated = 0;
  const last = run.conversation.activations.at(-1);
  if (last && run.parent === undefined) last.end = undefined;
}

export function addMessage(conversation: Conversation, message: Message): void {
  conversation.messages.push(frozen(message));
  if (conversation.view !== conversation.messages) conversation.view.push(message);
  taste(conversation, message);
}

function taste(conversation: Conversation, message: Message): void {
  if (message.label.integrity === 'trusted') return;
  conversation.isUntrusted = true;
  if (message.role === 'tool') conversation.untrustedReads.push({ tool: message.tool, callId: message.callId });
}

/** Messages are shown to views, filters, guardrails and models: none of them can change what was recorded. What events hold is frozen already. */
function frozen<M extends Message>(message: M): M {
  for (const each of message.role === 'user' ? message.parts : message.role === 'assistant' ? message.calls : []) Object.freeze(each);
  if (message.role === 'user') Object.freeze(message.parts);
  else if (message.role === 'assistant') Object.freeze(message.calls);
  return Object.freeze(message);
}

function setView(conversation: Conversation, view: Message[]): void {
  conversation.view = view;
  conversation.isUntrusted = false;
  conversation.untrustedReads = [];
  for (const message of view) taste(conversation, message);
}

function withoutNative(message: Message): Message {
  if (message.role !== 'assistant' || message.native === undefined) return message;
  const { native: _, ...rest } = message;
  return frozen(rest);
}

function idsOf(messages: readonly Message[]): ReadonlySet<string> {
  return new Set(messages.map((message) => message.id));
}

/** The same message with other text. */
export function withText(message: Message, text: string): Message {
  if (message.role === 'user')
    return frozen({
      ...message,
      parts: [{ type: 'text', text, label: message.label }, ...message.parts.filter((part) => part.type !== 'text')],
    });
  if (message.role === 'tool') return frozen({ ...message, content: text });
  const { native: _, ...rest } = message;
  return frozen({ ...rest, text });
}

/** The messages with the texts that rewrites made of them; the same array where there are none. */
export function changeTexts(
  view: readonly Message[],
  changed: readonly { readonly id: string; readonly text: string }[],
): readonly Message[] {
  if (changed.length === 0) return view;
  const texts = new Map(changed.map(({ id, text }) => [id, text]));
  return view.map((message) => {
    const text = texts.get(message.id);
    return text === undefined ? message : withText(message, text);
  });
}

function keepViewItems(run: RunState, view: readonly ViewEntry[]): void {
  for (const entry of view) {
    if (typeof entry === 'string' || !('role' in entry)) continue;
    const [part] = entry.parts;
    if (part?.type !== 'text') continue;
    run.viewItems ??= new Map();
    run.viewItems.set(part.text, entry);
  }
}

/** Makes messages of recorded references. An id that is not recorded is left out. */
export function resolveView(messages: readonly Message[], view: readonly ViewEntry[]): Message[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const resolved: Message[] = [];
  for (const entry of view) {
    if (typeof entry !== 'string' && 'role' in entry) {
      resolved.push(entry);
      continue;
    }
    const message = byId.get(typeof entry === 'string' ? entry : entry.id);
    if (message) resolved.push(typeof entry === 'string' ? message : withText(message, entry.text));
  }
  return resolved;
}

function endAnswer(run: RunState, event: ModelEndEvent): void {
  // What a quarantined answer used was counted when it was put there.
  if (run.quarantine === undefined) spendUsage(run, event.usage);
  run.note = undefined;
  run.quarantine = undefined;
  if (event.status === 'aborted') return;
  if (event.status === 'failed') {
    if (event.error) run.ending = { status: 'failed', error: event.error };
    return;
  }
  run.turn += 1;
  if (event.status === 'refused') {
    const { refusal } = event;
    run.repairs += 1;
    if (refusal) {
      if (refusal.action === 'halt' || refusal.failed || refusal.by === 'model' || run.repairs > run.limits.repairs)
        run.ending = { status: 'blocked', refusal };
      else run.note = `Your last answer was refused: ${refusal.reason}. Give another answer.`;
    } else if (run.repairs > run.limits.repairs) {
      run.ending = {
        status: 'failed',
        error: {
          code: 'OUTPUT_INVALID',
          message: `The answer of agent ${run.agent} did not fit its output schema: ${event.misfit ?? ''}.`,
          isRetryable: true,
        },
      };
    } else run.note = `Your last answer did not fit the wanted form: ${event.misfit ?? ''}. Give the whole answer again in that form.`;
    return;
  }
  if (event.empty) {
    run.empties += 1;
    if (run.empties > 1)
      run.ending = {
        status: 'failed',
        error: {
          code: 'MODEL_PROTOCOL',
          message: `The model of agent ${run.agent} answered twice with neither text nor call.`,
          isRetryable: true,
        },
      };
    else run.note = 'Your last answer was empty. Answer, or call a tool.';
    return;
  }
  run.repairs = 0;
  run.empties = 0;
  const message: AssistantMessage = {
    role: 'assistant',
    id: event.id,
    agent: event.agent,
    text: event.text,
    calls: event.calls.map(({ id, providerId, name, input }) =>
      providerId === undefined ? { id, name, input } : { id, providerId, name, input },
    ),
    label: event.label,
    ...(event.native === undefined ? {} : { native: event.native }),
  };
  addMessage(run.conversation, message);
  if (event.calls.length === 0) {
    run.answer = event.value === undefined ? { text: event.text } : { text: event.text, value: event.value };
    return;
  }
  run.openIndex = run.conversation.messages.length - 1;
  run.calls = new Map();
  for (const call of event.calls) {
    run.calls.set(call.id, {
      call,
      input: call.input,
      key: undefined,
      brief: undefined,
      revision: call.revision,
      phase: 'prepared',
      approval: undefined,
      decision: undefined,
      asksAnew: undefined,
      wasStarted: false,
      end: undefined,
      returned: undefined,
    });
    if (call.end?.refusal?.action === 'halt') run.ending ??= { status: 'blocked', refusal: call.end.refusal };
  }
}

function spendUsage(run: RunState, usage: Usage): void {
  for (let each: RunState | undefined = run; each; each = each.parent) each.usage = addUsage(each.usage, usage);
}

function requestApproval(run: RunState, approval: Approval, turn: number, usage: Usage | undefined): void {
  run.approvals += 1;
  if (approval.surface === 'output') {
    run.quarantine = { approval, turn, usage: usage ?? noUsage, decision: undefined };
    if (usage) spendUsage(run, usage);
    return;
  }
  const call = run.calls.get(approval.callId);
  if (call === undefined) return;
  call.phase = 'waiting';
  call.asksAnew = undefined;
  call.approval = approval;
  if (approval.surface === 'handoff') {
    call.brief = approval.brief;
    call.revision = approval.revision;
  }
}

function resolveApproval(run: RunState, event: ApprovalResolveEvent): void {
  if (run.quarantine?.approval.id === event.id) {
    run.quarantine.decision = event;
    return;
  }
  for (const call of run.calls.values()) {
    if (call.approval?.id !== event.id) continue;
    const { asks } = call.approval;
    call.approval = undefined;
    if (event.input) {
      call.input = event.input;
      call.key = undefined;
      call.revision = event.revision;
    }
    // A refused edit and a given result end the call with the next event; without it they have come to nothing.
    const isOpen = event.decision === 'result' || (event.decision === 'edit' && event.input === undefined);
    if (event.changed || isOpen) {
      call.asksAnew = event.asks ?? asks;
      call.phase = call.wasStarted ? 'started' : 'prepared';
    } else {
      call.phase = 'decided';
      call.decision = event;
    }
    return;
  }
}

function endCall(run: RunState, event: ToolEndEvent): void {
  const call = run.calls.get(event.callId);
  if (call === undefined) return;
  call.end = event;
  call.phase = event.handoff ? 'handoff' : 'ended';
  call.returned = event.handoff;
  if (event.limit) run.limitHit = event.limit;
  if (event.refusal?.action === 'halt') run.ending ??= { status: 'blocked', refusal: event.refusal };
  if (!event.polling && event.status !== 'aborted' && event.copyOf === undefined) {
    const count = countRepeat(run, call, event.content, true);
    run.repeated = Math.max(run.repeated, count);
    if (count >= run.limits.repeats * 2) run.ending ??= { status: 'exhausted', limit: 'repeats' };
  }
  closeTurn(run);
}

/** How often this call was made with this result, now included. Several in one turn count once. Records it only if asked to. */
export function countRepeat(run: RunState, call: CallState, content: string | readonly unknown[], isRecorded: boolean): number {
  const result = typeof content === 'string' ? content : JSON.stringify(content);
  const tool = call.call.name;
  const known = run.repeats.get(tool);
  if (known === undefined) {
    // The first call of a tool costs no canonical JSON.
    if (isRecorded) run.repeats.set(tool, { first: { input: call.input, result, count: 1, turn: run.turn }, byInput: undefined });
    return 1;
  }
  if (known.byInput === undefined) known.byInput = new Map([[canonicalJson(known.first.input), known.first]]);
  call.key ??= canonicalJson(call.input);
  const repeat = known.byInput.get(call.key);
  if (repeat === undefined) {
    if (isRecorded) known.byInput.set(call.key, { input: call.input, result, count: 1, turn: run.turn });
    return 1;
  }
  const count = repeat.result !== result ? 1 : repeat.turn === run.turn ? repeat.count : repeat.count + 1;
  if (isRecorded) {
    repeat.count = count;
    repeat.result = result;
    repeat.turn = run.turn;
  }
  return count;
}

/** Once all calls of the answer have ended, their results enter the transcript, in call order. */
function closeTurn(run: RunState): void {
  for (const call of run.calls.values()) if (call.phase !== 'ended') return;
  settleTurn(run);
  run.answer = answerOfCalls(run);
  run.openIndex = -1;
  run.calls = new Map();
}

/** Of several tools that gave an answer, the first in call order counts, whichever was faster. */
function answerOfCalls({ calls }: RunState): RunState['answer'] {
  for (const [callId, { end }] of calls) {
    if (end?.answer === undefined) continue;
    const { text, value } = end.answer;
    return value === undefined ? { text, callId } : { text, value, callId };
  }
  return undefined;
}

function settleTurn(run: RunState): void {
  const { conversation } = run;
  const message = conversation.messages[run.openIndex];
  const settled = settledAnswer(run);
  if (message && settled && settled !== message) {
    conversation.messages[run.openIndex] = settled;
    if (conversation.view !== conversation.messages) {
      const at = conversation.view.lastIndexOf(message);
      if (at >= 0) conversation.view[at] = settled;
    }
  }
  for (const [id, call] of run.calls) {
    if (call.end) addMessage(conversation, observation(id, call.call.name, call.end));
  }
}

/** The open answer, with the inputs that ran. */
function settledAnswer(run: RunState): Message | undefined {
  const message = run.conversation.messages[run.openIndex];
  if (message?.role === 'assistant' && [...run.calls.values()].some((call) => call.revision !== call.call.revision)) {
    // A person edited an input: the transcript shows the one that ran, and the provider's own message is void.
    return frozen({
      role: 'assistant',
      id: message.id,
      agent: message.agent,
      text: message.text,
      calls: message.calls.map((each) => {
        const call = run.calls.get(each.id);
        return call && call.revision !== call.call.revision ? { ...each, input: call.input } : each;
      }),
      label: message.label,
    });
  }
  return message;
}

/** What everything so far will be to the target of a handoff: without the handoff's own call, and without what only its maker may read. */
export function handoffHistory(run: RunState, callId: string): Message[] {
  const { messages } = run.conversation;
  const answer = settledAnswer(run);
  const results: Message[] = [];
  for (const [id, call] of run.calls) {
    if (id === callId)
      results.push(observation(id, call.call.name, { status: 'ok', content: '', label: developer, id: `${run.id}/${id}` }));
    else if (call.end) results.push(observation(id, call.call.name, call.end));
  }
  const whole = answer ? [...messages.slice(0, run.openIndex), answer, ...results] : [...messages];
  return withoutCall(whole, `${run.id}/${callId}`, callId).map(withoutNative);
}

function observation(callId: string, tool: string, end: CallEnd & { readonly id: string }): ToolMessage {
  return frozen({
    role: 'tool',
    id: end.id,
    callId,
    tool,
    content: end.content,
    isError: end.status !== 'ok',
    label: end.label,
    ...(end.note === undefined ? {} : { note: end.note }),
  });
}

const developer: Label = Object.freeze({ origin: 'developer', integrity: 'trusted' });

function handOver(run: RunState, event: HandoffEvent): void {
  const call = run.calls.get(event.callId);
  if (call) {
    call.phase = 'ended';
    call.end = { status: 'ok', content: `Handed off to ${event.to}.`, label: developer, id: `${run.id}/${event.callId}` };
  }
  for (const each of run.calls.values()) if (each.phase !== 'ended') each.phase = 'ended';
  settleTurn(run);
  run.calls = new Map();
  run.openIndex = -1;
  run.usedHandoffs += 1;
  run.repairs = 0;
  run.empties = 0;
  run.repeated = 0;
  run.repeats.clear();
  run.note = undefined;
  run.viewItems = undefined;
  run.agent = event.to;
  run.agentTurn = run.turn;
  run.manifest = { ...event.manifest, run: run.manifest.run };
  const { conversation } = run;
  const view =
    event.view === 'all'
      ? withoutCall(conversation.messages, `${run.id}/${event.callId}`, event.callId).map(withoutNative)
      : resolveView(withoutCall(conversation.messages, `${run.id}/${event.callId}`, event.callId), event.view).map(withoutNative);
  setView(conversation, [...view]);
  activate(conversation, {
    agent: event.to,
    manifest: run.manifest,
    view: event.view === 'all' ? 'all' : idsOf(view),
    brief: event.item.id,
  });
  acceptActivation(conversation);
  conversation.view.push(event.item);
  taste(conversation, event.item);
}

/** The messages without one call and its result, left out together; `resultId` is the result message's id. */
export function withoutCall(messages: readonly Message[], resultId: string, callId: string): Message[] {
  const kept: Message[] = [];
  let owner = -1;
  for (const message of messages) {
    if (message.id === resultId) {
      const before = kept[owner];
      if (before?.role === 'assistant') {
        const calls = before.calls.filter((call) => call.id !== callId);
        const { native: _, ...rest } = before;
        if (calls.length > 0 || before.text !== '') kept[owner] = frozen({ ...rest, calls });
        else kept.splice(owner, 1);
      }
      continue;
    }
    if (message.role === 'assistant') owner = kept.length;
    kept.push(message);
  }
  return kept;
}

/** The first limit that is reached, of this run or of one above it; `turns` is the run's own. */
export function limitReached(run: RunState): LimitName | undefined {
  if (run.limitHit) return run.limitHit;
  if (run.usedTurns >= run.limits.turns) return 'turns';
  if (run.limits.repeats * 2 <= run.repeated) return 'repeats';
  return spentLimit(run);
}

/** A spent `tokens`, `cost` or `ms`, which also keep calls from starting. */
export function spentLimit(run: RunState): 'tokens' | 'cost' | 'ms' | undefined {
  for (let each: RunState | undefined = run; each; each = each.parent) {
    if (each.usage.inputTokens + each.usage.outputTokens >= each.limits.tokens) return 'tokens';
    if ((each.usage.cost ?? 0) >= each.limits.cost) return 'cost';
    if (each.activeMs >= each.limits.ms) return 'ms';
  }
  return undefined;
}

/** Whether one more call of a tool may start, here and in every run above. */
export function hasToolCallsLeft(run: RunState): boolean {
  for (let each: RunState | undefined = run; each; each = each.parent) if (each.usedToolCalls >= each.limits.toolCalls) return false;
  return true;
}

export type { UserMessage };
