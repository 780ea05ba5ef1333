// What a user's text asks for: the verbs of its requests, and its words without those about what is not to be done.
import { isDoubtful } from './intent.js';

/** A text of the user's, read. */
export interface Request {
  /** The text without clauses that say what not to do. */
  readonly wanted: string;
  /** The sentences of it. */
  readonly sentences: readonly string[];
  /** Words that may ask for something to be done to the world, in their plain form, lower case. */
  readonly asked: readonly string[];
  /** It only agrees to what was said before: “yes, please”. */
  readonly isAgreement: boolean;
}

const sentence = /[^.!?\n]+(?:\.(?=\S)[^.!?\n]+)*[.!?]*\n?|[.!?\n]+/g;
const clauseEnd = /(?:[,;:]| (?:and|but|then|instead) )/i;
const negation = /\b(?:not|never|don['’]t|doesn['’]t|won['’]t|mustn['’]t|shouldn['’]t|without|avoid|nobody|nothing|neither)\b/i;
/** “Don't forget to invite Bob” asks for Bob to be invited. */
const harmlessNegation =
  /\b(?:not|never|don['’]t) (?:forget|hesitate|worry|miss|fail)\b|\bnot only\b|\bif (?:it|that|they|there)(?: is|['’]s| are)?(?: not|n['’]t)\b|\bif not\b/i;
/** A question about how things are, or what somebody may do, asks for an answer alone. “Can you …?” asks for more. */
const question =
  /^\W*(?:(?:and|so|also|please)\W+)?(?:how|when|who|whom|whose|what|where|why|which|did|does|do|is|are|was|were|has|have|had|am|should|shall|may|might|must|(?:can|could|would|will) (?:i|we|he|she|they|it|anybody|anyone|somebody|someone|the|this|that|my|our))\b/i;
const agreement =
  /^\W*(?:yes|yeah|yep|ok|okay|sure|right|correct|agreed|do it|go ahead|proceed|continue|go on|confirmed?|approved?|fine|ja|oui|si|sí|sim|da|tak)\b[\p{L}\p{M}' ,!.]{0,40}$/iu;

/** Reads a text of the user's. Time grows with its length. */
export function readRequest(text: string): Request {
  const wanted: string[] = [];
  const asked: string[] = [];
  for (const [each] of text.matchAll(sentence)) {
    const kept = withoutNegated(each);
    wanted.push(kept);
    if (question.test(each) && /\?\s*$/.test(each)) asked.push(...askingWords(afterPlease(kept)));
    else asked.push(...askingWords(kept));
  }
  return { wanted: wanted.join(''), sentences: wanted, asked, isAgreement: agreement.test(text) };
}

/** In a question, what comes after “please”. */
const afterPlease = (sentence: string): string => {
  const at = sentence.search(/\bplease\b/i);
  return at < 0 ? '' : sentence.slice(at);
};

/** Leaves the clauses out in which something is said not to be done. */
function withoutNegated(sentence: string): string {
  if (!negation.test(sentence) || harmlessNegation.test(sentence)) return sentence;
  const pieces: string[] = [];
  let rest = sentence;
  while (rest !== '') {
    const found = clauseEnd.exec(rest);
    const end = found === null ? rest.length : found.index + found[0].length;
    const clause = rest.slice(0, end);
    if (!negation.test(clause)) pieces.push(clause);
    rest = rest.slice(end);
  }
  return `${pieces.join('')} `;
}

const words = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '');
/** Before a verb that asks: “please …”, “and …”, “to …”, “can you …”. */
const before = new Set(
  words(
    "please to and then or also just now you i we they he she must should can could would will shall let's lets but kindly finally first second next help do so",
  ),
);
/** What is booked or ordered “me” is. */
const forMe = new Set(words('book order reserve buy get'));

/**
 * The words of a text that may ask for something to be done to the world, in their plain form or with -ing: of those that may as well be nouns
 * only where a request has its verb, at the beginning of a sentence or line or after “please”, “and”, “to”, “you”; none that is said of the
 * assistant's own answer (“tell me”, “give us a summary”). Lower case.
 */
export function askingWords(text: string): readonly string[] {
  const found: string[] = [];
  let last = '';
  let lastEnd = 0;
  const all = [...text.toLowerCase().matchAll(/[\p{L}\p{M}\p{N}'’]+(?:-[\p{L}\p{M}\p{N}'’]+)*/gu)];
  for (const [index, { 0: word, index: at }] of all.entries()) {
    const next = all[index + 1]?.[0];
    const opens = last === '' || before.has(last) || /[.!?:;,\n*•-]|\d/.test(text.slice(lastEnd, at) + last.slice(-1));
    last = word;
    lastEnd = at + word.length;
    if ((next === 'me' || next === 'us') && !forMe.has(word)) continue;
    if (!isDoubtful(word) || opens) found.push(word);
    for (const each of withoutIng(word)) if (!isDoubtful(each)) found.push(each);
  }
  return found;
}

/** `send` of `sending`, `delet` and `delete` of `deleting`, `cancel` of `cancelling`. */
function withoutIng(word: string): readonly string[] {
  if (!word.endsWith('ing') || word.length < 6) return [];
  const stem = word.slice(0, -3);
  return [stem, `${stem}e`, ...(stem.at(-1) === stem.at(-2) ? [stem.slice(0, -1)] : [])];
}
