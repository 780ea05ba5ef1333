import type { JsonObject } from '@guardloop/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeChange } from './diff.js';
import type { Pin } from './pins.js';
import { digestOf } from './pins.js';

const pin = (change: Partial<Pin> = {}): Pin => ({
  name: 'send',
  digest: '',
  description: 'Sends a mail.',
  input: { type: 'object', properties: { to: { type: 'string', enum: ['a', 'b'] }, text: { type: 'string' } }, required: ['to', 'text'] },
  ...change,
});

/** The same JSON with the keys of every object in another order. */
const shuffled = (value: unknown, seed: number): unknown => {
  if (Array.isArray(value)) return value.map((element) => shuffled(element, seed));
  if (typeof value !== 'object' || value === null) return value;
  const keys = Object.keys(value);
  const turned = keys.map((_, index) => keys[(index + seed) % keys.length] ?? '');
  return Object.fromEntries(turned.map((key) => [key, shuffled((value as Record<string, unknown>)[key], seed)]));
};
const json = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.jsonValue(), { maxKeys: 6 });

describe('a digest', () => {
  it('is that of 64 hex digits, and does not depend on the order of keys', async () => {
    await fc.assert(
      fc.asyncProperty(json, fc.nat(5), async (schema, seed) => {
        const input = { type: 'object', properties: schema } as JsonObject;
        const digest = await digestOf(pin({ input }));
        expect(digest).toMatch(/^[0-9a-f]{64}$/);
        expect(await digestOf(pin({ input: shuffled(input, seed) as JsonObject }))).toBe(digest);
      }),
      { numRuns: 200, seed: 60 },
    );
  });

  it('does not depend on white space of descriptions, or on the order of sets', async () => {
    const digest = await digestOf(pin());
    for (const same of [
      pin({ description: '  Sends\n\ta   mail. ' }),
      pin({ input: { ...pin().input, required: ['text', 'to'] } }),
      pin({
        input: {
          type: 'object',
          required: ['to', 'text'],
          properties: { text: { type: 'string' }, to: { enum: ['b', 'a'], type: 'string' } },
        },
      }),
    ])
      expect(await digestOf(same)).toBe(digest);
  });

  it('is another for any other change', async () => {
    const digests = new Set<string>();
    const { properties } = pin().input as { readonly properties: JsonObject };
    const changes: readonly Pin[] = [
      pin(),
      pin({ name: 'send2' }),
      pin({ description: 'Sends a mail!' }),
      pin({ description: 'Sends a\u00a0mail.' }),
      pin({ description: 'Sends a mail.\u200b' }),
      pin({ description: 'Sendsa mail.' }),
      pin({ output: { type: 'object' } }),
      pin({ input: { ...pin().input, required: ['to'] } }),
      pin({ input: { ...pin().input, additionalProperties: false } }),
      pin({ input: { ...pin().input, properties: { ...properties, to: { type: 'string', enum: ['a', 'c'] } } } }),
      pin({ input: { ...pin().input, properties: { ...properties, text: { type: 'string', default: 'x  y' } } } }),
      pin({ input: { ...pin().input, properties: { ...properties, text: { type: 'string', default: 'x y' } } } }),
      pin({ input: { ...pin().input, properties: { ...properties, text: { type: 'string', const: { enum: ['a', 'b'] } } } } }),
      pin({ input: { ...pin().input, properties: { ...properties, text: { type: 'string', const: { enum: ['b', 'a'] } } } } }),
      pin({ input: { ...pin().input, properties: { ...properties, required: { type: 'string' } } } }),
    ];
    for (const change of changes) digests.add(await digestOf(change));
    expect(digests.size).toBe(changes.length);
  });
});

describe('a diff', () => {
  it('names what is gone and what has come, in order, and writes out what is not seen', () => {
    const now = pin({
      description: 'Sends a mail.\u{e0041}\u202e',
      input: {
        type: 'object',
        required: ['to', 'text'],
        properties: { bcc: { type: 'string' }, text: { type: 'string' }, to: { type: 'string', enum: ['a', 'b'] } },
      },
    });
    expect(describeChange(pin(), now)).toBe(
      [
        'send has changed',
        '  description',
        '    - Sends a mail.',
        '    + Sends a mail.\\u{e0041}\\u{202e}',
        '  input',
        '    +     "bcc": {',
        '    +       "type": "string"',
        '    +     },',
      ].join('\n'),
    );
  });

  it('of a new tool is all of it; of huge ones it is cut', () => {
    expect(describeChange(undefined, pin())).toContain('send is new\n  description\n    + Sends a mail.\n  input\n    + {');
    const properties = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`p${index}`, {}]));
    const lines = describeChange(pin(), pin({ input: { type: 'object', properties } })).split('\n');
    expect(lines.length).toBeLessThan(420);
    expect(lines.at(-1)).toMatch(/… and \d+ more lines/);
  });
});
