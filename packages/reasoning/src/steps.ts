import type {
  CallStatus,
  Completeness,
  ErrorClass,
  Log,
  LogEvent,
  ModelEndEvent,
  Part,
  RecordedCall,
  ThoughtPlace,
  ToolEndEvent,
} from '@guardloop/core';
import type { JsonObject } from '@guardloop/core/model';

/** A thought, and where it stands. `text` is missing where the log does not hold it: reasoning that was not shown, or is encrypted. */
export interface StepThought {
  readonly place: ThoughtPlace;
  readonly text?: string | undefined;
  /** It was given in the turn before, alone. */
  readonly isEarlier?: true | undefined;
}
/** What was done. `none`: a thought alone, or an answer that was not recorded. */
export type StepAction =
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly input: JsonObject }
  | { readonly kind: 'handoff'; readonly id: string; readonly name: string; readonly to: string }
  | { readonly kind: 'stop'; readonly answer: string }
  | { readonly kind: 'none' };
/** What came of it, as the model sees it. */
export interface StepObservation {
  readonly text: string;
  /** How much of the result the model sees; `empty` also where the call came to none. */
  readonly completeness: Completeness;
  /** Core's own words beside it. */
  readonly note?: string | undefined;
  readonly errorClass?: ErrorClass | undefined;
  readonly retryable?: boolean | undefined;
}
/**
 * How a step ended: as its call did; `waiting` for a person; `open` where the log was cut; `final` for an answer, `thought` for a thought alone;
 * `refused`, `failed`, `empty` or `aborted` for an answer of which nothing is recorded.
 */
export type StepStatus = CallStatus | 'waiting' | 'open' | 'final' | 'thought' | 'refused' | 'failed' | 'empty';
/** One turn of thought, action and observation; of parallel calls, each is a step of its own. */
export interface Step {
  readonly run: string;
  readonly parent?: string | undefined;
  readonly agent: string;
  readonly turn: number;
  /** Of the model's answer. */
  readonly seq: number;
  readonly thought: StepThought;
  readonly action: StepAction;
  readonly observation?: StepObservation | undefined;
  readonly status: StepStatus;
  /** The slot in which a fault lies, and what it is. */
  readonly fault?: { readonly slot: 'thought' | 'action' | 'observation' | 'stop'; readonly why: string } | undefined;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** The steps of all runs of a log, child runs included, by the order in which their answers came. Any part of a log will do. */
export function steps(log: Log): readonly Step[] {
  const reading = new Reading();
  for (const event of log.events) reading.take(event);
  return reading.steps;
}

/** Every action before which no thought came: neither in its own turn nor, alone, in the one before. Reads logs of any mode. */
export function checkInvariant(log: Log): readonly Step[] {
  return steps(log).filter(({ action, thought }) => action.kind !== 'none' && thought.place === 'none');
}

class Reading {
  readonly steps: Writable<Step>[] = [];
  /** Steps whose calls may still end, by run and call. */
  private readonly open = new Map<string, Writable<Step>>();
  private readonly approvals = new Map<string, Writable<Step>>();
  /** The thought that stands alone in the latest answer, by run. */
  private readonly alone = new Map<string, StepThought>();
  private readonly quarantined = new Map<string, Writable<Step>>();

  take(event: LogEvent): void {
    switch (event.type) {
      case 'model.end':
        this.answer(event);
        return;
      case 'tool.end':
        this.end(event.run, event, event.handoff !== undefined);
        return;
      case 'handoff.refused':
        this.end(event.run, event, false);
        return;
      case 'handoff': {
        const step = this.open.get(`${event.run}/${event.callId}`);
        if (step)
          settle(step, { status: 'ok', observation: step.observation ?? { text: `Handed off to ${event.to}.`, completeness: 'full' } });
        for (const [key, other] of this.open) if (other.run === event.run && other.status === 'open') this.open.delete(key);
        this.alone.delete(event.run);
        return;
      }
      case 'approval.request': {
        const { approval } = event;
        const step = approval.surface === 'output' ? this.hold(event) : this.open.get(`${approval.run}/${approval.callId}`);
        if (step === undefined) return;
        step.status = 'waiting';
        this.approvals.set(approval.id, step);
        return;
      }
      case 'approval.resolve': {
        const step = this.approvals.get(event.id);
        if (step?.status === 'waiting') step.status = 'open';
        if (step?.action.kind === 'call' && event.input) step.action = { ...step.action, input: event.input };
        return;
      }
      default:
    }
  }

  /** An answer that waits for a person: its `model.end` follows. */
  private hold({ run, parent, agent, turn = 0, seq }: Extract<LogEvent, { type: 'approval.request' }>): Writable<Step> {
    const step = newStep({ run, parent, agent, turn, seq }, { place: 'none' }, { kind: 'none' });
    this.quarantined.set(run, step);
    this.steps.push(step);
    return step;
  }

  private answer(event: ModelEndEvent): void {
    const held = this.quarantined.get(event.run);
    if (held) this.steps.splice(this.steps.indexOf(held), 1);
    this.quarantined.delete(event.run);
    const own = thoughtOf(event);
    const before = this.alone.get(event.run);
    const thought = own.place === 'none' && before && event.status === 'ok' ? ({ ...before, isEarlier: true } as const) : own;
    const add = (action: StepAction): Writable<Step> => {
      const step = newStep(event, thought, action);
      this.steps.push(step);
      return step;
    };
    if (event.status !== 'ok') {
      const step = add({ kind: 'none' });
      step.status = event.status;
      const why = event.refusal?.reason ?? event.misfit ?? event.error?.message;
      if (why !== undefined) step.fault = { slot: event.misfit !== undefined || event.refusal ? 'stop' : 'action', why };
      return;
    }
    this.alone.delete(event.run);
    if (event.calls.length === 0) {
      this.last(event, own, add);
      return;
    }
    for (const call of event.calls) {
      const step = add(actionOf(call));
      if (call.end) settle(step, { status: call.end.status, observation: observationOf(call.end) });
      else this.open.set(`${event.run}/${call.id}`, step);
      step.fault = faultOf(step);
    }
  }

  /** An answer without calls. */
  private last(event: ModelEndEvent, own: StepThought, add: (action: StepAction) => Writable<Step>): void {
    const isThought = event.continues !== undefined;
    const step = add(isThought || event.empty ? { kind: 'none' } : { kind: 'stop', answer: event.text });
    if (isThought && own.place !== 'none') {
      step.status = 'thought';
      this.alone.set(event.run, own);
    } else step.status = event.empty ? 'empty' : 'final';
    if (event.empty && own.place === 'none') step.fault = { slot: 'thought', why: 'the answer was empty' };
    else step.fault = faultOf(step);
  }

  private end(run: string, event: Ended & Pick<ToolEndEvent, 'callId'>, goesOn: boolean): void {
    const key = `${run}/${event.callId}`;
    const step = this.open.get(key);
    if (step === undefined) return;
    settle(step, { status: event.status, observation: observationOf(event) });
    if (!goesOn) this.open.delete(key);
  }
}

function newStep(
  { run, parent, agent, turn, seq }: Pick<ModelEndEvent, 'run' | 'parent' | 'agent' | 'turn' | 'seq'>,
  thought: StepThought,
  action: StepAction,
): Writable<Step> {
  const step: Writable<Step> = { run, agent, turn, seq, thought, action, status: 'open' };
  if (parent !== undefined) step.parent = parent;
  return step;
}

function settle(step: Writable<Step>, { status, observation }: Required<Pick<Step, 'status' | 'observation'>>): void {
  step.status = status;
  step.observation = observation;
  step.fault = faultOf(step);
}

/** In an agent without a mode the place is not recorded, but can be seen. */
function thoughtOf({ thought, text, reasoning, calls, usage, status }: ModelEndEvent): StepThought {
  const isAnswer = calls.length === 0;
  const place =
    thought ??
    (!isAnswer && text !== '' ? 'text' : reasoning !== undefined ? 'thinking' : (usage.reasoningTokens ?? 0) > 0 ? 'unreadable' : 'none');
  if (status !== 'ok') return { place: thought ?? 'none' };
  const said = place === 'text' && thought !== undefined && reasoning !== undefined && !isAnswer ? `${text}\n${reasoning}` : undefined;
  const isInText = place === 'text' && !(isAnswer && reasoning !== undefined);
  const words = said ?? (isInText ? text : reasoning);
  return words === undefined || place === 'none' || place === 'unreadable' ? { place } : { place, text: words };
}

function actionOf({ id, name, input, kind, handoff }: RecordedCall): StepAction {
  return kind === 'handoff' && handoff ? { kind: 'handoff', id, name, to: handoff.to } : { kind: 'call', id, name, input };
}

type Ended = Pick<ToolEndEvent, 'content' | 'note' | 'errorClass' | 'retryable' | 'status'> & {
  readonly completeness?: Completeness | undefined;
};

/** Ends of calls that did not run say nothing of completeness, nor do old logs. */
function observationOf({ content, note, errorClass, retryable, status, completeness }: Ended): StepObservation {
  const text = textOf(content);
  const observation: Writable<StepObservation> = {
    text,
    completeness: completeness ?? (status === 'ok' && text !== '' ? 'full' : 'empty'),
  };
  if (note !== undefined) observation.note = note;
  if (errorClass !== undefined) observation.errorClass = errorClass;
  if (retryable !== undefined) observation.retryable = retryable;
  return observation;
}

const textOf = (content: string | readonly Part[]): string =>
  typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n');

/** What the model did wrong is in the action; what the world did, in the observation. */
const inAction: ReadonlySet<ErrorClass> = new Set(['invalid_input', 'unknown_tool', 'denied', 'rejected', 'aborted']);

function faultOf({ thought, action, observation, status }: Step): Step['fault'] {
  if (action.kind !== 'none' && action.kind !== 'stop' && thought.place === 'none' && observation?.errorClass === 'invalid_input')
    return { slot: 'thought', why: 'no thought came before the action' };
  if (observation === undefined || status === 'ok')
    return observation?.completeness === 'empty' ? { slot: 'observation', why: 'it is empty' } : undefined;
  const { errorClass = 'failed' } = observation;
  const ran = status === 'unknown' || (status === 'error' && !inAction.has(errorClass));
  return { slot: ran ? 'observation' : 'action', why: `${status}, ${errorClass}` };
}
