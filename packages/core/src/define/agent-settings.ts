import type { ModelSettings } from '../model/types.js';
import { DefinitionReader, describe, invalid, isName, property } from './definition-reader.js';
import type { AgentSpec } from './specs.js';

const names = Object.keys({
  temperature: true,
  topP: true,
  maxTokens: true,
  toolChoice: true,
  parallelToolCalls: true,
  stopSequences: true,
  reasoning: true,
  seed: true,
  metadata: true,
  headers: true,
  extra: true,
} satisfies Record<keyof ModelSettings, true>) as (keyof ModelSettings)[];

const none: ModelSettings = Object.freeze({});
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 1;
const isNumber = (value: unknown): boolean => Number.isFinite(value);

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const isTextRecord = (value: unknown): boolean => isRecord(value) && Object.values(value).every((text) => typeof text === 'string');

/** What each setting must be, in words and as a test. */
const rules: { readonly [K in keyof ModelSettings]-?: readonly [test: (value: unknown) => boolean, expected: string] } = {
  temperature: [(value) => isNumber(value) && (value as number) >= 0, 'Give a number from 0.'],
  topP: [(value) => isNumber(value) && (value as number) >= 0 && (value as number) <= 1, 'Give a number from 0 to 1.'],
  maxTokens: [isCount, 'Give a whole number from 1.'],
  toolChoice: [
    (value) => ['auto', 'required', 'none'].includes(value as string) || isName(property(value, 'tool')),
    "Give 'auto', 'required', 'none' or { tool: NAME }.",
  ],
  parallelToolCalls: [(value) => typeof value === 'boolean', 'Give true or false.'],
  stopSequences: [
    (value) => Array.isArray(value) && value.every((text) => typeof text === 'string' && text !== ''),
    'Give a list of texts.',
  ],
  reasoning: [
    (value) => ['off', 'low', 'medium', 'high'].includes(value as string) || isCount(property(value, 'maxTokens')),
    "Give 'off', 'low', 'medium', 'high' or { maxTokens: NUMBER }.",
  ],
  seed: [Number.isSafeInteger, 'Give a whole number.'],
  metadata: [isTextRecord, 'Give an object whose values are texts.'],
  headers: [isTextRecord, 'Give an object with a text for each header name.'],
  extra: [
    (value) => isRecord(value) && Object.values(value).every(isRecord),
    'Give an object with the name of an adapter over each set of fields.',
  ],
};

/** Settings, or a function that gives them. Throws CONFIG_INVALID; what a function gives is checked by `checkSettings` when it was called. */
export function readSettings(given: unknown, owner: string): AgentSpec['settings'] {
  if (given === undefined) return none;
  return typeof given === 'function' ? (given as AgentSpec['settings']) : checkSettings(given, owner);
}

/** A frozen copy of settings. Throws CONFIG_INVALID. `owner` opens the message: `Agent billing`. */
export function checkSettings(given: unknown, owner: string): ModelSettings {
  const reader = new DefinitionReader({ place: `\`settings\` of ${owner.charAt(0).toLowerCase()}${owner.slice(1)}` }, given, names);
  const settings: Record<string, unknown> = {};
  for (const name of names) {
    const value = reader.json(name);
    if (value === undefined) continue;
    const [test, expected] = rules[name];
    if (!test(value)) invalid(`${reader.subject} has ${describe(value)} as \`${name}\`. ${expected}`);
    settings[name] = value;
  }
  return Object.freeze(settings);
}
