import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newSalt, saltedSha256Hex, sha256Hex } from './digest.js';

describe('sha256Hex', () => {
  it('is the sha256 of every text in UTF-8', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), async (text) => {
        expect(await sha256Hex(text)).toBe(createHash('sha256').update(text).digest('hex'));
      }),
    );
  });
});

describe('saltedSha256Hex', () => {
  it('depends on the salt as on the text', async () => {
    const salt = newSalt();
    expect(salt).toMatch(/^[0-9a-f]{32}$/);
    expect(newSalt()).not.toBe(salt);
    expect(await saltedSha256Hex(salt, 'answer')).toBe(createHmac('sha256', salt).update('answer').digest('hex'));
    expect(await saltedSha256Hex(newSalt(), 'answer')).not.toBe(await saltedSha256Hex(salt, 'answer'));
  });

  it('is the HMAC of every text in UTF-8 under every salt', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string({ unit: 'grapheme' }), async (salt, text) => {
        expect(await saltedSha256Hex(salt, text)).toBe(createHmac('sha256', salt).update(text).digest('hex'));
      }),
    );
  });
});
