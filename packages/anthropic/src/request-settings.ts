import type { JsonObject, ModelSettings } from '@guardloop/core/model';
import { GuardloopError, hasText, wellFormedText } from '@guardloop/core/model';
import { providerName } from './encode-items.js';
import type { ModelTraits } from './thinking.js';

/** Extra fields that would let in what no guardrail sees, or that belong to the agent. */
const reserved: ReadonlySet<string> = new Set(['tools', 'tool_choice', 'mcp_servers', 'system']);

/**
 * Throws `CONFIG_INVALID` for limits that the API does not take, without which the answer would be larger than was allowed, and for extra fields
 * that go past the agent.
 */
export function checkSettings({ maxTokens, stopSequences: stops, extra }: ModelSettings, model: string): void {
  const invalid = (message: string): GuardloopError => new GuardloopError('CONFIG_INVALID', `anthropic('${model}'): ${message}`);
  if (maxTokens !== undefined && !(Number.isInteger(maxTokens) && maxTokens > 0)) {
    throw invalid('settings.maxTokens must be a whole number from 1.');
  }
  if (stops?.some((stop) => !hasText(stop)) === true) {
    throw invalid('settings.stopSequences holds one that is empty or only whitespace, which Anthropic does not take. Leave it out.');
  }
  const past = Object.keys(extra?.[providerName] ?? {}).filter((field) => reserved.has(field));
  if (past.length > 0) {
    throw invalid(
      `settings.extra['${providerName}'] sets ${past.join(', ')}, which belong to the agent. Use its instructions, tools and settings; tools that Anthropic runs go into the option providerTools.`,
    );
  }
}

export function stopSequences({ stopSequences: stops }: ModelSettings): readonly string[] | undefined {
  return stops === undefined || stops.length === 0 ? undefined : stops.map(wellFormedText);
}

/** With thinking the API takes neither; of the two it takes one, and `temperature` goes first; both reach from 0 to 1. */
export function samplingFields(
  settings: ModelSettings,
  { takesSampling }: ModelTraits,
  thinking: JsonObject | undefined,
): { readonly fields: JsonObject; readonly dropped: readonly string[] } {
  const given = (['temperature', 'topP'] as const).filter((name) => settings[name] !== undefined);
  const [name, second] = given;
  if (name === undefined) return { fields: {}, dropped: [] };
  const isThinking = thinking?.type === 'enabled' || thinking?.type === 'adaptive';
  // A temperature of 1 is what the API takes anyway.
  const named = given.filter((setting) => setting === 'topP' || settings.temperature !== 1).join(' and ');
  if (!takesSampling) return { fields: {}, dropped: named === '' ? [] : [`Not sent: ${named}, which this model does not take.`] };
  if (isThinking)
    return { fields: {}, dropped: named === '' ? [] : [`Not sent: ${named}, which Anthropic does not take beside thinking.`] };
  const asked = settings[name] ?? 1;
  if (Number.isNaN(asked)) return { fields: {}, dropped: [`Not sent: ${name}, which is no number.`] };
  const sent = Math.min(1, Math.max(0, asked));
  return {
    fields: { [name === 'topP' ? 'top_p' : 'temperature']: sent },
    dropped: [
      ...(sent === asked ? [] : [`${name} is sent as ${sent}: Anthropic takes it from 0 to 1.`]),
      ...(second === undefined ? [] : ['Not sent: topP, which Anthropic does not take beside temperature.']),
    ],
  };
}

/** Settings that the API has no field for, and extra fields that the adapter writes itself. */
export function droppedSettings(
  { seed, metadata }: ModelSettings,
  { extra, own }: { readonly extra: JsonObject; readonly own: JsonObject },
): readonly string[] {
  const names = Object.keys(metadata ?? {}).filter((name) => name !== 'user_id');
  const written = Object.keys(extra).filter((field) => Object.hasOwn(own, field) && !shared.has(field));
  return [
    ...(seed === undefined ? [] : ['Not sent: seed, which Anthropic does not have.']),
    ...(names.length === 0 ? [] : [`Not sent: metadata.${names.join(', metadata.')}. Anthropic takes user_id alone.`]),
    ...(written.length === 0 ? [] : [`Not sent: the extra fields ${written.join(', ')}, which the adapter writes itself.`]),
  ];
}

/** Extra fields that are sent beside what the adapter writes there. */
const shared: ReadonlySet<string> = new Set(['output_config', 'metadata', 'container']);
