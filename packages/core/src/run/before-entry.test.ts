import { describe, expect, it } from 'vitest';
import { gate, HandClock, settle } from '../../test/scene.js';
import { beforeEntry, late } from './before-entry.js';

const never = new Promise<string>(() => undefined);

/** A promise that a test settles, and what became of the wait for it. */
async function waiting(options: { readonly signal?: AbortSignal; readonly onLeave?: (listener: () => void) => void } = {}) {
  const clock = new HandClock();
  const loading = gate<string>();
  const seen: unknown[] = [];
  const given = { options: { signal: options.signal, clock }, onLeave: options.onLeave };
  beforeEntry(given, loading.promise).then(
    (value) => seen.push(value),
    (error) => seen.push({ error }),
  );
  await settle();
  return { clock, gate: loading, seen };
}

describe('what a run waits for before it is entered', () => {
  it('comes through however late it is while nobody leaves', async () => {
    const { clock, gate, seen } = await waiting({ signal: new AbortController().signal });
    await clock.pass(1_000_000);
    expect(seen).toEqual([]);
    gate.resolve('loaded');
    await settle();
    expect(seen).toEqual(['loaded']);
  });

  it('rejects as it does itself', async () => {
    const { gate, seen } = await waiting();
    gate.reject('broken');
    await settle();
    expect(seen).toEqual([{ error: 'broken' }]);
  });

  it.each(['before', 'meanwhile'])('is late 2,000 ms after an abort that came %s, and not before', async (when) => {
    const controller = new AbortController();
    if (when === 'before') controller.abort();
    const { clock, gate, seen } = await waiting({ signal: controller.signal });
    await clock.pass(500);
    if (when === 'meanwhile') {
      controller.abort();
      await clock.pass(500);
    }
    await clock.pass(1_499);
    expect(seen).toEqual([]);
    await clock.pass(1);
    expect(seen).toEqual([late]);
    gate.resolve('too late');
    await settle();
    expect(seen).toEqual([late]);
  });

  it('comes through when it settles in time after an abort, and leaves no timer', async () => {
    const controller = new AbortController();
    const { clock, gate, seen } = await waiting({ signal: controller.signal });
    controller.abort();
    expect(clock.timers).toHaveLength(1);
    gate.resolve('just in time');
    await settle();
    expect(seen).toEqual(['just in time']);
    expect(clock.timers).toEqual([]);
  });

  it('rejects in time after an abort, and leaves no timer', async () => {
    const controller = new AbortController();
    const { clock, gate, seen } = await waiting({ signal: controller.signal });
    controller.abort();
    gate.reject('broken');
    await settle();
    expect(seen).toEqual([{ error: 'broken' }]);
    expect(clock.timers).toEqual([]);
  });

  it('is late when the reader has left, counted from the first of abort and leaving', async () => {
    const controller = new AbortController();
    let leave: (() => void) | undefined;
    const { clock, seen } = await waiting({ signal: controller.signal, onLeave: (listener) => (leave = listener) });
    leave?.();
    await clock.pass(1_000);
    controller.abort();
    expect(clock.timers).toHaveLength(1);
    await clock.pass(1_000);
    expect(seen).toEqual([late]);
  });

  it.each(['resolved', 'rejected', 'was late'])('sets no timer for an abort or a reader that leaves after it %s', async (how) => {
    const controller = new AbortController();
    let leave: (() => void) | undefined;
    const { clock, gate } = await waiting({ signal: controller.signal, onLeave: (listener) => (leave = listener) });
    if (how === 'resolved') gate.resolve('loaded');
    else if (how === 'rejected') gate.reject('broken');
    else {
      leave?.();
      await clock.pass(2_000);
    }
    await settle();
    controller.abort();
    leave?.();
    expect(clock.timers).toEqual([]);
  });

  it.each(['resolved', 'rejected', 'was late'])('listens to the signal no longer after it %s', async (how) => {
    const controller = new AbortController();
    const { signal } = controller;
    const listening = new Set<unknown>();
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...given: Parameters<typeof addEventListener>) => {
      listening.add(given[1]);
      addEventListener.apply(signal, given);
    };
    signal.removeEventListener = (...given: Parameters<typeof removeEventListener>) => {
      listening.delete(given[1]);
      removeEventListener.apply(signal, given);
    };
    let leave: (() => void) | undefined;
    const { clock, gate } = await waiting({ signal, onLeave: (listener) => (leave = listener) });
    expect(listening.size).toBe(1);
    if (how === 'resolved') gate.resolve('loaded');
    else if (how === 'rejected') gate.reject('broken');
    else {
      leave?.();
      await clock.pass(2_000);
    }
    await settle();
    expect(listening.size).toBe(0);
  });

  it('may be waited for without a signal and without a reader', async () => {
    const clock = new HandClock();
    expect(await beforeEntry({ options: { signal: undefined, clock } }, Promise.resolve(1))).toBe(1);
    await Promise.race([beforeEntry({ options: { signal: undefined, clock } }, never), settle()]);
    expect(clock.timers).toEqual([]);
  });
});
