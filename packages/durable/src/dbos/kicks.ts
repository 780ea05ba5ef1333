// What DBOS is told of a run: its id, version, queue and priority. Nothing of what was submitted, and nothing of its log.
import type { EnqueueWorkflowOptions } from '@dbos-inc/dbos-sdk';
import type { Log } from '@guardloop/core';
import type { RunRecord } from '@guardloop/store';
import { isWellFormed } from '../well-formed.js';

/** Under which the workflow is registered. */
export const workflowName = 'advance';
export const workflowClassName = 'guardloop';

const protocol: Log['version'] = 1;
/**
 * DBOS gives a workflow only to workers of its version. What a kick needs is a worker that reads the log, so the version is the log's: a
 * deployment takes over what the one before it left.
 */
export const applicationVersion = `guardloop-log-${protocol}`;

/** DBOS's own queues begin otherwise. */
export const queueName = (queue: string): string => `guardloop:${queue}`;

/** One for each change of a record: the same kick given twice is one workflow. */
export const kickId = (run: Pick<RunRecord, 'id' | 'version'>): string => `${run.id}:${run.version}`;
/** The run that a workflow of this id is about. */
export const runOfKick = (workflowId: string): string => workflowId.slice(0, workflowId.lastIndexOf(':'));

const highestPriority = 2 ** 31 - 1;

/** How the kick is enqueued. Undefined: DBOS cannot name this run; workers find it by looking. */
export function kickOptions(run: RunRecord): EnqueueWorkflowOptions | undefined {
  if (!isWellFormed(run.id) || !isWellFormed(run.queue)) return undefined;
  const delayMs = run.dueAt - run.updatedAt;
  return {
    workflowName,
    workflowClassName,
    queueName: queueName(run.queue),
    workflowID: kickId(run),
    appVersion: applicationVersion,
    priority: Math.min(highestPriority, Math.max(0, Math.round(run.priority))),
    ...(delayMs > 0 ? { delaySeconds: delayMs / 1_000 } : {}),
  };
}
