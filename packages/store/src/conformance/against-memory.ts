import type { Approval, LogEvent } from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import type { Store } from '../contract.js';
import { memoryStore } from '../memory.js';
import type { Suite } from './suite.js';
import { all, newId, newRun } from './suite.js';

/** Random work on this store and on the one in memory: every answer is the same, and so is what is there at the end. */
export function testAgainstMemory({ store, other }: Suite): void {
  describe('beside the store in memory', () => {
    for (let seed = 1; seed <= 12; seed += 1)
      it(`answers random work as that does, seed ${seed}`, async () => {
        const memory = memoryStore();
        const world = new World(seed);
        for (let step = 0; step < 120; step += 1) {
          const work = world.next();
          const expected = await answerOf(() => work.do(memory));
          const answer = await answerOf(() => work.do(step % 2 ? store() : other()));
          expect(answer, `${work.name}, step ${step}`).toEqual(expected);
          world.learn(expected);
        }
        expect(await everything(store(), world)).toEqual(await everything(memory, world));
      });
  });
}

interface Work {
  readonly name: string;
  do(store: Store): Promise<unknown>;
}

const message = /^[A-Z_]+/;
/** What comes of it; of errors the code, and no time of either clock. */
async function answerOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return withoutTimes(await work());
  } catch (error) {
    return `rejects: ${(error as { readonly code?: string }).code ?? message.exec(String(error))}`;
  }
}

/** Times of two clocks differ. */
function withoutTimes(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null), (_, each: unknown) =>
    typeof each === 'number' && each > 1e12 && each < 1e14 ? 'a time' : each,
  );
}

const sessions = ['s1', 's2', 's3'] as const;
const labels = ['a', 'b', 'c'] as const;

/** Makes work from a seed, knowing what the last answers were. */
class World {
  readonly word = newId('world');
  #state: number;
  readonly #logs = new Map<string, number>();
  #versions = new Map<string, number>();
  #tokens = new Map<string, number>();
  #runs = 0;
  #asked = 0;
  readonly #approvals: string[] = [];
  #steps = 0;
  #last: ((answer: unknown) => void) | undefined;

  constructor(seed: number) {
    this.#state = seed * 2_654_435_761;
  }

  learn(answer: unknown): void {
    this.#last?.(answer);
    this.#last = undefined;
    const record = answer as { readonly id?: string; readonly version?: number; readonly lease?: { readonly token: number } } | null;
    if (typeof record?.version !== 'number' || record.id === undefined) return;
    this.#versions.set(record.id, record.version);
    if (record.lease) this.#tokens.set(record.id, record.lease.token);
  }

  next(): Work {
    this.#steps += 1;
    if (this.#steps <= sessions.length) return this.#claimId(`${this.word}/${sessions[this.#steps - 1]}`);
    const often = [this.#append, this.#append, this.#decide, this.#decide, this.#claim, this.#change, this.#submit];
    return this.#pick([...often, ...often, this.#other]).call(this);
  }

  #claimId(id: string): Work {
    const belonging = this.#pick([{ owner: this.word, tenant: this.word }, { tenant: this.word }, {}]);
    return { name: `claim the id ${id}`, do: (store) => store.sessions.create(id, belonging) };
  }

  /** From 0, below 1. */
  #random(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }

  #session(): string {
    return `${this.word}/${this.#pick(sessions)}`;
  }

  #append(): Work {
    const id = this.#session();
    const known = this.#logs.get(id) ?? 0;
    const after = this.#random() < 0.1 ? known + this.#pick([-1, 1]) : known;
    const events = Array.from({ length: 1 + Math.floor(this.#random() * 3) }, (_, index) => this.#event(id, after + 1 + index));
    this.#last = (answer) => {
      if (answer === null) this.#logs.set(id, after + events.length);
    };
    return {
      name: `append ${events.map(({ type }) => type)} to ${id} after ${after}`,
      do: (store) => store.append(id, events, Math.max(0, after)),
    };
  }

  #event(session: string, seq: number): LogEvent {
    this.#asked += 1;
    const base = { seq, at: this.#asked, run: `${session}/r${this.#pick([1, 1, 2])}`, agent: this.#pick(['desk', 'lab']) };
    const child = this.#random() < 0.2 ? { run: `${base.run}/child`, parent: base.run } : {};
    const label = this.#pick(labels);
    const asks = (): object => {
      const id = `${base.run}/p${this.#asked}`;
      this.#approvals.push(id);
      return { ...base, ...child, type: 'approval.request', approval: approval(id, { ...base, ...child }, label) };
    };
    const decision = this.#pick(['approve', 'reject', 'void']);
    const resolve = {
      type: 'approval.resolve',
      id: this.#approval(),
      subject: label,
      revision: 0,
      decision,
      digest: 'd',
      decidedBy: 'log',
    };
    const content = 'x'.repeat(this.#pick([1, 20_000]));
    const end = { type: 'tool.end', callId: label, tool: 'pay', id: 'x', revision: 0, chars: 1, status: 'ok', content, label: {} };
    const events: readonly (() => object)[] = [
      ...[asks, asks, asks, asks],
      () => ({ ...base, ...resolve }),
      () => ({ ...base, ...child, ...end }),
      () => ({ ...base, type: 'handoff', callId: label, from: base.agent, to: 'shop', brief: 'b' }),
      () =>
        this.#pick([
          { ...base, ...child, type: 'run.start', writer: 'w', limits: {}, manifest: {} },
          { ...base, type: 'run.resume', writer: 'w', manifest: {}, reopens: true },
          { ...base, ...child, type: 'run.end', status: this.#pick(['completed', 'failed']) },
        ]),
    ];
    return this.#pick(events)() as unknown as LogEvent;
  }

  #approval(): string {
    return this.#pick(this.#approvals.slice(-6)) ?? `${this.word}/none`;
  }

  #decide(): Work {
    const id = this.#approval();
    const works: readonly Work[] = [
      { name: `decide ${id}`, do: (store) => store.approvals.decide(id, 'approve', { by: 'anna' }) },
      { name: `reject ${id}`, do: (store) => store.approvals.decide(id, { reject: 'no' }, { digest: 'd' }) },
      { name: `decide another form of ${id}`, do: (store) => store.approvals.decide(id, 'approve', { digest: 'e' }) },
      { name: `expire ${id}`, do: (store) => store.approvals.schedule(id, { expiresAt: 5 }) },
      { name: `remind of ${id}`, do: (store) => store.approvals.schedule(id, { remindAt: 7, reminded: 0 }) },
      { name: `reopen ${id}`, do: async (store) => store.approvals.reopen(id, (await store.approvals.get(id))?.decidedAt ?? 0) },
      { name: `read ${id}`, do: (store) => store.approvals.get(id) },
    ];
    return this.#pick(works);
  }

  #submit(): Work {
    this.#runs += 1;
    const id = `${this.word}/run${this.#random() < 0.2 ? 1 : this.#runs}`;
    const run = newRun({
      id,
      session: this.#session(),
      queue: this.word,
      tenant: this.#pick([this.word, undefined]),
      owner: this.#pick(['anna', undefined]),
      agent: this.#pick(['desk', 'lab']),
      priority: this.#pick([0, 100]),
      dueAt: this.#pick([0, 0, 3, 1e15]),
      abandons: this.#random() < 0.3,
      submission: { id },
    });
    return { name: `submit ${id}`, do: (store) => store.runs.create(run) };
  }

  #run(): string {
    return `${this.word}/run${1 + Math.floor(this.#random() * Math.max(1, this.#runs))}`;
  }

  #claim(): Work {
    const [concurrency, tenantConcurrency] = [this.#pick([undefined, 2]), this.#pick([undefined, 1])];
    const claim = {
      owner: 'worker',
      leaseMs: 3e6,
      queues: [{ queue: this.word, concurrency, tenantConcurrency }],
      agents: this.#pick([undefined, undefined, ['desk']]),
      run: this.#pick([undefined, undefined, this.#run()]),
      except: this.#pick([undefined, undefined, [this.#run(), this.#run()]]),
    };
    return { name: `claim ${JSON.stringify(claim)}`, do: (store) => store.runs.claim(claim) };
  }

  #change(): Work {
    const id = this.#run();
    const version = (this.#versions.get(id) ?? 1) + this.#pick([0, 0, 0, 0, 1]);
    const token = this.#tokens.get(id) ?? 0;
    const change = this.#pick([
      { state: 'ended', status: 'completed' },
      { state: 'waiting' },
      { state: 'queued', dueAt: 0 },
      { state: 'queued', dueAt: 1e15, trouble: { code: 'X', message: 'y' } },
      { cancel: { reason: 'no more' } },
      { cancel: null, trouble: null },
    ] as const);
    const works: readonly Work[] = [
      { name: `change ${id} at ${version}`, do: (store) => store.runs.update(id, version, change) },
      { name: `change ${id} at ${version}`, do: (store) => store.runs.update(id, version, change) },
      { name: `renew ${id}`, do: (store) => store.runs.renew(id, token, 3e6) },
    ];
    return this.#pick(works);
  }

  #other(): Work {
    const id = this.#session();
    const live = { seq: 1, run: 'r', agent: 'a', turn: 1, text: this.word, epoch: 0 };
    const works: readonly Work[] = [
      this.#claimId(id),
      { name: `read ${id}`, do: (store) => store.sessions.get(id) },
      { name: `write live text of ${id}`, do: (store) => store.live.put(id, this.#logs.size > 1 ? live : undefined) },
      { name: `read live text of ${id}`, do: (store) => store.live.get(id) },
    ];
    if (this.#random() > 0.25) return this.#pick(works);
    this.#last = () => void this.#logs.delete(id);
    return { name: `delete ${id}`, do: (store) => store.sessions.delete(id) };
  }
}

function approval(id: string, { run, agent }: { readonly run: string; readonly agent: string }, callId: string): Approval {
  return {
    id,
    surface: 'toolInput',
    run,
    agentPath: [agent],
    subject: `${run}/${callId}`,
    revision: 0,
    digest: 'd',
    reason: 'why',
    asks: [],
    label: { origin: 'user', integrity: 'trusted' },
    untrustedFrom: [],
    tool: 'pay',
    callId,
    input: { callId },
    flow: { effect: 'write', authority: 'all', declared: false },
    mayHaveRun: false,
  };
}

async function everything(store: Store, { word }: World): Promise<unknown> {
  const parts: unknown[] = [];
  for (const name of sessions) {
    const session = `${word}/${name}`;
    parts.push(await store.sessions.get(session), await store.load(session), await store.live.get(session));
    for (const query of [{ session }, { session, state: 'open' }, { session, agent: 'lab' }, { session, dueBefore: 6 }] as const)
      parts.push(await all(store.approvals.list, { ...query, limit: 2 }));
    parts.push(await all(store.runs.list, { session, limit: 2 }));
  }
  for (const query of [{}, { due: true }, { state: 'waiting' }, { state: 'ended', owner: 'anna' }, { tenant: word }] as const)
    parts.push(await all(store.runs.list, { queue: word, ...query, limit: 3 }));
  for (const state of ['open', 'decided', 'resolved', 'void'] as const)
    parts.push(await all(store.approvals.list, { tenant: word, state, limit: 2 }));
  const owned = await all(store.sessions.list, { owner: word, limit: 2 });
  parts.push([...owned].sort((left, right) => (left.id < right.id ? -1 : 1)));
  return withoutTimes(parts);
}
