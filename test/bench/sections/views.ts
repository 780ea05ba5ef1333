// What a view costs each turn, whatever the length of the transcript.
import { lastTurns, tokenBudget } from '@guardloop/context';
import type { Message, View, ViewInfo } from '@guardloop/core';
import { interleave } from '../measure.js';
import type { Row } from '../row.js';
import { atMost, ratioAtMost } from '../row.js';
import { callingModel, runOf } from '../world.js';

const label = { origin: 'user', integrity: 'trusted' } as const;
const info: ViewInfo = { context: undefined, agent: 'worker', turn: 1, signal: new AbortController().signal };

/** A turn as the benchmark's model makes it; other objects each time, so that nothing of them is known. */
function turnOf(turn: number): readonly Message[] {
  const id = `${turn}.0`;
  return [
    {
      role: 'assistant',
      id: `r1/${turn}`,
      agent: 'worker',
      text: '',
      calls: [{ id, name: 'work', input: { i: turn, j: 0 } }],
      label,
    },
    { role: 'tool', id: `r1/${id}`, callId: id, tool: 'work', content: 'ok '.repeat(66), isError: false, label },
  ];
}

/** Asks a view before each of so many turns. */
const asked = (make: () => View, turns: number) => async () => {
  const view = make();
  const messages: Message[] = [{ role: 'user', id: 'r1/i1', via: 'user', parts: [{ type: 'text', text: 'go', label }], label }];
  for (let turn = 1; turn <= turns; turn += 1) {
    await view(messages, info);
    messages.push(...turnOf(turn));
  }
};

export async function measureViews(): Promise<readonly Row[]> {
  const turns = 1_000;
  const alone = await interleave(
    {
      list: asked(() => (messages) => messages, turns),
      uncut: asked(() => tokenBudget(10_000_000), turns),
      cut: asked(() => tokenBudget(20_000), turns),
      last: asked(() => lastTurns(50), turns),
    },
    { rounds: 9, warmMs: 400 },
  );
  const model = { short: callingModel({ turns: 500, calls: 1 }), long: callingModel({ turns: 2_000, calls: 1 }) };
  const view = tokenBudget(4_000);
  const whole = await interleave(
    { short: runOf(model.short, [], { view }), long: runOf(model.long, [], { view }) },
    { rounds: 7, batchMs: 1 },
  );
  const row = (what: string, micros: number): Row => ({ what, unit: 'µs', ours: (micros - alone.list) / turns, target: atMost(10) });
  return [
    row('tokenBudget, a turn of 1,000 that it does not cut', alone.uncut),
    { ...row('tokenBudget, a turn of 1,000 with counts and cuts', alone.cut), target: undefined },
    row('lastTurns, a turn of 1,000', alone.last),
    {
      what: 'a turn under tokenBudget in a run of 2,000 turns, beside 500',
      unit: 'µs',
      ours: whole.long / 2_000,
      byHand: whole.short / 500,
      target: ratioAtMost(1.2),
    },
  ];
}
