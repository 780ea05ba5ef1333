import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
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

  it('makes of the salt a key that cannot be read back', async () => {
    const importKey = vi.spyOn(globalThis.crypto.subtle, 'importKey');
    try {
      await saltedSha256Hex('salt', 'answer');
      const keys = await Promise.all(importKey.mock.results.map(({ value }) => value as Promise<CryptoKey>));
      expect(keys.map(({ extractable }) => extractable)).toEqual([false]);
    } finally {
      importKey.mockRestore();
    }
  });

  it('is the HMAC of every text in UTF-8 under every salt', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string({ unit: 'grapheme' }), async (salt, text) => {
        expect(await saltedSha256Hex(salt, text)).toBe(createHmac('sha256', salt).update(text).digest('hex'));
      }),
    );
  });
});
