import { toolSpecOf } from './definition.js';
import { DefinitionReader, invalid } from './definition-reader.js';
import type { AroundSpec } from './specs.js';
import { publishTool } from './tool.js';
import type { AroundTool, Route, Tool } from './types.js';

const optionNames = ['input', 'text', 'within'] as const;

/**
 * A tool like another one, in name, schema and all else, with something around its `execute`: on the way in what it is given, on the way out
 * each text that it gives, and what surrounds the call. All stand inside the record: what is logged, guarded and approved is what goes in
 * before, and what comes out after. For tools with `execute`; may be put around one more than once. Throws CONFIG_INVALID.
 */
export function aroundTool<C, N extends string, I, A extends Route, K = unknown>(
  tool: Tool<C, N, I, A>,
  around: AroundTool<K>,
): Tool<C & K, N, I, A> {
  const inner = toolSpecOf(tool, 'The first argument of aroundTool');
  const reader = new DefinitionReader({ place: `What aroundTool puts around ${inner.name}` }, around, optionNames);
  const input = reader.function<NonNullable<AroundTool['input']>>('input');
  const text = reader.function<NonNullable<AroundTool['text']>>('text');
  const within = reader.function<NonNullable<AroundTool['within']>>('within');
  if (input === undefined && text === undefined && within === undefined)
    invalid(`aroundTool has nothing to put around ${inner.name}. Give it \`input\`, \`text\` or \`within\`.`);
  if (inner.execute === undefined)
    invalid(
      `aroundTool was given ${inner.name}, which ${inner.agent ? 'is an agent' : 'the caller runs'}. Give it a tool with \`execute\`.`,
    );
  return publishTool(Object.freeze({ ...inner, around: nested({ input, text, within }, inner.around) })) as unknown as Tool<C & K, N, I, A>;
}

/** What is put around last is outermost: first on the way in, last on the way out. */
function nested(outer: AroundSpec, inner: AroundSpec | undefined): AroundSpec {
  if (inner === undefined) return Object.freeze(outer);
  return Object.freeze({
    input: inTurn(outer.input, inner.input),
    text: inTurn(inner.text, outer.text),
    within: inside(outer.within, inner.within),
  });
}

type Within = AroundSpec['within'];

function inside(outer: Within, inner: Within): Within {
  if (outer === undefined || inner === undefined) return outer ?? inner;
  return (execute, info) => outer(() => inner(execute, info), info);
}

type Step = (value: never, info: never) => unknown;

function inTurn<F extends Step>(first: F | undefined, then: F | undefined): F | undefined {
  if (first === undefined || then === undefined) return first ?? then;
  return (async (value: never, info: never) => then((await first(value, info)) as never, info)) as unknown as F;
}
