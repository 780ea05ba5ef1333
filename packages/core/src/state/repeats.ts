import { canonicalJson } from './canonical-json.js';
import type { CallEnd } from './events.js';
import type { CallState, Repeat, Repeats, RunState } from './state.js';

/** How often this call was made with this result, now included. Several in one turn count once. */
export function countRepeat(run: RunState, call: CallState, content: CallEnd['content']): number {
  const known = run.repeats.get(call.call.name);
  const repeat = known && repeatsByInput(known).get(keyOfCall(call));
  return repeat === undefined ? 1 : countWith(repeat, run.turn, resultKey(content));
}

const resultKey = (content: CallEnd['content']): string => (typeof content === 'string' ? content : JSON.stringify(content));

function countWith({ result, turn, count }: Repeat, nextTurn: number, nextResult: string): number {
  if (result !== nextResult) return 1;
  return turn === nextTurn ? count : count + 1;
}

/** As `countRepeat`, and remembers it. */
export function recordRepeat(run: RunState, call: CallState, content: CallEnd['content']): number {
  const { name, variant } = call.call;
  const { turn } = run;
  const result = resultKey(content);
  const known = run.repeats.get(name);
  const repeat = known && repeatsByInput(known).get(keyOfCall(call));
  if (repeat) {
    repeat.count = countWith(repeat, turn, result);
    repeat.result = result;
    repeat.turn = turn;
    return repeat.count;
  }
  const first: Repeat = { input: call.input, variant, result, count: 1, turn };
  if (known) repeatsByInput(known).set(keyOfCall(call), first);
  else run.repeats.set(name, { first, byInput: undefined });
  return 1;
}

/** The first call of a tool costs no canonical JSON: only a second asks for it. */
function repeatsByInput(known: Repeats): Map<string, Repeat> {
  known.byInput ??= new Map([[keyOf(known.first), known.first]]);
  return known.byInput;
}

function keyOfCall(call: CallState): string {
  call.key ??= keyOf({ input: call.input, variant: call.call.variant });
  return call.key;
}

/** Equal for equal inputs. One that was not recorded is told apart by its variant. */
function keyOf({ input, variant }: Pick<Repeat, 'input' | 'variant'>): string {
  return variant === undefined ? canonicalJson(input) : `#${variant}`;
}
