import { describe, expect, it } from 'vitest';
import type { ClaimOptions, NewRun, RunRecord } from '../contract.js';
import type { Suite } from './suite.js';
import { inputEvent, newId, newRun, until } from './suite.js';

const long = 600_000;

/** Claims: no run is taken twice and no limit passed, however many claim at once. */
export function testClaims(suite: Suite): void {
  describe('claims', () => {
    testOrder(suite);
    testSessionOrder(suite);
    testLeases(suite);
    testManyClaimers(suite);
  });
}

interface Claimer {
  readonly queue: string;
  submit(change?: Partial<NewRun>): Promise<RunRecord>;
  claim(change?: Partial<ClaimOptions>): Promise<RunRecord | undefined>;
  end(run: RunRecord | undefined): Promise<void>;
}

/** A queue of its own. */
function claimer({ store, other }: Suite): Claimer {
  const queue = newId('queue');
  return {
    queue,
    submit: async (change = {}) => (await store().runs.create(newRun({ queue, ...change }))).run,
    claim: (change = {}) => other().runs.claim({ owner: 'worker', leaseMs: long, queues: [{ queue }], ...change }),
    async end(run) {
      const ended = run && (await store().runs.update(run.id, run.version, { state: 'ended', status: 'completed' }));
      expect(ended).toMatchObject({ state: 'ended' });
    },
  };
}

function testOrder(suite: Suite): void {
  const { store, pass } = suite;

  it('takes what is due first by priority, then by time, then by id', async () => {
    const { submit, claim } = claimer(suite);
    const id = newId('run');
    const made = [
      await submit({ id: `${id}-b`, dueAt: 5 }),
      await submit({ id: `${id}-a`, dueAt: 5 }),
      await submit({ id: `${id}-c`, dueAt: 4 }),
      await submit({ id: `${id}-d`, dueAt: 9, priority: 0 }),
    ];
    const taken: (string | undefined)[] = [];
    for (const _ of made) taken.push((await claim())?.id);
    expect(taken).toEqual([`${id}-d`, `${id}-c`, `${id}-a`, `${id}-b`]);
    expect(await claim()).toBeUndefined();
  });

  it('gives the record with its lease', async () => {
    const { submit, claim, queue } = claimer(suite);
    const submitted = await submit({ submission: { input: 'hello' } });
    const before = await store().now();
    const claimed = await claim({ owner: 'worker 7' });
    expect(claimed).toMatchObject({ id: submitted.id, state: 'running', attempts: 1, submission: { input: 'hello' }, queue });
    expect(claimed?.version).toBeGreaterThan(submitted.version);
    expect(claimed?.lease?.owner).toBe('worker 7');
    expect(claimed?.lease?.until).toBeGreaterThanOrEqual(before + long);
    expect(await store().runs.get(submitted.id)).toEqual(claimed);
  });

  it('takes nothing before its time', async () => {
    const { submit, claim } = claimer(suite);
    const submitted = await submit({ dueAt: (await store().now()) + 1_500 });
    expect(await claim({ run: submitted.id, leaseMs: 1 })).toBeUndefined();
    await pass(1_500);
    await until(async () => (await claim())?.id === submitted.id);
  });

  it('takes only runs of the queues, agents and id that are asked for', async () => {
    const { submit, claim, queue } = claimer(suite);
    const [first, second] = [await submit({ agent: 'desk' }), await submit({ agent: 'lab' })];
    expect(await claim({ queues: [] })).toBeUndefined();
    expect(await claim({ queues: [{ queue: newId('queue') }] })).toBeUndefined();
    expect(await claim({ agents: ['shop'] })).toBeUndefined();
    expect(await claim({ agents: [] })).toBeUndefined();
    expect(await claim({ run: newId('run') })).toBeUndefined();
    expect(await claim({ run: second.id, queues: [{ queue: newId('queue') }] })).toBeUndefined();
    expect((await claim({ agents: ['shop', 'lab'] }))?.id).toBe(second.id);
    expect((await claim({ run: first.id, queues: [{ queue: newId('queue') }, { queue }] }))?.id).toBe(first.id);
    expect(await claim({ run: first.id })).toBeUndefined();
  });

  it('leaves the runs alone that are excepted', async () => {
    const { submit, claim, queue } = claimer(suite);
    const [first, second, third] = [
      await submit({ priority: 1 }),
      await submit({ priority: 2 }),
      await submit({ priority: 3, agent: 'lab' }),
    ];
    expect(await claim({ except: [first.id, second.id, third.id] })).toBeUndefined();
    expect(await claim({ run: first.id, except: [first.id] })).toBeUndefined();
    expect(await claim({ agents: ['lab'], except: [third.id] })).toBeUndefined();
    expect((await claim({ except: [first.id, newId('run')], queues: [{ queue, concurrency: 3 }] }))?.id).toBe(second.id);
    expect((await claim({ agents: ['lab'], except: [first.id] }))?.id).toBe(third.id);
    expect((await claim({ except: [] }))?.id).toBe(first.id);
  });

  it('holds limits of a queue and of a tenant, each by itself', async () => {
    const { submit, claim, end, queue } = claimer(suite);
    for (const tenant of ['t1', 't1', 't1', 't2', undefined, undefined]) await submit({ tenant });
    const limited = (concurrency: number, tenantConcurrency: number) => claim({ queues: [{ queue, concurrency, tenantConcurrency }] });
    expect(await limited(0, 5)).toBeUndefined();
    expect(await limited(5, 0)).toBeUndefined();
    const taken = [await limited(9, 1), await limited(9, 1), await limited(9, 1)];
    expect(new Set(taken.map((run) => run?.tenant))).toEqual(new Set(['t1', 't2', undefined]));
    expect(await limited(9, 1)).toBeUndefined();
    expect(await limited(3, 9)).toBeUndefined();
    await end(taken.find((run) => run?.tenant === 't1'));
    expect((await limited(3, 1))?.tenant).toBe('t1');
    const rest = [await limited(5, 2), await limited(5, 2)];
    expect(new Set(rest.map((run) => run?.tenant))).toEqual(new Set(['t1', undefined]));
    expect(await limited(9, 9)).toBeUndefined();
  });
}

function testSessionOrder(suite: Suite): void {
  const { store } = suite;

  it('finds what is due behind a thousand runs that wait for one of their session', async () => {
    const { submit, claim } = claimer(suite);
    const session = newId();
    const first = await submit({ session, priority: 0 });
    for (let round = 0; round < 50; round += 1) await Promise.all(Array.from({ length: 30 }, () => submit({ session, priority: 1 })));
    const other = await submit({ priority: 2 });
    const holder = await claim();
    expect(holder?.id).toBe(first.id);
    expect((await claim())?.id).toBe(other.id);
    expect(await claim()).toBeUndefined();
    await store().runs.update(first.id, holder?.version ?? 0, { state: 'waiting' });
    expect(await claim()).toBeUndefined();
    const abandons = await submit({ session, abandons: true, priority: 3 });
    expect((await claim())?.id).toBe(abandons.id);
  }, 120_000);

  it('S125: takes the runs of one session one after another, as they were submitted', async () => {
    const { submit, claim, end } = claimer(suite);
    const session = newId();
    const runs = [await submit({ session, priority: 9 }), await submit({ session, priority: 0 }), await submit({ session })];
    for (const { id } of runs) {
      const claimed = await claim();
      expect(claimed?.id).toBe(id);
      expect(await claim()).toBeUndefined();
      for (const other of runs) expect(await claim({ run: other.id })).toBeUndefined();
      await end(claimed);
    }
  });

  it('leaves a session alone while its run waits for people, but for one that abandons it', async () => {
    const { submit, claim } = claimer(suite);
    const session = newId();
    const first = await submit({ session });
    const claimed = await claim();
    await store().runs.update(first.id, claimed?.version ?? 0, { state: 'waiting' });
    await submit({ session });
    expect(await claim()).toBeUndefined();
    const abandoning = await submit({ session, abandons: true, priority: 500 });
    await submit({ session, abandons: true, priority: 0 });
    expect((await claim())?.id).toBe(abandoning.id);
  });

  it('goes on with a run that has begun before it begins another of its session', async () => {
    const { submit, claim, end } = claimer(suite);
    const session = newId();
    const later = await submit({ session, dueAt: (await store().now()) + long });
    const begun = await submit({ session });
    const claimed = await claim();
    expect(claimed?.id, 'one that is not due yet holds nobody up').toBe(begun.id);
    await store().runs.update(begun.id, claimed?.version ?? 0, { state: 'queued', dueAt: 0, lease: null });
    await store().runs.update(later.id, later.version, { dueAt: 0 });
    expect((await store().runs.list({ session, due: true })).items).toHaveLength(2);
    expect(await claim({ run: later.id })).toBeUndefined();
    const again = await claim();
    expect(again?.id).toBe(begun.id);
    await end(again);
    expect((await claim())?.id).toBe(later.id);
  });

  it('holds up nobody of a session whose begun run is put off, nor of other sessions', async () => {
    const { submit, claim } = claimer(suite);
    const session = newId();
    const begun = await submit({ session });
    const claimed = await claim();
    await store().runs.update(begun.id, claimed?.version ?? 0, { state: 'queued', dueAt: (await store().now()) + long });
    await submit({ session });
    expect(await claim()).toBeUndefined();
    const elsewhere = await submit();
    expect((await claim())?.id).toBe(elsewhere.id);
  });
}

function testLeases(suite: Suite): void {
  const { store, other, pass } = suite;

  it('gives a run whose lease is over to another worker, and the old one is told', async () => {
    const { submit, claim, queue } = claimer(suite);
    const { id } = await submit();
    const first = await claim({ owner: 'first', leaseMs: 50 });
    await pass(50);
    await until(async () => (await store().runs.list({ queue, due: true })).items.length === 1);
    const second = await claim({ owner: 'second' });
    expect(second).toMatchObject({ id, state: 'running', attempts: 2, lease: { owner: 'second' } });
    expect(second?.lease?.token).toBeGreaterThan(first?.lease?.token ?? Number.POSITIVE_INFINITY);
    expect(await store().runs.renew(id, first?.lease?.token ?? 0, long)).toBeUndefined();
    expect(await store().runs.update(id, first?.version ?? 0, { state: 'ended', status: 'completed' })).toBeUndefined();
    expect(await other().runs.get(id)).toEqual(second);
  });

  it('prolongs a lease for who holds it, and shows what was asked of the run meanwhile', async () => {
    const { submit, claim } = claimer(suite);
    const { id } = await submit();
    const claimed = await claim({ leaseMs: long });
    const cancelled = await store().runs.update(id, claimed?.version ?? 0, { cancel: { reason: 'no more' } });
    expect(cancelled?.lease).toEqual(claimed?.lease);
    const renewed = await other().runs.renew(id, claimed?.lease?.token ?? 0, 2 * long);
    expect(renewed).toMatchObject({ state: 'running', cancel: { reason: 'no more' }, lease: { token: claimed?.lease?.token } });
    expect(renewed?.lease?.until).toBeGreaterThan(claimed?.lease?.until ?? Number.POSITIVE_INFINITY);
    expect(renewed?.version).toBeGreaterThan(cancelled?.version ?? Number.POSITIVE_INFINITY);
    const given = await store().runs.update(id, renewed?.version ?? 0, { state: 'queued', lease: null });
    expect(given?.lease).toBeUndefined();
    expect(await store().runs.renew(id, claimed?.lease?.token ?? 0, long)).toBeUndefined();
    expect(await store().runs.renew(newId(), 1, long)).toBeUndefined();
    expect((await claim())?.lease?.token).toBeGreaterThan(claimed?.lease?.token ?? Number.POSITIVE_INFINITY);
  });

  it('prolongs a lease that is over while nobody has taken the run', async () => {
    const { submit, claim, queue } = claimer(suite);
    const { id } = await submit();
    const claimed = await claim({ leaseMs: 30 });
    await pass(30);
    await until(async () => (await store().runs.list({ queue, due: true })).items.length === 1);
    expect(await store().runs.renew(id, claimed?.lease?.token ?? 0, long)).toMatchObject({ state: 'running' });
    expect(await claim()).toBeUndefined();
  });

  it('counts attempts since the run last got on', async () => {
    const { submit, claim } = claimer(suite);
    const { session } = await submit();
    let claimed = await claim();
    const again = async () => {
      await store().runs.update(claimed?.id ?? '', claimed?.version ?? 0, { state: 'queued', dueAt: 0 });
      claimed = await claim();
      return claimed?.attempts;
    };
    expect([claimed?.attempts, await again(), await again()]).toEqual([1, 2, 3]);
    await store().append(session, [inputEvent(1, 'it got on')], 0);
    expect([await again(), await again()]).toEqual([1, 2]);
  });

  if (suite.options.hasClock)
    it('holds nobody up for as long as the clock was set back', async () => {
      const { submit, claim, queue } = claimer(suite);
      const session = newId();
      await submit({ session, priority: 1, dueAt: await store().now() });
      const claimed = await claim();
      const [queued, next] = [await submit({ priority: 2, dueAt: await store().now() }), await submit({ session, dueAt: 0, priority: 3 })];
      const later = await submit({ dueAt: (await store().now()) + long });
      await pass(-48 * 3_600_000);
      const due = (await store().runs.list({ queue, due: true })).items.map(({ id }) => id);
      expect(due).toEqual([next.id, queued.id, claimed?.id]);
      expect((await store().runs.list({ queue, due: false })).items.map(({ id }) => id)).toEqual([later.id]);
      const limits = { queues: [{ queue, concurrency: 2 }] };
      const again = await claim(limits);
      expect([again?.id, again?.attempts]).toEqual([claimed?.id, 2]);
      expect((await claim(limits))?.id).toBe(queued.id);
      expect(await claim(limits)).toBeUndefined();
      expect(await claim()).toBeUndefined();
      await pass(48 * 3_600_000);
    });

  it('does not count a lease that is over for the limits of its queue', async () => {
    const { submit, claim, queue } = claimer(suite);
    await submit({ priority: 1 });
    await submit({ priority: 2 });
    await claim({ leaseMs: 30 });
    await pass(30);
    await until(async () => (await store().runs.list({ queue, due: true })).items.length === 2);
    expect(await claim({ queues: [{ queue, concurrency: 1 }] })).toMatchObject({ priority: 1 });
    expect(await claim({ queues: [{ queue, concurrency: 1 }] })).toBeUndefined();
  });
}

function testManyClaimers(suite: Suite): void {
  const { store, other } = suite;

  it('takes no run twice and passes no limit with many claimers at once', async () => {
    const queue = newId('queue');
    const tenants = ['t1', 't2', 't3', undefined];
    const ids = new Set<string>();
    const sessions = Array.from({ length: 20 }, () => newId());
    await Promise.all(
      Array.from({ length: 48 }, async (_, index) => {
        const tenant = tenants[index % tenants.length];
        const submitted = newRun({ queue, tenant, session: sessions[index % sessions.length] ?? '', priority: index % 3 });
        ids.add(submitted.id);
        await store().runs.create(submitted);
      }),
    );
    const limits = { queue, concurrency: 6, tenantConcurrency: 2 };
    const held: RunRecord[] = [];
    const taken: string[] = [];
    const work = async (worker: number): Promise<void> => {
      const { runs } = worker % 2 ? store() : other();
      while (taken.length < ids.size) {
        const claimed = await runs.claim({ owner: `worker ${worker}`, leaseMs: long, queues: [limits] });
        if (claimed === undefined) {
          await new Promise((resolve) => setTimeout(resolve, 2));
          continue;
        }
        taken.push(claimed.id);
        held.push(claimed);
        expect(held.length).toBeLessThanOrEqual(6);
        expect(held.filter(({ tenant }) => tenant === claimed.tenant).length).toBeLessThanOrEqual(2);
        expect(held.filter(({ session }) => session === claimed.session)).toHaveLength(1);
        await new Promise((resolve) => setTimeout(resolve, 3));
        held.splice(held.indexOf(claimed), 1);
        expect(await runs.update(claimed.id, claimed.version, { state: 'ended', status: 'completed' })).toBeDefined();
      }
    };
    await Promise.all(Array.from({ length: 12 }, (_, worker) => work(worker)));
    expect([...taken].sort()).toEqual([...ids].sort());
  }, 120_000);
}
