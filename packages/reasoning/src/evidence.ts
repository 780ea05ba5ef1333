import type { Guardrail, Message } from '@guardloop/core';
import { allow, defineGuardrail, deny } from '@guardloop/core';
import type { ToolMessage } from '@guardloop/core/model';
import { optionFault } from '@guardloop/core/model';

/** What a predicate is shown: the answer, and what the run has found out. */
export interface EvidenceInfo {
  /** The text of the answer; of a structured one, its JSON. */
  readonly answer: string;
  /** The structured answer, raw; of text, the text. */
  readonly value: unknown;
  /** Results of this run that are no errors. */
  readonly results: readonly ToolMessage[];
  /** All that the agent sees. */
  readonly messages: readonly Message[];
}
/** What a task needs: a result of a tool by its name, or something of which a predicate says whether it is there. */
export type Evidence =
  | string
  | {
      /** In words that tell the model what is missing: `the date of the order`. */
      readonly what: string;
      /** May throw: then it is missing. */
      readonly holds: (info: EvidenceInfo) => boolean;
    };

/** A run as it stands before an answer, or after it. */
export interface EvidenceState extends Pick<EvidenceInfo, 'answer' | 'value' | 'messages'> {
  /** Its id: results of runs before it do not count. */
  readonly run: string;
}

/** What is not there of what a task needs, in words; empty where nothing is missing. Never throws. */
export function missingEvidence(needed: readonly Evidence[], { run, answer, value, messages }: EvidenceState): readonly string[] {
  const results = messages.filter(
    (message): message is ToolMessage => message.role === 'tool' && !message.isError && message.id.startsWith(`${run}/`),
  );
  const info: EvidenceInfo = { answer, value, results, messages };
  return needed
    .map((each) => (typeof each === 'string' ? ofTool(each) : each))
    .filter((item) => !holds(item, info))
    .map(({ what }) => what);
}

/**
 * A guardrail on final answers that lets none stop the run before the evidence is there. A premature one is discarded, the model is told what
 * is missing, and `limits.repairs` counts it; its verdict stands in the log under the name `evidence`. Throws CONFIG_INVALID.
 */
export function evidence(needed: readonly Evidence[]): Guardrail<unknown, 'output'> {
  checkNeeded(needed);
  return defineGuardrail({
    name: 'evidence',
    on: ['output'],
    check: ({ content, value, final, kind }, { run, messages }) => {
      if (!final || kind !== 'answer') return allow();
      const missing = missingEvidence(needed, { run, answer: content, value, messages });
      return missing.length === 0 ? allow() : deny(`the answer is premature, this is missing: ${missing.join('; ')}`);
    },
  });
}

function checkNeeded(needed: unknown): void {
  const where = 'evidence(…)';
  if (!Array.isArray(needed) || needed.length === 0)
    throw optionFault(where, "it is given no list of what is needed. Give names of tools, or { what, holds }: evidence(['find_order']).");
  for (const [index, each] of (needed as readonly unknown[]).entries()) {
    const { what, holds } = (typeof each === 'object' && each !== null ? each : {}) as { readonly [name: string]: unknown };
    const isTold = typeof what === 'string' && what.trim() !== '' && typeof holds === 'function';
    if (!isTold && !(typeof each === 'string' && each.trim() !== ''))
      throw optionFault(
        where,
        `entry ${index + 1} is neither the name of a tool nor { what, holds }, a text and a function. Give one of them.`,
      );
  }
}

const ofTool = (tool: string) => ({
  what: `a result of ${tool}`,
  holds: ({ results }: EvidenceInfo) => results.some((result) => result.tool === tool),
});

function holds(item: Exclude<Evidence, string>, info: EvidenceInfo): boolean {
  try {
    return item.holds(info) === true;
  } catch {
    return false;
  }
}
