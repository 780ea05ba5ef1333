import type { Allow, GuardInfo, Rewrite, Span, Subject, ToolInputSubject, Verdict } from '@guardloop/core';
import { allow, deny, rewrite } from '@guardloop/core';
import type { FindInText } from '../text/finding.js';
import { jsonStrings } from '../text/json-strings.js';
import { isJson } from '../text/text-guardrail.js';
import type { Conversation } from './conversation.js';
import type { HiddenSpan, Hiding } from './hide.js';
import { hiddenIn } from './hide.js';
import type { PlaceholderLike } from './placeholders.js';
import { placeholdersLike } from './placeholders.js';
import type { Fields } from './restore.js';
import { faultInInput } from './restore.js';

/** What the guardrail of a vault works with. */
export interface Guarding<C> {
  readonly find: FindInText;
  conversationOf(info: { readonly context: C; readonly run: string }): Promise<Conversation>;
  /** Whether what a tool gives was hidden already, or may hold placeholders of the vault. */
  keepsPlaceholders(tool: string): boolean;
  /** The fields that tools of this name restore, one entry for each such tool. */
  restoredFields(tool: string): readonly Fields[];
  /** Of the guardrail; undefined: answers are held. */
  readonly window: number | undefined;
}

/**
 * Puts away what stands in a subject. Refuses a call that would fail for a placeholder in it, before anybody is asked about it. Rejects, which
 * refuses, where the store or a finder fails.
 */
export async function hideIn<C>(
  guarding: Guarding<C>,
  subject: Subject,
  info: GuardInfo<C>,
): Promise<Allow | Verdict<'toolInput'> | Rewrite<readonly Span[]>> {
  const conversation = await guarding.conversationOf(info);
  const fault = subject.surface === 'toolInput' ? faultOfCall(conversation, subject, guarding) : undefined;
  if (fault !== undefined) return deny(fault);
  const { find, window, keepsPlaceholders } = guarding;
  const keeps = keeping(conversation, subject, { messages: info.messages, keepsPlaceholders });
  const mayFlow = window !== undefined && subject.surface === 'output' && !subject.final;
  const flowing = mayFlow ? { run: info.run, window } : undefined;
  const spans = isJson(subject)
    ? await inJson(conversation, subject, { find, keeps })
    : await inText(conversation, subject, { find, keeps, flowing });
  if (spans.length === 0) return allow();
  return rewrite<readonly Span[]>(
    spans.map(({ start, end, with: words }) => ({ start, end, with: words })),
    reasonOf(spans),
  );
}

/** Of several tools of one name any may be the one that is called: what one of them takes is left to it. */
function faultOfCall(
  conversation: Conversation,
  { tool, input }: ToolInputSubject,
  { restoredFields }: Pick<Guarding<never>, 'restoredFields'>,
): string | undefined {
  const faults = restoredFields(tool).map((fields) => faultInInput(conversation, input, fields));
  return faults.includes(undefined) ? undefined : faults[0];
}

function reasonOf(spans: readonly HiddenSpan[]): string {
  const kinds = [...new Set(spans.flatMap(({ kind }) => (kind === undefined ? [] : [kind])))].slice(0, 5);
  const hasLikes = spans.some(({ kind }) => kind === undefined);
  const words = [
    ...(kinds.length === 0 ? [] : [`${kinds.join(', ')} was replaced by placeholders`]),
    ...(hasLikes ? ['what only looked like a placeholder was marked'] : []),
  ];
  return words.join('; ');
}

/** Offsets of the decoded strings are led back to the JSON; half a number cannot be replaced: the whole goes. */
async function inJson(conversation: Conversation, { surface, content }: Subject, hiding: Hiding): Promise<readonly HiddenSpan[]> {
  const strings = jsonStrings(content);
  const texts = strings.map(({ text, key }) => ({ text, place: { surface, key } }));
  const hidden = await hiddenIn(conversation, texts, hiding);
  return strings.flatMap((string, index) => {
    const spans = hidden[index] ?? [];
    const escaped = spans.map(({ start, end, with: words, kind }) => ({ start, end, with: JSON.stringify(words), kind }));
    const { isNumber, text } = string;
    const [first] = escaped;
    if (isNumber) return first === undefined ? [] : [{ ...first, start: string.offset(0), end: string.offset(text.length) }];
    return escaped.map((span) => ({
      ...span,
      start: string.offset(span.start),
      end: string.offset(span.end),
      with: span.with.slice(1, -1),
    }));
  });
}

async function inText(conversation: Conversation, { surface, content }: Subject, hiding: Hiding): Promise<readonly HiddenSpan[]> {
  const [spans = []] = await hiddenIn(conversation, [{ text: content, place: { surface } }], hiding);
  return spans;
}

/** Labels that somebody may write before there is such a placeholder. */
const usualLabels: ReadonlySet<string> = new Set(
  'EMAIL PHONE CARD PAYMENT_CARD CREDIT_CARD IBAN SSN IP NAME PERSON ADDRESS SECRET TOKEN KEY API_KEY PASSWORD ACCOUNT VALUE'.split(' '),
);

/**
 * Whether something looks like a placeholder and is meant: written by the vault, or by a model that had it from there. Of what comes from
 * outside only what the call itself was given is kept.
 */
function keeping(
  conversation: Conversation,
  subject: Subject,
  { messages, keepsPlaceholders }: Pick<GuardInfo, 'messages'> & Pick<Guarding<never>, 'keepsPlaceholders'>,
): (like: PlaceholderLike) => boolean {
  const isDoubtful = ({ label, isExact }: PlaceholderLike): boolean => isExact || usualLabels.has(label) || conversation.hasLabel(label);
  const isMade = ({ placeholder, isExact }: PlaceholderLike): boolean => isExact && conversation.has(placeholder);
  if (subject.surface === 'toolOutput') {
    if (subject.form === 'projected') return () => true;
    if (keepsPlaceholders(subject.tool)) return (like) => isMade(like) || !isDoubtful(like);
    let given: ReadonlySet<string> | undefined;
    return (like) => {
      if (!isDoubtful(like)) return true;
      given ??= new Set(placeholdersLike(JSON.stringify(subject.input)).map(({ placeholder }) => placeholder));
      return isMade(like) && given.has(like.placeholder);
    };
  }
  if (subject.surface !== 'input') return () => true;
  // What the conversation holds has come past the vault before.
  const isFromOutside = subject.items.every(
    ({ id, via }) => (via === 'user' || via === 'session') && !messages.some((message) => message.id === id),
  );
  return isFromOutside ? (like) => !isDoubtful(like) : () => true;
}

/** As the guardrail does of what a tool gives: the text itself. Nothing is waited for where nothing is found anew. */
export function hideText(conversation: Conversation, text: string, find: FindInText): string | Promise<string> {
  const keeps = ({ isExact, label }: PlaceholderLike): boolean => !(isExact || usualLabels.has(label) || conversation.hasLabel(label));
  const hidden = hiddenIn(conversation, [{ text, place: { surface: 'toolOutput' } }], { find, keeps });
  return hidden instanceof Promise ? hidden.then(([spans = []]) => replaced(text, spans)) : replaced(text, hidden[0] ?? []);
}

function replaced(text: string, spans: readonly HiddenSpan[]): string {
  let made = '';
  let at = 0;
  for (const { start, end, with: words } of spans) {
    made += text.slice(at, start) + words;
    at = end;
  }
  return made + text.slice(at);
}
