export type {
  ApprovalQuery,
  ApprovalRecord,
  ApprovalRecords,
  ApprovalState,
  Belonging,
  BelongingQuery,
  ClaimOptions,
  DecideOptions,
  DecideOutcome,
  LiveText,
  LiveTexts,
  NewRun,
  Page,
  PageQuery,
  QueueLimits,
  RunChange,
  RunQuery,
  RunRecord,
  RunRecords,
  RunState,
  SessionQuery,
  SessionRecord,
  SessionRecords,
  Store,
} from './contract.js';
export { type ExportOptions, exportSession, importSession, type SessionExport } from './export.js';
export { type MemoryStoreOptions, memoryStore } from './memory.js';
export type { LeftOutField, Redaction, RedactionCount, TextPlace } from './redact-contents.js';
export type { EncryptionKey, EncryptionOptions } from './sealing.js';
