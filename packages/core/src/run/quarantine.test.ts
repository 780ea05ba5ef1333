import { describe, expect, it, vi } from 'vitest';
import type { Entered } from '../../test/enter-run.js';
import { enterRun } from '../../test/enter-run.js';
import type { JsonObject, JsonValue } from '../model/types.js';
import { canonicalJson } from '../state/canonical-json.js';
import { saltedSha256Hex } from '../state/digest.js';
import type { ApprovalRequestEvent, OutputApproval } from '../state/events.js';
import type { RawAnswer } from './answer.js';
import { accessQuarantine, deleteUndecided, loadQuarantined, readQuarantined } from './quarantine.js';
import { putInQuarantine } from './quarantine-answer.js';
import type { QuarantineStore } from './types.js';

const answer: RawAnswer = {
  text: 'The raw text.',
  reasoning: 'Because.',
  calls: [
    { name: 'send', input: { to: 'anna' }, providerId: 'c1' },
    { name: 'look', unparsable: '{' },
  ],
  native: { id: 5 },
  usage: { requests: 1, inputTokens: 3, outputTokens: 4 },
  stopReason: 'tools',
  provider: 'test',
};
const asks = [{ by: 'words', reason: 'A name.' }];
const waiting = { turn: 2, asks, revision: 1, text: 'The text.' };

class Shelf implements QuarantineStore {
  readonly held = new Map<string, JsonValue>();
  readonly deleted: string[] = [];
  async put(key: string, value: JsonValue): Promise<void> {
    this.held.set(key, value);
  }
  async get(key: string): Promise<JsonValue | undefined> {
    return this.held.get(key);
  }
  async delete(key: string): Promise<void> {
    this.deleted.push(key);
    this.held.delete(key);
  }
}
const broken = Object.assign(new Error('secret'), { code: 'EIO' });

async function waits(given: Partial<RawAnswer> = {}) {
  const shelf = new Shelf();
  const entered = await enterRun(undefined, { quarantine: shelf });
  expect(await putInQuarantine(entered.handle, { ...answer, ...given }, waiting)).toBe(true);
  const request = entered.handle.root.events.at(-1) as ApprovalRequestEvent;
  return { ...entered, shelf, request, approval: request.approval as OutputApproval };
}

describe('putting an answer into quarantine', () => {
  it('keeps all of it under the key of its turn, with a salt that stands nowhere else', async () => {
    const { shelf, approval, handle } = await waits();
    const held = shelf.held.get('r/2') as JsonObject;
    const { salt, ...content } = held;
    expect(content).toEqual(JSON.parse(JSON.stringify({ text: 'The text.', answer })));
    expect(salt).toMatch(/^[0-9a-f]{32}$/);
    expect(approval.digest).toBe(await saltedSha256Hex(String(salt), canonicalJson(content)));
    expect(JSON.stringify(handle.root.events)).not.toContain(String(salt));
  });

  it('asks a person, and says nothing of the answer but its size', async () => {
    const { request, approval } = await waits();
    expect(request).toMatchObject({ type: 'approval.request', turn: 2, usage: answer.usage });
    expect(request).not.toHaveProperty('model');
    expect(approval).toStrictEqual({
      id: 'r/p1',
      surface: 'output',
      run: 'r',
      agentPath: ['a'],
      subject: 'r/2',
      revision: 1,
      digest: approval.digest,
      reason: 'A name.',
      asks,
      label: { origin: 'agent:a', integrity: 'trusted' },
      untrustedFrom: [],
      rewrites: [],
      key: 'r/2',
      chars: 9,
      turn: 2,
      calls: 2,
    });
  });

  it('says who answered where another model did', async () => {
    expect((await waits({ model: 'other' })).request.model).toBe('other');
  });

  it('fails the run where the store fails, at once or later', async () => {
    for (const put of [
      () => {
        throw broken;
      },
      () => Promise.reject(broken),
    ]) {
      const { handle } = await enterRun(undefined, { quarantine: { put, get: vi.fn(), delete: vi.fn() } });
      await expect(putInQuarantine(handle, answer, waiting)).rejects.toMatchObject({
        code: 'STORE_FAILED',
        message: 'The quarantine store failed to keep an answer of agent a. Nothing of it was shown; look at the cause, then resume.',
        isRetryable: true,
        cause: { name: 'Error', code: 'EIO' },
      });
      expect(handle.root.events.at(-1)?.type).toBe('run.start');
    }
  });

  it('asks nobody where the run is stopped meanwhile, and takes away what comes to lie there', async () => {
    let stored: () => void = () => undefined;
    const shelf = new Shelf();
    vi.spyOn(shelf, 'put').mockImplementation(
      () =>
        new Promise<void>((resolve) => {
          stored = resolve;
        }),
    );
    const { handle } = await enterRun(undefined, { quarantine: shelf });
    const put = putInQuarantine(handle, answer, waiting);
    await vi.waitFor(() => expect(shelf.put).toHaveBeenCalled(), 15_000);
    handle.abort({ kind: 'halt' });
    expect(await put).toBe(false);
    expect(shelf.deleted).toEqual([]);
    expect(handle.root.events.at(-1)?.type).toBe('run.start');
    stored();
    await expect.poll(() => shelf.deleted).toEqual(['r/2']);
  });
});

describe('an answer in quarantine', () => {
  it('is shown to a person as its text, its reasoning and its calls', async () => {
    const { shelf, approval } = await waits();
    expect(await readQuarantined(shelf, approval)).toStrictEqual({
      text: 'The text.',
      reasoning: 'Because.',
      calls: [{ name: 'send', input: { to: 'anna' } }, { name: 'look' }],
    });
  });

  it('is loaded as it was put there', async () => {
    const { shelf, approval } = await waits();
    expect(await loadQuarantined(shelf, approval)).toStrictEqual({ text: 'The text.', answer: JSON.parse(JSON.stringify(answer)) });
  });

  it.each([undefined, null, 'text', 5])('is gone where the store holds %j', async (held) => {
    const { approval } = await waits();
    const store = { ...new Shelf(), get: async () => held } as unknown as QuarantineStore;
    await expect(loadQuarantined(store, approval)).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: 'The quarantine store does not hold the answer r/2 any more. Resume with { reject: … } to have the model asked again.',
      isRetryable: false,
    });
  });

  it('is refused where anything of it is not as it was put there', async () => {
    const { shelf, approval } = await waits();
    const held = shelf.held.get('r/2') as JsonObject;
    for (const change of [{ text: 'Other.' }, { salt: '0' }, { salt: undefined }, { more: 1 }, { answer: {} }]) {
      shelf.held.set('r/2', { ...held, ...change } as JsonObject);
      await expect(loadQuarantined(shelf, approval)).rejects.toMatchObject({
        code: 'RESUME_MISMATCH',
        message:
          'The answer r/2 in the quarantine store is not the one that waits. Resume with { reject: … } to have the model asked again.',
      });
    }
  });

  it('cannot be read where the store throws', async () => {
    const { approval } = await waits();
    const store = { ...new Shelf(), get: () => Promise.reject(broken) } as unknown as QuarantineStore;
    await expect(readQuarantined(store, approval)).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: 'The quarantine store failed for the answer r/2. Look at the cause, then resume.',
      cause: { name: 'Error', code: 'EIO' },
      isRetryable: true,
    });
  });
});

it('accessing the store gives what it gives, and tells of what it throws at once too', async () => {
  expect(await accessQuarantine(async () => 5, 'k')).toBe(5);
  const throwing = (): never => {
    throw broken;
  };
  await expect(accessQuarantine(throwing, 'k')).rejects.toMatchObject({ code: 'STORE_FAILED' });
});

describe('answers that nobody will decide about any more', () => {
  const ended = async (shelf: QuarantineStore | undefined, ids: readonly string[]) => {
    const entered = await enterRun(undefined, shelf === undefined ? {} : { quarantine: shelf });
    const runs: Entered[] = [];
    for (const runId of ids) {
      const child = await enterRun(undefined, { runId, quarantine: new Shelf() });
      await putInQuarantine(child.handle, answer, waiting);
      runs.push(child);
    }
    const silent = await enterRun(undefined, { runId: 'silent' });
    entered.handle.root.undecided = [...runs, silent, entered].map(({ handle }) => handle.state);
    return entered;
  };

  it("are deleted, but for the run's own, which can be taken up again", async () => {
    const shelf = new Shelf();
    const entered = await ended(shelf, ['c1', 'c2']);
    await putInQuarantine(entered.handle, answer, waiting);
    await deleteUndecided(entered.handle);
    expect(shelf.deleted).toEqual(['c1/2', 'c2/2']);
  });

  it('may be none', async () => {
    const shelf = new Shelf();
    const { handle } = await enterRun(undefined, { quarantine: shelf });
    await deleteUndecided(handle);
    expect(shelf.deleted).toEqual([]);
    await deleteUndecided((await ended(undefined, ['c1'])).handle);
  });

  it('hold nothing up when the store fails', async () => {
    for (const remove of [
      () => Promise.reject(broken),
      () => {
        throw broken;
      },
    ]) {
      const shelf = Object.assign(new Shelf(), { delete: vi.fn(remove) });
      await deleteUndecided((await ended(shelf, ['c1', 'c2'])).handle);
      expect(shelf.delete).toHaveBeenCalledTimes(2);
    }
  });

  it('are waited for no longer than the grace of a stopped run', async () => {
    const shelf = Object.assign(new Shelf(), { delete: () => new Promise<never>(() => undefined) });
    const { handle, clock } = await ended(shelf, ['c1']);
    const deleting = deleteUndecided(handle);
    clock.pass(2_000);
    await deleting;
    const stopped = await ended(shelf, ['c1']);
    stopped.handle.abort({ kind: 'halt' });
    let isDone = false;
    const waited = deleteUndecided(stopped.handle).then(() => {
      isDone = true;
    });
    stopped.clock.pass(1_999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isDone).toBe(false);
    stopped.clock.pass(1);
    await waited;
  });
});
