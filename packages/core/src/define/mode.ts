import type { JsonObject, Model, ToolSpec as OfferedTool } from '../model/types.js';
import { atOnce } from './at-once.js';
import { specBehind } from './definition.js';
import { DefinitionReader, describe, invalid, isToolName, property, toolNameRule } from './definition-reader.js';
import type { AgentSpec, ModeSpec } from './specs.js';
import { spec } from './specs.js';
import type { Mode, ModeDef } from './types.js';

const optionNames = ['name', 'stop', 'thoughtArgument', 'turns', 'instructions', 'model'] as const;
const stopNames = ['name', 'description'] as const;

/** Defines how an agent's answers are read: thoughts come before actions, and only one call ends the run. Throws CONFIG_INVALID. */
export function defineMode(def: ModeDef): Mode {
  const reader = new DefinitionReader({ place: 'A mode' }, def, optionNames);
  const name = reader.name();
  const stop = new DefinitionReader({ place: `The \`stop\` of mode ${name}` }, reader.get('stop') ?? {}, stopNames);
  const turns = reader.get('turns');
  if (turns !== undefined && !(Number.isSafeInteger(turns) && (turns as number) >= 1))
    reader.refuse('turns', 'Give a whole number from 1.');
  const mode: ModeSpec = Object.freeze({
    kind: 'mode',
    name,
    stop: readToolName(stop.get('name') ?? 'final_answer', `The \`stop\` of mode ${name}`),
    stopDescription:
      stop.text('description') ?? 'Ends the work with the final answer. Call it alone, once nothing is left to find out or to do.',
    argument: reader.has('thoughtArgument')
      ? readToolName(reader.get('thoughtArgument'), `The \`thoughtArgument\` of mode ${name}`)
      : undefined,
    turns: turns as number | undefined,
    instructions: reader.function<NonNullable<ModeSpec['instructions']>>('instructions'),
    model: reader.function<NonNullable<ModeSpec['model']>>('model'),
    models: new WeakMap(),
  });
  return Object.freeze(Object.defineProperty({ name }, spec, { value: mode })) as unknown as Mode;
}

function readToolName(given: unknown, place: string): string {
  return isToolName(given) ? given : invalid(`${place} is named ${describe(given)}. Give ${toolNameRule}.`);
}

/** The option `mode` of an agent. */
export function readMode(given: unknown, owner: string): ModeSpec | undefined {
  if (given === undefined) return undefined;
  const found: unknown = property(given, spec);
  if (property(found, 'kind') === 'mode') return found as ModeSpec;
  const what = specBehind(given)?.kind;
  return invalid(
    `The \`mode\` of ${owner} is ${what === undefined ? describe(given) : `a ${what}`}. Give what defineMode made, react() for one.`,
  );
}

const thought = (name: string): JsonObject => ({
  [name]: { type: 'string', description: 'What this call is for, in a sentence: what is known, what is missing, why this comes next.' },
});

/** A tool as the mode offers it: with the argument for the thought, first and required. Throws CONFIG_INVALID where the name is taken. */
export function withThought(tool: OfferedTool, { argument, name }: ModeSpec): OfferedTool {
  if (argument === undefined) return tool;
  const { properties = {}, required = [] } = tool.schema as { properties?: JsonObject; required?: readonly string[] };
  if (Object.hasOwn(properties, argument))
    invalid(
      `Tool ${tool.name} has an argument ${argument}, which mode ${name} adds for the thought. Give the mode another \`thoughtArgument\`.`,
    );
  return {
    ...tool,
    schema: { ...tool.schema, properties: { ...thought(argument), ...properties }, required: [argument, ...required] },
  };
}

/** The call that ends the run, typed by the agent's output. */
export function stopTool({ output, mode }: AgentSpec): OfferedTool | undefined {
  if (mode === undefined) return undefined;
  const { stop: name, stopDescription: description } = mode;
  const { $defs, ...answer } = output?.json ?? { type: 'string', description: 'The whole answer, in words for the person who asked.' };
  const isWhole = output !== undefined && answer.type === 'object';
  const wrapped: JsonObject = {
    type: 'object',
    properties: { answer: answer as JsonObject },
    required: ['answer'],
    additionalProperties: false,
  };
  const schema = isWhole ? output.json : $defs === undefined ? wrapped : { ...wrapped, $defs };
  return withThought({ name, description, schema, kind: 'stop' }, mode);
}

/** The model as the mode wraps it; made once for each. */
export function modelInMode(mode: ModeSpec | undefined, model: Model): Model {
  if (mode?.model === undefined) return model;
  const known = mode.models.get(model);
  if (known !== undefined) return known;
  const wrapped = atOnce(mode.model(model));
  mode.models.set(model, wrapped);
  return wrapped;
}
