import { canonicalJson } from './canonical-json.js';
import type { CallEnd } from './events.js';
import type { CallState, Repeat, RunState } from './state.js';

/** How often this call was made with this result, now included. Several in one turn count once. */
export function countRepeat(run: RunState, call: CallState, content: CallEnd['content']): number {
  const repeat = repeatOf(run, call);
  return repeat === undefined ? 1 : countWith(repeat, run.turn, resultKey(content));
}

const resultKey = (content: CallEnd['content']): string => (typeof content === 'string' ? content : JSON.stringify(content));

function countWith({ result, turn, count }: Repeat, nextTurn: number, nextResult: string): number {
  if (result !== nextResult) return 1;
  return turn === nextTurn ? count : count + 1;
}

/** As `countRepeat`, and remembers it. */
export function recordRepeat(run: RunState, call: CallState, content: CallEnd['content']): number {
  const result = resultKey(content);
  const { turn } = run;
  const repeat = repeatOf(run, call);
  if (repeat) {
    repeat.count = countWith(repeat, turn, result);
    repeat.result = result;
    repeat.turn = turn;
    return repeat.count;
  }
  const first: Repeat = { input: call.input, variant: call.call.variant, result, count: 1, turn };
  const known = run.repeats.get(call.call.name);
  if (known === undefined) run.repeats.set(call.call.name, { first, byInput: undefined });
  else if (call.key !== undefined) known.byInput?.set(call.key, first);
  return 1;
}

/** The equal calls before this one. The first call of a tool costs no canonical JSON. */
function repeatOf(run: RunState, call: CallState): Repeat | undefined {
  const known = run.repeats.get(call.call.name);
  if (known === undefined) return undefined;
  known.byInput ??= new Map([[keyOf(known.first), known.first]]);
  call.key ??= keyOf({ input: call.input, variant: call.call.variant });
  return known.byInput.get(call.key);
}

/** Equal for equal inputs. One that was not recorded is told apart by its variant. */
function keyOf({ input, variant }: Pick<Repeat, 'input' | 'variant'>): string {
  return variant === undefined ? canonicalJson(input) : `#${variant}`;
}
