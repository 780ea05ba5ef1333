export { type Canary, type CanaryOptions, canary } from './canary.js';
export { type EgressOptions, egress, findEgress } from './egress/egress.js';
export { type FoundHost, type FoundUrl, hostsIn, urlsIn } from './egress/urls.js';
export type { FieldAt, FieldPathOf } from './field-paths.js';
export { type CheckFieldsOptions, checkFields, type FieldRule, type FieldRules, type FieldSchema, type WholeRule } from './fields.js';
export { type GroundedOptions, grounded } from './grounded.js';
export { findInjection, type InjectionOptions, injection } from './injection/injection.js';
export type { AskingOptions, JudgeFailure, JudgeFailureKind } from './judge/ask-model.js';
export { type JudgeBase, type JudgeOptions, judge } from './judge/judge.js';
export { type TopicOptions, topic } from './judge/topic.js';
export { detectLanguage, type LanguageOptions, language } from './language.js';
export { type LeakOptions, leak } from './leak.js';
export { type LengthOptions, type LengthUnit, length } from './length.js';
export { type ModerationCategory, type ModerationOptions, moderation, moderationCategories } from './moderation.js';
export type { PiiKindId } from './pii/built-in.js';
export type { PiiGroup } from './pii/kind.js';
export { findPii, type PiiOptions, pii, piiKinds } from './pii/pii.js';
export type { DeadRule } from './policy/dead-rules.js';
export {
  type CallToExplain,
  type ExplainedCondition,
  type ExplainedLimit,
  type ExplainedRule,
  explainPolicy,
  type PolicyExplanation,
} from './policy/explain.js';
export { type LimitEntry, type LimitStore, type MemoryLimits, memoryLimits, type Reservation } from './policy/limit-store.js';
export { deadRules, limitObserver, type PolicyFromOptions, policyFrom } from './policy/policy-from.js';
export { policySchema } from './policy/policy-schema.js';
export type { CelCompiler } from './policy/read-condition.js';
export type {
  CallTests,
  Condition,
  ContextValue,
  Day,
  DuringData,
  FieldValue,
  LimitData,
  Operand,
  OverAction,
  PolicyData,
  PolicyRuleData,
  Scalar,
  SpendData,
  Tests,
  UrlData,
} from './policy/types.js';
export { type RecommendedOptions, recommended } from './presets/recommended.js';
export { type DataFlowOptions, dataFlow } from './provenance/data-flow.js';
export { freeze } from './provenance/freeze.js';
export type { TrustedFields } from './provenance/grounds.js';
export { literalAuthority, type TrustedAuthorityOptions, trustedAuthority } from './provenance/literal-authority.js';
export type { ProvenanceOptions } from './provenance/policy-options.js';
export { type RuleOfTwoOptions, ruleOfTwo } from './provenance/rule-of-two.js';
export { type DescribedTool, suggestFlow } from './provenance/suggest-flow.js';
export type { RefusingAction, RefusingOptions } from './refusing-guardrail.js';
export type { SecretKindId } from './secrets/built-in.js';
export { fromGitleaks, type GitleaksRules } from './secrets/gitleaks.js';
export type { SecretGroup } from './secrets/kind.js';
export type { SecretAllowance, SecretRule } from './secrets/rules.js';
export { findSecrets, type SecretsOptions, secretKinds, secrets } from './secrets/secrets.js';
export { type Spotlight, type SpotlightOptions, spotlight } from './spotlight.js';
export type { FindInText, SearchInText, TextFinding, TextPlace } from './text/finding.js';
export { type TextAction, type TextGuardrailKind, type TextGuardrailOptions, textGuardrail } from './text/text-guardrail.js';
export { findHiddenText, type HiddenKind, type HiddenTextOptions, hiddenText } from './unicode/hidden-text.js';
export type { MappedText } from './unicode/mapped-text.js';
export { type NormaliseOptions, normalise } from './unicode/normalise.js';
export { orPlaceholder } from './vault/or-placeholder.js';
export type { FieldOf, RestoreOptions } from './vault/restore.js';
export type { Revealer } from './vault/reveal.js';
export { memoryVaultStore, type VaultEntry, type VaultStore } from './vault/store.js';
export { type Vault, type VaultKey, type VaultOptions, vault } from './vault/vault.js';
