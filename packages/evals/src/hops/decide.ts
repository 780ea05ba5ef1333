// Takes a question apart into relations ("the A of the B of X"), and finds them one by one, from the inside out.
import type { JsonObject, JsonValue } from '@guardloop/core/model';
import { isEqual } from '../match.js';
import type { Seen, SeenCall, SeenTool } from './read-request.js';
import { objectOf } from './read-request.js';

/** What to do next, and what it is for. */
export type Move =
  | { readonly kind: 'call'; readonly name: string; readonly input: JsonObject; readonly thought: string }
  | { readonly kind: 'answer'; readonly text: string; readonly thought: string };

/** Something that is known: its name, or an id, and what else was read with it. */
interface Known {
  readonly name?: string | undefined;
  readonly id?: string | undefined;
  readonly record: JsonObject;
}

/** How often a call is made again that failed and may be. */
const mostTries = 3;

/** A pure function of what is seen: the same transcript gives the same move. */
export function decide(seen: Seen): Move {
  const { relations, subject } = readQuestion(seen.question);
  let known: Known = { name: subject, record: {} };
  for (const relation of relations) {
    const next = findRelation(seen, known, relation);
    if ('kind' in next) return next;
    known = next;
  }
  const answer = known.name ?? known.id ?? '';
  return {
    kind: 'answer',
    text: `${seen.question
      .replace(/^What is/i, '')
      .replace(/\?$/, '')
      .trim()}: ${answer}`,
    thought: 'Nothing is missing.',
  };
}

/** `What is the weather in the birthplace of the discoverer of radium?`: discoverer, birthplace, weather, of radium. */
function readQuestion(question: string): { readonly relations: readonly string[]; readonly subject: string } {
  const parts = question
    .replace(/^what is\s+/i, '')
    .replace(/\?\s*$/, '')
    .split(/\s+(?:of|in)\s+/i)
    .map((part) => part.replace(/^the\s+/i, '').trim());
  return { relations: parts.slice(0, -1).reverse(), subject: parts.at(-1) ?? '' };
}

/** What a relation leads to, or the next move towards it. */
function findRelation(seen: Seen, known: Known, relation: string): Known | Move {
  const there = fieldOf(known.record, relation);
  if (there) return there;
  const thought = `I need the ${relation} of ${known.name ?? known.id ?? 'it'}.`;
  for (const tool of rank(seen.tools, relation)) {
    const filled = fill(seen, known, tool);
    if (filled === undefined) continue;
    if ('kind' in filled) return filled;
    const { input } = filled;
    const past = pastOf(seen, tool.name, input);
    if (past.length === 0) return { kind: 'call', name: tool.name, input, thought };
    const last = past.at(-1);
    if (last?.error?.retryable && past.length < mostTries)
      return { kind: 'call', name: tool.name, input, thought: `${tool.name} failed, and may go well now.` };
    const found = last && !last.error ? fieldOf(objectOf(last.value), relation) : undefined;
    if (found) return found;
  }
  return search(seen, known, relation);
}

/** Where a lookup knows nothing, what searches may. */
function search(seen: Seen, known: Known, relation: string): Known | Move {
  const giveUp: Move = {
    kind: 'answer',
    text: `I could not find the ${relation} of ${known.name ?? 'it'}.`,
    thought: 'I know no other way.',
  };
  const [tool] = rank(seen.tools, 'search');
  const argument = tool?.required[0];
  if (tool === undefined || argument === undefined || known.name === undefined) return giveUp;
  const input = { [argument]: `${known.name} ${relation}` };
  const past = pastOf(seen, tool.name, input);
  if (past.length === 0)
    return { kind: 'call', name: tool.name, input, thought: `The ${relation} of ${known.name} is not there; a search may find it.` };
  const notes = past.flatMap(({ value }) =>
    Object.values(objectOf(value)).flatMap((each) => (Array.isArray(each) ? (each as readonly JsonValue[]) : [])),
  );
  // Others may be called nearly the same.
  const note = notes.map(objectOf).find((each) => Object.values(each).some((value) => value === known.name));
  return (note && fieldOf(note, relation)) ?? giveUp;
}

/** The arguments of a tool, from what is known; where only an id is, first what it is called. */
function fill(seen: Seen, known: Known, tool: SeenTool): { readonly input: JsonObject } | Move | undefined {
  const input: Record<string, JsonValue> = {};
  for (const argument of tool.required) {
    if (argument.endsWith('Id')) {
      if (known.id === undefined) return undefined;
      input[argument] = known.id;
    } else if (known.name !== undefined) input[argument] = known.name;
    else {
      const named = findRelation(
        { ...seen, tools: seen.tools.filter((other) => other.required.every((each) => each.endsWith('Id'))) },
        known,
        argument,
      );
      if ('kind' in named) return named.kind === 'call' ? named : undefined;
      if (named.name === undefined) return undefined;
      input[argument] = named.name;
    }
  }
  return { input };
}

/** Calls with this input; of one that was refused the input is not told, so that it stands for every call of its tool. */
const pastOf = ({ calls }: Seen, name: string, input: JsonObject): readonly SeenCall[] =>
  calls.filter((call) => call.name === name && (isEqual(call.input, input) || isRefused(call)));

const isRefused = ({ input, error }: SeenCall): boolean => error !== undefined && !error.retryable && Object.keys(input).length === 0;

/** The field that is called like a relation, with the id beside it. Null is not known. */
function fieldOf(record: JsonObject, relation: string): Known | undefined {
  const name = record[relation];
  const id = record[`${relation}Id`];
  if ((name === undefined || name === null) && typeof id !== 'string') return undefined;
  return {
    ...(name === undefined || name === null ? {} : { name: String(name) }),
    ...(typeof id === 'string' ? { id } : {}),
    record: id === undefined ? record : {},
  };
}

/** Tools that speak of something, those that speak of little else first. */
function rank(tools: readonly SeenTool[], word: string): readonly SeenTool[] {
  const shareOf = ({ name, description }: SeenTool): number => {
    const words = `${name.replaceAll('_', ' ')} ${description}`.toLowerCase().split(/[^\p{L}\p{N}-]+/u);
    return words.filter((each) => each.startsWith(word.toLowerCase())).length / words.length;
  };
  return tools
    .map((tool) => ({ tool, share: shareOf(tool) }))
    .filter(({ share }) => share > 0)
    .sort((left, right) => right.share - left.share)
    .map(({ tool }) => tool);
}
