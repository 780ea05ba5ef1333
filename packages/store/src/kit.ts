// What authors of a store need: one form of records, contents and checks for every database.
export { decideApproval, type GivenDecision, reopenApproval, scheduleApproval } from './approval-records.js';
export {
  approvalTaken,
  checkBatch,
  checkClaim,
  checkId,
  checkLease,
  checkNewSession,
  checkSessionOf,
  checkTimers,
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
export { type Derived, deriveAll, deriveRecords, type SessionStand } from './derive.js';
export { type ReadContents, readApart } from './read-apart.js';
export type { RunContentRows, RunContents } from './run-contents.js';
export { readRunContents } from './run-contents.js';
export { changedRun, isDue, neededUntil, newRunRecord } from './run-records.js';
export { Watchers } from './watchers.js';
