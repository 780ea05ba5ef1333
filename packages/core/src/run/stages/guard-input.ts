import { changeTexts } from '../../state/conversation.js';
import type { Ending } from '../../state/state.js';
import { acceptEntry, enter } from '../enter.js';
import type { RunHandle } from '../handle.js';
import { standNow } from '../plan.js';
import { closeModelCall, openModelCall } from './call-model.js';

/** Judges what the run was given, and what of the session is new to this agent. Guardrails `beside` the model are asked while it answers. */
export async function guardInput(handle: RunHandle): Promise<Ending | undefined> {
  const { state } = handle;
  const { conversation } = state;
  const stand = standNow(handle);
  const fresh = handle.input ?? [];
  const subject = `${state.id}/input`;
  const stays = conversation.activations.length - 1;
  const entry = { subject, agent: state.agent, fresh, history: conversation.view, stays };
  const beside = stand.input.filter(({ spec }) => spec.beside);
  const first = await enter(handle, {
    ...entry,
    guards: beside.length === 0 ? stand.input : stand.input.filter(({ spec }) => !spec.beside),
  });
  if (first.isStopped) return undefined;
  if (first.refusal) return { status: 'blocked', refusal: first.refusal };

  let { judged } = first;
  if (beside.length > 0) {
    const history = changeTexts(entry.history, first.changed);
    const ending = await openModelCall(handle, { beside: [...history, ...first.items] });
    if (ending || handle.stop) {
      await closeModelCall(handle);
      return ending;
    }
    const second = await enter(handle, { ...entry, fresh: first.items, history, guards: beside, revision: first.revision });
    if (second.isStopped || second.refusal) {
      await closeModelCall(handle);
      return second.refusal && { status: 'blocked', refusal: second.refusal };
    }
    judged = [...new Set([...judged, ...second.judged])];
  }
  acceptEntry(handle, subject, { ...first, judged });
  handle.input = undefined;
  return undefined;
}
