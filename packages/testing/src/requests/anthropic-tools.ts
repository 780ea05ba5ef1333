import type { Fields, Problems } from './anthropic-fields.js';
import { isFields, isWord, listOf, show, wordRule } from './anthropic-fields.js';
import { checkStrictSchema } from './anthropic-strict.js';

const keyRule = /^[a-zA-Z0-9_.-]{1,64}$/;

export function* checkTools(tools: unknown): Problems {
  if (tools === undefined) return;
  if (!Array.isArray(tools) || tools.length === 0) yield 'tools: not a list, or an empty one; leave it out';
  const names = new Set<unknown>();
  for (const [index, tool] of listOf(tools).entries()) {
    const place = `tools.${index}`;
    if (!isFields(tool)) {
      yield `${place}: not an object`;
      continue;
    }
    if (!isWord(tool.name)) yield `${place}.name: ${show(tool.name)} does not match ${wordRule.source}`;
    if (names.has(tool.name)) yield `${place}.name: ${show(tool.name)} is the name of two tools`;
    names.add(tool.name);
    const isOwn = tool.type === undefined || tool.type === null || tool.type === 'custom';
    if (isOwn && !(isFields(tool.input_schema) && tool.input_schema.type === 'object'))
      yield `${place}.input_schema: not a schema of an object`;
    if (isOwn) yield* checkInputSchema(tool.input_schema, `${place}.input_schema`);
    if (tool.strict === true) yield* checkStrictSchema(tool.input_schema, `${place}.input_schema`);
  }
}

export function* checkToolChoice(body: Fields): Problems {
  const { tool_choice: choice } = body;
  if (choice === undefined) return;
  const tools = listOf(body.tools).filter(isFields);
  if (tools.length === 0) yield 'tool_choice: given without tools';
  const { type, name, disable_parallel_tool_use: single }: Fields = isFields(choice) ? choice : {};
  if (type !== 'auto' && type !== 'any' && type !== 'tool' && type !== 'none') yield `tool_choice.type: ${show(type)} is unknown`;
  if (type === 'tool' && !tools.some((tool) => tool.name === name)) yield `tool_choice.name: ${show(name)} is no tool of the request`;
  if (type !== 'tool' && name !== undefined) yield `tool_choice.name: not with type ${show(type)}`;
  if (single !== undefined && (type === 'none' || typeof single !== 'boolean'))
    yield 'tool_choice.disable_parallel_tool_use: not here, or not a boolean';
  if ((type === 'any' || type === 'tool') && isFields(body.thinking) && body.thinking.type === 'enabled')
    yield `tool_choice: a call cannot be forced (${type}) with a thinking budget`;
}

function* checkInputSchema(schema: unknown, place: string): Problems {
  if (!isFields(schema)) return;
  for (const union of ['oneOf', 'allOf', 'anyOf'])
    if (schema[union] !== undefined) yield `${place}.${union}: not at the top level of an input schema`;
  for (const key of Object.keys(isFields(schema.properties) ? schema.properties : {}))
    if (!keyRule.test(key)) yield `${place}.properties: ${show(key)} does not match ${keyRule.source}`;
}
