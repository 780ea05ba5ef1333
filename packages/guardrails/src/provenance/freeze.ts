import type { Guardrail } from '@guardloop/core';
import type { ProvenanceOptions } from './policy-options.js';
import { isActing, isUntouched, provenanceGuardrail, sourcesOf } from './policy-options.js';

/**
 * Once the agent has read anything untrusted, no call that changes the world or sends something out runs without a person: whatever its
 * arguments are. The simplest policy, and the one that costs most approvals.
 */
export function freeze(options: ProvenanceOptions = {}): Guardrail<unknown, 'toolInput'> {
  return provenanceGuardrail('freeze', { options }, (call, info) => {
    if (!isActing(call) || isUntouched(info)) return undefined;
    return `${call.tool} would act on the world after ${sourcesOf(info)} were read`;
  });
}
