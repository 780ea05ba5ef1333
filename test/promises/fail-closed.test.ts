import type { GuardFailure, Guardrail, RunEvent, RunResult, Surface } from '@guardloop/core';
import { allow, asTool, defineAgent, defineGuardrail, defineTool, resume, run, stream } from '@guardloop/core';
import type { ScriptedModel } from '@guardloop/testing';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { surfaces } from './world.js';

const canary = 'CANARY-7f3a';

/** Ways in which a guardrail's function can fail. */
const failures: Record<string, (signal: AbortSignal) => unknown> = {
  throws: () => {
    throw new Error(canary);
  },
  rejects: async () => {
    throw new Error(canary);
  },
  'hangs without end': () => new Promise(() => undefined),
  'answers after its deadline': (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(allow()))),
  'answers nothing': () => undefined,
  'answers true': () => true,
  'answers an unknown action': () => ({ action: 'permit' }),
  'answers a deny without a reason': () => ({ action: 'deny' }),
  'answers an action with a throwing getter': () => ({
    get action() {
      throw new Error(canary);
    },
  }),
  'answers a promise of nonsense': async () => 'allow',
  'rejects with nothing': () => Promise.reject(undefined),
};

/** How the verdict says that it failed. */
const howOf = (failure: string): GuardFailure =>
  failure === 'throws' || failure.startsWith('rejects') ? 'threw' : /hangs|deadline/.test(failure) ? 'late' : 'misfit';

const phases = ['check', 'rewrite'] as const;
type Phase = (typeof phases)[number];

function brokenGuardrail(surface: Surface, phase: Phase, failure: string): Guardrail<unknown> {
  const fail = (_: unknown, { signal }: { signal: AbortSignal }) => failures[failure]?.(signal) as never;
  const base = { name: 'broken', on: [surface] as [Surface], timeoutMs: 20 };
  return phase === 'check' ? defineGuardrail({ ...base, check: fail }) : defineGuardrail({ ...base, rewrite: fail });
}

interface Scene {
  readonly result: RunResult;
  readonly events: readonly RunEvent[];
  readonly model: ScriptedModel;
  /** What ran. */
  readonly ran: string[];
}
type Mode = 'run' | 'stream' | 'resume' | 'live' | 'nested' | 'handoff';
const modes: readonly Mode[] = ['run', 'stream', 'resume', 'live', 'nested', 'handoff'];

/** An input, an answer beside a call, the call's input and result, a handoff: each carries the canary of its surface. */
async function play(mode: Mode, guardrail: Guardrail<unknown>): Promise<Scene> {
  const ran: string[] = [];
  const note = defineTool({
    name: 'note',
    description: 'Notes.',
    input: z.object({ text: z.string() }),
    execute: ({ text }) => {
      ran.push(text);
      return `toolOutput ${canary}`;
    },
  });
  const model = scriptedModel({
    main: [[say(`output ${canary}`), callTool('note', { text: `toolInput ${canary}` })], callTool('transfer_to_other', {}), say('end')],
    other: [say('unused'), say('unused'), say('end')],
    outer: [callTool('ask_main', { input: `input ${canary}` }), say('end')],
    first: [callTool('transfer_to_main', { brief: `input ${canary}` }), say('end'), say('end')],
  });
  const other = defineAgent({ name: 'other', instructions: '', model, guardrails: [] });
  const main = defineAgent({ name: 'main', instructions: '', model, tools: [note], handoffs: [other] });
  const shared = { guardrails: [guardrail] };
  const input = `input ${canary}`;
  const events: RunEvent[] = [];
  const watch = async (watched: ReturnType<typeof stream>): Promise<RunResult> => {
    for await (const event of watched) events.push(event);
    return watched.result;
  };
  switch (mode) {
    case 'run':
      return { result: await run(main, input, shared), events, model, ran };
    case 'stream':
    case 'live':
      return {
        result: await watch(stream(main, input, { ...shared, release: mode === 'live' ? 'live' : 'checked' }) as never),
        events,
        model,
        ran,
      };
    case 'nested': {
      const outer = defineAgent({
        name: 'outer',
        instructions: '',
        model,
        tools: [asTool(main, { name: 'ask_main', description: 'Asks.' })],
      });
      return { result: await watch(stream(outer, 'go', shared) as never), events, model, ran };
    }
    case 'handoff': {
      const first = defineAgent({ name: 'first', instructions: '', model, handoffs: [main] });
      return { result: await watch(stream(first, input, shared) as never), events, model, ran };
    }
    case 'resume': {
      // The log of the same run without the guardrail, cut after its start: the run is entered anew under the guardrail.
      const { log } = await run(main, input, {});
      const prefix = { version: 1 as const, events: log.events.slice(0, 1) };
      return { result: await watch(resume(main, prefix, { ...shared, input }) as never), events, model, ran };
    }
    default:
      return mode satisfies never;
  }
}

describe.each(surfaces)('a failing guardrail on %s', (surface) => {
  describe.each(modes)('in mode %s', (mode) => {
    it.each(Object.keys(failures).flatMap((failure) => phases.map((phase) => [failure, phase] as const)))(
      'refuses what it was asked about when it %s (%s)',
      async (failure, phase) => {
        const { result, events, ran } = await play(mode, brokenGuardrail(surface, phase, failure));
        const verdicts = result.log.events.filter((event) => event.type === 'guard.verdict');
        expect(verdicts.length).toBeGreaterThan(0);
        for (const verdict of verdicts)
          expect(verdict).toMatchObject({
            guardrail: 'broken',
            action: 'deny',
            failed: true,
            failure: howOf(failure),
            reason: 'guardrail broken failed',
          });

        const everything = JSON.stringify({
          result,
          events: mode === 'live' ? events.filter((event) => event.type !== 'text.delta') : events,
        });
        if (surface === 'input' && mode !== 'nested') expect(everything).not.toContain(canary);
        expect(everything).not.toContain(`${surface} ${canary}`);
        if (mode === 'live' && surface === 'output') {
          const shown = events.reduce(
            (count, event) =>
              event.type === 'text.delta' && event.text.includes(canary) ? count + 1 : event.type === 'text.retract' ? count - 1 : count,
            0,
          );
          expect(shown).toBe(0);
        }
        if (surface === 'input' || surface === 'toolInput' || surface === 'output')
          expect(ran.filter((text) => mode !== 'resume' || text !== `toolInput ${canary}`)).toEqual([]);
        if (surface === 'handoff') expect(result.log.events.some((event) => event.type === 'handoff')).toBe(false);
        expect(auditLog(result.log).filter((fault) => mode !== 'resume' || !fault.includes('run.start'))).toEqual([]);
      },
    );
  });
});

it('a failing guardrail whose author wrote onError allow lets pass, and its verdict says that it failed', async () => {
  const open = defineGuardrail({
    name: 'open',
    on: ['input', 'output'],
    onError: 'allow',
    check: () => {
      throw new Error(canary);
    },
  });
  const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('hello')]), guardrails: [open] });
  const result = await run(agent, 'hi');
  expect(result).toMatchObject({ status: 'completed', output: 'hello' });
  expect(result.log.events.filter((event) => event.type === 'guard.verdict')).toMatchObject([
    { action: 'allow', failed: true },
    { action: 'allow', failed: true },
  ]);
});

describe('how a guardrail failed, its verdict says', () => {
  const told = ({ log }: RunResult) => log.events.flatMap((event) => (event.type === 'guard.verdict' ? [event.failure] : []));
  const answering = (guardrail: Guardrail<unknown>, text = 'hello there') =>
    run(defineAgent({ name: 'a', instructions: '', model: scriptedModel([say(text)]), guardrails: [guardrail] }), 'hi');

  it.each(Object.keys(failures))('through a window too: it %s', async (failure) => {
    const window = defineGuardrail({
      name: 'window',
      on: ['output'],
      window: 4,
      timeoutMs: 20,
      rewrite: (_, { signal }) => failures[failure]?.(signal) as never,
    });
    const result = await answering(window);
    expect(result).toMatchObject({ status: 'blocked', by: 'window', failed: true });
    expect(told(result)).toEqual([howOf(failure)]);
    expect(auditLog(result.log)).toEqual([]);
  });

  it.each(['rewrite', 'window'] as const)('a %s whose value does not fit is a misfit', async (kind) => {
    const spans = [{ start: 0, end: 400, with: '' }];
    const misfit = defineGuardrail({
      name: 'misfit',
      on: ['output'],
      ...(kind === 'window' ? { window: 4 } : {}),
      rewrite: () => ({ action: 'rewrite', value: spans, reason: 'out of bounds' }) as never,
    });
    expect(told(await answering(misfit))).toEqual(['misfit']);
  });

  it.each(['check', 'rewrite', 'window'] as const)('one whose breaker is open was not asked (%s)', async (kind) => {
    const down = () => {
      throw new Error(canary);
    };
    const base = { name: 'down', on: ['output'], breaker: { failures: 1 } } as const;
    const guardrail =
      kind === 'check'
        ? defineGuardrail({ ...base, check: down })
        : defineGuardrail({ ...base, rewrite: down, ...(kind === 'window' ? { window: 4 } : {}) });
    expect(told(await answering(guardrail))).toEqual(['threw']);
    const spared = await answering(guardrail);
    expect(told(spared)).toEqual(['unasked']);
    expect(auditLog(spared.log)).toEqual([]);
  });

  it('one that did not fail has nothing to say', async () => {
    const fine = defineGuardrail({ name: 'fine', on: ['input', 'output'], check: () => allow() });
    expect(told(await answering(fine))).toEqual([undefined, undefined]);
  });
});

it('a failing guardrail beside the model aborts the model call and blocks the run', async () => {
  const aborted: boolean[] = [];
  const beside = defineGuardrail({
    name: 'broken',
    on: ['input'],
    beside: 'model',
    check: async () => {
      throw new Error(canary);
    },
  });
  const agent = defineAgent({
    name: 'a',
    instructions: '',
    model: {
      id: 'slow',
      provider: 'test',
      async *stream(_request, { signal }) {
        await new Promise((_, reject) =>
          signal.addEventListener('abort', () => {
            aborted.push(true);
            reject(signal.reason);
          }),
        );
        yield { type: 'text.delta', text: canary };
      },
    },
    guardrails: [beside],
  });
  const result = await run(agent, canary);
  expect(result).toMatchObject({ status: 'blocked', by: 'broken', failed: true });
  expect(aborted).toEqual([true]);
  expect(JSON.stringify(result)).not.toContain(canary);
});
