import { describe, expect, it } from 'vitest';
import type { ApprovalSigner } from './approval-keys.js';
import { readApprovalKeys, readSigning } from './approval-keys.js';

const { subtle } = globalThis.crypto;
const text = 'k'.repeat(32);
const hmac = (usages: readonly KeyUsage[], hash = 'SHA-256'): Promise<CryptoKey> =>
  subtle.importKey('raw', new Uint8Array(32).fill(7), { name: 'HMAC', hash }, false, [...usages]);
const signWith = async (key: CryptoKey | undefined): Promise<string> =>
  Buffer.from(await subtle.sign('HMAC', key as CryptoKey, new TextEncoder().encode('x'))).toString('hex');
const advice =
  'Give at least 32 random bytes, a text of at least 32 bytes, or a CryptoKey for HMAC with SHA-256 that may verify; the first of several must also sign.';

/** How reading a key fails, at once or later. */
async function fault(given: unknown): Promise<unknown> {
  try {
    await readApprovalKeys(given, 'The place');
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

describe('an approval key', () => {
  it('is a text, bytes or a CryptoKey, and signs the same whichever way it is given', async () => {
    const bytes = new TextEncoder().encode(text);
    const imported = await subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
    const given = await Promise.all([text, bytes, Buffer.from(text), imported].map((key) => readApprovalKeys(key, 'x')));
    const signatures = await Promise.all(given.map(([key]) => signWith(key)));
    expect(given.map((keys) => keys.length)).toEqual([1, 1, 1, 1]);
    expect(new Set(signatures).size).toBe(1);
    expect(given[3]?.[0]).toBe(imported);
    expect(given[0]?.[0]?.extractable).toBe(false);
  });

  it('may be one of several, of which only the first must sign', async () => {
    const verifying = await hmac(['verify']);
    const keys = await readApprovalKeys([text, 'j'.repeat(40), verifying], 'x');
    expect(keys).toHaveLength(3);
    expect(keys[2]).toBe(verifying);
    expect(await fault([verifying, text])).toMatchObject({
      code: 'CONFIG_INVALID',
      message: `The place has a CryptoKey that does not fit. ${advice}`,
    });
  });

  it('is counted in bytes, of which 32 are enough', async () => {
    expect(await fault('k'.repeat(31))).toMatchObject({ message: `The place has a key of 31 bytes. ${advice}` });
    expect(await fault('é'.repeat(16))).toBeUndefined();
    expect(await fault(new Uint8Array(31))).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(await fault(new Uint8Array(32))).toBeUndefined();
    expect(await fault([text, 'short'])).toMatchObject({ message: `The place has a key of 5 bytes. ${advice}` });
  });

  it.each<[string, unknown, string]>([
    ['a number', 5, 'The place has a key that is "number".'],
    ['nothing', undefined, 'The place has a key that is "undefined".'],
    ['null', null, 'The place has a key that is an object.'],
    ['an object', { secret: text }, 'The place has a key that is an object.'],
    ['a function', () => text, 'The place has a key that is "function".'],
    ['an empty list', [], 'The place has no key.'],
    ['a list in a list', [[text]], 'The place has a key that is an object.'],
    ['other number arrays', Uint16Array.from({ length: 40 }), 'The place has a key that is an object.'],
    [
      'an object that looks like a key',
      { algorithm: { name: 'HMAC', hash: { name: 'SHA-256' } } },
      'The place has a CryptoKey that does not fit.',
    ],
    ['a key for something else', { algorithm: { name: 'AES-GCM' } }, 'The place has a CryptoKey that does not fit.'],
    ['a key without a hash', { algorithm: { name: 'HMAC' } }, 'The place has a CryptoKey that does not fit.'],
    ['a key whose algorithm has no name', { algorithm: { hash: 'SHA-256' } }, 'The place has a key that is an object.'],
  ])('is not %s, and nothing of it is told', async (_what, given, message) => {
    expect(await fault(given)).toMatchObject({ code: 'CONFIG_INVALID', message: `${message} ${advice}` });
  });

  it('is for HMAC with SHA-256 and nothing else, and may verify', async () => {
    expect(await fault(await hmac(['sign', 'verify'], 'SHA-512'))).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(await fault(await hmac(['sign']))).toMatchObject({ code: 'CONFIG_INVALID' });
    const named = await hmac(['sign', 'verify']);
    expect(await fault(named)).toBeUndefined();
    const aes = await subtle.importKey('raw', new Uint8Array(32), 'AES-GCM', false, ['encrypt']);
    expect(await fault(aes)).toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('that fails is no unhandled rejection while nobody awaits it', async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', listen);
    const keys = readApprovalKeys('short', 'x');
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listen);
    expect(unhandled).toEqual([]);
    await expect(keys).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

describe('the option `approvals`', () => {
  it('may be left out', () => {
    expect(readSigning(undefined)).toBeUndefined();
  });

  it('holds keys and how long a token holds', async () => {
    const signing = readSigning({ key: [text, 'j'.repeat(32)], forMs: 0.5 }) as ApprovalSigner;
    expect(signing.forMs).toBe(0.5);
    expect(await signing.keys).toHaveLength(2);
    expect(readSigning({ key: text })?.forMs).toBeUndefined();
    expect(readSigning({ key: text, forMs: undefined })?.forMs).toBeUndefined();
  });

  it.each<[string, unknown, string]>([
    ['null', null, 'is no object of'],
    ['a text', text, 'is no object of'],
    ['an object with another field', { key: text, keys: [] }, 'is no object of'],
    ['an object without a key', { forMs: 5 }, 'has no key. Give { key, forMs }'],
    ['a time of nothing', { key: text, forMs: 0 }, 'has 0 as `forMs`'],
    ['a time below nothing', { key: text, forMs: -1 }, 'has -1 as `forMs`'],
    ['an endless time', { key: text, forMs: Number.POSITIVE_INFINITY }, 'has Infinity as `forMs`'],
    ['a time that is no number', { key: text, forMs: '5' }, 'has "5" as `forMs`'],
    ['no number', { key: text, forMs: Number.NaN }, 'has NaN as `forMs`'],
    ['null for a time', { key: text, forMs: null }, 'has null as `forMs`'],
  ])('is not %s', (_what, given, words) => {
    expect(() => readSigning(given)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(words) as string }),
    );
  });

  it('names itself where a key is none', async () => {
    await expect(readSigning({ key: 'short' })?.keys).rejects.toThrow('The option `approvals` has a key of 5 bytes.');
  });
});
