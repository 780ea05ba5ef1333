import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isLegalWord, toolNames, wireName } from './wire-names.js';

const names = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 90 }),
  fc.stringMatching(/^[a-z_.-]{0,70}$/),
  fc.constantFrom('', 'a.b', 'a_b', 'a-b', 'ä', '\ud800'),
);

it('every name has a wire form that the API takes, and keeps it', () => {
  fc.assert(
    fc.property(names, (name) => {
      expect(isLegalWord(wireName(name))).toBe(true);
      expect(wireName(name)).toBe(wireName(name));
    }),
  );
});

it('no two names share a wire form, also where one looks like the wire form of the other', () => {
  fc.assert(
    fc.property(names, names, (one, other) => {
      if (one === other) return;
      expect(wireName(one)).not.toBe(wireName(other));
      if (wireName(one) !== one) expect(wireName(wireName(one))).not.toBe(wireName(one));
    }),
  );
});

it('names that the API takes are sent as they are', () => {
  expect(wireName('refund_order')).toBe('refund_order');
  expect(wireName('x'.repeat(64))).toBe('x'.repeat(64));
  expect(wireName('files.read')).not.toBe(wireName('files_read'));
});

it('wire forms lead back to the names of the tools', () => {
  const tools = ['files.read', 'files_read', 'x'.repeat(80)].map((name) => ({ name, description: '', schema: { type: 'object' } }));
  expect(tools.map(({ name }) => toolNames(tools).get(wireName(name)))).toEqual(tools.map(({ name }) => name));
});
