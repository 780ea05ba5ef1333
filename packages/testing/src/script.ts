import type { JsonObject, JsonValue, ModelCall, ModelEvent, ModelRequest, StopReason, Usage } from '@guardloop/core/model';
import { checkOptionNames } from '@guardloop/core/model';

type Warning = Extract<ModelEvent, { type: 'warning' }>;

/** One thing a scripted model does within a turn. Made by {@link say}, {@link callTool} and their siblings. */
export type Piece =
  | { readonly type: 'text'; readonly text: string; readonly chunks?: readonly string[] | undefined }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'call'; readonly call: ModelCall }
  | { readonly type: 'warn'; readonly warning: Omit<Warning, 'type'> }
  | { readonly type: 'wait'; readonly ms: number }
  | { readonly type: 'fail'; readonly error: unknown }
  | { readonly type: 'cut' }
  | { readonly type: 'end'; readonly end: Ending };

/** How a turn ends, where it is not the usual way. */
export interface Ending {
  readonly stopReason?: StopReason | undefined;
  readonly detail?: string | undefined;
  readonly usage?: Usage | undefined;
  readonly native?: JsonValue | undefined;
}

/** What a model does in one turn: one piece, or several in order. */
export type Turn = Piece | readonly Piece[];
/** A turn, or a function that makes it of the request. Called once for each model call; must answer alike when a call is repeated. */
export type Step = Turn | ((request: ModelRequest) => Turn | PromiseLike<Turn>);
/**
 * The steps of a run, one for each of its turns; or, by agent, one for each turn of that agent's stay; or one function for every turn.
 */
export type Script =
  | readonly Step[]
  | { readonly [agent: string]: readonly Step[] }
  | ((request: ModelRequest) => Turn | PromiseLike<Turn>);

/**
 * The model says this text. A list of strings is streamed in exactly these chunks.
 *
 * ```ts
 * scriptedModel([say('Hello.')]);
 * scriptedModel([say(['Hel', 'lo.'])]);
 * ```
 */
export function say(text: string | readonly string[]): Piece {
  return typeof text === 'string' ? { type: 'text', text } : { type: 'text', text: text.join(''), chunks: text };
}

/** The model reasons in these words before it answers. */
export function think(text: string): Piece {
  return { type: 'reasoning', text };
}

/**
 * The model calls a tool. `input` is what its arguments parse to: an object, or any other JSON where the model errs.
 *
 * ```ts
 * scriptedModel([[say('Let me look.'), callTool('find_order', { orderId: 'o1' }, 'c1')], say('It is on its way.')]);
 * ```
 */
export function callTool(name: string, input: JsonValue | JsonObject = {}, providerId?: string): Piece {
  return { type: 'call', call: { name, input, ...(providerId === undefined ? {} : { providerId }) } };
}

/** The model calls a tool with arguments that are no JSON. */
export function callUnparsable(name: string, raw: string, providerId?: string): Piece {
  return { type: 'call', call: { name, unparsable: raw, ...(providerId === undefined ? {} : { providerId }) } };
}

/** The provider, or its content filter, refuses. `detail` is what it says about why. */
export function refuse(detail?: string): Piece {
  return endWith({ stopReason: 'refusal', detail });
}

const endingNames: { readonly [K in keyof Ending]-?: true } = { stopReason: true, detail: true, usage: true, native: true };

/** The turn ends in this way: another stop reason, usage of its own, a native message. Goes last. Throws CONFIG_INVALID for anything else. */
export function endWith(ending: Ending): Piece {
  checkOptionNames('endWith(…)', ending, endingNames);
  return { type: 'end', end: ending };
}

/**
 * The stream fails here with this error: alone it fails before anything was said, after other pieces in the middle.
 *
 * ```ts
 * scriptedModel([[say('I will'), failWith(new GuardloopError('MODEL_FAILED', 'The connection was lost.', { isRetryable: true }))]]);
 * ```
 */
export function failWith(error: unknown): Piece {
  return { type: 'fail', error };
}

/** The stream is over here, without its end event: a fault of the provider. */
export function cutOff(): Piece {
  return { type: 'cut' };
}

/** The model warns of something that it left out of the request or changed in it. Stands before what it says. */
export function warn(about: string, message: string, item?: string): Piece {
  return { type: 'warn', warning: item === undefined ? { about, message } : { about, message, item } };
}

/**
 * A step that goes otherwise each time it is asked for: the first time the first way, and so on, the last way for good. For retries,
 * fallbacks and resumes in one process. It counts what all runs ask of it. Given alone, in place of a list of steps, it serves every turn.
 *
 * ```ts
 * const down = new GuardloopError('MODEL_FAILED', 'Status 503.', { isRetryable: true });
 * withRetry(scriptedModel([attempts(failWith(down), failWith(down), say('Hello.'))]));
 * ```
 */
export function attempts(first: Turn, ...others: readonly Turn[]): () => Turn {
  const turns = [first, ...others];
  let asked = 0;
  return () => {
    const turn = turns[Math.min(asked, turns.length - 1)] ?? first;
    asked += 1;
    return turn;
  };
}

/** Nothing comes for this long. */
export function wait(ms: number): Piece {
  return { type: 'wait', ms };
}
