import type { RunCall } from '../state/call-tally.js';
import { CallTally } from '../state/call-tally.js';
import type { Root } from './handle.js';

/** What a guardrail is told of the calls beside the one at `path`; of all, where it looks at something else. */
export function callsBeside(root: Root, path: string | undefined): readonly RunCall[] {
  root.tally ??= new CallTally();
  const beside: RunCall[] = [];
  const recorded = root.tally.catchUp(root.events);
  for (const [each, call] of recorded) if (each !== path) beside.push(call);
  for (const [each, call] of root.preparing ?? []) {
    // Each sees those that came before it: so of two that stand there together exactly one sees the other.
    if (each === path) break;
    if (!recorded.has(each)) beside.push(call);
  }
  return Object.freeze(beside);
}
