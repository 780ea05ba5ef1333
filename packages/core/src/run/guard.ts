import type { GuardrailSpec } from '../define/specs.js';
import type { Subject, UntrustedRead } from '../define/types.js';
import type { Label, Message } from '../model/types.js';
import type { RunCall } from '../state/call-tally.js';
import type { Action, Ask, GuardFailure, Refusal, Surface } from '../state/events.js';
import { addTo } from './add-to.js';
import type { Admission } from './admission.js';
import { admit } from './admission.js';
import { callsBeside } from './calls-beside.js';
import { failureOf, givenBy, thrownBy, unasked } from './guard-failure.js';
import type { LogDraft, RunHandle, Settled } from './handle.js';
import { isPromise } from './is-promise.js';
import { readOnly } from './read-only.js';
import type { Placed } from './stand.js';

/** What a rewrite made of a value; undefined: it does not fit. */
export type Rewritten<V> = { readonly value: V } | undefined;

/** One thing to be judged on one surface. */
export interface Matter<V> {
  readonly surface: Surface;
  readonly subject: string;
  readonly revision: number;
  readonly value: V;
  readonly guards: readonly Placed[];
  /** `rewrite` and `check` are asked on `input`, where their subjects differ. */
  readonly phases: 'both' | 'rewrite' | 'check';
  /** Whether a person can be asked here. */
  readonly canAsk: boolean;
  readonly isProjected?: boolean | undefined;
  /** Whose view the subject enters, before that agent is active: at a handoff. */
  readonly viewer?: Viewer | undefined;
  /** Once its answer was recorded: the call it is about. `view` for what a view wrote. */
  readonly about?: string | undefined;
  /** How long answers still count after the run was stopped, milliseconds: what a started tool gave is recorded if it passes in time. */
  readonly graceMs?: number | undefined;
  /** Built once for each value; deep-frozen. */
  toSubject(value: V): Subject;
  rewrite(value: V, by: unknown): Rewritten<V> | Promise<Rewritten<V>>;
}

export interface Viewer {
  readonly agent: string;
  /** What it will see of the history. */
  readonly messages: readonly Message[];
}

export interface Ruling<V> {
  readonly value: V;
  readonly revision: number;
  readonly refusal: Refusal | undefined;
  readonly asks: readonly Ask[];
  /** The run was stopped meanwhile: nothing was recorded, and nothing may cross. */
  readonly isStopped: boolean;
}

type Verdict = Extract<LogDraft, { type: 'guard.verdict' }>;

interface Answer {
  readonly action: Action;
  readonly reason: string | undefined;
  readonly reply: string | undefined;
  readonly value: unknown;
  readonly failure: GuardFailure | undefined;
  /** How many spans a rewrite gave. */
  readonly places?: number | undefined;
  /** Of a shadow's rewrite. */
  readonly size?: Verdict['size'];
}

type About = Pick<Matter<unknown>, 'viewer' | 'graceMs'> & Partial<Pick<Matter<unknown>, 'subject'>>;

/** What a guardrail is told beside its subject. The signal is made when it is first read. */
export class Info {
  #controller: AbortController | undefined;
  #off: (() => void) | undefined;
  #isOver = false;
  /** Set when nobody waits for the answer any more. */
  #left: { readonly reason: unknown } | undefined;
  #leave: (() => void) | undefined;
  // Names that only this class can read: what a guardrail is given leads nowhere else.
  readonly #handle: RunHandle;
  readonly #label: Label;
  readonly #matter: About;
  constructor(handle: RunHandle, label: Label, matter: About) {
    this.#handle = handle;
    this.#label = label;
    this.#matter = matter;
  }
  get context(): unknown {
    return this.#handle.root.context;
  }
  get run(): string {
    return this.#handle.state.id;
  }
  get agent(): string {
    return this.#matter.viewer?.agent ?? this.#handle.state.agent;
  }
  get agentPath(): readonly string[] {
    return [...this.#handle.agentPath.slice(0, -1), this.agent];
  }
  get messages(): readonly Message[] {
    const { viewer } = this.#matter;
    return viewer ? readOnly(viewer.messages) : this.#handle.showMessages(this.#handle.messages);
  }
  get labels(): { readonly subject: Label; readonly view: Label } {
    return {
      subject: this.#label,
      view: { origin: `agent:${this.agent}`, integrity: this.#handle.state.conversation.isUntrusted ? 'untrusted' : 'trusted' },
    };
  }
  get untrustedReads(): readonly UntrustedRead[] {
    return readOnly(this.#handle.state.conversation.untrustedReads);
  }
  get calls(): readonly RunCall[] {
    return callsBeside(this.#handle.root, this.#matter.subject);
  }
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      if (this.#left) controller.abort(this.#left.reason);
      else if (!this.#isOver && this.#matter.graceMs === undefined)
        this.#off = this.#handle.onStop(() => controller.abort(this.#handle.stopReason));
    }
    return this.#controller.signal;
  }
  /** `isAborted`: nobody waits for the answer any more; `reason` says why. */
  end(isAborted: boolean, reason?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#off?.();
    if (!isAborted) return;
    this.#left = { reason };
    this.#controller?.abort(reason);
    this.#leave?.();
  }
  /** It was waited for. Where that gave no answer, none is needed any more, and the signal says why. */
  endAs({ kind }: Settled<unknown>, { name, timeoutMs }: GuardrailSpec): void {
    if (kind === 'late') this.end(true, new DOMException(`${name} took longer than ${timeoutMs} ms.`, 'TimeoutError'));
    else this.end(kind !== 'value', this.#handle.stopReason);
  }
  /** The same answer, which comes at once where nobody waits for it any more: so no timer is left for one that hangs. */
  untilEnd(given: PromiseLike<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#leave = () => resolve(undefined);
      try {
        given.then(resolve, reject);
      } catch (thrown) {
        reject(thrown);
      }
    });
  }
}

/**
 * Asks the guardrails of one surface: rewrites one after another, then all checks together on what results. The strictest answer wins.
 * Verdicts are appended together when the group is settled. Whatever a guardrail does, this never throws; failures refuse unless their
 * author wrote otherwise. Synchronous guardrails cost no microtask.
 */
export function judge<V>(handle: RunHandle, matter: Matter<V>): Ruling<V> | Promise<Ruling<V>> {
  if (matter.guards.length === 0)
    return { value: matter.value, revision: matter.revision, refusal: undefined, asks: noAsks, isStopped: false };
  return new Session(handle, matter).rewrites(0);
}

/** Halt over deny; of two alike a refusal over a failure, else the one declared first. */
function outranks(answer: Answer, refusal: Refusal): boolean {
  if (answer.action !== refusal.action) return answer.action === 'halt';
  return refusal.failed === true && answer.failure === undefined;
}

const noAsks: readonly Ask[] = [];

/** One group being asked. */
class Session<V> {
  private value: V;
  private revision: number;
  private subject: Subject | undefined;
  private phase: 'rewrite' | 'check' = 'rewrite';
  private verdicts: Verdict[] | undefined;
  private asks: Ask[] | undefined;
  /** Of the guardrail that was asked last, where it has a breaker. */
  private admission: Admission | undefined;

  constructor(
    private readonly handle: RunHandle,
    private readonly matter: Matter<V>,
  ) {
    this.value = matter.value;
    this.revision = matter.revision;
  }

  private current(): Subject {
    this.subject ??= this.matter.toSubject(this.value);
    return this.subject;
  }

  private info(): Info {
    return new Info(this.handle, this.current().label, this.matter);
  }

  rewrites(from: number): Ruling<V> | Promise<Ruling<V>> {
    const { guards, phases } = this.matter;
    if (phases !== 'check') {
      for (let index = from; ; index += 1) {
        const placed = guards[index];
        if (placed === undefined) break;
        if (placed.spec.rewrite === undefined) continue;
        if (this.isStopped) return this.stopped();
        const began = this.handle.root.clock.now();
        const info = this.info();
        const given = this.call(placed.spec.rewrite, placed.spec, info);
        if (isPromise(given)) return this.absorbLater(index, given, { placed, began, info, admission: this.admission });
        info.end(false);
        const next = this.absorb(placed, given, began);
        if (isPromise(next)) return next.then((ruling) => ruling ?? this.rewrites(index + 1));
        if (next !== undefined) return next;
      }
    }
    return phases === 'rewrite' ? this.finish(undefined) : this.checks();
  }

  private async absorbLater(index: number, given: PromiseLike<unknown>, asking: Asking): Promise<Ruling<V>> {
    const { placed, began } = asking;
    const settled = await this.waitFor(given, placed.spec);
    if (this.isGivenUp(settled, asking)) return this.stopped();
    const ruling = await this.absorb(placed, givenBy(settled, placed.spec), began);
    return ruling ?? this.rewrites(index + 1);
  }

  /** Takes one rewrite's answer; a ruling ends the group. */
  private absorb(placed: Placed, given: unknown, began: number): Ruling<V> | undefined | Promise<Ruling<V> | undefined> {
    const answer = this.read(placed.spec, given);
    const { admission } = this;
    if (answer.action !== 'rewrite') {
      admission?.settle(answer.failure !== undefined);
      return this.take(placed, answer, began);
    }
    let rewritten: Rewritten<V> | Promise<Rewritten<V>>;
    try {
      rewritten = this.matter.rewrite(this.value, answer.value);
    } catch {
      // It does not fit.
    }
    if (placed.spec.shadow) return this.rehearse({ placed, answer, began }, rewritten);
    const settle = (outcome: Rewritten<V>): Ruling<V> | undefined => {
      this.tellBreaker(admission, outcome);
      if (outcome === undefined) return this.take(placed, this.fail(placed.spec, 'misfit'), began);
      this.record(placed, answer, this.since(began));
      this.value = outcome.value;
      this.revision += 1;
      this.subject = undefined;
      return undefined;
    };
    return isPromise(rewritten) ? Promise.resolve(rewritten).then(settle, () => settle(undefined)) : settle(rewritten);
  }

  /** A rewrite that does not fit has failed, unless the run was stopped before that was known. */
  private tellBreaker(admission: Admission | undefined, outcome: Rewritten<V>): void {
    if (outcome === undefined && this.isStopped) admission?.release();
    else admission?.settle(outcome === undefined);
  }

  /** Tells what a shadow's rewrite would have come to; nothing is rewritten. */
  private rehearse(
    { placed, answer, began }: { readonly placed: Placed; readonly answer: Answer; readonly began: number },
    rewritten: Rewritten<V> | Promise<Rewritten<V>>,
  ): undefined | Promise<undefined> {
    const { spec } = placed;
    const { admission } = this;
    const settle = (outcome: Rewritten<V>): undefined => {
      this.tellBreaker(admission, outcome);
      const told =
        outcome === undefined
          ? this.fail(spec, 'misfit')
          : { ...answer, size: { before: this.current().content.length, after: this.matter.toSubject(outcome.value).content.length } };
      this.record(placed, told, this.since(began));
    };
    if (!isPromise(rewritten)) return settle(rewritten);
    const left = Math.max(0, spec.timeoutMs - this.since(began));
    return this.handle.wait(rewritten, left).then((settled) => settle(settled.kind === 'value' ? settled.value : undefined));
  }

  private waitFor(given: PromiseLike<unknown>, spec: GuardrailSpec): Promise<Settled<unknown>> {
    return this.handle.wait(given, spec.timeoutMs, spec.shadow ? undefined : this.matter.graceMs);
  }

  /** One guardrail was waited for. Whether that was given up for a stop: a shadow counts as failed, and costs nothing of what others let pass. */
  private isGivenUp(settled: Settled<unknown>, { placed: { spec }, info, admission }: Asking): boolean {
    info.endAs(settled, spec);
    if (settled.kind !== 'stopped') return false;
    admission?.release();
    return !spec.shadow;
  }

  private take(placed: Placed, answer: Answer, began: number): Ruling<V> | undefined {
    this.record(placed, answer, this.since(began));
    if (placed.spec.shadow) return undefined;
    if (answer.action === 'ask') this.ask(placed, answer);
    return answer.action === 'deny' || answer.action === 'halt' ? this.finish(this.refusalOf(placed, answer)) : undefined;
  }

  private ask({ spec }: Placed, { reason = '' }: Answer): void {
    this.asks = addTo(this.asks, { by: spec.name, reason });
  }

  private checks(): Ruling<V> | Promise<Ruling<V>> {
    this.phase = 'check';
    const { guards } = this.matter;
    const { clock } = this.handle.root;
    let asked: Asked[] | undefined;
    let group: Group | undefined;
    let began: number | undefined;
    for (const placed of guards) {
      const { check } = placed.spec;
      if (check === undefined) continue;
      if (this.isStopped) return this.stopped();
      began ??= clock.now();
      const info = this.info();
      const given = this.call(check, placed.spec, info);
      const entry: Asked = { placed, admission: this.admission, answer: undefined, ms: 0 };
      asked = addTo(asked, entry);
      if (isPromise(given)) {
        group ??= { waiting: [], infos: [], isStopped: false, giveUp: undefined };
        group.infos.push(info);
        const waited = guards.length > 1 ? info.untilEnd(given) : given;
        group.waiting.push(this.checkLater(entry, { given: waited, began, info, group }));
        began = undefined;
        continue;
      }
      info.end(false);
      const now = clock.now();
      const answer = this.read(placed.spec, given);
      entry.answer = answer;
      entry.ms = now - began;
      entry.admission?.settle(answer.failure !== undefined);
      began = now;
      if (isHalt(placed, answer)) return this.conclude(asked, group);
    }
    if (asked === undefined) return this.finish(undefined);
    if (group === undefined) return this.conclude(asked);
    const pending = group;
    const halted = new Promise<void>((resolve) => {
      pending.giveUp = resolve;
    });
    const all = asked;
    return Promise.race([Promise.all(pending.waiting), halted]).then(() => this.conclude(all, pending));
  }

  private async checkLater(
    entry: Asked,
    {
      given,
      began,
      info,
      group,
    }: { readonly given: PromiseLike<unknown>; readonly began: number; readonly info: Info; readonly group: Group },
  ): Promise<void> {
    const { placed, admission } = entry;
    const settled = await this.waitFor(given, placed.spec);
    if (this.isGivenUp(settled, { placed, began, info, admission })) {
      group.isStopped = true;
      return;
    }
    const answer = this.read(placed.spec, givenBy(settled, placed.spec));
    entry.answer = answer;
    entry.ms = this.since(began);
    admission?.settle(answer.failure !== undefined);
    if (isHalt(placed, answer)) group.giveUp?.();
  }

  /** All have answered, or a halt made the others' answers useless. */
  private conclude(asked: readonly Asked[], group?: Group): Ruling<V> {
    if (group) for (const info of group.infos) info.end(true);
    let refusal: Refusal | undefined;
    let isHalted = false;
    for (const { placed, admission, answer, ms } of asked) {
      if (answer === undefined) {
        admission?.release();
        continue;
      }
      this.record(placed, answer, ms);
      if (placed.spec.shadow) continue;
      if (answer.action === 'ask') this.ask(placed, answer);
      else if (answer.action === 'halt' || answer.action === 'deny') {
        if (refusal === undefined || outranks(answer, refusal)) refusal = this.refusalOf(placed, answer);
        isHalted ||= answer.action === 'halt';
      }
    }
    // A stop voids what was not answered; a halt does not need the rest.
    return group?.isStopped && !isHalted ? this.stopped() : this.finish(refusal);
  }

  /** What a guardrail gives; undefined, which is no answer, where it throws or is not to be asked. */
  private call(ask: (subject: Subject, info: never) => unknown, spec: GuardrailSpec, info: Info): unknown {
    this.admission = undefined;
    if (spec.breaker !== undefined) {
      this.admission = admit(this.handle, spec, spec.breaker);
      if (this.admission === undefined) return unasked;
    }
    try {
      return ask(this.current(), info as never);
    } catch (thrown) {
      return thrownBy(thrown, spec);
    }
  }

  /** A guardrail's answer, or what its failure counts as. */
  private read(spec: GuardrailSpec, given: unknown): Answer {
    if (typeof given !== 'object') return this.fail(spec, failureOf(given));
    try {
      const { action, reason, reply, value } = given as { action?: unknown; reason?: unknown; reply?: unknown; value?: unknown };
      const words = typeof reason === 'string' ? reason : undefined;
      if (action === 'allow') return allowed;
      if (words === undefined) return this.fail(spec, 'misfit');
      if (action === 'rewrite' && this.phase === 'rewrite') {
        const places = Array.isArray(value) ? value.length : undefined;
        return { action, reason: words, reply: undefined, value, failure: undefined, places };
      }
      if (action === 'ask' && this.matter.canAsk) return { action, reason: words, reply: undefined, value: undefined, failure: undefined };
      if (action === 'deny' || action === 'halt')
        return { action, reason: words, reply: typeof reply === 'string' ? reply : undefined, value: undefined, failure: undefined };
    } catch {
      // Null, or a getter that throws, is an answer that makes no sense.
    }
    return this.fail(spec, 'misfit');
  }

  private fail(spec: GuardrailSpec, failure: GuardFailure): Answer {
    return { action: spec.onError, reason: failedReason(spec), reply: undefined, value: undefined, failure };
  }

  private refusalOf(placed: Placed, answer: Answer): Refusal {
    return {
      action: answer.action === 'halt' ? 'halt' : 'deny',
      surface: this.matter.surface,
      by: placed.spec.name,
      reason: answer.reason ?? '',
      ...(answer.reply === undefined ? {} : { reply: answer.reply }),
      ...(answer.failure === undefined ? {} : { failed: true as const }),
    };
  }

  private since(began: number): number {
    return this.handle.root.clock.now() - began;
  }

  private record(placed: Placed, answer: Answer, ms: number): void {
    const { spec, level } = placed;
    const { surface, subject, isProjected } = this.matter;
    const verdict: { -readonly [K in keyof Verdict]: Verdict[K] } = {
      type: 'guard.verdict',
      seq: 0,
      at: 0,
      run: '',
      agent: '',
      guardrail: spec.name,
      level,
      surface,
      subject,
      revision: this.revision,
      phase: this.phase,
      action: answer.action,
      ms,
    };
    if (spec.version !== undefined) verdict.version = spec.version;
    if (answer.reason !== undefined) verdict.reason = answer.reason;
    if (answer.failure !== undefined) {
      verdict.failed = true;
      verdict.failure = answer.failure;
    }
    if (spec.shadow) verdict.shadow = true;
    if (spec.beside) verdict.beside = true;
    if (isProjected) verdict.projected = true;
    if (answer.places !== undefined) verdict.places = answer.places;
    if (answer.size !== undefined) verdict.size = answer.size;
    this.verdicts = addTo(this.verdicts, verdict);
  }

  private finish(refusal: Refusal | undefined): Ruling<V> {
    if (this.isStopped) return this.stopped();
    const { verdicts = [] } = this;
    for (const verdict of verdicts) {
      this.handle.append(verdict);
      this.handle.noteAnswer(this.matter.about ?? '', verdict.action);
    }
    return { value: this.value, revision: this.revision, refusal, asks: this.asks ?? noAsks, isStopped: false };
  }

  /** Nobody waits for answers any more. */
  private get isStopped(): boolean {
    return this.handle.stop !== undefined && this.matter.graceMs === undefined;
  }

  private stopped(): Ruling<V> {
    return { value: this.value, revision: this.revision, refusal: undefined, asks: noAsks, isStopped: true };
  }
}

/** A guardrail that is being waited for. */
interface Asking {
  readonly placed: Placed;
  readonly began: number;
  readonly info: Info;
  readonly admission: Admission | undefined;
}
/** One check, and what it answered. */
interface Asked {
  readonly placed: Placed;
  readonly admission: Admission | undefined;
  answer: Answer | undefined;
  ms: number;
}
/** Checks that are being waited for. */
interface Group {
  readonly waiting: Promise<void>[];
  readonly infos: Info[];
  isStopped: boolean;
  giveUp: (() => void) | undefined;
}
const isHalt = ({ spec }: Placed, { action }: Answer): boolean => action === 'halt' && !spec.shadow;

/** All that is told of a guardrail that failed. */
export function failedReason({ name }: GuardrailSpec): string {
  return `guardrail ${name} failed`;
}

const allowed: Answer = { action: 'allow', reason: undefined, reply: undefined, value: undefined, failure: undefined };
