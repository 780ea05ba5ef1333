// Secrets that have no format of their own: what is assigned to a name that says so, and logins in commands.
import type { TextFinding } from '../text/finding.js';
import type { Assignment } from './assignments.js';
import { entropyOf, isIdentifierLike, isPlaceholder, isStopWord, isUuid, isVariable } from './likeness.js';

const passwordName =
  /(?:password|passwd|passphrase|passwort|kennwort|motdepasse|contrasena|senha|pwd|pass|pw)$|^(?:password|passwd)|(?:password|passwd|pwd)(?:hash)?$/;
const secretName =
  /secret|apikey|accesskey|privatekey|authkey|encryptionkey|signingkey|masterkey|servicekey|licensekey|apitoken|authtoken|accesstoken|token$|credential|authorization$|bearer|sessionkey|sharedkey|storagekey|accountkey|secretkey|clientkey|webhookkey|connectionkey|appkey$|creds$|auth$/;
/** Names that speak of secrets and hold none: how many, which file, from where, a digest of public things. */
const notSecretName =
  /(?:count|limit|length|size|max|min|total|usage|used|type|name|id|ids|url|uri|endpoint|path|file|dir|field|label|title|expiry|expires|expiresin|expiration|ttl|age|policy|status|enabled|required|index|number|per|ref|arn|version|algorithm|hint|prefix|suffix|description|column|key(?:name|id|path|file|word|words|board)|tokens|secrets|passwords|secretary|tokenizer|pass(?:es|ed|ing|ive|enger|age|port)\w*)$|publickey|public(?:api)?key|sha(?:1|256|512)|checksum|digest|integrity|etag|csrf(?:param|header)|(?:next|page|continuation|cursor|sync)token|compass|bypass|pagination/;

/** What a name says about its value. */
export function nameSays(name: string): 'password' | 'secret' | undefined {
  // `token2` is named as `token` is.
  const plain = name.replace(/[0-9]{1,4}$/, '');
  if (notSecretName.test(plain)) return undefined;
  if (passwordName.test(plain)) return 'password';
  return secretName.test(plain) ? 'secret' : undefined;
}

/** Whether a value that is given to such a name is a secret, and no word, variable, path or identifier. */
export function isWrittenSecret(
  says: 'password' | 'secret',
  value: string,
  { isQuoted, isProse }: Pick<Assignment, 'isQuoted' | 'isProse'>,
): boolean {
  if (/\s/.test(value) || isStandIn(value)) return false;
  if (isQuoted && isMixtureOfSigns(value)) return true;
  return says === 'password' ? isPassword(value, isQuoted, isProse === true) : isToken(value);
}

function isStandIn(value: string): boolean {
  return (
    isStopWord(value.replace(/[0-9]{1,3}$/, '')) ||
    isExpression(value) ||
    isPlaceholder(value) ||
    isVariable(value) ||
    isUuid(value) ||
    /^(.)\1*$/.test(value) ||
    isPathOrUrl(value)
  );
}

/** A regular expression, `(?=.*[A-Z]).{8,}`; a chain of names in code, `this.options.isEqual?.(`; a version, `5.3.0(…)`. */
function isExpression(value: string): boolean {
  if (/\?\.|^!?[A-Za-z_$]+(?:\.[A-Za-z_$]+)+(?:\W|$)|^[v^~]?\d{1,4}\.\d{1,4}\.\d/.test(value)) return true;
  return /\(\?[=!:<]|\[[a-zA-Z0-9]-[a-zA-Z0-9]|\\[dws]|\{\d{1,4},\d{0,4}\}|\.[*+]/.test(value);
}

function isPathOrUrl(value: string): boolean {
  return /^(?:[a-z][a-z0-9+.-]{0,20}:\/\/|\.{0,2}\/(?:[\w.-]{1,60}\/)|~\/|[A-Za-z]:\\|data:|arn:|\w{1,40}\.(?:json|ya?ml|txt|pem|key|env|ts|js|py|md|html?)$)/.test(
    value,
  );
}

/** Signs all through it, as people make passwords: no template, no expression of code, no pattern. */
function isMixtureOfSigns(value: string): boolean {
  if (value.length < 10 || value.length > 200) return false;
  const signs = value.match(/[!@#$%^&*(){}[\]<>~|?+=]/g) ?? [];
  return signs.length >= 4 && new Set(signs).size >= 3 && signs.length * 2 < value.length && entropyOf(value) >= 3.3;
}

const classes = [/[a-z]/, /[A-Z]/, /[0-9]/, /[^A-Za-z0-9]/];
const classesOf = (value: string): number => classes.filter((pattern) => pattern.test(value)).length;

function isPassword(value: string, isQuoted: boolean, isProse: boolean): boolean {
  if (value.length < 6 || value.length > 200 || (isIdentifierLike(value) && !/^[A-Za-z]+[0-9]+$/.test(value))) return false;
  if (/^[0-9.,:-]+$/.test(value)) return isQuoted && /^[0-9]{6,}$/.test(value);
  if (isProse && !(/[0-9]/.test(value) && classesOf(value) >= 2)) return false;
  return (/[0-9]/.test(value) || /[!@#$%^&*+=?~]/.test(value)) && classesOf(value) >= 2 && entropyOf(value) >= 2.2;
}

function isToken(value: string): boolean {
  if (value.length < 10 || value.length > 2_048 || isIdentifierLike(value)) return false;
  if (!/^[A-Za-z0-9+/=_.~:!@#$%^&*-]+$/.test(value)) return false;
  const digits = value.match(/[0-9]/g)?.length ?? 0;
  const letters = value.match(/[A-Za-z]/g)?.length ?? 0;
  if (letters < 2 || digits < 2 || /^[A-Za-z]+[-_ ]?[0-9]{1,4}$/.test(value) || isDate(value)) return false;
  return entropyOf(value) >= (value.length < 16 ? 3.1 : 3) && (value.length >= 16 || classesOf(value) >= 3 || digits >= 4);
}

function isDate(value: string): boolean {
  return /^\d{4}-\d{2}-\d{2}(?:T[\d:.Z+-]{0,24})?$/.test(value);
}

/** `curl -u name:password`, `--user name:password`: in the rest of a line that begins with the command. Offsets are of the text. */
export function commandCredentials(text: string, longest: number): readonly TextFinding[] {
  const found: TextFinding[] = [];
  for (let at = text.indexOf('curl'); at !== -1; at = text.indexOf('curl', at + 4)) {
    const next = text.indexOf('curl', at + 4);
    const end = Math.min(next === -1 ? text.length : next, at + Math.min(longest, 600));
    // One literal flag, then a bounded argument: linear.
    for (const match of text
      .slice(at, end)
      .matchAll(/\s(?:-u|--user|-U|--proxy-user)[ \t=]{1,4}(["']?)([^\s"']{0,100}?["']?:["']?[^\s"']{0,120})/g)) {
      const argument = match[2] ?? '';
      if (!isLogin(argument)) continue;
      const start = at + match.index + match[0].length - argument.length;
      found.push({ start, end: start + argument.length, kind: 'command-credentials' });
    }
  }
  return found;
}

const loginWords = new Set([
  'user',
  'username',
  'pass',
  'password',
  'passwd',
  'token',
  'test',
  'xxx',
  'yyy',
  'login',
  'secret',
  'apikey',
  'api_key',
]);

function isLogin(argument: string): boolean {
  if (/^[<[{(].*[>\]})]$/.test(argument) && isStandIn(argument)) return false;
  const split = argument.indexOf(':');
  const [user, password] = [argument.slice(0, split), argument.slice(split + 1)].map((part) => part.replace(/^["']|["']$/g, ''));
  if (user === undefined || password === undefined) return false;
  const isOpen = (part: string): boolean =>
    isVariable(part) || isPlaceholder(part) || loginWords.has(part.toLowerCase()) || /^[$%<[]/.test(part) || part.includes('$(');
  const isKeyAlone = password === '' && /[0-9]/.test(user) && user.length >= 8 && entropyOf(user) > 2.5;
  if (isKeyAlone) return !isOpen(user);
  return password.length >= 4 && !isOpen(password) && !(isOpen(user) && isStopWord(password)) && user !== password;
}
