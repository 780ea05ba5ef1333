// A real model in place of the embedded one. The adapters are loaded only when they are wanted.
import type { Model } from '@guardloop/core';
import type { Provider } from './options.js';

const needs = {
  openai: { key: 'OPENAI_API_KEY', model: 'gpt-5' },
  anthropic: { key: 'ANTHROPIC_API_KEY', model: 'claude-opus-4-8' },
} as const;

/** The provider's model, or what is missing for it. */
export async function liveModel(
  provider: Provider,
  wanted: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Model | { readonly fault: string }> {
  const { key, model } = needs[provider];
  if (!environment[key]) {
    return {
      fault: `--live ${provider} needs an API key: set ${key}, for example\n\n  ${key}=… npm run demo -- --live ${provider}\n\nWithout --live the demo runs on an embedded model and needs no key.`,
    };
  }
  if (provider === 'openai') {
    const { openai } = await import('@guardloop/openai');
    return openai(wanted ?? model);
  }
  const { anthropic } = await import('@guardloop/anthropic');
  return anthropic(wanted ?? model);
}
