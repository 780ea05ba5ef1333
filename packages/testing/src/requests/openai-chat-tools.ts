import type { Fields, Report, Where } from './openai-fields.js';
import { checkFieldNames, fieldsOf, isGiven, namePattern } from './openai-fields.js';
import { schemaProblems, strictProblems } from './openai-schema.js';

/** Tools, the choice among them, and the format of the answer. */
export function checkChatTools(fields: Fields, report: Report): void {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = fields;
  if (tools === undefined) {
    if (choice !== undefined) report('tool_choice', 'is only allowed with tools');
    if (parallel !== undefined) report('parallel_tool_calls', 'is only allowed with tools');
    return;
  }
  if (!Array.isArray(tools) || tools.length === 0 || tools.length > 128) {
    report('tools', 'must hold 1 to 128 tools, or be left out');
    return;
  }
  const names = new Set<string>();
  for (const [index, item] of tools.entries()) checkTool(item, names, { place: `tools[${index}]`, report });
  if (parallel !== undefined && typeof parallel !== 'boolean') report('parallel_tool_calls', 'must be true or false');
  checkChoice(choice, names, report);
}

function checkChoice(choice: unknown, names: ReadonlySet<string>, report: Report): void {
  if (choice === undefined || choice === 'auto' || choice === 'none' || choice === 'required') return;
  const fields = fieldsOf(choice);
  const chosen = fieldsOf(fields?.function)?.name;
  if (fields?.type !== 'function' || typeof chosen !== 'string') {
    report('tool_choice', 'must be auto, none, required or a function');
    return;
  }
  checkFieldNames(fields, ['type', 'function'], { place: 'tool_choice', report });
  if (!names.has(chosen)) report('tool_choice', `names ${chosen}, which is not among the tools`);
}

function checkTool(item: unknown, names: Set<string>, { place, report }: Where): void {
  const tool = fieldsOf(item);
  const spec = fieldsOf(tool?.function);
  if (tool?.type !== 'function' || spec === undefined) {
    report(place, 'must have the type function and a function');
    return;
  }
  checkFieldNames(tool, ['type', 'function'], { place, report });
  checkFieldNames(spec, ['name', 'description', 'parameters', 'strict'], { place: `${place}.function`, report });
  const { name, description, parameters, strict } = spec;
  if (typeof name !== 'string' || !namePattern.test(name))
    report(`${place}.function.name`, `${JSON.stringify(name)} must match ${namePattern.source}`);
  else if (names.has(name)) report(`${place}.function.name`, `${name} is used twice`);
  else names.add(name);
  if (description !== undefined && typeof description !== 'string') report(`${place}.function.description`, 'must be text');
  if (isGiven(strict) && typeof strict !== 'boolean') report(`${place}.function.strict`, 'must be true or false');
  if (parameters !== undefined)
    checkSchema(parameters, strict === true ? strictProblems : schemaProblems, { place: `${place}.function.parameters`, report });
  else if (strict === true) report(`${place}.function.parameters`, 'is needed with strict');
}

/** The format that the answer is to have. */
export function checkResponseFormat(fields: Fields, report: Report): void {
  const format = fieldsOf(fields.response_format);
  if (fields.response_format === undefined || format?.type === 'text') return;
  if (format?.type === 'json_object') {
    if (!/json/i.test(JSON.stringify(fields.messages) ?? '')) report('response_format', 'json_object needs the word JSON in the messages');
    return;
  }
  const spec = fieldsOf(format?.json_schema);
  if (format?.type !== 'json_schema' || spec === undefined) {
    report('response_format', 'must have the type text, json_object or json_schema, the last with json_schema');
    return;
  }
  const place = 'response_format.json_schema';
  checkFieldNames(format, ['type', 'json_schema'], { place: 'response_format', report });
  checkFieldNames(spec, ['name', 'description', 'schema', 'strict'], { place, report });
  if (typeof spec.name !== 'string' || !namePattern.test(spec.name))
    report(`${place}.name`, `${JSON.stringify(spec.name)} must match ${namePattern.source}`);
  if (isGiven(spec.description) && typeof spec.description !== 'string') report(`${place}.description`, 'must be text');
  if (isGiven(spec.strict) && typeof spec.strict !== 'boolean') report(`${place}.strict`, 'must be true or false');
  checkSchema(spec.schema, spec.strict === true ? strictProblems : () => [], { place: `${place}.schema`, report });
}

function checkSchema(schema: unknown, problemsOf: (root: Fields) => readonly string[], { place, report }: Where): void {
  const root = fieldsOf(schema);
  if (root?.type !== 'object') report(place, 'must be a JSON Schema of type object');
  else for (const problem of problemsOf(root)) report(place, problem);
}
