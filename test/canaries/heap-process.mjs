// Started by heap.test.ts. Words are made at run time of bytes that do not hold them, so that only what is kept can hold them.
import { getHeapSnapshot } from 'node:v8';
import { allow, asTool, defineAgent, defineGuardrail, defineTool, deny, halt, memorySession, rewrite, run, stream } from '@guardloop/core';
import { z } from 'zod';

/** Text of shifted characters: the word itself stands nowhere in this file. */
const unshift = (text) => [...text].map((each) => String.fromCharCode(each.charCodeAt(0) - 1)).join('');
const shift = (text) => [...text].map((each) => String.fromCharCode(each.charCodeAt(0) + 1)).join('');
const shiftedWord = 'Rvbwfsm[jttfohvsmi8YXw';
const shiftedControl = 'Tusbohfdpouspm9ZYx';
const holdsWord = (content) => shift(content).includes(shiftedWord);

const refusing = (name, on, verdict) => defineGuardrail({ name, on, check: ({ content }) => (holdsWord(content) ? verdict : allow()) });
const model = (...steps) => ({
  id: 'm',
  provider: 'p',
  async *stream({ turn }) {
    const events = (steps[turn - 1] ?? (() => [{ type: 'text.delta', text: 'Fine.' }]))();
    yield* events;
    const calls = events.some(({ type }) => type === 'tool.call');
    yield { type: 'end', stopReason: calls ? 'tools' : 'stop', usage: { requests: 1 }, native: { events } };
  },
});
const word = () => unshift(shiftedWord);
const says = () => [{ type: 'text.delta', text: `it is ${word()}` }];
const calls = () => [{ type: 'tool.call', call: { name: 'act', input: { text: word() } } }];
const callsPlain = () => [{ type: 'tool.call', call: { name: 'act', input: { text: 'plain' } } }];
const unknown = () => [{ type: 'tool.call', call: { name: word(), input: { [word()]: word() } } }];
const act = (execute) => defineTool({ name: 'act', description: 'Acts.', input: z.object({ text: z.string() }), execute });
const agent = (more) => defineAgent({ name: 'desk', instructions: 'Help.', ...more });

const kept = [];
const store = memorySession();
const keep = async (id, running) => {
  kept.push([running, await running]);
  return id;
};
const session = (id) => ({ session: { store, id } });

await keep('input', run(agent({ model: model(), guardrails: [refusing('g', ['input'], deny('no'))] }), word(), session('a')));
await keep('output', stream(agent({ model: model(says, says), guardrails: [refusing('g', ['output'], halt('no'))] }), 'go', session('b')));
await keep('repaired', run(agent({ model: model(says), guardrails: [refusing('g', ['output'], deny('no'))] }), 'go', session('c')));
await keep(
  'arguments',
  run(agent({ model: model(calls), tools: [act(() => 'x')], guardrails: [refusing('g', ['toolInput'], deny('no'))] }), 'go', session('d')),
);
await keep(
  'result',
  run(
    agent({ model: model(callsPlain), tools: [act(() => ({ deep: word() }))], guardrails: [refusing('g', ['toolOutput'], deny('no'))] }),
    'go',
    session('e'),
  ),
);
await keep(
  'error',
  run(
    agent({
      model: model(callsPlain),
      tools: [
        act(() => {
          throw new Error(word(), { cause: word() });
        }),
      ],
      guardrails: [refusing('g', ['toolOutput'], deny('no'))],
    }),
    'go',
    session('f'),
  ),
);
await keep('unknown tool', run(agent({ model: model(unknown) }), 'go', session('g')));
const scrub = defineGuardrail({
  name: 's',
  on: ['output', 'toolOutput'],
  rewrite: ({ content }) => (holdsWord(content) ? rewrite('clean', 'cleaned') : allow()),
});
const inner = defineAgent({
  name: 'inner',
  instructions: 'Inner.',
  model: model(callsPlain, says),
  tools: [act(() => word())],
  guardrails: [scrub],
});
await keep(
  'in a child',
  run(
    agent({
      model: model(() => [{ type: 'tool.call', call: { name: 'ask', input: { input: 'go' } } }]),
      tools: [asTool(inner, { name: 'ask', description: 'Asks.' })],
    }),
    'go',
    session('h'),
  ),
);
kept.push({ control: unshift(shiftedControl) });

// Timers, microtasks and what they hold come to their end first.
await new Promise((resolve) => setTimeout(resolve, 60));
for (let round = 0; round < 5; round += 1) globalThis.gc();

let json = '';
for await (const chunk of getHeapSnapshot().setEncoding('utf8')) json += chunk;
const { strings } = JSON.parse(json);
json = '';
const [control, sought] = [shiftedControl, shiftedWord];
const counts = { control: 0, refused: [] };
for (const text of strings) {
  const shifted = shift(text);
  if (shifted.includes(control)) counts.control += 1;
  if (shifted.includes(sought)) counts.refused.push(text.slice(0, 80).replace(word(), '…'));
}
const results = kept.flatMap((each) => (Array.isArray(each) ? [each[1].status] : []));
process.stdout.write(JSON.stringify({ ...counts, statuses: results }));
