import { describe, expect, it, vi } from 'vitest';
import type { RunEvent } from '../state/events.js';
import { Channel, unreadDeltas } from './channel.js';

const base = { at: 0, run: 'r', agent: 'a', turn: 1 } as const;
const turnStart = (turn: number): RunEvent => ({ ...base, type: 'turn.start', turn });
const text = (piece = 'x'): RunEvent => ({ ...base, type: 'text.delta', text: piece });
const reasoning = (): RunEvent => ({ ...base, type: 'reasoning.delta', text: 'x' });
const end = { value: undefined, done: true } as const;
const open = () => {
  const onLeave = vi.fn();
  return { channel: new Channel(onLeave), onLeave };
};
/** Whether a promise is settled by now. */
async function isSettled(promise: Promise<unknown> | undefined): Promise<boolean> {
  return (await Promise.race([promise?.then(() => true), new Promise((resolve) => setImmediate(() => resolve(false)))])) === true;
}

describe('a channel', () => {
  it('gives events in the order in which they came, read before or after', async () => {
    const { channel } = open();
    const [first, second] = [channel.next(), channel.next()];
    for (const turn of [1, 2, 3, 4]) channel.push(turnStart(turn));
    expect(await Promise.all([first, second, channel.next(), channel.next()])).toEqual(
      [1, 2, 3, 4].map((turn) => ({ value: turnStart(turn), done: false })),
    );
  });

  it('keeps hundreds of events in order while they are read in between', async () => {
    const { channel } = open();
    const read: unknown[] = [];
    let pushed = 0;
    for (let round = 0; round < 3; round += 1) {
      for (let count = 0; count < 150; count += 1) {
        pushed += 1;
        channel.push(turnStart(pushed));
      }
      for (let count = 0; count < 140; count += 1) read.push((await channel.next()).value);
    }
    channel.close();
    for (let next = await channel.next(); !next.done; next = await channel.next()) read.push(next.value);
    expect(read).toEqual(Array.from({ length: pushed }, (_, index) => turnStart(index + 1)));
  });

  it('gives what is left after it was closed, and then ends', async () => {
    const { channel, onLeave } = open();
    channel.push(turnStart(1));
    channel.close();
    channel.push(turnStart(2));
    expect([await channel.next(), await channel.next(), await channel.next()]).toEqual([{ value: turnStart(1), done: false }, end, end]);
    expect(onLeave).not.toHaveBeenCalled();
  });

  it('ends for all who wait when it is closed', async () => {
    const { channel } = open();
    const waiting = [channel.next(), channel.next()];
    channel.close();
    expect(await Promise.all(waiting)).toEqual([end, end]);
  });

  it('rejects for those who wait and who come later when it is closed with a failure', async () => {
    const { channel } = open();
    const waiting = channel.next();
    channel.close({ error: 'broken' });
    await expect(waiting).rejects.toBe('broken');
    await expect(channel.next()).rejects.toBe('broken');
  });

  it('stays as it was closed first', async () => {
    const { channel } = open();
    channel.close();
    channel.close({ error: 'broken' });
    expect(await channel.next()).toEqual(end);
    const other = open().channel;
    other.close({ error: 'broken' });
    other.close();
    await expect(other.next()).rejects.toBe('broken');
  });
});

describe('leaving a channel', () => {
  it('tells the run, drops what is unread and ends', async () => {
    const { channel, onLeave } = open();
    channel.push(turnStart(1));
    channel.push(turnStart(2));
    await channel.next();
    expect(await channel.return()).toEqual(end);
    expect(onLeave.mock.calls).toEqual([[undefined]]);
    channel.push(turnStart(3));
    expect(await channel.next()).toEqual(end);
  });

  it('drops what was pushed meanwhile too', async () => {
    const { channel } = open();
    channel.push(turnStart(1));
    await channel.next();
    channel.push(turnStart(2));
    await channel.return();
    expect(await channel.next()).toEqual(end);
    const unread = open().channel;
    unread.push(turnStart(1));
    await unread.return();
    expect(await unread.next()).toEqual(end);
  });

  it('by throwing tells the run what was thrown, and rejects with it', async () => {
    const { channel, onLeave } = open();
    const waiting = channel.next();
    await expect(channel.throw('enough')).rejects.toBe('enough');
    expect(onLeave.mock.calls).toEqual([[{ error: 'enough' }]]);
    expect([await waiting, await channel.next()]).toEqual([end, end]);
  });

  it('a second time, or after the end, tells nobody', async () => {
    const { channel, onLeave } = open();
    await channel.return();
    await channel.return();
    expect(onLeave).toHaveBeenCalledTimes(1);
    const closed = open();
    closed.channel.push(turnStart(1));
    closed.channel.close();
    expect(await closed.channel.return()).toEqual(end);
    expect(closed.onLeave).not.toHaveBeenCalled();
    expect(await closed.channel.next()).toEqual(end);
  });

  it('is not undone by the failure with which the run then ends', async () => {
    const { channel } = open();
    await channel.return();
    channel.close({ error: 'broken' });
    expect(await channel.next()).toEqual(end);
  });
});

describe('reading the model on', () => {
  const fill = (channel: Channel, count = unreadDeltas): void => {
    for (let index = 0; index < count; index += 1) channel.push(index % 2 === 0 ? text() : reasoning());
  };

  it('waits from the piece on that makes too many unread', async () => {
    const { channel } = open();
    fill(channel, unreadDeltas - 1);
    expect(channel.ready()).toBeUndefined();
    fill(channel, 1);
    const ready = channel.ready();
    expect(await isSettled(ready)).toBe(false);
    await channel.next();
    expect(await isSettled(ready)).toBe(true);
    expect(channel.ready()).toBeUndefined();
  });

  it('goes on only when so many were read that few enough are unread', async () => {
    const { channel } = open();
    fill(channel, unreadDeltas + 2);
    const waiting = [channel.ready(), channel.ready()];
    await channel.next();
    await channel.next();
    expect(await isSettled(waiting[0])).toBe(false);
    await channel.next();
    expect(await isSettled(Promise.all(waiting))).toBe(true);
  });

  it('waits again after it has gone on', async () => {
    const { channel } = open();
    fill(channel);
    const first = channel.ready();
    await channel.next();
    await first;
    fill(channel, 1);
    const second = channel.ready();
    expect(await isSettled(second)).toBe(false);
    await channel.next();
    expect(await isSettled(second)).toBe(true);
  });

  it('waits for no other events, nor for pieces that somebody waited for', async () => {
    const { channel } = open();
    for (let turn = 0; turn < unreadDeltas * 2; turn += 1) channel.push(turnStart(turn));
    expect(channel.ready()).toBeUndefined();
    fill(channel, unreadDeltas - 1);
    for (let turn = 0; turn < unreadDeltas * 2; turn += 1) await channel.next();
    expect(channel.ready()).toBeUndefined();
    fill(channel, 1);
    expect(channel.ready()).toBeDefined();
    const other = open().channel;
    for (let count = 0; count < unreadDeltas * 2; count += 1) {
      const waiting = other.next();
      other.push(text());
      await waiting;
    }
    expect(other.ready()).toBeUndefined();
  });

  it('waits no more once the reader waits for the result, the channel is closed, or the reader has left', async () => {
    for (const change of [
      (channel: Channel) => channel.free(),
      (channel: Channel) => channel.close(),
      (channel: Channel) => void channel.return(),
    ]) {
      const { channel } = open();
      fill(channel);
      const ready = channel.ready();
      expect(await isSettled(ready)).toBe(false);
      change(channel);
      expect(await isSettled(ready)).toBe(true);
      fill(channel);
      expect(channel.ready()).toBeUndefined();
    }
  });
});
