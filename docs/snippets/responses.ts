import assert from 'node:assert/strict';
import { coverage } from '@guardloop/core';
// #region model
import { openaiResponses } from '@guardloop/openai';

const model = openaiResponses('gpt-5', {
  reasoningSummary: 'auto', // shown as reasoning where the run's option `reasoning` lets it
  settings: { reasoning: 'low', extra: { 'openai.responses': { prompt_cache_key: 'desk-v3' } } },
});
// #endregion
assert.equal(model.provider, 'openai.responses');

// #region tools
import { defineAgent } from '@guardloop/core';

const reader = defineAgent({
  name: 'reader',
  instructions: 'Answer from the web.',
  model: openaiResponses('gpt-5', { providerTools: [{ type: 'web_search' }] }),
  providerTools: [{ name: 'web_search', unguarded: true }], // said twice, so that nobody takes it for guarded
});
// #endregion
assert.ok(coverage(reader).some(({ tool, isProviderTool }) => tool === 'web_search' && isProviderTool === true));
