// A receiver of OTLP over HTTP on the loopback: takes protobuf and JSON, and gives both back in the form of OTLP/JSON.
import type { IncomingMessage, Server } from 'node:http';
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';

/** Of the protocol what we look at; its other fields are skipped. */
const schema = `
syntax = "proto3";
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5; } }
message ArrayValue { repeated AnyValue values = 1; }
message Resource { repeated KeyValue attributes = 1; }
message Scope { string name = 1; string version = 2; }
message Status { string message = 2; int32 code = 3; }
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message Link { bytes trace_id = 1; bytes span_id = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
  repeated Event events = 11; repeated Link links = 13; Status status = 15;
}
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Traces { repeated ResourceSpans resource_spans = 1; }
message NumberDataPoint { repeated KeyValue attributes = 7; double as_double = 4; sfixed64 as_int = 6; }
message HistogramDataPoint { repeated KeyValue attributes = 9; fixed64 count = 4; double sum = 5; repeated double explicit_bounds = 7; }
message Sum { repeated NumberDataPoint data_points = 1; }
message Histogram { repeated HistogramDataPoint data_points = 1; }
message Metric { string name = 1; string unit = 3; Sum sum = 7; Histogram histogram = 9; }
message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message Metrics { repeated ResourceMetrics resource_metrics = 1; }
`;
const { root } = protobuf.parse(schema);

export interface WireAttribute {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly boolValue?: boolean;
    readonly intValue?: string | number;
    readonly doubleValue?: number;
  };
}
export interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly WireAttribute[];
}
export interface WireMetric {
  readonly name: string;
  readonly unit: string;
  readonly histogram?: { readonly dataPoints: readonly { readonly explicitBounds: readonly number[] }[] };
}
interface Body {
  readonly resourceSpans?: readonly { readonly scopeSpans?: readonly { readonly spans?: readonly WireSpan[] }[] }[];
  readonly resourceMetrics?: readonly { readonly scopeMetrics?: readonly { readonly metrics?: readonly WireMetric[] }[] }[];
}

const hex = (bytes: unknown): string => Buffer.from(String(bytes), 'base64').toString('hex');

/** JSON of protobuf holds bytes as base64; OTLP/JSON wants ids as hex. */
const withIds = (span: WireSpan): WireSpan => ({
  ...span,
  traceId: hex(span.traceId),
  spanId: hex(span.spanId),
  ...(span.parentSpanId === undefined ? {} : { parentSpanId: hex(span.parentSpanId) }),
});

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  return request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
}

function decode(bytes: Buffer, type: string, message: 'Traces' | 'Metrics'): Body {
  if (type.includes('json')) return JSON.parse(bytes.toString('utf8')) as Body;
  const shape = root.lookupType(message);
  return shape.toObject(shape.decode(bytes), { longs: String, bytes: String, arrays: true }) as Body;
}

/** What was received so far, and who answers with what. */
export class OtlpReceiver {
  readonly spans: WireSpan[] = [];
  readonly metrics: WireMetric[] = [];
  readonly types = new Set<string>();
  requests = 0;
  /** `hang` never answers. */
  answer: number | 'hang' = 200;
  private readonly server: Server;

  constructor() {
    this.server = createServer((request, response) => {
      void this.take(request).then(() => {
        if (this.answer !== 'hang') response.writeHead(this.answer, { 'content-type': request.headers['content-type'] }).end();
      });
    });
  }

  /** Where it listens: `http://127.0.0.1:PORT`. */
  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    const address = this.server.address();
    if (address === null || typeof address === 'string') throw new Error('The receiver has no port.');
    return `http://127.0.0.1:${address.port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async take(request: IncomingMessage): Promise<void> {
    const body = await bodyOf(request);
    this.requests += 1;
    if (this.answer !== 200) return;
    const type = request.headers['content-type'] ?? '';
    this.types.add(type);
    if (request.url === '/v1/traces') {
      const { resourceSpans = [] } = decode(body, type, 'Traces');
      const spans = resourceSpans.flatMap(({ scopeSpans = [] }) => scopeSpans.flatMap((scope) => scope.spans ?? []));
      this.spans.push(...(type.includes('json') ? spans : spans.map(withIds)));
    } else {
      const { resourceMetrics = [] } = decode(body, type, 'Metrics');
      this.metrics.push(...resourceMetrics.flatMap(({ scopeMetrics = [] }) => scopeMetrics.flatMap((scope) => scope.metrics ?? [])));
    }
  }
}
