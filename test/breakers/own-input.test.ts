import type { Model, ModelEvent } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, deny, run } from '@guardloop/core';
import { callTool, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';

/** A model that calls `send` with what it is given, then answers. */
function calling(input: unknown): Model {
  const events = (turn: number): readonly ModelEvent[] =>
    turn === 1 ? [{ type: 'tool.call', call: { name: 'send', input: input as never } }] : [{ type: 'text.delta', text: 'done' }];
  return {
    id: 'm',
    provider: 'p',
    async *stream({ turn }) {
      yield* events(turn);
      yield { type: 'end', stopReason: turn === 1 ? 'tool' : 'stop', usage: { requests: 1 } } as ModelEvent;
    },
  };
}

class Name {
  word = 'ann';
}
class Liar {
  word = 'eve';
  toJSON(): object {
    return { word: 'ann' };
  }
}

/** What a guardrail was shown, what ran, and what the log says ran. `after` is called once the guardrail has looked. */
async function play(to: unknown, after = (): void => undefined) {
  const shown: string[] = [];
  const ran: string[] = [];
  const guard = defineGuardrail({
    name: 'no-eve',
    on: ['toolInput'],
    check: async ({ content, input }) => {
      shown.push(content, JSON.stringify(input));
      after();
      return content.includes('eve') ? deny('not to eve') : allow();
    },
  });
  const send = defineTool({
    name: 'send',
    description: '',
    input: z.object({ to: z.unknown() }),
    execute: (given) => void ran.push(JSON.stringify({ ...given, to: { ...(given.to as object) } })),
  });
  const result = await run(
    defineAgent({ name: 'desk', instructions: '', model: calling({ to }), tools: [send], guardrails: [guard] }),
    'hi',
  );
  const recorded = result.log.events.flatMap((event) => (event.type === 'tool.start' ? [JSON.stringify(event.input)] : []));
  return { status: result.status, texts: new Set([...shown, ...ran, ...recorded]), ran };
}
const toAnn = '{"to":{"word":"ann"}}';

it('what a model changes in its call after the guardrails have looked is not what runs', async () => {
  const name = new Name();
  const { texts, ran } = await play(name, () => {
    name.word = 'eve';
  });
  expect(ran).toEqual([toAnn]);
  expect([...texts]).toEqual([toAnn]);
});

it('what a call’s input says of itself as JSON is not shown in place of what runs', async () => {
  const { texts, ran } = await play(new Liar());
  expect(ran).toEqual([]);
  expect([...texts]).toEqual(['{"to":{"word":"eve"}}']);
});

it('a field of a call is read once', async () => {
  let reads = 0;
  const to = {
    get word() {
      reads += 1;
      return reads === 1 ? 'ann' : 'eve';
    },
  };
  const { texts, ran } = await play(to);
  expect(ran).toEqual([toAnn]);
  expect([...texts]).toEqual([toAnn]);
});

it('a call that cannot be read ends as one with bad arguments', async () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const circle: Record<string, unknown> = {};
  circle.self = [circle, circle];
  for (const to of [proxy, circle]) expect(await play(to)).toMatchObject({ status: 'completed', ran: [] });
});

it('a stopped run waits no longer where the clock is put back', async () => {
  let now = 10_000_000;
  const waits: number[] = [];
  const after = (ms: number, call: () => void) => {
    waits.push(ms);
    const timer = setTimeout(call, Math.min(ms, 5));
    return () => clearTimeout(timer);
  };
  const controller = new AbortController();
  const send = defineTool({
    name: 'send',
    description: '',
    input: z.object({}),
    execute: async () => {
      controller.abort();
      now -= 3_600_000;
      return 'sent';
    },
    project: (() => new Promise(() => undefined)) as never,
  });
  const agent = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('send', {})]), tools: [send] });
  const result = await run(agent, 'hi', { signal: controller.signal, clock: { now: () => now, after } });
  expect(result.status).toBe('cancelled');
  expect(waits.length).toBeGreaterThan(0);
  for (const ms of waits) expect(ms).toBeLessThanOrEqual(10_000);
});
