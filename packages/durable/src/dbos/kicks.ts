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
export const applicationVersion = (application: string): string => `${application}-log-${protocol}`;

/** Names of queues and ids of workflows are DBOS's own over all applications of its schema. */
export const queueName = (application: string, queue: string): string => `${application}:${queue}`;

/** One for each change of a record: the same kick given twice is one workflow. */
export const kickId = (application: string, run: Pick<RunRecord, 'id' | 'version'>): string => `${application}:${run.id}:${run.version}`;
/** The run that a workflow of this id is about. */
export const runOfKick = (application: string, workflowId: string): string =>
  workflowId.slice(application.length + 1, workflowId.lastIndexOf(':'));

const highestPriority = 2 ** 31 - 1;

/** How the kick is enqueued. Undefined: DBOS cannot name this run; workers find it by looking. */
export function kickOptions(application: string, run: RunRecord): EnqueueWorkflowOptions | undefined {
  if (!isWellFormed(run.id) || !isWellFormed(run.queue)) return undefined;
  const delayMs = run.dueAt - run.updatedAt;
  return {
    workflowName,
    workflowClassName,
    queueName: queueName(application, run.queue),
    workflowID: kickId(application, run),
    appVersion: applicationVersion(application),
    priority: Math.min(highestPriority, Math.max(0, Math.round(run.priority))),
    ...(delayMs > 0 ? { delaySeconds: delayMs / 1_000 } : {}),
  };
}
