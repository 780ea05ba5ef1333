import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { GuardloopError, suggest } from '../errors.js';
import type { Model } from '../model/types.js';
import { defineAgent } from './agent.js';
import { asTool } from './as-tool.js';
import { coverage } from './coverage.js';
import { specBehind } from './definition.js';
import { DefinitionReader, describe as inWords, isName, isToolName } from './definition-reader.js';
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
  expect(['a', 'Customer Service', '客服', 'a.b/c'].every(isName)).toBe(true);
  expect(['', ' ', '\t', 'a\nb', 'a\u0000', 'a\u007f', 'a\u0085', 3, null, undefined, {}].some(isName)).toBe(false);
  expect(['a', 'A_b-3', 'x'.repeat(64)].every(isToolName)).toBe(true);
  expect(['', 'a b', 'a.b', 'é', 'x'.repeat(65), 'a\n', null].some(isToolName)).toBe(false);
});
