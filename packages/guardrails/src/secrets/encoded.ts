// Secrets that stand in a text as base64 or hexadecimal of themselves or of a text around them.
import type { FindInText, TextFinding } from '../text/finding.js';
import { decodeBase64 } from './checksums.js';

const shortest = 24;
// One class with a lower bound each: linear.
const runs = /[A-Za-z0-9+/_-]{24,}={0,2}/g;
const hexadecimal = /^(?:[0-9A-Fa-f]{2}){16,}$/;

/** Runs of base64 and hexadecimal whose text holds a finding, each as a whole; `longest` bounds a run. */
export function findEncoded(find: FindInText, longest: number): FindInText {
  return (text, place) => {
    const found: TextFinding[] = [];
    for (const match of text.matchAll(runs)) {
      const run = match[0];
      if (run.length < shortest || run.length > longest) continue;
      for (const decoded of decodings(run)) {
        const [first] = find(decoded, place);
        if (first === undefined) continue;
        found.push({ start: match.index, end: match.index + run.length, kind: first.kind });
        break;
      }
    }
    return found;
  };
}

function decodings(run: string): readonly string[] {
  const texts: string[] = [];
  if (hexadecimal.test(run)) texts.push(run.replace(/../g, (pair) => String.fromCharCode(Number.parseInt(pair, 16))));
  const decoded = decodeBase64(run);
  if (decoded !== undefined) texts.push(decoded);
  return texts.filter(isText);
}

/** Printable ASCII, but for line ends: else it is data, and what looks like a secret in it is chance. */
function isText(decoded: string): boolean {
  return /^[\t\n\r\x20-\x7e]+$/.test(decoded);
}
