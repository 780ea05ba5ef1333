export { type FakeProvider, httpBench } from './conformance/http-bench.js';
export type { BenchCall, BenchReply, BenchRequest, BenchStream, ModelBench } from './conformance/model-bench.js';
export { modelConformance } from './conformance/model-conformance.js';
export { type RecordedError, type RecordedStream, readRecordings } from './conformance/recordings.js';
export { type SessionConformanceOptions, sessionConformance } from './conformance/session-conformance.js';
export { type StreamConformanceOptions, streamConformance } from './conformance/stream-conformance.js';
