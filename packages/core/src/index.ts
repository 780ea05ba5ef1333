export { defineAgent } from './define/agent.js';
export { aroundTool } from './define/around-tool.js';
export { asTool } from './define/as-tool.js';
export { withContext } from './define/context.js';
export { type Coverage, type CoverageOptions, coverage, type StrictCoverage } from './define/coverage.js';
export { withDetails } from './define/detailed.js';
export { defineGuardrail } from './define/guardrail.js';
export { handoff } from './define/handoff.js';
export { inputSchemaOf } from './define/input-schema.js';
export { defineMode } from './define/mode.js';
export { defineMonitor } from './define/monitor.js';
export { partial } from './define/partial.js';
export { definePolicy } from './define/policy.js';
export { defineTool } from './define/tool.js';
export { toolError } from './define/tool-error.js';
export { fitsPattern } from './define/tool-pattern.js';
export type {
  Agent,
  AgentDef,
  Allow,
  Answer,
  AroundInfo,
  AroundTool,
  AskVerdict,
  AsToolOptions,
  Awaitable,
  BreakerOptions,
  CallerToolDef,
  CallInfo,
  Check,
  CheckingGuardrail,
  ChildRun,
  Definers,
  Deny,
  Detailed,
  Finding,
  Flow,
  GuardInfo,
  Guardrail,
  GuardrailDef,
  Halt,
  Handoff,
  HandoffDef,
  HandoffSubject,
  HistoryFilter,
  HistoryInfo,
  InputItem,
  InputSubject,
  JsonSchema,
  JsonToolDef,
  Mode,
  ModeDef,
  ModeInfo,
  Monitor,
  MonitorDef,
  OutputSubject,
  PartialResult,
  PartialWords,
  PolicyAction,
  PolicyDef,
  PolicyInfo,
  PolicyRule,
  Projection,
  ProjectionInfo,
  ResolvedFlow,
  Rewrite,
  Rewriter,
  RewritingGuardrail,
  Route,
  RuleTool,
  Span,
  StandardSchema,
  Subject,
  Tool,
  ToolDef,
  ToolError,
  ToolFailure,
  ToolInfo,
  ToolInputSubject,
  ToolOutputSubject,
  ToolRetry,
  TurnInfo,
  Unresolved,
  UntrustedRead,
  Verdict,
  WindowGuardrail,
} from './define/types.js';
export { allow, ask, deny, halt, type RefusalOptions, rewrite } from './define/verdict.js';
export { type ErrorCode, type ErrorOptions, errorCodes, GuardloopError, type SafeCause } from './errors.js';
export type { Clock } from './model/clock.js';
export type {
  AssistantMessage,
  FilePart,
  ImagePart,
  JsonObject,
  JsonValue,
  Label,
  Message,
  Model,
  ModelCall,
  ModelEvent,
  ModelRequest,
  ModelSettings,
  NativeMessage,
  Origin,
  Part,
  StopReason,
  TextPart,
  ToolCall,
  ToolChoice,
  ToolMessage,
  ToolSpec,
  Usage,
  UserMessage,
  Via,
} from './model/types.js';
export type { ModelShare } from './model/usage.js';
export { type ConcurrencyOptions, withConcurrency } from './model/with-concurrency.js';
export { type FallbackInfo, type FallbackOptions, withFallback } from './model/with-fallback.js';
export { type RetryOptions, withRetry } from './model/with-retry.js';
export { type TimeoutOptions, withTimeouts } from './model/with-timeouts.js';
export { type HeadTailOptions, headTail } from './project/head-tail.js';
export { type JsonFieldsOptions, jsonFields } from './project/json-fields.js';
export { type ObservationStore, type SpillOptions, spill } from './project/spill.js';
export { compareVerdicts } from './replay/compare-verdicts.js';
export { type ComparisonMarkdownOptions, comparisonMarkdown } from './replay/comparison-markdown.js';
export { type ForkArguments, type ForkOptions, fork } from './replay/fork.js';
export { type ForkLogOptions, type ForkPlace, forkLog } from './replay/fork-log.js';
export { type ReplayedCall, type ReplayedRun, type ReplayStep, replay } from './replay/replay-run.js';
export type {
  CompareArguments,
  ComparedAnswer,
  ComparedCounts,
  ComparedGuardrail,
  ComparedRun,
  ComparedSubject,
  ComparedVerdict,
  CompareOptions,
  Comparison,
  GuardrailSet,
  Precision,
  SubjectPlace,
  UnknownWhy,
} from './replay/types.js';
export type { ApprovalKey } from './run/approval-keys.js';
export type { ApprovalClaims } from './run/approval-tokens.js';
export { endUnfinished, type UnfinishedEnding } from './run/end-unfinished.js';
export { type QuarantinedAnswer, readQuarantined } from './run/quarantine.js';
export { assertCompleted, resume, run, stream } from './run/run.js';
export { type VerifiedApproval, type VerifyOptions, verifyApproval } from './run/sign-approvals.js';
export type {
  ApprovalSigning,
  Blocked,
  Cancelled,
  Completed,
  Exhausted,
  Failed,
  HistoryItem,
  Interrupted,
  Observer,
  OpenApproval,
  QuarantineStore,
  ResumeArguments,
  ResumeOptions,
  ResumeTarget,
  RunArguments,
  RunInput,
  RunOptions,
  RunResult,
  RunStream,
  SessionReference,
  SharedOptions,
  View,
  ViewInfo,
  ViewText,
} from './run/types.js';
export { memorySession } from './session/memory.js';
export type { SessionStore } from './session/session.js';
export type { RunCall } from './state/call-tally.js';
export { canonicalJson } from './state/canonical-json.js';
export { type Change, changesBetween } from './state/definitions.js';
export type {
  Action,
  Approval,
  ApprovalFlow,
  ApprovalRequestEvent,
  ApprovalResolveEvent,
  ApprovalRewrite,
  Ask,
  AttributedDecision,
  CallApproval,
  CallEnd,
  CallStatus,
  Completeness,
  Decision,
  Decisions,
  Definitions,
  ErrorClass,
  GuardBreakerEvent,
  GuardEntry,
  GuardFailure,
  GuardLevel,
  GuardVerdictEvent,
  HandoffApproval,
  HandoffEvent,
  HandoffRefusedEvent,
  InputAcceptEvent,
  LimitName,
  Limits,
  Log,
  LogEvent,
  Manifest,
  ModelEndEvent,
  ModelRetryEvent,
  ModelStartEvent,
  ModelWarningEvent,
  MonitorAlertEvent,
  ObserverErrorEvent,
  OutputApproval,
  ReasoningDeltaEvent,
  RecordedCall,
  RecordedError,
  RecordedLimits,
  Refusal,
  RunEndEvent,
  RunEvent,
  RunResumeEvent,
  RunStartEvent,
  RunStatus,
  RunWaitEvent,
  SignedDecision,
  SignedDecisions,
  StandingApproval,
  StandingDecision,
  Surface,
  TextDeltaEvent,
  TextRetractEvent,
  ThoughtPlace,
  ToolDeltaEvent,
  ToolEndEvent,
  ToolProgressEvent,
  ToolStartEvent,
  TurnStartEvent,
  ViewEntry,
  WatchEvent,
} from './state/events.js';
export { resolveLimits } from './state/limits.js';
export { type AssertLogOptions, assertLog } from './state/log.js';
export { type UsageDivision, usageBy } from './state/usage-by.js';
