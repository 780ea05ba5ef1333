import type { Tracer } from '@opentelemetry/api';
import type { Contents } from './contents.js';
import type { Metrics } from './metrics.js';
import type { Settings } from './options.js';
import type { ProviderNames } from './provider-names.js';

/** What all that follows events works with. */
export interface Means {
  readonly settings: Settings;
  readonly contents: Contents | undefined;
  readonly providers: ProviderNames;
  /** Undefined where there is none to be had. */
  readonly tracer: Tracer | undefined;
  /** Undefined where there is no meter. */
  readonly metrics: Metrics | undefined;
}
