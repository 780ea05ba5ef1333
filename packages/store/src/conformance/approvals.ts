import type { Decision, JsonValue } from '@guardloop/core';
import { allow, ask, asTool, defineAgent, defineGuardrail, defineTool, handoff, resume, run } from '@guardloop/core';
import { attempts, auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import type { ApprovalRecord } from '../contract.js';
import { deriveAll } from '../derive.js';
import type { Suite } from './suite.js';
import { all, approvalIds, codeOf, decisions, newId, oddText, waitingRun } from './suite.js';

/** Approvals as records: derived of real runs, found, and decided once. */
export function testApprovals(suite: Suite): void {
  describe('approvals', () => {
    testDerived(suite);
    testFinding(suite);
    testDeciding(suite);
    testScheduling(suite);
    testReopening(suite);
  });
}

function testDerived({ store, other }: Suite): void {
  it('keeps what a person is asked as it stands in the log', async () => {
    const id = newId();
    const { result } = await waitingRun(store(), id, ['a', 'b', oddText]);
    const { items } = await other().approvals.list({ session: id });
    const asked = new Map(result.approvals.map((approval) => [approval.id, approval]));
    expect(items).toHaveLength(3);
    for (const item of items) {
      expect(item).toMatchObject({ session: id, run: result.runId, state: 'open', reminders: 0 });
      expect(item.approval).toEqual(asked.get(item.id));
      expect(await store().approvals.get(item.id)).toEqual(item);
      const event = result.log.events.find((each) => each.type === 'approval.request' && each.approval.id === item.id);
      expect(item.requestedAt).toBe(event?.at);
    }
    expect(await store().approvals.get(newId())).toBeUndefined();
  });

  it('refuses a question whose id is one of another session, and keeps that one', async () => {
    const [first, second, later] = [newId(), newId(), newId()];
    const { agent, paid, result } = await waitingRun(store(), first, ['a']);
    const { runId } = result;
    const [question = ''] = await approvalIds(store(), first);
    const refused = await run(agent, 'Pay.', { runId, session: { store: other(), id: second } });
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'CONFIG_INVALID', message: expect.stringContaining(first) } });
    expect(await other().approvals.get(question)).toMatchObject({ session: first, state: 'open' });
    expect((await store().sessions.get(second))?.status).toBe('open');
    const done = await resume(agent, { store: store(), id: first }, { decisions: { [question]: 'approve' } });
    expect([done.status, paid]).toEqual(['completed', ['a']]);
    expect(await other().approvals.get(question)).toMatchObject({ session: first, state: 'resolved' });
    await store().sessions.delete(first);
    expect(await run(agent, 'Pay.', { runId, session: { store: store(), id: later } })).toMatchObject({ status: 'interrupted' });
    expect(await store().approvals.get(question)).toMatchObject({ session: later, state: 'open' });
  });

  it('shows an answer as decided until the run has taken it up, then as resolved', async () => {
    const id = newId();
    const { agent, paid } = await waitingRun(store(), id, ['a', 'b']);
    const [first = '', second = ''] = await approvalIds(store(), id);
    const outcome = await other().approvals.decide(first, 'approve', { by: 'anna' });
    expect(outcome).toMatchObject({ status: 'recorded', approval: { state: 'decided', decision: 'approve', decidedBy: 'anna' } });
    expect(await store().approvals.get(first)).toMatchObject({ state: 'decided', decision: 'approve', decidedBy: 'anna' });
    expect(await store().sessions.get(id)).toMatchObject({ status: 'waiting' });
    const half = await resume(agent, { store: store(), id }, { decisions: { [first]: 'approve' } });
    expect(half.status).toBe('interrupted');
    expect(await other().approvals.get(first)).toMatchObject({ state: 'resolved', decision: 'approve', decidedBy: 'anna' });
    expect(await store().approvals.get(second)).toMatchObject({ state: 'open' });
    expect(await store().sessions.get(id)).toMatchObject({ status: 'waiting' });
    const done = await resume(agent, { store: other(), id }, { decisions: { [second]: { decision: { reject: oddText }, by: 'bert' } } });
    expect([done.status, paid, auditLog(done.log)]).toEqual(['completed', ['a'], []]);
    expect(await store().approvals.get(second)).toMatchObject({ state: 'resolved', decision: { reject: oddText }, decidedBy: 'bert' });
    expect(await store().sessions.get(id)).toMatchObject({ status: 'completed' });
  });

  it('keeps of an edit the form that passed, and of a result nothing', async () => {
    const id = newId();
    const { agent, paid } = await waitingRun(store(), id, ['a', 'b']);
    const [first = '', second = ''] = await approvalIds(store(), id);
    await store().approvals.decide(first, { edit: { label: 'c' } });
    await store().approvals.decide(second, { result: { private: 'words' } });
    const done = await resume(
      agent,
      { store: store(), id },
      { decisions: { [first]: { edit: { label: 'c' } }, [second]: { result: { private: 'words' } } } },
    );
    expect([done.status, paid]).toEqual(['completed', ['c']]);
    expect((await other().approvals.get(first))?.decision).toEqual({ edit: { label: 'c' } });
    const given = await other().approvals.get(second);
    expect([given?.state, given?.decision]).toEqual(['resolved', undefined]);
  });

  it('makes questions void that their run has left behind', async () => {
    const id = newId();
    const { agent } = await waitingRun(store(), id, ['a', 'b']);
    const [open = '', decided = ''] = await approvalIds(store(), id);
    await store().approvals.decide(decided, { edit: { label: 'never judged' } }, { by: 'anna' });
    const next = await run(agent, 'Something else.', { session: { store: other(), id }, unfinished: 'abandon' });
    expect(auditLog(next.log)).toEqual([]);
    expect(await store().approvals.get(open)).toMatchObject({ state: 'void' });
    const left = await store().approvals.get(decided);
    expect([left?.state, left?.decidedBy, left?.decision]).toEqual(['void', 'anna', undefined]);
    expect(await store().approvals.decide(open, 'approve')).toMatchObject({ status: 'late', why: 'void', approval: { id: open } });
    const states = (await store().approvals.list({ session: id })).items.map(({ state }) => state);
    expect(states.filter((state) => state === 'void')).toHaveLength(2);
    expect(states.filter((state) => state === 'open')).toHaveLength(2);
    expect(await store().sessions.get(id)).toMatchObject({ status: 'waiting', run: next.runId });
  });

  it('names the root run of a question that a child run asks, and its agent', async () => {
    const id = newId();
    const send = defineTool({
      name: 'send',
      description: 'Send.',
      input: { type: 'object', properties: {} } as const,
      approval: true,
      execute: () => 'sent',
    });
    const clerk = defineAgent({ name: 'clerk', instructions: '', model: scriptedModel([callTool('send'), say('Sent.')]), tools: [send] });
    const boss = defineAgent({
      name: 'boss',
      instructions: '',
      model: scriptedModel([callTool('clerk', { input: 'Send it.' }), say('Done.')]),
      tools: [asTool(clerk, { name: 'clerk', description: 'Sends.' })],
    });
    const paused = await run(boss, 'Send it.', { session: { store: store(), id } });
    const [record] = (await store().approvals.list({ session: id, agent: 'clerk' })).items;
    expect(record).toMatchObject({ run: paused.runId, approval: { agentPath: ['boss', 'clerk'], tool: 'send' } });
    expect(record?.approval.run).not.toBe(paused.runId);
    expect(await store().sessions.get(id)).toMatchObject({ agent: 'boss', run: paused.runId, status: 'waiting' });
    const done = await resume(boss, { store: store(), id }, { decisions: { [record?.id ?? '']: 'approve' } });
    expect([done.status, auditLog(done.log)]).toEqual(['completed', []]);
    expect(await store().approvals.get(record?.id ?? '')).toMatchObject({ state: 'resolved' });
  });

  it('keeps questions about handoffs and about answers', async () => {
    const id = newId();
    const held = new Map<string, JsonValue>();
    const quarantine = {
      put: async (key: string, value: JsonValue) => void held.set(key, value),
      get: async (key: string) => held.get(key),
      delete: async (key: string) => void held.delete(key),
    };
    const look = defineGuardrail({
      name: 'look',
      on: ['handoff', 'output'],
      check: (subject) => (subject.surface === 'output' && subject.content === 'Fine.' ? allow() : ask('a person is to look')),
    });
    const target = defineAgent({ name: 'target', instructions: '', model: scriptedModel(attempts(say('I promise.'), say('Fine.'))) });
    const start = defineAgent({
      name: 'start',
      instructions: '',
      model: scriptedModel([callTool('transfer_to_target', {})]),
      handoffs: [handoff(target, { name: 'transfer_to_target', brief: 'Take over.' })],
    });
    const options = { quarantine, guardrails: [look] };
    await run(start, 'Hand over.', { ...options, session: { store: store(), id } });
    const [asked] = (await store().approvals.list({ session: id, surface: 'handoff' })).items;
    expect(asked?.approval).toMatchObject({ surface: 'handoff', to: 'target', brief: 'Take over.' });
    expect(await codeOf(store().approvals.decide(asked?.id ?? '', { edit: {} }))).toBe('CONFIG_INVALID');
    await resume(start, { store: store(), id }, { ...options, decisions: { [asked?.id ?? '']: 'approve' } });
    const [answer] = (await other().approvals.list({ session: id, surface: 'output' })).items;
    expect(answer).toMatchObject({ state: 'open', approval: { surface: 'output' } });
    expect(await codeOf(store().approvals.decide(answer?.id ?? '', { result: 1 }))).toBe('CONFIG_INVALID');
    expect(await store().sessions.get(id)).toMatchObject({ agent: 'target', status: 'waiting' });
    const done = await resume(start, { store: store(), id }, { ...options, decisions: { [answer?.id ?? '']: { reject: 'no promises' } } });
    expect([done.status, auditLog(done.log)]).toEqual(['completed', []]);
    const states = (await store().approvals.list({ session: id })).items.map(({ state }) => state);
    expect(states).toEqual(['resolved', 'resolved']);
  });

  it('can be made anew from the whole log', async () => {
    const id = newId();
    const { agent } = await waitingRun(store(), id, ['a', 'b', 'c']);
    const [first = '', second = '', third = ''] = await approvalIds(store(), id);
    await resume(agent, { store: store(), id }, { decisions: { [first]: 'approve', [second]: { reject: 'no' } } });
    const derived = deriveAll({ id }, await store().load(id));
    const byId = (records: readonly ApprovalRecord[]) => [...records].sort((left, right) => (left.id < right.id ? -1 : 1));
    expect(byId(derived.approvals)).toEqual(byId((await other().approvals.list({ session: id })).items));
    const { events, run: root, agent: name, status } = derived;
    expect(await store().sessions.get(id)).toMatchObject({ events, run: root, agent: name, status });
    expect(derived.approvals.find(({ id: each }) => each === third)).toMatchObject({ state: 'open' });
  });
}

function testFinding({ store, other }: Suite): void {
  it('finds by session, run, state, tool, surface, agent, owner and tenant, oldest first, page by page', async () => {
    const [owner, tenant] = [newId('owner'), newId('tenant')];
    const sessions = [newId(), newId(), newId()];
    for (const id of sessions) {
      await store().sessions.create(id, { owner, tenant });
      await waitingRun(store(), id, ['a', 'b']);
    }
    const list = other().approvals.list;
    const found = await all(list, { owner, limit: 2 });
    expect(found).toHaveLength(6);
    expect(new Set(found.map(({ id }) => id)).size).toBe(6);
    expect(found.map(({ requestedAt }) => requestedAt)).toEqual(found.map(({ requestedAt }) => requestedAt).sort((a, b) => a - b));
    expect((await list({ owner, limit: 6 })).next).toBeUndefined();
    const [one] = found;
    const matching = {
      session: one?.session,
      run: one?.run,
      state: 'open',
      tool: 'pay',
      surface: 'toolInput',
      agent: 'cashier',
      owner,
      tenant,
    } as const;
    expect(await all(list, matching)).toHaveLength(2);
    const others = {
      session: newId(),
      run: newId(),
      state: 'void',
      tool: 'x',
      surface: 'output',
      agent: 'x',
      owner: 'x',
      tenant: 'x',
    } as const;
    for (const [name, value] of Object.entries(others)) expect(await all(list, { ...matching, [name]: value })).toEqual([]);
    await store().approvals.decide(one?.id ?? '', 'approve');
    expect(await all(list, { owner, state: 'open' })).toHaveLength(5);
    expect((await all(list, { owner, state: 'decided' })).map(({ id }) => id)).toEqual([one?.id]);
  });

  it('finds what is due', async () => {
    const tenant = newId('tenant');
    const id = newId();
    await store().sessions.create(id, { tenant });
    await waitingRun(store(), id, ['a', 'b', 'c']);
    const [first = '', second = '', third = ''] = await approvalIds(store(), id);
    const now = await store().now();
    await store().approvals.schedule(first, { remindAt: now + 1_000 });
    await store().approvals.schedule(second, { expiresAt: now + 2_000 });
    await store().approvals.schedule(third, { remindAt: now + 9_000_000, expiresAt: now + 9_900_000 });
    const due = async (dueBefore: number) => (await other().approvals.list({ tenant, dueBefore })).items.map((each) => each.id).sort();
    expect(await due(now + 999)).toEqual([]);
    expect(await due(now + 1_000)).toEqual([first]);
    expect(await due(now + 2_000)).toEqual([first, second].sort());
    await store().approvals.decide(first, 'approve');
    expect((await store().approvals.get(first))?.remindAt).toBeUndefined();
    expect(await due(now + 1_000)).toEqual([]);
  });
}

function testDeciding({ store, other, pass }: Suite): void {
  it('records every form of a decision, as it was given', async () => {
    for (const decision of [...decisions, { reject: oddText }, { result: oddText }, { edit: { label: oddText } }] satisfies Decision[]) {
      const id = newId();
      await waitingRun(store(), id);
      const [approval = ''] = await approvalIds(store(), id);
      const outcome = await store().approvals.decide(approval, decision, { by: oddName });
      expect(outcome).toMatchObject({ status: 'recorded', approval: { decision, decidedBy: oddName } });
      const record = await other().approvals.get(approval);
      expect(record?.decision).toEqual(decision);
      expect(record?.decidedAt).toBeGreaterThan(0);
    }
  });

  it('refuses what no run could take up, and records nothing of it', async () => {
    const id = newId();
    await waitingRun(store(), id);
    const [approval = ''] = await approvalIds(store(), id);
    const wrong: readonly unknown[] = [
      'yes',
      undefined,
      null,
      1,
      [],
      {},
      { reject: 1 },
      { edit: [] },
      { approve: 'once' },
      { result: undefined },
    ];
    const double = [
      { reject: 'x', edit: {} },
      { result: 1, reject: 'x' },
      { reject: 'x', when: {} },
      { approve: 'standing', edit: {} },
    ];
    for (const decision of [...wrong, ...double])
      expect(await codeOf(store().approvals.decide(approval, decision as Decision)), JSON.stringify(decision)).toBe('CONFIG_INVALID');
    for (const by of ['', 'x'.repeat(201), '\ud83d', 7 as never])
      expect(await codeOf(store().approvals.decide(approval, 'approve', { by }))).toBe('CONFIG_INVALID');
    expect(await store().approvals.get(approval)).toMatchObject({ state: 'open' });
  });

  it('tells who was faster, and whether it is the very same decision', async () => {
    const id = newId();
    await waitingRun(store(), id);
    const [approval = ''] = await approvalIds(store(), id);
    await store().approvals.decide(approval, { edit: { label: 'b', more: 1 } }, { by: 'anna' });
    const again = (decision: Decision) => other().approvals.decide(approval, decision, { by: 'bert' });
    expect(await again({ edit: { more: 1, label: 'b' } })).toMatchObject({
      status: 'already',
      same: true,
      approval: { decidedBy: 'anna' },
    });
    expect(await again('approve')).toMatchObject({ status: 'already', same: false, approval: { decidedBy: 'anna' } });
  });

  it('tells a decision for what was never asked, or not yet', async () => {
    expect(await store().approvals.decide(newId(), 'approve')).toEqual({ status: 'unknown' });
    const id = newId();
    const { result } = await waitingRun(store(), id);
    expect(await store().approvals.decide(`${result.runId}/p2`, 'approve')).toEqual({ status: 'unknown' });
  });

  it('refuses a decision on another form than the one that is asked about', async () => {
    const id = newId();
    const { result } = await waitingRun(store(), id);
    const [asked] = result.approvals;
    const decide = (digest: string) => store().approvals.decide(asked?.id ?? '', 'approve', { digest });
    expect(await decide(`${asked?.digest}0`)).toMatchObject({ status: 'altered', approval: { state: 'open' } });
    expect(await decide(asked?.digest ?? '')).toMatchObject({ status: 'recorded' });
  });

  it('refuses a decision when the time is over, but from who expires it', async () => {
    const id = newId();
    await waitingRun(store(), id);
    const [approval = ''] = await approvalIds(store(), id);
    await store().approvals.schedule(approval, { expiresAt: (await store().now()) + 50 });
    await pass(60);
    const late = await other().approvals.decide(approval, 'approve');
    expect(late).toMatchObject({ status: 'late', why: 'expired', approval: { state: 'open' } });
    const expired = await store().approvals.decide(approval, { reject: 'Nobody answered.' }, { evenIfExpired: true });
    expect(expired).toMatchObject({ status: 'recorded' });
    expect(await store().approvals.decide(approval, 'approve')).toMatchObject({ status: 'already' });
  });

  it('records one of fifty decisions at once, and tells all others which', async () => {
    const id = newId();
    await waitingRun(store(), id);
    const [approval = ''] = await approvalIds(store(), id);
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        (index % 2 ? store() : other()).approvals.decide(approval, { reject: `words ${index}` }, { by: `person ${index}` }),
      ),
    );
    const recorded = outcomes.filter(({ status }) => status === 'recorded');
    expect(recorded).toHaveLength(1);
    const record = await store().approvals.get(approval);
    for (const outcome of outcomes) {
      expect(['recorded', 'already']).toContain(outcome.status);
      expect(outcome.status !== 'unknown' && outcome.approval).toEqual(record);
    }
  });

  it('loses no decision to the log that is appended to meanwhile', async () => {
    const id = newId();
    const { agent } = await waitingRun(store(), id, ['a', 'b', 'c', 'd']);
    const approvals = await approvalIds(store(), id);
    const [first = '', ...rest] = approvals;
    const [done, ...outcomes] = await Promise.all([
      resume(agent, { store: store(), id }, { decisions: { [first]: 'approve' } }),
      ...rest.map((approval) => other().approvals.decide(approval, 'approve', { by: 'anna' })),
    ]);
    expect(done.status).toBe('interrupted');
    for (const outcome of outcomes) expect(outcome).toMatchObject({ status: 'recorded' });
    const records = (await store().approvals.list({ session: id })).items;
    const states = Object.fromEntries(records.map((record) => [record.id, `${record.state} ${record.decidedBy}`]));
    expect(states).toEqual({ [first]: 'resolved undefined', ...Object.fromEntries(rest.map((each) => [each, 'decided anna'])) });
  });
}

function testReopening({ store, other }: Suite): void {
  it('asks anew where the run cannot use a decision, once of ten at once, and only about that decision', async () => {
    const id = newId();
    await waitingRun(store(), id);
    const [approval = ''] = await approvalIds(store(), id);
    const before = await store().approvals.get(approval);
    await store().approvals.decide(approval, { edit: { label: 7 } }, { by: 'anna' });
    const decidedAt = (await store().approvals.get(approval))?.decidedAt ?? 0;
    expect(await store().approvals.reopen(approval, decidedAt - 1)).toBe(false);
    const reopened = await Promise.all(
      Array.from({ length: 10 }, (_, index) => (index % 2 ? store() : other()).approvals.reopen(approval, decidedAt)),
    );
    expect(reopened.filter(Boolean)).toHaveLength(1);
    expect(await other().approvals.get(approval)).toEqual(before);
    expect(await other().approvals.decide(approval, 'approve', { by: 'bert' })).toMatchObject({ status: 'recorded' });
    expect(await store().approvals.reopen(newId(), decidedAt)).toBe(false);
  });
}

const oddName = 'Añna\u0000 😀 \'";--';

function testScheduling({ store, other }: Suite): void {
  it('sets times while it is open, and leaves those that are not named', async () => {
    const id = newId();
    await waitingRun(store(), id);
    const [approval = ''] = await approvalIds(store(), id);
    const now = await store().now();
    expect(await store().approvals.schedule(approval, { expiresAt: now + 9_000, remindAt: now + 5_000 })).toBe(true);
    expect(await other().approvals.schedule(approval, { expiresAt: now + 8_000 })).toBe(true);
    expect(await store().approvals.get(approval)).toMatchObject({ expiresAt: now + 8_000, remindAt: now + 5_000, reminders: 0 });
    for (const times of [{ expiresAt: -1 }, { remindAt: 0.5 }, { reminded: Number.NaN }])
      expect(await codeOf(store().approvals.schedule(approval, times))).toBe('CONFIG_INVALID');
    await store().approvals.decide(approval, 'approve');
    expect(await store().approvals.schedule(approval, { expiresAt: now + 1 })).toBe(false);
    expect(await store().approvals.schedule(newId(), { expiresAt: now })).toBe(false);
  });

  it('lets one of ten workers send a reminder', async () => {
    const id = newId();
    await waitingRun(store(), id);
    const [approval = ''] = await approvalIds(store(), id);
    const now = await store().now();
    await store().approvals.schedule(approval, { remindAt: now });
    const remind = (remindAt?: number) =>
      Promise.all(
        Array.from({ length: 10 }, async (_, index) => {
          const { approvals } = index % 2 ? store() : other();
          return approvals.schedule(approval, { reminded: remindAt === undefined ? 1 : 0, remindAt });
        }),
      );
    expect((await remind(now + 60_000)).filter(Boolean)).toHaveLength(1);
    expect(await store().approvals.get(approval)).toMatchObject({ reminders: 1, remindAt: now + 60_000 });
    expect((await remind()).filter(Boolean)).toHaveLength(1);
    const last = await other().approvals.get(approval);
    expect([last?.reminders, last?.remindAt, last?.state]).toEqual([2, undefined, 'open']);
  });
}
