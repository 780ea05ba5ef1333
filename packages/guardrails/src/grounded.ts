import type { GuardInfo, Guardrail, Message, Part, Subject } from '@guardloop/core';
import type { JsonObject, Label } from '@guardloop/core/model';
import { checkDefaultSettings, checkWholeNumber, optionFault, wellFormedText } from '@guardloop/core/model';
import type { AskingOptions } from './judge/ask-model.js';
import { askingOptionNames, askModel } from './judge/ask-model.js';
import type { Fence } from './judge/fence.js';
import { fenceRules, newFence } from './judge/fence.js';
import { piecesOf } from './pieces.js';
import type { RefusingOptions } from './refusing-guardrail.js';
import { checkCallbacks, checkModel, checkRefusingOptions, refusingGuardrail } from './refusing-guardrail.js';

/** Options of {@link grounded}. */
export interface GroundedOptions extends Omit<RefusingOptions<'output'>, 'on' | 'tools' | 'beside'>, AskingOptions {
  /** What an answer is refused for: what contradicts an observation, or also what no observation supports. Default `contradicted`. */
  readonly refuse?: 'contradicted' | 'unsupported' | undefined;
  /** The results that count: those of this run, or all that the agent sees, earlier runs of the session included. Default `run`. */
  readonly observations?: 'run' | 'view' | undefined;
  /** Characters of one observation put to the judge; of a longer one its beginning and its end, and the judge is told so. Default 8,000. */
  readonly maxObservationChars?: number | undefined;
  /** Characters of all observations; the oldest ones beyond are left out. Default 60,000. */
  readonly maxChars?: number | undefined;
  /** Added to what the judge is told. The author's; no outside text belongs here. */
  readonly instructions?: string | undefined;
}

const ownNames = ['refuse', 'observations', 'maxObservationChars', 'maxChars', 'instructions'] as const;
/** Of the answer: pieces as of a judge's text. */
const answerRule = { chars: 24_000, overlap: 500, most: 8 };
const mostNamed = 3;

/** A result that the judge is shown. */
interface Observation {
  /** What the judge calls it. */
  readonly id: string;
  readonly tool: string;
  readonly callId: string;
  readonly text: string;
}

/**
 * A guardrail on `output` that asks a model whether an answer contradicts what the run's tools gave. The judge names the observations, and only
 * ones that exist count; the reason names their tools and calls, so that the model can look again. A run without observations is allowed
 * unasked; so is reasoning that is shown. Throws CONFIG_INVALID.
 */
export function grounded(options: GroundedOptions): Guardrail<unknown, 'output'> {
  const kind = { name: 'grounded', on: ['output'] as const, options: [...askingOptionNames, ...ownNames] };
  checkRefusingOptions({ ...kind, without: ['on', 'tools', 'beside'] }, options);
  const where = 'grounded(…)';
  checkModel(where, options.model);
  const { refuse, observations, instructions, settings, used, onFailure, maxChars, maxObservationChars } = options;
  if (refuse !== undefined && refuse !== 'contradicted' && refuse !== 'unsupported')
    throw optionFault(where, "refuse is neither 'contradicted' nor 'unsupported'. Give one, or leave it out.");
  if (observations !== undefined && observations !== 'run' && observations !== 'view')
    throw optionFault(where, "observations is neither 'run' nor 'view'. Give one, or leave it out.");
  if (instructions !== undefined && typeof instructions !== 'string')
    throw optionFault(where, 'instructions is no text. Give one, or leave it out.');
  checkCallbacks(where, { used, onFailure });
  checkDefaultSettings(where, settings);
  checkWholeNumber(where, { maxChars, maxObservationChars }, 200);
  return refusingGuardrail({ ...kind, reason: (subject, info) => look(options, subject as Subject<'output'>, info) }, options);
}

async function look(options: GroundedOptions, subject: Subject<'output'>, info: GuardInfo): Promise<string | undefined> {
  if (subject.kind === 'reasoning' || subject.content.trim() === '') return undefined;
  const observations = observationsOf(options, info);
  if (observations.length === 0) return undefined;
  const pieces = piecesOf(subject.content, answerRule);
  if (pieces === undefined) return 'the answer is longer than could be compared with what the tools gave';
  const verdicts = await Promise.all(
    pieces.map((piece) => ask(options, { observations, answer: piece, label: subject.label }, info.signal)),
  );
  const named = [...new Set(verdicts.flatMap(({ contradicted }) => contradicted))];
  if (named.length > 0) return `the answer contradicts ${nameAll(named, observations)}; look there again, and correct it`;
  const isUnsupported = options.refuse === 'unsupported' && verdicts.some((verdict) => verdict.isUnsupported);
  return isUnsupported
    ? 'the answer says what no result of a tool supports; say only what the results say, or that it is not known'
    : undefined;
}

function nameAll(ids: readonly string[], observations: readonly Observation[]): string {
  const found = observations.filter(({ id }) => ids.includes(id));
  const names = found.slice(0, mostNamed).map(({ tool, callId }) => `the result of ${tool} (call ${callId})`);
  return `${names.join(', ')}${found.length > mostNamed ? ` and ${found.length - mostNamed} more` : ''}`;
}

/** The newest that fit, oldest first. */
function observationsOf(options: GroundedOptions, { messages, run }: GuardInfo): readonly Observation[] {
  const { observations = 'run', maxChars = 60_000, maxObservationChars = 8_000 } = options;
  const kept: Observation[] = [];
  let left = maxChars;
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    if (message?.role !== 'tool' || (observations === 'run' && !message.id.startsWith(`${run}/`))) continue;
    const text = headAndTail(contentOf(message), maxObservationChars);
    if (text.length > left) break;
    left -= text.length;
    kept.push({ id: `o${index + 1}`, tool: message.tool, callId: message.callId, text });
  }
  return kept.reverse();
}

function contentOf({ content }: Extract<Message, { role: 'tool' }>): string {
  return typeof content === 'string'
    ? content
    : content.map((part: Part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n');
}

function headAndTail(text: string, maxChars: number): string {
  if (text.length <= maxChars) return wellFormedText(text);
  const half = Math.floor((maxChars - 60) / 2);
  return wellFormedText(`${text.slice(0, half)}\n[… ${text.length - 2 * half} characters are not shown here …]\n${text.slice(-half)}`);
}

interface Comparison {
  readonly observations: readonly Observation[];
  readonly answer: string;
  readonly label: Label;
}
interface Compared {
  readonly contradicted: readonly string[];
  readonly isUnsupported: boolean;
}

function ask(options: GroundedOptions, { observations, answer, label }: Comparison, signal: AbortSignal): Promise<Compared> {
  const fence = newFence();
  const known = new Set(observations.map(({ id }) => id));
  const schema: JsonObject = {
    type: 'object',
    properties: {
      verdict: { type: 'string', enum: ['supported', 'unsupported', 'contradicted'] },
      observations: { type: 'array', items: { type: 'string', enum: [...known] } },
    },
    required: ['verdict', 'observations'],
    additionalProperties: false,
  };
  return askModel(
    options,
    {
      system: systemOf(fence, options.instructions),
      text: textOf(fence, observations, answer),
      label,
      schema,
      read: (value) => read(value, known),
    },
    signal,
  );
}

function systemOf(fence: Fence, instructions: string | undefined): string {
  return [
    'You compare what an assistant answers with what its tools gave (the observations, each with its id).',
    fenceRules(fence),
    'contradicted: some statement of the answer cannot be true together with an observation: another number, date, name, status, or the opposite. observations then lists the ids of those observations, at least one.',
    'unsupported: nothing is contradicted, but the answer states a fact about the matter that no observation gives. supported: neither. In both, observations is [].',
    'Rounding, other units, shorter wording and leaving things out contradict nothing. An observation of which a part is not shown contradicts nothing by what is missing.',
    ...(instructions === undefined ? [] : [instructions]),
    'Answer with this JSON alone: {"verdict":"supported","observations":[]}',
  ].join('\n\n');
}

function textOf(fence: Fence, observations: readonly Observation[], answer: string): string {
  return [
    ...observations.map(({ id, tool, text }) => fence.around(`observation ${id}, result of ${tool}`, text)),
    fence.around('answer', answer),
  ].join('\n\n');
}

function read({ verdict, observations, ...rest }: JsonObject, known: ReadonlySet<string>): Compared | undefined {
  if (Object.keys(rest).length > 0 || !Array.isArray(observations)) return undefined;
  const ids: readonly unknown[] = observations;
  if (!ids.every((id): id is string => typeof id === 'string' && known.has(id))) return undefined;
  if (verdict === 'contradicted') return ids.length === 0 ? undefined : { contradicted: ids, isUnsupported: false };
  if ((verdict !== 'supported' && verdict !== 'unsupported') || ids.length > 0) return undefined;
  return { contradicted: [], isUnsupported: verdict === 'unsupported' };
}
