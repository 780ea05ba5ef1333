import assert from 'node:assert/strict';
// #region model
import { anthropic } from '@guardloop/anthropic';

const model = anthropic('claude-opus-4-8', {
  thinking: { display: 'summarized' }, // shown as reasoning where the run's option `reasoning` lets it
  settings: { reasoning: 'medium', metadata: { user_id: 'a-hash-of-the-user' }, extra: { 'anthropic.messages': { service_tier: 'auto' } } },
});
// #endregion
assert.equal(model.provider, 'anthropic.messages');

// #region tools
import { coverage, defineAgent } from '@guardloop/core';

const reader = defineAgent({
  name: 'reader',
  instructions: 'Answer from the web.',
  model: anthropic('claude-opus-4-8', { providerTools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] }),
  providerTools: [{ name: 'web_search', unguarded: true }], // said twice, so that nobody takes it for guarded
});
const unguarded = coverage(reader).filter(({ isProviderTool }) => isProviderTool === true);
// #endregion
assert.deepEqual(
  unguarded.map(({ tool }) => tool),
  ['web_search'],
);
