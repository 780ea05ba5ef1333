import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isWireName, namesByWire, wireName } from './names.js';

const names = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 90 }),
  fc.stringMatching(/^[a-z_.-]{0,70}$/),
  fc.constantFrom('', 'a.b', 'a_b', 'a-b', 'ä', '\ud800', 'delete_configurations', 'list_0123456abcdefg'),
);

it('every name has a wire form that providers take, and keeps it', () => {
  fc.assert(
    fc.property(names, (name) => {
      expect(isWireName(wireName(name))).toBe(true);
      expect(wireName(name)).toBe(wireName(name));
    }),
  );
});

it('S122 S191: no two names share a wire form, also where one looks like the wire form of the other', () => {
  fc.assert(
    fc.property(names, names, (one, other) => {
      if (one === other) return;
      expect(wireName(one)).not.toBe(wireName(other));
      if (wireName(one) !== one) expect(wireName(wireName(one))).not.toBe(wireName(one));
    }),
  );
});

it.each(['refund_order', 'x'.repeat(64), 'delete_configurations', 'mcp__files__read', 'v1_2'])('%s is sent as it is', (name) => {
  expect(wireName(name)).toBe(name);
});

it('wire forms lead back to the names of the tools', () => {
  const offered = ['files.read', 'files_read', 'x'.repeat(80), wireName('files.read')];
  const byWire = namesByWire(offered);
  expect(offered.map((name) => byWire.get(wireName(name)))).toEqual(offered);
});

it('one name given twice is refused', () => {
  expect(() => namesByWire(['a', 'b', 'a'])).toThrow(expect.objectContaining({ code: 'NAME_TAKEN' }));
});
