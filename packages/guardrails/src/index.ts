export { type DataFlowOptions, dataFlow } from './provenance/data-flow.js';
export { freeze } from './provenance/freeze.js';
export type { TrustedFields } from './provenance/grounds.js';
export { literalAuthority, type TrustedAuthorityOptions, trustedAuthority } from './provenance/literal-authority.js';
export type { ProvenanceOptions } from './provenance/policy-options.js';
export { type RuleOfTwoOptions, ruleOfTwo } from './provenance/rule-of-two.js';
export { type DescribedTool, suggestFlow } from './provenance/suggest-flow.js';
export type { FindInText, TextFinding, TextPlace } from './text/finding.js';
export { type TextAction, type TextGuardrailKind, type TextGuardrailOptions, textGuardrail } from './text/text-guardrail.js';
