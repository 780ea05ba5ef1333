// A result that is a part, and says so: its words and the part go through the guardrails as one, and only the part through the projection.
import type { PartialWords } from '../define/types.js';
import type { Label } from '../model/types.js';
import { readJson } from './answer.js';
import type { OpenCall } from './open-call.js';
import { project } from './project-output.js';
import type { Output } from './tool-output.js';
import { toOutput } from './tool-output.js';

/** What a tool gave, in the form in which it is guarded: with the words that say that it is a part, where there are any. */
export const outputOf = (given: unknown, words: PartialWords | undefined): Output =>
  toOutput(words === undefined ? given : encloseValue(given, words));

function encloseValue(result: unknown, words: PartialWords): object {
  return { completeness: 'partial', ...words, result: result ?? null };
}

interface Part {
  readonly output: Output;
  readonly words: PartialWords;
}

/** The part and the words in an output that has passed; undefined where a guardrail made something else of it, or it holds media. */
export function partOf({ content, value }: Output): Part | undefined {
  if (typeof content !== 'string' || typeof value !== 'object' || value === null || !('result' in value)) return undefined;
  const { summary, more, result } = value;
  if (typeof summary !== 'string' || result === undefined) return undefined;
  return { output: toOutput(result), words: typeof more === 'string' ? { summary, more } : { summary } };
}

/** Makes the model's form of a part, with its words around it. */
export function projectPart(
  open: OpenCall,
  { output, part, label }: { readonly output: Output; readonly part: Part; readonly label: Label },
): ReturnType<typeof project> {
  if ((open.tool.project ?? open.handle.root.settings.project) === undefined) return project(open, { output, label });
  const enclose = (text: string): string => {
    if (text === part.output.content) return output.content as string;
    const value = part.output.isStructured ? readJson(text).value : undefined;
    return JSON.stringify(encloseValue(value ?? text, part.words));
  };
  return project(open, { output: part.output, label, enclose });
}
