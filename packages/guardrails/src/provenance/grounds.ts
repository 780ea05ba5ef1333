// Where a value may come from: the sources that can vouch for it.
import type { ToolInputSubject } from '@guardloop/core';
import { fitsPattern } from '@guardloop/core';
import { optionFault } from '@guardloop/core/model';
import type { Evidence, ReadResult } from './evidence.js';
import { nameWords } from './intent.js';
import { isShort, recordsWith } from './records.js';
import { foldedValue, isSame } from './same-value.js';
import type { ArgumentValue } from './values.js';
import { argumentValues } from './values.js';

/** By tool (a name or a pattern), the fields of its results whose values may be trusted, at any depth; `'*'`: all of them. */
export type TrustedFields = { readonly [tool: string]: '*' | readonly string[] };

/** Reads `trust`. Throws CONFIG_INVALID. */
export function readTrust(where: string, given: unknown): TrustedFields {
  if (given === undefined) return {};
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw optionFault(where, "trust is no object. Give fields by tool, such as { get_contacts: ['email'] }, or '*' for all of a tool's.");
  for (const [tool, fields] of Object.entries(given)) {
    if (fields !== '*' && !(Array.isArray(fields) && fields.every((field) => typeof field === 'string')))
      throw optionFault(where, `trust.${tool} is neither '*' nor a list of fields. Give the names of fields, such as ['email'].`);
  }
  return given as TrustedFields;
}

const fieldsByTool = new WeakMap<TrustedFields, Map<string, '*' | readonly string[] | undefined>>();

function trustedFieldsOf(trust: TrustedFields, tool: string): '*' | readonly string[] | undefined {
  let known = fieldsByTool.get(trust);
  if (known === undefined) {
    known = new Map(Object.entries(trust));
    fieldsByTool.set(trust, known);
  }
  if (!known.has(tool)) known.set(tool, Object.entries(trust).find(([pattern]) => fitsPattern(pattern, tool))?.[1]);
  return known.get(tool);
}

/**
 * Whether a value stands in a trusted result: as a whole field of a structured one, or in a text. What the call itself held does not count,
 * and nothing of a call whose own arguments nobody vouches for: a calculator gives whatever it is asked for.
 */
export function isInTrusted(evidence: Evidence, trust: TrustedFields, value: string | number): boolean {
  const folded = isShort(value) ? foldedValue(value) : undefined;
  return evidence.results.some((result, index) => {
    const fields = result.isTrusted ? '*' : trustedFieldsOf(trust, result.tool);
    if (fields === undefined || !stands(result, { fields, value, folded }) || result.echoes(value)) return false;
    return argumentValues(result.input, { names: 'all', fields: [] }).every((argument) => isAskable(evidence, argument.value, index));
  });
}

interface Sought {
  readonly fields: '*' | readonly string[];
  readonly value: string | number;
  readonly folded: string | undefined;
}

function stands(result: ReadResult, { fields, value, folded }: Sought): boolean {
  if (result.json === undefined) {
    if (result.isTrusted) return result.text.has(value);
    return fields === '*' && result.content.split('\n').some((line) => isSame(line, value));
  }
  const records = folded === undefined ? result.records : recordsWith(result, folded);
  return records.some((record) =>
    record.fields.some((field) => (fields === '*' || fields.includes(field.name)) && isSame(field.value, value)),
  );
}

/** An argument of a lookup that cannot put anything of its own into the result: the user's words, a small number, or what was found before. */
function isAskable(evidence: Evidence, value: ArgumentValue['value'], before: number): boolean {
  if (value === true || value === '' || (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 100)) return true;
  if (evidence.user.has(value)) return true;
  const folded = foldedValue(value);
  return evidence.results
    .slice(0, before)
    .some(
      (result) =>
        result.isTrusted &&
        !result.echoes(value) &&
        (result.json === undefined ? result.text.has(value) : recordsWith(result, folded).length > 0),
    );
}

/** As {@link isInTrusted}, of any value. */
export const isTrustedValue = (evidence: Evidence, trust: TrustedFields, { value }: ArgumentValue): boolean =>
  value !== true && value !== '' && isInTrusted(evidence, trust, value);

/**
 * Whether the user said a value. `true` and the empty text are said by speaking of the argument: `public` of `{ public: true }`. A small number
 * that is an id is said as one: “order 7” is no “id 7”, “id 7” and “#7” are.
 */
export function isSaid(evidence: Evidence, { path, value }: ArgumentValue): boolean {
  if (value === true || value === '') {
    const name = /[^.[\]]+(?=(?:\[\d+\])*$)/.exec(path)?.[0] ?? '';
    const said = nameWords(name);
    return said.length > 0 && said.every((word) => evidence.spoken.has(word));
  }
  if (isSmallId(path, value))
    return [`id ${value}`, `#${value}`, `no ${value}`, `no. ${value}`, `number ${value}`, `nr. ${value}`].some((each) =>
      evidence.user.has(each),
    );
  return evidence.user.has(value);
}

const idName = /(?:^|[._])ids?(?:\[\d+\])*$|[a-z]Ids?(?:\[\d+\])*$/;
const isSmallId = (path: string, value: string | number): boolean => idName.test(path) && /^\d{1,3}$/.test(String(value));

/** Where a value that nobody vouches for stands: for reasons. Names the call, never the value. */
export function whereItStands(evidence: Evidence, { value }: ArgumentValue): string {
  if (value === true || value === '') return 'was not spoken of';
  const found = evidence.results.find((result) => !result.isTrusted && result.text.has(value));
  return found === undefined ? 'was in nothing that was read' : `comes from the untrusted result of ${found.tool} (call ${found.callId})`;
}

/** The reason about arguments that nobody vouches for. */
export function ungrounded(
  call: ToolInputSubject,
  { values, evidence, sources }: { readonly values: readonly ArgumentValue[]; readonly evidence: Evidence; readonly sources: string },
): string {
  const told = values.slice(0, 3).map((value) => `${value.path} ${whereItStands(evidence, value)}`);
  const more = values.length > 3 ? `, and ${values.length - 3} more` : '';
  return `${call.tool}: ${told.join(', ')}${more}; it is in none of these: ${sources}`;
}
