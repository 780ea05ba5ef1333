import type { RequestContext } from '../src/build-request.js';
import { modelTraits } from '../src/thinking.js';
import { ToolOffer } from '../src/tool-fields.js';

/** What stays the same for all requests of a model, with nothing set. */
export function contextFor(model: string): RequestContext {
  return {
    model,
    settings: {},
    maxTokens: 32_000,
    thinking: {},
    traits: modelTraits(model),
    cache: 'off',
    structuredOutput: 'native',
    strictTools: 'auto',
    toolOffer: new ToolOffer(),
    providerTools: [],
    headers: {},
  };
}
