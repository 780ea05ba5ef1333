import { describe, expect, it } from 'vitest';
import { after, bare } from '../../../test/bare-events.js';
import { agentOf, answered, calls, eventsOf, gate, HandClock, scripted, settle, tool, usage } from '../../../test/scene.js';
import { agentSpecOf } from '../../define/definition.js';
import { defineGuardrail } from '../../define/guardrail.js';
import type { Agent } from '../../define/types.js';
import { allow, ask, deny } from '../../define/verdict.js';
import type { JsonObject, JsonValue } from '../../model/types.js';
import type { Decision, LogEvent, RunEvent } from '../../state/events.js';
import { beginResume } from '../begin.js';
import { readOptions } from '../options.js';
import { resume, run } from '../run.js';
import type { QuarantineStore, RunResult } from '../types.js';
import { releaseQuarantine } from './release-quarantine.js';

const label = { origin: 'agent:desk', integrity: 'trusted' } as const;
const picky = defineGuardrail({ name: 'picky', on: ['output'], check: ({ kind }) => (kind === 'answer' ? ask('look at it') : allow()) });

class Shelf implements QuarantineStore {
  readonly held = new Map<string, JsonValue>();
  async put(key: string, value: JsonValue): Promise<void> {
    this.held.set(key, value);
  }
  async get(key: string): Promise<JsonValue | undefined> {
    return this.held.get(key);
  }
  async delete(key: string): Promise<void> {
    this.held.delete(key);
  }
}

const start = (agent: Agent<unknown>, quarantine: QuarantineStore, options: object = {}) =>
  run(agent, 'hello', { runId: 'r1', clock: new HandClock(), quarantine, ...options });

/** A run whose answer waits in quarantine, and how it goes on. */
async function waiting(agent: Agent<unknown>, options: object = {}) {
  const shelf = new Shelf();
  const first = await start(agent, shelf, options);
  const goOn = (decision: Decision, more: object = {}) =>
    resume(agent, first.log, { clock: new HandClock(), quarantine: shelf, decisions: { 'r1/p1': decision }, ...options, ...more } as never);
  return { first, shelf, goOn };
}
const types = ({ events }: { readonly events: readonly LogEvent[] }) => events.map(({ type }) => type);
const desk = (more: object = {}) => agentOf({ guardrails: [picky], model: scripted('Hello.', 'Hello again.'), ...more });

describe('an answer in quarantine that a person approved', () => {
  it('is judged by the checks again, recorded, shown, and taken out of the store', async () => {
    const { first, shelf, goOn } = await waiting(desk());
    expect(first.status).toBe('interrupted');
    expect([...shelf.held.keys()]).toEqual(['r1/1']);
    const told: RunEvent[] = [];
    const result = await goOn('approve', { observers: [(event: RunEvent) => told.push(event)] });
    expect(after(result, 'approval.resolve')).toStrictEqual([
      {
        type: 'guard.verdict',
        guardrail: 'picky',
        level: 'agent',
        surface: 'output',
        subject: 'r1/1',
        revision: 0,
        phase: 'check',
        action: 'ask',
        reason: 'look at it',
        ms: 0,
      },
      {
        type: 'model.end',
        turn: 1,
        status: 'ok',
        id: 'r1/1',
        text: 'Hello.',
        revision: 0,
        calls: [],
        label,
        usage,
        stopReason: 'stop',
        answers: 'k',
      },
      { type: 'run.end', status: 'completed', text: 'Hello.' },
    ]);
    expect(told.filter(({ type }) => type === 'text.delta')).toMatchObject([{ turn: 1, text: 'Hello.' }]);
    expect(shelf.held.size).toBe(0);
  });

  it('has its calls prepared, and run', async () => {
    const model = scripted([{ type: 'text.delta', text: 'I look.' }, calls('look')], 'Done.');
    const { goOn } = await waiting(desk({ model, tools: [tool('look', () => 'Blue.')] }));
    const result = await goOn('approve');
    expect(eventsOf(result, 'model.end')).toMatchObject([{ turn: 1, text: 'I look.', calls: [{ id: '1.0', name: 'look', kind: 'tool' }] }]);
    expect(eventsOf(result, 'tool.end')).toMatchObject([{ status: 'ok', content: 'Blue.' }]);
  });

  it('runs no call where it is the last one after a limit', async () => {
    const model = scripted([calls('look')], [{ type: 'text.delta', text: 'I look.' }, calls('look')]);
    const agent = desk({ model, tools: [tool('look', () => 'Blue.')] });
    const { goOn } = await waiting(agent, { limits: { turns: 1 }, onLimit: 'finalize' });
    const result = await goOn('approve', { limits: undefined, onLimit: undefined });
    expect(eventsOf(result, 'tool.end').map(({ status }) => status)).toEqual(['ok', 'aborted']);
    expect(result.status).toBe('exhausted');
  });

  it('has its reasoning shown, which was not shown before', async () => {
    const model = scripted([
      { type: 'reasoning.delta', text: 'Hm.' },
      { type: 'text.delta', text: 'Hello.' },
    ]);
    const shown: string[] = [];
    const observers = [{ 'reasoning.delta': ({ text }: { text: string }) => shown.push(text) }];
    const { goOn } = await waiting(desk({ model }), { reasoning: 'show', observers });
    expect(shown).toEqual([]);
    await goOn('approve');
    expect(shown).toEqual(['Hm.']);
  });

  it('is refused where a check refuses it since, and taken out of the store', async () => {
    let isOpen = true;
    const hours = defineGuardrail({ name: 'hours', on: ['output'], check: () => (isOpen ? ask('look at it') : deny('closed')) });
    const { shelf, goOn } = await waiting(desk({ guardrails: [hours] }));
    isOpen = false;
    const result = await goOn('approve', { limits: { repairs: 0 } });
    expect(result).toMatchObject({ status: 'blocked', reason: 'closed' });
    expect(shelf.held.size).toBe(0);
  });

  it('waits on where the run is stopped while a check looks at it', async () => {
    let isSlow = false;
    let isAsked = false;
    const hours = defineGuardrail({
      name: 'hours',
      on: ['output'],
      check: () => {
        isAsked = isSlow;
        return isSlow ? new Promise(() => undefined) : ask('look at it');
      },
    });
    const agent = desk({ guardrails: [hours] });
    const { shelf, goOn } = await waiting(agent);
    isSlow = true;
    const controller = new AbortController();
    const ending = goOn('approve', { signal: controller.signal }).result;
    while (!isAsked) await settle();
    controller.abort();
    const stopped = await ending;
    expect(stopped.status).toBe('cancelled');
    expect(types(stopped)).not.toContain('model.end');
    expect(shelf.held.size).toBe(1);
    isSlow = false;
    const result = await resume(agent, stopped.log, { quarantine: shelf });
    expect(result).toMatchObject({ status: 'completed', output: 'Hello.' });
    expect(shelf.held.size).toBe(0);
  });
});

describe('an answer in quarantine that a person rejected', () => {
  it.each([
    ['in their words', 'Too short.', 'Too short.'],
    ['without a word', '', 'a person rejected the answer'],
  ])('is refused %s, and taken out of the store', async (_how, reject, reason) => {
    const { shelf, goOn } = await waiting(desk());
    const result = await goOn({ reject }, { limits: { repairs: 0 } });
    const refusal = { action: 'deny', surface: 'output', by: 'approval', reason };
    expect(after(result, 'approval.resolve')).toStrictEqual([
      { type: 'model.end', turn: 1, status: 'refused', id: 'r1/1', text: '', revision: 0, calls: [], label, usage, chars: 6, refusal },
      { type: 'run.end', status: 'blocked', refusal },
    ]);
    expect(shelf.held.size).toBe(0);
  });

  it('names the model that gave it, where it was not the one that was asked', async () => {
    const by = { id: 'm2', provider: 'other' };
    const model = scripted([
      { type: 'text.delta', text: 'Hello.' },
      { type: 'end', stopReason: 'stop', usage, by },
    ]);
    const { goOn } = await waiting(desk({ model }));
    const result = await goOn({ reject: 'No.' }, { limits: { repairs: 0 } });
    expect(bare(eventsOf(result, 'model.end')[0] as LogEvent)).toMatchObject({ model: 'm2', status: 'refused' });
  });

  it('is asked for again', async () => {
    const { goOn } = await waiting(
      desk({
        guardrails: [
          defineGuardrail({ name: 'picky', on: ['output'], check: ({ content }) => (content === 'Hello.' ? ask('look at it') : allow()) }),
        ],
      }),
    );
    expect(await goOn({ reject: 'No.' })).toMatchObject({ status: 'completed', output: 'Hello again.' });
  });
});

describe('a run whose answer waits in quarantine', () => {
  it('fails without the store, and goes on with it', async () => {
    const agent = desk();
    const { goOn, shelf } = await waiting(agent);
    const result = await goOn('approve', { quarantine: undefined });
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'CONFIG_INVALID', message: expect.stringContaining('was given no quarantine store') },
    });
    expect(types(result)).not.toContain('model.end');
    expect(await resume(agent, result.log, { quarantine: shelf })).toMatchObject({ status: 'completed' });
  });

  const broken = (method: keyof QuarantineStore): QuarantineStore =>
    Object.assign(new Shelf(), { [method]: async () => Promise.reject(new Error('away')) });

  it('fails where the store throws, or does not hold the answer', async () => {
    const { goOn, shelf } = await waiting(desk());
    expect(await goOn('approve', { quarantine: broken('get') })).toMatchObject({ status: 'failed', error: { code: 'STORE_FAILED' } });
    expect(await goOn('approve', { quarantine: new Shelf() })).toMatchObject({ status: 'failed', error: { code: 'STORE_FAILED' } });
    shelf.held.set('r1/1', { ...(shelf.held.get('r1/1') as JsonObject), text: 'Something else.' });
    expect(await goOn('approve')).toMatchObject({ status: 'failed', error: { code: 'RESUME_MISMATCH' } });
  });

  it.each<Decision>(['approve', { reject: 'No.' }])('fails where the store does not delete what was decided by %j', async (decision) => {
    const { goOn, shelf } = await waiting(desk());
    const quarantine = Object.assign(broken('delete'), { held: shelf.held });
    const result = await goOn(decision, { quarantine });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'STORE_FAILED' } });
    expect(types(result)).toContain('model.end');
  });

  it('goes on where the store was slow to give the answer', async () => {
    const { goOn, shelf } = await waiting(desk());
    const door = gate<void>();
    const slow = Object.assign(new Shelf(), {
      get: async (key: string) => {
        await door.promise;
        return shelf.held.get(key);
      },
    });
    const ending = goOn('approve', { quarantine: slow }).result;
    await settle();
    door.resolve();
    expect(await ending).toMatchObject({ status: 'completed' });
  });

  it('records nothing where it is stopped while the store gives the answer', async () => {
    const agent = desk();
    const { first, shelf } = await waiting(agent);
    const spec = agentSpecOf(agent, 'The agent');
    const quarantine = Object.assign(new Shelf(), { get: () => new Promise(() => undefined) });
    const handle = await beginResume(spec, first.log, {
      options: readOptions('resume', { quarantine, decisions: { 'r1/p1': 'approve' } }, spec),
    });
    const { seq } = handle.root.log;
    const releasing = releaseQuarantine(handle);
    handle.abort({ kind: 'cancel', reason: 'enough' });
    expect(await releasing).toBeUndefined();
    expect(handle.root.log.seq).toBe(seq);
    expect(shelf.held.size).toBe(1);
  });

  it('has nothing to release before a person has decided, and where nothing waits', async () => {
    const agent = desk();
    const handle = await answered(agent, { quarantine: new Shelf() });
    const { seq } = handle.root.log;
    await releaseQuarantine(handle);
    expect(handle.root.log.seq).toBe(seq);
    const plain = await answered(agentOf());
    const before = plain.root.log.seq;
    await releaseQuarantine(plain);
    expect(plain.root.log.seq).toBe(before);
  });
});

describe('what a person is asked about an answer', () => {
  it('is answered once', async () => {
    const { goOn } = await waiting(desk());
    const result: RunResult = await goOn('approve');
    expect(types(result).filter((type) => type === 'approval.request')).toHaveLength(1);
  });
});
