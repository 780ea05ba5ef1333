// Where a value may come from: the sources that can vouch for it.
import type { ToolInputSubject } from '@guardloop/core';
import { fitsPattern } from '@guardloop/core';
import { optionFault } from '@guardloop/core/model';
import type { Evidence, ReadResult } from './evidence.js';
import { isShort, recordsWith } from './records.js';
import { foldedValue, isSame } from './same-value.js';
import { TextIndex } from './text-index.js';
import type { ArgumentValue } from './values.js';

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

/** Whether a value stands in a trusted result: as a whole field of a structured one, or in a text. */
export function isInTrusted(evidence: Evidence, trust: TrustedFields, { value }: ArgumentValue): boolean {
  const folded = isShort(value) ? foldedValue(value) : undefined;
  return evidence.results.some((result) => {
    if (result.isTrusted && result.json === undefined) return textOf(result).has(value);
    const fields = result.isTrusted ? '*' : trustedFieldsOf(trust, result.tool);
    if (fields === undefined) return false;
    if (result.json === undefined) return fields === '*' && result.content.split('\n').some((line) => isSame(line, value));
    const records = folded === undefined ? result.records : recordsWith(result, folded);
    return records.some((record) =>
      record.fields.some((field) => (fields === '*' || fields.includes(field.name)) && isSame(field.value, value)),
    );
  });
}

const texts = new WeakMap<ReadResult, TextIndex>();
/** The text of a result, to look values up in. */
export function textOf(result: ReadResult): TextIndex {
  let text = texts.get(result);
  if (text === undefined) {
    text = new TextIndex();
    text.add(result.content);
    texts.set(result, text);
  }
  return text;
}

/** Where a value that nobody vouches for stands: for reasons. Names the call, never the value. */
export function whereItStands(evidence: Evidence, { value }: ArgumentValue): string {
  const found = evidence.results.find((result) => !result.isTrusted && textOf(result).has(value));
  return found === undefined
    ? 'stands in nothing that was read'
    : `comes from the untrusted result of ${found.tool} (call ${found.callId})`;
}

/** The reason about arguments that nobody vouches for. */
export function ungrounded(
  call: ToolInputSubject,
  { values, evidence, sources }: { readonly values: readonly ArgumentValue[]; readonly evidence: Evidence; readonly sources: string },
): string {
  const told = values.slice(0, 3).map((value) => `${value.path} ${whereItStands(evidence, value)}`);
  const more = values.length > 3 ? `, and ${values.length - 3} more` : '';
  return `${call.tool}: ${told.join(', ')}${more}, and not from ${sources}`;
}
