import type { GuardVerdictEvent } from '../state/events.js';

/** What a verdict is about: the run's input, the entry of a handoff, an answer, or a call. `id`: of the call, where it is known. */
export interface Place {
  readonly at: 'input' | 'entering' | 'turn' | 'call' | 'handoff';
  readonly id?: string | undefined;
}

const callId = /^(\d+\.\d+)(?:\/|$)/;
const ofView = /^\d+\/v/;

/** Reads from a subject's name where a verdict belongs. Before a run's input is accepted, all that is judged on `input` is that input. */
export function placeOf({ run, surface, subject }: GuardVerdictEvent, isAccepted: boolean): Place {
  const rest = subject.startsWith(`${run}/`) ? subject.slice(run.length + 1) : '';
  const id = callId.exec(rest)?.[1];
  if (surface === 'input') {
    if (ofView.test(rest)) return { at: 'turn' };
    return isAccepted ? { at: 'entering', id: rest.endsWith('/input') || rest.endsWith('/brief') ? id : undefined } : { at: 'input' };
  }
  if (id === undefined) return { at: 'turn' };
  return { at: surface === 'handoff' ? 'handoff' : 'call', id };
}
