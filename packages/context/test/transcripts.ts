// Transcripts as a run makes them, and random ones.
import type { AssistantMessage, JsonObject, Message, ToolMessage, UserMessage, View, ViewInfo, ViewText } from '@guardloop/core';
import fc from 'fast-check';

const said = { origin: 'user', integrity: 'trusted' } as const;
const made = { origin: 'agent:a', integrity: 'untrusted' } as const;

export const info: ViewInfo = { context: undefined, agent: 'a', turn: 1, signal: new AbortController().signal };

export const user = (id: string, text = id, via: UserMessage['via'] = 'user'): UserMessage => ({
  role: 'user',
  id,
  via,
  parts: [{ type: 'text', text, label: said }],
  label: said,
});
export const answer = (id: string, text = id): AssistantMessage => ({ role: 'assistant', id, agent: 'a', text, calls: [], label: made });
/** An answer with a call for each content, and their results. */
export function round(id: string, contents: readonly string[], input: JsonObject = {}): readonly (AssistantMessage | ToolMessage)[] {
  const calls = contents.map((_, index) => ({ id: `${id}.${index}`, name: 'look', input }));
  return [
    { ...answer(id, ''), calls },
    ...contents.map(
      (content, index): ToolMessage => ({
        role: 'tool',
        id: `${id}.${index}`,
        callId: `${id}.${index}`,
        tool: 'look',
        content,
        isError: false,
        label: made,
      }),
    ),
  ];
}

/** What is seen, in short: ids of messages, texts of views. */
export async function seen(view: View, messages: readonly Message[], more: Partial<ViewInfo> = {}): Promise<readonly string[]> {
  return inShort(await view(messages, { ...info, ...more }));
}
export const inShort = (given: readonly (Message | ViewText)[]): readonly string[] =>
  given.map((each) => ('role' in each ? each.id : each.text));

/** A piece of a run: an answer with so many calls, or something that a person says meanwhile. */
type Piece = { readonly calls: number; readonly words: number } | { readonly steer: number };

const piece: fc.Arbitrary<Piece> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ calls: fc.integer({ min: 0, max: 3 }), words: fc.integer({ min: 0, max: 60 }) }) },
  { weight: 1, arbitrary: fc.record({ steer: fc.integer({ min: 1, max: 20 }) }) },
);

/** A session of several runs, cut at a point at which a view may be asked; and how many messages it had at each such point before. */
export interface RandomSession {
  readonly messages: readonly Message[];
  readonly points: readonly number[];
  /** Ids of what must stay: the first message of the run, and what was said last. */
  readonly said: readonly string[];
}

export const session: fc.Arbitrary<RandomSession> = fc
  .array(fc.array(piece, { maxLength: 12 }), { minLength: 1, maxLength: 4 })
  .map((runs) => {
    const messages: Message[] = [];
    const points: number[] = [];
    let goal = '';
    let last = '';
    for (const [index, pieces] of runs.entries()) {
      const run = `r${index + 1}`;
      goal = last = `${run}/i1`;
      messages.push(user(goal, `goal ${index}`));
      points.push(messages.length);
      let steers = 0;
      for (const [at, each] of pieces.entries()) {
        if ('steer' in each) {
          steers += 1;
          last = `${run}/s${steers}`;
          messages.push(user(last, 'and '.repeat(each.steer)));
        } else if (each.calls === 0) messages.push(answer(`${run}/${at}`, 'word '.repeat(each.words)));
        else
          messages.push(
            ...round(
              `${run}/${at}`,
              Array.from({ length: each.calls }, () => 'found '.repeat(each.words)),
            ),
          );
        points.push(messages.length);
      }
    }
    return { messages, points, said: [...new Set([goal, last])] };
  });

/** The ids of the current turn: what the model has not answered, with the calls that it answers. */
export function currentTurn(messages: readonly Message[]): readonly string[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const answered = messages[last];
  const isPartOfIt =
    answered?.role === 'assistant' &&
    (last === messages.length - 1 || (answered.calls.length > 0 && answered.id.split('/')[0] === messages.at(-1)?.id.split('/')[0]));
  const from = isPartOfIt ? last : last + 1;
  const run = messages.at(-1)?.id.split('/')[0];
  return messages
    .slice(from)
    .filter(({ id }) => id.split('/')[0] === run)
    .map(({ id }) => id);
}
