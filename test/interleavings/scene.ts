import { getEventListeners } from 'node:events';
import type {
  Agent,
  LogEvent,
  QuarantineStore,
  RunEvent,
  RunOptions,
  RunResult,
  RunStream,
  SessionStore,
  Subject,
  Surface,
  Verdict,
} from '@guardloop/core';
import { allow, defineGuardrail, defineTool, halt, memorySession, run, stream } from '@guardloop/core';
import type { Scheduler, Script, ScriptedModel } from '@guardloop/testing';
import { auditLog, scriptedModel } from '@guardloop/testing';
import { expect } from 'vitest';
import { z } from 'zod';
import { findBrokenPairs } from '../promises/pairs.js';

interface GuardOptions {
  /** What it answers, once its turn has come. Default: allow. */
  readonly answer?: ((subject: Subject) => unknown) | undefined;
  readonly beside?: 'model' | undefined;
  readonly as?: 'check' | 'rewrite' | undefined;
  readonly window?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

interface ToolOptions {
  readonly effect?: 'read' | 'write' | 'send' | undefined;
  readonly approval?: boolean | undefined;
  readonly endsRun?: boolean | undefined;
  readonly repeatable?: boolean | undefined;
  /** What it gives once its turn has come. Default: a text. */
  readonly gives?: ((id: string) => unknown) | undefined;
  /** Whether it goes on although the run was stopped. Default false. */
  readonly isDeaf?: boolean | undefined;
}

/** One run's surroundings, all of them under one scheduler, and what was seen of it. */
export class Scene {
  /** Effects that happened, by idempotency key. */
  readonly effects: string[] = [];
  /** Every text that an output guardrail has let pass. */
  readonly passed = new Set<string>();
  readonly events: RunEvent[] = [];
  readonly faults: string[] = [];
  readonly models: ScriptedModel[] = [];
  readonly stop = new AbortController();
  private readonly inputGuards: string[] = [];
  private readonly answered = new Set<string>();
  private hasEnded = false;

  /** The how-manieth answer of a guardrail is a halt. */
  haltAt: number | undefined;
  asked = 0;
  /** When whatever stops the run did so. */
  stoppedAt: number | undefined;

  /** `stepMs`: each piece takes this long, in place of waiting for its turn. */
  constructor(
    readonly scheduler: Scheduler,
    private readonly stepMs?: number,
  ) {}

  /** How often a function of the user's began or went on. */
  turns = 0;
  /** Called from within each of them, before and after it waits. */
  onTurn: ((turn: number) => void) | undefined;

  async turn(label: string, signal?: AbortSignal): Promise<void> {
    this.noteTurn();
    await this.wait(label, signal);
    this.noteTurn();
  }

  private noteTurn(): void {
    this.turns += 1;
    this.onTurn?.(this.turns);
  }

  private wait(label: string, signal?: AbortSignal): Promise<void> {
    return this.stepMs === undefined ? this.scheduler.pause(label, signal) : this.scheduler.sleep(this.stepMs, label, signal);
  }

  /** Called by what stops the run. */
  noteStop(): void {
    this.stoppedAt ??= this.clock.now();
  }

  get clock() {
    return this.scheduler.clock;
  }

  /** Options that every run of the scene has. */
  get options() {
    return { clock: this.clock, signal: this.stop.signal, observers: [(event: RunEvent) => this.see(event)] };
  }

  /** A guardrail that waits for its turn. Those on `toolInput` are given to the run: each tool looks that they answered before it acts. */
  guard(name: string, on: Surface | readonly Surface[], options: GuardOptions = {}) {
    const surfaces = typeof on === 'string' ? [on] : on;
    const { answer = () => allow(), as = 'check', beside, window, timeoutMs } = options;
    if (surfaces.includes('toolInput')) this.inputGuards.push(name);
    const ask = async (subject: Subject, { run, signal }: { run: string; signal: AbortSignal }) => {
      await this.turn(name, signal);
      this.asked += 1;
      if (this.asked === this.haltAt) {
        this.noteStop();
        return halt('enough');
      }
      const verdict = answer(subject) as Verdict;
      if (subject.surface === 'toolInput') this.answered.add(`${name} ${run}/${subject.callId} ${verdict.action}`);
      if (subject.surface === 'output') this.passed.add(subject.content);
      return verdict;
    };
    return defineGuardrail({
      name,
      on: surfaces as ['output'],
      [as]: ask,
      ...(beside ? { beside } : {}),
      ...(window ? { window } : {}),
      ...(timeoutMs ? { timeoutMs } : {}),
    } as never);
  }

  tool(
    name: string,
    { effect = 'read', approval, endsRun, repeatable, gives = (id) => `${name} ${id}`, isDeaf = false }: ToolOptions = {},
  ) {
    return defineTool({
      name,
      description: name,
      input: z.object({ id: z.string() }),
      flow: { effect },
      ...(approval === undefined ? {} : { approval }),
      ...(endsRun === undefined ? {} : { endsRun }),
      ...(repeatable === undefined ? {} : { repeatable }),
      execute: async ({ id }, { run, callId, signal, idempotencyKey }) => {
        if (this.hasEnded) this.faults.push(`${name} ${callId} started after the end`);
        if (this.stoppedAt !== undefined) this.faults.push(`${name} ${callId} started after the stop`);
        for (const guard of this.inputGuards) {
          const key = `${guard} ${run}/${callId}`;
          if (!this.answered.has(`${key} allow`) && !this.answered.has(`${key} rewrite`))
            this.faults.push(`${key} had not passed before the effect`);
        }
        await this.turn(name, isDeaf ? undefined : signal);
        this.effects.push(idempotencyKey);
        return gives(id);
      },
    });
  }

  model(script: Script, chunks = 2): ScriptedModel {
    const pace = (signal: AbortSignal): Promise<void> => this.turn('model', signal);
    const model = scriptedModel(script, { clock: this.clock, pace, chunks });
    this.models.push(model);
    return {
      ...model,
      stream: (request, options) => {
        if (this.stoppedAt !== undefined) this.faults.push(`turn ${request.turn} of ${request.agent} was asked for after the stop`);
        return model.stream(request, options);
      },
    };
  }

  /** A store that takes its time, before and after it does what it is asked. */
  store(inner: SessionStore = memorySession()): SessionStore {
    return {
      load: async (id, afterSeq) => {
        await this.turn('load');
        const events = await inner.load(id, afterSeq);
        await this.turn('loaded');
        return events;
      },
      append: async (id, events, afterSeq) => {
        await this.turn('append');
        await inner.append(id, events, afterSeq);
        await this.turn('appended');
      },
    };
  }

  quarantine(): QuarantineStore {
    const kept = new Map<string, never>();
    const use = async <T>(what: string, act: () => T): Promise<T> => {
      await this.turn(what);
      return act();
    };
    return {
      put: (key, value) => use('put', () => void kept.set(key, value as never)),
      get: (key) => use('get', () => kept.get(key)),
      delete: (key) => use('delete', () => void kept.delete(key)),
    };
  }

  /** Runs an agent, or watches it run: in either case the same happens. */
  async through(door: 'run' | 'stream', agent: Agent<unknown>, options: RunOptions<unknown>): Promise<RunResult> {
    if (door === 'run') return run(agent, 'go', options as never) as Promise<RunResult>;
    const watched = stream(agent, 'go', options as never) as RunStream;
    await this.read(watched);
    return watched.result;
  }

  /** Reads a stream at the scheduler's pace. */
  async read(watched: AsyncIterable<RunEvent> & { readonly result: Promise<unknown> }): Promise<readonly RunEvent[]> {
    const read: RunEvent[] = [];
    for await (const event of watched) {
      read.push(event);
      await this.turn('reader');
    }
    return read;
  }

  private see(event: RunEvent): void {
    if (this.hasEnded) this.faults.push(`${event.type} came after the end`);
    this.events.push(event);
    if (event.type === 'run.end' && event.parent === undefined) this.hasEnded = true;
  }

  /** A next run of the same session begins. */
  goOn(): void {
    this.hasEnded = false;
    this.stoppedAt = undefined;
  }

  /** The text that is shown and was not taken back. */
  get shown(): string {
    let text = '';
    for (const event of this.events) {
      if (event.type === 'text.delta') text += event.text;
      if (event.type === 'text.retract') text = text.slice(0, text.length - event.chars);
    }
    return text;
  }

  /** What holds of every run in every order, once it has settled; then lets come what is late, which must change nothing. */
  async look(result: RunResult): Promise<void> {
    expect(this.faults).toEqual([]);
    expect(auditLog(result.log)).toEqual([]);
    for (const model of this.models) for (const { messages } of model.requests) expect(findBrokenPairs(messages)).toEqual([]);
    if (result.status !== 'interrupted') {
      expect(findBrokenPairs(result.messages)).toEqual([]);
      const entered = result.events.findLastIndex(
        ({ type, parent }) => (type === 'run.start' || type === 'run.resume') && parent === undefined,
      );
      const ends = result.events.slice(entered).filter(({ type, parent }) => type === 'run.end' && parent === undefined);
      expect(ends.map((end) => end.seq)).toEqual([result.log.events.length]);
    }
    expect(this.scheduler.timers.filter((name) => name.startsWith('timer#'))).toEqual([]);
    expect(getEventListeners(this.stop.signal, 'abort')).toHaveLength(0);
    const log = JSON.stringify(result.log);
    await this.scheduler.drain();
    expect(JSON.stringify(result.log)).toBe(log);
    expect(this.faults).toEqual([]);
    expect(new Set(this.effects).size).toBe(this.effects.length);
  }
}

/** The result of a run that is watched, read at the scheduler's pace. */
export async function watched(scene: Scene, running: RunStream): Promise<RunResult> {
  const read = await scene.read(running);
  const result = await running.result;
  const durable = read.filter((event): event is LogEvent => 'seq' in event);
  expect(durable.map(({ seq }) => seq)).toEqual(result.events.slice(-durable.length).map(({ seq }) => seq));
  return result;
}
