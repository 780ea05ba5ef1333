import type { JsonObject, Verdict } from '@guardloop/core';
import { fitsPattern } from '@guardloop/core';
import type { Definition } from './definition.js';
import { readDefinition } from './definition.js';
import type { DescriptionCheck } from './description-check.js';
import { describedTexts, hiddenCharacter } from './description-check.js';
import { describeChange } from './diff.js';
import type { Pin } from './pins.js';
import { digestOf, pinOf } from './pins.js';
import { oneLine, showName } from './show-text.js';

/** A tool of the server that is not offered, and why. */
export interface RefusedTool {
  /** As the server calls it. */
  readonly tool: string;
  /**
   * `new`: not among the pins. `changed`: not as it was pinned. `missing`: pinned, but the server has it no more. `description`: what a model
   * would read is not fit for it. `definition`: it cannot be used as it is defined.
   */
  readonly why: 'new' | 'changed' | 'missing' | 'description' | 'definition';
  /** One sentence. */
  readonly reason: string;
  /** What has changed, for people; of `new` and `changed`. */
  readonly diff?: string | undefined;
}

/** A refused tool with what a person would approve; the latter only where pins alone stand in its way. */
export interface Refusal extends RefusedTool {
  readonly pin?: Pin | undefined;
  /** As it was approved before. */
  readonly former?: Pin | undefined;
}

export interface Survey {
  readonly offered: readonly Definition[];
  readonly refused: readonly Refusal[];
  /** All names that the server lists, allowed or not. */
  readonly names: readonly string[];
}

export interface SurveySettings {
  readonly serverName: string;
  readonly allow: readonly string[] | undefined;
  readonly pins: ReadonlyMap<string, Pin> | undefined;
  /** Whether the server's hints are part of what is approved. */
  readonly trustsHints: boolean;
  readonly maxDescriptionChars: number;
  readonly checks: readonly DescriptionCheck[];
}

const longestSchema = 200_000;

/** Looks at what a server lists: which tools are offered, and why others are not. Never throws. */
export async function surveyTools(entries: readonly unknown[], settings: SurveySettings): Promise<Survey> {
  const { allow, pins } = settings;
  const read = entries.map(readDefinition);
  const counts = new Map<string, number>();
  for (const { name } of read) counts.set(name, (counts.get(name) ?? 0) + 1);
  const offered: Definition[] = [];
  const refused: Refusal[] = [];
  const looked = new Set<string>();
  for (const tool of read) {
    const { name } = tool;
    if (looked.has(name) || (allow && !allow.some((pattern) => fitsPattern(pattern, name)))) continue;
    looked.add(name);
    if ('fault' in tool) refused.push(refusal(name, 'definition', tool.fault));
    else if ((counts.get(name) ?? 0) > 1) refused.push(refusal(name, 'definition', 'is listed more than once'));
    else {
      const judged = await judge(tool, settings);
      if ('why' in judged) refused.push(judged);
      else offered.push(judged);
    }
  }
  for (const [name, former] of pins ?? []) {
    if (!counts.has(name)) refused.push({ ...refusal(name, 'missing', 'was approved, but the server has it no more'), former });
  }
  return { offered, refused, names: [...counts.keys()] };
}

function refusal(tool: string, why: RefusedTool['why'], what: string): Refusal {
  return { tool, why, reason: `Tool ${tool === '' ? '(without a name)' : showName(tool)} ${what}.` };
}

async function judge(tool: Omit<Definition, 'digest'>, settings: SurveySettings): Promise<Definition | Refusal> {
  const { name } = tool;
  if (tool.needsTask) return refusal(name, 'definition', 'runs only as a task of its own, which is not supported');
  if (hiddenCharacter(name) !== undefined) return refusal(name, 'description', 'has a name with a character that people do not see');
  const size = sizeOf(tool.input) + (tool.output === undefined ? 0 : sizeOf(tool.output));
  if (size > longestSchema) return refusal(name, 'definition', `has schemas of more than ${longestSchema} characters, or nested too deep`);
  const fault = await unfitText(tool, settings);
  if (fault !== undefined) return refusal(name, 'description', fault);
  let digest: string;
  try {
    digest = await digestOf(tool);
  } catch {
    return refusal(name, 'definition', 'has a schema that is nested too deep');
  }
  return comparePin({ ...tool, digest }, settings);
}

function sizeOf(schema: JsonObject): number {
  try {
    return JSON.stringify(schema).length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

async function unfitText(
  { description, input }: Omit<Definition, 'digest'>,
  { maxDescriptionChars, checks }: SurveySettings,
): Promise<string | undefined> {
  for (const { text, where } of describedTexts(description, input)) {
    const place = showName(where);
    if (text.length > maxDescriptionChars) return `has ${text.length} characters in its ${place}, more than ${maxDescriptionChars}`;
    const hidden = hiddenCharacter(text);
    if (hidden !== undefined) return `has in its ${place} ${hidden}`;
    for (const check of checks) {
      let why: string | undefined;
      try {
        why = await checked(check, text, where);
      } catch {
        return `could not be checked: \`checkDescription\` failed at its ${place}`;
      }
      if (why !== undefined) return `has a ${place} that is refused: ${why.replace(/\.$/, '')}`;
    }
  }
  return undefined;
}

async function checked(check: DescriptionCheck, text: string, where: string): Promise<string | undefined> {
  if (typeof check !== 'function') {
    const kinds = new Set(check.find(text, { surface: 'toolOutput' }).map(({ kind }) => kind));
    return kinds.size === 0 ? undefined : `it holds ${oneLine([...kinds].join(', '), 300)}`;
  }
  const verdict: Verdict | undefined = await check(text, where);
  if (verdict?.action === 'allow') return undefined;
  const { reason } = (verdict ?? {}) as { readonly reason?: unknown };
  return typeof reason === 'string' ? oneLine(reason, 300) : '`checkDescription` gave no verdict';
}

const sameHints = (a: Pin['hints'], b: Pin['hints']): boolean =>
  (['readOnly', 'destructive', 'idempotent', 'openWorld'] as const).every((hint) => a?.[hint] === b?.[hint]);

/** How a tool differs from what was approved; undefined where it does not. */
export function changeFrom(pin: Pin | undefined, tool: Definition, trustsHints: boolean): 'new' | 'changed' | undefined {
  if (pin === undefined) return 'new';
  if (pin.digest !== tool.digest) return 'changed';
  return trustsHints && !sameHints(pin.hints, tool.hints) ? 'changed' : undefined;
}

function comparePin(tool: Definition, { pins, trustsHints, serverName }: SurveySettings): Definition | Refusal {
  const pin = pins?.get(tool.name);
  const why = pins && changeFrom(pin, tool, trustsHints);
  if (why === undefined) return tool;
  const what = why === 'new' ? 'is new' : 'is not as it was approved';
  const now = pinOf(tool);
  return {
    ...refusal(tool.name, why, `${what}: a person has to look at its definition, and approve it in the pins of server ${serverName}`),
    diff: describeChange(pin, now),
    pin: now,
    ...(pin === undefined ? {} : { former: pin }),
  };
}
