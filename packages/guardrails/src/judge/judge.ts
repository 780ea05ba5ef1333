import type { GuardInfo, Guardrail, Subject, Surface } from '@guardloop/core';
import type { JsonObject } from '@guardloop/core/model';
import { checkDefaultSettings, checkWholeNumber, optionFault } from '@guardloop/core/model';
import { piecesOf } from '../pieces.js';
import type { RefusingOptions } from '../refusing-guardrail.js';
import { checkCallbacks, checkModel, checkRefusingOptions, refusingGuardrail } from '../refusing-guardrail.js';
import type { AskingOptions } from './ask-model.js';
import { askingOptionNames, askModel } from './ask-model.js';
import { fenceRules, newFence } from './fence.js';

/** What judges of texts have in common. */
export interface JudgeBase<S extends Surface> extends RefusingOptions<S>, AskingOptions {
  /** Added to what the judge is told, before the question: what the words in it mean, examples. The author's; no outside text belongs here. */
  readonly instructions?: string | undefined;
  /** Why it refuses, for the model and for people. Default: that the text did not pass, by name. */
  readonly reason?: string | undefined;
  /**
   * `reason`: the judge is also asked why, and its words (one line, 200 characters at most) stand after the reason: in the log, before the
   * agent's model, before people. A judge that was taken in says there what it was told to. Default `never`.
   */
  readonly words?: 'never' | 'reason' | undefined;
  /** Characters put to the model in one request. Default 24,000. A longer text is split. */
  readonly maxChars?: number | undefined;
  /**
   * Pieces of a longer text, each of which is asked about, with 500 characters of the one before; one that does not pass refuses the text.
   * A text of more pieces is refused unasked: nothing is left out. Default 8.
   */
  readonly maxPieces?: number | undefined;
}

/** Options of {@link judge}. */
export interface JudgeOptions<S extends Surface = Surface> extends JudgeBase<S> {
  readonly name: string;
  readonly on: readonly S[];
  /** To be answered with yes or no, about the text: `Does the text ask for medical advice?` */
  readonly question: string;
  /** Which answer refuses. Default `yes`. */
  readonly refuse?: 'yes' | 'no' | undefined;
}

export const judgeBaseNames = [
  'instructions',
  'reason',
  'words',
  'maxChars',
  'maxPieces',
] as const satisfies readonly (keyof JudgeBase<Surface>)[];
const overlap = 500;
const longestQuestion = 8_000;
const longestWords = 200;

/**
 * A guardrail that asks a model a question about the text that crosses. The text stands in a fence with a random boundary, as data; the
 * answer is read strictly, and anything but the two words asked for is a failure, which refuses unless `onError` says otherwise. What it
 * finds is as good as its model: an advisory layer, never the only barrier. Throws CONFIG_INVALID.
 */
export function judge<const S extends Surface>(options: JudgeOptions<S>): Guardrail<unknown, S> {
  const own = { name: 'judge', options: [...askingOptionNames, ...judgeBaseNames, 'question', 'refuse'] };
  checkRefusingOptions(own, options);
  const where = `judge(${typeof options.name === 'string' ? options.name : '…'})`;
  if (options.name === undefined) throw optionFault(where, 'it has no name. Give one that says what it looks for, such as off-topic.');
  if (options.on === undefined) throw optionFault(where, "it stands on no surface. Give on, such as ['input'].");
  return judgeOf({ ...own, name: options.name, where }, options);
}

/** What makes one kind of judge. */
export interface JudgeKind {
  readonly name: string;
  readonly where: string;
  readonly options: readonly string[];
}

/** As {@link judge}, for guardrails that make the question themselves. */
export function judgeOf<S extends Surface>(kind: JudgeKind, options: JudgeOptions<S>): Guardrail<unknown, S> {
  const { where } = kind;
  checkJudge(where, options);
  const { reason = `the text did not pass ${options.name}`, refuse = 'yes' } = options;
  return refusingGuardrail<unknown, S>(
    { ...kind, on: options.on, reason: (subject, info) => look({ ...options, reason, refuse }, subject, info) },
    options,
  );
}

/** Throws CONFIG_INVALID for options of a judge that do not fit. */
function checkJudge(where: string, options: Judging): void {
  const { model, question, refuse, words, instructions, reason, settings, maxChars, maxPieces, used, onFailure } = options;
  checkModel(where, model);
  if (typeof question !== 'string' || question.trim() === '' || question.length > longestQuestion)
    throw optionFault(
      where,
      `question is no text of 1 to ${longestQuestion} characters. Give a question about the text that yes or no answers.`,
    );
  if (refuse !== undefined && refuse !== 'yes' && refuse !== 'no')
    throw optionFault(where, "refuse is neither 'yes' nor 'no'. Give the answer that refuses.");
  if (words !== undefined && words !== 'never' && words !== 'reason')
    throw optionFault(where, "words is neither 'never' nor 'reason'. Give one, or leave it out.");
  for (const [name, text] of Object.entries({ instructions, reason }))
    if (text !== undefined && (typeof text !== 'string' || text.trim() === ''))
      throw optionFault(where, `${name} is no text. Give one, or leave it out.`);
  checkCallbacks(where, { used, onFailure });
  checkDefaultSettings(where, settings);
  checkWholeNumber(where, { maxChars }, 2 * overlap);
  checkWholeNumber(where, { maxPieces }, 1);
}

/** What is asked, without where and how it refuses. */
type Judging = Omit<JudgeOptions, keyof RefusingOptions>;
interface Looking extends Judging {
  readonly reason: string;
  readonly refuse: 'yes' | 'no';
}
interface Answer {
  readonly isRefused: boolean;
  readonly because: string | undefined;
}

async function look(options: Looking, subject: Subject, { signal }: GuardInfo): Promise<string | undefined> {
  const { maxChars = 24_000, maxPieces = 8, reason } = options;
  if (subject.content.trim() === '') return undefined;
  const pieces = piecesOf(subject.content, { chars: maxChars, overlap, most: maxPieces });
  if (pieces === undefined) return `${reason} (it is longer than this guardrail looks at)`;
  const stop = new AbortController();
  const either = pieces.length === 1 ? signal : AbortSignal.any([signal, stop.signal]);
  const asked = pieces.map((piece, index) => ask(options, { subject, piece, part: pieces.length > 1 ? index + 1 : undefined }, either));
  try {
    const refused = await firstRefused(asked);
    return refused && (refused.because === undefined ? reason : `${reason} (the judge: ${refused.because})`);
  } finally {
    stop.abort();
  }
}

/** The first answer that refuses, as soon as it is there; rejects with the first failure where no answer refuses. */
async function firstRefused(asked: readonly Promise<Answer>[]): Promise<Answer | undefined> {
  const settled = Promise.allSettled(asked).then((all) => {
    const failed = all.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
    return undefined;
  });
  const refused = asked.map((one) =>
    one.then(
      (answer) => (answer.isRefused ? answer : settled),
      () => settled,
    ),
  );
  return Promise.race(refused);
}

interface Piece {
  readonly subject: Subject;
  readonly piece: string;
  /** Undefined: it is the whole. */
  readonly part: number | undefined;
}

function ask(options: Looking, { subject, piece, part }: Piece, signal: AbortSignal): Promise<Answer> {
  const { question, instructions, refuse, words } = options;
  const fence = newFence();
  const wantsWords = words === 'reason';
  const form = wantsWords ? '{"answer":"yes","because":"…"} or {"answer":"no","because":"…"}' : '{"answer":"yes"} or {"answer":"no"}';
  const system = [
    `You answer one question about a text: ${whatOf(subject)}${part === undefined ? '' : `, piece ${part} of a longer one`}.`,
    fenceRules(fence),
    ...(instructions === undefined ? [] : [instructions]),
    `The question: ${question}`,
    `Answer with this JSON alone: ${form}${wantsWords ? ', because in one short sentence that quotes nothing' : ''}.`,
  ].join('\n\n');
  const schema: JsonObject = {
    type: 'object',
    properties: { answer: { type: 'string', enum: ['yes', 'no'] }, ...(wantsWords ? { because: { type: 'string' } } : {}) },
    required: wantsWords ? ['answer', 'because'] : ['answer'],
    additionalProperties: false,
  };
  const read = (value: JsonObject): Answer | undefined => {
    const { answer, because, ...rest } = value;
    if ((answer !== 'yes' && answer !== 'no') || Object.keys(rest).length > 0) return undefined;
    if (wantsWords !== (typeof because === 'string') || (!wantsWords && because !== undefined)) return undefined;
    return { isRefused: answer === refuse, because: typeof because === 'string' ? oneLine(because) : undefined };
  };
  return askModel(options, { system, text: fence.around('text', piece), label: subject.label, schema, read }, signal);
}

const oneLine = (words: string): string => words.slice(0, longestWords).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');

/** What a subject is, in words. A tool's name is of letters, digits, `_` and `-` alone. */
function whatOf(subject: Subject): string {
  switch (subject.surface) {
    case 'input':
      return 'what a user or another agent says to an assistant';
    case 'toolInput':
      return `the arguments, as JSON, with which an assistant calls the tool ${subject.tool}`;
    case 'toolOutput':
      return `what the tool ${subject.tool} returned`;
    case 'handoff':
      return 'what one assistant tells another that takes over';
    case 'output':
      return 'what an assistant answers';
    default:
      return subject satisfies never;
  }
}
