// What the protocols of front ends share: which text stands, which calls were told of, and what is asked.
import type { Approval, Decision, LogEvent } from '@guardloop/core';
import type { DurableEvent } from '@guardloop/durable';
import type { ApprovalRecord } from '@guardloop/store';
import type { Caller } from '../caller.js';
import { mayCaller } from '../caller.js';
import type { Decided, GivenDecision } from '../decide.js';
import { decideFor } from '../decide.js';
import type { Call } from '../operation.js';
import { outcomeOf } from '../outcome.js';
import { Problem } from '../problem.js';
import type { RunOutcome } from '../show.js';

/** Of a conversation that a client sends, and of its last message. */
export const mostMessages = 10_000;
export const mostParts = 1_000;

/** What a person is asked, whether this client may decide it, and until when. */
export interface AskedApproval {
  readonly approval: Approval;
  readonly mayDecide: boolean;
  readonly expiresAt?: number | undefined;
}
/** What a protocol makes of a run, piece by piece. */
export interface Translator<T> {
  start(): readonly T[];
  on(event: DurableEvent): readonly T[];
  wait(asked: readonly AskedApproval[]): readonly T[];
  end(outcome: RunOutcome): readonly T[];
}

/** A run, and the last event of its session that the front end knows of. */
export interface Leg {
  readonly run: string;
  readonly after?: number | undefined;
  /** Approvals that this leg answers. */
  readonly answered?: ReadonlySet<string> | undefined;
}

/** One leg of a run in a protocol: from behind `after` until it ends, or waits for people. */
export async function* legOf<T, U extends Caller>(
  call: Call<U>,
  { run, after = 0 }: Leg,
  { make, signal }: { readonly make: Translator<T>; readonly signal: AbortSignal },
): AsyncGenerator<T> {
  const { runs } = call.settings;
  yield* make.start();
  let isNew = after === 0;
  // From the beginning: what was told in earlier legs is known again, and not told again.
  for await (const { event } of runs.events(run, { until: 'wait', signal })) {
    isNew ||= 'seq' in event && event.seq > after;
    const pieces = make.on(event);
    if (isNew) yield* pieces;
    if (event.type === 'run.end' && event.run === run) return;
  }
  if (signal.aborted) return;
  const result = await runs.result(run, { waitMs: 0 });
  const outcome = outcomeOf(result);
  if (outcome !== undefined) yield* make.end(outcome);
  else if (result.status === 'interrupted') yield* make.wait(await askedOf(call, result.approvals));
}

async function askedOf<U extends Caller>(
  { settings, caller }: Call<U>,
  records: readonly ApprovalRecord[],
): Promise<readonly AskedApproval[]> {
  const asked: AskedApproval[] = [];
  for (const record of records) {
    const mayDecide =
      (await mayCaller(settings.authorize, { action: 'approval.read', approval: record }, caller)) &&
      (await mayCaller(settings.authorize, { action: 'approval.decide', approval: record }, caller));
    asked.push({ approval: record.approval, mayDecide, expiresAt: record.expiresAt });
  }
  return asked;
}

/** One event of a run that a front end may see: of the root run, and what people are asked in any. */
export function isForFrontEnd(event: DurableEvent, root: string): boolean {
  return event.run === root || event.type === 'approval.request' || event.type === 'approval.resolve';
}

/** An id of an approval together with what was seen of it: whoever answers it answers that form of it, and no other. */
export const seenId = ({ id, digest }: { readonly id: string; readonly digest: string }): string => `${id}#${digest}`;

function readSeenId(seen: string): { readonly id: string; readonly digest: string } | undefined {
  const match = /^([A-Za-z0-9._~:@/-]{1,500})#([0-9a-f]{64})$/.exec(seen);
  return match?.[1] === undefined || match[2] === undefined ? undefined : { id: match[1], digest: match[2] };
}

/** An answer of a front end to one approval. */
export interface FrontEndAnswer {
  /** As {@link seenId} made it. */
  readonly seen: string;
  readonly decision: Decision;
}

/**
 * Records the answers; none of them where one answers what was not asked, or twice. They must all be of runs of this session. Gives the run
 * that goes on, and behind what it does. Throws problems; an answer that was recorded before, the same, is no fault.
 */
export async function decideAll<U extends Caller>(call: Call<U>, session: string, answers: readonly FrontEndAnswer[]): Promise<Leg> {
  const { runs } = call.settings;
  const given: GivenDecision[] = [];
  let run: string | undefined;
  for (const { seen, decision } of answers) {
    const read = readSeenId(seen);
    const record = read && (await runs.approvals.get(read.id));
    if (read === undefined || record === undefined || record.session !== session) throw new Problem('not-found');
    run ??= record.run;
    if (record.run !== run) throw new Problem('bad-body', { detail: 'The approvals are of more than one run.' });
    if (given.some(({ id }) => id === read.id)) throw new Problem('bad-body', { detail: 'An approval is answered twice.' });
    if (record.approval.digest !== read.digest) throw new Problem('altered');
    given.push({ ...read, decision });
  }
  const before = await runs.store.sessions.get(session);
  for (const one of given) refuseUndone(await decideFor(call, one));
  if (run === undefined) throw new Problem('bad-body', { detail: 'Nothing is answered.' });
  return { run, after: before?.events ?? 0, answered: new Set(given.map(({ id }) => id)) };
}

function refuseUndone(decided: Decided): void {
  if (decided.status === 'already' && !decided.same) throw new Problem('conflict', { detail: 'Somebody has decided otherwise before.' });
  if (decided.status === 'late') throw new Problem('gone');
  if (decided.status === 'altered') throw new Problem('altered');
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

/** Calls of an answer that will run, or that a person is asked about. What was refused is not told. */
export function callsToTell(event: Extract<LogEvent, { readonly type: 'model.end' }>): typeof event.calls {
  return event.calls.filter((call) => call.end === undefined && call.kind !== 'handoff');
}

/** Of a call, unique over runs. */
export const callKey = (run: string, callId: string): string => `${run}/${callId}`;
