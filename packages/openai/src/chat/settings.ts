import type { JsonObject, JsonValue, ModelSettings } from '@guardloop/core/model';
import { GuardloopError, wellFormed, wellFormedText } from '@guardloop/core/model';
import type { Dialect, LackedSetting } from './dialect.js';
import { chatProvider } from './native.js';
import type { Warning } from './parts.js';

/** The fields of a request that come from settings. Fields without a value are undefined. */
export interface SettingFields {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly warnings: readonly Warning[];
  /** The token limit that was sent. */
  readonly maxTokens: number | undefined;
  readonly parallelToolCalls: boolean | undefined;
}

/** Fields that `extra` may not set: they belong to the conversation, or would let in what no guardrail sees. */
const reservedFields = new Set([
  'model',
  'messages',
  'stream',
  'n',
  'tools',
  'tool_choice',
  'functions',
  'function_call',
  'response_format',
  'web_search_options',
  'audio',
  'modalities',
]);
/** Settings that are bounds: leaving one out would lift what the user set. */
const bounds: ReadonlySet<LackedSetting> = new Set(['maxTokens', 'stopSequences']);
const mostStops = 4;
const mostMetadata = { keys: 16, keyChars: 64, valueChars: 512 };

/** Throws `CONFIG_INVALID` for what the API would refuse, and for bounds that the server lacks. What else it lacks is left out with a warning. */
export function settingFields(given: ModelSettings, dialect: Dialect): SettingFields {
  const warnings: Warning[] = [];
  const warn = (message: string): void => void warnings.push({ type: 'warning', about: 'setting', message });
  const settings = withoutLacked(given, dialect.lacks, warn);
  const extra = extraFields(settings);
  const ownLimit = 'max_tokens' in extra || 'max_completion_tokens' in extra;
  checkRanges(settings);
  return {
    fields: {
      temperature: settings.temperature,
      top_p: settings.topP,
      ...(ownLimit ? {} : { [dialect.maxTokensField]: settings.maxTokens }),
      stop: stopTexts(settings.stopSequences),
      reasoning_effort: effort(settings.reasoning, dialect, warn),
      [dialect.seedField]: settings.seed,
      metadata: metadata(settings.metadata, { isTaken: dialect.metadata === 'always' || extra.store === true, warn }),
      ...extra,
    },
    warnings,
    maxTokens: ownLimit ? undefined : settings.maxTokens,
    parallelToolCalls: settings.parallelToolCalls,
  };
}

type Warn = (message: string) => void;

function withoutLacked(settings: ModelSettings, lacks: readonly LackedSetting[], warn: Warn): ModelSettings {
  if (lacks.length === 0) return settings;
  const rest: { -readonly [K in keyof ModelSettings]: ModelSettings[K] } = { ...settings };
  for (const name of lacks) {
    if (rest[name] === undefined) continue;
    if (bounds.has(name))
      throw invalid(`settings.${name} is set, which this server lacks (option lacks). Take it out, or ask another server.`);
    warn(`${name} was left out: this server lacks it.`);
    delete rest[name];
  }
  return rest;
}

function checkRanges({ temperature, topP, maxTokens, seed, headers }: ModelSettings): void {
  if (temperature !== undefined && !(temperature >= 0 && temperature <= 2))
    throw invalid('settings.temperature must be a number from 0 to 2.');
  if (topP !== undefined && !(topP >= 0 && topP <= 1)) throw invalid('settings.topP must be a number from 0 to 1.');
  if (maxTokens !== undefined && !(Number.isSafeInteger(maxTokens) && maxTokens >= 1))
    throw invalid('settings.maxTokens must be a whole number from 1.');
  if (seed !== undefined && !Number.isSafeInteger(seed)) throw invalid('settings.seed must be a whole number.');
  if (headers !== undefined && !areHeaders(headers))
    throw invalid(
      'settings.headers holds a name or a value that HTTP does not take. Use letters, digits and dashes in names, and no line breaks.',
    );
}

function areHeaders(headers: Readonly<Record<string, string>>): boolean {
  try {
    return [...new Headers(headers)].length >= 0;
  } catch {
    return false;
  }
}

function stopTexts(stops: ModelSettings['stopSequences']): readonly string[] | undefined {
  if (stops === undefined || stops.length === 0) return undefined;
  if (stops.length > mostStops)
    throw invalid(`settings.stopSequences holds ${stops.length} texts, and Chat Completions takes at most ${mostStops}. Take some out.`);
  if (stops.includes('')) throw invalid('settings.stopSequences holds an empty text. Take it out.');
  return stops.map(wellFormedText);
}

function effort(reasoning: ModelSettings['reasoning'], { reasoningOff }: Dialect, warn: Warn): string | undefined {
  if (typeof reasoning === 'object')
    throw invalid('settings.reasoning is a token budget, which Chat Completions does not have. Give it as low, medium or high.');
  if (reasoning !== 'off') return reasoning;
  if (reasoningOff !== 'omit') return reasoningOff;
  warn("reasoning: 'off' was left out: this server cannot be told not to reason (option reasoningOff).");
  return undefined;
}

function metadata(
  given: ModelSettings['metadata'],
  { isTaken, warn }: { readonly isTaken: boolean; readonly warn: Warn },
): JsonValue | undefined {
  const keys = Object.keys(given ?? {});
  if (given === undefined || keys.length === 0) return undefined;
  if (!isTaken) {
    warn('metadata was left out: OpenAI takes it only with what it stores (store: true).');
    return undefined;
  }
  if (keys.length > mostMetadata.keys)
    throw invalid(`settings.metadata has ${keys.length} keys, and Chat Completions takes at most ${mostMetadata.keys}. Take some out.`);
  const clean: JsonObject = wellFormed(given);
  for (const [key, value] of Object.entries(clean)) {
    if (key.length > mostMetadata.keyChars)
      throw invalid(`settings.metadata has a key of ${key.length} characters; at most ${mostMetadata.keyChars} are taken.`);
    if (typeof value !== 'string' || value.length > mostMetadata.valueChars)
      throw invalid(`settings.metadata.${key} must be a text of at most ${mostMetadata.valueChars} characters.`);
  }
  return clean;
}

function extraFields(settings: ModelSettings): JsonObject {
  const extra = settings.extra?.[chatProvider];
  if (extra === undefined) return {};
  const reserved = Object.keys(extra).filter((field) => reservedFields.has(field));
  if (reserved.length > 0) {
    throw invalid(
      `settings.extra['${chatProvider}'] sets ${reserved.join(', ')}, which the adapter makes itself or does not let through. Use the settings of agent and run.`,
    );
  }
  return wellFormed(extra);
}

function invalid(message: string): GuardloopError {
  return new GuardloopError('CONFIG_INVALID', message);
}
