import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../define/agent.js';
import { defineGuardrail } from '../define/guardrail.js';
import { defineTool } from '../define/tool.js';
import type { ToolInfo } from '../define/types.js';
import { deny } from '../define/verdict.js';
import type { Model, ModelCall, ModelRequest } from '../model/types.js';
import { resume, run } from '../run/run.js';
import type { OpenApproval } from '../run/types.js';
import { memorySession } from '../session/memory.js';
import type { Log } from '../state/events.js';
import { fork } from './fork.js';
import { forkLog } from './fork-log.js';

type Said = string | readonly ModelCall[];

/** Says one thing in each turn. */
function speaking(turns: readonly Said[], requests: ModelRequest[] = []): Model {
  return {
    id: 'm',
    provider: 'test',
    async *stream(request) {
      requests.push({ ...request, messages: [...request.messages] });
      const said = turns[request.turn - 1] ?? 'Done.';
      if (typeof said === 'string') yield { type: 'text.delta', text: said };
      else for (const call of said) yield { type: 'tool.call', call };
      yield {
        type: 'end',
        stopReason: typeof said === 'string' ? 'stop' : 'tools',
        usage: { requests: 1, inputTokens: 1, outputTokens: 1 },
      };
    },
  };
}

const effects: string[] = [];
const sendDefinition = {
  name: 'send',
  description: 'Sends.',
  input: z.object({ id: z.string() }),
  flow: { effect: 'send' },
  execute: ({ id }: { readonly id: string }, { idempotencyKey }: ToolInfo) => {
    effects.push(`${id} ${idempotencyKey}`);
    return `sent ${id}`;
  },
} as const;
const send = defineTool(sendDefinition);
const call = (id: string): ModelCall => ({ name: 'send', input: { id } });
const agentOf = (...turns: readonly Said[]) => defineAgent({ name: 'clerk', instructions: '', model: speaking(turns), tools: [send] });
const seqOf = ({ events }: Log, type: string, nth = 1): number => events.filter((event) => event.type === type)[nth - 1]?.seq ?? 0;

async function original() {
  const result = await run(agentOf([call('o1')], [call('o2')], 'Both are sent.'), 'Send o1 and o2.', { runId: 'r' });
  effects.length = 0;
  return result.log;
}

it('goes on before a turn with another model, and leaves the log as it is', async () => {
  const log = await original();
  const before = JSON.stringify(log);
  const requests: ModelRequest[] = [];
  const result = await fork(agentOf(), log, { at: { turn: 2 }, runId: 'f', model: speaking([[], [call('o3')], 'Another way.'], requests) });
  expect(result.status === 'completed' && result.output).toBe('Another way.');
  expect(requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  expect(effects).toEqual(['o3 f/2.0']);
  expect(JSON.stringify(log)).toBe(before);
});

it('gives no key of the original to an effect of its own', async () => {
  const log = await original();
  const result = await fork(agentOf([], [call('o2')], 'Again.'), log, { at: { turn: 2 }, runId: 'f' });
  expect(effects).toEqual(['o2 f/2.0']);
  expect(result.runId).toBe('f');
  expect(JSON.stringify(result.log)).not.toContain('"r/');
});

it('gives a call that was under way the end that it had, and does not run it again', async () => {
  const log = await original();
  const result = await fork(agentOf([], 'One is enough.'), log, { at: seqOf(log, 'tool.start') });
  expect(result.status === 'completed' && result.output).toBe('One is enough.');
  expect(effects).toEqual([]);
  expect(result.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []))).toEqual(['sent o1']);
});

it('leaves the effect of a log that was cut there to a person', async () => {
  const log = await original();
  const cut: Log = { version: 1, events: log.events.slice(0, seqOf(log, 'tool.start')) };
  const result = await fork(agentOf(), cut, { at: cut.events.length });
  expect(
    result.status === 'interrupted' && result.approvals.map((approval) => approval.surface === 'toolInput' && approval.mayHaveRun),
  ).toEqual([true]);
  expect(effects).toEqual([]);
});

it('does not count a call of the model that was under way', async () => {
  const log = await original();
  const forked = forkLog(log, seqOf(log, 'model.start', 2));
  expect(forked.events.at(-1)?.type).toBe('tool.end');
  expect(forked.events.map(({ seq }) => seq)).toEqual(forked.events.map((_, index) => index + 1));
  const result = await resume(agentOf([], 'Done.'), forked, { limits: { turns: 2 } });
  expect(result.status).toBe('completed');
});

it('puts what comes after to other guardrails, and lets those that stood be missing', async () => {
  const guard = defineGuardrail({ name: 'no-o2', on: ['toolInput'], check: ({ content }) => deny(`not ${content.length}`) });
  const first = defineGuardrail({ name: 'gone', on: ['input'], check: () => ({ action: 'allow' }) });
  const { log } = await run(agentOf([call('o1')], [call('o2')], 'Sent.'), 'Send o1 and o2.', { guardrails: [first] });
  effects.length = 0;
  const result = await fork(agentOf([], [call('o2')], 'It was refused.'), log, { at: { turn: 2 }, guardrails: [guard] });
  expect(result.status === 'completed' && result.output).toBe('It was refused.');
  expect(effects).toEqual([]);
});

it('begins from the start where it is given the input again', async () => {
  const log = await original();
  await expect(fork(agentOf('Hello.'), log, { at: 1 }).result).rejects.toThrow(/option `input`/);
  const result = await fork(agentOf('Hello.'), log, { at: 1, input: 'Say hello.' });
  expect(result.status === 'completed' && result.output).toBe('Hello.');
});

it('forks one run of a session, and leaves the ids of those before it', async () => {
  const session = { store: memorySession(), id: 's' };
  const { log: before } = await run(agentOf('Hello.'), 'Hello?', { session, runId: 'r' });
  const { log } = await run(agentOf('Bye.'), 'Bye!', { session, runId: 's' });
  const forked = forkLog(log, { turn: 1 }, { runId: 'f' });
  expect(forked.events.slice(0, before.events.length)).toEqual(before.events);
  expect(new Set(forked.events.slice(before.events.length).map((event) => event.run))).toEqual(new Set(['f']));
});

it('says what is wrong with a place, a run id, and options', async () => {
  const log = await original();
  for (const at of [0, 1.5, log.events.length + 1]) expect(() => forkLog(log, at)).toThrow(/cannot be forked at/);
  expect(() => forkLog(log, { turn: 9 })).toThrow(/has no turn 9/);
  expect(() => forkLog(log, undefined as never)).toThrow(/The place of a fork is undefined/);
  expect(() => forkLog(log, 3, { runId: 'r' })).toThrow(/run id of a fork/);
  expect(() => forkLog(log, 3, { runId: 'a/b' })).toThrow(/run id of a fork/);
  expect(() => fork(agentOf(), log, undefined as never)).toThrow(/The options of fork are undefined/);
  expect(() => fork(agentOf(), log, { at: 3, limit: 3 } as never)).toThrow(/option "limit"/);
  expect(() => forkLog({ version: 1, events: [{ type: 'run.start', seq: 1, at: 1, run: 'r' } as never] }, 1)).toThrow(/damaged/);
});

it('waits for people under approvals of its own: a token of the original decides nothing in it', async () => {
  const asking = defineTool({ ...sendDefinition, approval: () => true });
  const desk = defineAgent({ name: 'clerk', instructions: '', model: speaking([[call('o1')], 'Sent.']), tools: [asking] });
  const approvals = { key: 'a key of more than thirty-two characters' };
  const first = await run(desk, 'Send o1.', { runId: 'r', approvals });
  effects.length = 0;
  const forked = await fork(desk, first.log, { at: first.log.events.length, runId: 'f', approvals });
  const [[old], [own]] = [first, forked].map((result) => (result.status === 'interrupted' ? result.approvals : [])) as [
    readonly OpenApproval[],
    readonly OpenApproval[],
  ];
  expect([old?.id, own?.id]).toEqual(['r/p1', 'f/p1']);
  const decide = (token: string | undefined) =>
    resume(desk, forked.log, { approvals, decisions: { [own?.id ?? '']: { decision: 'approve', token } } }).result;
  await expect(decide(old?.token)).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
  expect(effects).toEqual([]);
  expect((await decide(own?.token)).status).toBe('completed');
  expect(effects).toEqual(['o1 f/1.0']);
});
