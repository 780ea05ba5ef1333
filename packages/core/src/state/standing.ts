import type { JsonObject, JsonValue } from '../model/types.js';
import { canonicalJson } from './canonical-json.js';
import type { Approval, StandingApproval } from './events.js';

/** One in force; `id` is of the approval with which it was given, at `seq`. */
export interface Standing extends StandingApproval {
  readonly id: string;
  readonly seq: number;
}

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);
const isSame = (left: JsonValue, right: JsonValue): boolean => canonicalJson(left) === canonicalJson(right);

/** Whether an input, as it will run, is one of those that the decision is for. What cannot be compared does not fit. */
export function fitsStanding({ when, exact }: Pick<StandingApproval, 'when' | 'exact'>, input: JsonObject): boolean {
  if (!isObject(when) || !isObject(input)) return false;
  if (exact) return isSame(when, input);
  return Object.entries(when).every(([name, wanted]) => {
    const given = Object.hasOwn(input, name) ? input[name] : undefined;
    return wanted !== undefined && given !== undefined && isSame(wanted, given);
  });
}

/** What is asked about a call, and when. */
export interface StandingQuestion {
  readonly approval: Approval;
  /** Seq of its `approval.request`: what was asked before a decision is not answered by it. */
  readonly seq: number;
  readonly now: number;
}

/** The standing decision that answers a question: never one that core asks, of a call that may have run, or that the caller runs. */
export function findStanding(standing: readonly Standing[], { approval, seq, now }: StandingQuestion): Standing | undefined {
  if (approval.surface !== 'toolInput') return undefined;
  if (approval.mayHaveRun || approval.caller || approval.asks.some(({ by }) => by === 'core')) return undefined;
  return standing.find(
    (each) =>
      each.seq < seq &&
      each.tool === approval.tool &&
      isSame(each.agentPath, approval.agentPath) &&
      (each.expiresAt === undefined || (typeof each.expiresAt === 'number' && now < each.expiresAt)) &&
      fitsStanding(each, approval.input),
  );
}

/** What is left when the agent at the end of a path hands over: its own decisions end, and those of agents below it. */
export function withoutPath(standing: readonly Standing[], path: readonly string[]): readonly Standing[] {
  return standing.filter(({ agentPath }) => !path.every((agent, index) => agentPath[index] === agent));
}
