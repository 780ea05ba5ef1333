import { suggest } from '../errors.js';
import type { JsonObject } from '../model/types.js';
import type { CompiledSchema } from '../schema.js';
import { anyProvider, argumentNames, compileSchema, describeRefusal, strictForm } from '../schema.js';
import { publish } from './definition.js';
import { DefinitionReader, describe, invalid, property } from './definition-reader.js';
import { readGuardrails } from './guardrail.js';
import type { GuardrailSpec, ProjectFunction, ToolSpec } from './specs.js';
import { fitsPattern } from './tool-pattern.js';
import { readToolRetry } from './tool-retry.js';
import type { Definers, ResolvedFlow, Tool } from './types.js';

const optionNames = [
  'name',
  'description',
  'input',
  'output',
  'execute',
  'approval',
  'project',
  'guardrails',
  'flow',
  'timeoutMs',
  'retry',
  'repeatable',
  'polling',
  'enabled',
  'rejection',
  'endsRun',
  'strict',
] as const;
const flowNames = ['effect', 'results', 'authority'] as const;
type Reader = DefinitionReader<(typeof optionNames)[number]>;

/** Defines a tool. Without `execute` the caller runs it. Throws CONFIG_INVALID, and NAME_TAKEN for two guardrails of one name. */
export const defineTool = ((def: unknown) =>
  publishTool(readTool(new DefinitionReader('tool', def, optionNames)))) as Definers<unknown>['defineTool'];

export function publishTool<T extends Tool<never>>(tool: ToolSpec): T {
  return publish({ name: tool.name, description: tool.description }, tool);
}

function readTool(reader: Reader): ToolSpec {
  const name = reader.toolName();
  const description = reader.requiredText('description');
  if (!reader.has('input')) invalid(`Tool ${name} has no \`input\`. Give a schema of its arguments; z.object({}) for none.`);
  const input = compileSchema(reader.get('input'), { owner: `The input of tool ${name}`, root: 'object' });
  const output = reader.has('output') ? compileSchema(reader.get('output'), { owner: `The output of tool ${name}` }) : undefined;
  const execute = reader.function<NonNullable<ToolSpec['execute']>>('execute');
  const flow = readFlow(reader.get('flow'), name, input);
  const declaredRepeatable = reader.flag('repeatable');
  const repeatable = declaredRepeatable ?? (flow.effect === 'read' || flow.effect === 'none');
  const tool: ToolSpec = Object.freeze({
    kind: 'tool',
    name,
    description,
    input,
    output,
    approval: reader.flagOrFunction<Extract<ToolSpec['approval'], (...given: never) => unknown>>('approval', false),
    execute,
    project: reader.function<ProjectFunction>('project'),
    guardrails: readToolGuardrails(reader.list('guardrails'), name),
    flow,
    timeoutMs: reader.milliseconds('timeoutMs'),
    retry: readToolRetry(reader.get('retry'), { tool: name, repeatable, effect: flow.declared ? flow.effect : undefined }),
    repeatable,
    declaredRepeatable: declaredRepeatable === true,
    polling: reader.flag('polling') ?? false,
    enabled: reader.flagOrFunction<Extract<ToolSpec['enabled'], (...given: never) => unknown>>('enabled', true),
    rejection: reader.text('rejection'),
    endsRun: reader.flag('endsRun') ?? false,
    strict: readStrict(reader, name, input),
    agent: undefined,
  });
  if (execute === undefined) refuseForCaller(tool);
  return tool;
}

function readStrict(reader: Reader, name: string, input: CompiledSchema): ToolSpec['strict'] {
  const strict = reader.has('strict') ? reader.get('strict') : 'auto';
  if (typeof strict !== 'boolean' && strict !== 'auto') return reader.refuse('strict', "Give true, false or 'auto', or leave it out.");
  // Undefined where a schema is still being converted: then the adapter has the word.
  const json = property(input, 'json') as JsonObject | undefined;
  const form = strict === true && json !== undefined ? strictForm(json, anyProvider) : undefined;
  if (form?.isStrict === false) {
    invalid(
      `Tool ${name} has \`strict: true\`, but no provider could be held to the schema of its input: ${describeRefusal(form)} Or leave \`strict\` out.`,
    );
  }
  return strict;
}

/** What has no meaning where the caller runs the tool. */
function refuseForCaller({ name, endsRun, timeoutMs, retry }: ToolSpec): void {
  const option = endsRun ? 'endsRun' : timeoutMs !== undefined ? 'timeoutMs' : retry === undefined ? undefined : 'retry';
  if (option !== undefined) {
    invalid(
      `Tool ${name} has \`${option}\` but no \`execute\`, so the caller runs it, outside the run. Give it \`execute\`, or leave \`${option}\` out.`,
    );
  }
}

function readToolGuardrails(list: readonly unknown[], name: string): readonly GuardrailSpec[] {
  const guardrails = readGuardrails(list, `tool ${name}`);
  for (const guardrail of guardrails) {
    const other = guardrail.on.find((surface) => surface !== 'toolInput' && surface !== 'toolOutput');
    if (other !== undefined) {
      invalid(
        `Guardrail ${guardrail.name} of tool ${name} stands on ${other}. A tool's own guardrails stand on toolInput and toolOutput only: give it to the agent or the run.`,
      );
    }
    if (!guardrail.matchesTool(name)) {
      invalid(
        `Guardrail ${guardrail.name} of tool ${name} looks only at ${guardrail.tools?.join(', ')}, so it would never look at it. Leave \`tools\` out, or name ${name}.`,
      );
    }
    refuseUnknownRules(guardrail, [name], `tool ${name}`);
  }
  return guardrails;
}

/** Throws CONFIG_INVALID where a policy has a rule about a tool that its owner does not have, or a guardrail's tools are misspelt. */
export function refuseUnknownRules(guardrail: GuardrailSpec, tools: readonly string[], owner: string): void {
  refuseMisspeltTools(guardrail, tools, owner);
  for (const pattern of guardrail.expects ?? []) {
    if (tools.some((tool) => fitsPattern(pattern, tool))) continue;
    const known = tools.length === 0 ? 'It has no tools.' : `Its tools are ${tools.join(', ')}.`;
    invalid(
      `Guardrail ${guardrail.name} has a rule about ${pattern}, but ${owner} has no such tool. ${suggest(pattern, tools)}${known} Correct the rule, or remove it.`,
    );
  }
  for (const [index, pattern] of (guardrail.ruleTools ?? []).entries()) {
    if (tools.some((tool) => fitsPattern(pattern, tool))) continue;
    const known = tools.length === 0 ? 'It has no tools.' : `Its tools are ${tools.join(', ')}.`;
    invalid(
      `Rule ${index + 1} of policy ${guardrail.name} is about ${pattern}, but ${owner} has no such tool. ${suggest(pattern, tools)}${known} Correct the rule, or remove it.`,
    );
  }
}

/**
 * A guardrail for tools may stand where its tools are not: it is one for several agents. One that looks at none, and whose names are nearly those
 * of tools that are there, is misspelt.
 */
function refuseMisspeltTools(guardrail: GuardrailSpec, tools: readonly string[], owner: string): void {
  const isForTools = guardrail.tools !== undefined && guardrail.on.every((surface) => surface === 'toolInput' || surface === 'toolOutput');
  if (!isForTools || tools.some((tool) => guardrail.matchesTool(tool))) return;
  for (const pattern of guardrail.tools) {
    const meant = suggest(pattern, tools);
    if (meant === '') continue;
    invalid(
      `Guardrail ${guardrail.name} looks only at ${guardrail.tools.join(', ')}, and ${owner} has no such tool, so it would never be asked. ${meant}Its tools are ${tools.join(', ')}.`,
    );
  }
}

/** What holds where a tool does not say what it does. */
export const undeclaredFlow: ResolvedFlow = Object.freeze({ effect: 'write', results: 'untrusted', authority: 'all', declared: false });

function readFlow(given: unknown, name: string, input: CompiledSchema): ResolvedFlow {
  if (given === undefined) return undeclaredFlow;
  const reader = new DefinitionReader({ place: `\`flow\` of tool ${name}` }, given, flowNames);
  // Undefined where a schema is still being converted: then the compiler's word about the names has to do.
  const json = property(input, 'json') as JsonObject | undefined;
  const effect = reader.choice('effect', ['none', 'read', 'write', 'send']);
  return Object.freeze({
    effect: effect ?? undeclaredFlow.effect,
    results: reader.choice('results', ['trusted', 'untrusted']) ?? undeclaredFlow.results,
    authority: reader.has('authority') ? readAuthority(reader.list('authority'), name, json && argumentNames(json)) : 'all',
    declared: effect !== undefined,
  });
}

function readAuthority(list: readonly unknown[], tool: string, known: ReadonlySet<string> | undefined): readonly string[] {
  for (const argument of list) {
    if (typeof argument === 'string' && (known === undefined || known.has(argument))) continue;
    const names = known && [...known];
    const hint = typeof argument === 'string' && names ? suggest(argument, names) : '';
    const expected = names ? `Its arguments are ${names.join(', ')}.` : 'Give names of arguments.';
    invalid(`\`flow.authority\` of tool ${tool} names ${describe(argument)}, which is no argument of it. ${hint}${expected}`);
  }
  return list as readonly string[];
}
