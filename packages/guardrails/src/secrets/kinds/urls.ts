import type { SecretKind } from '../kind.js';
import { isPlaceholder, isVariable } from '../likeness.js';

/** Logins that stand in addresses and commands. */
export const urlKinds = [
  {
    id: 'url-credentials',
    words: 'login in an address',
    group: 'urls',
    keywords: ['://'],
    pattern: /:\/\/([^\s:/@?#"'`<>\\|]{0,100}:[^\s/?#"'`<>\\|]{1,200})@(?=[A-Za-z0-9[])/,
    secret: 1,
    inWord: true,
    keepsPlaceholders: true,
    check: isLoginInUrl,
  },
] as const satisfies readonly SecretKind[];

const writtenOut = new Set(['password', 'passwd', 'mypassword', 'yourpassword', 'pw', 'pwd', 'xxx', 'token']);

function isLoginInUrl(login: string): boolean {
  const user = login.slice(0, login.indexOf(':'));
  const password = login.slice(user.length + 1);
  if (password.length < 4 || user === password || writtenOut.has(password.toLowerCase())) return false;
  if (/^(.)\1*$/.test(password) || isVariable(password) || isVariable(user) || isPlaceholder(password)) return false;
  return !/^[$%{[<(]|^:?\w{0,40}[$]\(?|^\{\{/.test(password);
}
