import { isBech32 } from '../checksums.js';
import type { SecretKind } from '../kind.js';
import { anyHex, base64 } from '../kind.js';

/** Private keys, by themselves and in files. */
export const keyKinds = [
  {
    id: 'private-key',
    words: 'private key',
    group: 'keys',
    keywords: ['-----BEGIN '],
    pattern:
      /-----BEGIN (?:[A-Z0-9 ]{0,30})PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s:,.;()\\"'<>@-](?!----BEGIN)){16,15000}?-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----/,
    inWord: true,
    long: true,
    keepsPlaceholders: true,
    check: isKeyBlock,
  },
  {
    id: 'private-key-beginning',
    words: 'private key without its end',
    group: 'keys',
    keywords: ['-----BEGIN '],
    pattern: /-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s:,\\-](?!----(?:BEGIN|END))){40,15000}/,
    inWord: true,
    long: true,
    keepsPlaceholders: true,
    check: isKeyBlock,
  },
  {
    id: 'private-key-opening',
    words: 'the first lines of a private key',
    group: 'keys',
    keywords: ['-----BEGIN '],
    pattern: /-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s:,\\-](?!----(?:BEGIN|END))){40,900}/,
    inWord: true,
    keepsPlaceholders: true,
    check: isKeyBlock,
  },
  {
    id: 'putty-private-key',
    words: 'PuTTY private key',
    group: 'keys',
    keywords: ['PuTTY-User-Key-File-'],
    pattern: /PuTTY-User-Key-File-[0-9]: (?:(?!PuTTY-User)[\s\S]){20,8000}?Private-MAC: [0-9a-f]{40,64}/,
    long: true,
  },
  {
    id: 'age-secret-key',
    words: 'age secret key',
    group: 'keys',
    starts: ['AGE-SECRET-KEY-1'],
    of: 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L',
    length: 58,
    proof: isBech32,
  },
  {
    id: 'nostr-secret-key',
    words: 'Nostr secret key',
    group: 'keys',
    starts: ['nsec1'],
    of: 'qpzry9x8gf2tvdw0s3jn54khce6mua7l',
    length: 58,
    proof: isBech32,
  },
  { id: 'minisign-secret-key', words: 'minisign secret key', group: 'keys', starts: ['RWRTY0Iy'], of: `${base64}=`, length: [150, 240] },
  {
    id: 'wireguard-private-key',
    words: 'WireGuard private key',
    group: 'keys',
    names: ['privatekey', 'presharedkey'],
    of: `${base64}=`,
    length: 44,
    mixed: true,
    entropy: 4,
    check: (value: string) => value.endsWith('='),
  },
  {
    id: 'bitcoin-extended-key',
    words: 'extended private key of a wallet',
    group: 'keys',
    starts: ['xprv', 'yprv', 'zprv', 'tprv'],
    of: '1-9A-HJ-NP-Za-km-z',
    length: 107,
  },
  {
    id: 'bitcoin-private-key',
    words: 'private key of a Bitcoin wallet',
    group: 'keys',
    names: [['bitcoin', 'key'], ['btc', 'key'], 'wif'],
    of: '1-9A-HJ-NP-Za-km-z',
    length: [51, 52],
    mixed: true,
  },
  {
    id: 'ethereum-private-key',
    words: 'private key of an Ethereum wallet',
    group: 'keys',
    names: ['privatekey', 'privkey', ['wallet', 'key'], ['eth', 'secret']],
    of: '0-9A-Fa-fx',
    length: [64, 66],
    entropy: 3,
  },
  {
    id: 'ssh-dsa-legacy-key',
    words: 'private key in hexadecimal',
    group: 'keys',
    names: ['secretkeyhex', 'privatekeyhex', 'encryptionkey', 'signingkey'],
    of: anyHex,
    length: [32, 128],
    entropy: 3,
  },
] as const satisfies readonly SecretKind[];

/** What stands in the block is more than a word and its lines. */
function isKeyBlock(block: string): boolean {
  return /[A-Za-z0-9+/]{24}/.test(block.replace(/-----(?:BEGIN|END)[^-]{0,60}-----/g, '').replace(/\\[nr]/g, ''));
}
