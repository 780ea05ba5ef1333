import type { Clock } from '@guardloop/core';
import type { JsonValue, Message, Model, ModelEvent, ModelRequest, Usage } from '@guardloop/core/model';
import { checkOptionNames, GuardloopError } from '@guardloop/core/model';
import type { Ending, Piece, Script, Step, Turn } from './script.js';

/** What {@link scriptedModel} may be told. */
export interface ScriptedModelOptions {
  /** Default `scripted`. */
  readonly id?: string | undefined;
  /** The maker of native messages. Default `scripted`. */
  readonly provider?: string | undefined;
  readonly providerTools?: readonly string[] | undefined;
  /** How texts and arguments are streamed: in this many chunks of about equal length, or cut at these UTF-16 offsets. Default: whole. */
  readonly chunks?: number | readonly number[] | undefined;
  /** Wait this long before each event. Default: not at all, and no timer is set. */
  readonly delayMs?: number | undefined;
  /** Awaited before each event; what it rejects with is thrown. For a scheduler: `(signal) => scheduler.pause('model', signal)`. */
  readonly pace?: ((signal: AbortSignal) => PromiseLike<unknown>) | undefined;
  /** Time, of `delayMs` and of `wait`. */
  readonly clock?: Clock | undefined;
  /** Of each call. Default 10 tokens in, 5 out. */
  readonly usage?: Usage | ((request: ModelRequest) => Usage) | undefined;
  /** The provider's own message of each answer; `true`: one that tells turn, text and calls. Default: none. */
  readonly native?: boolean | ((request: ModelRequest) => JsonValue) | undefined;
  /** False: requests are not kept, and a call costs no copy of the messages. Default true. */
  readonly record?: boolean | undefined;
}

const optionNames: { readonly [K in keyof ScriptedModelOptions]-?: true } = {
  id: true,
  provider: true,
  providerTools: true,
  chunks: true,
  delayMs: true,
  pace: true,
  clock: true,
  usage: true,
  native: true,
  record: true,
};

/** A model that follows a script and keeps what it was asked. */
export interface ScriptedModel extends Model {
  /** Every request so far, in order, each with its own copy of the messages. Empty with `record: false`. */
  readonly requests: readonly ModelRequest[];
  /** Throws if a step of the script was never asked for. */
  assertSpent(): void;
}

/**
 * A model that answers by a script, for tests. A step is one model turn: {@link say}, {@link callTool}, or an array of such pieces, or a
 * function of the request.
 *
 * Steps are chosen by the answers already recorded in the run (`request.turn`, refused ones included), never by counting calls: a call
 * that is repeated after a retry, a cut or a resume, also in another process, gets the same answer, and runs at the same time do not
 * disturb each other.
 *
 * - A list of steps serves one run: step 1 answers turn 1, also when a handoff changes the agent between them. Each run of a session, and
 *   each child run of an agent used as a tool, begins again at step 1.
 * - Lists by agent, `{ triage: […], billing: […] }`, count the turns of that agent's stay: its step 1 answers its first turn after the
 *   handoff to it (or the first of the run). A second stay begins again at step 1; where that is not wanted, give a function.
 *
 * A turn for which there is no step fails with `MODEL_FAILED`. Throws CONFIG_INVALID for an option that does not exist.
 *
 * ```ts
 * const model = scriptedModel([callTool('refund_order', { orderId: 'o1', cents: 12_000 }, 'c1'), say('Refunded.')]);
 * const result = await run(agent, 'Refund order o1', { model });
 * model.requests[1]?.messages; // what the model saw in turn 2
 * model.assertSpent();
 * ```
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  checkOptionNames('scriptedModel(…)', options, optionNames);
  const requests: ModelRequest[] = [];
  const asked = new Set<Step>();
  return {
    id: options.id ?? 'scripted',
    provider: options.provider ?? 'scripted',
    ...(options.providerTools === undefined ? {} : { providerTools: options.providerTools }),
    requests,
    stream(request, { signal }) {
      if (options.record !== false) requests.push({ ...request, messages: [...request.messages] });
      return play(request, { ...options, signal }, () => {
        const step = findStep(script, request);
        asked.add(step);
        return step;
      });
    },
    assertSpent() {
      const left = listSteps(script).filter(({ step }) => !asked.has(step));
      if (left.length === 0) return;
      throw new Error(`The script has steps that no request asked for: ${left.map(({ name }) => name).join(', ')}.`);
    },
  };
}

function listSteps(script: Script): { readonly name: string; readonly step: Step }[] {
  if (typeof script === 'function') return [];
  if (isList(script)) return script.map((step, index) => ({ name: `step ${index + 1}`, step }));
  return Object.entries(script).flatMap(([agent, steps]) => steps.map((step, index) => ({ name: `step ${index + 1} of ${agent}`, step })));
}

function isList(script: Script): script is readonly Step[] {
  return Array.isArray(script);
}

function findStep(script: Script, request: ModelRequest): Step {
  if (typeof script === 'function') return script;
  const steps = isList(script) ? script : Object.hasOwn(script, request.agent) ? script[request.agent] : undefined;
  const turn = isList(script) ? request.turn : request.turn - turnsBeforeStay(request.messages);
  const step = steps?.[turn - 1];
  if (step !== undefined) return step;
  const have =
    steps === undefined
      ? `no steps for agent ${request.agent}`
      : `${steps.length} ${steps.length === 1 ? 'step' : 'steps'}${isList(script) ? '' : ` for agent ${request.agent}`}`;
  throw new GuardloopError(
    'MODEL_FAILED',
    `The script has ${have}, but turn ${turn} of agent ${request.agent} was asked for. Add a step, or give steps by agent: { ${request.agent}: [...] }.`,
  );
}

/** The turns of this run before the active agent's stay: the brief of a handoff names the call that made it, `<run>/<turn>.<index>/brief`. */
function turnsBeforeStay(messages: readonly Message[]): number {
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    if (message?.role !== 'user') continue;
    if (message.via === 'user' || message.via === 'parent') return 0;
    const turn = message.via === 'handoff' ? /\/(\d+)\.\d+\/[^/]*$/.exec(message.id)?.[1] : undefined;
    if (turn !== undefined) return Number(turn);
  }
  return 0;
}

interface PlayOptions extends ScriptedModelOptions {
  readonly signal: AbortSignal;
}

async function* play(request: ModelRequest, options: PlayOptions, find: () => Step): AsyncGenerator<ModelEvent, void, undefined> {
  const { signal } = options;
  const isPaced = options.delayMs !== undefined || options.pace !== undefined;
  signal.throwIfAborted();
  const step = find();
  const turn = typeof step === 'function' ? await step(request) : step;
  const pieces = piecesOf(turn, request);
  let index = 0;
  let ending: Ending = {};
  for (const piece of pieces) {
    if (piece.type === 'cut') return;
    if (piece.type === 'end') ending = { ...ending, ...piece.end };
    if (piece.type === 'wait') await sleep(piece.ms, options);
    if (piece.type === 'fail') {
      if (isPaced) await beforeEvent(options);
      signal.throwIfAborted();
      throw piece.error;
    }
    for (const event of eventsOf(piece, index, options.chunks)) {
      if (isPaced) await beforeEvent(options);
      signal.throwIfAborted();
      yield event;
    }
    if (piece.type === 'call') index += 1;
  }
  if (isPaced) await beforeEvent(options);
  signal.throwIfAborted();
  yield endOf(pieces, ending, { request, options });
}

/** Scripts are also written in plain JavaScript, where a bare text is the usual slip. */
function piecesOf(turn: Turn, request: ModelRequest): readonly Piece[] {
  const pieces = isPiece(turn) ? [turn] : turn;
  const odd: unknown = pieces.find((piece: unknown) => typeof piece !== 'object' || piece === null);
  if (odd === undefined) return pieces;
  throw new GuardloopError(
    'MODEL_FAILED',
    `The step for turn ${request.turn} holds a ${typeof odd}. Give say('…'), callTool('name', { … }), or a list of such pieces.`,
  );
}

function isPiece(turn: Turn): turn is Piece {
  return !Array.isArray(turn);
}

function* eventsOf(piece: Piece, index: number, chunks: ScriptedModelOptions['chunks']): Generator<ModelEvent, void, undefined> {
  switch (piece.type) {
    case 'text':
      for (const text of piece.chunks ?? split(piece.text, chunks)) yield { type: 'text.delta', text };
      return;
    case 'reasoning':
      for (const text of split(piece.text, chunks)) yield { type: 'reasoning.delta', text };
      return;
    case 'call': {
      const text = 'unparsable' in piece.call ? piece.call.unparsable : JSON.stringify(piece.call.input);
      for (const part of split(text, chunks)) yield { type: 'tool.delta', index, text: part };
      yield { type: 'tool.call', call: piece.call };
      return;
    }
    case 'warn':
      yield { type: 'warning', ...piece.warning };
      return;
    case 'wait':
    case 'fail':
    case 'cut':
    case 'end':
      return;
    default:
      piece satisfies never;
  }
}

/** Pieces of a text, none of them empty. */
function split(text: string, chunks: ScriptedModelOptions['chunks']): readonly string[] {
  if (text === '') return [];
  if (chunks === undefined) return [text];
  const cuts =
    typeof chunks === 'number'
      ? Array.from({ length: Math.max(0, chunks - 1) }, (_, at) => Math.round((text.length * (at + 1)) / chunks))
      : chunks;
  const bounds = [0, ...cuts.filter((cut) => cut > 0 && cut < text.length).sort((left, right) => left - right), text.length];
  return bounds.slice(1).flatMap((end, at) => {
    const part = text.slice(bounds[at], end);
    return part === '' ? [] : [part];
  });
}

function endOf(
  pieces: readonly Piece[],
  ending: Ending,
  play: { readonly request: ModelRequest; readonly options: PlayOptions },
): ModelEvent {
  const { usage, native } = play.options;
  const message =
    ending.native ??
    (native === true ? nativeOf(pieces, play.request.turn) : typeof native === 'function' ? native(play.request) : undefined);
  return {
    type: 'end',
    stopReason: ending.stopReason ?? (pieces.some((piece) => piece.type === 'call') ? 'tools' : 'stop'),
    usage: ending.usage ?? (typeof usage === 'function' ? usage(play.request) : usage) ?? { requests: 1, inputTokens: 10, outputTokens: 5 },
    ...(message === undefined ? {} : { native: message }),
    ...(ending.detail === undefined ? {} : { detail: ending.detail }),
  };
}

function nativeOf(pieces: readonly Piece[], turn: number): JsonValue {
  return {
    turn,
    text: pieces.map((piece) => (piece.type === 'text' ? piece.text : '')).join(''),
    calls: pieces.flatMap((piece) => (piece.type === 'call' ? [piece.call.name] : [])),
  };
}

async function beforeEvent(options: PlayOptions): Promise<void> {
  if (options.delayMs !== undefined) await sleep(options.delayMs, options);
  if (options.pace !== undefined) await options.pace(options.signal);
}

const realClock: Clock = {
  now: () => Date.now(),
  after(ms, then) {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
};

/** Rejects with the signal's reason as soon as it is aborted; leaves no listener and no timer. */
function sleep(ms: number, { clock = realClock, signal }: PlayOptions): Promise<void> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      stopTimer();
      reject(signal.reason);
    };
    const stopTimer = clock.after(ms, () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    signal.addEventListener('abort', stop, { once: true });
  });
}
