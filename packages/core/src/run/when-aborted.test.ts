import { getEventListeners } from 'node:events';
import { expect, it, vi } from 'vitest';
import { whenAborted } from './when-aborted.js';

/** A signal that counts the listeners it carries. */
function watched() {
  const controller = new AbortController();
  const { signal } = controller;
  const add = vi.spyOn(signal, 'addEventListener');
  const remove = vi.spyOn(signal, 'removeEventListener');
  return { controller, signal, carried: () => add.mock.calls.length - remove.mock.calls.length, add, remove };
}

it('calls every listener of an aborted signal once, in the order in which they came', () => {
  const { controller, signal } = watched();
  const called: string[] = [];
  whenAborted(signal, () => called.push('first'));
  whenAborted(signal, () => called.push('second'));
  expect(called).toEqual([]);
  controller.abort();
  expect(called).toEqual(['first', 'second']);
  controller.abort();
  signal.dispatchEvent(new Event('abort'));
  expect(called).toEqual(['first', 'second']);
});

it('gives a signal one listener for any number, and none when none is left', () => {
  const { signal, carried, add } = watched();
  const [one, other] = [whenAborted(signal, () => undefined), whenAborted(signal, () => undefined)];
  expect(carried()).toBe(1);
  one();
  expect(carried()).toBe(1);
  other();
  expect(carried()).toBe(0);
  expect(add).toHaveBeenCalledTimes(1);
});

it('calls no listener that was taken off, and those that are left', () => {
  const { controller, signal } = watched();
  const [gone, left] = [vi.fn(), vi.fn()];
  const off = whenAborted(signal, gone);
  whenAborted(signal, left);
  off();
  controller.abort();
  expect(gone).not.toHaveBeenCalled();
  expect(left).toHaveBeenCalledTimes(1);
});

it('takes listeners again after all were taken off', () => {
  const { controller, signal, carried } = watched();
  const [first, second] = [vi.fn(), vi.fn()];
  whenAborted(signal, first)();
  whenAborted(signal, second);
  expect(carried()).toBe(1);
  controller.abort();
  expect([first.mock.calls.length, second.mock.calls.length]).toEqual([0, 1]);
});

it('takes no listener of another off when one is taken off twice', () => {
  const { controller, signal, carried } = watched();
  const listener = vi.fn();
  const off = whenAborted(signal, () => undefined);
  off();
  whenAborted(signal, listener);
  off();
  expect(carried()).toBe(1);
  controller.abort();
  expect(listener).toHaveBeenCalledTimes(1);
});

it('leaves a signal alone that was aborted meanwhile', () => {
  const { controller, signal, remove } = watched();
  const off = whenAborted(signal, () => undefined);
  controller.abort();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  off();
  expect(remove).not.toHaveBeenCalled();
});

it('calls those too that a listener takes off meanwhile or leaves standing, and none that comes meanwhile', () => {
  const { controller, signal } = watched();
  const called: string[] = [];
  const late = vi.fn();
  let off: () => void = () => undefined;
  whenAborted(signal, () => {
    called.push('first');
    off();
    whenAborted(signal, late);
  });
  off = whenAborted(signal, () => called.push('second'));
  controller.abort();
  expect(called).toEqual(['first', 'second']);
  expect(late).not.toHaveBeenCalled();
});

it('keeps the listeners of two signals apart', () => {
  const [one, other] = [watched(), watched()];
  const listener = vi.fn();
  whenAborted(one.signal, listener);
  whenAborted(other.signal, () => undefined);
  other.controller.abort();
  expect(listener).not.toHaveBeenCalled();
});
