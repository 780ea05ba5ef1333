import { GuardloopError, resume } from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import type { Store } from '../contract.js';
import { exportSession } from '../export.js';
import type { Suite } from './suite.js';
import { all, approvalIds, codeOf, inputEvent, newId, newRun, waitingRun } from './suite.js';

const key = (id: string, byte: number) => ({ id, key: new Uint8Array(32).fill(byte) });

/** Payloads and encryption. */
export function testContents(suite: Suite): void {
  describe('contents', () => {
    testPayloads(suite);
    if (suite.options.hasCodec && suite.options.isLasting) testEncryption(suite);
  });
}

function testPayloads({ store, other, open, options }: Suite): void {
  it('gives back texts of many megabytes, also where many events hold the same', async () => {
    const id = newId();
    const text = '東é😀\u0000\ud83dx'.repeat(500_000);
    const events = [inputEvent(1, text), ...Array.from({ length: 30 }, (_, index) => inputEvent(index + 2, text.slice(0, 40_000)))];
    await store().append(id, events, 0);
    const loaded = await other().load(id);
    expect(JSON.stringify(loaded) === JSON.stringify(events)).toBe(true);
    expect(JSON.stringify(await store().load(id, 30)) === JSON.stringify(events.slice(30))).toBe(true);
  }, 60_000);

  it('gives back large submissions, questions, decisions and live texts', async () => {
    const id = newId();
    const large = 'a large text \u0000\ud83d '.repeat(4_000);
    const submitted = newRun({ session: id, submission: { input: large, list: [large] } });
    await store().runs.create(submitted);
    await store().runs.update(submitted.id, 1, { cancel: { reason: large } });
    expect(await other().runs.get(submitted.id)).toMatchObject({ submission: submitted.submission, cancel: { reason: large } });
    await waitingRun(store(), id, [large]);
    const [approval = ''] = await approvalIds(other(), id);
    expect((await other().approvals.get(approval))?.approval.input).toEqual({ label: large });
    await store().approvals.decide(approval, { reject: large });
    expect((await other().approvals.get(approval))?.decision).toEqual({ reject: large });
    const live = { seq: 1, run: 'r', agent: 'a', turn: 1, text: large, epoch: 0 };
    await store().live.put(id, live);
    expect(await other().live.get(id)).toEqual(live);
  });

  if (!options.hasCodec || !options.raw) return;
  const { raw } = options;
  it('keeps a large text once, and deletes it with the last session that holds it', async () => {
    const database = 'payloads';
    const small = await open({ database, blobChars: 64 });
    const [first, second] = [newId(), newId()];
    const text = `payload-${newId()}`.padEnd(4_000, 'x');
    for (const id of [first, second])
      await small.append(
        id,
        [1, 2, 3].map((seq) => inputEvent(seq, text)),
        0,
      );
    expect((await raw(database)).split(text).length - 1).toBeLessThanOrEqual(2);
    await small.sessions.delete(first);
    await small.sweep();
    expect(JSON.stringify(await small.load(second))).toContain(text);
    await small.sessions.delete(second);
    await small.sweep();
    expect(await raw(database)).not.toContain(text.slice(0, 40));
  });
}

/** Every kind of content, each with a word that stands nowhere else. */
async function plant(store: Store, word: string): Promise<{ readonly session: string; readonly run: string }> {
  const session = newId();
  const submitted = newRun({ session, submission: { input: `${word} submission` } });
  await store.runs.create(submitted);
  await store.runs.update(submitted.id, 1, { cancel: { reason: `${word} cancel` } });
  const { agent } = await waitingRun(store, session, [`${word} call`, `${word} ${'large '.repeat(50)}`, `${word} other`]);
  const [first = '', second = '', third = ''] = await approvalIds(store, session);
  await store.approvals.decide(first, 'approve', { by: `${word} person` });
  await resume(agent, { store, id: session }, { decisions: { [first]: 'approve' } });
  await store.approvals.decide(second, { reject: `${word} rejected` }, { by: `${word} person` });
  await store.approvals.decide(third, { edit: { label: `${word} edit` } });
  await store.live.put(session, { seq: 1, run: 'r', agent: 'a', turn: 1, text: `${word} live`, epoch: 0 });
  return { session, run: submitted.id };
}

/** Everything of a session that has contents. */
async function readAll(store: Store, { session, run }: { readonly session: string; readonly run: string }): Promise<string> {
  const approvals = await store.approvals.list({ session });
  return JSON.stringify([await store.load(session), approvals, await store.runs.get(run), await store.live.get(session)]);
}

const words = ['submission', 'cancel', 'call', 'large', 'person', 'rejected', 'edit', 'live'];

function testEncryption({ open, options }: Suite): void {
  const { raw } = options;
  it('leaves nothing of any content in the database when it is encrypted, and gives all back', async () => {
    const word = newId('planted');
    const [database, blobChars] = ['sealed', 64];
    const encryption = { keys: [key('k1', 1)] } as const;
    const planted = await plant(await open({ database, blobChars, encryption }), word);
    const read = await readAll(await open({ database, blobChars, encryption }), planted);
    for (const each of words) expect(read).toContain(`${word} ${each}`);
    if (raw === undefined) return;
    const stored = await raw(database);
    expect(stored.length).toBeGreaterThan(1_000);
    expect(stored).not.toContain(word);
    const plain = await open({ database: 'unsealed', blobChars });
    await plant(plain, word);
    expect(await raw('unsealed')).toContain(word);
  });

  it('says so when the key is missing or another one, and tells nothing of the content', async () => {
    const word = newId('planted');
    const database = 'sealed';
    const { session, run } = await plant(await open({ database, encryption: { keys: [key('k1', 1)] } }), word);
    const wrong = [undefined, { keys: [key('k1', 2)] }, { keys: [key('k2', 1)] }] as const;
    for (const encryption of wrong) {
      const store = await open(encryption === undefined ? { database } : { database, encryption });
      const { unreadable = [] } = await store.approvals.list({ session });
      const reads = [() => store.load(session), () => store.approvals.get(unreadable[0] ?? ''), () => store.live.get(session)];
      for (const read of reads) {
        const error: unknown = await read().then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(GuardloopError.is(error) && error.code).toBe('STORE_FAILED');
        expect(GuardloopError.is(error) && error.isRetryable).toBe(false);
        expect(String(error)).toMatch(/key/);
        expect(String(error)).not.toContain(word);
      }
      expect(await store.sessions.get(session), 'records without contents can be read').toMatchObject({ id: session });
      const record = await store.runs.get(run);
      expect(record).toMatchObject({ submission: undefined, cancel: { reason: '' }, trouble: { code: 'STORE_FAILED' } });
      expect(record?.trouble?.message).toMatch(/key/);
      expect(JSON.stringify(record)).not.toContain(word);
    }
  });

  it('lists and takes runs beside one whose key is gone', async () => {
    const database = 'sealed';
    const queue = newId('queue');
    const before = newRun({ queue, priority: 1 });
    await (await open({ database, encryption: { keys: [key('k1', 1)] } })).runs.create(before);
    const store = await open({ database, encryption: { keys: [key('k2', 2)] } });
    const after = newRun({ queue, priority: 2, submission: { input: 'hello' } });
    await store.runs.create(after);
    const claim = () => store.runs.claim({ owner: 'worker', leaseMs: 600_000, queues: [{ queue }] });
    const first = await claim();
    expect(first).toMatchObject({ id: before.id, submission: undefined, trouble: { code: 'STORE_FAILED' } });
    expect(await claim()).toMatchObject({ id: after.id, submission: { input: 'hello' } });
    const { items } = await store.runs.list({ queue });
    expect(items.map(({ id }) => id)).toEqual([after.id, before.id]);
    await store.runs.update(before.id, first?.version ?? 0, { state: 'queued', trouble: null });
    const again = await open({ database, encryption: { keys: [key('k1', 1)] } });
    expect(await again.runs.get(before.id), 'what was submitted is as it was').toMatchObject({ submission: before.submission });
  });

  it('lists approvals beside ones whose key is gone, and names those', async () => {
    const database = 'sealed';
    const [owner, session, later] = [newId('owner'), newId(), newId()];
    const first = await open({ database, encryption: { keys: [key('k1', 1)] } });
    await first.sessions.create(session, { owner });
    await waitingRun(first, session, ['a', 'b']);
    const gone = await approvalIds(first, session);
    const store = await open({ database, encryption: { keys: [key('k2', 2)] } });
    await store.sessions.create(later, { owner });
    await waitingRun(store, later);
    const readable = await approvalIds(store, later);
    const page = await store.approvals.list({ owner });
    expect([page.items.map(({ id }) => id), page.unreadable]).toEqual([readable, gone]);
    const ofOne = await store.approvals.list({ session });
    expect([ofOne.items, ofOne.unreadable]).toEqual([[], gone]);
    expect((await all(store.approvals.list, { owner, limit: 1 })).map(({ id }) => id)).toEqual(readable);
    expect(await codeOf(store.approvals.get(gone[0] ?? ''))).toBe('STORE_FAILED');
    expect(await store.approvals.list({ session: later }), 'names none where all can be read').not.toHaveProperty('unreadable');
    expect((await first.approvals.list({ session })).items.map(({ id }) => id)).toEqual(gone);
  });

  it('lists an approval whose decision was written under a key that is gone as one that cannot be read', async () => {
    const database = 'sealed';
    const session = newId();
    const keys = [key('k1', 1), key('k3', 3)] as const;
    const both = await open({ database, encryption: { keys: [keys[0], keys[1]] } });
    await waitingRun(both, session, ['a', 'b']);
    const [first = '', second = ''] = await approvalIds(both, session);
    await (await open({ database, encryption: { keys: [keys[1], keys[0]] } })).approvals.decide(first, { reject: 'no' });
    const { items, unreadable } = await (await open({ database, encryption: { keys: [keys[0]] } })).approvals.list({ session });
    expect([items.map(({ id }) => id), unreadable]).toEqual([[second], [first]]);
    const partly = await open({ database, encryption: { keys: [keys[0]] } });
    expect(await codeOf(exportSession(partly, session)), 'an export is whole or none').toBe('STORE_FAILED');
    expect((await exportSession(both, session))?.approvals).toHaveLength(2);
  });

  it('reads with every key it has and writes with the first, so that keys can be changed', async () => {
    const database = 'rotated';
    const word = newId('planted');
    const planted = await plant(await open({ database, encryption: { keys: [key('k1', 1)] } }), word);
    const both = await open({ database, encryption: { keys: [key('k2', 2), key('k1', 1)] } });
    expect(await readAll(both, planted)).toContain(`${word} call`);
    const later = await plant(both, word);
    const only = await open({ database, encryption: { keys: [key('k2', 2)] } });
    expect(await readAll(only, later)).toContain(`${word} call`);
  });
}
