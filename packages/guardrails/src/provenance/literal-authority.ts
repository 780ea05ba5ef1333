import type { Guardrail } from '@guardloop/core';
import { EvidenceReader } from './evidence.js';
import type { TrustedFields } from './grounds.js';
import { isSaid, isTrustedValue, readTrust, ungrounded } from './grounds.js';
import type { Objection, ProvenanceOptions } from './policy-options.js';
import { isActing, isUntouched, provenanceGuardrail, sourcesOf } from './policy-options.js';
import { namesOfSchema } from './schema-names.js';
import { argumentValues } from './values.js';

/**
 * Once the agent has read anything untrusted, each argument that decides where something goes or how much (`flow.authority`) must stand in
 * the user's own words: as a whole word, address or number, after normalising white space, letter case of words and addresses, and the usual
 * forms of numbers, dates and account numbers. A call without such an argument waits for a person.
 */
export function literalAuthority(options: ProvenanceOptions = {}): Guardrail<unknown, 'toolInput'> {
  return provenanceGuardrail('literal-authority', { options }, vouchedBy(undefined));
}

/** Options of {@link trustedAuthority}. */
export interface TrustedAuthorityOptions extends ProvenanceOptions {
  /** Fields of untrusted results that may be trusted, by tool: `{ search_contacts: ['email'] }`, or `'*'`. Default: none. */
  readonly trust?: TrustedFields | undefined;
}

/**
 * As {@link literalAuthority}; or the argument is a value of a result whose tool is declared trusted (`flow.results`), or of a field named
 * in `trust`. Of structured results whole fields count, never pieces of a text.
 */
export function trustedAuthority(options: TrustedAuthorityOptions = {}): Guardrail<unknown, 'toolInput'> {
  return provenanceGuardrail(
    'trusted-authority',
    { options, more: ['trust'] },
    vouchedBy(readTrust('trusted-authority(…)', options.trust)),
  );
}

function vouchedBy(trust: TrustedFields | undefined): Objection {
  const reader = new EvidenceReader();
  return (call, info) => {
    if (!isActing(call) || isUntouched(info)) return undefined;
    const evidence = reader.of(info);
    const values = argumentValues(call.raw, { names: call.flow.authority, fields: namesOfSchema(call.schema) });
    if (values.length === 0)
      return `${call.tool} would act on the world after ${sourcesOf(info)} were read, and no argument of it names what it is about`;
    const left = values.filter((each) => !isSaid(evidence, each) && !(trust !== undefined && isTrustedValue(evidence, trust, each)));
    if (left.length === 0) return undefined;
    return ungrounded(call, {
      values: left,
      evidence,
      sources: trust === undefined ? "the user's own words" : "the user's own words, trusted sources",
    });
  };
}
