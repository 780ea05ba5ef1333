import type { Guardrail } from '@guardloop/core';
import { EvidenceReader } from './evidence.js';
import type { ProvenanceOptions } from './policy-options.js';
import { isActing, isUntouched, provenanceGuardrail, sourcesOf } from './policy-options.js';
import { toolMatcher } from './tool-matcher.js';

/** Options of {@link ruleOfTwo}. */
export interface RuleOfTwoOptions extends ProvenanceOptions {
  /** Names or patterns of the tools whose results are public, and so no private data: `get_webpage`, `search_web`. Default: none. */
  readonly publicResults?: readonly string[] | undefined;
}

/**
 * Of untrusted input, private data and an outside effect, at most two in one run: a call that acts on the world waits for a person once both
 * untrusted text and private data were read. Every result counts as private unless its tool is listed in `publicResults`.
 * The rule is Meta's “Agents Rule of Two” (2025).
 */
export function ruleOfTwo(options: RuleOfTwoOptions = {}): Guardrail<unknown, 'toolInput'> {
  const isPublic = toolMatcher('rule-of-two(…)', 'publicResults', options.publicResults);
  const reader = new EvidenceReader();
  return provenanceGuardrail('rule-of-two', { options, more: ['publicResults'] }, (call, info) => {
    if (!isActing(call) || isUntouched(info)) return undefined;
    const secret = reader.of(info).results.find(({ tool }) => !isPublic(tool));
    if (secret === undefined) return undefined;
    return `${call.tool} would act on the world in a run that has read ${sourcesOf(info)}, and private data by ${secret.tool}`;
  });
}
