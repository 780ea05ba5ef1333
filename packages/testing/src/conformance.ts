export type { BenchCall, BenchReply, ModelBench } from './conformance/model-bench.js';
export { modelConformance } from './conformance/model-conformance.js';
export { type SessionConformanceOptions, sessionConformance } from './conformance/session-conformance.js';
