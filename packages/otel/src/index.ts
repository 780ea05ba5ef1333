export { activeTraceparent, type IdGenerator, type RunTrace, runIds, traceOfRun } from './ids.js';
export type { ContentOptions, ContentPlace, OtelOptions } from './options.js';
export { otel, type RunPlace, type Telemetry } from './otel.js';
