import ipaddr from 'ipaddr.js';
import type { TextFinding } from '../text/finding.js';

// Four bounded groups with dots between: linear.
const ipv4 = /(?<![\w.-])(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?![\w-]|\.\d)/g;
const maskOrSelf = /^(?:0\.0\.0\.0|255\.|127\.0\.0\.1$)/;
const versionBefore = /(?:version|ver|released?|updated? to|upgraded? to|v|build|firmware|chrome|section|chapter)[ :=/.]{0,3}$/i;

/** IPv4 and IPv6 addresses; not those that stand for this machine or none, nor numbers of versions that say so. */
export function findIpAddresses(text: string): readonly TextFinding[] {
  const found: TextFinding[] = [];
  for (const match of text.matchAll(ipv4)) {
    const before = text.slice(Math.max(0, match.index - 12), match.index);
    if (maskOrSelf.test(match[0]) || versionBefore.test(before)) continue;
    found.push({ start: match.index, end: match.index + match[0].length, kind: 'ip-address' });
  }
  return [...found, ...findIpv6(text)];
}

// One class: linear. Longer runs are no address.
const hexRun = /[0-9A-Fa-f:.]{3,}/g;

function findIpv6(text: string): readonly TextFinding[] {
  const found: TextFinding[] = [];
  for (const match of text.matchAll(hexRun)) {
    const run = match[0].replace(/[.:]$/, (end) => (match[0].endsWith('::') ? end : ''));
    const end = match.index + run.length;
    if (run.length > 45 || run.indexOf(':') === run.lastIndexOf(':') || isWordAt(text, match.index - 1) || isWordAt(text, end)) continue;
    const groups = run.split(':').filter((group) => group !== '');
    if (groups.length < 2 || !/\d/.test(run) || !ipaddr.IPv6.isValid(run)) continue;
    found.push({ start: match.index, end, kind: 'ip-address' });
  }
  return found;
}

function isWordAt(text: string, at: number): boolean {
  return /[\w-]/.test(text.charAt(at));
}
