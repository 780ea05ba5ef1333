import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { GuardloopError, suggest } from '../errors.js';
import type { Model } from '../model/types.js';
import { defineAgent } from './agent.js';
import { asTool } from './as-tool.js';
import { coverage } from './coverage.js';
import { specBehind } from './definition.js';
import { DefinitionReader, describe as inWords, isList, isName, isToolName, property } from './definition-reader.js';
import { defineGuardrail } from './guardrail.js';
import { handoff } from './handoff.js';
import { definePolicy } from './policy.js';
import { defineTool } from './tool.js';
import { allow } from './verdict.js';

type Define = (...given: unknown[]) => unknown;
const model: Model = { id: 'none', provider: 'none', async *stream() {} };
const faq = defineAgent({ name: 'faq', instructions: '', model });
const tool = { name: 'find', description: '', input: z.object({ id: z.string() }), execute: () => '' };
/** Each define function, with a definition that fits and every option there is. */
const definitions: Record<
  string,
  { readonly define: Define; readonly fits: Record<string, unknown>; readonly options: readonly string[] }
> = {
  agent: {
    define: defineAgent as Define,
    fits: { name: 'a', instructions: '', model },
    options: [
      'name',
      'description',
      'instructions',
      'model',
      'settings',
      'tools',
      'handoffs',
      'guardrails',
      'output',
      'refusal',
      'providerTools',
    ],
  },
  tool: {
    define: defineTool as Define,
    fits: tool,
    options: [
      ...['name', 'description', 'input', 'output', 'execute', 'approval', 'project', 'guardrails', 'flow'],
      ...['timeoutMs', 'repeatable', 'polling', 'enabled', 'rejection', 'endsRun', 'strict'],
    ],
  },
  guardrail: {
    define: defineGuardrail as Define,
    fits: { name: 'g', on: ['toolInput'], check: () => allow() },
    options: ['name', 'on', 'version', 'timeoutMs', 'onError', 'shadow', 'tools', 'window', 'beside', 'check', 'rewrite'],
  },
  policy: {
    define: definePolicy as Define,
    fits: { name: 'p', rules: [], otherwise: 'deny' },
    options: ['name', 'version', 'rules', 'otherwise', 'shadow'],
  },
  'agent as a tool': {
    define: (def) => (asTool as unknown as Define)(faq, def),
    fits: { name: 'ask', description: '' },
    options: ['name', 'description', 'input', 'brief', 'limits', 'stream', 'project'],
  },
  handoff: {
    define: (def) => (handoff as Define)(faq, def),
    fits: {},
    options: ['name', 'description', 'input', 'brief', 'history', 'enabled'],
  },
};
const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
  withSparseArray: true,
  maxDepth: 2,
});

/** Either a definition, or an error that says what is wrong. */
function isAnswered(define: () => unknown): boolean {
  try {
    return specBehind(define()) !== undefined;
  } catch (error) {
    if (GuardloopError.is(error) && (error.code === 'CONFIG_INVALID' || error.code === 'NAME_TAKEN'))
      return /^[`A-Z].* .*\.$/s.test(error.message);
    throw error;
  }
}

describe.each(Object.entries(definitions))(
  'whatever plain JavaScript gives as the definition of a(n) %s',
  (_kind, { define, fits, options }) => {
    test('it is a definition, or CONFIG_INVALID', () => {
      fc.assert(
        fc.property(anything, (given) => isAnswered(() => define(given))),
        { numRuns: 200 },
      );
    });

    test('one option that is anything is taken, or CONFIG_INVALID', () => {
      fc.assert(
        fc.property(fc.constantFrom(...options), anything, (option, value) => isAnswered(() => define({ ...fits, [option]: value }))),
        { numRuns: 500 },
      );
    });

    test('no option is obeyed that has another name', () => {
      const names = fc.oneof(
        fc.string({ minLength: 1 }),
        fc.constantFrom(...options).map((name) => `${name}s`),
        fc.constantFrom('__proto__', 'constructor', 'toString'),
      );
      fc.assert(
        fc.property(names, (name) => {
          fc.pre(!options.includes(name));
          const given = Object.defineProperty({ ...fits }, name, { value: 1, enumerable: true });
          expect(() => define(given)).toThrow(/which does not exist/);
        }),
        { numRuns: 100 },
      );
    });

    test('options that cannot be read are CONFIG_INVALID', () => {
      for (const option of options) {
        const given = Object.defineProperty({ ...fits }, option, {
          enumerable: true,
          get() {
            throw new Error('secret');
          },
        });
        expect(() => define(given)).toThrow(
          expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.not.stringContaining('secret') }),
        );
      }
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      expect(() => define(proxy)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    });

    test('each option is read once', () => {
      const reads: string[] = [];
      const given = {};
      for (const [name, value] of Object.entries(fits)) {
        Object.defineProperty(given, name, {
          enumerable: true,
          get() {
            reads.push(name);
            return value;
          },
        });
      }
      define(given);
      expect(reads.toSorted()).toEqual(Object.keys(fits).toSorted());
    });

    test('undefined is the same as left out', () => {
      const given = { ...Object.fromEntries(options.map((name) => [name, undefined])), ...fits };
      expect(isAnswered(() => define(given))).toBe(true);
      expect(() => define(given)).not.toThrow();
    });
  },
);

test('the options of coverage may be anything', () => {
  fc.assert(
    fc.property(anything, (guardrails) => {
      try {
        return (coverage as Define)(faq, { guardrails }) !== undefined;
      } catch (error) {
        return GuardloopError.is(error) && error.code === 'CONFIG_INVALID';
      }
    }),
    { numRuns: 200 },
  );
});

test('options may come from a class instance', () => {
  class Options {
    get temperature(): number {
      return 3;
    }
  }
  expect(new DefinitionReader('thing', new Options(), ['temperature']).get('temperature')).toBe(3);
});

test.each([
  ['timeoutMS', ['timeoutMs', 'on'], 'Did you mean timeoutMs? '],
  ['TOOLINPUT', ['toolInput', 'toolOutput'], 'Did you mean toolInput? '],
  ['naem', ['name', 'rules'], 'Did you mean name? '],
  ['n', ['name', 'on'], 'Did you mean on? '],
  ['banana', ['name', 'on'], ''],
  ['needsApproval', ['input', 'approval'], 'Did you mean approval? '],
  ['outputGuardrails', ['rails', 'guardrails', 'output'], 'Did you mean guardrails? '],
  ['approvalOfAll', ['approval'], ''],
  ['displayName', ['name'], ''],
  ['', ['name'], ''],
  ['x'.repeat(1_000_000), ['x'], ''],
  ['name', [], ''],
])('for %s among %j it suggests "%s"', (word, known, suggestion) => {
  expect(suggest(word, known)).toBe(suggestion);
});

test('values are told in words that hold no more than a short text', () => {
  const long = 'k'.repeat(61);
  expect([long, { key: long }, [long], () => long, Symbol(long), 3n, null, undefined, Number.NaN, 'a\n"b"'].map(inWords)).toEqual([
    ...['a long text', 'an object', 'a list', 'a function', 'a symbol', 'a bigint', 'null', 'undefined', 'NaN', '"a\\n\\"b\\""'],
  ]);
});

test('names hold no control characters, and are not blank', () => {
  expect(['a', 'Customer Service', '客服', 'a.b/c', 'a\u00a0b', 'a~'].every(isName)).toBe(true);
  expect(
    ['', ' ', '\t', 'a\nb', 'a\u0000', 'a\u001f', 'a\u007f', 'a\u0085', 'a\u009f', '\u0000a', 3, null, undefined, {}].some(isName),
  ).toBe(false);
  expect(['a', 'A_b-3', 'x'.repeat(64)].every(isToolName)).toBe(true);
  expect(['', 'a b', 'a.b', 'é', 'x'.repeat(65), 'a\n', null].some(isToolName)).toBe(false);
});

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  return proxy;
}

test('a property is read of objects and functions, and of nothing else', () => {
  const throwing = {
    get name() {
      throw new Error('secret');
    },
  };
  const named = () => undefined;
  expect([property({ name: 'a' }, 'name'), property(named, 'name'), property(['a'], 0)]).toEqual(['a', 'named', 'a']);
  for (const [value, name] of [
    ['abc', 'length'],
    [null, 'name'],
    [undefined, 'name'],
    [3, 'toFixed'],
    [throwing, 'name'],
    [revoked(), 'length'],
  ] as const)
    expect(property(value, name)).toBeUndefined();
});

test('a list that was revoked is none, and is told as an object', () => {
  expect([isList([]), isList({ length: 0 }), isList(revoked()), inWords(revoked())]).toEqual([true, false, false, 'an object']);
});

test('a short text is told as it is, a longer one is not', () => {
  expect([inWords('k'.repeat(60)), inWords(-0.5), inWords(false)]).toEqual([`"${'k'.repeat(60)}"`, '-0.5', 'false']);
});

const readerOf = (value: unknown) => new DefinitionReader('thing', { name: 'it', value }, ['name', 'value']);
const refused = (described: string, expected: string) =>
  expect.objectContaining({ code: 'CONFIG_INVALID', message: `Thing it has ${described} as \`value\`. ${expected}` });

test('options that cannot be read are refused without what they threw', () => {
  const given = {
    get name() {
      throw new Error('secret');
    },
  };
  for (const options of [given, new Proxy({}, { ownKeys: () => [3] as never })])
    expect(() => new DefinitionReader('agent', options, ['name'])).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: 'An agent was given options that cannot be read: reading one of them throws. Give a plain object.',
      }),
    );
});

test('milliseconds are above 0 and no more than a timer can wait', () => {
  for (const value of [0.5, 1, 2_147_483_647]) expect(readerOf(value).milliseconds('value')).toBe(value);
  for (const value of [0, -1, 2_147_483_648])
    expect(() => readerOf(value).milliseconds('value')).toThrow(
      refused(String(value), 'Give a number of milliseconds above 0, at most 2147483647.'),
    );
});

test('a list is copied, and what is none is told how to become one', () => {
  const list = ['a'];
  const read = readerOf(list).list('value');
  list.push('b');
  expect([read, Object.isFrozen(read), readerOf(undefined).list('value')]).toEqual([['a'], true, []]);
  const throwing = new Proxy([1], {
    get(target, key) {
      if (key === '0') throw new Error('secret');
      return Reflect.get(target, key) as unknown;
    },
  });
  expect(() => readerOf(throwing).list('value')).toThrow(refused('a list', 'Give a list.'));
  expect(() => readerOf('k'.repeat(61)).list('value')).toThrow(refused('a long text', `Give a list: ["${'k'.repeat(60)}"].`));
});

test('plain JSON is copied and frozen at every depth, without what is undefined', () => {
  const given = { a: [1, 'b', true, null, [{ c: -0.5 }]], gone: undefined, d: { e: {} } };
  const read = readerOf(given).json('value') as typeof given;
  expect(read).toStrictEqual({ a: [1, 'b', true, null, [{ c: -0.5 }]], d: { e: {} } });
  expect([read, read.a, read.a[4], read.d, read.d.e].every(Object.isFrozen)).toBe(true);
  expect(readerOf(undefined).json('value')).toBeUndefined();
  expect(readerOf(null).json('value')).toBeNull();
});

test('plain JSON is 32 levels deep at most, in lists as in objects', () => {
  const nested = (depth: number, wrap: (inner: unknown) => unknown) => {
    let value: unknown = wrap(0);
    for (let level = 1; level < depth; level += 1) value = wrap(value);
    return value;
  };
  for (const wrap of [(inner: unknown) => [inner], (inner: unknown) => ({ inner })]) {
    expect(readerOf(nested(33, wrap)).json('value')).toEqual(nested(33, wrap));
    expect(() => readerOf(nested(34, wrap)).json('value')).toThrow(/Give plain JSON/);
  }
});

test.each([[Number.NaN], [Number.POSITIVE_INFINITY], [3n], [() => 1], [[undefined]], [{ a: Symbol('x') }]])(
  '%o is no plain JSON',
  (value) => {
    expect(() => readerOf(value).json('value')).toThrow(/^Thing it has .* as `value`\. Give plain JSON: /);
  },
);
