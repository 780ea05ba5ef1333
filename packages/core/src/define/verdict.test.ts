import { expect, test } from 'vitest';
import { allow, ask, deny, halt, rewrite, strictest } from './verdict.js';

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
