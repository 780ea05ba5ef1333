import assert from 'node:assert/strict';
import { defineAgent, run } from '@guardloop/core';

// #region anthropic

import { anthropic } from '@guardloop/anthropic';

const model = anthropic('claude-opus-4-8');
// #endregion
const helper = defineAgent({ name: 'helper', instructions: 'Be brief.', model });
const result = await run(helper, 'Hello?');
assert.equal(result.status === 'completed' && result.text, 'Hello.');
