// #region conformance
import type { BenchStream } from '@guardloop/testing/conformance';
import { httpBench, modelConformance, readRecordings, streamConformance } from '@guardloop/testing/conformance';
import { talk } from './talk-model.js';
import type { TalkBody } from './talk-request.js';

/** The events with which the talk server says this. */
function eventsOf(said: BenchStream): readonly object[] {
  const used = said.type === 'answer' && said.usage === false ? {} : { used: { in: 12, out: 5 } };
  if (said.type === 'refusal') return [{ stop: 'refused', ...used }];
  if (said.type === 'beginning') return [{ text: said.text }];
  const texts = said.type === 'answer' ? (said.text ?? []) : [said.text];
  const { calls = [] } = said;
  return [
    ...texts.map((text) => ({ text })),
    ...calls.flatMap(({ id, name, arguments: input }) => [{ call: { id, name } }, { input: input.slice(0, 3) }, { input: input.slice(3) }]),
    { stop: said.type === 'length' ? 'cut' : calls.length > 0 ? 'calls' : 'done', ...used },
  ];
}

/** What the talk server would refuse. */
function faultsOf({ turns, tools = [], choose }: TalkBody): readonly string[] {
  const faults: string[] = [];
  let open = 0;
  for (const [at, turn] of turns.entries()) {
    const given = turn.who === 'tools' && Array.isArray(turn.results) ? turn.results.length : 0;
    if (given !== open) faults.push(`turns[${at}]: ${open} calls wait for their results, ${given} are given`);
    open = turn.who === 'model' && Array.isArray(turn.calls) ? turn.calls.length : 0;
  }
  const names = tools.map(({ name }) => String(name));
  if (!names.every((name) => /^[\w-]{1,64}$/.test(name)) || new Set(names).size < names.length) faults.push('tools: a name is not legal');
  if (typeof choose === 'object' && !names.includes(choose.name)) faults.push(`choose: there is no tool ${choose.name}`);
  JSON.stringify({ turns, tools }, (key, value: unknown) => {
    if (/\p{Surrogate}/u.test(`${key}${typeof value === 'string' ? value : ''}`)) faults.push('half a character was sent');
    return value;
  });
  return open > 0 ? [...faults, 'the last calls have no results'] : faults;
}

modelConformance('talk', () =>
  httpBench({
    model: (url) => talk('talk-1', { url }),
    stream: (said) =>
      eventsOf(said)
        .map((event) => `data: ${JSON.stringify(event)}\n\n`)
        .join(''),
    check: ({ body }) => faultsOf(body as TalkBody),
    toolNames: (body) => ((body as TalkBody).tools ?? []).map(({ name }) => String(name)),
    extra: { voice: 'calm' },
    neverRetries: true,
  }),
);

streamConformance('talk', {
  model: (send) => talk('talk-1', { url: 'https://talk.example', fetch: send }),
  recordings: readRecordings(new URL('talk-streams/', import.meta.url)),
});
// #endregion
