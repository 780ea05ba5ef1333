import type { RunCall } from '../state/call-tally.js';
import { CallTally } from '../state/call-tally.js';
import type { Root, RunHandle } from './handle.js';

/** What a guardrail is told of the calls beside the one at `path`; of all, where it looks at something else. */
export function callsBeside(root: Root, path: string | undefined): readonly RunCall[] {
  root.tally ??= new CallTally();
  const beside: RunCall[] = [];
  const recorded = root.tally.catchUp(root.past ?? root.events);
  for (const [each, call] of recorded) if (each !== path) beside.push(call);
  for (const [each, call] of root.preparing ?? []) {
    // Each sees those that came before it: so of two that stand there together exactly one sees the other.
    if (each === path) break;
    if (!recorded.has(each)) beside.push(call);
  }
  return Object.freeze(beside);
}

/** A call comes before its guardrails: those that come later are told of it, before it is recorded. Again with its input as a rewrite made it. */
export function noteCall({ root, state }: RunHandle, callId: string, { tool, input }: Pick<RunCall, 'tool' | 'input'>): void {
  root.preparing ??= new Map();
  root.preparing.set(`${state.id}/${callId}`, Object.freeze({ run: state.id, callId, tool, input, isStarted: false }));
}

/** An answer has been recorded, or will not be: in the same moment the log tells of its calls. */
export function forgetCalls({ root, state }: RunHandle): void {
  if (root.preparing === undefined) return;
  for (const [path, { run }] of root.preparing) if (run === state.id) root.preparing.delete(path);
}
