import assert from 'node:assert/strict';
import { defineAgent, headTail, resume, run, spill } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

// #region details

import { defineTool, withDetails } from '@guardloop/core';

const drawChart = defineTool({
  name: 'draw_chart',
  description: 'Draw a chart.',
  input: z.object({ title: z.string() }),
  flow: { effect: 'none' },
  execute: ({ title }) => withDetails(`The chart "${title}" is shown.`, { svg: '<svg/>', title }),
});
// #endregion
const drawn = await run(
  defineAgent({
    name: 'a',
    instructions: '',
    model: scriptedModel([callTool('draw_chart', { title: 'T' }), say('There.')]),
    tools: [drawChart],
  }),
  'Draw.',
);
// #region details-read
const details = drawn.events.flatMap((event) => (event.type === 'tool.end' && event.details !== undefined ? [event.details] : []));
// #endregion
assert.deepEqual(details, [{ svg: '<svg/>', title: 'T' }]);
assert.ok(!JSON.stringify(drawn.messages).includes('<svg/>'));

// #region ends-run
const submit = defineTool({
  name: 'submit_report',
  description: 'Hand in the finished report.',
  input: z.object({ report: z.string() }),
  endsRun: true, // its result is the run's answer, judged on `output`
  execute: ({ report }) => report,
});
// #endregion
const model = scriptedModel([callTool('submit_report', { report: 'All is well.' })]);
const handedIn = await run(defineAgent({ name: 'a', instructions: '', model, tools: [submit] }), 'Report.');
assert.equal(handedIn.status === 'completed' && handedIn.text, 'All is well.');
assert.equal(model.requests.length, 1);

// #region caller-run
const pickFile = defineTool({
  name: 'pick_file',
  description: 'Let the user pick a file in the browser.',
  input: z.object({ kind: z.enum(['image', 'text']) }),
}); // no `execute`: whoever called `run` does it

const picker = defineAgent({
  name: 'picker',
  instructions: '',
  model: scriptedModel([callTool('pick_file', { kind: 'text' }), say('Got it.')]),
  tools: [pickFile],
});
const paused = await run(picker, 'Read my notes.');
if (paused.status !== 'interrupted') throw new Error(paused.status);
const [approval] = paused.approvals; // surface 'toolInput', caller: true, tool: 'pick_file', input: { kind: 'text' }
const picked = await resume(picker, paused.log, { decisions: { [approval?.id ?? '']: { result: { name: 'notes.txt' } } } });
// #endregion
assert.equal(approval?.surface === 'toolInput' && approval.caller, true);
assert.equal(picked.status === 'completed' && picked.text, 'Got it.');

// #region spill
const kept = new Map<string, string>();
const store = { put: (key: string, text: string) => void kept.set(key, text), get: (key: string) => kept.get(key) };
const readLog = defineTool({
  name: 'read_log',
  description: 'Read the log of a server.',
  input: z.object({ server: z.string() }),
  flow: { effect: 'read' },
  execute: () => 'line\n'.repeat(5_000),
  project: spill({ maxChars: 1_000, store }),
});
// #endregion
const reading = scriptedModel((request) => {
  const last = request.messages.at(-1);
  if (request.turn === 1) return callTool('read_log', { server: 's1' });
  if (request.turn === 2)
    return callTool('read_observation', { key: /key "([^"]+)"/.exec(String(last?.role === 'tool' && last.content))?.[1] ?? '', count: 4 });
  return say('Read.');
});
const read = await run(defineAgent({ name: 'a', instructions: '', model: reading, tools: [readLog] }), 'Read it.');
assert.equal(read.status, 'completed');
assert.equal([...kept.values()][0]?.length, 25_000);
assert.match(JSON.stringify(reading.requests[2]?.messages.at(-1)), /line/);

// #region project
const short = headTail({ maxChars: 500 });
const answered = await run(picker, 'Hello.', { model: scriptedModel([say('Hello.')]), project: short }); // for tools without one of their own
// #endregion
assert.equal(answered.status, 'completed');
