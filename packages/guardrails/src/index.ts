export type { FindInText, TextFinding, TextPlace } from './text/finding.js';
export { type TextAction, type TextGuardrailKind, type TextGuardrailOptions, textGuardrail } from './text/text-guardrail.js';
