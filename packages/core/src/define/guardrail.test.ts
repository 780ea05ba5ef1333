import { expect, test } from 'vitest';
import { guardrailSpecOf } from './definition.js';
import { defineGuardrail } from './guardrail.js';
import { allow, rewrite } from './verdict.js';

const define = defineGuardrail as (def: unknown) => ReturnType<typeof defineGuardrail>;
const specOf = (def: unknown) => guardrailSpecOf(define(def), 'It');
const invalid = (message: string) => expect.objectContaining({ code: 'CONFIG_INVALID', message });
const check = () => allow();
const fits = { name: 'own-orders', on: ['toolInput'], check };

test('a guardrail shows its name and surfaces, and hides the rest', () => {
  const guardrail = defineGuardrail({ name: 'own-orders', on: ['toolInput', 'output'], check });
  expect({ ...guardrail }).toEqual({ name: 'own-orders', on: ['toolInput', 'output'] });
  expect(JSON.stringify(guardrail)).toBe('{"name":"own-orders","on":["toolInput","output"]}');
  expect(Object.isFrozen(guardrail)).toBe(true);
});

test('what is not said has its default', () => {
  expect(specOf(fits)).toMatchObject({
    version: undefined,
    timeoutMs: 10_000,
    onError: 'deny',
    shadow: false,
    beside: false,
    window: undefined,
    tools: undefined,
    rewrite: undefined,
  });
});

test('the manifest entry holds what is not the default', () => {
  expect(specOf(fits).entry).toStrictEqual({ name: 'own-orders', surfaces: ['toolInput'], phases: ['check'] });
  expect(specOf({ name: 'x', on: ['output'], rewrite: () => allow() }).entry.phases).toEqual(['rewrite']);
  const all = { ...fits, rewrite: () => rewrite('x', 'y'), version: '2', tools: ['refund_*'], shadow: true, onError: 'halt' };
  expect(specOf(all).entry).toEqual({
    name: 'own-orders',
    version: '2',
    surfaces: ['toolInput'],
    phases: ['rewrite', 'check'],
    tools: ['refund_*'],
    shadow: true,
    onError: 'halt',
  });
  expect(specOf({ name: 'x', on: ['input'], beside: 'model', check }).entry).toEqual({
    name: 'x',
    surfaces: ['input'],
    phases: ['check'],
    beside: true,
  });
});

test('changing what was given changes nothing', () => {
  const def = { name: 'x', on: ['toolInput'], tools: ['a'], check };
  const spec = specOf(def);
  def.on.push('output');
  def.tools[0] = 'b';
  def.check = () => {
    throw new Error('changed');
  };
  expect([spec.on, spec.tools, spec.check]).toEqual([['toolInput'], ['a'], check]);
  for (const part of [spec, spec.on, spec.tools, spec.entry, spec.entry.phases]) expect(Object.isFrozen(part)).toBe(true);
});

test('it looks at the tools that fit its patterns, at all without patterns', () => {
  const some = specOf({ ...fits, tools: ['refund_*', 'pay'] });
  expect(['refund_order', 'pay', 'pays', 'find'].filter(some.matchesTool)).toEqual(['refund_order', 'pay']);
  expect(specOf(fits).matchesTool('anything')).toBe(true);
});

test.each<[string, unknown, string]>([
  [
    'no options',
    undefined,
    'A guardrail was given undefined as its options. Give an object with name, on, version, timeoutMs, onError, breaker, shadow, tools, expects, window, beside, check, rewrite.',
  ],
  [
    'no name',
    { ...fits, name: undefined },
    'A guardrail has undefined as `name`. Give a text that is not blank and has no control characters.',
  ],
  ['a blank name', { ...fits, name: ' ' }, 'A guardrail has " " as `name`. Give a text that is not blank and has no control characters.'],
  [
    'a name of two lines',
    { ...fits, name: 'a\nb' },
    'A guardrail has "a\\nb" as `name`. Give a text that is not blank and has no control characters.',
  ],
  [
    'a misspelt option',
    { ...fits, timeoutMS: 3 },
    'Guardrail own-orders has an option "timeoutMS", which does not exist. Did you mean timeoutMs? The options are name, on, version, timeoutMs, onError, breaker, shadow, tools, expects, window, beside, check, rewrite.',
  ],
  [
    'an option that is far from any',
    { ...fits, priority: 3 },
    'Guardrail own-orders has an option "priority", which does not exist. The options are name, on, version, timeoutMs, onError, breaker, shadow, tools, expects, window, beside, check, rewrite.',
  ],
  [
    'no surface',
    { ...fits, on: [] },
    'Guardrail own-orders stands on no surface. Give `on` a list of input, toolInput, toolOutput, handoff, output.',
  ],
  [
    'surfaces left out',
    { ...fits, on: undefined },
    'Guardrail own-orders stands on no surface. Give `on` a list of input, toolInput, toolOutput, handoff, output.',
  ],
  ['a surface that is no list', { ...fits, on: 'input' }, 'Guardrail own-orders has "input" as `on`. Give a list: ["input"].'],
  [
    'an unknown surface',
    { ...fits, on: ['tool_input'] },
    'Guardrail own-orders stands on "tool_input", which is no surface. Did you mean toolInput? The surfaces are input, toolInput, toolOutput, handoff, output.',
  ],
  [
    'a surface that is a number',
    { ...fits, on: [3] },
    'Guardrail own-orders stands on 3, which is no surface. The surfaces are input, toolInput, toolOutput, handoff, output.',
  ],
  ['a surface twice', { ...fits, on: ['input', 'input'] }, 'Guardrail own-orders names the surface input twice in `on`. Name each once.'],
  [
    'no function',
    { name: 'own-orders', on: ['input'] },
    'Guardrail own-orders has no function to ask. Give it `check`, `rewrite` or both.',
  ],
  [
    'a check that is no function',
    { ...fits, check: 'yes' },
    'Guardrail own-orders has "yes" as `check`. Give a function, or leave it out.',
  ],
  ['a check that is null', { ...fits, check: null }, 'Guardrail own-orders has null as `check`. Give a function, or leave it out.'],
  [
    'a deadline of zero',
    { ...fits, timeoutMs: 0 },
    'Guardrail own-orders has 0 as `timeoutMs`. Give a number of milliseconds above 0, at most 2147483647.',
  ],
  [
    'a deadline that is no number',
    { ...fits, timeoutMs: Number.NaN },
    'Guardrail own-orders has NaN as `timeoutMs`. Give a number of milliseconds above 0, at most 2147483647.',
  ],
  [
    'a deadline that no timer can wait for',
    { ...fits, timeoutMs: Number.POSITIVE_INFINITY },
    'Guardrail own-orders has Infinity as `timeoutMs`. Give a number of milliseconds above 0, at most 2147483647.',
  ],
  [
    'a deadline as text',
    { ...fits, timeoutMs: '800' },
    'Guardrail own-orders has "800" as `timeoutMs`. Give a number of milliseconds above 0, at most 2147483647.',
  ],
  [
    'a misspelt onError',
    { ...fits, onError: 'alow' },
    "Guardrail own-orders has \"alow\" as `onError`. Did you mean allow? Give 'deny' or 'halt' or 'allow'.",
  ],
  [
    'a breaker that is a flag',
    { ...fits, breaker: true },
    'The `breaker` of Guardrail own-orders was given true as its options. Give an object with failures, withinMs, coolDownMs.',
  ],
  [
    'a breaker without failures',
    { ...fits, breaker: { coolDownMs: 5 } },
    'The `breaker` of Guardrail own-orders has undefined as `failures`. Give the whole number of failures after which it opens, from 1.',
  ],
  [
    'a breaker that opens after no failure',
    { ...fits, breaker: { failures: 0 } },
    'The `breaker` of Guardrail own-orders has 0 as `failures`. Give the whole number of failures after which it opens, from 1.',
  ],
  [
    'a breaker that never cools down',
    { ...fits, breaker: { failures: 3, coolDownMs: Number.POSITIVE_INFINITY } },
    'The `breaker` of Guardrail own-orders has Infinity as `coolDownMs`. Give a number of milliseconds above 0, at most 2147483647.',
  ],
  [
    'a misspelt option of a breaker',
    { ...fits, breaker: { failures: 3, cooldownMs: 5 } },
    'The `breaker` of Guardrail own-orders has an option "cooldownMs", which does not exist. Did you mean coolDownMs? The options are failures, withinMs, coolDownMs.',
  ],
  [
    'a shadow that is no boolean',
    { ...fits, shadow: 'false' },
    'Guardrail own-orders has "false" as `shadow`. Give true or false, or leave it out.',
  ],
  [
    'an empty version',
    { ...fits, version: '' },
    'Guardrail own-orders has "" as `version`. Give a text that is not empty, or leave it out.',
  ],
  ['a version that is a number', { ...fits, version: 2 }, 'Guardrail own-orders has 2 as `version`. Give a text, or leave it out.'],
  [
    'tools without a tool surface',
    { ...fits, on: ['input'], tools: ['a'] },
    'Guardrail own-orders has `tools` but looks at no tool. Add toolInput or toolOutput to `on`, or leave `tools` out.',
  ],
  [
    'an empty list of tools',
    { ...fits, tools: [] },
    'Guardrail own-orders has an empty list of `tools`, so it would look at none. Name some, or leave `tools` out for all.',
  ],
  [
    'a tool that has no such name',
    { ...fits, tools: ['a b'] },
    'Guardrail own-orders has "a b" in `tools`. Give names of tools, or patterns such as \'refund_*\'.',
  ],
  [
    'beside on another surface',
    { ...fits, beside: 'model' },
    "Guardrail own-orders is `beside: 'model'` and stands on toolInput. Only a guardrail on input alone can run beside the model.",
  ],
  [
    'beside on input and another surface',
    { ...fits, on: ['input', 'output'], beside: 'model' },
    "Guardrail own-orders is `beside: 'model'` and stands on input, output. Only a guardrail on input alone can run beside the model.",
  ],
  [
    'beside with a rewrite',
    { ...fits, on: ['input'], beside: 'model', rewrite: check },
    "Guardrail own-orders is `beside: 'model'` and rewrites. What the model already reads cannot be rewritten: give it `check` alone.",
  ],
  ['beside something else', { ...fits, on: ['input'], beside: true }, "Guardrail own-orders has true as `beside`. Give 'model'."],
  [
    'a window of zero',
    { name: 'own-orders', on: ['output'], window: 0, rewrite: check },
    'Guardrail own-orders has 0 as `window`. Give a whole number of characters from 1.',
  ],
  [
    'a window of one and a half',
    { name: 'own-orders', on: ['output'], window: 1.5, rewrite: check },
    'Guardrail own-orders has 1.5 as `window`. Give a whole number of characters from 1.',
  ],
  [
    'a window without an end',
    { name: 'own-orders', on: ['output'], window: Number.POSITIVE_INFINITY, rewrite: check },
    'Guardrail own-orders has Infinity as `window`. Give a whole number of characters from 1.',
  ],
  [
    'a window without output',
    { name: 'own-orders', on: ['input'], window: 3, rewrite: check },
    'Guardrail own-orders has `window` but does not stand on output. Add output to `on`, or leave `window` out.',
  ],
  [
    'a window with a check alone',
    { name: 'own-orders', on: ['output'], window: 3, check },
    'Guardrail own-orders has `window` with a `check`, or without `rewrite`. A check needs the whole text: leave `window` out, or give `rewrite` alone.',
  ],
  [
    'a window with a check',
    { name: 'own-orders', on: ['output'], window: 3, rewrite: check, check },
    'Guardrail own-orders has `window` with a `check`, or without `rewrite`. A check needs the whole text: leave `window` out, or give `rewrite` alone.',
  ],
])('%s is refused', (_what, def, message) => {
  expect(() => define(def)).toThrow(invalid(message));
});

test.each(['core', 'model'])('no guardrail is named %s: in logs that says that none asked or refused', (name) => {
  expect(() => define({ ...fits, name })).toThrow(/In logs that name stands for Guardloop itself, or for the model/);
});

test.each([1, 200])('a window of %s characters is taken from a guardrail that rewrites output alone', (window) => {
  expect(specOf({ name: 'mask', on: ['output'], window, rewrite: check }).window).toBe(window);
});

test('a breaker opens after its failures, and cools down for 30 s where nothing is said', () => {
  const opened = (given: object) => {
    const { breaker } = specOf({ ...fits, breaker: given });
    for (let left = 10; breaker?.state === 'closed' && left > 0; left -= 1) breaker.settle(breaker.enter(0) ?? -1, true, 0);
    return breaker;
  };
  expect(specOf(fits).breaker).toBeUndefined();
  const usual = opened({ failures: 1 });
  expect([usual?.state, usual?.enter(29_999), usual?.enter(30_000) !== undefined]).toEqual(['open', undefined, true]);
  const own = opened({ failures: 2, coolDownMs: 50 });
  expect([own?.enter(49), own?.enter(50) !== undefined]).toEqual([undefined, true]);
  // A probe has the time that the guardrail has.
  expect([own?.enter(10_049), own?.enter(10_050) !== undefined]).toEqual([undefined, true]);
});

test('failures within a time are counted where that is said', () => {
  const { breaker } = specOf({ ...fits, breaker: { failures: 2, withinMs: 10 } });
  for (const now of [0, 10]) breaker?.settle(breaker.enter(now) ?? -1, true, now);
  expect(breaker?.state).toBe('closed');
  breaker?.settle(breaker.enter(19) ?? -1, true, 19);
  expect(breaker?.state).toBe('open');
});
