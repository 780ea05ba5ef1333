import type { Guardrail, Surface } from '@guardloop/core';
import { optionFault } from '@guardloop/core/model';
import { checkRefusingOptions } from '../refusing-guardrail.js';
import { askingOptionNames } from './ask-model.js';
import type { JudgeBase } from './judge.js';
import { judgeBaseNames, judgeOf } from './judge.js';

interface TopicBase<S extends Surface> extends JudgeBase<S> {
  /** Default `['input']`. */
  readonly on?: readonly S[] | undefined;
}
/** Options of {@link topic}: what the text may be about, or what no part of it may be about. */
export type TopicOptions<S extends Surface = 'input'> = TopicBase<S> &
  (
    | {
        /** A few words for each: `orders and deliveries`. Greetings, thanks and questions about the assistant itself are always allowed. */
        readonly allowed: readonly string[];
        readonly blocked?: undefined;
      }
    | { readonly blocked: readonly string[]; readonly allowed?: undefined }
  );

const ownNames = ['allowed', 'blocked'];

/**
 * A {@link judge} about what the text is about. With `allowed` all of the text must be about these topics, with `blocked` no part of it may be
 * about one of them. Default name `topic`, on `input`. Throws CONFIG_INVALID.
 */
export function topic<const S extends Surface = 'input'>(options: TopicOptions<S>): Guardrail<unknown, S> {
  const kind = { name: 'topic', where: 'topic(…)', options: [...askingOptionNames, ...judgeBaseNames, ...ownNames] };
  checkRefusingOptions(kind, options);
  const { allowed, blocked, ...rest } = options;
  if ((allowed === undefined) === (blocked === undefined))
    throw optionFault(kind.where, 'give either allowed or blocked: a list of topics.');
  const topics: unknown = allowed ?? blocked;
  const which = allowed === undefined ? 'blocked' : 'allowed';
  if (!isListOfTexts(topics)) throw optionFault(kind.where, `${which} is no list of texts. Give the topics, each in a few words.`);
  return judgeOf<S>(kind, {
    ...rest,
    name: rest.name ?? 'topic',
    on: rest.on ?? (['input'] as readonly Surface[] as readonly S[]),
    reason:
      rest.reason ??
      (which === 'allowed'
        ? `only these topics are for this desk: ${topics.join('; ')}`
        : 'the text is about a topic that is not for this desk'),
    question: which === 'allowed' ? allowedQuestion(topics) : blockedQuestion(topics),
    refuse: which === 'allowed' ? 'no' : 'yes',
  });
}

function isListOfTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string' && one.trim() !== '');
}

const listed = (topics: readonly string[]): string => topics.map((one, index) => `${index + 1}. ${one}`).join('\n');

function allowedQuestion(topics: readonly string[]): string {
  return `Is all of the text about one or more of these topics, or a greeting, thanks, a short reply in a conversation, or a question about what the assistant can do?\n${listed(topics)}`;
}

function blockedQuestion(topics: readonly string[]): string {
  return `Is any part of the text about one of these topics, also where it is only hinted at or asked for in a roundabout way?\n${listed(topics)}`;
}
