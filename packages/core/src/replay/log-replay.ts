import type { GuardrailSpec } from '../define/specs.js';
import type { Subject } from '../define/types.js';
import { GuardloopError } from '../errors.js';
import type { Clock } from '../model/clock.js';
import { forgetCalls } from '../run/calls-beside.js';
import type { Root } from '../run/handle.js';
import { RunHandle } from '../run/handle.js';
import { deepFreeze } from '../run/plain-output.js';
import { manifestOf, standOf } from '../run/plan.js';
import type { Action, GuardVerdictEvent, Log, LogEvent, Manifest } from '../state/events.js';
import { apply } from '../state/fold.js';
import { damagedLog, readLog } from '../state/log.js';
import type { LogState, RunState } from '../state/state.js';
import { newLogState } from '../state/state.js';
import { sitesOf } from './commits.js';
import type { Groups } from './recorded.js';
import { answerOf, groupVerdicts, isEqualAnswer, isRewritten, RecordedVerdicts } from './recorded.js';
import type { Replayed, Site } from './site.js';
import { everything } from './site.js';
import type { ReadSet } from './stand-ins.js';
import { StandIns } from './stand-ins.js';
import type { ComparedAnswer, ComparedRun, ComparedSubject, ComparedVerdict, SubjectPlace, UnknownWhy } from './types.js';
import { Witness } from './witness.js';

/** What all logs of one comparison are replayed with. */
export interface Plan {
  readonly set: ReadSet;
  readonly agents: ConstructorParameters<typeof StandIns>[1];
  readonly isKept: boolean;
  readonly expected: ((subject: Subject, at: SubjectPlace) => Action | undefined) | undefined;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Folds one log as it stands, and puts what its events committed to other guardrails. Asks no model, runs no tool. */
export class LogReplay implements Replayed {
  readonly subjects: ComparedSubject[] = [];
  readonly runs = new Map<string, Writable<ComparedRun>>();
  readonly state: LogState = newLogState();
  readonly recorded = new RecordedVerdicts();
  /** Of answers in quarantine, by run: committed by the approval, their text not yet recorded. */
  readonly quarantined: Replayed['quarantined'] = new Map();
  readonly standIns: StandIns;
  private readonly witness = new Witness();
  private readonly runGuards: readonly GuardrailSpec[];
  private readonly replaced: ReadonlySet<string>;
  private readonly verdicts: LogEvent[] = [];
  private readonly past: LogEvent[] = [];
  private readonly handles = new Map<string, RunHandle>();
  private readonly diverged = new Set<string>();
  private readonly root: Root;
  private readonly plan: Plan;
  /** What the caller's own function threw. */
  private ofCaller: { readonly thrown: unknown } | undefined;

  constructor(
    private readonly index: number,
    private readonly log: Log,
    { plan, context }: { readonly plan: Plan; readonly context: unknown },
  ) {
    this.plan = plan;
    const { set } = plan;
    this.standIns = new StandIns(set, plan.agents);
    this.runGuards = [this.witness.first, ...set.run, this.witness.last];
    this.replaced = new Set([set.run, ...set.agents.values(), ...set.tools.values()].flatMap((specs) => specs.map(({ name }) => name)));
    this.root = {
      log: this.state,
      events: this.verdicts,
      past: this.past,
      writer: undefined,
      writerId: 'replay',
      channel: undefined,
      observers: undefined,
      steering: undefined,
      // Once it was stopped nothing is waited for: there is no effect whose result could be lost.
      clock: { now: () => plan.clock.now(), after: (ms, call) => plan.clock.after(plan.signal?.aborted ? 0 : ms, call) },
      context,
      settings: {
        release: 'checked',
        reasoning: 'show',
        project: undefined,
        view: undefined,
        quarantine: undefined,
        concurrency: 1,
        model: undefined,
        ofModel: undefined,
      },
      runGuards: this.runGuards,
      given: undefined,
      leave: undefined,
      remember: undefined,
      loop: () => Promise.resolve(),
    };
  }

  /** False: the signal was aborted before the end. Throws LOG_INVALID, NAME_TAKEN where two guardrails of a name would stand together, and what `expected` throws. */
  async replay(): Promise<boolean> {
    try {
      return await this.replayAll();
    } catch (thrown) {
      throw GuardloopError.is(thrown) || this.ofCaller?.thrown === thrown ? thrown : damagedLog();
    }
  }

  private async replayAll(): Promise<boolean> {
    const events = readLog(this.log);
    this.standIns.prepare(events);
    for (const agent of this.standIns.agents.values()) standOf(agent, this.runGuards);
    const { signal } = this.plan;
    const stop = (): void => {
      for (const handle of this.handles.values()) handle.abort({ kind: 'cancel', reason: signal?.reason });
    };
    signal?.addEventListener('abort', stop, { once: true });
    try {
      for (const event of events) if (signal?.aborted || !(await this.take(event))) return false;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
    for (const [run, { was, event }] of this.quarantined) {
      const handle = this.handleOf(run);
      if (handle) await this.compare({ event, handle, was, unknown: everything(was, 'waiting') });
    }
    return true;
  }

  private async take(given: LogEvent): Promise<boolean> {
    const event = Object.isFrozen(given) ? given : deepFreeze(JSON.parse(JSON.stringify(given)) as LogEvent);
    if (event.type === 'guard.verdict') {
      this.recorded.add(event);
      return true;
    }
    const handle = event.type === 'run.start' ? undefined : this.handleOf(event.run);
    if (handle) for (const site of sitesOf(this, handle, event)) if (!(await this.compare(site))) return false;
    if (event.type === 'run.start') {
      this.handles.delete(event.run);
      const { run, parent, agent } = event;
      // A child run that was cut before it had begun starts once more.
      if (!this.runs.has(run))
        this.runs.set(run, {
          log: this.index,
          run,
          ...(parent === undefined ? {} : { parent }),
          agent,
          subjects: 0,
          changed: 0,
          unknown: 0,
        });
    }
    if (event.type === 'run.resume') this.recorded.clear();
    apply(this.state, this.underSet(event));
    this.past.push(event);
    if (event.type === 'model.end' && handle) forgetCalls(handle);
    return true;
  }

  /** The event as it would be, had the guardrails of the set stood: they tell which history is new to whom. */
  private underSet(event: LogEvent): LogEvent {
    if (event.type === 'handoff') return { ...event, manifest: this.manifestOf(event.to) };
    if (event.type === 'run.start' || event.type === 'run.resume') return { ...event, manifest: this.manifestOf(event.agent) };
    return event;
  }

  private manifestOf(name: string): Manifest {
    const agent = this.standIns.agents.get(name);
    return agent === undefined ? { run: [], agent: [], tools: {} } : manifestOf(standOf(agent, this.runGuards), this.standIns.agents);
  }

  private handleOf(id: string): RunHandle | undefined {
    const known = this.handles.get(id);
    if (known) return known;
    const run: RunState | undefined = this.state.runs.get(id);
    if (run === undefined) return undefined;
    const parent = run.parent && this.handleOf(run.parent.id);
    const handle = new RunHandle(this.root, run, { agents: this.standIns.agents, parent, isStreamed: false });
    this.handles.set(id, handle);
    return handle;
  }

  /** Asks, and tells each subject. False: the signal was aborted meanwhile. */
  private async compare(site: Site): Promise<boolean> {
    const { handle, was } = site;
    this.verdicts.length = 0;
    this.witness.forget();
    if (site.ask) {
      await site.ask();
      if (this.plan.signal?.aborted) return false;
    }
    const given = this.verdicts.filter((event): event is GuardVerdictEvent => event.type === 'guard.verdict' && !this.witness.is(event));
    const seen = this.witness.subjects(handle.state.id, site);
    const recorded = groupVerdicts(was);
    const replayed = groupVerdicts(given);
    const keys = new Set([...recorded.keys(), ...(site.unknown?.keys() ?? []), ...seen.keys(), ...replayed.keys()]);
    const root = rootOf(handle.state);
    const isAfter = this.diverged.has(root.id);
    for (const key of keys) {
      const subject = seen.get(key);
      const isItem = key.startsWith('input ') && key !== `input ${site.entry}`;
      if (isItem && !recorded.has(key) && !replayed.has(key)) continue;
      this.tell(site, { key, subject, isAfter, recorded, replayed });
    }
    return true;
  }

  private tell({ event, handle, unknown, entry, was }: Site, { key, subject, isAfter, recorded, replayed }: Telling): void {
    const { state } = handle;
    const at = key.indexOf(' ');
    const place: Writable<SubjectPlace> = {
      log: this.index,
      run: state.id,
      agent: state.agent,
      surface: key.slice(0, at) as SubjectPlace['surface'],
      subject: key.slice(at + 1),
      seq: event.seq,
    };
    const tool = toolOf(handle, event, place);
    if (tool !== undefined) place.tool = tool;
    const before = recorded.get(key) ?? [];
    // Whoever checks an entry sees what all its rewrites left.
    const isEntry = key === `input ${entry}`;
    const refused = isEntry ? refusalsOfItems(replayed, key) : [];
    const after = [...refused, ...(replayed.get(key) ?? [])];
    const rewrites = isEntry ? was.filter(({ surface }) => surface === 'input') : before;
    const why = unknown?.get(key) ?? (isRewritten(rewrites) ? 'rewritten' : undefined);
    const answer = answerOf(before);
    const next = this.answerNow({ why, before, after, rewrites });
    const row: Writable<ComparedSubject> = {
      ...place,
      status: next === undefined ? 'unknown' : isEqualAnswer(answer, next) ? 'same' : 'changed',
      recorded: answer,
      verdicts: next === undefined ? [] : (replayed.get(key) ?? []).map(verdictOf),
    };
    if (next === undefined) row.why = why ?? 'unrecorded';
    else row.replayed = next;
    if (isAfter) row.afterDivergence = true;
    const expected = subject === undefined || next === undefined ? undefined : this.expect(subject, place);
    if (expected !== undefined) row.expected = expected;
    this.subjects.push(deepFreeze(row));
    this.count(row, isAfter, state);
  }

  private expect(subject: Subject, place: SubjectPlace): Action | undefined {
    try {
      return this.plan.expected?.(subject, deepFreeze({ ...place }));
    } catch (thrown) {
      this.ofCaller = { thrown };
      throw thrown;
    }
  }

  /** What the answer would be; undefined where that cannot be known. */
  private answerNow({ why, before, after, rewrites }: Answers): ComparedAnswer | undefined {
    if (!this.plan.isKept) return why === undefined ? answerOf(after) : undefined;
    const isOfReplaced = (verdict: GuardVerdictEvent): boolean => this.replaced.has(verdict.guardrail);
    const kept = before.filter((verdict) => !isOfReplaced(verdict));
    if (why === 'rewritten') return isRewritten(rewrites.filter(isOfReplaced)) ? undefined : answerOf([...kept, ...after]);
    if (why === undefined) return answerOf([...kept, ...after]);
    // What was refused by one that still stands is refused again.
    const still = answerOf(kept);
    return why === 'refused' && (still.action === 'deny' || still.action === 'halt') ? still : undefined;
  }

  private count(row: ComparedSubject, isAfter: boolean, state: RunState): void {
    const run = this.runs.get(row.run);
    if (run) {
      run.subjects += 1;
      if (row.status === 'changed') run.changed += 1;
      if (row.status === 'unknown') run.unknown += 1;
    }
    if (row.status !== 'changed' || row.replayed === undefined || isAfter) return;
    this.diverged.add(rootOf(state).id);
    if (run === undefined || run.divergence) return;
    const { log, agent, surface, subject, seq, tool, recorded, replayed } = row;
    run.divergence = { log, run: row.run, agent, surface, subject, seq, ...(tool === undefined ? {} : { tool }), recorded, replayed };
  }
}

interface Telling {
  readonly key: string;
  readonly subject: Subject | undefined;
  readonly isAfter: boolean;
  readonly recorded: Groups;
  readonly replayed: Groups;
}

interface Answers {
  readonly why: UnknownWhy | undefined;
  readonly before: readonly GuardVerdictEvent[];
  readonly after: readonly GuardVerdictEvent[];
  /** Where a rewrite of this subject would stand. */
  readonly rewrites: readonly GuardVerdictEvent[];
}

/** An entry is refused with any of its items, and its checks are not asked. */
function refusalsOfItems(replayed: Groups, entry: string): readonly GuardVerdictEvent[] {
  const items = [...replayed].flatMap(([key, verdicts]) => (key.startsWith('input ') && key !== entry ? verdicts : []));
  return items.filter(({ action }) => action === 'deny' || action === 'halt');
}

function rootOf(run: RunState): RunState {
  return run.parent ? rootOf(run.parent) : run;
}

function toolOf({ state }: RunHandle, event: LogEvent, { surface, subject }: SubjectPlace): string | undefined {
  if (surface === 'input' || surface === 'output') return undefined;
  const [id = ''] = subject.slice(state.id.length + 1).split('/');
  return event.type === 'model.end' ? event.calls.find((call) => call.id === id)?.name : state.calls.get(id)?.call.name;
}

function verdictOf({
  guardrail,
  version,
  level,
  phase,
  action,
  reason,
  failed,
  failure,
  shadow,
  places,
  ms,
}: GuardVerdictEvent): ComparedVerdict {
  return {
    guardrail,
    ...(version === undefined ? {} : { version }),
    level,
    phase,
    action,
    ...(reason === undefined ? {} : { reason }),
    ...(failed ? { failed } : {}),
    ...(failure === undefined ? {} : { failure }),
    ...(shadow ? { shadow } : {}),
    ...(places === undefined ? {} : { places }),
    ms,
  };
}
