import type { Message, View, ViewText } from '@guardloop/core';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { answer, info, inShort, round, user } from '../test/transcripts.js';
import { tokenBudget } from './token-budget.js';
import { loadCounter, readyCounter } from './tokens.js';

type Given = readonly (Message | ViewText)[];
const hundred = 'word '.repeat(100).trim();

describe('tokenBudget, before anything was counted', () => {
  it('does not load the encoding while all of it fits for certain', () => {
    const messages = [user('r1/i1', hundred), ...round('r1/1', [hundred])];
    expect(tokenBudget(2_000)(messages, info)).toBe(messages);
    expect(readyCounter()).toBeUndefined();
  });

  it('loads it where the length does not tell, and then counts all that was not decided', async () => {
    const view = tokenBudget(700);
    const messages: Message[] = [user('r1/i1', 'go')];
    for (let turn = 1; turn <= 8; turn += 1) messages.push(...round(`r1/${turn}`, [hundred]));
    const first = view(messages, info);
    expect(first).toBeInstanceOf(Promise);
    const given = inShort((await first) as Given);
    expect(readyCounter()).toBeDefined();
    expect(given).toEqual(inShort(tokenBudget(700)(messages, info) as Given));
    expect(given[0]).toBe('r1/i1');
    expect(given[1]).toMatch(/^\[Left out here: messages 2 to \d+ /);
  });
});

describe('tokenBudget', () => {
  beforeAll(async () => {
    await loadCounter();
  });
  const see = (view: View, messages: readonly Message[]) => inShort(view(messages, info) as Given);

  it('cuts far enough that the beginning stays the same for many turns', () => {
    const view = tokenBudget(2_000);
    const live: Message[] = [user('r1/i1', 'go')];
    const heads: string[] = [];
    for (let turn = 1; turn <= 200; turn += 1) {
      live.push(...round(`r1/${turn}`, [hundred]));
      const given = see(view, live);
      heads.push(given.slice(0, 3).join());
      expect(given.at(-1)).toBe(`r1/${turn}.0`);
    }
    // A turn takes about 115 tokens, and 30 % of the budget are free after a cut.
    expect(new Set(heads).size).toBeLessThan(200 / 4);
  });

  it('keeps what must stay, even where it is more than the budget', () => {
    const messages = [user('r1/i1', hundred), ...round('r1/1', ['old']), ...round('r1/2', [hundred, hundred])];
    const given = see(tokenBudget(10), messages);
    expect(given).toEqual(['r1/i1', expect.stringContaining('2 to 3'), 'r1/2', 'r1/2.0', 'r1/2.1']);
  });

  it('leaves the goal of an older run out once there is a new one', () => {
    const messages = [user('r1/i1', 'first'), answer('r1/1', hundred), user('r2/i1', 'second'), ...round('r2/1', [hundred])];
    expect(see(tokenBudget(180), messages)).toEqual([expect.stringContaining('1 to 2'), 'r2/i1', 'r2/1', 'r2/1.0']);
  });

  it('decides anew where a message was changed, and apart for each agent', () => {
    const view = tokenBudget(300);
    const first = user('r1/i1', 'go');
    const long = [first, ...round('r1/1', [hundred]), ...round('r1/2', [hundred]), ...round('r1/3', [hundred])];
    expect(see(view, long)).toHaveLength(4);
    // A guardrail shortened the older ones: now there is room.
    const short = [first, ...round('r1/1', ['x']), ...round('r1/2', ['x']), ...long.slice(-2)];
    expect(see(view, short)).toHaveLength(7);
    expect(inShort(view(long, { ...info, agent: 'b' }) as Given)).toHaveLength(4);
    expect(see(view, long)).toHaveLength(4);
  });

  it('takes at most 10 µs a turn where nothing new is cut, and no more with more turns', () => {
    const perTurn = (turns: number): number => {
      const live: Message[] = [user('r1/i1', 'go')];
      const all = Array.from({ length: turns }, (_, index) => round(`r1/${index}`, ['ok '.repeat(66)]));
      const view = tokenBudget(10_000_000);
      const before = process.cpuUsage();
      for (const each of all) {
        live.push(...each);
        void view(live, info);
      }
      const { user: own, system } = process.cpuUsage(before);
      return (own + system) / turns;
    };
    const best = (turns: number): number => Math.min(...Array.from({ length: 9 }, () => perTurn(turns)));
    best(1_000);
    expect(best(1_000)).toBeLessThan(10);
    expect(best(4_000)).toBeLessThan(10);
  });

  it('stays linear over 1,000 turns, cuts and counts included', () => {
    const perTurn = (turns: number): number => {
      const live: Message[] = [user('r1/i1', 'go')];
      const all = Array.from({ length: turns }, (_, index) => round(`r1/${index}`, ['ok '.repeat(66)]));
      const view = tokenBudget(4_000);
      const before = process.cpuUsage();
      for (const each of all) {
        live.push(...each);
        void view(live, info);
      }
      const { user: own, system } = process.cpuUsage(before);
      return (own + system) / turns;
    };
    const best = (turns: number): number => Math.min(...Array.from({ length: 7 }, () => perTurn(turns)));
    best(500);
    expect(best(2_000)).toBeLessThan(best(500) * 2.5);
  });

  it('works in a run: what is recorded is whole, and the log is sound', async () => {
    const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({ at: z.number() }), execute: () => hundred });
    const model = scriptedModel(({ turn }) => (turn <= 30 ? callTool('look', { at: turn }) : say('Done.')));
    const agent = defineAgent({ name: 'a', instructions: 'Look.', model, tools: [look] });
    const result = await run(agent, 'go', { view: tokenBudget(1_000), limits: { turns: 40 } });
    expect(result.status).toBe('completed');
    expect(result.messages).toHaveLength(62);
    expect(auditLog(result.log)).toEqual([]);
    for (const { messages } of model.requests) expect(messages.length).toBeLessThan(22);
    const last = model.requests.at(-1)?.messages;
    expect(last?.[1]).toMatchObject({ via: 'view', label: { origin: 'developer', integrity: 'untrusted' } });
    expect(JSON.stringify(last?.[1])).toContain('Left out here: messages 2 to');
  });

  it.each([0, -1, 2.5])('refuses a budget of %d, and a share that is none', (n) => {
    expect(() => tokenBudget(n)).toThrow(/no whole number from 1 on/);
    expect(() => tokenBudget(10, { keep: n })).toThrow(/keep is no share above 0 and up to 1/);
  });
});
