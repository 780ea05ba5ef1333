import { defineAgent } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';
import type { MakeHarness } from './suite.js';
import { audited, gate, ledgerTool, openWorld, until } from './suite.js';

const answers = () => defineAgent({ name: 'desk', instructions: '', model: scriptedModel((request) => say(`turn ${request.turn}`)) });

/** An agent whose runs stand in a tool until they are let go; tells who is in it, in the order in which they came. */
function standing() {
  const inside = new Set<string>();
  const order: string[] = [];
  let most = 0;
  let isOpen = false;
  const { tool } = ledgerTool('stand', {
    repeatable: true,
    during: async () => {
      await until(() => isOpen);
    },
  });
  const model = scriptedModel((request) => {
    const said = request.messages.findLast(({ role }) => role === 'user');
    const name = said?.role === 'user' ? said.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') : '';
    if (request.turn === 1) {
      order.push(name);
      inside.add(name);
      most = Math.max(most, inside.size);
      return callTool('stand');
    }
    inside.delete(name);
    return say(`${name} done`);
  });
  const agent = defineAgent({ name: 'standing', instructions: '', model, tools: [tool] });
  return {
    agent,
    order,
    inside,
    most: () => most,
    letGo: () => {
      isOpen = true;
    },
  };
}

export function queueingTests(makeHarness: MakeHarness): void {
  it('submits a run once, however often it is submitted', async () => {
    const { runs } = await (await openWorld(makeHarness)).start({ desk: answers() });
    const first = await runs.submit('desk', 'Hi', { id: 'q1', owner: 'anna', tenant: 'shop' });
    const again = await runs.submit('desk', 'Something else', { id: 'q1' });
    expect([first.created, again.created]).toEqual([true, false]);
    expect(again.run).toMatchObject({
      id: 'q1',
      session: 'q1',
      owner: 'anna',
      tenant: 'shop',
      state: 'queued',
      queue: 'default',
      priority: 100,
    });
    await runs.worker();
    const events = audited(await runs.result('q1'));
    expect(events.filter(({ type }) => type === 'run.start')).toHaveLength(1);
    expect((await runs.submit('desk', 'Hi', { id: 'q1' })).run).toMatchObject({ state: 'ended', status: 'completed' });
  });

  it('refuses a run for a session of another owner before anything is written, and tells who submits an id of another', async () => {
    const { runs } = await (await openWorld(makeHarness)).start({ desk: answers() });
    const anna = { owner: 'anna', tenant: 'shop' };
    await runs.submit('desk', 'Hi', { id: 'o1', session: 'chat-o', ...anna });
    for (const other of [{ owner: 'berta', tenant: 'shop' }, { owner: 'anna', tenant: 'bank' }, { owner: 'anna' }])
      await expect(runs.submit('desk', 'Hi', { id: 'o2', session: 'chat-o', ...other })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('belongs to another owner'),
      });
    expect(await runs.status('o2')).toBeUndefined();
    // A run's own session is one like any.
    await expect(runs.submit('desk', 'Hi', { id: 'chat-o', owner: 'berta' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(await runs.submit('desk', 'Hi', { id: 'o1', session: 'chat-o', ...anna })).toMatchObject({ created: false, same: true });
    for (const other of [
      { ...anna, owner: 'berta' },
      { ...anna, tenant: 'bank' },
      { ...anna, session: 'else' },
    ])
      expect(await runs.submit('desk', 'Hi', { id: 'o1', session: 'chat-o', ...other })).toMatchObject({ created: false, same: false });
    await runs.submit('desk', 'Hi again', { id: 'o3', session: 'chat-o', ...anna });
    await runs.worker();
    expect(await runs.result('o3')).toMatchObject({ status: 'completed' });
    expect((await runs.list({ session: 'chat-o' })).items.map(({ id }) => id)).toEqual(['o3', 'o1']);
    expect((await runs.store.sessions.get('chat-o'))?.owner).toBe('anna');
  });

  it('runs what another process has submitted, and tells it how that ended', async () => {
    const world = await openWorld(makeHarness);
    const [submitter, worker] = [await world.start({ desk: answers() }), await world.start({ desk: answers() })];
    await worker.runs.worker();
    await submitter.runs.submit('desk', 'Hi', { id: 'q2' });
    expect(await submitter.runs.result('q2')).toMatchObject({ status: 'completed', text: 'turn 1' });
    expect((await submitter.runs.list({ state: 'ended' })).items.map(({ id }) => id)).toContain('q2');
    expect(await submitter.runs.result('nobody')).toEqual({ status: 'unknown' });
    expect(await submitter.runs.status('nobody')).toBeUndefined();
  });

  it('starts a delayed run when its time has come, and not before', async () => {
    const { runs } = await (await openWorld(makeHarness)).start({ desk: answers() });
    await runs.worker();
    const { run } = await runs.submit('desk', 'Later', { id: 'q3', delayMs: 700 });
    await runs.submit('desk', 'Much later', { id: 'q4', at: new Date(Date.now() + 3_600_000) });
    await runs.submit('desk', 'Now', { id: 'q5' });
    expect(await runs.result('q5')).toMatchObject({ status: 'completed' });
    const [start] = audited(await runs.result('q3'));
    // The clock of the run may be another one than the store's.
    expect(start?.at ?? 0).toBeGreaterThan(run.dueAt - 100);
    expect(await runs.status('q4')).toMatchObject({ state: 'queued' });
  });

  it('takes runs by priority', async () => {
    const { agent, order, letGo, inside } = standing();
    const { runs } = await (await openWorld(makeHarness)).start({ standing: agent });
    await runs.worker({ concurrency: 1 });
    await runs.submit('standing', 'first', { id: 'p0' });
    await until(() => inside.has('first'));
    await runs.submit('standing', 'low', { id: 'p1', priority: 200 });
    await runs.submit('standing', 'middle', { id: 'p2' });
    await runs.submit('standing', 'high', { id: 'p3', priority: 0 });
    letGo();
    for (const id of ['p1', 'p2', 'p3']) expect(await runs.result(id)).toMatchObject({ status: 'completed' });
    expect(order).toEqual(['first', 'high', 'middle', 'low']);
  });

  it('keeps the limits of a queue and of each tenant, over all workers', async () => {
    const { agent, inside, most, letGo } = standing();
    const world = await openWorld(makeHarness);
    const queues = { narrow: { concurrency: 3, tenantConcurrency: 2 } };
    const workers = [await world.start({ standing: agent }, { queues }), await world.start({ standing: agent }, { queues })];
    const [{ runs } = workers[0] ?? {}] = workers;
    if (runs === undefined) throw new Error('no process');
    for (const { runs: each } of workers) await each.worker({ concurrency: 5 });
    const names = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'];
    for (const name of names)
      await runs.submit('standing', name, {
        id: `n-${name}`,
        queue: 'narrow',
        tenant: name.slice(0, 1),
        priority: name.startsWith('a') ? 1 : 2,
      });
    await until(() => inside.size === 3);
    // Time enough for a fourth one, if any came.
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect([...inside].filter((name) => name.startsWith('a'))).toHaveLength(2);
    expect([...inside].filter((name) => name.startsWith('b'))).toHaveLength(1);
    letGo();
    for (const name of names) expect(await runs.result(`n-${name}`)).toMatchObject({ status: 'completed' });
    expect(most()).toBe(3);
  });

  it('runs one run of a session at a time, in the order in which they were submitted', async () => {
    const { agent, order, inside, most, letGo } = standing();
    const world = await openWorld(makeHarness);
    const [first, second] = [await world.start({ standing: agent }), await world.start({ standing: agent })];
    for (const { runs } of [first, second]) await runs.worker();
    for (const name of ['one', 'two', 'three']) await first.runs.submit('standing', name, { id: `s-${name}`, session: 'chat' });
    await until(() => inside.size === 1);
    letGo();
    const results = [];
    for (const name of ['one', 'two', 'three']) results.push(await second.runs.result(`s-${name}`));
    expect(results.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
    expect(order).toEqual(['one', 'two', 'three']);
    expect(most()).toBe(1);
    const events = results.flatMap((result) => audited(result));
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });

  it('gives how a run stands when nobody waits any longer', async () => {
    const { agent, letGo, inside } = standing();
    const { runs } = await (await openWorld(makeHarness)).start({ standing: agent });
    await runs.submit('standing', 'one', { id: 'w1' });
    expect(await runs.result('w1', { waitMs: 0 })).toMatchObject({ status: 'queued' });
    await runs.worker({ name: 'berta' });
    await until(() => inside.size === 1);
    expect(await runs.result('w1', { waitMs: 50 })).toMatchObject({ status: 'running', run: { worker: 'berta' } });
    const aborting = new AbortController();
    const waiting = runs.result('w1', { signal: aborting.signal });
    aborting.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    letGo();
    expect(await runs.result('w1')).toMatchObject({ status: 'completed', text: 'one done' });
  });

  it('keeps the limits of a run over its workers', async () => {
    const standsIn = gate();
    const { tool } = ledgerTool('look', { repeatable: true, during: () => standsIn.opened });
    const model = scriptedModel((request) => callTool('look', { page: request.turn }));
    const agent = defineAgent({ name: 'searcher', instructions: '', model, tools: [tool] });
    const world = await openWorld(makeHarness);
    const [first, second] = [await world.start({ agent }), await world.start({ agent })];
    const worker = await first.runs.worker();
    await first.runs.submit('agent', 'Find', { id: 'l1', limits: { turns: 2 } });
    await until(
      async () => (await first.runs.store.sessions.get('l1'))?.events === 4 || (await tailHas(first.runs.store, 'l1', 'tool.start')),
    );
    const stopped = worker.stop({ graceMs: 30_000 });
    standsIn.open();
    await stopped;
    await second.runs.worker();
    const result = await second.runs.result('l1');
    audited(result);
    expect(result).toMatchObject({ status: 'exhausted', limit: 'turns' });
  });
}

async function tailHas(
  store: { load(id: string): Promise<readonly { readonly type: string }[]> },
  id: string,
  type: string,
): Promise<boolean> {
  return (await store.load(id)).some((event) => event.type === type);
}
