// What Restate is told of a run: its id, version and queue. Nothing of what was submitted, and nothing of its log.
import type { ObjectSharedContext, VirtualObjectDefinition } from '@restatedev/restate-sdk';

/** The one handler, by run id: takes the version of the record, and gives nothing. */
export interface KickHandlers {
  advance(context: ObjectSharedContext, version: number): Promise<void>;
}
export type KickService = VirtualObjectDefinition<string, KickHandlers>;

/**
 * One service for each queue, so that a kick comes to a worker of its queue: letters, digits, `-`, and `_` before the hex of anything else.
 */
export function serviceName(prefix: string, queue: string): string {
  const plain = queue.replace(/[^A-Za-z0-9-]/g, (unit) => `_${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `${prefix}.${plain}`;
}

/** One for each change of a record: the same kick given twice is one invocation. */
export const idempotencyKey = (run: { readonly id: string; readonly version: number }): string => `${run.id}:${run.version}`;
