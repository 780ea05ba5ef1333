// `node packages/context/bench/tool-recall.mjs --data DIR`, after a build: how often the word search of `selectTools` finds the tool that a user
// needs among the 330 of InjecAgent (https://github.com/uiuc-kang-lab/InjecAgent, MIT), and what that costs. DIR holds tools.jsonl.gz (toolkits
// with their tools), user_cases.jsonl.gz (an instruction of a user and the tool that answers it), and the cases of attackers, whose instructions
// are a second set of texts that need a tool, nothing else.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import MiniSearch from 'minisearch';
import { byWords, searchTools, selectTools } from '../dist/index.js';

const at = process.argv.indexOf('--data');
const folder = at === -1 ? process.env.INJECAGENT_DATA : process.argv[at + 1];
if (folder === undefined || !existsSync(join(folder, 'tools.jsonl.gz'))) {
  process.stdout.write('Skipped: no InjecAgent data. Give the folder: --data DIR, or INJECAGENT_DATA.\n');
  process.exit();
}
const linesOf = (name) =>
  gunzipSync(readFileSync(join(folder, name)))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

const tools = linesOf('tools.jsonl.gz')
  .flat()
  .flatMap(({ name_for_model: toolkit, tools: each }) =>
    each.map(({ name, summary, parameters }) => ({
      name: `${toolkit}${name}`,
      description: summary,
      schema: { type: 'object', properties: Object.fromEntries(parameters.map((parameter) => [parameter.name, {}])) },
    })),
  );
const names = new Set(tools.map(({ name }) => name));
const users = linesOf('user_cases.jsonl.gz').map((each) => [each['User Instruction'], each['User Tool']]);
const attackers = new Map(
  ['dh_base.jsonl.gz', 'ds_base.jsonl.gz']
    .filter((name) => existsSync(join(folder, name)))
    .flatMap(linesOf)
    .map((each) => [each['Attacker Instruction'], [each['Attacker Tools']].flat().join().match(/\w+/)?.[0]]),
);
const sets = { users, attackers: [...attackers] };
for (const [set, cases] of Object.entries(sets)) {
  const unknown = cases.filter(([, tool]) => !names.has(tool));
  if (unknown.length > 0) throw new Error(`${unknown.length} of the ${set} name a tool that is not there.`);
}

const signal = new AbortController().signal;
const words = byWords();
const plain = new MiniSearch({ fields: ['name', 'description', 'arguments'] });
plain.addAll(
  tools.map(({ name, description, schema }, id) => ({ id, name, description, arguments: Object.keys(schema.properties).join(' ') })),
);
const rankers = {
  'minisearch as it comes': (text) => plain.search(text).map(({ id }) => tools[id].name),
  'byWords()': (text) => words(text, tools, { limit: 10, signal }),
};
process.stdout.write(`${tools.length} tools\n`);
for (const [ranker, rank] of Object.entries(rankers))
  for (const [set, cases] of Object.entries(sets)) {
    const places = cases.map(([text, tool]) => rank(text).indexOf(tool));
    const within = (top) => places.filter((place) => place >= 0 && place < top).length;
    const [five, ten] = [5, 10].map(
      (top) => `at ${top}: ${within(top)} of ${cases.length} (${Math.round((100 * within(top)) / cases.length)} %)`,
    );
    process.stdout.write(`${ranker}, ${set}: recall ${five}, ${ten}\n`);
  }

const median = (values) => values.sort((left, right) => left - right)[values.length >> 1];
const timed = (rounds, work) =>
  median(
    Array.from({ length: rounds }, (_, round) => {
      const start = performance.now();
      work(round);
      return (performance.now() - start) * 1_000;
    }),
  );
const microseconds = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} µs`;

const build = timed(15, () => byWords()(users[0][0], [...tools], { limit: 10, signal }));
const search = timed(users.length * 20, (round) => words(users[round % users.length][0], tools, { limit: 10, signal }));

// A run of 500 turns: each with one call.
const offered = [...tools, { name: searchTools.name, description: searchTools.description, schema: { type: 'object' } }];
const label = { origin: 'user', integrity: 'trusted' };
const model = {
  id: 'none',
  provider: 'none',
  stream: ({ tools: shown }) => ({
    [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: shown.length }) }),
  }),
};
async function turnMicros(wrapped) {
  const messages = [{ role: 'user', id: 'r/i1', via: 'user', parts: [{ type: 'text', text: users[0][0] }], label }];
  const times = [];
  for (let turn = 1; turn <= 500; turn += 1) {
    const request = { agent: 'a', turn, system: '', messages, tools: offered, settings: {} };
    const start = performance.now();
    await wrapped.stream(request, { signal })[Symbol.asyncIterator]().next();
    times.push((performance.now() - start) * 1_000);
    const { name } = tools[turn % 10];
    messages.push({ role: 'assistant', id: `r/${turn}`, agent: 'a', text: '', calls: [{ id: `${turn}.0`, name, input: {} }], label });
    messages.push({ role: 'tool', id: `r/${turn}.0`, callId: `${turn}.0`, tool: name, content: '', isError: false, label });
  }
  return median(times.slice(1));
}
await turnMicros(selectTools()(model));
const [without, withSelection] = [await turnMicros(model), await turnMicros(selectTools()(model))];
process.stdout.write(
  `index of ${tools.length} tools and a first search: ${microseconds(build)}; a search: ${microseconds(search)}; ` +
    `a further turn: ${microseconds(withSelection)} (${microseconds(without)} without selection)\n`,
);
