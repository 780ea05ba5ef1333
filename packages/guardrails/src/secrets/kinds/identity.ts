import { decodeBase64, isJsonWith } from '../checksums.js';
import type { SecretKind } from '../kind.js';
import { alphanumeric, wordLike } from '../kind.js';
import { isStopWord, isUuid, isVariable } from '../likeness.js';

/** Identity providers and their tokens. */
export const identityKinds = [
  {
    id: 'json-web-token',
    words: 'JSON Web Token',
    group: 'identity',
    keywords: ['eyJ'],
    pattern: /(?<![\w-])eyJ[\w-]{10,300}\.eyJ[\w-]{10,500}\.[\w-]{16,180}(?![\w-])/,
    check: isJwt,
  },
  {
    id: 'json-web-token-long',
    words: 'JSON Web Token',
    group: 'identity',
    keywords: ['eyJ'],
    pattern: /(?<![\w-])eyJ[\w-]{10,2000}\.(?:eyJ)?[\w-]{4,8000}\.[\w-]{16,2000}(?:\.[\w-]{16,8000}\.[\w-]{16,64})?(?![\w-])/,
    check: isJwt,
    long: true,
  },
  {
    id: 'json-web-token-base64',
    words: 'JSON Web Token in base64',
    group: 'identity',
    keywords: ['ZXlK'],
    pattern: /(?<![\w-])ZXlK[A-Za-z0-9+/_-]{60,900}={0,2}(?![\w+/=-])/,
    check: (value: string) => isJwt(decodeBase64(value) ?? ''),
  },
  {
    id: 'json-web-key',
    words: 'private JSON Web Key',
    group: 'identity',
    keywords: ['"d":', '"d" :', '"k":'],
    pattern: /"[dk]"\s{0,4}:\s{0,4}"([\w-]{22,900})"/,
    secret: 1,
    inWord: true,
    mixed: true,
    entropy: 4,
  },
  { id: 'okta-token', words: 'Okta token', group: 'identity', names: ['okta'], of: wordLike, length: [40, 44], mixed: true, entropy: 3.5 },
  { id: 'okta-ssws-token', words: 'Okta token', group: 'identity', keywords: ['SSWS '], pattern: /SSWS (00[\w-]{40})(?![\w-])/, secret: 1 },
  {
    id: 'auth0-secret',
    words: 'Auth0 secret',
    group: 'identity',
    names: ['auth0'],
    of: wordLike,
    length: [48, 72],
    mixed: true,
    entropy: 4,
  },
  {
    id: 'clerk-secret-key',
    words: 'Clerk secret key',
    group: 'identity',
    starts: ['sk_live_', 'sk_test_'],
    of: alphanumeric,
    length: [40, 60],
  },
  {
    id: 'workos-key',
    words: 'WorkOS key',
    group: 'identity',
    starts: ['sk_live_', 'sk_test_'],
    of: alphanumeric,
    length: [40, 80],
    mixed: true,
    entropy: 4,
  },
  {
    id: 'firebase-server-key',
    words: 'Firebase Cloud Messaging key',
    group: 'identity',
    keywords: [':APA91b'],
    back: { of: wordLike, max: 22 },
    pattern: /[A-Za-z0-9_-]{7,22}:APA91b[\w-]{100,150}(?![\w-])/,
  },
  {
    id: 'microsoft-refresh-token',
    words: 'Microsoft refresh token',
    group: 'identity',
    keywords: ['0.A', '1.A'],
    pattern: /[01]\.A[\w-]{40,90}\.Ag[\w-]{80,900}(?![\w.-])/,
  },
  {
    id: 'bearer-token',
    words: 'bearer token',
    group: 'identity',
    keywords: ['earer '],
    back: 1,
    pattern: /[Bb]earer ([A-Za-z0-9._~+/-]{20,900}={0,2})(?![A-Za-z0-9._~+/-])/,
    secret: 1,
    mixed: true,
    entropy: 3.5,
  },
  {
    id: 'authorization-token',
    words: 'token in a header or a sentence',
    group: 'identity',
    keywords: ['oken '],
    back: 1,
    pattern: /[Tt]oken ([A-Za-z0-9._~+/-]{20,900}={0,2})(?![A-Za-z0-9._~+/-])/,
    secret: 1,
    mixed: true,
    entropy: 3.5,
    check: (value: string) =>
      !isUuid(value) && (value.match(/[0-9]/g)?.length ?? 0) >= 4 && !/^[a-z0-9]+(?:[-_./][a-z0-9]+){2,}$/.test(value),
  },
  {
    id: 'registry-login',
    words: 'login in a Docker configuration',
    group: 'identity',
    keywords: ['"auth":', '"auth" :'],
    pattern: /"auth"\s{0,3}:\s{0,3}"([A-Za-z0-9+/]{8,400}={0,2})"/,
    secret: 1,
    inWord: true,
    check: isBasicLogin,
  },
  {
    id: 'netrc-login',
    words: 'login in a .netrc',
    group: 'identity',
    keywords: ['machine '],
    pattern: /machine [^\s]{1,100}\s{1,8}login [^\s]{1,100}\s{1,8}password ([^\s]{4,120})/,
    secret: 1,
    check: (value: string) => !isVariable(value) && !isStopWord(value),
  },
  {
    id: 'basic-authorization',
    words: 'basic authorization header',
    group: 'identity',
    keywords: ['asic '],
    back: 1,
    pattern: /[Bb]asic ([A-Za-z0-9+/]{8,200}={0,2})(?![\w+/])/,
    secret: 1,
    check: isBasicLogin,
  },
  {
    id: 'authress-key',
    words: 'Authress key',
    group: 'identity',
    keywords: ['sc_', 'ext_', 'scauth_', 'authress_'],
    pattern: /(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}(?![\w-])/,
  },
  {
    id: 'kubernetes-service-account-token',
    words: 'Kubernetes service account token',
    group: 'identity',
    names: ['serviceaccounttoken', 'kubetoken'],
    of: `${wordLike}.`,
    length: [100, 1_900],
    long: true,
  },
  {
    id: 'supertokens-key',
    words: 'SuperTokens key',
    group: 'identity',
    names: ['supertokens'],
    of: `${wordLike}=`,
    length: [20, 64],
    mixed: true,
    entropy: 3.3,
  },
  {
    id: 'stytch-secret',
    words: 'Stytch secret',
    group: 'identity',
    keywords: ['secret-live-', 'secret-test-'],
    pattern: /secret-(?:live|test)-[A-Za-z0-9_-]{35,40}={0,2}(?![\w-])/,
  },
  {
    id: 'privateai-token',
    words: 'Private AI token',
    group: 'ai',
    names: ['privateai'],
    of: 'a-z0-9',
    length: 32,
    mixed: true,
    entropy: 3,
  },
] as const satisfies readonly SecretKind[];

/** The first part is the JSON of a header: a JWT cannot be made without. */
function isJwt(token: string): boolean {
  return isJsonWith(token.slice(0, token.indexOf('.')), ['alg', 'enc', 'typ', 'kid']);
}

/** `user:password` in base64. */
function isBasicLogin(encoded: string): boolean {
  const text = decodeBase64(encoded) ?? '';
  return /^[\x21-\x39\x3b-\x7e]{1,64}:[\x20-\x7e]{3,}$/.test(text) && !/^(user|username):(pass|password)$/i.test(text);
}
