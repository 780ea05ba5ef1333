import type { Ask, GuardEntry, GuardVerdictEvent, LogEvent, Refusal, Surface } from '@guardloop/core';
import type { Audit, RunAudit, Standing } from './run-audit.js';
import { find, runLevel, takeVerdicts } from './run-audit.js';

/** A group of verdicts that is due. */
export interface Wanted {
  readonly surface: Surface;
  readonly subject: string;
  readonly standing: readonly Standing[];
  readonly phases: 'both' | 'rewrite' | 'check';
  /** The revision that the first of them looked at. */
  readonly base: number;
  /** Only these of the subject's verdicts. Default: all that no event has committed. */
  readonly verdicts?: readonly GuardVerdictEvent[] | undefined;
  /** True: nothing crosses, so nothing need have been asked; what was asked must still be whole. */
  readonly isOptional?: boolean | undefined;
}

export interface Outcome {
  readonly revision: number;
  readonly rewrites: number;
  /** The deny or halt that counts. */
  readonly refused: GuardVerdictEvent | undefined;
  readonly asks: readonly Ask[];
  readonly isEmpty: boolean;
}

/** The guardrails that stand around the active agent on a surface, in the order in which they are asked. */
export function standingOn(run: RunAudit, surface: Surface, tool?: string): readonly Standing[] {
  const isOn = (entry: GuardEntry): boolean => entry.surfaces.includes(surface) && (tool === undefined || fitsTool(entry, tool));
  const own = tool !== undefined && Object.hasOwn(run.manifest.tools, tool) ? (run.manifest.tools[tool] ?? []) : [];
  return [
    ...runLevel(run)
      .filter(isOn)
      .map((entry): Standing => ({ entry, level: 'run' })),
    ...run.manifest.agent.filter(isOn).map((entry): Standing => ({ entry, level: 'agent' })),
    ...own.filter((entry) => entry.surfaces.includes(surface)).map((entry): Standing => ({ entry, level: 'tool' })),
  ];
}

/** What an agent that can be handed to has on a surface, as the source's manifest tells. On `handoff` the source's own ask once. */
export function targetGuardsOf(run: RunAudit, to: string, surface: 'handoff' | 'input'): readonly Standing[] {
  const targets = run.manifest.targets ?? {};
  const entries = Object.hasOwn(targets, to) && !(surface === 'handoff' && to === run.agent) ? (targets[to] ?? []) : [];
  return entries.filter((entry) => entry.surfaces.includes(surface)).map((entry): Standing => ({ entry, level: 'agent' }));
}

/**
 * Guardrails that answered and are not among the known: those of a handoff's target, if all is well, whose manifest comes only with the
 * `handoff` event. Of two answers under one name, the first is the known one's.
 */
export function unknownGuards(verdicts: readonly GuardVerdictEvent[], known: readonly Standing[]): readonly Standing[] {
  const expected = new Set(known.flatMap(({ entry, level }) => entry.phases.map((phase) => `${level} ${entry.name} ${phase}`)));
  const found = new Map<string, Standing>();
  for (const verdict of verdicts) {
    const { guardrail: name, phase } = verdict;
    if (verdict.level !== 'agent' || expected.delete(`agent ${name} ${phase}`)) continue;
    const before = found.get(name)?.entry.phases ?? [];
    if (!before.includes(phase)) found.set(name, { level: 'agent', entry: entryOf(verdict, [...before, phase]) });
  }
  return [...found.values()];
}

function entryOf(verdict: GuardVerdictEvent, phases: GuardEntry['phases']): GuardEntry {
  const onError = verdict.failed && (verdict.action === 'allow' || verdict.action === 'halt') ? verdict.action : undefined;
  return {
    name: verdict.guardrail,
    version: verdict.version,
    surfaces: [verdict.surface],
    phases,
    ...(verdict.shadow ? { shadow: true as const } : {}),
    ...(verdict.beside ? { beside: true as const } : {}),
    ...(onError ? { onError } : {}),
  };
}

function fitsTool(entry: GuardEntry, tool: string): boolean {
  return entry.tools === undefined || entry.tools.some((pattern) => fitsPattern(pattern, tool));
}

/** `*` stands for any run of characters. Linear in both. */
function fitsPattern(pattern: string, name: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return name === pattern;
  const tail = rest.pop() ?? '';
  if (!name.startsWith(head) || !name.endsWith(tail) || name.length < head.length + tail.length) return false;
  let at = head.length;
  for (const piece of rest) {
    const found = name.indexOf(piece, at);
    if (found < 0 || found + piece.length > name.length - tail.length) return false;
    at = found + piece.length;
  }
  return true;
}

/** Takes the uncommitted verdicts on a subject and holds them against what was due. */
export function readGroup(audit: Audit, event: LogEvent, on: { readonly run: RunAudit; readonly wanted: Wanted }): Outcome {
  const verdicts = on.wanted.verdicts ?? takeVerdicts(on.run, on.wanted.surface, on.wanted.subject);
  return new GroupReader(audit, event, { ...on.wanted, verdicts }).read();
}

class GroupReader {
  private readonly audit: Audit;
  private readonly event: LogEvent;
  private readonly wanted: Wanted;
  private readonly left: GuardVerdictEvent[];
  private readonly asks: Ask[] = [];
  private revision: number;
  private refused: GuardVerdictEvent | undefined;
  private lastRewrite = 0;

  constructor(audit: Audit, event: LogEvent, wanted: Wanted) {
    this.audit = audit;
    this.event = event;
    this.wanted = wanted;
    this.left = [...(wanted.verdicts ?? [])];
    this.revision = wanted.base;
  }

  read(): Outcome {
    const isEmpty = this.left.length === 0;
    if (!(isEmpty && this.wanted.isOptional)) {
      if (this.wanted.phases !== 'check') this.readRewrites();
      if (this.wanted.phases !== 'rewrite' && !this.refused) this.readChecks();
      for (const verdict of this.left) {
        this.find(`the verdict ${describe(verdict)} at seq ${verdict.seq} was not due`);
      }
    }
    return { revision: this.revision, rewrites: this.revision - this.wanted.base, refused: this.refused, asks: this.asks, isEmpty };
  }

  private find(what: string): void {
    find(this.audit, this.event, `${this.wanted.surface} ${this.wanted.subject}: ${what}`);
  }

  private readRewrites(): void {
    for (const standing of this.wanted.standing) {
      if (!standing.entry.phases.includes('rewrite')) continue;
      const verdict = this.take(standing, 'rewrite');
      if (verdict === undefined) continue;
      if (verdict.seq < this.lastRewrite) this.find(`${describe(verdict)} at seq ${verdict.seq} was asked out of declared order`);
      this.lastRewrite = Math.max(this.lastRewrite, verdict.seq);
      this.obey(verdict);
      if (this.refused) return;
    }
  }

  private readChecks(): void {
    const early = this.left.find((verdict) => verdict.phase === 'check' && verdict.seq < this.lastRewrite);
    if (early) this.find(`${describe(early)} at seq ${early.seq} looked before the last rewrite, at seq ${this.lastRewrite}`);
    const checking = this.wanted.standing.filter(({ entry }) => entry.phases.includes('check'));
    const isHalted = this.left.some((verdict) => verdict.phase === 'check' && verdict.action === 'halt' && !verdict.shadow);
    for (const standing of checking) {
      const isThere = this.left.some((verdict) => isBy(verdict, standing, 'check'));
      if (!isThere && isHalted) continue;
      const verdict = this.take(standing, 'check');
      if (verdict) this.obey(verdict);
    }
  }

  private take(standing: Standing, phase: 'rewrite' | 'check'): GuardVerdictEvent | undefined {
    const at = this.left.findIndex((verdict) => isBy(verdict, standing, phase));
    const verdict = this.left[at];
    if (verdict === undefined) {
      this.find(`the ${phase} verdict of ${standing.level} guardrail ${standing.entry.name} on revision ${this.revision} is missing`);
      return undefined;
    }
    this.left.splice(at, 1);
    this.checkForm(verdict, standing);
    return verdict;
  }

  private checkForm(verdict: GuardVerdictEvent, { entry }: Standing): void {
    if (verdict.revision !== this.revision)
      this.find(`${describe(verdict)} looked at revision ${verdict.revision}, but revision ${this.revision} was there to be judged`);
    if (verdict.version !== entry.version) this.find(`${describe(verdict)} is of version ${verdict.version}, but ${entry.version} stood`);
    if ((verdict.shadow ?? false) !== (entry.shadow ?? false))
      this.find(`${describe(verdict)} is ${verdict.shadow ? 'marked' : 'not marked'} shadow, against the manifest`);
    if ((verdict.beside ?? false) !== (entry.beside ?? false))
      this.find(`${describe(verdict)} is ${verdict.beside ? 'marked' : 'not marked'} beside, against the manifest`);
    if (verdict.failed && verdict.action !== (entry.onError ?? 'deny'))
      this.find(`${describe(verdict)} failed, so ${entry.onError ?? 'deny'} counts, not ${verdict.action}`);
  }

  private obey(verdict: GuardVerdictEvent): void {
    if (verdict.shadow) return;
    if (verdict.action === 'rewrite') this.revision += 1;
    if (verdict.action === 'ask') this.asks.push({ by: verdict.guardrail, reason: verdict.reason ?? '' });
    if ((verdict.action === 'halt' || verdict.action === 'deny') && (this.refused === undefined || outranks(verdict, this.refused)))
      this.refused = verdict;
  }
}

/** Halt over deny; of two alike a refusal over a failure, else the one declared first. */
function outranks(verdict: GuardVerdictEvent, before: GuardVerdictEvent): boolean {
  if (verdict.action !== before.action) return verdict.action === 'halt';
  return before.failed === true && verdict.failed !== true;
}

function isBy(verdict: GuardVerdictEvent, { entry, level }: Standing, phase: 'rewrite' | 'check'): boolean {
  return verdict.guardrail === entry.name && verdict.level === level && verdict.phase === phase;
}

const describe = (verdict: GuardVerdictEvent): string => `${verdict.action} by ${verdict.guardrail} (${verdict.phase})`;

/** Whether a recorded refusal says what the verdict that counts said. */
export function checkRefusal(
  audit: Audit,
  event: LogEvent,
  pair: { readonly refusal: Refusal | undefined; readonly refused: GuardVerdictEvent | undefined },
): void {
  const { refusal, refused } = pair;
  if (refused === undefined) {
    if (refusal) find(audit, event, `a refusal by ${refusal.by} on ${refusal.surface} is recorded, but no verdict refuses there`);
    return;
  }
  if (refusal === undefined) {
    find(
      audit,
      event,
      `${refused.guardrail} answered ${refused.action} on ${refused.surface} ${refused.subject} (seq ${refused.seq}), yet it crossed as if allowed`,
    );
    return;
  }
  const isSame =
    refusal.by === refused.guardrail &&
    refusal.surface === refused.surface &&
    refusal.reason === (refused.reason ?? '') &&
    refusal.action === refused.action;
  if (!isSame || (refusal.failed ?? false) !== (refused.failed ?? false)) {
    find(
      audit,
      event,
      `the refusal names ${refusal.action} by ${refusal.by} on ${refusal.surface}, but the verdict that counts is ${refused.action} by ${refused.guardrail} on ${refused.surface} (seq ${refused.seq}), with its reason`,
    );
  }
}
