// The smallest agent: instructions, a model, one run.
import assert from 'node:assert/strict';
import { defineAgent, run } from '@guardloop/core';
import { say, scriptedModel } from '@guardloop/testing';

// Here a script stands in for the model, so that the example needs no network and no key.
// With a real one: import { openai } from '@guardloop/openai', and model: openai('gpt-5').
const model = scriptedModel([say('Hello Ada, how can I help?')]);

const greeter = defineAgent({ name: 'greeter', instructions: 'Greet the person by name.', model });

const result = await run(greeter, 'Hi, I am Ada.');

// How a run ended is a value, not an exception. Look at `status` first; the compiler knows what each has.
switch (result.status) {
  case 'completed':
    console.log(result.text);
    break;
  case 'blocked':
    console.log(`Refused by ${result.by}: ${result.reason}`);
    break;
  default:
    console.log(`The run ended ${result.status}.`);
}

assert.equal(result.status, 'completed');
assert.equal(result.usage.requests, 1);
