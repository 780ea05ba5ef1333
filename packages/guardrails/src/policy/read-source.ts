import { GuardloopError } from '@guardloop/core';
import type { YAMLMap } from 'yaml';
import { isScalar, LineCounter, parseDocument, visit } from 'yaml';
import type { Place } from './fault.js';
import { fault, isPlainObject, told } from './fault.js';

const longestText = 262_144;
const mostValues = 100_000;
const deepest = 40;

/** The plain value of a policy, given as a value or as JSON or YAML text. Throws CONFIG_INVALID. */
export function readSource(source: unknown, place: Place): unknown {
  const value = typeof source === 'string' ? parseText(source, place) : source;
  if (!isPlainObject(value)) {
    const hint = typeof value === 'string' && /\.(?:ya?ml|json)$/i.test(value) ? " No file is read here: give the file's text." : '';
    fault(place, `${told(value)} is no policy. Give an object with name, rules and otherwise, or its JSON or YAML.${hint}`);
  }
  return copyPlain(value, place);
}

/** JSON is YAML too; read as YAML, a name that stands twice is found. */
function parseText(text: string, place: Place): unknown {
  if (text.length > longestText)
    fault(place, `the text has ${text.length} characters; at most ${longestText} are read. Divide the policy.`);
  const lines = new LineCounter();
  try {
    // What errors are told with costs much where there are many, and so does the library's own search for names that stand twice.
    const document = parseDocument(text, { ...yamlOptions, lineCounter: lines });
    const [problem] = [...document.errors, ...document.warnings];
    if (problem) fault(place, `the text cannot be read${lineOf(problem.pos[0], lines)}: ${wordsOf(problem.message)}.`);
    visit(document, {
      Alias: (_key, node) =>
        fault(place, `the text has an alias (*name)${lineOf(node.range?.[0], lines)}. Write the value out where it is meant.`),
      Map: (_key, map) => refuseDoubles(map, { place, lines }),
    });
    return document.toJS({ maxAliasCount: 0 }) as unknown;
  } catch (thrown) {
    if (GuardloopError.is(thrown)) throw thrown;
    return fault(place, 'the text cannot be read: it is nested too deep, or is no JSON or YAML.');
  }
}

const yamlOptions = {
  version: '1.2',
  schema: 'core',
  strict: true,
  uniqueKeys: false,
  merge: false,
  customTags: null,
  logLevel: 'error',
  prettyErrors: false,
} as const;

function lineOf(offset: number | undefined, lines: LineCounter): string {
  if (offset === undefined) return '';
  const { line, col } = lines.linePos(offset);
  return ` at line ${line}, column ${col}`;
}

function refuseDoubles({ items }: YAMLMap, { place, lines }: { readonly place: Place; readonly lines: LineCounter }): undefined {
  const names = new Set<string>();
  for (const { key } of items) {
    if (!isScalar(key)) fault(place, 'the text has a list or an object as a name.');
    const name = String(key.value);
    if (names.has(name)) fault(place, `the text has a name twice in one object${lineOf(key.range?.[0], lines)}.`);
    names.add(name);
  }
}

/** The first sentence of a message: what follows quotes the text. */
const wordsOf = (message: string): string => (message.split(/ at line |\n/)[0] ?? '').replace(/[.:]$/, '');

/** A copy. Throws CONFIG_INVALID for what is no plain data, and for too much of it. */
function copyPlain(root: unknown, place: Place): unknown {
  let count = 0;
  const copy = (value: unknown, depth: number): unknown => {
    count += 1;
    if (count > mostValues || depth > deepest) fault(place, `the policy is too large: at most ${mostValues} values, ${deepest} deep.`);
    if (value === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof value)) return value;
    if (Array.isArray(value)) return Array.from(value, (each) => copy(each, depth + 1));
    if (isPlainObject(value)) return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, copy(each, depth + 1)]));
    return fault(
      place,
      `${told(value)} stands in it that is no plain data. Policies as data hold texts, numbers, true, false, lists and objects.`,
    );
  };
  return copy(root, 0);
}
