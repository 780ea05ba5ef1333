import { atOnce } from '../../define/at-once.js';
import type { AgentSpec } from '../../define/specs.js';
import { GuardloopError } from '../../errors.js';
import { missingEnd, modelFailure } from '../../model/failures.js';
import { leaveStream } from '../../model/leave-stream.js';
import type { Message, ModelEvent, ModelRequest, ModelSettings, StopReason, Usage } from '../../model/types.js';
import { usageOfFailure } from '../../model/usage.js';
import type { LimitName, RecordedError, Refusal } from '../../state/events.js';
import { unheldError } from '../../state/limit-reached.js';
import type { Ending } from '../../state/state.js';
import type { RawAnswer } from '../answer.js';
import { answerLabel, recordError } from '../answer.js';
import { AnswerReader, leaveMs } from '../answer-reader.js';
import { finishAnswer } from '../finish-answer.js';
import type { LogDraft, OpenModelCall, RunHandle, Settled } from '../handle.js';
import { readInMode } from '../in-mode.js';
import { isPromise } from '../is-promise.js';
import type { MadeView } from '../make-view.js';
import { makeView } from '../make-view.js';
import { modelOf, offerTools, planOf, settingsOf, standNow } from '../plan.js';
import { Release } from '../release.js';
import type { Plan } from '../stand.js';

const finalNote =
  'This is your last answer: the limit of the run is reached. Answer now with what you have, without calling tools, and say what is missing.';

type ModelStart = Extract<LogDraft, { type: 'model.start' }>;

interface Opening {
  /** What the agent sees once its input is accepted, shown to the model beside the last checks. */
  readonly beside?: readonly Message[] | undefined;
  readonly final?: LimitName | undefined;
}

/** Starts the next model call and records that. Answers with an ending when a view's own text was refused. */
export function openModelCall(handle: RunHandle, opening: Opening): Ending | undefined | Promise<Ending | undefined> {
  const planning = planOf(handle);
  return isPromise(planning) ? planning.then((plan) => viewAndOpen(handle, opening, plan)) : viewAndOpen(handle, opening, planning);
}

function viewAndOpen(handle: RunHandle, opening: Opening, plan: Plan): Ending | undefined | Promise<Ending | undefined> {
  if (handle.stop) return undefined;
  const { state } = handle;
  const making = makeView(handle, state.turn + 1, opening.beside ?? state.conversation.view);
  return isPromise(making) ? making.then((view) => open(handle, opening, { plan, view })) : open(handle, opening, { plan, view: making });
}

function withoutToolChoice({ toolChoice: _, ...settings }: ModelSettings): Omit<ModelSettings, 'toolChoice'> {
  return settings;
}

function open(
  handle: RunHandle,
  { beside, final }: Opening,
  { plan, view }: { readonly plan: Plan; readonly view: MadeView },
): Ending | undefined {
  if (view.isStopped || handle.stop) return undefined;
  if (view.refusal) return { status: 'blocked', refusal: view.refusal, viewUsage: view.usage };
  const { state } = handle;
  const { agent } = plan.stand;
  const turn = state.turn + 1;
  const model = modelOf(handle, agent, turn);
  const given = settingsOf(handle, agent, turn);
  const { toolChoice: wanted } = given;
  const { wire, names } = offerTools(handle, plan.stand, turn);
  const note = final ? finalNote : state.note;
  const isForced = wanted === 'required' || typeof wanted === 'object';
  const toolChoice = final ? 'none' : isForced && state.turn > state.agentTurn ? undefined : wanted;
  const request: { -readonly [K in keyof ModelRequest]: ModelRequest[K] } = {
    agent: agent.name,
    turn,
    system: plan.instructions,
    messages: handle.showMessages(view.messages),
    tools: wire,
    settings: wanted === undefined ? given : withoutToolChoice(given),
  };
  if (note !== undefined) request.note = note;
  if (toolChoice !== undefined) request.toolChoice = toolChoice;
  const output = wantedForm(agent, final);
  if (output !== undefined) request.output = output;
  const start: { -readonly [K in keyof ModelStart]: ModelStart[K] } = {
    type: 'model.start',
    seq: 0,
    at: 0,
    run: '',
    agent: '',
    turn,
    model: model.id,
  };
  if (view.entries) start.view = view.entries;
  if (view.usage) start.viewUsage = view.usage;
  if (beside) start.beside = true;
  if (note !== undefined) start.note = note;
  if (final !== undefined) start.final = final;
  handle.append(start);
  handle.emit({ type: 'turn.start', turn });
  if (handle.stop) {
    // Stopped by one who was told of the call: it is not made.
    recordVoid(handle, turn, { status: 'aborted', usage: { requests: 0 } });
    return undefined;
  }
  // A call beside its checks can be aborted alone; any other lives as long as the run.
  const controller = beside ? new AbortController() : undefined;
  const off = controller && handle.onStop(() => controller.abort(handle.stopReason));
  const signal = controller?.signal ?? handle.signal;
  let events: AsyncIterator<ModelEvent>;
  let stream: AsyncIterable<ModelEvent> | undefined;
  try {
    stream = model.stream(request, { signal });
    events = stream[Symbol.asyncIterator]();
  } catch (thrown) {
    atOnce(stream);
    events = { next: () => Promise.reject(thrown) };
  }
  let first: Promise<IteratorResult<ModelEvent>> | undefined;
  if (beside) {
    first = (async () => events.next())();
    first.catch(() => undefined);
  }
  handle.openModelCall = { events, first, controller, off, turn, model, names, isFinal: final !== undefined };
  return undefined;
}

/** The form of the answer; in a mode the call that ends the run has it, but for a last answer without calls. */
function wantedForm({ name, output, mode }: AgentSpec, final: LimitName | undefined): ModelRequest['output'] {
  if (output === undefined || (mode !== undefined && final === undefined)) return undefined;
  return { name: `${name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 50)}_answer`, schema: output.json };
}

/** Aborts a call that a refusal made useless, and records that it happened. */
export async function closeModelCall(handle: RunHandle): Promise<void> {
  const open = handle.openModelCall;
  if (open === undefined) return;
  handle.openModelCall = undefined;
  open.off?.();
  open.controller?.abort(new DOMException('The answer is not needed any more.', 'AbortError'));
  const thrown = await leave(handle, open);
  recordVoid(handle, open.turn, { status: 'aborted', usage: usageOfFailure(thrown, 1) });
}

/** Lets an aborted model come to rest, but not for long. Answers with what it threw. */
async function leave(handle: RunHandle, open: OpenModelCall): Promise<unknown> {
  let thrown: unknown;
  await new Promise<void>((resolve) => {
    const stopTimer = handle.root.clock.after(leaveMs, () => {
      leaveStream(open.events);
      resolve();
    });
    const rest = async () => {
      await open.first?.catch((error: unknown) => {
        thrown = error;
      });
      await open.events.return?.();
    };
    const over = (): void => {
      stopTimer();
      resolve();
    };
    rest().then(over, over);
  });
  return thrown;
}

/** An answer of which nothing is recorded but that it came. */
interface VoidAnswer {
  readonly status: 'aborted' | 'failed' | 'refused';
  readonly usage: Usage;
  readonly error?: RecordedError;
  readonly refusal?: Refusal;
  readonly chars?: number;
  readonly stopReason?: StopReason;
  readonly model?: string;
  readonly misfit?: string;
  readonly unread?: true;
}

function recordVoid(handle: RunHandle, turn: number, answer: VoidAnswer): void {
  handle.append({
    type: 'model.end',
    turn,
    id: `${handle.state.id}/${turn}`,
    text: '',
    revision: 0,
    calls: [],
    label: answerLabel(handle),
    ...answer,
  });
}

/** One model call: read, judge, prepare its calls, record. */
export async function callModel(handle: RunHandle, final?: LimitName): Promise<Ending | undefined> {
  if (handle.openModelCall === undefined) {
    const opening = openModelCall(handle, { final });
    const ending = isPromise(opening) ? await opening : opening;
    if (ending !== undefined) return ending;
  }
  const open = handle.openModelCall;
  if (open === undefined || handle.stop) {
    await closeModelCall(handle);
    return undefined;
  }
  handle.openModelCall = undefined;
  const { agent, output: guards } = standNow(handle);
  const label = answerLabel(handle);
  const { turn, names, isFinal } = open;
  // In a mode, text is a thought, and the answer comes with a call.
  const isThought = agent.mode !== undefined && !isFinal;
  const release = new Release(handle, { turn, guards, isStructured: agent.output !== undefined || isThought, label });
  const reader = new AnswerReader(handle, open, { release, isUnguarded: guards.length === 0, isThought });
  const settled = await handle.wait(reader.read());
  reader.isOver = true;
  open.off?.();
  const answer = answerOf({ handle, open, release, reader, settled, isThought });
  try {
    if (isPromise(answer)) await answer;
    else if (answer !== undefined)
      await finishAnswer(handle, isFinal ? answer : readInMode(handle, agent, answer), {
        turn,
        names,
        isFinal,
        release,
        label,
        isReasoningShown: reader.isReasoningShown,
      });
  } catch (thrown) {
    release.retract('the run failed');
    throw thrown;
  }
  const unheld = unheldError(handle.state);
  if (unheld !== undefined) handle.emit({ type: 'model.warning', turn, about: 'limit', message: unheld.message });
  return undefined;
}

/** A model call that was waited for. */
interface ReadCall {
  readonly handle: RunHandle;
  readonly open: OpenModelCall;
  readonly release: Release;
  readonly reader: AnswerReader;
  readonly settled: Settled<void>;
  /** Text alone does not end the run. */
  readonly isThought: boolean;
}

/** The whole answer of a call. Of one that gave none, or none to go on with, it is recorded that it came. */
function answerOf({ handle, open, release, reader, settled, isThought }: ReadCall): RawAnswer | undefined | Promise<undefined> {
  const { turn } = open;
  const { end, text } = reader;
  const chars = text.length;

  if (handle.stop) {
    return leave(handle, { ...open, first: reader.reading }).then((thrown) => {
      release.retract('the run was stopped');
      recordVoid(handle, turn, { status: 'aborted', usage: reader.usage(thrown), chars });
      return undefined;
    });
  }
  const usage = reader.usage(settled.kind === 'threw' ? settled.error : undefined);
  if (settled.kind === 'threw' || end === undefined) {
    open.controller?.abort();
    // What made no sense may go on: nobody reads it.
    leaveStream(open.events);
    const error = settled.kind === 'threw' ? modelFailure(open.model, settled.error) : missingEnd(open.model);
    release.retract('the model failed');
    recordVoid(handle, turn, { status: 'failed', usage, chars, error: recordError(error) });
    return undefined;
  }
  const { stopReason, by } = end;
  const model = by === undefined || by.id === open.model.id ? undefined : by.id;
  const whose = model === undefined ? {} : { model };
  if (stopReason === 'length') {
    release.retract('the answer was cut by its length limit');
    const error = new GuardloopError(
      'MODEL_FAILED',
      `The answer of model ${model ?? open.model.id} was cut by its token limit; no call of it ran, and no text of it was recorded. Raise settings.maxTokens of agent ${handle.state.agent}, or ask for less.`,
      { details: { stopReason } },
    );
    recordVoid(handle, turn, { status: 'failed', usage, chars, error: recordError(error), stopReason, ...whose });
    return undefined;
  }
  if (stopReason === 'refusal') {
    release.retract('the model refused');
    recordVoid(handle, turn, {
      status: 'refused',
      usage,
      chars,
      refusal: { action: 'deny', surface: 'output', by: 'model', reason: 'the model refused to answer' },
      stopReason,
      ...whose,
    });
    return undefined;
  }
  if (end.misfit !== undefined) {
    recordVoid(handle, turn, { status: 'refused', usage, chars, misfit: end.misfit, unread: true, stopReason, ...whose });
    return undefined;
  }
  const { reasoning, calls } = reader;
  const { provider } = by ?? open.model;
  const answer = { text, reasoning, calls, native: end.native, usage, stopReason, provider, model };
  // Something was lost on the way. Without tools, and in a last answer, there is no call that could be missed.
  const wantsCall = open.names.size > 0 && !open.isFinal && !isThought;
  if (stopReason !== 'tools' || calls.length > 0 || text === '' || !wantsCall) return answer;
  release.retract('the answer came without the call that it tells of');
  return { ...answer, text: '', native: undefined, lostChars: chars };
}
