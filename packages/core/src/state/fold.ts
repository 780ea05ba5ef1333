import type { AssistantMessage, Usage } from '../model/types.js';
import type { ModelShare } from '../model/usage.js';
import { addUsage, tellsCost, tellsTokens } from '../model/usage.js';
import {
  acceptActivation,
  activate,
  addMessage,
  changeTexts,
  closeActivation,
  idsOf,
  newConversation,
  noteChanged,
  resolveView,
  setView,
  taste,
  withoutCall,
  withoutNative,
} from './conversation.js';
import type {
  ApprovalRequestEvent,
  ApprovalResolveEvent,
  HandoffEvent,
  HandoffRefusedEvent,
  LimitName,
  LogEvent,
  ModelEndEvent,
  MonitorAlertEvent,
  RunEndEvent,
  RunResumeEvent,
  ToolEndEvent,
  ToolStartEvent,
  ViewEntry,
} from './events.js';
import { noUsage, readLimits } from './limits.js';
import { recordRepeat } from './repeats.js';
import { withoutPath } from './standing.js';
import type { CallState, LogState, RunState } from './state.js';
import { newLogState, noCalls } from './state.js';
import { closeTurn, developer, settleTurn } from './turn.js';

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
  // Waiting for people uses no time, which ends when the run is entered again.
  if (event.type !== 'run.resume') spendTime(run, event.at);
  switch (event.type) {
    case 'run.resume':
      resumeRun(state, run, event);
      return;
    case 'guard.verdict':
      return;
    case 'input.accept':
      if (run.accepted) {
        // Said while the run was under way: it goes on, also where it had its answer.
        run.steers += event.items.length;
        run.answer = undefined;
      }
      run.accepted = true;
      if (event.changed) {
        run.conversation.view = [...changeTexts(run.conversation.view, event.changed)];
        noteChanged(run.conversation, event.changed);
      }
      acceptActivation(run.conversation);
      for (const item of event.items) addMessage(run.conversation, item);
      return;
    case 'model.start':
      run.usedTurns += 1;
      // It holds until an answer with calls has been carried out.
      run.suspected = run.suspicion ?? run.suspected;
      run.suspicion = undefined;
      run.model = event.model;
      run.answer = undefined;
      spendShares(run, event.viewUsage);
      if (event.final) run.finalizing = event.final;
      if (event.view) keepViewItems(run, event.view);
      return;
    case 'model.end':
      endAnswer(run, event);
      return;
    case 'approval.request':
      requestApproval(run, event);
      return;
    case 'approval.resolve':
      resolveApproval(run, event);
      if (event.standing) state.standing = [...state.standing, { ...event.standing, id: event.id, seq: event.seq }];
      return;
    case 'tool.start':
      startCall(run, event);
      return;
    case 'tool.end':
      endCall(run, event);
      return;
    case 'handoff':
      state.standing = withoutPath(state.standing, pathOf(run));
      handOver(run, event);
      return;
    case 'handoff.refused':
      refuseHandoff(run, event);
      return;
    case 'monitor.alert':
      alert(run, event);
      return;
    case 'run.end':
      endRun(run, event);
      return;
    default:
      event satisfies never;
  }
}

function resumeRun(state: LogState, run: RunState, event: RunResumeEvent): void {
  state.writer = event.writer;
  run.manifest = event.manifest;
  if (event.limits) run.limits = readLimits(event.limits);
  if (event.onLimit) run.onLimit = event.onLimit;
  if (run.onLimit === 'finalize' && run.ending?.status === 'exhausted') run.ending = undefined;
  if (event.reopens) reopen(run);
  for (const each of state.runs.values()) {
    // Nor has a child run used the time for which its root waited.
    each.lastAt = event.at;
    // Before its input is accepted, nothing has happened in a run.
    if (!each.accepted) each.viewItems = undefined;
    // A last answer that was cut is asked for again.
    if (!each.hasLastAnswer) each.finalizing = undefined;
  }
}

function startCall(run: RunState, event: ToolStartEvent): void {
  const call = run.calls.get(event.callId);
  if (call === undefined) return;
  call.phase = 'started';
  call.wasStarted = true;
  // One that is made again after a cut is no other call.
  if (!call.isCounted) for (let each: RunState | undefined = run; each; each = each.parent) each.usedToolCalls += 1;
  call.isCounted = true;
  if (event.once) noteEffect(run, event);
}

/** An input with which a declared write or send has run, or was run by a person. */
function noteEffect(run: RunState, { callId, tool, input }: Pick<ToolStartEvent, 'callId' | 'tool' | 'input'>): void {
  run.effects ??= new Map();
  const inputs = run.effects.get(tool);
  if (inputs) inputs.push({ callId, input });
  else run.effects.set(tool, [{ callId, input }]);
}

function refuseHandoff(run: RunState, event: HandoffRefusedEvent): void {
  const call = run.calls.get(event.callId);
  if (call) {
    call.end = { ...event, id: `${run.id}/${event.callId}` };
    call.phase = 'ended';
  }
  if (event.limit) run.limitHit = event.limit;
  if (event.refusal?.action === 'halt') run.ending ??= { status: 'blocked', refusal: event.refusal };
  closeTurn(run);
}

function alert(run: RunState, { reason, then }: MonitorAlertEvent): void {
  switch (then) {
    case 'nothing':
      return;
    case 'note':
      run.note = run.note === undefined ? reason : `${run.note} ${reason}`;
      return;
    case 'ask':
      run.suspicion = reason;
      return;
    case 'finalize':
    case 'stop':
      run.limitHit ??= 'repeats';
      run.forced ??= then;
      return;
    default:
      then satisfies never;
  }
}

function endRun(run: RunState, event: RunEndEvent): void {
  run.ended = event;
  spendShares(run, event.viewUsage);
  if (event.reply !== undefined && run.accepted)
    addMessage(run.conversation, {
      role: 'assistant',
      id: `${run.id}/reply`,
      agent: run.agent,
      text: event.reply,
      calls: [],
      label: developer,
    });
  closeActivation(run.conversation);
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
    manifest: event.manifest,
    agent: event.agent,
    accepted: false,
    turn: 0,
    agentTurn: 0,
    calls: noCalls,
    openIndex: -1,
    quarantine: undefined,
    viewItems: undefined,
    answer: undefined,
    note: undefined,
    hasThought: false,
    steers: 0,
    suspicion: undefined,
    suspected: undefined,
    forced: undefined,
    ending: undefined,
    ended: undefined,
    usage: noUsage,
    model: '',
    unpriced: undefined,
    uncounted: undefined,
    usedTurns: 0,
    usedToolCalls: 0,
    usedHandoffs: 0,
    repairs: 0,
    empties: 0,
    limitHit: undefined,
    finalizing: undefined,
    hasLastAnswer: false,
    repeated: 0,
    repeats: new Map(),
    effects: undefined,
    approvals: 0,
    askedAt: undefined,
    activeMs: 0,
    lastAt: event.at,
    children: undefined,
  };
  state.writer = event.writer;
  state.runs.set(run.id, run);
  if (parent) {
    if (run.parentCall !== undefined) {
      parent.children ??= new Map();
      parent.children.set(run.parentCall, run);
    }
    spendTime(parent, event.at);
  } else {
    state.root = run;
    if (conversation.agent !== undefined && conversation.agent !== event.agent) {
      state.standing = withoutPath(state.standing, [conversation.agent]);
      setView(conversation, conversation.messages.map(withoutNative));
    }
  }
  const view = conversation.view === conversation.messages ? 'all' : idsOf(conversation.view);
  activate(conversation, { agent: event.agent, manifest: event.manifest, view });
}

/** The agents from the outermost run's to this run's. */
function pathOf(run: RunState): readonly string[] {
  return run.parent === undefined ? [run.agent] : [...pathOf(run.parent), run.agent];
}

function spendTime(run: RunState, at: number): void {
  for (let each: RunState | undefined = run; each; each = each.parent) {
    if (at > each.lastAt) each.activeMs += at - each.lastAt;
    each.lastAt = at;
  }
}

function reopen(run: RunState): void {
  // A last answer under a limit is none once the run goes on; any other stands.
  if (run.finalizing !== undefined || run.ended?.status === 'exhausted') run.answer = undefined;
  run.ended = undefined;
  run.ending = undefined;
  run.limitHit = undefined;
  run.forced = undefined;
  run.finalizing = undefined;
  run.hasLastAnswer = false;
  run.empties = 0;
  run.repairs = 0;
  run.repeated = 0;
  run.unpriced = undefined;
  run.uncounted = undefined;
  const last = run.conversation.activations.at(-1);
  if (last) last.end = undefined;
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

function endAnswer(run: RunState, event: ModelEndEvent): void {
  // What a quarantined answer used was counted when it was put there.
  if (run.quarantine === undefined) spendUsage(run, event);
  run.quarantine = undefined;
  if (event.status === 'aborted') return;
  run.hasLastAnswer = run.finalizing !== undefined;
  run.note = undefined;
  if (event.status === 'failed') {
    if (event.error) run.ending = { status: 'failed', error: event.error };
    return;
  }
  run.turn += 1;
  if (event.status === 'refused') {
    repair(run, event);
    return;
  }
  run.hasThought = event.continues !== undefined && event.thought !== 'none';
  if (event.empty) {
    if (run.hasThought) run.note = goOn(event);
    else askOnceMore(run, event);
    return;
  }
  run.repairs = 0;
  run.empties = 0;
  const { id, agent, text, label, native } = event;
  const messageCalls = event.calls.map((call) => {
    const { providerId, name, input } = call;
    return providerId === undefined ? { id: call.id, name, input } : { id: call.id, providerId, name, input };
  });
  const message: AssistantMessage = { role: 'assistant', id, agent, text, calls: messageCalls, label };
  addMessage(run.conversation, native === undefined ? message : { ...message, native });
  if (event.continues !== undefined) {
    run.note = goOn(event);
    return;
  }
  // Calls of a last answer do not run: its text stands alone.
  if (event.calls.length === 0 || (run.finalizing !== undefined && event.text !== ''))
    run.answer = event.value === undefined ? { text: event.text } : { text: event.text, value: event.value };
  if (event.calls.length === 0) return;
  run.openIndex = run.conversation.messages.length - 1;
  const calls = new Map<string, CallState>();
  run.calls = calls;
  for (const call of event.calls) {
    calls.set(call.id, {
      call,
      input: call.input,
      path: `${run.id}/${call.id}`,
      key: undefined,
      brief: undefined,
      revision: call.revision,
      givenRevision: 0,
      changedFields: call.changedFields,
      phase: 'prepared',
      approval: undefined,
      decision: undefined,
      asksAnew: undefined,
      wasStarted: false,
      isCounted: false,
      end: undefined,
      returned: undefined,
    });
    if (call.end?.refusal?.action === 'halt') run.ending ??= { status: 'blocked', refusal: call.end.refusal };
  }
}

/** A refused answer, or one that does not fit: the model is asked again while repairs are left. */
function repair(run: RunState, { refusal, misfit = '', unread }: ModelEndEvent): void {
  run.repairs += 1;
  const isSpent = run.repairs > run.limits.repairs;
  if (refusal) {
    if (isSpent || refusal.action === 'halt' || refusal.failed || refusal.by === 'model') run.ending = { status: 'blocked', refusal };
    else run.note = `Your last answer was refused: ${refusal.reason}. Give another answer.`;
    return;
  }
  if (!isSpent) {
    run.note = `Your last answer did not fit the wanted form: ${misfit}. Give the whole answer again in that form.`;
    return;
  }
  const what = unread ? 'could not be read' : 'did not fit its output schema';
  const message = `The answer of agent ${run.agent} ${what}: ${misfit}.`;
  run.ending = { status: 'failed', error: { code: 'OUTPUT_INVALID', message, isRetryable: true } };
}

const goOn = ({ continues }: ModelEndEvent): string => `Nothing was called. Call a tool, or ${continues} with the answer.`;

/** Of an answer that was empty, or lost its calls. */
function askOnceMore(run: RunState, { chars }: ModelEndEvent): void {
  const hasLost = chars !== undefined;
  run.empties += 1;
  if (run.empties === 1) {
    run.note = hasLost
      ? 'Your last answer was to call a tool, but no call came with it. Give the whole answer again, with its calls.'
      : 'Your last answer was empty. Answer, or call a tool.';
    return;
  }
  const what = hasLost ? 'without a whole answer: no call came where the answer says that it calls tools' : 'with neither text nor call';
  const message = `The model of agent ${run.agent} answered twice ${what}.`;
  run.ending = { status: 'failed', error: { code: 'MODEL_PROTOCOL', message, isRetryable: true } };
}

/** What an answer used counts here and in every run above. Left out is the status of one that waits for a person. */
function spendUsage(run: RunState, { usage, status = 'ok', model = run.model }: Spent): void {
  // Of a call that failed or was aborted nothing more can be known.
  const isWhole = status === 'ok' || status === 'refused';
  const isUnpriced = isWhole && !tellsCost(usage);
  const isUncounted = isWhole && !tellsTokens(usage);
  for (let each: RunState | undefined = run; each; each = each.parent) {
    each.usage = addUsage(each.usage, usage);
    if (isUnpriced) each.unpriced = model;
    if (isUncounted) each.uncounted = model;
  }
}

function spendShares(run: RunState, shares: readonly ModelShare[] | undefined): void {
  if (shares !== undefined) for (const share of shares) spendUsage(run, share);
}

type Spent = { readonly usage: Usage; readonly status?: ModelEndEvent['status']; readonly model?: string | undefined };

function requestApproval(run: RunState, { at, approval, turn = 0, usage, model }: ApprovalRequestEvent): void {
  run.approvals += 1;
  run.askedAt ??= new Map();
  run.askedAt.set(approval.id, at);
  if (approval.surface === 'output') {
    run.hasLastAnswer = run.finalizing !== undefined;
    run.quarantine = { approval, turn, usage: usage ?? noUsage, model, decision: undefined };
    if (usage) spendUsage(run, { usage, model });
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
  run.askedAt?.delete(event.id);
  if (run.quarantine?.approval.id === event.id) {
    run.quarantine.decision = event;
    return;
  }
  for (const call of run.calls.values()) {
    if (call.approval?.id !== event.id) continue;
    const { asks, revision } = call.approval;
    call.approval = undefined;
    if (event.input) {
      call.givenRevision = revision + 1;
      call.changedFields = event.changedFields;
      call.input = event.input;
      call.key = undefined;
      call.revision = event.revision;
    }
    // A refused edit and a given result end the call with the next event; without it they have come to nothing.
    if (event.decision === 'result') {
      if (event.once && !call.wasStarted) noteEffect(run, { callId: call.call.id, tool: call.call.name, input: call.input });
      call.wasStarted = true;
    }
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

/** A call was kept from running. Where the calls of a run above are used up, that is over too, with all between. */
function hitLimit(run: RunState, limit: LimitName): void {
  run.limitHit = limit;
  if (limit !== 'toolCalls') return;
  let top = run;
  for (let each = run.parent; each; each = each.parent) if (each.usedToolCalls >= each.limits.toolCalls) top = each;
  for (let each: RunState | undefined = run; each; each = each === top ? undefined : each.parent) each.limitHit = limit;
}

function endCall(run: RunState, event: ToolEndEvent): void {
  const call = run.calls.get(event.callId);
  if (call === undefined) return;
  call.end = event;
  spendShares(run, event.projectionUsage);
  call.phase = event.handoff ? 'handoff' : 'ended';
  call.returned = event.handoff;
  if (event.limit) hitLimit(run, event.limit);
  if (event.refusal?.action === 'halt') run.ending ??= { status: 'blocked', refusal: event.refusal };
  if (!event.polling && event.status !== 'aborted' && event.copyOf === undefined) {
    const count = recordRepeat(run, call, event.content);
    run.repeated = Math.max(run.repeated, count);
    // Where a last answer is wanted, what is open goes on to it, as at any limit.
    if (count >= run.limits.repeats * 2 && run.onLimit === 'stop') run.ending ??= { status: 'exhausted', limit: 'repeats' };
  }
  closeTurn(run);
}

function handOver(run: RunState, event: HandoffEvent): void {
  const call = run.calls.get(event.callId);
  if (call) {
    call.phase = 'ended';
    call.end = { status: 'ok', content: `Handed off to ${event.to}.`, label: developer, id: `${run.id}/${event.callId}` };
  }
  settleTurn(run);
  run.calls = noCalls;
  run.openIndex = -1;
  run.usedHandoffs += 1;
  run.repairs = 0;
  run.empties = 0;
  run.repeated = 0;
  run.repeats.clear();
  run.note = undefined;
  run.hasThought = false;
  run.suspicion = undefined;
  run.suspected = undefined;
  run.viewItems = undefined;
  run.agent = event.to;
  run.agentTurn = run.turn;
  run.manifest = { ...event.manifest, run: run.manifest.run };
  const { conversation } = run;
  const everything = withoutCall(conversation.messages, `${run.id}/${event.callId}`, event.callId);
  const view = (event.view === 'all' ? everything : resolveView(everything, event.view)).map(withoutNative);
  setView(conversation, view);
  if (event.view !== 'all') noteChanged(conversation, event.view);
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
