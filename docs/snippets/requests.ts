// #region requests
import assert from 'node:assert/strict';
import { checkChatRequest, checkMessagesRequest } from '@guardloop/testing';

const faults = checkChatRequest({
  model: 'gpt-5',
  messages: [
    { role: 'user', content: 'Where is o1?' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'find_order', arguments: '{}' } }] },
    { role: 'user', content: 'Well?' }, // the call c1 has no result
  ],
});
assert.match(faults.join('\n'), /c1/);
assert.deepEqual(checkMessagesRequest({ model: 'claude-opus-4-8', max_tokens: 100, messages: [{ role: 'user', content: 'Hello.' }] }), []);
// #endregion
