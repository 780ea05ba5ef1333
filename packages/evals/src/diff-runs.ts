import type { Action, GuardVerdictEvent, Log, LogEvent, RunStatus, Surface } from '@guardloop/core';
import type { JsonObject, JsonValue } from '@guardloop/core/model';
import type { Step, StepStatus } from '@guardloop/reasoning';
import { steps } from '@guardloop/reasoning';
import { checkSide, invalid, isRecord } from './given.js';
import { isEqual } from './match.js';

/** Where two runs first part. `a` and `b` are what stands there, in words; one that has ended already says `nothing`. */
export interface FirstDifference {
  /** The run, by its place: `r1`, of a child run `r1/2.0`. */
  readonly run: string;
  readonly turn: number;
  readonly slot: 'agent' | 'thought' | 'action' | 'observation' | 'status' | 'verdict' | 'end';
  readonly a: string;
  readonly b: string;
}
/** A call as one of the runs made it. */
export interface DiffedCall {
  readonly id: string;
  readonly input: JsonObject;
  readonly status: StepStatus;
  readonly result: string;
}
/** A call that only one run made, or that differs. */
export interface CallDifference {
  readonly kind: 'added' | 'removed' | 'input' | 'result';
  readonly run: string;
  readonly tool: string;
  readonly a?: DiffedCall | undefined;
  readonly b?: DiffedCall | undefined;
}
/** A guardrail's answer that differs; left out where it was not asked. That one was not asked and the other allowed, is no difference. */
export interface VerdictDifference {
  readonly run: string;
  readonly guardrail: string;
  readonly surface: Surface;
  /** Without the run's id. */
  readonly subject: string;
  readonly a?: Action | undefined;
  readonly b?: Action | undefined;
}
/** An outermost run that ended otherwise. */
export interface AnswerDifference {
  readonly run: string;
  readonly a: DiffedEnd;
  readonly b: DiffedEnd;
}
/** How a run ended. */
export interface DiffedEnd {
  readonly status: RunStatus | 'none';
  readonly text?: string | undefined;
  readonly value?: JsonValue | undefined;
}
/** What `diffRuns` gives. Plain JSON; holds what the logs hold. */
export interface RunDiff {
  readonly same: boolean;
  readonly first?: FirstDifference | undefined;
  readonly calls: readonly CallDifference[];
  readonly verdicts: readonly VerdictDifference[];
  readonly answers: readonly AnswerDifference[];
}

/**
 * Compares what happened in two logs: thoughts, calls, results, verdicts and answers. Ids of runs, times, writers, resumes and what a cut made
 * void are no differences. Throws LOG_INVALID for what is no whole log.
 */
export function diffRuns(a: Log, b: Log): RunDiff {
  checkSide('a', a);
  checkSide('b', b);
  const left = readSide(a);
  const right = readSide(b);
  const calls = diffCalls(left, right);
  const verdicts = diffVerdicts(left, right);
  const answers = diffAnswers(left, right);
  const first = firstDifference(left, right) ?? firstVerdict(verdicts) ?? firstAnswer(answers);
  return { same: first === undefined && calls.length === 0, ...(first ? { first } : {}), calls, verdicts, answers };
}

interface Side {
  readonly steps: readonly Step[];
  /** By run, guardrail, surface, subject and phase. */
  readonly verdicts: ReadonlyMap<string, Told>;
  /** By run, in order. */
  readonly ends: ReadonlyMap<string, DiffedEnd>;
}
type Told = Omit<VerdictDifference, 'a' | 'b'> & { readonly action: Action };

function readSide(log: Log): Side {
  const names = new Map<string, string>();
  for (const { type, run, parent } of log.events)
    if (type === 'run.start' && parent === undefined && !names.has(run)) names.set(run, `r${names.size + 1}`);
  const nameOf = (run: string): string => {
    const slash = run.indexOf('/');
    return slash < 0 ? (names.get(run) ?? run) : `${names.get(run.slice(0, slash)) ?? run.slice(0, slash)}${run.slice(slash)}`;
  };
  const verdicts = new Map<string, Told>();
  const ends = new Map<string, DiffedEnd>();
  for (const name of names.values()) ends.set(name, { status: 'none' });
  for (const event of log.events) {
    if (event.type === 'guard.verdict') {
      const told = tellVerdict(event, nameOf(event.run));
      // One that was asked again after a cut stands once, as it was answered last.
      verdicts.set(JSON.stringify([told.run, told.guardrail, told.surface, told.subject, event.phase, event.revision]), told);
    }
    if (event.parent === undefined) noteEnd(event, nameOf(event.run), ends);
  }
  const named = steps(log).map((step) => ({ ...step, run: nameOf(step.run) }));
  return { steps: inOrder(named), verdicts, ends };
}

function tellVerdict({ run, guardrail, surface, subject, action }: GuardVerdictEvent, name: string): Told {
  return { run: name, guardrail, surface, subject: subject.startsWith(`${run}/`) ? subject.slice(run.length + 1) : subject, action };
}

function noteEnd(event: LogEvent, run: string, ends: Map<string, DiffedEnd>): void {
  if (event.type === 'run.resume' && event.reopens) ends.set(run, { status: 'none' });
  if (event.type !== 'run.end') return;
  const { status, text, value } = event;
  ends.set(run, { status, ...(text === undefined ? {} : { text }), ...(value === undefined ? {} : { value }) });
}

/** Answers of child runs that go on side by side come in any order: each run's steps stand together, where its first one stood. */
function inOrder(all: readonly Step[]): readonly Step[] {
  const byRun = new Map<string, Step[]>();
  for (const step of all) byRun.set(step.run, [...(byRun.get(step.run) ?? []), step]);
  const rootsFirst = [...byRun].sort(([left], [right]) => left.localeCompare(right, 'en', { numeric: true }));
  return rootsFirst.flatMap(([, own]) => own);
}

function firstDifference({ steps: left }: Side, { steps: right }: Side): FirstDifference | undefined {
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const [a, b] = [left[index], right[index]];
    const { run = '', turn = 0 } = a ?? b ?? {};
    if (a === undefined || b === undefined || a.run !== b.run || a.turn !== b.turn)
      return { run, turn, slot: 'action', a: actionWords(a), b: actionWords(b) };
    const slots: readonly (readonly [FirstDifference['slot'], string, string])[] = [
      ['agent', a.agent, b.agent],
      ['thought', a.thought.text ?? a.thought.place, b.thought.text ?? b.thought.place],
      ['action', actionWords(a, b), actionWords(b, a)],
      ['status', a.status, b.status],
      ['observation', observationOf(a), observationOf(b)],
    ];
    const differing = slots.find(([, one, other]) => one !== other);
    if (differing) return { run, turn, slot: differing[0], a: differing[1], b: differing[2] };
  }
  return undefined;
}

const firstVerdict = ([verdict]: readonly VerdictDifference[]): FirstDifference | undefined =>
  verdict && {
    run: verdict.run,
    turn: Number.parseInt(verdict.subject, 10) || 0,
    slot: 'verdict',
    a: `${verdict.guardrail}: ${verdict.a ?? 'nothing'}`,
    b: `${verdict.guardrail}: ${verdict.b ?? 'nothing'}`,
  };

const firstAnswer = ([answer]: readonly AnswerDifference[]): FirstDifference | undefined =>
  answer && { run: answer.run, turn: 0, slot: 'end', a: endWords(answer.a), b: endWords(answer.b) };

function actionWords(step: Step | undefined, beside?: Step): string {
  if (step === undefined) return 'nothing';
  const { action, status } = step;
  switch (action.kind) {
    case 'call':
      return isUntold(step) || (beside && isUntold(beside)) ? action.name : `${action.name} ${sorted(action.input)}`;
    case 'handoff':
      return `handoff to ${action.to}`;
    case 'stop':
      return `answer: ${action.answer}`;
    case 'none':
      return status === 'thought' ? 'a thought alone' : `an answer that was ${status}`;
    default:
      return action satisfies never;
  }
}

/** What a refused call was to do is in no log: it can be compared with nothing. */
const isUntold = ({ action, status }: Step): boolean =>
  action.kind === 'call' && status === 'denied' && Object.keys(action.input).length === 0;

/** Fields in one order: two inputs that say the same read the same. */
const sorted = (value: JsonObject): string =>
  JSON.stringify(value, (_name, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([left], [right]) => (left < right ? -1 : 1)))
      : each,
  );

const observationOf = ({ observation }: Step): string =>
  [observation?.text ?? '', observation?.note ?? ''].filter((text) => text !== '').join('\n');

interface Call extends DiffedCall {
  readonly run: string;
  readonly tool: string;
  readonly isUntold: boolean;
}

const callsOf = ({ steps: all }: Side): readonly Call[] =>
  all.flatMap((step) =>
    step.action.kind === 'call'
      ? [
          {
            run: step.run,
            tool: step.action.name,
            id: step.action.id,
            input: step.action.input,
            status: step.status,
            result: observationOf(step),
            isUntold: isUntold(step),
          },
        ]
      : [],
  );

/** Equal calls are paired first, in order; then those of one tool; what is left over was added or removed. */
function diffCalls(left: Side, right: Side): readonly CallDifference[] {
  const differences: CallDifference[] = [];
  const open = new Set(callsOf(right));
  const unpaired: Call[] = [];
  const pair = (a: Call, b: Call): void => {
    open.delete(b);
    const isOther = !a.isUntold && !b.isUntold && !isEqual(a.input, b.input);
    const kind = isOther ? 'input' : a.result !== b.result || a.status !== b.status ? 'result' : undefined;
    if (kind) differences.push({ kind, run: a.run, tool: a.tool, a: plain(a), b: plain(b) });
  };
  for (const a of callsOf(left)) {
    const b = [...open].find((each) => each.run === a.run && each.tool === a.tool && isEqual(each.input, a.input));
    if (b) pair(a, b);
    else unpaired.push(a);
  }
  for (const a of unpaired) {
    const b = [...open].find((each) => each.run === a.run && each.tool === a.tool && each.id === a.id);
    if (b) pair(a, b);
    else differences.push({ kind: 'removed', run: a.run, tool: a.tool, a: plain(a) });
  }
  for (const b of open) differences.push({ kind: 'added', run: b.run, tool: b.tool, b: plain(b) });
  return differences;
}

const plain = ({ id, input, status, result }: Call): DiffedCall => ({ id, input, status, result });

function diffVerdicts({ verdicts: left }: Side, { verdicts: right }: Side): readonly VerdictDifference[] {
  return [...new Set([...left.keys(), ...right.keys()])].flatMap((key) => {
    const [a, b] = [left.get(key), right.get(key)];
    const told = a ?? b;
    if (told === undefined || (a?.action ?? 'allow') === (b?.action ?? 'allow')) return [];
    const { run, guardrail, surface, subject } = told;
    return [{ run, guardrail, surface, subject, ...(a ? { a: a.action } : {}), ...(b ? { b: b.action } : {}) }];
  });
}

function diffAnswers({ ends: left }: Side, { ends: right }: Side): readonly AnswerDifference[] {
  const none: DiffedEnd = { status: 'none' };
  return [...new Set([...left.keys(), ...right.keys()])].flatMap((run) => {
    const [a, b] = [left.get(run) ?? none, right.get(run) ?? none];
    return a.status === b.status && a.text === b.text && isEqual(a.value, b.value) ? [] : [{ run, a, b }];
  });
}

const endWords = ({ status, text }: DiffedEnd): string => (text === undefined ? status : `${status}: ${text}`);

/**
 * The differences as text, a line each: what stood in `a` behind `-`, what stands in `b` behind `+`. Nothing said can look like a line of ours.
 * Throws CONFIG_INVALID for what is no difference.
 */
export function printDiff(diff: RunDiff, { maxChars = 200 }: { readonly maxChars?: number | undefined } = {}): string {
  if (!isRecord(diff) || ![diff.calls, diff.verdicts, diff.answers].every(Array.isArray))
    invalid('printDiff was given no difference. Give what `diffRuns` gives.');
  const { same, first, calls, verdicts, answers } = diff;
  if (same) return 'The runs are the same.';
  const lines: string[] = [];
  const cut = (text: string): string => {
    const line = JSON.stringify(text)
      .slice(1, -1)
      .replaceAll('\\"', '"')
      .replace(/[\u0080-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, '\ufffd');
    return line.length <= maxChars ? line : `${line.slice(0, maxChars)}… (${text.length} characters)`;
  };
  const both = (a: string | undefined, b: string | undefined): void => {
    if (a !== undefined) lines.push(`  - ${cut(a)}`);
    if (b !== undefined) lines.push(`  + ${cut(b)}`);
  };
  if (first) {
    lines.push(`They part at turn ${first.turn} of ${cut(first.run)}, in the ${first.slot}:`);
    both(first.a, first.b);
  }
  const words = { added: 'made only in b', removed: 'made only in a', input: 'other input', result: 'other result' } as const;
  for (const { kind, run, tool, a, b } of calls) {
    lines.push(`Call of ${cut(tool)} in ${cut(run)}, ${words[kind]}:`);
    const tell = (call: DiffedCall): string => (kind === 'result' ? `${call.status}: ${call.result}` : sorted(call.input));
    both(a && tell(a), b && tell(b));
  }
  for (const { run, guardrail, surface, subject, a, b } of verdicts)
    lines.push(`Verdict of ${cut(guardrail)} on ${surface} of ${cut(subject)} in ${cut(run)}: ${a ?? 'none'} → ${b ?? 'none'}`);
  for (const { run, a, b } of answers) {
    lines.push(`End of ${cut(run)}:`);
    both(endWords(a), endWords(b));
  }
  return lines.join('\n');
}
