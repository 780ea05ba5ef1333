import type { RunStatus } from '@guardloop/core';
import type { JsonObject, JsonValue } from '@guardloop/core/model';
import { z } from 'zod';
import { invalid, kindOf } from './given.js';

/** A call that a task needs: of this tool, with at least these fields, deep. */
export interface ExpectedCall {
  readonly tool: string;
  readonly input?: JsonObject | undefined;
}
/** How an answer must be. All that is given must hold. */
export interface ExpectedAnswer {
  /** The text, or the structured answer. */
  readonly equals?: JsonValue | undefined;
  /** Texts that stand in it, in capital or small letters. */
  readonly contains?: readonly string[] | undefined;
  /** Texts that do not. */
  readonly lacks?: readonly string[] | undefined;
  /** A regular expression without slashes; capital and small letters are the same to it. */
  readonly matches?: string | undefined;
}
/** What must have been read before an answer: a result of a tool; with `contains`, one in which this text stands. */
export type ExpectedEvidence = string | { readonly tool: string; readonly contains: string };
/** One task, as data. */
export interface EvalTask {
  /** Unique in its set. */
  readonly id: string;
  /** What the user says. */
  readonly input: string;
  /** The calls that it takes, each once, failing ones included. Left out: calls are not scored. */
  readonly calls?: readonly ExpectedCall[] | undefined;
  readonly answer?: ExpectedAnswer | undefined;
  /** How its run should end. Default `completed`. */
  readonly ends?: RunStatus | undefined;
  /** Left out: whether the answer was justified is not scored. */
  readonly evidence?: readonly ExpectedEvidence[] | undefined;
  /** Nothing in it deserves a refusal: each one is a false block. */
  readonly innocent?: boolean | undefined;
  readonly tags?: readonly string[] | undefined;
}

const name = z.string().min(1);
const answer = z.strictObject({
  equals: z.json().optional(),
  contains: z.array(name).optional(),
  lacks: z.array(name).optional(),
  matches: z.string().refine(isPattern, 'expected a regular expression').optional(),
});
/** A name under which JSON can hold something: this one would be dropped on the way. */
export const isFieldName = (text: string): boolean => text !== '__proto__';
const task = z.strictObject({
  id: name.refine(isFieldName, 'expected a name that a field of JSON can have'),
  input: z.string(),
  calls: z.array(z.strictObject({ tool: name, input: z.record(z.string(), z.json()).optional() })).optional(),
  answer: answer.optional(),
  ends: z.enum(['completed', 'interrupted', 'blocked', 'exhausted', 'cancelled', 'failed']).optional(),
  evidence: z.array(z.union([name, z.strictObject({ tool: name, contains: name })])).optional(),
  innocent: z.boolean().optional(),
  tags: z.array(name).optional(),
});

function isPattern(text: string): boolean {
  try {
    new RegExp(text, 'iu');
    return true;
  } catch {
    return false;
  }
}

/** One task, checked. `name`: how a message calls it. Throws CONFIG_INVALID. */
export function readTask(given: unknown, name: string): EvalTask {
  const read = task.safeParse(given);
  if (read.success) return read.data as EvalTask;
  const [issue] = read.error.issues;
  const place = issue === undefined || issue.path.length === 0 ? name : `${name}, field ${issue.path.map(String).join('.')}`;
  return invalid(`${place} is not as it must be: ${issue?.message ?? ''}. Give a task { id, input, … }.`);
}

/** Tasks from JSON that was parsed, checked. Throws CONFIG_INVALID, which names the task and the field. */
export function readTasks(given: unknown): readonly EvalTask[] {
  if (!Array.isArray(given))
    return invalid(`The task set is not as it must be: it is ${kindOf(given)}. Give a list of tasks { id, input, … }.`);
  const tasks = given.map((each: unknown, index) => readTask(each, `Task ${index + 1}`));
  const ids = new Set<string>();
  for (const { id } of tasks) {
    if (ids.has(id)) invalid(`Two tasks have the id ${id}. Give each its own.`);
    ids.add(id);
  }
  return tasks;
}
