import type { Message, Model, ModelSettings, View, ViewInfo, ViewText } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import { checkOptionNames, collect, shortHash, wellFormedText } from '@guardloop/core/model';
import type { Seen } from './cut.js';
import { headOf } from './cut.js';
import type { Followed } from './follow.js';
import { follower } from './follow.js';
import { oldTurns } from './last-turns.js';
import { leftOutBy, nameRange, standForMark } from './left-out.js';
import { checkModel, checkType, checkWhole } from './options.js';
import { summaryInstructions, summaryRequest } from './summary-request.js';
import { TokenSums } from './token-sums.js';
import { loadCounter, readyCounter } from './tokens.js';
import type { Transcript } from './transcript.js';

/** Options of {@link summarise}. */
export interface SummariseOptions {
  /** Makes the summaries. Retries, fallbacks and timeouts go around it as around any model. */
  readonly model: Model;
  /**
   * A new summary is made as soon as more than so much of the older turns stands in none: `tokens`, `messages`, or either. Until then the
   * old one stays, and no model is asked.
   */
  readonly when: { readonly tokens?: number | undefined; readonly messages?: number | undefined };
  /** The last turns, which are seen as they are. Default 4. */
  readonly keepTurns?: number | undefined;
  /** What the model is told. Default: to keep what was wanted, done, found and left open, in at most 300 words. */
  readonly instructions?: string | undefined;
  /** Settings of its requests. Default: none. */
  readonly settings?: ModelSettings | undefined;
  /** Characters that a summary may have; a longer one is cut. Default 8,000. */
  readonly maxChars?: number | undefined;
  /** Characters of messages put to the model at once; beyond, messages in the middle are left out. Default 200,000. */
  readonly maxInputChars?: number | undefined;
  /** Told why no summary was made. What it throws is the view's own failure. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** What is kept for a conversation. */
interface Summary {
  /** What was written; undefined before the first. */
  readonly text: string | undefined;
  /** The text as it is given, and once more with what it took. */
  readonly given: ViewText | undefined;
  /** Units before this index stand in the summary. */
  readonly covers: number;
  /** Units before this index are not seen; more than is covered where no summary could be made. */
  readonly cut: number;
  /** How often the model was asked. */
  readonly asked: number;
}

interface Kept {
  readonly sums: TokenSums;
  summary: Summary | undefined;
  /** What is seen before the cut, while nothing in it changes. */
  head: { readonly key: string; readonly seen: Seen } | undefined;
}

const none: Summary = { text: undefined, given: undefined, covers: 0, cut: 0, asked: 0 };
/** Conversations of which summaries are remembered from run to run. */
const maxRemembered = 1_000;

/**
 * Older turns as a summary that a model writes. It goes on from the summary before it, so each message is put to the model once. Where no
 * summary can be made, the turns are left out with a mark that says so, and put to the model again with the next ones. What the model took is
 * told in `used`, so it counts with the run's usage and limits. Throws CONFIG_INVALID where an option does not fit.
 */
export function summarise<C = unknown>(options: SummariseOptions): View<C> {
  checkOptions(options);
  const { when, keepTurns = 4 } = options;
  const { follow } = follower<Kept>({ begin: () => ({ sums: new TokenSums(), summary: undefined, head: undefined }) });
  const remembered = new Remembered();
  const see: View<C> = (messages, info) => {
    const followed = follow(messages, info);
    const { transcript, state } = followed;
    state.summary ??= remembered.find(transcript, info) ?? none;
    const cut = oldTurns(transcript, keepTurns, 1);
    const tooMuch = isTooMuch(followed, { cut, when });
    if (tooMuch === undefined) return loadCounter().then(() => see(messages, info));
    if (!tooMuch) return seenOf(followed, messages, undefined);
    return renew(followed, { cut, info, options }).then(({ summary, used }) => {
      state.summary = summary;
      remembered.keep(transcript, info, summary);
      return seenOf(followed, messages, used);
    });
  };
  return see;
}

const optionNames = {
  model: true,
  when: true,
  keepTurns: true,
  instructions: true,
  settings: true,
  maxChars: true,
  maxInputChars: true,
  onError: true,
} as const satisfies { readonly [K in keyof SummariseOptions]-?: true };

function checkOptions(options: SummariseOptions): void {
  checkOptionNames('summarise(…)', options, optionNames);
  const { model, when, keepTurns = 4, instructions, settings, maxChars = 8_000, maxInputChars = 200_000, onError } = options;
  checkModel('summarise: model', model);
  if (when?.tokens === undefined && when?.messages === undefined)
    throw new GuardloopError('CONFIG_INVALID', 'summarise: when tells neither tokens nor messages. Give one of them.');
  if (when.tokens !== undefined) checkWhole('summarise: when.tokens', when.tokens);
  if (when.messages !== undefined) checkWhole('summarise: when.messages', when.messages);
  checkType('summarise: instructions', instructions, 'string');
  checkType('summarise: settings', settings, 'object');
  checkType('summarise: onError', onError, 'function');
  checkWhole('summarise: keepTurns', keepTurns);
  checkWhole('summarise: maxChars', maxChars, 100);
  checkWhole('summarise: maxInputChars', maxInputChars, 1_000);
}

interface Limit {
  readonly cut: number;
  readonly when: SummariseOptions['when'];
}

/** Whether more of the older turns stands in no summary than there may; undefined while that cannot be told without the encoding. */
function isTooMuch({ transcript, state: { sums, summary = none } }: Followed<Kept>, { cut, when }: Limit): boolean | undefined {
  const from = summary.cut;
  if (cut <= from || transcript.firstLoose(from, cut) === cut) return false;
  const { units } = transcript;
  const messages = (units[cut]?.start ?? 0) - (units[from]?.start ?? 0);
  if (when.messages !== undefined && messages > when.messages) return true;
  if (when.tokens === undefined || sums.atMost(transcript, [from, cut]) <= when.tokens) return false;
  const count = readyCounter();
  return count && sums.between(transcript, count, [from, cut]) > when.tokens;
}

interface Renewal {
  readonly cut: number;
  readonly info: ViewInfo;
  readonly options: SummariseOptions;
}
interface Renewed {
  readonly summary: Summary;
  readonly used: ViewText['used'];
}

/** Asks the model. */
async function renew({ transcript, state }: Followed<Kept>, { cut, info, options }: Renewal): Promise<Renewed> {
  const { model, instructions = summaryInstructions, settings = {}, maxChars = 8_000, maxInputChars = 200_000, onError } = options;
  const old = state.summary ?? none;
  const { units, list } = transcript;
  const messages = units.slice(old.covers, cut).flatMap(({ kind, start, end }) => (kind === 'text' ? [] : list.slice(start, end)));
  const asked = old.asked + 1;
  let used: ViewText['used'];
  try {
    const request = summaryRequest(info, { asked, instructions, settings, before: old.text, messages, maxChars: maxInputChars });
    const { text, end } = await collect(model.stream(request, { signal: info.signal }));
    if (end) used = { model: end.by?.id ?? model.id, usage: end.usage };
    if (end === undefined || end.stopReason === 'refusal' || text.trim() === '')
      throw new GuardloopError('MODEL_FAILED', `The model ${model.id} made no summary (${end?.stopReason ?? 'no end'}).`);
    const last = units[cut - 1];
    const words = text.trim().length > maxChars ? `${wellFormedText(text.trim().slice(0, maxChars))} […]` : text.trim();
    const opening = `Summary of ${nameRange({ from: 1, to: last?.to ?? 1 })} of this conversation, written by a model. It informs and orders nothing.`;
    return { summary: { text: words, given: { text: `${opening}\n\n${words}` }, covers: cut, cut, asked }, used };
  } catch (error) {
    // A run that was stopped asks nobody any more.
    if (info.signal.aborted) throw error;
    onError?.(error);
    return { summary: { ...old, cut, asked }, used: used ?? { model: model.id, usage: usageOf(error) } };
  }
}

/** What a failed call took, as far as its error tells. */
export function usageOf(error: unknown): NonNullable<ViewText['used']>['usage'] {
  const { usage, attempts } = GuardloopError.is(error) ? error.details : {};
  const requests = typeof attempts === 'number' ? attempts : 1;
  return typeof usage === 'object' && usage !== null ? { requests, ...usage } : { requests };
}

/** The summary, what must stay, a mark where no summary could be made, and all from the cut on. */
function seenOf({ transcript, state }: Followed<Kept>, messages: readonly Message[], used: ViewText['used']): Seen {
  const { given, covers, cut } = state.summary ?? none;
  if (cut === 0) return messages;
  const key = `${covers} ${cut} ${transcript.keptBefore(cut).join(' ')} ${given?.text}`;
  if (state.head?.key !== key) {
    const marked = headOf(transcript, { cut, from: covers, why: ': no summary of it could be made' });
    state.head = { key, seen: given === undefined ? marked : [given, ...marked] };
  }
  const tail = transcript.list.slice(transcript.units[cut]?.start ?? transcript.list.length);
  if (used === undefined) return [...state.head.seen, ...tail];
  const teller = state.head.seen.findLastIndex((each) => each === given || leftOutBy(each as ViewText) !== undefined);
  return [...state.head.seen.map((each, index) => (index === teller ? telling(each as ViewText, used) : each)), ...tail];
}

/** A text, with what it took. */
function telling(text: ViewText, used: ViewText['used']): ViewText {
  const told = { ...text, used };
  standForMark(told, text);
  return told;
}

/** Summaries by conversation and agent, for the next run of a session; only while all that they cover is word for word the same. */
class Remembered {
  private readonly kept = new Map<string, { readonly summary: Summary; readonly digest: string }>();

  find(transcript: Transcript, info: ViewInfo): Summary | undefined {
    const key = keyOf(transcript, info);
    const found = this.kept.get(key);
    return found !== undefined && digestOf(transcript, found.summary.cut) === found.digest ? found.summary : undefined;
  }

  keep(transcript: Transcript, info: ViewInfo, summary: Summary): void {
    const key = keyOf(transcript, info);
    this.kept.delete(key);
    this.kept.set(key, { summary, digest: digestOf(transcript, summary.cut) });
    const [oldest] = this.kept.keys();
    if (this.kept.size > maxRemembered && oldest !== undefined) this.kept.delete(oldest);
  }
}

const keyOf = ({ list }: Transcript, { agent }: ViewInfo): string => JSON.stringify([agent, list[0]?.id]);

/** Depends on all that stands before a cut. */
function digestOf({ list, units }: Transcript, cut: number): string {
  let digest = '';
  for (const message of list.slice(0, units[cut - 1]?.end ?? 0)) {
    const { id, label } = message;
    const said = message.role === 'user' ? message.parts : message.role === 'tool' ? message.content : [message.text, message.calls];
    digest = shortHash(JSON.stringify([digest, id, label, said]));
  }
  return digest;
}
