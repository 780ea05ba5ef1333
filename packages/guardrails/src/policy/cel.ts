// Subpath ./cel: conditions in CEL, for who wants them. Nothing else of the package loads the library.
import type { ASTNode } from '@marcbachmann/cel-js';
import { Environment, serialize } from '@marcbachmann/cel-js';
import type { Pattern } from '../text/pattern.js';
import { compilePattern } from '../text/pattern.js';
import type { CelProgram } from './condition.js';

const limits = { maxAstNodes: 2_000, maxDepth: 60, maxListElements: 1_000, maxMapEntries: 200, maxCallArguments: 16 };
const types: { readonly [name: string]: string } = { tool: 'string', agent: 'string', untrustedReads: 'list' };

/**
 * For the option `cel` of `policyFrom`: compiles an expression when the policy is made. Known are `input`, `flow` (`effect`, `results`,
 * `declared`, `authority`), `labels` (`subject`, `view`), `untrustedReads` (each with `tool` and `callId`), `tool`, `agent` and `context`.
 * The numbers of a call are of CEL's type `double`: write `input.cents + 1.0`. `matches` takes an expression of RE2 that is written down, and
 * is linear. A field that is missing, or of a type that an operator does not take, is an error, which refuses the call; `has(input.note)` asks
 * first. Throws an Error for what is no expression, has no answer of true or false, or names what is not known.
 */
export function cel(expression: string, names: readonly string[]): CelProgram {
  const patterns = new Map<string, Pattern>();
  const environment = new Environment({ limits });
  for (const name of names) environment.registerVariable(name, types[name] ?? 'map');
  environment.registerFunction('string.fitsExpression(string): bool', (text: string, source: string) => {
    const pattern = patterns.get(source);
    if (pattern === undefined || text.length > longestMatched) throw new RangeError('a text that cannot be matched');
    return pattern.matches(text).length > 0;
  });
  const program = compile(expression, environment);
  const isChanged = takeExpressions(program.ast, patterns);
  const linear = isChanged ? compile(serialize(program.ast), environment) : program;
  return (variables) => linear(variables) as unknown;
}

const longestMatched = 10_000;

function compile(expression: string, environment: Environment): ReturnType<Environment['parse']> {
  let program: ReturnType<Environment['parse']>;
  try {
    program = environment.parse(expression);
  } catch (thrown) {
    throw new Error(`this is no expression of CEL: ${wordsOf(thrown)}`);
  }
  const { valid, type, error } = program.check();
  if (!valid) throw new Error(`this expression of CEL cannot be evaluated: ${wordsOf(error)}`);
  if (type !== 'bool' && type !== 'dyn')
    throw new Error(`this expression of CEL gives ${type ?? 'something else'}. A condition gives true or false.`);
  return program;
}

/** The first line: what follows quotes the expression. */
const wordsOf = (thrown: unknown): string => (thrown instanceof Error ? (thrown.message.split('\n')[0] ?? '') : 'it cannot be read');

/** The library's `matches` runs native expressions, which can take for ever: each is put to one that is linear. */
function takeExpressions(node: ASTNode, patterns: Map<string, Pattern>): boolean {
  let isChanged = false;
  const look = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) look(each);
    else if (isNode(value)) {
      if (value.op === 'rcall' && value.args[0] === 'matches') {
        const [pattern] = value.args[2];
        const source = pattern?.op === 'value' && typeof pattern.args === 'string' ? pattern.args : undefined;
        if (source === undefined) throw new Error('`matches` needs an expression that is written down: input.to.matches("^a+$").');
        try {
          patterns.set(source, compilePattern(source));
        } catch {
          throw new Error('`matches` was given what is no expression of RE2 (no look-around, no back-references).');
        }
        value.args[0] = 'fitsExpression';
        isChanged = true;
      }
      look(value.args);
    }
  };
  look(node);
  return isChanged;
}

const isNode = (value: unknown): value is ASTNode => typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
