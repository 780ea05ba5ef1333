// What a child process is told, as JSON in a file.
import type { Strike } from './places.js';
import type { SceneFiles } from './scene.js';

/** Where a store is. */
export type StoreAddress =
  | { readonly kind: 'sqlite'; readonly file: string; readonly maxBytes?: number | undefined }
  | { readonly kind: 'postgres'; readonly connectionString: string; readonly schema: string; readonly patienceMs?: number | undefined }
  | { readonly kind: 'redis'; readonly url: string; readonly prefix: string };
export type EngineAddress =
  | { readonly kind: 'embedded' }
  | { readonly kind: 'dbos'; readonly databaseUrl: string; readonly application: string }
  | { readonly kind: 'restate'; readonly ingressUrl: string; readonly adminUrl: string; readonly service: string };

/** A process that takes durable runs until it is killed. */
export interface WorkerWish {
  readonly kind: 'worker';
  readonly engine: EngineAddress;
  readonly leaseMs: number;
  readonly name: string;
  /** How far the process's clock is ahead of that of its machine. */
  readonly aheadMs?: number | undefined;
}
/** A process that runs or resumes one session without workers, then ends. */
interface PlainWish {
  readonly kind: 'plain';
  readonly run: string;
  readonly decisions: Readonly<Record<string, unknown>>;
}
export interface ChildConfig {
  readonly store: StoreAddress;
  readonly files: SceneFiles & { readonly places: string };
  readonly strike?: Strike | undefined;
  /** Holds how far the machine's clock is from the true time, milliseconds. */
  readonly clockFile?: string | undefined;
  /** How long the tool `charge` takes, milliseconds. */
  readonly chargeMs?: number | undefined;
  readonly does: WorkerWish | PlainWish;
}
