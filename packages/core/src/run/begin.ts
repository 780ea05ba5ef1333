import { readable } from '../define/definition-reader.js';
import { resolveAgents } from '../define/resolve.js';
import type { AgentSpec } from '../define/specs.js';
import { GuardloopError } from '../errors.js';
import { schemasReady } from '../schema.js';
import type { LogEvent } from '../state/events.js';
import { limitsOf, recordLimits, resolveLimits } from '../state/limits.js';
import { readDamaged, readLog } from '../state/log.js';
import type { LogState } from '../state/state.js';
import { beforeEntry, late } from './before-entry.js';
import { checkDigests } from './check-digests.js';
import { checkWhole, mismatch, rejectionsOf } from './check-fit.js';
import { readAnswers, readDecisions } from './decisions.js';
import { endOpenRun } from './end-run.js';
import { RunHandle } from './handle.js';
import type { ReadLog } from './known-sessions.js';
import type { Door, Place } from './make-root.js';
import { fence, foldLog, inTurn, loadSession, makeRoot, newId, nowhere } from './make-root.js';
import type { Options } from './options.js';
import { readInput, readSession } from './options.js';
import { manifestOf, standOf } from './plan.js';
import { SessionBusy } from './session-turn.js';
import { answerOpenByStanding } from './standing-decisions.js';

/** Schemas are made, and no two guardrails that stand together share a name, in agents that are used as tools neither. */
async function ready(agents: ReadonlyMap<string, AgentSpec>, { guards, settings }: Options): Promise<void> {
  if (settings.signer) await settings.signer.keys;
  const schemas = schemasReady();
  if (schemas !== undefined) await schemas;
  const seen = new Set<AgentSpec>();
  const place = (reach: ReadonlyMap<string, AgentSpec>): void => {
    for (const agent of reach.values()) {
      if (seen.has(agent)) continue;
      seen.add(agent);
      standOf(agent, guards);
      for (const { agent: child } of agent.tools) if (child) place(resolveAgents(child.agent));
    }
  };
  place(agents);
}

function activeAgent(log: LogState, agents: ReadonlyMap<string, AgentSpec>, start: AgentSpec): AgentSpec {
  return agents.get(log.conversation.agent ?? start.name) ?? start;
}

/** What a new run starts from, checked. */
interface NewRun {
  readonly start: AgentSpec;
  readonly agents: ReadonlyMap<string, AgentSpec>;
  readonly input: unknown;
  readonly runId: string;
  /** The input as `start` is given it. */
  readonly given: NonNullable<RunHandle['input']>;
  readonly limits: ReturnType<typeof resolveLimits>;
}

/** Starts a new run. Throws before the run is entered. */
export async function beginRun(start: AgentSpec, input: unknown, door: Door): Promise<RunHandle> {
  const { options } = door;
  const limits = resolveLimits(options.limits, limitsOf(start.mode));
  const runId = options.runId ?? newId('r');
  const agents = resolveAgents(start);
  const given = readInput(input, options.history, { run: runId, agent: start.name });
  await ready(agents, options);
  const run: NewRun = { start, agents, input, runId, given, limits };
  return options.session ? inTurn(options.session, door, (place) => enterRun(run, door, place)) : enterRun(run, door, nowhere);
}

async function enterRun({ start, agents, input, runId, given, limits }: NewRun, door: Door, place: Place): Promise<RunHandle> {
  const { options } = door;
  const { session } = place;
  const { root, attach, announce } = makeRoot(door, session ? await loadSession(session, door) : foldLog([]), place);
  if (root.log.runs.has(runId))
    throw new GuardloopError('CONFIG_INVALID', `The session has a run ${runId} already. Give another runId, or none.`);
  const before = root.log.root;
  if (before && before.ended === undefined) {
    if (place.turn?.mayBeUnderWay(root.log) && !(options.isAbandoning && place.attempt?.isLast)) throw new SessionBusy(root.log.seq);
    if (!options.isAbandoning)
      throw mismatch(
        `The last run of the session, ${before.id}, has not ended: it is under way, waits for people or was cut. Resume it, give unfinished: 'abandon' to end it, or onConflict: 'queue' in \`session\` to wait for one that is under way.`,
      );
    endOpenRun({ root, run: before }, { status: 'cancelled', reason: undefined });
  }
  const agent = activeAgent(root.log, agents, start);
  const messages = agent === start ? given : readInput(input, options.history, { run: runId, agent: agent.name });
  const event: LogEvent = {
    type: 'run.start',
    seq: root.log.seq + 1,
    at: root.clock.now(),
    run: runId,
    agent: agent.name,
    writer: root.writerId,
    limits: recordLimits(limits),
    manifest: manifestOf(standOf(agent, root.runGuards), agents),
    ...(options.onLimit === 'finalize' ? { onLimit: 'finalize' } : {}),
  };
  const publisher = new RunHandle(root, undefined as never, { agents });
  publisher.publish(event);
  const state = root.log.runs.get(runId);
  if (state === undefined) throw new GuardloopError('INTERNAL', `The run ${runId} was not entered into its log.`);
  if (root.writer) await fence(root, door);
  announce();
  const handle = new RunHandle(root, state, { agents });
  attach(handle);
  handle.input = messages;
  return handle;
}

/** Goes on with the last run of a log, or gives back one that has ended. Throws before anything is appended. */
export async function beginResume(start: AgentSpec, target: unknown, door: Door): Promise<RunHandle> {
  const { options } = door;
  const agents = resolveAgents(start);
  await ready(agents, options);
  const isSession = typeof target === 'object' && target !== null && readable('What is to be resumed', () => 'store' in target);
  const session = isSession ? readSession(target) : undefined;
  if (session === undefined) return enterResume(start, { agents, load: () => foldLog(readLog(target)) }, { door, place: nowhere });
  const load = () => loadSession(session, door);
  return inTurn(session, door, (place) => enterResume(start, { agents, load }, { door, place }));
}

/** What is resumed. */
interface Resumed {
  readonly agents: ReadonlyMap<string, AgentSpec>;
  load(): ReadLog | Promise<ReadLog>;
}

async function enterResume(
  start: AgentSpec,
  { agents, load }: Resumed,
  { door, place }: { readonly door: Door; readonly place: Place },
): Promise<RunHandle> {
  const { options } = door;
  const { root, attach, announce } = makeRoot(door, await load(), place);
  const state = root.log.root;
  if (state === undefined) throw mismatch('The log holds no run. Start one with `run`.');
  // A log that was found is taken over from whoever wrote it; who won it since is at work.
  if (place.attempt?.isRetry && place.turn?.mayBeUnderWay(root.log)) throw new SessionBusy(root.log.seq);
  const limits = options.limits === undefined ? undefined : resolveLimits(options.limits, state.limits);
  const handle = new RunHandle(root, state, { agents });
  attach(handle);
  const decisions = readDecisions(options.decisions);
  const { ended } = state;
  // Under the same limits an exhausted run would end exhausted again.
  const hasNewLimits = options.limits !== undefined || options.onLimit !== undefined;
  const canReopen =
    ended !== undefined &&
    ((ended.status === 'exhausted' && hasNewLimits) ||
      ended.status === 'cancelled' ||
      ended.status === 'failed' ||
      ended.refusal?.failed === true);
  if (ended && !canReopen) {
    if (decisions.size > 0) throw mismatch(`The run ${state.id} has ended ${ended.status}: there is nothing to decide.`);
    return handle;
  }
  const rejecting = rejectionsOf(decisions);
  readDamaged(() => checkWhole(handle, options, rejecting));
  await checkDigests(state);
  const events = decisions.size === 0 ? [] : await beforeEntry(door, readAnswers(handle, decisions));
  if (events === late)
    throw mismatch(
      `The decisions for the run ${state.id} were not read in time: it was aborted while the schema of a tool looked at an edit. Nothing was changed; resume it again.`,
    );
  if (rejecting.size > 0) {
    const rejected = new Set(events.flatMap(({ draft }) => (draft.decision === 'reject' ? [draft.id] : [])));
    readDamaged(() => checkWhole(handle, options, rejected));
  }
  if (!state.accepted) {
    if (options.input === undefined)
      throw mismatch(
        `The run ${state.id} was cut before its input was accepted, and nothing of it is recorded. Give it again with the option \`input\`.`,
      );
    handle.input = readInput(options.input, options.history, { run: state.id, agent: state.agent });
  }
  handle.append({
    type: 'run.resume',
    writer: root.writerId,
    manifest: manifestOf(standOf(agents.get(state.agent) ?? start, root.runGuards), agents),
    ...(limits ? { limits: recordLimits(limits) } : {}),
    ...(options.onLimit ? { onLimit: options.onLimit } : {}),
    ...(ended ? { reopens: true as const } : {}),
  });
  for (const { run, draft } of events) new RunHandle(root, run, { agents }).append(draft);
  answerOpenByStanding(handle, decisions);
  await fence(root, door);
  announce();
  return handle;
}
