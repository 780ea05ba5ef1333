import type { Log, LogEvent, RunEvent, RunResult } from '@guardloop/core';
import { defineAgent, resume, run } from '@guardloop/core';
import { auditLog, say, scriptedModel, seededScheduler } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { Scene } from '../interleavings/scene.js';
import { unhandled } from '../scenarios/sound.js';
import type { Leaving, Make } from './scripts.js';
import { goThrough, scripts } from './scripts.js';

const promptMs = 50;
const stepMs = 10;
const reason = Object.assign(new Error('enough'), { name: 'Enough', code: 'E_ENOUGH' });

const sceneOf = (seed: number): Scene => new Scene(seededScheduler({ seed }), stepMs);

/** How much a script comes to when it is left alone. */
async function measure(
  make: Make,
): Promise<{ readonly events: number; readonly asked: number; readonly turns: number; readonly ms: number }> {
  const scene = sceneOf(1);
  const result = await goThrough(scene, make(scene));
  await scene.look(result);
  expect(result.status).toBe('completed');
  return { events: scene.events.length, asked: scene.asked, turns: scene.turns, ms: result.events.at(-1)?.at ?? 0 };
}

/** The answer is recorded: nothing is left to stop. */
function comesTooLate(event: RunEvent | undefined): boolean {
  if (event === undefined || event.parent !== undefined) return false;
  return event.type === 'run.end' || (event.type === 'model.end' && event.status === 'ok' && event.calls.length === 0);
}

/** Virtual milliseconds that a run may take after a stop; a store is let finish what it is at, and then write the end. */
const boundOf = ({ session }: ReturnType<Make>): number => promptMs + (session ? 4 * stepMs : 0);

function expectPrompt(scene: Scene, made: ReturnType<Make>): void {
  expect(scene.stoppedAt).toBeDefined();
  expect(scene.clock.now() - (scene.stoppedAt ?? 0)).toBeLessThanOrEqual(boundOf(made));
}

/** A stopped run is resumed to the end that one which is left alone has, and no effect happens twice. */
async function expectResumable(scene: Scene, made: ReturnType<Make>, result: RunResult): Promise<void> {
  const resumed = await goThrough(scene, made, { from: result, more: { signal: undefined, limits: { ms: Number.POSITIVE_INFINITY } } });
  expect(resumed.status).toBe('completed');
  await scene.look(resumed);
}

/** Says where it failed. */
async function at(place: string, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (thrown) {
    throw new Error(`${place}: ${thrown instanceof Error ? thrown.message : String(thrown)}`, { cause: thrown });
  }
}

describe.each(Object.entries(scripts))('%s', (_name, make) => {
  it('the caller’s signal at each event: cancelled with its cause, and resumed to the end', async () => {
    const rejections = unhandled();
    const { events } = await measure(make);
    for (let number = 1; number <= events; number += 1) {
      const scene = sceneOf(number);
      const made = make(scene);
      let seen = 0;
      const stop = (): void => {
        seen += 1;
        if (seen !== number) return;
        scene.noteStop();
        scene.stop.abort(reason);
      };
      const observers = [...scene.options.observers, stop];
      const result = await goThrough(scene, made, { door: number % 2 === 0 ? 'run' : 'stream', more: { observers } });
      const event = scene.events[number - 1];
      await at(`event ${number}, ${event?.type}`, async () => {
        const isOver = comesTooLate(event);
        expect(result).toMatchObject(
          isOver ? { status: 'completed' } : { status: 'cancelled', cause: { name: 'Enough', code: 'E_ENOUGH' } },
        );
        // Where it waits for people nothing is left to stop either: the next part begins with the stop.
        if (event?.type !== 'run.wait') expectPrompt(scene, made);
        await scene.look(result);
        if (!isOver) await expectResumable(scene, made, result);
      });
    }
    expect(rejections).toEqual([]);
  });

  it('the caller’s signal from within each function of the user’s, before and after it waits: cancelled, and resumed to the end', async () => {
    const rejections = unhandled();
    const { turns } = await measure(make);
    for (let number = 1; number <= turns; number += turns > 60 ? 3 : 1) {
      const scene = sceneOf(number);
      const made = make(scene);
      scene.onTurn = (turn) => {
        if (turn !== number) return;
        scene.noteStop();
        scene.stop.abort(reason);
      };
      const result = await goThrough(scene, made, { door: number % 2 === 0 ? 'run' : 'stream' });
      await at(`turn ${number} of ${turns}`, async () => {
        await scene.look(result);
        // The store was still writing an answer that was recorded already; or people had been asked, and decided.
        if (result.status === 'completed') return;
        expect(result).toMatchObject({ status: 'cancelled', cause: { name: 'Enough' } });
        // Undefined: it came while the store wrote down that people are asked, and the next part began with it.
        if (scene.stoppedAt !== undefined) expectPrompt(scene, made);
        await expectResumable(scene, made, result);
      });
    }
    expect(rejections).toEqual([]);
  });

  it.each(['break', 'throw', 'throw into'] as const)(
    'leaving the stream at each event (%s): cancelled, and resumed to the end',
    async (how) => {
      const rejections = unhandled();
      const { events } = await measure(make);
      const cause = how === 'throw into' ? { name: 'Left', code: 'E_LEFT' } : { name: 'AbortError' };
      for (let number = 1; number <= events; number += how === 'break' ? 1 : 4) {
        const scene = sceneOf(number);
        const made = make(scene);
        let [seen, told] = [0, 0];
        const leave = (): Leaving | undefined => {
          seen += 1;
          if (seen !== number) return undefined;
          scene.noteStop();
          told = scene.events.length;
          return how;
        };
        const result = await goThrough(scene, made, { door: 'stream', leave });
        await at(`event ${number}`, async () => {
          await scene.look(result);
          // It waited for people already, and they decided; or its answer was recorded already.
          if (scene.stoppedAt === undefined || scene.events.slice(0, told).some(comesTooLate))
            return expect(result.status).toBe('completed');
          expect(result).toMatchObject({ status: 'cancelled', cause });
          expectPrompt(scene, made);
          await expectResumable(scene, made, result);
        });
      }
      expect(rejections).toEqual([]);
    },
  );

  it('a halt by each guardrail: blocked by it, with its reason', async () => {
    const rejections = unhandled();
    const { asked } = await measure(make);
    for (let number = 1; number <= asked; number += 1) {
      const scene = sceneOf(number);
      scene.haltAt = number;
      const made = make(scene);
      const result = await goThrough(scene, made, { door: number % 2 === 0 ? 'run' : 'stream' });
      await at(`answer ${number}`, async () => {
        expect(result.status).toBe('blocked');
        if (result.status !== 'blocked') return;
        // Through a window it is no answer, and the guardrail has failed.
        expect(result.reason).toBe(result.by === 'window' ? 'guardrail window failed' : 'enough');
        if (result.by !== 'window') expectPrompt(scene, made);
        await scene.look(result);
        if (result.failed) return expectResumable(scene, made, result);
        const again = await goThrough(scene, made, { from: result });
        expect(again.log.events).toEqual(result.log.events);
        expect(again).toMatchObject({ status: 'blocked', by: result.by });
      });
    }
    expect(rejections).toEqual([]);
  });

  it('a deadline at each moment: exhausted in time, and resumed to the end', async () => {
    const rejections = unhandled();
    const { ms } = await measure(make);
    for (let limit = stepMs / 2; limit < ms + stepMs; limit += Math.max(stepMs, Math.round(ms / 60))) {
      const scene = sceneOf(limit);
      const made = make(scene);
      const result = await goThrough(scene, made, { more: { limits: { ms: limit } } });
      await at(`${limit} of ${ms} ms`, async () => {
        await scene.look(result);
        if (result.status === 'completed') return;
        expect(result).toMatchObject({ status: 'exhausted', limit: 'ms' });
        const active = scene.clock.now() - (made.session ? 20 * stepMs : 0);
        expect(active).toBeLessThanOrEqual(limit + boundOf(made));
        await expectResumable(scene, made, result);
      });
    }
    expect(rejections).toEqual([]);
  });
});

it('a log that was stopped after its answer, as earlier versions wrote, is resumed to that answer without asking the model', async () => {
  const model = scriptedModel([say('The answer.')]);
  const agent = defineAgent({ name: 'a', instructions: '', model });
  const { log } = await run(agent, 'go');
  const events = log.events.map(
    (event): LogEvent =>
      event.type === 'run.end'
        ? { type: 'run.end', status: 'cancelled', seq: event.seq, at: event.at, run: event.run, agent: event.agent }
        : event,
  );
  const resumed = await resume(agent, JSON.parse(JSON.stringify({ version: 1, events })) as Log);
  expect(resumed).toMatchObject({ status: 'completed', output: 'The answer.' });
  expect(auditLog(resumed.log)).toEqual([]);
  expect(model.requests).toHaveLength(1);
});
