export { auditLog } from './audit/audit-log.js';
export { type CutOptions, type CutReport, type CutResult, cutAnywhere } from './cut-anywhere.js';
export { type NormalEvent, normalLog } from './normal-log.js';
export { checkMessagesRequest, type MessagesRequestOptions } from './requests/anthropic.js';
export { checkChatRequest } from './requests/openai-chat.js';
export { checkResponsesRequest } from './requests/openai-responses.js';
export { type ExploreOptions, type ExploreReport, exploreOrders } from './scheduler/explore-orders.js';
export { type Scheduler, type SchedulerOptions, seededScheduler } from './scheduler/seeded-scheduler.js';
export {
  attempts,
  callTool,
  callUnparsable,
  cutOff,
  type Ending,
  endWith,
  failWith,
  type Piece,
  refuse,
  type Script,
  type Step,
  say,
  type Turn,
  think,
  wait,
  warn,
} from './script.js';
export { type ScriptedModel, type ScriptedModelOptions, scriptedModel } from './scripted-model.js';
