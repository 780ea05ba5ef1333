import { defineAgent, defineTool, run, stream } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { builtInKinds } from './built-in.js';
import { hasBase62Crc, isBech32 } from './checksums.js';
import type { NamedKind, PrefixKind, SecretKind } from './kind.js';
import { findSecrets, secretKinds, secrets } from './secrets.js';

const { find } = findSecrets();
const found = (text: string, key?: string): string[] =>
  find(text, { surface: 'input', key }).map(({ kind, start, end }) => `${kind}: ${text.slice(start, end)}`);
const kindsIn = (text: string, key?: string): string[] => [...new Set(find(text, { surface: 'input', key }).map(({ kind }) => kind))];

const kinds: readonly SecretKind[] = builtInKinds;
const prefixKinds = kinds.filter((kind): kind is PrefixKind => 'starts' in kind);
const namedKinds = kinds.filter((kind): kind is NamedKind => 'names' in kind);

const alphabets = new Map<string, string>();
function alphabetOf(of: string): string {
  const known = alphabets.get(of);
  if (known !== undefined) return known;
  const pattern = new RegExp(`[${of}]`);
  const made = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index))
    // What ends a value, or makes it look like a variable, is no test of a kind.
    .filter((character) => pattern.test(character) && !'"\'`,;<>&\\$\x7b}()[]%#*.?!:'.includes(character))
    .join('');
  alphabets.set(of, made);
  return made;
}

/** A text of so many characters that looks drawn by lot. */
function drawn(alphabet: string, length: number, seed: number): string {
  let state = seed * 2_654_435_761 + 12_345;
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    const next = alphabet.charAt((state >>> 16) % alphabet.length);
    if (!text.endsWith(next)) text += next;
  }
  return text;
}

const shortest = (length: number | readonly [number, number]): number => (typeof length === 'number' ? length : length[0]);

describe('kinds with a beginning', () => {
  test.each(prefixKinds.map((kind) => [kind.id, kind] as const))('%s is found by its beginning, alphabet and length', (_id, kind) => {
    for (const start of kind.starts) {
      // Formats with rules beyond their shape have tests of their own below.
      if (kind.check !== undefined) continue;
      const results = [1, 2, 3, 4, 5].map((seed) => {
        const token = start + drawn(alphabetOf(kind.of), shortest(kind.length), seed);
        return found(`use ${token} here`).some((entry) => entry.endsWith(token));
      });
      expect(results.filter(Boolean).length, start).toBeGreaterThanOrEqual(4);
    }
  });

  test.each(prefixKinds.map((kind) => [kind.id, kind] as const))('%s is not found within a word', (id, kind) => {
    for (const start of kind.starts) {
      const token = start + drawn(alphabetOf(kind.of), shortest(kind.length), 7);
      expect(kindsIn(`a${token}`)).not.toContain(id);
    }
  });
});

describe('kinds with a name', () => {
  test.each(namedKinds.filter(({ check }) => check === undefined).map((kind) => [kind.id, kind] as const))(
    '%s is found by the name that it is given to',
    (_id, kind) => {
      const [words = ''] = kind.names;
      const name = typeof words === 'string' ? words : words.join('_');
      const results = [1, 2, 3, 4, 5].map((seed) => {
        const value = drawn(alphabetOf(kind.of), shortest(kind.length), seed);
        return [`${name.toUpperCase()}="${value}"`, `"${name}": "${value}"`, `export ${name}_value=${value}\n`].every((text) =>
          found(text).some((entry) => entry.endsWith(value)),
        );
      });
      expect(results.filter(Boolean).length).toBeGreaterThanOrEqual(3);
    },
  );
});

describe('formats', () => {
  const r = (length: number, seed = 3): string => drawn('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', length, seed);
  const h = (length: number, seed = 4): string => drawn('0123456789abcdef', length, seed);
  const u = (length: number, seed = 5): string => drawn('ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789', length, seed);
  const uuid = `${h(8)}-${h(4)}-${h(4)}-${h(4)}-${h(12)}`;
  const jwt = `${btoa('{"alg":"HS256","typ":"JWT"}')}.${btoa('{"sub":"1234567890","name":"Jan Novak"}').replace(/=+$/, '')}.${r(43)}`;

  test.each([
    ['openai-api-key', `sk-${r(20, 1)}T3BlbkFJ${r(20, 2)}`],
    ['openai-project-key', `sk-proj-${r(60)}_${r(60, 8)}`],
    ['anthropic-api-key', `sk-ant-api03-${r(93)}AA`],
    ['langfuse-secret-key', `sk-lf-${uuid}`],
    ['pinecone-api-key', `pcsk_${r(6)}_${r(64)}`],
    ['aws-access-key-id', `AKIA${drawn('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16, 2)}`],
    ['aws-key-pair', `AKIA${drawn('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16, 2)},${r(40)}`],
    ['authorization-token', `Authorization: Token ${h(40)}`],
    ['registry-login', `{"auths":{"ghcr.io":{"auth":"${btoa(`jan:${r(20)}`)}"}}}`],
    ['netrc-login', `machine git.example.org login jan password ${r(16)}`],
    ['automation-webhook-url', `https://hooks.zapier.com/hooks/catch/123456/${r(6)}1`],
    ['azure-client-secret', `${r(3)}8Q~${r(34)}`],
    ['azure-storage-key', `AccountKey=${r(86)}==`],
    ['azure-devops-pat', `${r(76)}AZDO${r(4)}`],
    ['google-oauth-access-token', `ya29.${r(80)}`],
    ['fly-token', `fo1_${r(43)}`],
    ['gitlab-routable-token', `glpat-${r(40)}.01.${drawn('0123456789abcdef', 7, 2)}`],
    ['github-app-jwt', `ghs_12345_${jwt}`],
    ['bitbucket-access-token', `ATATT3${r(180)}=${drawn('0123456789ABCDEF', 8, 1)}`],
    ['circleci-token', `CCIPAT_${r(22)}_${h(40)}`],
    ['postman-api-key', `PMAK-${h(24)}-${h(34)}`],
    ['sourcegraph-token', `sgp_${h(16)}_${h(40)}`],
    ['launchdarkly-key', `sdk-${uuid}`],
    ['slack-token', `xoxb-${drawn('123456789', 12, 1)}-${drawn('123456789', 12, 2)}-${r(24)}`],
    ['slack-app-token', `xapp-1-A${u(10)}-${drawn('123456789', 13, 2)}-${h(64)}`],
    ['slack-webhook-url', `https://hooks.slack.com/services/T${u(8)}/B${u(8)}/${r(24)}`],
    ['discord-bot-token', `MTAx${r(20)}1a.G${r(5)}.${r(38)}`],
    ['discord-webhook-url', `https://discord.com/api/webhooks/123456789012345678/${r(68)}`],
    ['telegram-bot-token', `https://api.telegram.org/bot${drawn('123456789', 10, 1)}:AA${r(33)}/getMe`],
    ['sendgrid-api-key', `SG.${r(22)}.${r(43)}`],
    ['mailchimp-api-key', `${h(32)}-us12`],
    ['brevo-api-key', `xkeysib-${h(64)}-${r(16)}`],
    ['stripe-secret-key', `sk_live_${r(24)}`],
    ['paypal-braintree-token', `access_token$production$${drawn('0123456789abcdefghij', 16, 3)}$${h(32)}`],
    ['hubspot-token', `pat-na1-${uuid}`],
    ['airtable-token', `pat${r(14)}.${h(64)}`],
    ['salesforce-token', `00D${r(12)}!AQ${r(90)}`],
    ['onepassword-secret-key', `A3-${u(6, 1)}-${u(6, 2)}-${u(5, 3)}-${u(5, 4)}-${u(5, 5)}-${u(5, 6)}`],
    ['terraform-token', `${r(14)}.atlasv1.${r(67)}`],
    ['doppler-token', `dp.pt.${r(43)}`],
    ['tailscale-key', `tskey-auth-${r(12)}-${r(32)}`],
    ['docker-swarm-token', `SWMTKN-1-${drawn('0123456789abcdefghij', 50, 1)}-${drawn('0123456789abcdefghij', 25, 2)}`],
    ['dynatrace-token', `dt0c01.${u(24)}.${u(64)}`],
    ['new-relic-license-key', `${h(32)}FFFFNRAL`],
    ['databricks-token', `dapi${h(32)}`],
    ['astra-token', `AstraCS:${drawn('abcdefghijKLMNOP', 24, 2)}:${h(64)}`],
    ['json-web-token', jwt],
    ['json-web-token-base64', btoa(jwt)],
    ['artifactory-api-key', `key=AKC${r(20)}1`],
    ['maxmind-license-key', `${r(6)}_${r(29)}_mmk`],
    ['cloudinary-url', `cloudinary://123456789012345:${r(27)}@demo`],
    ['bearer-token', `Authorization: Bearer ${r(40)}`],
    ['basic-authorization', `Authorization: Basic ${btoa('deploy:Hunter2!x')}`],
    ['url-credentials', 'postgres://app:S3cure-Pw@db.internal:5432/orders'],
    ['url-credentials', 'see https://deploy:x8Kd@git.example.org/a.git'],
    ['npm-legacy-token', `//registry.example.org/:_authToken=${r(36)}`],
  ])('%s is found, and is what is put away', (kind, text) => {
    expect(kindsIn(`before ${text} after`)).toContain(kind);
  });

  test('of an address only the login is put away', () => {
    expect(found('postgres://app:S3cure-Pw@db:5432/x')).toEqual(['url-credentials: app:S3cure-Pw']);
  });

  test('private keys are found whole, on lines of their own and within a JSON text', () => {
    const block = `-----BEGIN RSA PRIVATE KEY-----\n${Array.from({ length: 25 }, (_, index) => r(64, index + 1)).join('\n')}\n-----END RSA PRIVATE KEY-----`;
    expect(found(`key:\n${block}\nend`)).toEqual([`private-key: ${block}`]);
    const escaped = block.replaceAll('\n', '\\n');
    expect(found(`{"private_key": "${escaped}"}`)).toContain(`private-key: ${escaped}`);
    expect(found(block.slice(0, 1_300))).toEqual([`private-key-beginning: ${block.slice(0, 1_300)}`]);
    const short = findSecrets({ long: false }).find(block, { surface: 'input' });
    expect(short.map(({ kind }) => kind)).toEqual(['private-key-opening']);
    expect(kindsIn('-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----')).toEqual([]);
    expect(kindsIn('-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----')).toEqual([]);
  });

  test.each(['\\n', '\\t', '\\r\\n', '\\\\n', '\\u000a', '\\u001b[32m', '\\x0a', '%0A', 'token%3D', '\u001b[1;32m'])(
    'behind %j, which was not decoded, a token is found as behind a line break',
    (before) => {
      const tokens = [
        `glpat-${drawn('abcdefghkmnpqrstuvwxyz23456789', 20, 3)}`,
        `AKIA${drawn('ABCDEFGHKMNPQRSTUVWXYZ234567', 16, 4)}`,
        `123456789:AA${drawn('abcdefghkmnpqrstuvwxyzABC23456789', 33, 5)}`,
        `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.${drawn('abcdefghkmnpqrstuvwxyz23456789', 43, 6)}`,
      ];
      for (const token of tokens) {
        const [alone] = found(token);
        expect(alone).toMatch(token);
        expect(found(`{"log":"x${before}${token}"}`)).toEqual([alone]);
      }
    },
  );

  test('a name behind an escape is the name without it', () => {
    const value = drawn('0123456789abcdef', 32, 9);
    expect(found(`A=1\\ndd_api_key=${value}`)).toEqual([`datadog-key: ${value}`]);
  });

  test('full-width letters and invisible characters hide no token', () => {
    const token = `glpat-${drawn('abcdefghkmnpqrstuvwxyz23456789', 20, 3)}`;
    const wide = token.replace(/[a-z0-9]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0));
    for (const written of [
      wide,
      `gl\u200bpat${token.slice(5)}`,
      [...token].join('\u2060'),
      `${token.slice(0, 12)}\u00ad${token.slice(12)}`,
    ])
      expect(found(`Ключ: ${written}, é`)).toEqual([`gitlab-token: ${written}`]);
    expect(found('请看：Ａ１，ＯＫ')).toEqual([]);
  });

  test('a right checksum is proof, whatever the token looks like', () => {
    // The checksum was worked out by hand from the published rule: CRC-32 of thirty letters a, in base 62.
    const token = `ghp_${'x'.repeat(30)}`;
    const right = `${token}${crcOf('x'.repeat(30))}`;
    expect(hasBase62Crc(right)).toBe(true);
    expect(kindsIn(right)).toEqual(['github-token']);
    expect(kindsIn(`${token}AAAAAA`)).toEqual([]);
  });

  test('age keys have a checksum, of which one wrong letter is seen', () => {
    // BIP 173's own test vector shows that the checksum is Bech32's.
    expect(isBech32('A12UEL5L')).toBe(true);
    expect(isBech32('abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw')).toBe(true);
    expect(isBech32('abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxq')).toBe(false);
  });
});

/** CRC-32 bit by bit and base 62, written apart from the code under test. */
function crcOf(text: string): string {
  let crc = 0xffffffff;
  for (const character of text) {
    crc ^= character.charCodeAt(0);
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  let rest = BigInt((crc ^ 0xffffffff) >>> 0);
  let digits = '';
  while (rest > 0n) {
    digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.charAt(Number(rest % 62n)) + digits;
    rest /= 62n;
  }
  return digits.padStart(6, '0');
}

describe('what is given to a name', () => {
  test.each([
    'password = "Tr0ub4dor&3"',
    'Server=db;Database=x;User Id=sa;Password=Str0ng!Pw;',
    "db_password: 'hunter2-prod'",
    'PGPASSWORD=s3cr3t-Pw psql',
    'mysql --user=root --password=G7k!pQ2z',
    '--api-key 8fj29dkq02jfk3ls9dkw',
    '<password>Xk29-dk3k</password>',
    '{"clientSecret":"k29dkW0s_dk3lfPq82ms"}',
    'my password is Zk29!dke8',
    'const apiToken = `a8f5f167f44f4964e6c998dee827110c`;',
    'spring.datasource.password=Pa55w.rd1',
    'auth_token := "8d969eef6ecad3c29a3a629280e686cf"',
    'Passwort: Sommer2031!',
    'some_api_token_123 = "k29dkW0s_dk3lfPq82ms"',
    'creds: "k29dkW0s_dk3lfPq82ms"',
    'password: hunter2',
    'the password is hunter2.',
    "apikey = 'q{{k}u)w$\x7be]xyz(lmn[opq>-_$#abcdefg}}'",
    '**Password:** `Zk29-dke8`',
    '**Password**: Zk29-dke8',
    'Password: **Zk29-dke8**',
    'Password：Zk29-dke8',
    'Your new password is: Zk29-dke8',
    '- **API key:** k29dkW0sdk3lfPq82ms',
  ])('is found in «%s»', (text) => expect(kindsIn(text).some((kind) => kind === 'password' || kind === 'secret-value')).toBe(true));

  test.each([
    'password = "$\x7bPASSWORD}"',
    'password: process.env.DB_PASSWORD',
    'token = getToken(user)',
    'API_KEY=<your key here>',
    'api_key = "YOUR_API_KEY"',
    'secret: {{ .Values.secret }}',
    'password=$1',
    'password: ********',
    'password = None',
    'token: string;',
    'secret = os.environ["SECRET"]',
    'The password is required and must have 8 characters.',
    'my password is not working since 2021',
    'secret_id: 123e4567-e89b-12d3-a456-426614174000',
    'token: 123e4567-e89b-12d3-a456-426614174000',
    'sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    'checksum=d41d8cd98f00b204e9800998ecf8427e',
    'commit 8d969eef6ecad3c29a3a629280e686cf0c3f5d5a',
    'max_tokens: 4096, total_tokens=123456789012',
    'tokenizer: "cl100k_base-2023-version1"',
    'next_page_token = "CAUQAA1234567890abcdef"',
    'password_reset_url: https://example.com/reset/1234567890abcdef',
    'secretName: my-app-tls-2024',
    'key = "user_1234567890"',
    'keyboard: "qwerty-1234567890"',
    'passport: C01234567X',
    'password: string (min 8)',
    'access_token_path = "/var/run/secrets/token1"',
    'PASSWORD_FILE=/run/secrets/db_password1',
    'secretRef: projects/12345/secrets/db-pass/versions/3',
    'password = config.get("db.password1")',
    'pass: 12/15',
    'the token 123e4567-e89b-12d3-a456-426614174000 was seen',
    'a token like a-b2-c3-d4-of-some-words-2031',
    "'@scope/password': 5.3.0(@types/node@20.19.43)",
    'pass: matchResult?.pass ?? 1',
    'pass = !this.result.issues1',
    'password: password1',
    '**Password:** required',
    'Password: **required**',
    '**Password:** ********',
    'Your password is: invalid',
    'Primary key: order_20310204',
    '"password": "(?=.*[A-Z]).{8,}"',
    'the password is required since 2021',
    'token: 2031-02-03T04:05:06Z',
    'token=abcdefghijklmnopqrstuvwxyz',
    'curl -u "$USER:$PASS" https://example.com',
    'curl -u user:password https://example.com',
    'https://example.com:8080/@jan',
    'https://user:$\x7bTOKEN}@example.com',
    'https://username:password@example.com',
    'ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    'sk-XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX',
    'AKIAIOSFODNN7EXAMPLE',
    'hf_your_token_here_and_so_on_and_so_on_',
  ])('is none in «%s»', (text) => expect(kindsIn(text)).toEqual([]));

  test('of Markdown the stars stay, and of a password no last sign does', () => {
    expect(found('Password: **Zk29-dke8**.')).toEqual(['password: Zk29-dke8']);
    expect(found('DB_PASS=Zk29dke!\nX=1')).toEqual(['password: Zk29dke!']);
  });

  test('a field is the name of its value', () => {
    expect(kindsIn('Zk29!dke8', 'password')).toEqual(['password']);
    expect(kindsIn('k29dkW0s_dk3lfPq82ms', 'clientSecret')).toEqual(['secret-value']);
    expect(kindsIn('k29dkW0s_dk3lfPq82ms', 'title')).toEqual([]);
    expect(kindsIn('a sentence about a password', 'password')).toEqual([]);
    expect(kindsIn('password', 'password')).toEqual([]);
  });

  test.each([
    ['curl -u admin:G7kpQ2z https://example.com', 'admin:G7kpQ2z'],
    ['curl -s --user "jan:Zk29!dke8" \\\n  https://example.com', 'jan:Zk29!dke8'],
    ['curl https://a.example -X POST -u k82ldk29dk3:', 'k82ldk29dk3:'],
  ])('a login in a command is found: %s', (text, login) => expect(found(text)).toContain(`command-credentials: ${login}`));
});

describe('choices', () => {
  const token = `glpat-${drawn('abcdefghijklmnopqrstuvwxyz0123456789', 20, 9)}`;
  const kindsOf = (options: Parameters<typeof findSecrets>[0], text: string): string[] =>
    findSecrets(options)
      .find(text, { surface: 'input' })
      .map(({ kind }) => kind);

  test('kinds and groups are chosen and left out', () => {
    const text = `${token} password="Zk29!dke8"`;
    expect(kindsOf({ kinds: ['code'] }, text)).toEqual(['gitlab-token']);
    expect(kindsOf({ kinds: ['password'] }, text)).toEqual(['password']);
    expect(kindsOf({ without: ['generic'] }, text)).toEqual(['gitlab-token']);
    expect(kindsOf({ without: ['gitlab-token'] }, text)).toEqual(['password']);
  });

  test('values are let pass, exactly or by a pattern', () => {
    expect(kindsOf({ allow: [token] }, token)).toEqual([]);
    expect(kindsOf({ allow: [/^glpat-/] }, token)).toEqual([]);
    expect(kindsOf({ allow: [/^ghp_/] }, token)).toEqual(['gitlab-token']);
  });

  test('rules of one’s own have keywords, a group, a floor and allowances', () => {
    const rules = [
      {
        id: 'acme-key',
        pattern: /acme_([a-z0-9]{12})/i,
        keywords: ['ACME_'],
        entropy: 2.5,
        allow: [{ words: ['demo'] }, { patterns: ['^0'] }],
      },
    ];
    const text = 'acme_k29dk3lfpq82 acme_demodemo1234 acme_0k29dk3lfpq8 acme_aaaaaaaaaaaa ACME_zk29dk3lfpq8';
    const mine = findSecrets({ kinds: ['payments'], rules }).find(text, { surface: 'input' });
    expect(mine.map(({ kind, start, end }) => `${kind} ${text.slice(start, end)}`)).toEqual([
      'acme-key k29dk3lfpq82',
      'acme-key zk29dk3lfpq8',
    ]);
  });

  test('base64 and hexadecimal of a secret are looked into where that is asked for', () => {
    const note = `the key is ${token}, keep it`;
    const hexadecimal = Array.from(note, (character) => character.charCodeAt(0).toString(16)).join('');
    for (const text of [`x ${btoa(note)} y`, `x ${hexadecimal} y`]) {
      expect(kindsOf({}, text)).toEqual([]);
      expect(kindsOf({ encoded: true }, text)).toEqual(['gitlab-token']);
    }
    expect(kindsOf({ encoded: true }, btoa('a sentence of some words, nothing else'))).toEqual([]);
  });

  test.each([
    [{ kinds: ['githb-token'] }, /kinds names githb-token, which is no kind and no group\. Did you mean github-token\?/],
    [{ without: 'ai' }, /without is no list/],
    [{ encoded: 'yes' }, /encoded is neither true nor false/],
    [{ allow: 'x' }, /allow is no list/],
    [{ allow: [/(?<=a)b/] }, /allow: pattern cannot be used/],
    [{ rules: [{ id: 'mine', pattern: 'a(?=b)' }] }, /rule mine: pattern cannot be used: .*no look-around/],
    [{ rules: [{ id: 'mine', pattern: 'a*' }] }, /rule mine: pattern cannot be used: it matches the empty text/],
    [{ rules: [{ pattern: 'a' }] }, /a rule has no id/],
    [{ gitleaks: '[[rules]]' }, /gitleaks is not what fromGitleaks gives/],
    [{ kind: ['ai'] }, /there is no option kind\. Did you mean kinds\?/],
    [null, /the options are no object/],
  ])('options that make no sense are refused: %j', (options, message) => {
    expect(() => secrets(options as never)).toThrow(message);
    expect(() => findSecrets(options as never)).toThrow(message);
  });
});

describe('any text', () => {
  test('is answered with findings within it, and never with a failure', () => {
    const pieces = [
      'password=',
      'eyJ',
      'ghp_',
      '-----BEGIN PRIVATE KEY-----',
      '://a:',
      '@b',
      '"',
      '\\',
      'Q~',
      ':A',
      '.',
      ' is ',
      '\ud800',
      'curl -u ',
      '=',
      'T3BlbkFJ',
      'é',
    ];
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: 'binary', maxLength: 20 })), { maxLength: 30 }),
        (parts) => {
          const text = parts.join('');
          for (const { start, end } of find(text, { surface: 'input', key: 'password' })) {
            expect(start).toBeGreaterThanOrEqual(0);
            expect(end).toBeGreaterThan(start);
            expect(end).toBeLessThanOrEqual(text.length);
          }
        },
      ),
      { numRuns: 500, seed: 68 },
    );
  });

  test.each([
    ' ghp_',
    '-eyJ-',
    'password=',
    'token:"',
    '://a:b',
    '-----BEGIN RSA PRIVATE KEY-----\nAA',
    'PuTTY-User-Key-File-2: ',
    'aaaaaaa',
    'curl -u a:b ',
    '\ud800',
    'my password is ',
  ])('256 KB of «%s» is answered in time', (piece) => {
    const start = process.cpuUsage();
    find(piece.repeat(262_144 / piece.length), { surface: 'input' });
    expect(process.cpuUsage(start).user).toBeLessThan(2_000_000);
  });

  test('however much is found in it', () => {
    expect(find('curl -u a:Zk29!dke8 '.repeat(150_000), { surface: 'input' })).toHaveLength(150_000);
  });

  test('where answers flow no finding is longer than the window, and each stands alike where the text is cut at the window', () => {
    const { find: flowing, window = 0 } = findSecrets({ long: false });
    expect(window).toBe(1_124);
    const token = `ghp_${drawn('abcdefghijklmnopqrstuvwxyz0123456789', 36, 9)}`;
    const key = `-----BEGIN PRIVATE KEY-----\n${drawn('ABCDEFGHabcdefgh0123456789+/', 1_600, 3)}\n-----END PRIVATE KEY-----`;
    const pieces = [
      token,
      key,
      `password="Zk29!dke8"`,
      `token=${'a1B2'.repeat(300)}`,
      `eyJhbGciOiJIUzI1NiJ9.eyJ${'a1B2'.repeat(200)}.${'x9'.repeat(30)}`,
      'lorem ipsum '.repeat(20),
      'curl -u a:Zk29!dke8 ',
      '\n',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { minLength: 5, maxLength: 25 }), fc.nat(), (parts, place) => {
        const text = parts.join(' ');
        const at = place % text.length;
        const from = Math.max(0, at - window);
        const cut = flowing(text.slice(from, at + window), { surface: 'output' }).map(
          ({ start, end, kind }) => `${start + from} ${end + from} ${kind}`,
        );
        for (const { start, end, kind } of flowing(text, { surface: 'output' })) {
          expect(end - start).toBeLessThanOrEqual(window);
          if (start <= at && end > at) expect(cut).toContain(`${start} ${end} ${kind}`);
        }
      }),
      { numRuns: 150, seed: 71 },
    );
  });

  test('there are at least 120 kinds, each with an id of its own', () => {
    const ids = secretKinds().map(({ id }) => id);
    expect(ids.length).toBeGreaterThanOrEqual(120);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('the guardrail', () => {
  const token = `ghp_${drawn('abcdefghijklmnopqrstuvwxyz0123456789', 36, 9)}`;

  test('redacts in messages, arguments, results and answers, and the log holds placeholders', async () => {
    const inputs: unknown[] = [];
    const lookUp = defineTool({
      name: 'look_up',
      description: 'Looks up.',
      input: z.object({ password: z.string(), note: z.string() }),
      execute: (input) => {
        inputs.push(input);
        return { config: `token = "${token}"`, secretKey: 'k29dkW0s_dk3lfPq82ms' };
      },
    });
    const agent = defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model: scriptedModel([callTool('look_up', { password: 'Zk29!dke8', note: 'fine' }), say(`It is ${token}.`)]),
      tools: [lookUp],
      guardrails: [secrets()],
    });
    const result = await run(agent, `My token is ${token}.`);
    expect(inputs).toEqual([{ password: '[password]', note: 'fine' }]);
    expect(result.status === 'completed' && result.output).toBe('It is [github-token].');
    expect(JSON.stringify(result.log)).not.toMatch(/ghp_|Zk29|k29dkW0s/);
    expect(auditLog(result.log)).toEqual([]);
  });

  test('lets answers flow only where nothing long is looked for', async () => {
    const pieces = [
      `It is ${token.slice(0, 20)}`,
      `${token.slice(20)}. `,
      ...Array.from({ length: 200 }, () => 'Nothing else is to be said here. '),
    ];
    const deltas = async (options: Parameters<typeof secrets>[0]): Promise<string[]> => {
      const agent = defineAgent({
        name: 'desk',
        instructions: 'Help.',
        model: scriptedModel([say(pieces)]),
        guardrails: [secrets(options)],
      });
      const events = stream(agent, 'So?');
      const shown: string[] = [];
      for await (const event of events) if (event.type === 'text.delta') shown.push(event.text);
      await events.result;
      return shown;
    };
    const flowing = await deltas({ long: false });
    const held = await deltas({});
    expect(flowing.length).toBeGreaterThan(10);
    expect(held).toHaveLength(1);
    expect(flowing.join('')).toBe(held.join(''));
    expect(held.join('')).toMatch(/^It is \[github-token\]\. Nothing/);
  });
});
