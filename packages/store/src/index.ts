export { decideApproval, type GivenDecision, reopenApproval, scheduleApproval } from './approval-records.js';
export {
  checkBatch,
  checkClaim,
  checkId,
  checkLease,
  checkTtl,
  logConflict,
  maxLeaseMs,
  pageSize,
  readPlace,
  writePlace,
} from './check-arguments.js';
export {
  type Codec,
  type CodecOptions,
  type Content,
  type Encoded,
  makeCodec,
  type Payload,
  placeOf,
  type ReadPayloads,
  type Row,
  readName,
  writeName,
} from './codec.js';
export type {
  ApprovalQuery,
  ApprovalRecord,
  ApprovalRecords,
  ApprovalState,
  Belonging,
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
export { type Derived, deriveAll, deriveRecords, type SessionStand } from './derive.js';
export { type ExportOptions, exportSession, importSession, type SessionExport } from './export.js';
export { type MemoryStoreOptions, memoryStore } from './memory.js';
export type { LeftOutField, Redaction, RedactionCount, TextPlace } from './redact-contents.js';
export { changedRun, isDue, newRunRecord } from './run-records.js';
export type { EncryptionKey, EncryptionOptions } from './sealing.js';
export { Watchers } from './watchers.js';
