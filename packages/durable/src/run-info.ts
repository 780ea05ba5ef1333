import type { RunRecord } from '@guardloop/store';
import type { RunInfo, Trouble } from './types.js';

/** A run's record as people see it: without what was submitted, and with the choices that trouble leaves. */
export function runInfo(record: RunRecord): RunInfo {
  const { id, session, agent, queue, priority, state, status, owner, tenant, dueAt, attempts, createdAt, updatedAt } = record;
  const { code, message } = record.trouble ?? {};
  const trouble = code === undefined || message === undefined ? undefined : { code, message, choices: choicesOf(record) };
  return {
    id,
    session,
    agent,
    queue,
    priority,
    state,
    dueAt,
    attempts,
    createdAt,
    updatedAt,
    ...(status === undefined ? {} : { status }),
    ...(owner === undefined ? {} : { owner }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(record.lease === undefined ? {} : { worker: record.lease.owner }),
    ...(record.cancel === undefined || state === 'ended' ? {} : { cancelling: record.cancel }),
    ...(trouble === undefined ? {} : { trouble }),
  };
}

function choicesOf({ state, trouble }: RunRecord): Trouble['choices'] {
  if (state === 'ended') return [];
  switch (trouble?.code) {
    case 'STORE_FAILED':
    case 'LOG_CONFLICT':
      return ['wait', 'cancel'];
    case 'RESUME_MISMATCH':
      return trouble.accept ? ['deploy', 'accept', 'cancel'] : ['deploy', 'cancel'];
    default:
      return ['deploy', 'cancel'];
  }
}
