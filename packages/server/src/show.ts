// What clients see of runs, approvals and sessions. Everything that leaves goes through here.
import type { Decision, JsonValue, LogEvent, RunEndEvent, ToolEndEvent } from '@guardloop/core';
import type { NumberedEvent, RunInfo } from '@guardloop/durable';
import type { ApprovalRecord, SessionRecord } from '@guardloop/store';
import type { ApprovalView, ClientEvent, OutcomeView, RunView, SessionView } from './views.js';

/** What is shown beyond what the person may see anyway: the answer, names of tools and how their calls ended, and what they are asked. */
export interface Show {
  /** Inputs and results of these tools. They were guarded on their way to tool and model, not on `output`. Default none. */
  readonly tools?: readonly string[] | 'all' | undefined;
  /** Names and reasons of guardrails that refused. They tell how to get round them. Default false. */
  readonly reasons?: boolean | undefined;
  /** Handoffs, and what agents used as tools do. Default false. */
  readonly agents?: boolean | undefined;
  /** Codes and messages of failures, limits, queues and attempts, and who decided where it was not who looks. Default false. */
  readonly system?: boolean | undefined;
}
export const internalShow: Show = { tools: 'all', reasons: true, agents: true, system: true };

export const showsTool = (show: Show, tool: string): boolean => show.tools === 'all' || (show.tools?.includes(tool) ?? false);

/** Where a call was refused, by a guardrail or in an agent used as a tool, its content says why. */
export const showsContent = (show: Show, { tool, refusal, errorClass }: Pick<ToolEndEvent, 'tool' | 'refusal' | 'errorClass'>): boolean =>
  showsTool(show, tool) && ((refusal === undefined && errorClass !== 'denied') || show.reasons === true);

export function runView(run: RunInfo, show: Show): RunView {
  const { id, session, agent, state, status, createdAt, updatedAt, cancelling, trouble } = run;
  return {
    id,
    session,
    agent,
    state,
    createdAt,
    updatedAt,
    ...(status === undefined ? {} : { status }),
    ...(cancelling === undefined || state === 'ended' ? {} : { cancelling: true }),
    ...(show.system === true ? { queue: run.queue, dueAt: run.dueAt, attempts: run.attempts } : {}),
    ...(show.system === true && run.owner !== undefined ? { owner: run.owner } : {}),
    ...(show.system === true && trouble !== undefined ? { trouble } : {}),
  };
}

/** How a run ended: of its last event. */
export type RunOutcome = Pick<RunEndEvent, 'status' | 'text' | 'value' | 'refusal' | 'reply' | 'limit' | 'error'>;

export function outcomeView(outcome: RunOutcome, show: Show): OutcomeView {
  const { status, text, value, reply, refusal, limit, error } = outcome;
  return {
    status,
    ...(text === undefined ? {} : { text }),
    ...(value === undefined ? {} : { value }),
    ...(reply === undefined ? {} : { reply }),
    ...(refusal === undefined || show.reasons !== true
      ? {}
      : { refusal: { by: refusal.by, surface: refusal.surface, reason: refusal.reason } }),
    ...(limit === undefined || show.system !== true ? {} : { limit }),
    ...(error === undefined || show.system !== true ? {} : { error: { code: error.code, message: error.message } }),
  };
}

const showsDecider = (decidedBy: string | undefined, { show, user }: Pick<ApprovalStance, 'show' | 'user'>): boolean =>
  decidedBy !== undefined && (show.system === true || decidedBy === user);

const kindOf = (decision: Decision): NonNullable<ApprovalView['decision']> => {
  if (decision === 'approve') return 'approve';
  if ('approve' in decision) return 'standing';
  if ('reject' in decision) return 'reject';
  return 'edit' in decision ? 'edit' : 'result';
};

/** To whom an approval is shown. */
export interface ApprovalStance {
  readonly mayDecide: boolean;
  readonly show: Show;
  /** Who looks. They see of a decision that it was theirs. */
  readonly user: string;
}

/** The question is shown as the log has it, word for word. */
export function approvalView(record: ApprovalRecord, { mayDecide, show, user }: ApprovalStance): ApprovalView {
  const { id, session, run, state, approval, requestedAt, expiresAt, decision, decidedBy, decidedAt, owner } = record;
  return {
    id,
    session,
    run,
    state,
    mayDecide: mayDecide && state === 'open',
    approval,
    requestedAt,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(decision === undefined ? {} : { decision: kindOf(decision) }),
    ...(showsDecider(decidedBy, { show, user }) ? { decidedBy } : {}),
    ...(decidedAt === undefined ? {} : { decidedAt }),
    ...(owner === undefined || show.system !== true ? {} : { owner }),
  };
}

export function sessionView(session: SessionRecord, show: Show): SessionView {
  const { id, run, agent, status, events, createdAt, updatedAt, expiresAt, owner } = session;
  return {
    id,
    events,
    createdAt,
    updatedAt,
    ...(run === undefined ? {} : { run }),
    ...(agent === undefined ? {} : { agent }),
    ...(status === undefined ? {} : { status }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(owner === undefined || show.system !== true ? {} : { owner }),
  };
}

/** How one event is shown to one client. `mayDecide`: of the approval that it asks for. */
export interface EventStance {
  readonly root: string;
  readonly show: Show;
  readonly user: string;
  /** Asked for approvals alone. `undefined`: they may not even read it. */
  readonly approval: (id: string) => Promise<{ readonly mayDecide: boolean } | undefined>;
}

/** The event as the client may see it; undefined where there is nothing for it. */
export async function clientEvent({ event }: NumberedEvent, stance: EventStance): Promise<ClientEvent | undefined> {
  const { root, show } = stance;
  const isChild = event.run !== root;
  // People are asked by whichever agent; all else that child runs do is between agents.
  if (isChild && show.agents !== true && event.type !== 'approval.request' && event.type !== 'approval.resolve') return undefined;
  const child = isChild ? { run: event.run } : {};
  switch (event.type) {
    case 'text.delta':
      return { type: 'text.delta', turn: event.turn, text: event.text, ...child };
    case 'text.retract':
      return { type: 'text.retract', turn: event.turn, chars: event.chars, ...child };
    case 'model.end':
      return event.status === 'ok' && event.text !== '' ? { type: 'text.end', turn: event.turn, ...child } : undefined;
    case 'tool.start':
      return {
        type: 'tool.start',
        callId: event.callId,
        tool: event.tool,
        ...(showsTool(show, event.tool) ? { input: event.input } : {}),
        ...child,
      };
    case 'tool.end':
      return {
        type: 'tool.end',
        callId: event.callId,
        tool: event.tool,
        status: event.status,
        ...(showsContent(show, event) ? { content: event.content as JsonValue } : {}),
        ...child,
      };
    case 'approval.request': {
      const { id, surface } = event.approval;
      const may = await stance.approval(id);
      return may === undefined
        ? { type: 'approval', id, surface, mayDecide: false }
        : { type: 'approval', id, surface, mayDecide: may.mayDecide, approval: event.approval };
    }
    case 'approval.resolve':
      return {
        type: 'approval.end',
        id: event.id,
        decision: event.decision,
        ...(showsDecider(event.decidedBy, stance) ? { by: event.decidedBy } : {}),
      };
    default:
      return quietEvent(event, stance, isChild);
  }
}

function quietEvent(event: LogEvent, { show }: EventStance, isChild: boolean): ClientEvent | undefined {
  switch (event.type) {
    case 'run.start':
      return { type: 'run.start', run: event.run, agent: event.agent };
    case 'run.end':
      return isChild && show.agents !== true ? undefined : { type: 'run.end', run: event.run, outcome: outcomeView(event, show) };
    case 'handoff':
      return show.agents === true ? { type: 'handoff', from: event.from, to: event.to } : undefined;
    case 'guard.verdict':
      if (show.reasons !== true || event.action === 'allow' || event.shadow === true) return undefined;
      return {
        type: 'verdict',
        guardrail: event.guardrail,
        surface: event.surface,
        subject: event.subject,
        action: event.action,
        ...(event.reason === undefined ? {} : { reason: event.reason }),
      };
    default:
      return undefined;
  }
}
