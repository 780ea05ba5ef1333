import { expect, it } from 'vitest';
import { readOnly } from './read-only.js';

it('shows what the list holds now, also what was added since', () => {
  const items = [1, 2];
  const view = readOnly(items);
  items.push(3);
  expect([...view]).toEqual([1, 2, 3]);
  expect(view.length).toBe(3);
  expect(Array.isArray(view)).toBe(true);
});

it.each<[string, (view: number[]) => void]>([
  [
    'setting an element',
    (view) => {
      view[0] = 9;
    },
  ],
  ['adding an element', (view) => void view.push(9)],
  ['taking an element off', (view) => void view.pop()],
  [
    'setting the length',
    (view) => {
      view.length = 0;
    },
  ],
  ['defining a field', (view) => void Object.defineProperty(view, 'x', { value: 1 })],
  [
    'deleting an element',
    (view) => {
      delete view[0];
    },
  ],
  ['setting a prototype', (view) => void Object.setPrototypeOf(view, null)],
  ['freezing it', (view) => void Object.freeze(view)],
  ['preventing extensions', (view) => void Object.preventExtensions(view)],
])('refuses %s, and the list stays as it is', (_what, write) => {
  const items = [1, 2];
  expect(() => write(readOnly(items) as number[])).toThrow(TypeError);
  expect(items).toEqual([1, 2]);
  expect(Object.isExtensible(items)).toBe(true);
  expect(Object.getPrototypeOf(items)).toBe(Array.prototype);
  expect(items).not.toHaveProperty('x');
});
