import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonBodies } from './json-bodies.js';

const value = fc.jsonValue({ maxDepth: 3 });
const body = fc.dictionary(fc.string(), fc.oneof(value, fc.array(fc.oneof(value, fc.constant(undefined))), fc.constant(undefined)));

test('writes every body as JSON.stringify does, also when items come again', () => {
  const bodies = new JsonBodies();
  fc.assert(
    fc.property(body, (fields) => {
      expect(bodies.write(fields)).toBe(JSON.stringify(fields));
      const more = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, Array.isArray(field) ? [...field, 1] : field]));
      expect(bodies.write(more)).toBe(JSON.stringify(more));
    }),
  );
});

test('an item of a list is written once in its life, however long the list grows', () => {
  let written = 0;
  const item = (text: string) => ({
    toJSON: () => {
      written += 1;
      return { text };
    },
  });
  const bodies = new JsonBodies();
  const messages: object[] = [];
  for (let turn = 0; turn < 50; turn += 1) {
    messages.push(item(`${turn}`));
    bodies.write({ messages: [...messages] });
  }
  expect(written).toBe(50);
});
