import { GuardloopError } from '../errors.js';
import type { JsonObject, ModelSettings } from '../model/types.js';
import { compileSchema, describeRefusal, strictForm } from '../schema.js';
import { readModel } from './agent-model.js';
import { readSettings } from './agent-settings.js';
import { publish, specBehind, toolSpecOf } from './definition.js';
import { DefinitionReader, describe, invalid, isName, property } from './definition-reader.js';
import { readGuardrails, refuseSharedNames } from './guardrail.js';
import { handoffSpec } from './handoff.js';
import { readMode } from './mode.js';
import { readMonitors } from './monitor.js';
import { reachOf } from './resolve.js';
import type { AgentSpec, HandoffSpec, ToolSpec } from './specs.js';
import { refuseUnknownRules } from './tool.js';
import type { Definers } from './types.js';

const optionNames = [
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
  'mode',
  'monitors',
] as const;
type Reader = DefinitionReader<(typeof optionNames)[number]>;

/**
 * Defines an agent. Throws CONFIG_INVALID, and NAME_TAKEN where tools and handoffs, guardrails, or agents reachable from each other share a
 * name. Handoffs by name are looked up when a run starts.
 */
export const defineAgent: Definers<unknown>['defineAgent'] = (def) => {
  const agent = readAgent(new DefinitionReader('agent', def, optionNames));
  return publish({ name: agent.name, description: agent.description }, agent);
};

function readAgent(reader: Reader): AgentSpec {
  const name = reader.name();
  const { subject } = reader;
  const instructions = reader.get('instructions');
  if (typeof instructions !== 'string' && typeof instructions !== 'function')
    reader.refuse('instructions', 'Give a text (it may be empty), or a function that gives one.');
  const tools = Object.freeze(
    reader.list('tools').map((tool, index) => toolSpecOf(tool, `Entry ${index + 1} in \`tools\` of agent ${name}`)),
  );
  const providerTools = readProviderTools(reader);
  const agent: AgentSpec = Object.freeze({
    kind: 'agent',
    name,
    description: reader.text('description'),
    instructions: instructions as AgentSpec['instructions'],
    model: readModel(reader.get('model'), { owner: subject, unguarded: providerTools }),
    settings: readSettings(reader.get('settings'), subject) as AgentSpec['settings'] | ModelSettings,
    tools,
    handoffs: readHandoffs(reader, name),
    guardrails: readGuardrails(reader.list('guardrails'), `agent ${name}`),
    output: reader.has('output') ? compileSchema(reader.get('output'), { owner: `The output of agent ${name}` }) : undefined,
    refusal: reader.text('refusal'),
    providerTools,
    mode: readMode(reader.get('mode'), subject),
    monitors: readMonitors(reader.list('monitors'), subject),
  });
  refuseSharedToolNames(agent);
  refuseLooseTools(agent);
  for (const tool of tools) refuseSharedNames([...agent.guardrails, ...tool.guardrails], `at tool ${tool.name} of agent ${name}`);
  const toolNames = tools.map((tool) => tool.name);
  for (const guardrail of agent.guardrails) refuseUnknownRules(guardrail, toolNames, `agent ${name}`);
  reachOf(agent);
  return agent;
}

function readHandoffs(reader: Reader, agent: string): readonly HandoffSpec[] {
  const handoffs = reader.list('handoffs').map((entry, index) => {
    const found = specBehind(entry);
    if (found?.kind === 'handoff') return found;
    if (found?.kind === 'agent' || isName(entry)) return handoffSpec(entry, {});
    const given = found === undefined ? describe(entry) : `a ${found.kind}`;
    return invalid(
      `Entry ${index + 1} in \`handoffs\` of agent ${agent} is ${given}. Give an agent, the name of one, or what handoff(agent, options) gave.`,
    );
  });
  for (const { target } of handoffs) {
    if (target === agent) invalid(`Agent ${agent} hands over to itself. Remove the entry ${agent} from its \`handoffs\`.`);
  }
  return Object.freeze(handoffs);
}

function readProviderTools(reader: Reader): readonly string[] {
  const names = reader.list('providerTools').map((entry, index) => {
    const place = `Entry ${index + 1} in \`providerTools\` of ${reader.subject}`;
    const tool = new DefinitionReader({ place }, entry, ['name', 'unguarded']);
    if (tool.get('unguarded') !== true) {
      invalid(
        `${place} does not say \`unguarded: true\`. The provider runs such a tool where no guardrail can see it: say so, or remove it.`,
      );
    }
    return tool.name();
  });
  return Object.freeze(names);
}

/** Where the model is known, and what its provider can be held to. */
function refuseLooseTools({ name, model, tools }: AgentSpec): void {
  const rules = typeof model === 'function' ? undefined : model.strictRules?.tools;
  if (rules === undefined) return;
  for (const tool of tools) {
    const json = property(tool.input, 'json') as JsonObject | undefined;
    const form = tool.strict === true && json !== undefined ? strictForm(json, rules) : undefined;
    if (form?.isStrict !== false) continue;
    invalid(
      `Tool ${tool.name} of agent ${name} has \`strict: true\`, but ${rules.provider} cannot be held to the schema of its input: ${describeRefusal(form)} Or leave \`strict\` out.`,
    );
  }
}

/** Tools, handoffs and provider tools stand side by side in the model's request. */
function refuseSharedToolNames({ name: agent, tools, handoffs, providerTools, mode }: AgentSpec): void {
  const owners = new Map<string, string>();
  const claim = (name: string, owner: string): void => {
    const other = owners.get(name);
    if (other !== undefined) {
      const who = other === owner ? `two ${owner}s` : `a ${other} and a ${owner}`;
      const how = owner === 'handoff' ? 'Give one another name, with handoff(agent, { name }).' : 'Give one another name.';
      throw new GuardloopError('NAME_TAKEN', `Tool name ${name} is used by ${who} of agent ${agent}. ${how}`);
    }
    owners.set(name, owner);
  };
  for (const { name } of tools satisfies readonly ToolSpec[]) claim(name, 'tool');
  for (const { name } of handoffs) claim(name, 'handoff');
  for (const name of providerTools) claim(name, 'provider tool');
  if (mode !== undefined) claim(mode.stop, 'call that ends the run');
}
