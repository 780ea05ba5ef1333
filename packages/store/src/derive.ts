import type { ApprovalRequestEvent, ApprovalResolveEvent, Decision, LogEvent } from '@guardloop/core';
import { settledDecision } from './approval-records.js';
import type { ApprovalRecord, Belonging, SessionRecord } from './contract.js';

/** A session before a batch: what the next derivation builds on. */
export interface SessionStand extends Belonging {
  readonly id: string;
  readonly run?: string | undefined;
  readonly agent?: string | undefined;
  readonly status?: SessionRecord['status'] | undefined;
}
/** What a batch makes of a session's record, and of the approvals in it. */
export interface Derived {
  /** The last `seq`. */
  readonly events: number;
  readonly run: string | undefined;
  readonly agent: string | undefined;
  readonly status: SessionRecord['status'];
  /** Every approval that is new or was changed, whole. */
  readonly approvals: readonly ApprovalRecord[];
}

/**
 * What a batch of appended events changes in the records beside the log. Pure, and the same whether a log is derived batch by batch or
 * whole ({@link deriveAll}).
 *
 * `unsettled` are the session's approvals that are `open` or `decided`; there are some only while `session.status` is `waiting`, so a store
 * reads them only then. A store writes the result in the transaction of the append.
 */
export function deriveRecords(session: SessionStand, unsettled: readonly ApprovalRecord[], events: readonly LogEvent[]): Derived {
  const derivation = new Derivation(session, unsettled);
  for (const event of events) derivation.apply(event);
  return derivation.finish(events.at(-1)?.seq ?? 0);
}

/** The records of a whole log, made anew: for stores that were filled by other means. Answers that no run has taken up are not in a log. */
export function deriveAll(session: Belonging & { readonly id: string }, events: readonly LogEvent[]): Derived {
  const { id, owner, tenant } = session;
  return deriveRecords({ id, owner, tenant }, [], events);
}

class Derivation {
  #run: string | undefined;
  #agent: string | undefined;
  #ended: Exclude<SessionRecord['status'], 'open' | 'waiting'>;
  readonly #unsettled = new Map<string, ApprovalRecord>();
  readonly #changed = new Map<string, ApprovalRecord>();

  constructor(
    private readonly session: SessionStand,
    unsettled: readonly ApprovalRecord[],
  ) {
    const { run, agent, status } = session;
    this.#run = run;
    this.#agent = agent;
    this.#ended = status === 'open' || status === 'waiting' ? undefined : status;
    for (const record of unsettled) this.#unsettled.set(record.id, record);
  }

  apply(event: LogEvent): void {
    const isRoot = event.parent === undefined;
    if (isRoot && this.#run !== undefined) this.#agent = event.agent;
    switch (event.type) {
      case 'run.start':
        if (isRoot) this.#enter(event.run, event.agent);
        return;
      case 'run.resume':
        if (!isRoot) return;
        if (this.#run !== event.run) this.#enter(event.run, event.agent);
        if (event.reopens) this.#ended = undefined;
        return;
      case 'approval.request':
        this.#request(event);
        return;
      case 'approval.resolve':
        this.#resolve(event);
        return;
      case 'tool.end':
      case 'handoff.refused':
        this.#void(({ approval }) => approval.run === event.run && approval.surface !== 'output' && approval.callId === event.callId);
        return;
      case 'model.end':
        this.#void(({ approval }) => approval.run === event.run && approval.surface === 'output');
        return;
      case 'handoff':
        if (isRoot) this.#agent = event.to;
        return;
      case 'run.end':
        this.#void(({ run, approval }) => approval.run === event.run || (isRoot && run === event.run));
        if (isRoot) this.#ended = event.status;
        return;
      default:
        return;
    }
  }

  finish(events: number): Derived {
    const status = this.#run === undefined ? undefined : (this.#ended ?? (this.#unsettled.size > 0 ? 'waiting' : 'open'));
    return { events, run: this.#run, agent: this.#agent, status, approvals: [...this.#changed.values()] };
  }

  #enter(run: string, agent: string): void {
    this.#void(() => true);
    this.#run = run;
    this.#agent = agent;
    this.#ended = undefined;
  }

  #request({ approval, at, run }: ApprovalRequestEvent): void {
    this.#void(({ approval: earlier }) => earlier.run === approval.run && earlier.subject === approval.subject);
    const { id: session, owner, tenant } = this.session;
    const record: ApprovalRecord = {
      id: approval.id,
      session,
      run: this.#run ?? run,
      ...(owner === undefined ? {} : { owner }),
      ...(tenant === undefined ? {} : { tenant }),
      approval,
      state: 'open',
      requestedAt: at,
      reminders: 0,
    };
    this.#unsettled.set(approval.id, record);
    this.#changed.set(approval.id, record);
  }

  #resolve(event: ApprovalResolveEvent): void {
    const record = this.#unsettled.get(event.id);
    if (record === undefined) return;
    if (event.decision === 'void') {
      this.#void(({ id }) => id === event.id);
      return;
    }
    const { decision: _, ...rest } = record;
    const decision = decisionOf(event, record.decision);
    const decidedBy = event.decidedBy ?? record.decidedBy;
    this.#settle({
      ...rest,
      state: 'resolved',
      ...(decision === undefined ? {} : { decision }),
      ...(decidedBy === undefined ? {} : { decidedBy }),
      decidedAt: record.decidedAt ?? event.at,
    });
  }

  #void(isMeant: (record: ApprovalRecord) => boolean): void {
    if (this.#unsettled.size === 0) return;
    for (const record of [...this.#unsettled.values()]) {
      if (!isMeant(record)) continue;
      const { decision: given, ...rest } = record;
      const decision = settledDecision(given);
      this.#settle({ ...rest, state: 'void', ...(decision === undefined ? {} : { decision }) });
    }
  }

  #settle({ remindAt: _, ...record }: ApprovalRecord): void {
    this.#unsettled.delete(record.id);
    this.#changed.set(record.id, record);
  }
}

/** The decision as the log has it: an edit in the form that passed; not a result, which has been judged since and stands in `tool.end`. */
function decisionOf(event: ApprovalResolveEvent, given: Decision | undefined): Decision | undefined {
  switch (event.decision) {
    case 'approve':
      return settledDecision(given) ?? 'approve';
    case 'reject':
      return { reject: event.reason ?? '' };
    case 'edit':
      return event.input === undefined ? undefined : { edit: event.input };
    default:
      return undefined;
  }
}
