// DBOS is one for each process: what the workers of this process have of it together.
import { DBOS } from '@dbos-inc/dbos-sdk';
import { GuardloopError } from '@guardloop/core';
import { applicationVersion, queueName, workflowClassName, workflowName } from './kicks.js';
import type { DbosSettings, Member } from './settings.js';
import { keepTidy } from './tidy.js';

interface Launch {
  readonly key: string;
  readonly members: Set<Member>;
  /** Workflows that run here. */
  readonly active: Set<string>;
  stopTidying(): Promise<void>;
}

let launch: Launch | undefined;
let isRegistered = false;
/** Joining and leaving happen one after another. */
let turn: Promise<unknown> = Promise.resolve();
function inTurn<T>(act: () => Promise<T>): Promise<T> {
  const result = turn.then(act);
  turn = result.catch(() => undefined);
  return result;
}

const keyOf = ({ databaseUrl, schema, application }: DbosSettings): string => JSON.stringify([databaseUrl, schema, application]);

/** The body of the one workflow: rings at the worker of this process that has most room. All that counts is in the store. */
async function advance(_run: string, queue: string): Promise<void> {
  const here = launch;
  const id = DBOS.workflowID;
  if (here === undefined || id === undefined) return;
  here.active.add(id);
  try {
    const [member] = [...here.members].filter(({ queues }) => queues.includes(queue)).sort((a, b) => b.free() - a.free());
    await member?.take();
  } finally {
    here.active.delete(id);
  }
}

/** Recoveries are not attempts at anything: a run that gets nowhere is counted by its own record. */
const maxRecoveryAttempts = 1_000_000_000;

async function start(settings: DbosSettings, member: Member): Promise<Launch> {
  if (DBOS.isInitialized())
    throw new GuardloopError(
      'CONFIG_INVALID',
      'DBOS has been launched in this process already, and it can be launched once. Start workers of dbosEngine in a process that does not launch it.',
    );
  // Once for the process: what else is registered in it is not ours to take away.
  if (!isRegistered) DBOS.registerWorkflow(advance, { name: workflowName, className: workflowClassName, maxRecoveryAttempts });
  isRegistered = true;
  DBOS.setConfig({
    name: settings.application,
    systemDatabaseUrl: settings.databaseUrl,
    systemDatabaseSchemaName: settings.schema,
    executorID: member.owner,
    applicationVersion: applicationVersion(settings.application),
    listenQueues: member.queues.map((queue) => queueName(settings.application, queue)),
    logger: settings.logger,
  });
  try {
    await DBOS.launch();
  } catch (cause) {
    await DBOS.shutdown().catch(() => undefined);
    throw new GuardloopError('STORE_FAILED', 'DBOS could not start: its database cannot be reached, or refuses this user.', {
      cause,
      isRetryable: true,
    });
  }
  const made: Launch = { key: keyOf(settings), members: new Set(), active: new Set(), stopTidying: async () => undefined };
  made.stopTidying = keepTidy({ settings, member, isHere: (id) => made.active.has(id) });
  return made;
}

/** No limit of DBOS's over workers is used: it would count what dead workers held, and dequeuers would get into each other's way. */
async function registerQueues(settings: DbosSettings, members: Iterable<Member>): Promise<void> {
  const places = new Map<string, number>();
  for (const { queues, concurrency } of members) for (const queue of queues) places.set(queue, (places.get(queue) ?? 0) + concurrency);
  for (const [queue, workerConcurrency] of places)
    await DBOS.registerQueue(queueName(settings.application, queue), {
      workerConcurrency,
      minPollingIntervalMs: settings.pollMs,
      onConflict: 'always_update',
    });
}

/** Enters a worker. What it gives takes the worker out again, and settles when nothing of it is under way. */
export function join(settings: DbosSettings, member: Member): Promise<(whenIdle: Promise<void>) => Promise<void>> {
  return inTurn(async () => {
    if (launch !== undefined && launch.key !== keyOf(settings))
      throw new GuardloopError(
        'CONFIG_INVALID',
        'A worker of this process uses DBOS with another database, schema or application, and DBOS is one for each process. Give both the same, or start them in two processes.',
      );
    launch ??= await start(settings, member);
    launch.members.add(member);
    await registerQueues(settings, launch.members);
    return async (whenIdle) => {
      await inTurn(() => leave(member, whenIdle));
      await whenIdle;
    };
  });
}

/** What DBOS is given to note the ends of workflows after the runs have stopped. */
const noteMs = 5_000;
const longestMs = 2 ** 31 - 1;

async function leave(member: Member, whenIdle: Promise<void>): Promise<void> {
  const here = launch;
  here?.members.delete(member);
  if (here === undefined || here.members.size > 0) return;
  await here.stopTidying();
  // It stops to dequeue at once and waits for its workflows; with its database away it would wait for ever.
  const down = DBOS.shutdown({ workflowCompletionTimeoutMS: longestMs }).catch(() => undefined);
  await whenIdle;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, noteMs);
  });
  await Promise.race([down, late]);
  clearTimeout(timer);
  launch = undefined;
}
