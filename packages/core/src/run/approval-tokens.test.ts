import { describe, expect, it } from 'vitest';
import type { CallApproval } from '../state/events.js';
import { readApprovalKeys } from './approval-keys.js';
import type { ApprovalClaims } from './approval-tokens.js';
import { readToken, shownDigest, writeToken } from './approval-tokens.js';

const claims: ApprovalClaims = {
  id: 'r/p1',
  run: 'r',
  log: 'w1',
  agentPath: ['ä', 'b'],
  surface: 'toolInput',
  subject: 'r/1.0',
  revision: 2,
  digest: 'd',
  shown: 's?>',
  guardrails: 'g~~~',
  expiresAt: 5,
};
const approval: CallApproval = {
  id: 'r/p1',
  surface: 'toolInput',
  run: 'r',
  agentPath: ['a'],
  subject: 'r/1.0',
  revision: 0,
  digest: 'd',
  reason: 'Why.',
  asks: [{ by: 'approval', reason: 'Why.' }],
  label: { origin: 'agent:a', integrity: 'trusted' },
  untrustedFrom: [],
  tool: 't',
  callId: '1.0',
  input: { x: 1, y: 2 },
  flow: { effect: 'write', authority: 'all', declared: false },
  mayHaveRun: false,
};
const keysOf = (...texts: readonly string[]) =>
  readApprovalKeys(
    texts.map((text) => text.repeat(32)),
    'x',
  );
const keyOf = async (text: string): Promise<CryptoKey> => (await keysOf(text))[0] as CryptoKey;

describe('a token', () => {
  it('says what it was made for, under any of the keys', async () => {
    const token = await writeToken(claims, await keyOf('k'));
    expect(await readToken(token, await keysOf('k'))).toEqual(claims);
    expect(await readToken(token, await keysOf('j', 'k', 'i'))).toEqual(claims);
  });

  it('can stand in an address', async () => {
    for (let length = 0; length < 6; length += 1) {
      const given = { ...claims, shown: '?>ÿ~'.repeat(length) };
      const token = await writeToken(given, await keyOf('k'));
      expect(token).toMatch(/^[A-Za-z0-9_-]+\.[0-9a-f]{64}$/);
      expect(await readToken(token, await keysOf('k'))).toEqual(given);
    }
    const odd = await writeToken({ ...claims, shown: '~~~???>>>ÿÿÿ' }, await keyOf('k'));
    expect(odd).toMatch(/-.*\./);
    expect(odd).toMatch(/_.*\./);
  });

  it('is none under no key or another one', async () => {
    const token = await writeToken(claims, await keyOf('k'));
    expect(await readToken(token, await keysOf('j'))).toBeUndefined();
    expect(await readToken(token, [])).toBeUndefined();
  });

  it('is none when any of its signs was changed', async () => {
    const token = await writeToken(claims, await keyOf('k'));
    const keys = await keysOf('k');
    for (const at of [0, 5, token.indexOf('.') + 1, token.length - 1]) {
      const other = token[at] === '0' ? '1' : '0';
      expect(await readToken(token.slice(0, at) + other + token.slice(at + 1), keys)).toBeUndefined();
    }
  });

  it.each<[string, (token: string) => unknown]>([
    ['nothing', () => undefined],
    ['an object', (token) => ({ toString: () => token })],
    ['an empty text', () => ''],
    ['a text before it', (token) => `x${token}`],
    ['a line before it', (token) => `\n${token}`],
    ['a text behind it', (token) => `${token}0`],
    ['a line behind it', (token) => `${token}\n`],
    ['no payload', (token) => token.slice(token.indexOf('.'))],
    ['no signature', (token) => token.slice(0, token.indexOf('.'))],
    ['a shorter signature', (token) => token.slice(0, -1)],
    ['a signature in capitals', (token) => token.slice(0, -64) + token.slice(-64).toUpperCase()],
    ['another sign in place of the dot', (token) => token.replace('.', '_')],
  ])('is none with %s', async (_what, change) => {
    const token = await writeToken(claims, await keyOf('k'));
    expect(await readToken(change(token), await keysOf('k'))).toBeUndefined();
  });

  it('is none when the same key signed it for something else', async () => {
    const key = await keyOf('k');
    const token = await writeToken(claims, key);
    const payload = token.slice(0, token.indexOf('.'));
    const sign = async (text: string): Promise<string> =>
      Buffer.from(await globalThis.crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text))).toString('hex');
    expect(await readToken(`${payload}.${await sign(payload)}`, [key])).toBeUndefined();
    expect(await readToken(`${payload}.${await sign(`guardloop approval 1\n${payload}`)}`, [key])).toEqual(claims);
    const noJson = Buffer.from('no json').toString('base64url');
    expect(await readToken(`${noJson}.${await sign(`guardloop approval 1\n${noJson}`)}`, [key])).toBeUndefined();
    expect(await readToken(`A.${await sign('guardloop approval 1\nA')}`, [key])).toBeUndefined();
  });

  it('is none where a key cannot verify', async () => {
    const token = await writeToken(claims, await keyOf('k'));
    expect(await readToken(token, [{} as CryptoKey])).toBeUndefined();
  });

  it('has a signature of two signs for each byte', async () => {
    const key = await keyOf('k');
    // Some of these signatures have bytes below 16.
    for (let revision = 0; revision < 20; revision += 1)
      expect(await readToken(await writeToken({ ...claims, revision }, key), [key])).toEqual({ ...claims, revision });
  });
});

describe('the digest of an approval as it is shown', () => {
  it('is the same with and without its token, and in whatever order its fields stand', async () => {
    const digest = await shownDigest(approval);
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(await shownDigest({ ...approval, token: 'x.y' } as CallApproval)).toBe(digest);
    expect(await shownDigest(Object.fromEntries(Object.entries(approval).reverse()) as unknown as CallApproval)).toBe(digest);
  });

  it('is another when any word of it is', async () => {
    const digest = await shownDigest(approval);
    for (const name of Object.keys(approval)) expect(await shownDigest({ ...approval, [name]: 'other' } as CallApproval)).not.toBe(digest);
  });
});
