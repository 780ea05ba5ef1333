// Reads a log event by event, and puts each where a reader looks for it.
import { GuardloopError } from '../errors.js';
import type {
  Approval,
  ApprovalRequestEvent,
  ApprovalResolveEvent,
  GuardEntry,
  GuardVerdictEvent,
  HandoffEvent,
  HandoffRefusedEvent,
  InputAcceptEvent,
  LogEvent,
  Manifest,
  ModelEndEvent,
  ModelStartEvent,
  RecordedCall,
  RunEndEvent,
  RunResumeEvent,
  RunStartEvent,
  ToolEndEvent,
  ToolStartEvent,
} from '../state/events.js';
import { asWritten } from '../state/log.js';
import { excerpt, jsonText, textOf } from './excerpt.js';
import { placeOf } from './place.js';
import type { CallDraft, EntryDraft, HandoffDraft, TurnDraft, VerdictDraft } from './run-draft.js';
import { RunDraft } from './run-draft.js';
import type { Draft, HandoffEntry, InputEntry, ReportApproval, ReportText } from './types.js';

/** Where guardrails stood, from an event on. */
export interface StandDraft {
  readonly agent: string;
  readonly seq: number;
  readonly manifest: Manifest;
}

type Ended = Pick<ToolEndEvent, 'status' | 'content' | 'refusal'> & { readonly limit?: ToolEndEvent['limit'] };

export class RunCollector {
  readonly runs = new Map<string, RunDraft>();
  readonly roots: RunDraft[] = [];
  /** Child runs of which the log does not say at which call they stand. */
  readonly loose: RunDraft[] = [];
  readonly verdicts: VerdictDraft[] = [];
  readonly stands: StandDraft[] = [];

  constructor(private readonly maxChars: number) {}

  take(event: LogEvent): void {
    const run = this.runOf(event);
    run.root.events.push(event);
    this.tick(run, event);
    switch (event.type) {
      case 'run.start':
        this.start(run, event);
        return;
      case 'run.resume':
        this.resume(run, event);
        return;
      case 'guard.verdict':
        this.judge(run, event);
        return;
      case 'input.accept':
        this.accept(run, event);
        return;
      case 'model.start':
        this.ask(run, event);
        return;
      case 'model.end':
        this.answer(run, event);
        return;
      case 'approval.request':
        this.request(run, event);
        return;
      case 'approval.resolve':
        this.resolve(run, event);
        return;
      case 'tool.start':
        this.startCall(run, event);
        return;
      case 'tool.end':
        this.endCall(run, event);
        return;
      case 'handoff':
        this.handOver(run, event);
        return;
      case 'handoff.refused':
        this.refuseHandoff(run, event);
        return;
      case 'run.end':
        this.end(run, event);
        return;
      case 'monitor.alert':
        this.other(run, event);
        return;
      default:
        this.other(run, event satisfies never);
    }
  }

  private text(text: string): ReportText {
    return excerpt(text, this.maxChars);
  }

  /** The run of an event; one whose beginning is not here begins with what is. */
  private runOf(event: LogEvent): RunDraft {
    const known = this.runs.get(event.run);
    if (known !== undefined) {
      if (known.data.parent !== event.parent)
        throw new GuardloopError(
          'LOG_INVALID',
          `The event with the number ${event.seq} (${event.type}) names another parent of its run than the events before it. ${asWritten}`,
        );
      return known;
    }
    const parent = event.parent === undefined ? undefined : this.runs.get(event.parent);
    const run = new RunDraft(event, parent);
    this.runs.set(event.run, run);
    if (event.type !== 'run.start') {
      run.data.isPartial = true;
      run.isAccepted = event.type !== 'input.accept' && !(event.type === 'guard.verdict' && event.surface === 'input');
    }
    if (parent === undefined) this.roots.push(run);
    return run;
  }

  /** Time goes on for a run and those above it; what passed before a resume was a pause, for all that had not ended. */
  private tick(run: RunDraft, { type, at }: LogEvent): void {
    const { root } = run;
    if (type === 'run.resume') {
      const pausedMs = Math.max(0, at - root.lastAt);
      for (const each of root.family) {
        if (each.data.status !== 'open' && each !== root) continue;
        each.data.pausedMs += pausedMs;
        each.advance(at);
      }
    }
    for (let each: RunDraft | undefined = run; each; each = each.parent) each.advance(at);
  }

  private stand(run: RunDraft, agent: string, { seq, manifest }: { readonly seq: number; readonly manifest: Manifest }): void {
    run.manifest = manifest;
    this.stands.push({ agent, seq, manifest });
  }

  private start(run: RunDraft, event: RunStartEvent): void {
    run.data.limits = event.limits;
    this.stand(run, event.agent, event);
    if (event.parent === undefined || event.call === undefined) return;
    // A child run that is started again after a cut is the same run.
    attach(run, event.call);
  }

  private resume(run: RunDraft, event: RunResumeEvent): void {
    for (const each of run.root.family) each.voidWaiting();
    const before = namesIn(run.manifest);
    const after = namesIn(event.manifest);
    const pausedMs = Math.max(0, event.at - (run.root.events.at(-2)?.at ?? event.at));
    run.data.entries.push({
      ...entryOf('resume', event),
      pausedMs,
      reopens: event.reopens,
      limits: event.limits,
      come: run.manifest === undefined ? [] : after.filter((name) => !before.includes(name)),
      leave: before.filter((name) => !after.includes(name)),
    });
    run.data.status = 'open';
    if (JSON.stringify(run.manifest) === JSON.stringify(event.manifest)) run.manifest = event.manifest;
    else this.stand(run, event.agent, event);
  }

  private judge(run: RunDraft, event: GuardVerdictEvent): void {
    const { type: _type, at: _at, run: _run, agent: _agent, parent: _parent, answers: _answers, ...verdict } = event;
    const draft: VerdictDraft = { ...verdict };
    this.verdicts.push(draft);
    const place = placeOf(event, run.isAccepted);
    run.await(place.id === undefined ? place.at : `call:${place.id}`, draft);
    switch (place.at) {
      case 'input':
        this.inputOf(run, event).verdicts.push(draft);
        return;
      case 'entering':
        run.entering.push(draft);
        run.enteringCall ??= place.id;
        return;
      case 'turn':
        this.turnOf(run, event).verdicts.push(draft);
        return;
      case 'call':
      case 'handoff': {
        const id = place.id ?? '';
        const entry = place.at === 'call' ? run.calls.get(id) : (run.handoffs.get(id) ?? run.calls.get(id));
        if (draft.action === 'ask' && entry?.approvals.some(answersAt(draft.revision))) draft.isAnswered = true;
        if (entry !== undefined) entry.verdicts.push(draft);
        else if (run.unclaimed.get(id)?.push(draft) === undefined) run.unclaimed.set(id, [draft]);
        return;
      }
      default:
        place.at satisfies never;
    }
  }

  private inputOf(run: RunDraft, event: LogEvent): Draft<InputEntry> {
    if (run.input === undefined) {
      run.input = { ...entryOf('input', event), isAccepted: false, revision: 0, items: [], judged: 0 };
      run.data.entries.push(run.input);
    }
    return run.input;
  }

  private turnOf(run: RunDraft, event: LogEvent): TurnDraft {
    run.turn ??= this.newTurn(run, event, { turn: 'turn' in event ? (event.turn ?? 0) : 0, model: '' });
    return run.turn;
  }

  private newTurn(run: RunDraft, event: LogEvent, { turn, model }: { readonly turn: number; readonly model: string }): TurnDraft {
    const entry: TurnDraft = {
      ...entryOf('turn', event),
      turn,
      model,
      status: 'open',
      revision: 0,
      calls: [],
      approvals: [],
    };
    run.data.entries.push(entry);
    return entry;
  }

  private accept(run: RunDraft, event: InputAcceptEvent): void {
    // What a person says while the run is under way is an input of its own.
    if (run.input?.isAccepted) run.input = undefined;
    const entry = this.inputOf(run, event);
    if (run.isAccepted && run.enteringCall === undefined) {
      entry.verdicts.push(...run.entering);
      run.entering = [];
      run.settle((key) => key === 'entering');
    }
    run.settle((key) => key === 'input');
    run.isAccepted = true;
    entry.isAccepted = true;
    entry.revision = event.revision;
    entry.judged = event.judged?.length ?? 0;
    entry.items = event.items.map((item) => ({
      id: item.id,
      via: item.role === 'user' ? item.via : 'assistant',
      label: item.label,
      revision: revisionOf(event.revisions, item.id),
      text: this.text(item.role === 'user' ? textOf(item.parts) : item.text),
    }));
  }

  private ask(run: RunDraft, event: ModelStartEvent): void {
    // What a view wrote is judged before the call that shows it.
    const isPrepared = run.turn !== undefined && run.turn.model === '' && run.turn.status === 'open';
    const turn = isPrepared && run.turn !== undefined ? run.turn : this.newTurn(run, event, event);
    run.turn = turn;
    turn.turn = event.turn;
    turn.model = event.model;
    turn.at = event.at;
    turn.agent = event.agent;
    if (event.note !== undefined) turn.note = event.note;
    if (event.beside) turn.beside = true;
    if (event.final) turn.final = event.final;
    run.settle((key) => key === 'turn');
  }

  private answer(run: RunDraft, event: ModelEndEvent): void {
    const turn = this.turnOf(run, event);
    run.turn = undefined;
    run.settle((key) => key !== 'input' && key !== 'entering');
    turn.turn = event.turn;
    turn.status = event.status;
    turn.ms = Math.max(0, event.at - turn.at);
    turn.revision = event.revision;
    turn.usage = event.usage;
    turn.label = event.label;
    turn.calls = event.calls.map(({ id }) => id);
    const answered = event.value === undefined ? event.text : jsonText(event.value);
    if (answered !== '') turn.text = this.text(answered);
    if (event.reasoning !== undefined) turn.reasoning = this.text(event.reasoning);
    if (event.model !== undefined) turn.model = event.model;
    if (event.stopReason !== undefined) turn.stopReason = event.stopReason;
    if (event.chars !== undefined) turn.refusedChars = event.chars;
    if (event.refusal !== undefined) turn.refusal = event.refusal;
    if (event.misfit !== undefined) turn.misfit = event.misfit;
    if (event.empty) turn.isEmpty = true;
    if (event.error !== undefined) turn.error = event.error;
    for (const call of event.calls) this.prepare(run, event, call);
    // Calls of an answer that was not recorded: their verdicts belong to the answer.
    for (const verdicts of run.unclaimed.values()) turn.verdicts.push(...verdicts);
    run.unclaimed.clear();
  }

  private prepare(run: RunDraft, event: ModelEndEvent, call: RecordedCall): void {
    const verdicts = run.unclaimed.get(call.id) ?? [];
    run.unclaimed.delete(call.id);
    if (call.kind === 'handoff') {
      const handoff = this.newHandoff(run, event, { id: call.id, to: call.handoff?.to ?? '' });
      handoff.verdicts.push(...verdicts);
      handoff.revision = call.revision;
      if (call.handoff !== undefined) handoff.brief = this.text(call.handoff.brief);
      if (call.end !== undefined) this.endHandoff(handoff, call.end);
      return;
    }
    const entry = this.newCall(run, event, { id: call.id, tool: call.name });
    entry.verdicts.push(...verdicts);
    entry.callKind = call.kind;
    entry.revision = call.revision;
    if (call.copyOf !== undefined) entry.copyOf = call.copyOf;
    if (call.end === undefined) entry.input = this.text(jsonText(call.input));
  }

  private newCall(run: RunDraft, event: LogEvent, { id, tool }: { readonly id: string; readonly tool: string }): CallDraft {
    const entry: CallDraft = {
      ...entryOf('call', event),
      callId: id,
      tool,
      callKind: 'tool',
      status: 'open',
      isStarted: false,
      revision: 0,
      outputRevision: 0,
      approvals: [],
    };
    run.calls.set(id, entry);
    run.data.entries.push(entry);
    return entry;
  }

  private newHandoff(run: RunDraft, event: LogEvent, { id, to }: { readonly id: string; readonly to: string }): HandoffDraft {
    const entry: HandoffDraft = {
      ...entryOf('handoff', event),
      callId: id,
      from: event.agent,
      to,
      status: 'open',
      revision: 0,
      approvals: [],
      leave: [],
      come: [],
      stay: [],
    };
    run.handoffs.set(id, entry);
    run.data.entries.push(entry);
    return entry;
  }

  private request(run: RunDraft, event: ApprovalRequestEvent): void {
    const { approval } = event;
    const draft = this.approvalOf(event);
    // One of another surface that a later version may know is no call's.
    if (approval.surface === 'output' || approval.callId === undefined) {
      const turn = this.turnOf(run, event);
      run.open.set(approval.id, { approval: draft, entry: turn });
      turn.status = 'waiting';
      turn.approvals.push(draft);
      if (event.usage !== undefined) turn.usage = event.usage;
      if (event.model !== undefined) turn.model = event.model;
      turn.ms ??= Math.max(0, event.at - turn.at);
      run.settle((key) => key !== 'input' && key !== 'entering');
      return;
    }
    const { callId, tool } = approval;
    run.settle((key) => key === `call:${callId}`);
    const entry = run.handoffs.get(callId) ?? run.calls.get(callId) ?? this.newCall(run, event, { id: callId, tool });
    run.open.set(approval.id, { approval: draft, entry });
    entry.status = 'waiting';
    entry.approvals.push(draft);
  }

  private approvalOf({ seq, at, approval }: ApprovalRequestEvent): Draft<ReportApproval> {
    const { id, surface, agentPath, revision, digest, reason, asks } = approval;
    const draft: Draft<ReportApproval> = {
      ...{ id, seq, at, surface, revision, digest, reason },
      agentPath: [...agentPath],
      asks: [...asks],
      // A log of an earlier version does not tell these.
      untrustedFrom: [...(approval.untrustedFrom ?? [])],
      rewrites: [...(approval.rewrites ?? [])],
      changedFields: approval.surface === 'toolInput' ? [...(approval.changedFields ?? [])] : [],
    };
    noteContent(draft, approval, (text) => this.text(text));
    return draft;
  }

  private resolve(run: RunDraft, event: ApprovalResolveEvent): void {
    const asked = run.open.get(event.id);
    run.open.delete(event.id);
    if (asked === undefined) return;
    const { approval, entry } = asked;
    const decided: Draft<NonNullable<ReportApproval['decision']>> = {
      seq: event.seq,
      at: event.at,
      decision: event.decision,
      waitedMs: Math.max(0, event.at - approval.at),
    };
    if (event.decidedBy !== undefined) decided.by = this.text(event.decidedBy);
    if (event.byStanding !== undefined) decided.byStanding = event.byStanding;
    if (event.standing !== undefined) {
      const { tool, when, exact, expiresAt } = event.standing;
      decided.standing = { tool, when: this.text(jsonText(when)), exact, expiresAt };
    }
    if (event.reason !== undefined) decided.reason = event.reason;
    if (event.input !== undefined) decided.input = this.text(jsonText(event.input));
    if (event.changed) decided.changed = true;
    approval.decision = decided;
    if (entry.kind === 'turn') return;
    entry.status = 'open';
    run.settle((key) => key === `call:${entry.callId}`);
    if (entry.kind === 'call' && event.input !== undefined) {
      entry.input = this.text(jsonText(event.input));
      entry.revision = event.revision;
    }
  }

  private startCall(run: RunDraft, event: ToolStartEvent): void {
    const entry = run.calls.get(event.callId) ?? this.newCall(run, event, { id: event.callId, tool: event.tool });
    entry.isStarted = true;
    entry.status = 'open';
    entry.revision = event.revision;
    entry.input = this.text(jsonText(event.input));
    run.started.set(event.callId, event.at);
  }

  private endCall(run: RunDraft, event: ToolEndEvent): void {
    const { callId, tool } = event;
    run.settle((key) => key === `call:${callId}`);
    const handoff = run.handoffs.get(callId);
    if (handoff !== undefined) {
      this.enterHandoff(run, handoff);
      this.endHandoff(handoff, event);
      return;
    }
    const entry = run.calls.get(callId) ?? this.newCall(run, event, { id: callId, tool });
    const began = run.started.get(callId);
    entry.status = event.status;
    if (began !== undefined) entry.ms = Math.max(0, event.at - began);
    entry.output = this.text(textOf(event.content));
    entry.outputRevision = event.revision;
    entry.outputChars = event.chars;
    entry.label = event.label;
    if (event.details !== undefined) entry.details = this.text(jsonText(event.details));
    if (event.errorClass !== undefined) entry.errorClass = event.errorClass;
    if (event.note !== undefined) entry.note = event.note;
    if (event.refusal !== undefined) entry.refusal = event.refusal;
    if (event.projection !== undefined) entry.projection = event.projection;
    if (event.copyOf !== undefined) entry.copyOf = event.copyOf;
    if (event.limit !== undefined) entry.limit = event.limit;
    if (event.handoff !== undefined) {
      const returned = this.newHandoff(run, event, { id: callId, to: event.handoff.to });
      returned.brief = this.text(event.handoff.brief);
    }
  }

  /** What was asked on the target's behalf belongs to the handoff. */
  private enterHandoff(run: RunDraft, handoff: HandoffDraft): void {
    if (run.entering.length === 0 || (run.enteringCall ?? handoff.callId) !== handoff.callId) return;
    run.settle((key) => key === 'entering' || key === `call:${handoff.callId}`);
    handoff.verdicts.push(...run.entering);
    run.entering = [];
    run.enteringCall = undefined;
  }

  private endHandoff(handoff: HandoffDraft, { status, content, refusal, limit }: Ended): void {
    handoff.status = status === 'rejected' || status === 'aborted' ? status : 'refused';
    handoff.output = this.text(textOf(content));
    if (refusal !== undefined) handoff.refusal = refusal;
    if (limit !== undefined) handoff.limit = limit;
  }

  private handOver(run: RunDraft, event: HandoffEvent): void {
    const { callId, from, to } = event;
    const entry = run.handoffs.get(callId) ?? this.newHandoff(run, event, { id: callId, to });
    this.enterHandoff(run, entry);
    run.settle((key) => key === `call:${callId}` || key === 'entering');
    entry.status = 'done';
    entry.from = from;
    entry.to = to;
    entry.brief = this.text(event.brief);
    entry.revision = event.revision;
    entry.view = typeof event.view === 'string' ? 'all' : event.view.length;
    swap(entry, run.manifest, event.manifest);
    this.stand(run, to, { seq: event.seq, manifest: { ...event.manifest, run: run.manifest?.run ?? event.manifest.run } });
  }

  private refuseHandoff(run: RunDraft, event: HandoffRefusedEvent): void {
    const entry = run.handoffs.get(event.callId) ?? this.newHandoff(run, event, { id: event.callId, to: '' });
    this.enterHandoff(run, entry);
    run.settle((key) => key === `call:${event.callId}`);
    this.endHandoff(entry, event);
  }

  private end(run: RunDraft, event: RunEndEvent): void {
    run.settle(() => true);
    this.leaveOpen(run, event);
    run.data.status = event.status;
    run.open.clear();
    const { status, text, reply, refusal, limit, error, cause } = event;
    run.data.entries.push({
      ...entryOf('end', event),
      status,
      ...(text === undefined ? {} : { text: this.text(text) }),
      ...(reply === undefined ? {} : { reply }),
      ...(refusal === undefined ? {} : { refusal }),
      ...(limit === undefined ? {} : { limit }),
      ...(error === undefined ? {} : { error }),
      ...(cause === undefined ? {} : { cause: [cause.name, cause.code].filter((word) => word !== undefined).join(' ') }),
    });
  }

  /** The log has ended. A child run that nothing puts at a call stands for itself. */
  close(last: LogEvent): void {
    for (const run of this.runs.values()) {
      this.leaveOpen(run, last);
      if (run.parent === undefined || run.isAttached) continue;
      const call = run.data.id.startsWith(`${run.parent.data.id}/`) ? run.data.id.slice(run.parent.data.id.length + 1) : '';
      if (!attach(run, call)) this.loose.push(run);
    }
  }

  /** Verdicts whose answer, call or handoff never came stand with the turn in which they fell. */
  private leaveOpen(run: RunDraft, event: LogEvent): void {
    const left = [...[...run.unclaimed.values()].flat(), ...run.entering];
    run.unclaimed.clear();
    run.entering = [];
    run.enteringCall = undefined;
    if (left.length > 0) this.turnOf(run, event).verdicts.push(...left);
    run.turn = undefined;
  }

  private other(run: RunDraft, event: LogEvent): void {
    const { seq: _seq, at: _at, run: _run, agent: _agent, parent: _parent, type, ...rest } = event;
    run.data.entries.push({ ...entryOf('other', event), type, text: this.text(jsonText(rest as never)) });
  }
}

/** Puts a child run at the call that started it, if that is known. */
function attach(run: RunDraft, id: string): boolean {
  const call = run.parent?.calls.get(id);
  if (call === undefined || (call.run !== undefined && call.run.id !== run.data.id)) return false;
  call.run = run.data as unknown as NonNullable<CallDraft['run']>;
  run.isAttached = true;
  return true;
}

function entryOf<K extends EntryDraft['kind']>(kind: K, { seq, at, agent }: LogEvent) {
  return { kind, seq, at, agent, verdicts: [] as VerdictDraft[] };
}

function noteContent(draft: Draft<ReportApproval>, approval: Approval, text: (text: string) => ReportText): void {
  if (approval.surface === 'output') {
    draft.chars = approval.chars;
    return;
  }
  draft.input = approval.surface === 'handoff' ? text(approval.brief) : text(jsonText(approval.input));
  if (approval.surface === 'toolInput' && approval.mayHaveRun) draft.mayHaveRun = true;
  if (approval.surface === 'toolInput' && approval.caller) draft.caller = true;
  if (approval.surface === 'toolInput') draft.flow = approval.flow;
}

const answersAt =
  (revision: number) =>
  ({ decision, revision: asked }: ReportApproval): boolean =>
    decision !== undefined && decision.decision === 'approve' && asked === revision;

/** Ids are words of the log, also such as every object has. */
const revisionOf = (revisions: InputAcceptEvent['revisions'], id: string): number =>
  revisions !== undefined && Object.hasOwn(revisions, id) ? (revisions[id] ?? 0) : 0;

const namesOf = (entries: readonly GuardEntry[]): string[] => entries.map(({ name }) => name);

/** Names of all guardrails of a manifest. */
function namesIn(manifest: Manifest | undefined): string[] {
  if (manifest === undefined) return [];
  return [...new Set([...namesOf(manifest.run), ...namesOf(manifest.agent), ...Object.values(manifest.tools).flatMap(namesOf)])];
}

function swap(entry: Draft<HandoffEntry>, before: Manifest | undefined, after: Manifest): void {
  const left = namesOf(before?.agent ?? []);
  const come = namesOf(after.agent);
  entry.leave = left.filter((name) => !come.includes(name));
  entry.come = come.filter((name) => !left.includes(name));
  entry.stay = [...namesOf(before?.run ?? after.run), ...come.filter((name) => left.includes(name))];
}
