// Subpath ./model: all that an adapter may see.

export type { ErrorCode, SafeCause } from './errors.js';
export { GuardloopError, safeCause } from './errors.js';
export type { ModelAnswer } from './model/collect.js';
export { collect } from './model/collect.js';
export type { Prices } from './model/cost.js';
export { costOf } from './model/cost.js';
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
  StreamOptions,
  TextPart,
  ToolCall,
  ToolChoice,
  ToolMessage,
  ToolSpec,
  Usage,
  UserMessage,
  Via,
} from './model/types.js';
export { OpenCalls } from './wire/open-calls.js';
