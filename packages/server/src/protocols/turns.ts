// What the protocols of front ends share: which text stands, which calls were told of, and what is asked.
import type { Approval, LogEvent } from '@guardloop/core';
import type { DurableEvent } from '@guardloop/durable';
import type { ApprovalRecord } from '@guardloop/store';
import type { Caller } from '../caller.js';
import { mayCaller } from '../caller.js';
import type { Call } from '../operation.js';
import { outcomeOf } from '../outcome.js';
import { stanceOf } from '../run-stream.js';
import type { RunOutcome } from '../show.js';
import { isFrontEndCall, needsYes } from './front-end-tools.js';

/** Of a conversation that a client sends, and of its last message. */
export const mostMessages = 10_000;
export const mostParts = 1_000;

/** What a person is asked, whether this client may decide it, and until when. */
export interface AskedApproval {
  readonly approval: Approval;
  readonly mayDecide: boolean;
  readonly expiresAt?: number | undefined;
  /** A call that this client is to run now; `agreed`: since its person has just said yes. */
  readonly toRun?: 'asked' | 'agreed' | undefined;
}
/** What a protocol makes of a run, piece by piece. */
export interface Translator<T> {
  start(): readonly T[];
  on(event: DurableEvent): readonly T[];
  wait(asked: readonly AskedApproval[]): readonly T[];
  end(outcome: RunOutcome): readonly T[];
}

/** A run, and from where the front end is told of it. */
export interface Leg {
  readonly run: string;
  /** Approvals that this leg answers: the front end knows what came before. */
  readonly answered?: ReadonlySet<string> | undefined;
  /** Of these, calls that the front end has its person's yes to run. */
  readonly agreed?: ReadonlySet<string> | undefined;
}

/**
 * One leg of a run in a protocol: from its beginning, or from where it went on after it had asked what is answered, until it ends, or waits
 * for people. The same answers again are the same leg again.
 */
export async function* legOf<T, U extends Caller>(
  call: Call<U>,
  leg: Leg,
  { make, signal }: { readonly make: Translator<T>; readonly signal: AbortSignal },
): AsyncGenerator<T> {
  const { runs } = call.settings;
  const { run, answered = new Set() } = leg;
  yield* make.start();
  const asked = new Set(answered);
  const stance = stanceOf(call, run);
  let isNew = asked.size === 0;
  // From the beginning: what was told in earlier legs is known again, and not told again.
  for await (const { event } of runs.events(run, { until: 'wait', signal })) {
    if (event.type === 'approval.request') asked.delete(event.approval.id);
    isNew ||= asked.size === 0 && goesOn(event, { run, answered, user: call.caller.user });
    // Which tool an agent used as a tool wants to call stands in the question alone.
    if (event.type === 'approval.request' && event.run !== run && (await stance.approval(event.approval.id)) === undefined) continue;
    const pieces = make.on(event);
    if (isNew) yield* pieces;
    if (event.type === 'run.end' && event.run === run) return;
  }
  if (signal.aborted) return;
  const result = await runs.result(run, { waitMs: 0 });
  const outcome = outcomeOf(result);
  if (outcome !== undefined) yield* make.end(outcome);
  else if (result.status === 'interrupted') yield* make.wait(await askedOf(call, result.approvals, leg));
}

/** What comes first of a new leg: an answer of it, a decision of somebody else, or an end without any. */
function goesOn(
  event: DurableEvent,
  { run, answered, user }: { readonly run: string; readonly answered: ReadonlySet<string>; readonly user: string },
): boolean {
  if (event.type === 'run.end') return event.run === run;
  if (event.type !== 'approval.resolve' || event.byStanding !== undefined) return false;
  return answered.has(event.id) || event.decidedBy !== user;
}

async function askedOf<U extends Caller>(
  { settings, caller }: Call<U>,
  records: readonly ApprovalRecord[],
  { agreed }: Leg,
): Promise<readonly AskedApproval[]> {
  const asked: AskedApproval[] = [];
  for (const record of records) {
    const mayDecide =
      (await mayCaller(settings.authorize, { action: 'approval.read', approval: record }, caller)) &&
      (await mayCaller(settings.authorize, { action: 'approval.decide', approval: record }, caller));
    const { approval, expiresAt } = record;
    const toRun = mayDecide && isFrontEndCall(approval) ? toRunNow(agreed?.has(record.id) === true, needsYes(approval)) : undefined;
    asked.push({ approval, mayDecide, expiresAt, toRun });
  }
  return asked;
}

function toRunNow(isAgreed: boolean, isYesNeeded: boolean): AskedApproval['toRun'] {
  if (isAgreed) return 'agreed';
  return isYesNeeded ? undefined : 'asked';
}

/** One event of a run that a front end may see: of the root run, and what people are asked in any. */
export function isForFrontEnd(event: DurableEvent, root: string): boolean {
  return event.run === root || event.type === 'approval.request' || event.type === 'approval.resolve';
}

/** Text of one answer as it was shown: deltas add up, what is taken back is cut off. */
export class ShownTexts {
  readonly #texts = new Map<number, string>();
  readonly #parts = new Map<number, number>();

  of(turn: number): string {
    return this.#texts.get(turn) ?? '';
  }
  /** How often the text of this turn was begun anew. */
  part(turn: number): number {
    return this.#parts.get(turn) ?? 0;
  }
  add(turn: number, text: string): void {
    this.#texts.set(turn, this.of(turn) + text);
  }
  /** The answer is recorded: what else is said in this turn is another text. */
  close(turn: number): void {
    this.#parts.set(turn, this.part(turn) + 1);
    this.#texts.delete(turn);
  }
  /** What stands of the turn's text afterwards. */
  take(turn: number, chars: number): string {
    const text = this.of(turn);
    const left = text.slice(0, Math.max(0, text.length - chars));
    this.#texts.set(turn, left);
    this.#parts.set(turn, this.part(turn) + 1);
    return left;
  }
}

/**
 * Calls of an answer that will run, or that a person is asked about. What was refused is not told, and what the front end is to run once it
 * is asked to.
 */
export function callsToTell(event: Extract<LogEvent, { readonly type: 'model.end' }>): typeof event.calls {
  return event.calls.filter((call) => call.end === undefined && call.kind !== 'handoff' && call.kind !== 'caller');
}
