import assert from 'node:assert/strict';

// #region config

import { defineAgent, GuardloopError, run } from '@guardloop/core';
import { failWith, say, scriptedModel } from '@guardloop/testing';

const model = scriptedModel([say('Hello.')]);
try {
  defineAgent({ name: 'triage', instructions: '', model, handoffs: ['triage'] });
} catch (error) {
  if (!GuardloopError.is(error)) throw error;
  console.log(error.code, error.message); // CONFIG_INVALID Agent triage hands over to itself. Remove …
}
// #endregion
assert.throws(() => defineAgent({ name: 'triage', instructions: '', model, handoffs: ['triage'] }), { code: 'CONFIG_INVALID' });

// #region failed
const broken = scriptedModel([
  failWith(new GuardloopError('MODEL_FAILED', 'Model gpt-5 answered with status 503.', { isRetryable: true, details: { status: 503 } })),
]);
const desk = defineAgent({ name: 'desk', instructions: '', model });
const result = await run(desk, 'Hello.', { model: broken });
if (result.status === 'failed') {
  const { code, isRetryable, details, cause, message } = result.error; // `cause` is a safe copy: name, code, status, request id
  console.log(code, isRetryable, details, cause, message);
}
// #endregion
assert.equal(result.status === 'failed' && result.error.code, 'MODEL_FAILED');

// #region reopen
import { assertCompleted, resume } from '@guardloop/core';

const again = await resume(desk, result.log, { model }); // a failed run is reopened: the model is asked again
assertCompleted(again); // throws unless it completed; narrows the type
console.log(again.output);
// #endregion
assert.equal(again.output, 'Hello.');
