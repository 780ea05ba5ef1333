import type { Awaitable } from '@guardloop/core';
import type { ToolSpec } from '@guardloop/core/model';

/** What a {@link ToolRanker} is told beside the words and the tools. */
export interface RankInfo {
  /** More names than this are not looked at. */
  readonly limit: number;
  /** Aborted when the model call is. */
  readonly signal: AbortSignal;
}

/**
 * Which tools fit some words: their names, best first; those that do not fit at all are left out. Asked once for each message of the user and
 * each search of the model, and again in another process. The list of tools is the same array for as long as the same tools are offered. If it
 * throws, the model call fails and may be tried again.
 */
export type ToolRanker = (words: string, tools: readonly ToolSpec[], info: RankInfo) => Awaitable<readonly string[]>;

/** Of longer words, so many characters of the beginning and of the end are looked at. */
const endChars = 1_000;
const describedChars = 2_000;
const maxArguments = 100;

/** Words of a person or a model, short enough to search by. */
export const clipWords = (words: string): string =>
  words.length <= 2 * endChars ? words : `${words.slice(0, endChars)} ${words.slice(-endChars)}`;

/** What is searched of a tool. */
export interface ToolText {
  readonly name: string;
  readonly description: string;
  /** Names of its arguments. */
  readonly arguments: readonly string[];
}

export function textOfTool({ name, description, schema: { properties } }: ToolSpec): ToolText {
  const names = typeof properties === 'object' && properties !== null && !Array.isArray(properties) ? Object.keys(properties) : [];
  return { name, description: description.slice(0, describedChars), arguments: names.slice(0, maxArguments) };
}
