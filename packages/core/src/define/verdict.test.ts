import { expect, test } from 'vitest';
import { allow, ask, deny, halt, refusalMeant, rewrite, strictest } from './verdict.js';

test('allow is always the same frozen verdict', () => {
  expect(allow()).toBe(allow());
  expect(Object.isFrozen(allow())).toBe(true);
  expect(allow()).toEqual({ action: 'allow' });
});

test('each verdict says its action and its reason, and cannot be changed', () => {
  const verdicts = [
    rewrite('***', 'card number'),
    ask('a large sum'),
    deny('not theirs', { reply: 'That is not yours.' }),
    halt('orders in data'),
  ];
  expect(verdicts).toEqual([
    { action: 'rewrite', value: '***', reason: 'card number' },
    { action: 'ask', reason: 'a large sum' },
    { action: 'deny', reason: 'not theirs', reply: 'That is not yours.' },
    { action: 'halt', reason: 'orders in data' },
  ]);
  for (const verdict of verdicts) expect(Object.isFrozen(verdict)).toBe(true);
});

test('an empty reply is a reply', () => {
  expect(deny('x', { reply: '' })).toEqual({ action: 'deny', reason: 'x', reply: '' });
});

test('a refusal without words is still a refusal, and says so', () => {
  const careless = deny as (...given: unknown[]) => unknown;
  for (const given of [[], [undefined], [null], [3], [''], ['  '], ['', null], [{}, 'no']]) {
    expect(careless(...given)).toEqual({ action: 'deny', reason: 'No reason was given.' });
  }
  expect((halt as (...given: unknown[]) => unknown)('x', { reply: 3 })).toEqual({ action: 'halt', reason: 'x' });
});

test('the strictest answer wins, and of equal ones the first', () => {
  const order = [halt('a'), deny('b'), ask('c'), rewrite('x', 'd'), allow()];
  for (let first = 0; first < order.length; first += 1) {
    for (let second = first; second < order.length; second += 1) {
      const answers = [order[second], order[first]].filter((answer) => answer !== undefined);
      expect(strictest(answers)).toBe(order[first]);
      expect(strictest(answers.toReversed())).toBe(order[first]);
    }
  }
  const [one, two] = [deny('first'), deny('second')];
  expect(strictest([allow(), one, two])).toBe(one);
  expect(strictest([])).toBeUndefined();
});

test.each([
  [
    'deny',
    { replay: 'No.' },
    'The refusal by deny has an option "replay", which does not exist. Did you mean reply? The options are reply.',
  ],
  [
    'halt',
    { reply: 'No.', message: 'No.' },
    'The refusal by halt has an option "message", which does not exist. Here that is `reply`. The options are reply.',
  ],
] as const)('%s refuses an option that does not exist, and what was thrown still tells the refusal', (name, options, message) => {
  const careless = { deny, halt }[name] as (...given: unknown[]) => unknown;
  let thrown: unknown;
  try {
    careless('not theirs', options);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ code: 'CONFIG_INVALID', message });
  expect(refusalMeant(thrown)).toEqual({ action: name, reason: 'not theirs', ...('reply' in options ? { reply: 'No.' } : {}) });
  expect(refusalMeant(new Error('other'))).toBeUndefined();
  expect(refusalMeant(undefined)).toBeUndefined();
});
