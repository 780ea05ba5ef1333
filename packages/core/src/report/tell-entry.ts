// What happened, in words: one telling for every kind of page.
import type { Usage } from '../model/types.js';
import type { Action, GuardFailure, Refusal, Surface } from '../state/events.js';
import type { Words } from './say.js';
import { say, sayList, tellCount, tellCounted, tellDuration, tellTime } from './say.js';
import type {
  CallEntry,
  EndEntry,
  HandoffEntry,
  InputEntry,
  ReportApproval,
  ReportEntry,
  ReportItem,
  ReportRun,
  ReportText,
  ReportVerdict,
  ResumeEntry,
  TurnEntry,
} from './types.js';

/** How a thing went. */
export type Tone = 'plain' | 'good' | 'changed' | 'waiting' | 'bad';

/** A piece of an entry, in reading order. */
export type ToldPart =
  | { readonly type: 'boundary'; readonly surface: Surface; readonly verdicts: readonly ReportVerdict[] }
  | { readonly type: 'text'; readonly label: string; readonly text: ReportText; readonly isData: boolean; readonly isChanged: boolean }
  | { readonly type: 'approval'; readonly approval: ReportApproval }
  | { readonly type: 'note'; readonly tone: Tone; readonly words: Words };

/** One entry in words. */
export interface Told {
  readonly kind: string;
  readonly title: Words;
  readonly status?: Standing | undefined;
  readonly facts: readonly Words[];
  readonly parts: readonly ToldPart[];
}

/** Signs and words of an answer: it is never told by colour alone. */
export interface AnswerWords {
  readonly sign: string;
  readonly did: string;
  readonly would: string;
  readonly tone: Tone;
}
const unheardAnswer: AnswerWords = { sign: '·', did: 'answered', would: 'would have answered', tone: 'waiting' };
export const answers: Readonly<
  Record<Action, { readonly sign: string; readonly did: string; readonly would: string; readonly tone: Tone }>
> = {
  allow: { sign: '✓', did: 'allowed', would: 'would have allowed', tone: 'good' },
  rewrite: { sign: '✎', did: 'rewrote', would: 'would have rewritten', tone: 'changed' },
  ask: { sign: '?', did: 'asked a person', would: 'would have asked a person', tone: 'waiting' },
  deny: { sign: '✗', did: 'refused', would: 'would have refused', tone: 'bad' },
  halt: { sign: '■', did: 'stopped the run', would: 'would have stopped the run', tone: 'bad' },
};

/** How a thing stands. */
export interface Standing {
  readonly tone: Tone;
  readonly words: string;
}
/** The words for a name; a log of another version may hold names that this one does not know. */
const lookUp = <T>(table: Readonly<Record<string, T>>, name: string, otherwise: T): T =>
  (Object.hasOwn(table, name) ? table[name] : undefined) ?? otherwise;
const surfaceNames: readonly string[] = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'] satisfies readonly Surface[];
/** A surface's name, in our own words. */
export const surfaceWord = (surface: string): string => (surfaceNames.includes(surface) ? surface : 'an unknown surface');
/** A guardrail's level, in our own words. */
export const levelWord = (level: string): string => (['run', 'agent', 'tool'].includes(level) ? `${level} level` : 'an unknown level');

const unheard: Standing = { tone: 'waiting', words: 'in a state of which this version knows nothing' };

const runStatuses: Readonly<Record<ReportRun['status'], Standing>> = {
  completed: { tone: 'good', words: 'completed' },
  interrupted: { tone: 'waiting', words: 'interrupted: waits for a person' },
  blocked: { tone: 'bad', words: 'blocked' },
  exhausted: { tone: 'waiting', words: 'exhausted: a limit was reached' },
  cancelled: { tone: 'waiting', words: 'cancelled' },
  failed: { tone: 'bad', words: 'failed' },
  open: { tone: 'waiting', words: 'open: the log ends within it' },
};

/** How a run stands. */
export const standingOf = (status: ReportRun['status']): Standing => lookUp(runStatuses, status, unheard);

const turnStatuses: Readonly<Record<Exclude<TurnEntry['status'], 'ok'>, Standing>> = {
  refused: { tone: 'bad', words: 'answer discarded' },
  failed: { tone: 'bad', words: 'failed' },
  aborted: { tone: 'waiting', words: 'aborted, answer dropped' },
  open: { tone: 'waiting', words: 'no end in this log' },
  waiting: { tone: 'waiting', words: 'waits for a person' },
};

const callStatuses: Readonly<Record<CallEntry['status'], Standing>> = {
  ok: { tone: 'good', words: 'ok' },
  error: { tone: 'bad', words: 'error' },
  denied: { tone: 'bad', words: 'refused, did not run' },
  rejected: { tone: 'bad', words: 'rejected by a person' },
  aborted: { tone: 'waiting', words: 'never started' },
  unknown: { tone: 'waiting', words: 'started, outcome not seen' },
  open: { tone: 'waiting', words: 'no end in this log' },
  waiting: { tone: 'waiting', words: 'waits for a person' },
};

const handoffStatuses: Readonly<Record<HandoffEntry['status'], Standing>> = {
  done: { tone: 'good', words: 'done' },
  refused: { tone: 'bad', words: 'refused, the agent stays' },
  rejected: { tone: 'bad', words: 'rejected by a person' },
  aborted: { tone: 'waiting', words: 'did not happen' },
  open: { tone: 'waiting', words: 'no end in this log' },
  waiting: { tone: 'waiting', words: 'waits for a person' },
};

const callKinds: Readonly<Record<CallEntry['callKind'], string>> = {
  tool: 'Tool call',
  agent: 'Agent as a tool',
  handoff: 'Handoff',
  caller: 'Call for the caller',
  unknown: 'Call of an unknown tool',
};

/** One entry in words. */
export function tellEntry(entry: ReportEntry): Told {
  switch (entry.kind) {
    case 'input':
      return tellInput(entry);
    case 'turn':
      return tellTurn(entry);
    case 'call':
      return tellCall(entry);
    case 'handoff':
      return tellHandoff(entry);
    case 'resume':
      return tellResume(entry);
    case 'end':
      return tellEnd(entry);
    case 'other':
      return {
        kind: 'Event',
        title: say`${entry.type}`,
        facts: [],
        parts: [{ type: 'text', label: 'Fields', text: entry.text, isData: true, isChanged: false }],
      };
    default:
      return entry satisfies never;
  }
}

/** Whether anything but a plain pass happened here. */
export function isNotable(entry: ReportEntry): boolean {
  if (entry.verdicts.some(({ action, failed }) => action !== 'allow' || failed === true)) return true;
  switch (entry.kind) {
    case 'input':
      return !entry.isAccepted;
    case 'turn':
      return entry.status !== 'ok' || entry.approvals.length > 0;
    case 'call':
      return entry.status !== 'ok' || entry.approvals.length > 0;
    case 'handoff':
      return entry.status !== 'done' || entry.approvals.length > 0;
    case 'end':
      return entry.status !== 'completed';
    default:
      return false;
  }
}

/** Sign and words of an answer. */
export const answerWords = (action: Action): AnswerWords => lookUp(answers, action, unheardAnswer);

/** Sign and tone of a verdict; a failure has its own, whatever it counts as. */
export const markOf = ({ action, failed }: ReportVerdict): { readonly sign: string; readonly tone: Tone } =>
  failed ? { sign: '!', tone: 'waiting' } : answerWords(action);

/** What a guardrail did, in two words or so. */
export function tellAnswer({ action, shadow, isVoid, failed }: ReportVerdict): string {
  const { did, would } = answerWords(action);
  const answer = shadow && action !== 'allow' ? would : did;
  return `${failed ? 'failed, which ' : ''}${answer}${isVoid ? ', void' : ''}`;
}

const failures: Readonly<Record<GuardFailure, string>> = {
  threw: 'it threw',
  late: 'it was late',
  misfit: 'it gave no verdict that fits',
  unasked: 'it was not asked: its breaker was open',
};

/** Where and how a guardrail answered. */
export function verdictFacts(verdict: ReportVerdict): readonly string[] {
  const { action, level, phase, revision, ms, shadow, beside, projected, isVoid, isAnswered, places, size, failure } = verdict;
  const facts = [levelWord(level), phase === 'rewrite' ? 'rewrite' : 'check', `revision ${tellCount(revision)}`, tellDuration(ms)];
  if (action === 'rewrite') facts.push(places === undefined ? 'the whole anew' : `in ${tellCounted(places, 'place')}`);
  if (failure !== undefined) facts.push(lookUp(failures, failure, 'in an unknown way'));
  if (isAnswered) facts.push('the approval answers it');
  if (shadow) facts.push('in shadow: not obeyed');
  if (size !== undefined) facts.push(`${tellCounted(size.before, 'character')} to ${tellCount(size.after)}`);
  if (beside) facts.push('beside the model');
  if (projected) facts.push('on the projection');
  if (isVoid) facts.push('did not count: the log was cut here, and all was asked again');
  return facts;
}

/** Verdicts by surface, in the order in which the surfaces were first asked. */
export function bySurface(verdicts: readonly ReportVerdict[]): readonly Extract<ToldPart, { type: 'boundary' }>[] {
  const groups = new Map<Surface, ReportVerdict[]>();
  for (const verdict of verdicts) {
    const group = groups.get(verdict.surface);
    if (group === undefined) groups.set(verdict.surface, [verdict]);
    else group.push(verdict);
  }
  return [...groups].map(([surface, list]) => ({ type: 'boundary', surface, verdicts: list }));
}

const isTold = (count: number | undefined): count is number => Number.isFinite(count);

/** What model calls used. */
export function tellUsage({ requests, inputTokens, outputTokens, cost }: Usage): string {
  // What is no number was told by a provider, and tells nothing.
  const told = [tellCounted(isTold(requests) ? requests : 0, 'request')];
  if (isTold(inputTokens)) told.push(`${tellCount(inputTokens)} tokens in`);
  if (isTold(outputTokens)) told.push(`${tellCount(outputTokens)} out`);
  if (isTold(cost)) told.push(`cost ${tellCost(cost)}`);
  return told.join(', ');
}

/** A sum of money, whose currency the log does not know. */
export const tellCost = (cost: number): string => (Number.isFinite(cost) ? String(Number(cost.toPrecision(6))) : 'unknown');

const note = (tone: Tone, words: Words): ToldPart => ({ type: 'note', tone, words });

interface TextOptions {
  readonly isData?: boolean | undefined;
  readonly isChanged?: boolean | undefined;
}
const textPart = (label: string, text: ReportText | undefined, { isData = false, isChanged = false }: TextOptions = {}): ToldPart[] =>
  text === undefined ? [] : [{ type: 'text', label, text, isData, isChanged }];

const sayRefusal = ({ action, surface, by, reason, failed }: Refusal): Words => {
  const deed = action === 'halt' ? 'Stopped' : 'Refused';
  const how = failed ? ', which failed' : '';
  return [...say`${[deed]} by ${by}${[how]} on ${[surfaceWord(surface)]}: `, { quote: reason }];
};
/** A refusal, unless one of the verdicts says the same. */
function refusalNote(refusal: Refusal | undefined, verdicts: readonly ReportVerdict[] = []): ToldPart[] {
  if (refusal === undefined) return [];
  const { by, reason, action } = refusal;
  const isTold = verdicts.some((verdict) => verdict.guardrail === by && verdict.reason === reason && verdict.action === action);
  return isTold ? [] : [note('bad', sayRefusal(refusal))];
}
const approvalParts = (approvals: readonly ReportApproval[]): ToldPart[] => approvals.map((approval) => ({ type: 'approval', approval }));

const rewritten = (verdicts: readonly ReportVerdict[], surface: Surface): boolean =>
  verdicts.some((verdict) => verdict.surface === surface && verdict.action === 'rewrite' && !verdict.shadow && !verdict.isVoid);

function tellInput(entry: InputEntry): Told {
  const { isAccepted, items, judged, verdicts } = entry;
  return {
    kind: 'Input',
    title: isAccepted ? [`of ${tellCounted(items.length, 'item')}`] : ['of which nothing passed'],
    status: isAccepted ? undefined : { tone: 'bad', words: 'not accepted' },
    facts: judged > 0 ? [say`${[tellCounted(judged, 'item')]} of the history judged again`] : [],
    parts: [
      ...bySurface(verdicts),
      ...(isAccepted ? [] : [note('bad', say`What was refused is in no log: neither its text nor its size.`)]),
      ...items.flatMap((item) => textPart(labelOf(item), item.text, { isChanged: item.revision > 0 })),
    ],
  };
}

const sources: Readonly<Record<ReportItem['via'], string>> = {
  user: 'From the user',
  session: 'From the session',
  handoff: 'Brief of a handoff',
  view: 'Written by a view',
  parent: 'From the parent run',
  developer: 'From the developer',
  assistant: 'An earlier answer',
};
const labelOf = ({ via, label }: ReportItem): string =>
  `${lookUp(sources, via, 'Item')}, ${label.integrity === 'trusted' ? 'trusted' : 'untrusted'}`;

function tellTurn(entry: TurnEntry): Told {
  const { turn, model, status, ms, verdicts, text, refusal, refusedChars, misfit, error, usage, calls } = entry;
  const facts: Words[] = [];
  if (ms !== undefined) facts.push([tellDuration(ms)]);
  if (usage !== undefined) facts.push([tellUsage(usage)]);
  if (calls.length > 0) facts.push([tellCounted(calls.length, 'call')]);
  if (entry.beside) facts.push(['started beside input checks']);
  if (entry.final !== undefined) facts.push(say`last answer after the limit ${entry.final}`);
  if (entry.stopReason !== undefined && entry.stopReason !== 'stop' && entry.stopReason !== 'tools')
    facts.push(say`stopped by ${entry.stopReason}`);
  if (entry.label !== undefined) facts.push([entry.label.integrity === 'trusted' ? 'trusted' : 'untrusted']);
  const parts: ToldPart[] = [];
  if (entry.note !== undefined) parts.push(note('plain', say`Told the model: ${entry.note}`));
  parts.push(...bySurface(verdicts), ...approvalParts(entry.approvals), ...refusalNote(refusal, verdicts));
  if (refusedChars !== undefined)
    parts.push(note('bad', say`${[tellCounted(refusedChars, 'character')]} were discarded. What they said is in no log.`));
  if (misfit !== undefined) parts.push(note('bad', say`Did not fit the wanted form: ${misfit}`));
  if (entry.isEmpty)
    parts.push(
      note('waiting', say`${refusedChars === undefined ? 'The answer was empty.' : 'The answer told of a call that did not come.'}`),
    );
  if (error !== undefined) parts.push(note('bad', say`${error.code}: ${error.message}`));
  parts.push(...textPart('Reasoning that was shown', entry.reasoning));
  parts.push(...textPart('Answer', text, { isChanged: rewritten(verdicts, 'output') }));
  return {
    kind: 'Model turn',
    title: say`${turn} by ${model}`,
    status: status === 'ok' ? undefined : lookUp(turnStatuses, status, unheard),
    facts,
    parts,
  };
}

function tellCall(entry: CallEntry): Told {
  const { callId, tool, status, verdicts, isStarted, ms, input, output, outputChars, label } = entry;
  const facts: Words[] = [say`call ${callId}`];
  if (ms !== undefined) facts.push([tellDuration(ms)]);
  if (!isStarted && status !== 'waiting' && status !== 'open') facts.push(['never started']);
  if (entry.revision > 0) facts.push(say`revision ${entry.revision} of its input`);
  if (entry.errorClass !== undefined) facts.push(say`${entry.errorClass}`);
  if (label !== undefined) facts.push([label.integrity === 'trusted' ? 'result trusted' : 'result untrusted']);
  if (entry.copyOf !== undefined) facts.push(say`shares the end of call ${entry.copyOf}`);
  if (entry.limit !== undefined) facts.push(say`kept from running by the limit ${entry.limit}`);
  const before = verdicts.filter(({ surface }) => surface !== 'toolOutput' && surface !== 'output');
  const after = verdicts.filter(({ surface }) => surface === 'toolOutput' || surface === 'output');
  const kept = output !== undefined && outputChars !== undefined && outputChars > output.chars;
  return {
    kind: lookUp(callKinds, entry.callKind, 'Call'),
    title: say`${tool}`,
    status: lookUp(callStatuses, status, unheard),
    facts,
    parts: [
      ...bySurface(before),
      ...textPart('Input', input, { isData: true, isChanged: entry.revision > 0 }),
      ...(input === undefined ? [note('plain', say`Its input is in no log, since it did not run.`)] : []),
      ...approvalParts(entry.approvals),
      ...bySurface(after),
      ...refusalNote(entry.refusal, verdicts),
      ...textPart(kept ? `What the model sees of ${tellCount(outputChars)} characters` : 'What the model sees', output, {
        isData: true,
        isChanged: rewritten(after, 'toolOutput'),
      }),
      ...textPart('Details for the application', entry.details, { isData: true }),
      ...(entry.note === undefined ? [] : [note('plain', say`Told the model beside it: ${entry.note}`)]),
    ],
  };
}

function tellHandoff(entry: HandoffEntry): Told {
  const { from, to, status, view, verdicts } = entry;
  const facts: Words[] = [say`call ${entry.callId}`];
  if (view === 'all') facts.push(['the target sees everything so far']);
  else if (view !== undefined) facts.push(say`the target sees ${[tellCounted(view, 'item')]} of the history`);
  if (entry.limit !== undefined) facts.push(say`kept back by the limit ${entry.limit}`);
  const swapped: Words = say`Leave: ${sayList(entry.leave)}. Come: ${sayList(entry.come)}. Stay: ${sayList(entry.stay)}.`;
  return {
    kind: 'Handoff',
    title: to === '' ? say`from ${from}` : say`from ${from} to ${to}`,
    status: lookUp(handoffStatuses, status, unheard),
    facts,
    parts: [
      ...bySurface(verdicts),
      ...approvalParts(entry.approvals),
      ...refusalNote(entry.refusal, verdicts),
      ...textPart('Brief', entry.brief, { isChanged: rewritten(verdicts, 'handoff') }),
      ...(status === 'done'
        ? [note('plain', [...say`Guardrails of the agents. `, ...swapped])]
        : textPart('What the model sees', entry.output, { isData: true })),
    ],
  };
}

function tellResume(entry: ResumeEntry): Told {
  const parts: ToldPart[] = [];
  if (entry.come.length > 0) parts.push(note('plain', say`Guardrails that are new: ${sayList(entry.come)}.`));
  if (entry.leave.length > 0) parts.push(note('bad', say`Guardrails that are gone: ${sayList(entry.leave)}.`));
  if (entry.limits !== undefined) parts.push(note('plain', say`Limits now: ${sayLimits(entry.limits)}.`));
  return {
    kind: 'Resumed',
    title: entry.reopens ? say`the ended run was opened again` : say`a process went on with the run`,
    facts: [say`after ${[tellDuration(entry.pausedMs)]}`],
    parts,
  };
}

/** Limits that limit. */
export function sayLimits(limits: NonNullable<ReportRun['limits']>): Words {
  const set = Object.entries(limits).filter(([, value]) => value !== null);
  return set.flatMap(([name, value], index) => [
    ...(index === 0 ? [] : [', ']),
    { quote: name },
    ` ${tellCount(value ?? Number.POSITIVE_INFINITY)}`,
  ]);
}

function tellEnd(entry: EndEntry): Told {
  const { status, text, reply, refusal, limit, error, cause } = entry;
  const parts: ToldPart[] = [...refusalNote(refusal)];
  if (limit !== undefined) parts.push(note('waiting', say`The limit ${limit} was reached.`));
  if (error !== undefined) parts.push(note('bad', say`${error.code}: ${error.message}`));
  if (cause !== undefined && cause !== '') parts.push(note('plain', say`Cause: ${cause}`));
  if (reply !== undefined) parts.push(note('plain', say`The person was told instead: ${reply}`));
  parts.push(...textPart('The answer of the run', text));
  return { kind: 'Run ended', title: [], status: standingOf(status), facts: [], parts };
}

/** What a person was asked, and said. */
export function tellApproval(approval: ReportApproval): { readonly tone: Tone; readonly asked: Words; readonly decided: Words } {
  const { asks, decision, reason } = approval;
  const askers: Words =
    asks.length === 0
      ? [{ quote: reason }]
      : asks.flatMap(({ by, reason: why }, index) => [...(index === 0 ? [] : ['; ']), ...say`${by}: ${why}`]);
  const asked: Words = [
    ...say`A person was asked. `,
    ...askers,
    ...(approval.mayHaveRun ? ['. Its effect may have happened already'] : []),
    ...(approval.caller ? ['. The caller is to run it'] : []),
    ...(approval.chars === undefined ? [] : [`. ${tellCounted(approval.chars, 'character')} wait in quarantine`]),
  ];
  if (decision === undefined) return { tone: 'waiting', asked, decided: ['Nobody has decided in this log'] };
  const by: Words =
    decision.byStanding === undefined
      ? decision.by === undefined
        ? ['; by whom, the log does not say']
        : say`, by ${decision.by.text}`
      : say`; by the standing decision of approval ${decision.byStanding}: nobody was asked`;
  return {
    tone: decision.decision === 'reject' || decision.decision === 'void' ? 'bad' : 'good',
    asked,
    decided: [
      ...say`${[lookUp(decisions, decision.decision, 'Decided')]} after ${[tellDuration(decision.waitedMs)]}`,
      ...(decision.reason === undefined ? [] : say`: ${decision.reason}`),
      ...(decision.changed ? ['; a guardrail changed the edit, so a person was asked anew'] : []),
      ...(decision.decision === 'void' ? [] : by),
      ...sayStanding(decision.standing),
    ],
  };
}

function sayStanding(standing: NonNullable<ReportApproval['decision']>['standing']): Words {
  if (standing === undefined) return [];
  const { tool, when, exact, expiresAt } = standing;
  const until = expiresAt === undefined ? 'until the agent hands over' : `until ${tellTime(expiresAt)}, or the agent hands over`;
  const fields = when.text === '{}' && !exact ? ['any input'] : say`${[exact ? 'just the input' : 'an input with']} ${when.text}`;
  return say`. It stands for later calls of ${tool} with ${fields}, ${[until]}`;
}

/** What a person needs to see beside the thing itself. */
export function approvalFacts({ flow, untrustedFrom, rewrites, changedFields }: ReportApproval): readonly Words[] {
  const facts: Words[] = [];
  if (flow !== undefined) {
    const authority = flow.authority === 'all' ? ['every argument'] : sayList(flow.authority);
    facts.push(say`effect ${flow.effect}${[flow.declared ? '' : ', not declared']}; arguments that decide: ${authority}`);
  }
  if (untrustedFrom.length > 0) facts.push(say`the agent had read untrusted results of ${sayList(untrustedFrom)}`);
  for (const { by, reason, places } of rewrites) {
    const where = places === undefined ? '' : ` in ${tellCounted(places, 'place')}`;
    facts.push([...say`rewritten by ${by}${[where]}`, ...(reason === undefined ? [] : say`: ${reason}`)]);
  }
  if (changedFields.length > 0) facts.push(say`changed fields: ${sayList(changedFields)}`);
  return facts;
}

const decisions: Readonly<Record<string, string>> = {
  approve: 'Approved',
  reject: 'Rejected',
  edit: 'Edited',
  result: 'Answered with a result',
  void: 'Given up: the run was ended',
};
