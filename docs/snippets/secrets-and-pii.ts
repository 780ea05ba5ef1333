import assert from 'node:assert/strict';
import { run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

// Made up, and in pieces: no scanner of repositories shall take it for one.
const token = ['glpat', 'k29dk3lfpq82ms7xw01z'].join('-');
const readConfig = defineTool({
  name: 'read_config',
  description: 'Reads the configuration.',
  input: z.object({}),
  execute: () => ({ url: 'https://example.org', token }),
});
const model = scriptedModel([callTool('read_config', {}), say(`It is ${token}. Write to jan@example.org.`)]);

// #region both

import { defineAgent, defineTool } from '@guardloop/core';
import { pii, secrets } from '@guardloop/guardrails';

const desk = defineAgent({
  name: 'desk',
  instructions: 'Help with accounts.',
  model,
  tools: [readConfig],
  guardrails: [secrets(), pii()],
});
// #endregion
const result = await run(desk, 'My card is 4111 1111 1111 1111. Which token do we use?');
assert.equal(result.status === 'completed' && result.output, 'It is [gitlab-token]. Write to [email].');
assert.ok(!JSON.stringify(result.log).includes(token));
assert.ok(JSON.stringify(result.log).includes('My card is [payment-card].'));
assert.deepEqual(auditLog(result.log), []);

// #region then
const strict = secrets({ then: { toolInput: 'ask', output: 'deny' } }); // elsewhere: redact
const marked = pii({ placeholder: ({ kind }, value) => `<${kind} of ${value.length} characters>` });
// #endregion
const asked = await run(
  defineAgent({
    name: 'desk',
    instructions: '',
    model: scriptedModel([say(`It is ${token}.`), say('I cannot say.')]),
    guardrails: [strict, marked],
  }),
  'Call me on 030 901820.',
);
assert.equal(asked.status === 'completed' && asked.output, 'I cannot say.');
assert.ok(JSON.stringify(asked.log).includes('Call me on <phone of 10 characters>.'));

// #region choose
const tokensOnly = secrets({ without: ['generic', 'urls'], allow: ['glpat-of-the-public-demo-1'] });
const flowing = secrets({ long: false }); // answers flow through it; no private keys
const german = pii({ kinds: ['email', 'iban', 'phone', 'de-tax-id'], regions: ['DE', 'AT'] });
// #endregion
assert.deepEqual(
  [tokensOnly, flowing, german].map(({ name }) => name),
  ['secrets', 'secrets', 'pii'],
);

// #region own
const ours = secrets({
  rules: [
    {
      id: 'acme-key',
      pattern: /\bacme_(?:live|test)_([a-z0-9]{16})\b/, // RE2: no look-around, no back-references
      keywords: ['acme_'], // the pattern runs only where one stands
      entropy: 3, // bits per character
      allow: [{ words: ['fixture'] }],
    },
  ],
});
// #endregion
const acme = await run(
  defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Thanks.')]), guardrails: [ours] }),
  'Ours is acme_live_k29dk3lfpq82ms7x.',
);
assert.ok(JSON.stringify(acme.log).includes('Ours is acme_live_[acme-key].'));

const textOfTheFile = `
[[rules]]
id = "acme-pin"
regex = '''pin=(\\d{8})'''

[[rules]]
id = "acme-file"
path = '''\\.acme$'''
`;

// #region gitleaks
import { fromGitleaks } from '@guardloop/guardrails';

const gitleaks = fromGitleaks(textOfTheFile); // readFileSync('.gitleaks.toml', 'utf8')
for (const { id, why } of gitleaks.leftOut) console.log(`${id}: ${why}`); // acme-file: it knows a file by its path; a text has none
const withTheirs = secrets({ gitleaks });
// #endregion
assert.deepEqual(
  gitleaks.leftOut.map(({ id }) => id),
  ['acme-file'],
);
assert.equal(withTheirs.name, 'secrets');

const value = '8Kq2pXv9Lm4z';

// #region search
import { findPii, findSecrets } from '@guardloop/guardrails';

const line = `GET /orders?token=${token} from 203.0.113.7`;
const inLine = [...findSecrets().find(line), ...findPii().find(line)].map(({ kind }) => kind);
const inField = findSecrets().find(value, { key: 'password' });
// #endregion
assert.deepEqual([...new Set(inLine)].sort(), ['gitlab-token', 'ip-address']);
assert.equal(inField.length, 1);
