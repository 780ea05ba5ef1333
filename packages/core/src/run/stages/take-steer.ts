import type { Ending } from '../../state/state.js';
import { acceptEntry, enter } from '../enter.js';
import type { RunHandle } from '../handle.js';
import { standNow } from '../plan.js';

/** Judges what a person has said meanwhile as the input it is, and adds it: the next model call sees it. */
export async function takeSteer(handle: RunHandle): Promise<Ending | undefined> {
  const { state, root } = handle;
  const { steering } = root;
  if (steering === undefined) return undefined;
  const { items, settle } = steering.take(state.id, state.steers);
  const subject = `${state.id}/input/s${state.steers + 1}`;
  const { conversation } = state;
  const entered = await enter(handle, {
    subject,
    agent: state.agent,
    fresh: items,
    // What it sees already was judged when this stay began, or came with it.
    history: [],
    guards: standNow(handle).input,
    stays: conversation.activations.length - 1,
  });
  if (!entered.isStopped && entered.refusal === undefined) acceptEntry(handle, subject, entered);
  settle(!entered.isStopped && entered.refusal === undefined);
  return entered.refusal && { status: 'blocked', refusal: entered.refusal };
}
