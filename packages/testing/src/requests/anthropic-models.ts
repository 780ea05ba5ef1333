// What single Claude models refuse, as far as their id tells. Ids that are not Claude's have no rules of their own.

import type { Fields, Problems } from './anthropic-fields.js';
import { isFields, show } from './anthropic-fields.js';

interface Version {
  readonly family: string;
  /** 4.6 is 406: minor versions can have two digits. */
  readonly number: number;
}

function versionOf(model: unknown): Version | undefined {
  if (typeof model !== 'string') return undefined;
  const found =
    /claude-(?<family>opus|sonnet|haiku|fable|mythos)-(?<major>\d)(?:[-.](?<minor>\d{1,2}))?(?!\d)/.exec(model) ??
    /claude-(?<major>\d)(?:[-.](?<minor>\d))?-(?<family>opus|sonnet|haiku)/.exec(model) ??
    /claude-(?<family>mythos)-preview/.exec(model);
  if (found?.groups?.family === undefined) return undefined;
  const { family, major = '5', minor = '0' } = found.groups;
  return { family, number: Number(major) * 100 + Number(minor) };
}

/** What the model of a request would refuse of it, beyond what the API refuses for every model. */
export function* checkModel(body: Fields): Problems {
  const version = versionOf(body.model);
  if (version === undefined) return;
  const { tool_choice: choice, thinking, output_config: config } = body;
  if (isFields(choice) && (choice.type === 'any' || choice.type === 'tool') && !canBeForced(version))
    yield `tool_choice.type: ${show(choice.type)} is not taken by ${show(body.model)}`;
  if (!takesSampling(version)) {
    if (body.temperature !== undefined && body.temperature !== 1) yield `temperature: ${show(body.model)} takes none but 1`;
    for (const field of ['top_p', 'top_k']) if (body[field] !== undefined) yield `${field}: not taken by ${show(body.model)}`;
  }
  if (isFields(thinking) && typeof thinking.type === 'string' && !thinkingTypes(version).includes(thinking.type))
    yield `thinking.type: ${show(thinking.type)} is not taken by ${show(body.model)}`;
  const effort = isFields(config) ? (config.effort ?? undefined) : undefined;
  if (effort !== undefined && !takesEffort(version)) yield `output_config.effort: not taken by ${show(body.model)}`;
  const isOff = isFields(thinking) && thinking.type === 'disabled';
  if (isOff && version.number >= 500 && (effort === 'xhigh' || effort === 'max'))
    yield `output_config.effort: ${show(effort)} cannot be asked for with thinking disabled`;
}

/** True for models that go on from an assistant message that was begun for them. */
export function takesPrefill(model: unknown): boolean {
  const version = versionOf(model);
  return version === undefined || version.number < 406;
}

function isAlwaysThinking(family: string): boolean {
  return family === 'fable' || family === 'mythos';
}

function canBeForced({ family, number }: Version): boolean {
  if (family === 'mythos') return false;
  return family === 'haiku' || number < (family === 'fable' ? 501 : 505);
}

function takesSampling({ number }: Version): boolean {
  return number < 407;
}

function thinkingTypes({ family, number }: Version): readonly string[] {
  if (number < 307) return ['disabled'];
  if (number < 406) return ['enabled', 'disabled'];
  if (number === 406) return ['enabled', 'adaptive', 'disabled'];
  if (isAlwaysThinking(family)) return ['adaptive'];
  if (family === 'sonnet' && number >= 505) return ['adaptive', 'between_tools'];
  return family === 'opus' && number >= 505 ? ['adaptive'] : ['adaptive', 'disabled'];
}

function takesEffort({ family, number }: Version): boolean {
  return number >= 406 || (family === 'opus' && number === 405);
}
