import { GuardloopError } from '@guardloop/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Codec, Encoded, Row } from './kit.js';
import { makeCodec, placeOf, readName, writeName } from './kit.js';

const key = (id: string, byte = 1) => ({ id, key: new Uint8Array(32).fill(byte) });
const place = placeOf('event', 'chat', 1);

/** Encodes and decodes, as a database would. */
async function roundTrip(
  codec: Codec,
  values: readonly unknown[],
  reader = codec,
): Promise<{ encoded: Encoded; values: readonly unknown[] }> {
  const encoded = await codec.encode(values.map((value, index) => ({ place: placeOf('event', 'chat', index), value })));
  const rows: readonly Row[] = encoded.rows.map(({ text }, index) => ({ place: placeOf('event', 'chat', index), text }));
  const payloads = new Map(encoded.payloads.map(({ digest, text }) => [digest, text]));
  return { encoded, values: await reader.decode(rows, async () => payloads) };
}

const thrownBy = (work: () => unknown): Promise<unknown> =>
  (async () => work())().then(
    () => undefined,
    (error: unknown) => error,
  );

async function expectFailure(work: () => unknown, code: string, says: RegExp): Promise<void> {
  const error = await thrownBy(work);
  expect(GuardloopError.is(error) && error.code).toBe(code);
  expect(GuardloopError.is(error) && error.message).toMatch(says);
}

const json = fc.json({ stringUnit: 'binary' }).map((text) => ({ value: JSON.parse(text) as unknown }));
const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) });
const isStorable = (text: string): boolean => !/\0|\p{Surrogate}/u.test(text);

describe('makeCodec', () => {
  const codecs = {
    plain: makeCodec(),
    moving: makeCodec({ blobChars: 64 }),
    sealing: makeCodec({ encryption: { keys: [key('k1')] } }),
    both: makeCodec({ blobChars: 64, encryption: { keys: [key('k1')] } }),
  };

  it.each(Object.entries(codecs))('gives every value back, in texts that any database keeps: %s', async (_, codec) => {
    await fc.assert(
      fc.asyncProperty(fc.array(json, { maxLength: 4 }), anyText, fc.integer({ min: 0, max: 40 }), async (values, text, times) => {
        const long = JSON.parse(`{"__proto__":{"${'k'.repeat(3)}":[]},"list":[1,null]}`) as { list: unknown[] };
        long.list.push(text.repeat(times), { [text]: text.repeat(times) });
        const given = [...values, long];
        const { encoded, values: got } = await roundTrip(codec, given);
        expect(JSON.stringify(got)).toBe(JSON.stringify(given));
        for (const { text: stored } of [...encoded.rows, ...encoded.payloads]) expect(isStorable(stored)).toBe(true);
      }),
      { numRuns: 60, seed: 7 },
    );
  });

  it('takes no time of others where there is nothing to move or encrypt', () => {
    const encoded = codecs.plain.encode([{ place, value: { text: 'x'.repeat(16_000) } }]);
    expect(encoded).not.toBeInstanceOf(Promise);
    const decoded = codecs.plain.decode([{ place, text: '{"a":1}' }], async () => new Map());
    expect(decoded).toEqual([{ a: 1 }]);
  });

  it('moves a large string out once, however many hold it', async () => {
    const text = 'large '.repeat(4_000);
    const { encoded } = await roundTrip(codecs.plain, [{ text }, { again: [text, text] }, { text: 'small' }]);
    expect(encoded.payloads).toHaveLength(1);
    expect(encoded.rows.map(({ payloads }) => payloads.length)).toEqual([1, 1, 0]);
    for (const { text: row } of encoded.rows) expect(row.length).toBeLessThan(400);
  });

  it('does not take two lone surrogates for one another', async () => {
    const { values } = await roundTrip(codecs.moving, [{ a: '\ud800'.repeat(100), b: '\ud801'.repeat(100) }]);
    expect(values).toEqual([{ a: '\ud800'.repeat(100), b: '\ud801'.repeat(100) }]);
  });

  it('leaves nothing of the contents in encrypted rows and payloads, nor a digest that can be guessed', async () => {
    const text = 'card 411-1 '.repeat(50);
    const { encoded } = await roundTrip(codecs.both, [{ text, short: 'card 411-1' }]);
    const { encoded: plain } = await roundTrip(codecs.moving, [{ text }]);
    expect(JSON.stringify(encoded)).not.toContain('411-1');
    expect(encoded.payloads[0]?.digest).not.toBe(plain.payloads[0]?.digest);
  });

  it('reads with every key of a list, and writes with the first', async () => {
    const old = makeCodec({ encryption: { keys: [key('k1', 1)] } });
    const both = makeCodec({ encryption: { keys: [key('k2', 2), key('k1', 1)] } });
    expect((await roundTrip(old, [{ a: 1 }], both)).values).toEqual([{ a: 1 }]);
    expect((await roundTrip(both, [{ a: 1 }])).encoded.rows[0]?.text).toMatch(/^e:k2:/);
    await expectFailure(() => roundTrip(both, [{ a: 1 }], old), 'STORE_FAILED', /encrypted with the key k2, which the store was not given/);
  });

  it('says so when the key is another one, or missing, or the row is plain', async () => {
    const wrong = makeCodec({ encryption: { keys: [key('k1', 9)] } });
    await expectFailure(() => roundTrip(codecs.sealing, [{ a: 1 }], wrong), 'STORE_FAILED', /does not open with the key k1/);
    await expectFailure(() => roundTrip(codecs.sealing, [{ a: 1 }], codecs.plain), 'STORE_FAILED', /the store was given no key/);
    await expectFailure(() => roundTrip(codecs.plain, [{ a: 1 }], codecs.sealing), 'STORE_FAILED', /is not encrypted/);
    const moving = makeCodec({ encryption: { keys: [key('k1')], allowPlain: true } });
    expect((await roundTrip(codecs.plain, [{ a: 1 }], moving)).values).toEqual([{ a: 1 }]);
  });

  it('does not open a row at another place, nor one that was altered', async () => {
    const { rows } = await codecs.sealing.encode([{ place, value: { a: 1 } }]);
    const text = rows[0]?.text ?? '';
    const elsewhere = placeOf('event', 'chat', 2);
    await expectFailure(
      () => codecs.sealing.decode([{ place: elsewhere, text }], async () => new Map()),
      'STORE_FAILED',
      /altered or moved/,
    );
    const altered = `${text.slice(0, -8)}${text.at(-8) === 'A' ? 'B' : 'A'}${text.slice(-7)}`;
    await expectFailure(() => codecs.sealing.decode([{ place, text: altered }], async () => new Map()), 'STORE_FAILED', /altered or moved/);
  });

  it('refuses a payload that is missing or another one, and a row that is no JSON, without quoting it', async () => {
    const value = { text: 'secret words '.repeat(20) };
    const encoded = await codecs.moving.encode([{ place, value }]);
    const rows = encoded.rows.map(({ text }) => ({ place, text }));
    await expectFailure(() => codecs.moving.decode(rows, async () => new Map()), 'STORE_FAILED', /is missing from the database/);
    const other = new Map(encoded.payloads.map(({ digest }) => [digest, JSON.stringify('other')]));
    await expectFailure(() => codecs.moving.decode(rows, async () => other), 'STORE_FAILED', /its digest is another/);
    const damaged = await thrownBy(() => codecs.plain.decode([{ place, text: '{"secret' }], async () => new Map()));
    expect(String(damaged)).toMatch(/is damaged/);
    expect(String(damaged)).not.toMatch(/secret/);
  });

  it('checks its options', async () => {
    await expectFailure(() => makeCodec({ blobChars: 3 }), 'CONFIG_INVALID', /blobChars/);
    await expectFailure(() => makeCodec({ encryption: { keys: [] as never } }), 'CONFIG_INVALID', /has no keys/);
    await expectFailure(() => makeCodec({ encryption: { keys: [{ id: 'k:1', key: new Uint8Array(32) }] } }), 'CONFIG_INVALID', /has no id/);
    await expectFailure(() => makeCodec({ encryption: { keys: [{ id: 'k1', key: 'short' }] } }), 'CONFIG_INVALID', /is not 32 bytes/);
    await expectFailure(() => makeCodec({ encryption: { keys: [key('k1'), key('k1', 2)] } }), 'CONFIG_INVALID', /the same id/);
    const bytes = crypto.getRandomValues(new Uint8Array(32));
    for (const encoding of ['hex', 'base64'] as const)
      makeCodec({ encryption: { keys: [{ id: 'k1', key: Buffer.from(bytes).toString(encoding) }] } });
  });
});

describe('writeName', () => {
  it('gives every name back, keeps unlike ones unlike, and writes only what any text column keeps', () => {
    fc.assert(
      fc.property(anyText, (name) => {
        expect(readName(writeName(name))).toBe(name);
        expect(isStorable(writeName(name))).toBe(true);
      }),
      { numRuns: 300, seed: 7 },
    );
    expect(writeName('user:1/é😀')).toBe('user:1/é😀');
  });
});
