// What the open-source part of DBOS leaves to be done: workflows of dead workers, and those that are done.
import type { WorkflowStatus } from '@dbos-inc/dbos-sdk';
import { DBOS } from '@dbos-inc/dbos-sdk';
import { runOfKick, workflowName } from './kicks.js';
import type { DbosSettings, Member } from './settings.js';

interface Tidying {
  readonly settings: DbosSettings;
  readonly member: Member;
  /** Whether this workflow runs in this process. */
  isHere(workflowId: string): boolean;
}

const isoOf = (at: number) => new Date(at).toISOString();
const ended = ['SUCCESS', 'ERROR', 'CANCELLED', 'MAX_RECOVERY_ATTEMPTS_EXCEEDED'] as const;
const pageSize = 500;
/** Done workflows are looked for at most so often. */
const sweepMs = 60_000;

/**
 * Puts back into their queues the workflows of workers that seem to be dead; runs themselves need it not, since workers look for them. A
 * worker seems dead if the oldest workflow that it holds is older than a lease, and the run of that workflow is leased to nobody, at two
 * looks in a row. A wrong guess costs one call: the store's claim lets nobody take a run twice, and DBOS's own fence lets one end be noted.
 */
function findStale({ settings, member, isHere }: Tidying): () => Promise<void> {
  let suspected = new Set<string>();
  return async () => {
    const { store, leaseMs } = member;
    const { application: applicationName } = settings;
    const now = await store.now();
    const held = await DBOS.listWorkflows({
      workflowName,
      applicationName,
      status: 'PENDING',
      dequeuedBefore: isoOf(now - leaseMs),
      limit: pageSize,
      loadInput: false,
      loadOutput: false,
    });
    const byExecutor = new Map<string, WorkflowStatus[]>();
    for (const each of held) {
      if (isHere(each.workflowID)) continue;
      const executor = each.executorId ?? '';
      byExecutor.set(executor, [...(byExecutor.get(executor) ?? []), each]);
    }
    const before = suspected;
    suspected = new Set();
    for (const [executor, workflows] of byExecutor) {
      const [oldest] = workflows;
      if (oldest === undefined) continue;
      const run = await store.runs.get(runOfKick(applicationName, oldest.workflowID));
      if (run?.state === 'running' && run.lease !== undefined && run.lease.until > now) continue;
      const mark = JSON.stringify([executor, oldest.workflowID]);
      if (before.has(mark)) await putBack(workflows);
      else suspected.add(mark);
    }
  };
}

async function putBack(workflows: readonly WorkflowStatus[]): Promise<void> {
  for (const queue of new Set(workflows.map(({ queueName }) => queueName))) {
    if (queue === undefined) continue;
    const ids = workflows.filter(({ queueName }) => queueName === queue).map(({ workflowID }) => workflowID);
    await DBOS.resumeWorkflows(ids, { queueName: queue });
  }
}

/** Deletes the rows of workflows that ended more than `keepMs` ago, at most 5,000 at a time. */
async function deleteDone({ application: applicationName, keepMs }: DbosSettings): Promise<void> {
  for (let page = 0; page < 10; page += 1) {
    const done = await DBOS.listWorkflows({
      workflowName,
      applicationName,
      status: [...ended],
      completedBefore: isoOf(Date.now() - keepMs),
      limit: pageSize,
      loadInput: false,
      loadOutput: false,
    });
    if (done.length > 0) await DBOS.deleteWorkflows(done.map(({ workflowID }) => workflowID));
    if (done.length < pageSize) return;
  }
}

/** Does both now and then, in the background. Returns what ends it. A database that is away is asked again later. */
export function keepTidy(tidying: Tidying): () => Promise<void> {
  const { settings, member } = tidying;
  const lookForStale = findStale(tidying);
  let isStopped = false;
  let wake: (() => void) | undefined;
  let sweptAt = 0;
  const run = async (): Promise<void> => {
    while (!isStopped) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, member.leaseMs * (1 + Math.random() / 5));
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      if (isStopped) return;
      await lookForStale().catch(() => undefined);
      if (performance.now() - sweptAt < Math.min(sweepMs, settings.keepMs)) continue;
      await deleteDone(settings).catch(() => undefined);
      sweptAt = performance.now();
    }
  };
  const running = run();
  return async () => {
    isStopped = true;
    wake?.();
    await running;
  };
}
