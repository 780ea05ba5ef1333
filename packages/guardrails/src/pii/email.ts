import type { TextFinding } from '../text/finding.js';

const isLocal = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) ||
  (code >= 0x41 && code <= 0x5a) ||
  (code >= 0x61 && code <= 0x7a) ||
  // . _ % + - ' & = ~ ! # $ * / ? ^ are allowed; those of prose and addresses are left out.
  code === 0x2e ||
  code === 0x5f ||
  code === 0x25 ||
  code === 0x2b ||
  code === 0x2d ||
  code === 0x27 ||
  code === 0x26 ||
  code === 0x7e ||
  (code >= 0xc0 && code <= 0x52f);

// Labels of up to 63 characters with dots between; the classes of neighbours do not overlap. Sticky.
const domain =
  /(?:[A-Za-z0-9\u00c0-\u052f](?:[A-Za-z0-9\u00c0-\u052f-]{0,61}[A-Za-z0-9\u00c0-\u052f])?\.){1,8}(?:xn--[A-Za-z0-9-]{2,59}|[A-Za-z\u00c0-\u052f]{2,63})/y;
const fileEndings = new Set(
  'png jpg jpeg gif svg webp avif ico bmp js mjs cjs ts tsx jsx css scss json map html htm md txt xml yml yaml toml lock py rb java class jar zip gz tar pdf mp3 mp4'.split(
    ' ',
  ),
);

/** E-mail addresses, by their sign: `name@example.org`, and written to be missed: `name [at] example [dot] org`. */
export function findEmails(text: string): readonly TextFinding[] {
  const found: TextFinding[] = [];
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    const start = startOfLocal(text, at);
    if (start === at) continue;
    domain.lastIndex = at + 1;
    const match = domain.exec(text);
    if (match === null) continue;
    const ending = match[0].slice(match[0].lastIndexOf('.') + 1).toLowerCase();
    if (fileEndings.has(ending) || isUserInfo(text, start) || isRepository(text, start, at + 1 + match[0].length)) continue;
    found.push({ start, end: at + 1 + match[0].length, kind: 'email' });
  }
  for (const match of text.matchAll(spelled)) found.push({ start: match.index, end: match.index + match[0].length, kind: 'email' });
  return found;
}

// Bounded parts with brackets between them: linear.
const spelled =
  /(?<![\w.+-])[\w.+-]{1,64} ?[[({<](?:at|AT|@)[\])}>] ?[A-Za-z0-9-]{1,63}(?: ?(?:\.|[[({<](?:dot|DOT|\.)[\])}>]) ?[A-Za-z0-9-]{1,63}){1,4}/g;

function startOfLocal(text: string, at: number): number {
  const least = Math.max(0, at - 64);
  let start = at;
  while (start > least && isLocal(text.charCodeAt(start - 1))) start -= 1;
  while (start < at && ".'&~-".includes(text.charAt(start))) start += 1;
  return text.charAt(at - 1) === '.' ? at : start;
}

/** In `https://user:word@host` the word is no name of a mailbox. */
function isUserInfo(text: string, start: number): boolean {
  if (text.charAt(start - 1) !== ':' && text.charAt(start - 1) !== '/') return false;
  return /:\/\/[^\s@/]{0,80}$/.test(text.slice(Math.max(0, start - 90), start));
}

/** `git@host:owner/repository`: the account of a server, which is the same for everybody. */
function isRepository(text: string, start: number, end: number): boolean {
  return text.startsWith('git@', start) && /^:[\w~.-]{1,100}\//.test(text.slice(end, end + 104));
}
