import type { Subject } from '@guardloop/core';
import { jsonStrings } from './text/json-strings.js';
import { isJson } from './text/text-guardrail.js';

/** The texts of what crosses: its content, or of a structured value each of its strings, names of fields and numbers left out. */
export function textsOf(subject: Subject): readonly string[] {
  if (!isJson(subject)) return [subject.content];
  return jsonStrings(subject.content)
    .filter(({ isNumber, isName }) => !isNumber && !isName)
    .map(({ text }) => text);
}
