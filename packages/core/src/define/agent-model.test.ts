import { expect, test } from 'vitest';
import type { Model } from '../model/types.js';
import { checkModel, readModel } from './agent-model.js';

const owner = { owner: 'Agent billing', unguarded: ['web_search'] };
const model: Model = { id: 'none', provider: 'none', async *stream() {} };
const invalid = (message: string) => expect.objectContaining({ code: 'CONFIG_INVALID', message });
const form = "Give a model made by an adapter, such as openai('gpt-5'): an object with `id`, `provider` and `stream`.";

test('a model is taken as it is, and a function that gives one is not called', () => {
  const gives = () => {
    throw new Error('called');
  };
  expect(readModel(model, owner)).toBe(model);
  expect(readModel(gives, owner)).toBe(gives);
});

test('a model that is a function with what a model has is a model, and checked', () => {
  const callable = Object.assign(() => model, { id: 'x', provider: 'y', stream: model.stream });
  expect(readModel(callable, owner)).toBe(callable);
  expect(() =>
    readModel(
      Object.assign(() => model, { stream: model.stream }),
      owner,
    ),
  ).toThrow(invalid(`Agent billing has a function as \`model\`. ${form}`));
});

test('a class instance with a stream of its class is a model', () => {
  class Adapter {
    readonly id = 'x';
    readonly provider = 'y';
    async *stream() {}
  }
  expect(() => checkModel(new Adapter(), owner)).not.toThrow();
});

test.each<[string, unknown, string]>([
  ['nothing', undefined, 'undefined'],
  ['null', null, 'null'],
  ['a name', 'big', '"big"'],
  ['a model without an id', { ...model, id: undefined }, 'an object'],
  ['a model with a blank id', { ...model, id: ' ' }, 'an object'],
  ['a model without a provider', { ...model, provider: undefined }, 'an object'],
  ['a model without a stream', { ...model, stream: undefined }, 'an object'],
  ['a model whose stream is no function', { ...model, stream: {} }, 'an object'],
])('%s is no model', (_what, given, described) => {
  expect(() => readModel(given, owner)).toThrow(invalid(`Agent billing has ${described} as \`model\`. ${form}`));
});

test.each([[undefined], [null], [[]], [['web_search']], [['web_search', 'web_search']]])(
  'provider tools of a model may be %j where web_search is listed',
  (providerTools) => {
    expect(() => checkModel({ ...model, providerTools }, owner)).not.toThrow();
  },
);

test('a provider tool that is not listed is refused, and so is a list that is none', () => {
  expect(() => checkModel({ ...model, providerTools: ['web_search', 'shell'] }, owner)).toThrow(
    invalid(
      'Agent billing has a model with "shell", a tool that the provider runs where no guardrail can see it. List it: providerTools: [{ name: "shell", unguarded: true }], or take it from the model.',
    ),
  );
  expect(() => checkModel({ ...model, providerTools: [7] }, owner)).toThrow(
    expect.objectContaining({ message: expect.stringMatching(/^Agent billing has a model with 7, /) }),
  );
  expect(() => checkModel({ ...model, providerTools: 'web_search' }, owner)).toThrow(
    invalid('Agent billing has a model whose `providerTools` are "web_search". Its adapter has to give a list of names.'),
  );
});
