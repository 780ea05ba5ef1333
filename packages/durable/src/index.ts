export {
  type Accept,
  type DataOf,
  type DurableAgent,
  type DurableAgentConfig,
  type DurableRunOptions,
  durableAgent,
  type MakesContext,
  type Registry,
} from './agents.js';
export { type Durable, type DurableOptions, durable, durableClient } from './durable.js';
export { type EmbeddedOptions, embeddedEngine } from './embedded.js';
export type { Advanced, Engine, EngineWork, EngineWorker } from './engine.js';
export type {
  ApprovalTimes,
  CancelOutcome,
  ClientOptions,
  DurableApprovals,
  DurableClient,
  DurableEvent,
  DurableResult,
  DurableWorker,
  EventsOptions,
  KnownAgent,
  NumberedEvent,
  QueueOptions,
  ResultOptions,
  RunInfo,
  SubmitArguments,
  SubmitOptions,
  Submitted,
  SubmittedRun,
  Trouble,
  Until,
  WorkerOptions,
} from './types.js';
