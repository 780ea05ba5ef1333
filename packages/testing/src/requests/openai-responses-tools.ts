import type { Fields, Report, Where } from './openai-fields.js';
import { checkFieldNames, fieldsOf, isGiven, namePattern } from './openai-fields.js';
import { schemaProblems, strictProblems } from './openai-schema.js';
import { verbosities } from './openai-setting-values.js';

/** What each tool that is no function must have beside its type. */
const hostedTools: Readonly<Record<string, readonly string[]>> = {
  web_search: [],
  web_search_2025_08_26: [],
  web_search_preview: [],
  web_search_preview_2025_03_11: [],
  file_search: ['vector_store_ids'],
  code_interpreter: ['container'],
  image_generation: [],
  mcp: ['server_label'],
  shell: [],
  local_shell: [],
  apply_patch: [],
  computer: [],
  computer_use_preview: ['display_height', 'display_width', 'environment'],
  custom: ['name'],
  tool_search: [],
  namespace: ['name', 'tools'],
  programmatic_tool_calling: [],
};
const functionFields = [
  'type',
  'name',
  'description',
  'parameters',
  'strict',
  'allowed_callers',
  'async',
  'defer_loading',
  'output_schema',
];

/** Tools, and the choice among them. */
export function checkResponsesTools(fields: Fields, report: Report): void {
  const { tools, tool_choice: choice } = fields;
  if (!isGiven(tools)) {
    if (isGiven(choice)) report('tool_choice', 'is only allowed with tools');
    return;
  }
  if (!Array.isArray(tools) || tools.length === 0 || tools.length > 128) {
    report('tools', 'must hold 1 to 128 tools, or be left out');
    return;
  }
  const names = new Set<string>();
  for (const [index, item] of tools.entries()) checkTool(fieldsOf(item) ?? {}, names, { place: `tools[${index}]`, report });
  checkChoice(choice, names, report);
}

/** `names` holds the names of functions, and the types of other tools. */
function checkTool(tool: Fields, names: Set<string>, { place, report }: Where): void {
  const { type } = tool;
  if (type === 'function') {
    checkFunction(tool, names, { place, report });
    return;
  }
  const needed = typeof type === 'string' && Object.hasOwn(hostedTools, type) ? hostedTools[type] : undefined;
  if (needed === undefined) {
    report(place, `the tool type ${JSON.stringify(type)} is unknown`);
    return;
  }
  names.add(String(type));
  for (const name of needed) if (!isGiven(tool[name])) report(place, `a tool of type ${String(type)} needs ${name}`);
  if (type === 'mcp' && ['server_url', 'connector_id', 'tunnel_id'].every((name) => !isGiven(tool[name])))
    report(place, 'a tool of type mcp needs server_url or connector_id');
}

function checkFunction(tool: Fields, names: Set<string>, { place, report }: Where): void {
  checkFieldNames(tool, functionFields, { place, report });
  const { name, description, parameters, strict } = tool;
  if (typeof name !== 'string' || !namePattern.test(name))
    report(`${place}.name`, `${JSON.stringify(name)} must match ${namePattern.source}`);
  else if (names.has(name)) report(`${place}.name`, `${name} is used twice`);
  else names.add(name);
  if (isGiven(description) && typeof description !== 'string') report(`${place}.description`, 'must be text');
  if (typeof strict !== 'boolean') report(`${place}.strict`, 'must be true or false: left out, the API changes the schema to be strict');
  checkSchema(parameters, strict === true ? strictProblems : schemaProblems, { place: `${place}.parameters`, report });
}

function checkChoice(choice: unknown, names: ReadonlySet<string>, report: Report): void {
  if (!isGiven(choice) || choice === 'auto' || choice === 'none' || choice === 'required') return;
  const fields = fieldsOf(choice);
  const chosen = fields?.type === 'function' || fields?.type === 'custom' ? fields.name : fields?.type;
  if (fields === undefined || typeof chosen !== 'string') report('tool_choice', 'must be auto, none, required, or name a tool');
  else if (chosen === 'allowed_tools') checkAllowed(fields, report);
  else if (!names.has(chosen)) report('tool_choice', `names ${chosen}, which is not among the tools`);
}

function checkAllowed({ mode, tools }: Fields, report: Report): void {
  if (mode !== 'auto' && mode !== 'required') report('tool_choice.mode', 'must be auto or required');
  if (!Array.isArray(tools) || tools.length === 0) report('tool_choice.tools', 'must be a list with at least one tool');
}

/** The format that the answer is to have. */
export function checkTextFormat({ text, input }: Fields, report: Report): void {
  if (!isGiven(text)) return;
  const fields = fieldsOf(text);
  if (fields === undefined) {
    report('text', 'must be an object');
    return;
  }
  checkFieldNames(fields, ['format', 'verbosity'], { place: 'text', report });
  if (isGiven(fields.verbosity) && !verbosities.includes(String(fields.verbosity))) report('text.verbosity', 'is unknown');
  const format = fieldsOf(fields.format);
  if (fields.format === undefined || format?.type === 'text') return;
  const place = 'text.format';
  if (format?.type === 'json_object') {
    if (!/json/i.test(JSON.stringify(input) ?? '')) report(place, 'json_object needs the word JSON in the input');
    return;
  }
  if (format?.type !== 'json_schema') {
    report(place, 'must have the type text, json_object or json_schema');
    return;
  }
  checkFieldNames(format, ['type', 'name', 'description', 'schema', 'strict'], { place, report });
  if (typeof format.name !== 'string' || !namePattern.test(format.name))
    report(`${place}.name`, `${JSON.stringify(format.name)} must match ${namePattern.source}`);
  if (isGiven(format.description) && typeof format.description !== 'string') report(`${place}.description`, 'must be text');
  if (isGiven(format.strict) && typeof format.strict !== 'boolean') report(`${place}.strict`, 'must be true or false');
  checkSchema(format.schema, format.strict === true ? strictProblems : () => [], { place: `${place}.schema`, report });
}

function checkSchema(schema: unknown, problemsOf: (root: Fields) => readonly string[], { place, report }: Where): void {
  const root = fieldsOf(schema);
  if (root?.type !== 'object') report(place, 'must be a JSON Schema of type object');
  else for (const problem of problemsOf(root)) report(place, problem);
}
