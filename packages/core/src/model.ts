// Subpath ./model: all that an adapter may see.

export type { ErrorCode, SafeCause } from './errors.js';
export { GuardloopError, safeCause, suggest } from './errors.js';
export type { ModelAnswer } from './model/collect.js';
export { collect } from './model/collect.js';
export type { Prices } from './model/cost.js';
export { costOf } from './model/cost.js';
export { mergeSettings } from './model/merge-settings.js';
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
  StrictRules,
  TextPart,
  ToolCall,
  ToolChoice,
  ToolMessage,
  ToolSpec,
  Usage,
  UserMessage,
  Via,
} from './model/types.js';
export { wellFormedText } from './model/well-formed-text.js';
export { type ConcurrencyOptions, withConcurrency } from './model/with-concurrency.js';
export { type FallbackInfo, type FallbackOptions, withFallback } from './model/with-fallback.js';
export { type RetryOptions, withRetry } from './model/with-retry.js';
export { type TimeoutOptions, withTimeouts } from './model/with-timeouts.js';
export type { SchemaIssue } from './schema/compiled.js';
export { jsonSchemaCheck } from './schema/json-schema-check.js';
export type { StrictForm } from './schema/strict-form.js';
export { strictForm } from './schema/strict-form.js';
export { Attempts } from './wire/attempts.js';
export type { HttpClientOptions, SdkClientOptions } from './wire/client-options.js';
export { checkClientOptions, clientOptionNames, lazyClient, sdkClientOptions, withClientRetries } from './wire/client-options.js';
export type { CallState, ProviderWords } from './wire/failure.js';
export { frameFailure, NoAnswer, protocolFailure, requestFailure } from './wire/failure.js';
export type { FetchTransportOptions, SdkClient } from './wire/fetch-transport.js';
export { FetchTransport } from './wire/fetch-transport.js';
export type { AnswerAssembly, Asking, FrameSink, HttpCallOptions, Send } from './wire/http-call.js';
export { HttpCall } from './wire/http-call.js';
export { isTooDeep } from './wire/json-depth.js';
export { isWireName, namesByWire, wireName } from './wire/names.js';
export type { AnswerForm, OfferedSchema } from './wire/offered-schema.js';
export { answerForm, answerInWords, offeredSchema } from './wire/offered-schema.js';
export { OpenCalls } from './wire/open-calls.js';
export { checkDefaultSettings, checkModelId, checkOptionNames, checkPrices, checkWholeNumber, optionFault } from './wire/option-checks.js';
export type { PartData } from './wire/part-data.js';
export { mediaTypeOf, partData, textOfData } from './wire/part-data.js';
export { readArguments } from './wire/read-arguments.js';
export { recordOf, safeWord } from './wire/record.js';
export { shortHash } from './wire/short-hash.js';
export type { SseFrame } from './wire/sse.js';
export { SseReader, SseTooLong } from './wire/sse.js';
export { standIns } from './wire/stand-ins.js';
export type { WireToolSchema } from './wire/tool-schema.js';
export { wireToolSchema } from './wire/tool-schema.js';
export { hasText, wellFormed, wellFormedJson, wellFormedJsonText } from './wire/well-formed.js';
