import type { Flow, Guardrail, JsonObject, JsonSchema, Projection, Tool } from '@guardloop/core';
import { fitsPattern, GuardloopError, withContext } from '@guardloop/core';
import type { CalledTool } from './call.js';
import { callTool } from './call.js';
import type { Connection } from './connection.js';
import type { Definition } from './definition.js';
import { RequestFailure, toToolError } from './failure.js';
import { withoutSlowPatterns } from './linear-patterns.js';
import { outputCheck } from './output-check.js';
import { showName } from './show-text.js';
import { mcpToolName } from './tool-names.js';
import { byPattern } from './tool-pattern.js';

/** A tool of a server as an agent takes it. */
export type McpTool<C = unknown> = Tool<C, string, JsonObject>;

export interface OfferSettings<C> {
  readonly serverName: string;
  readonly flow: Readonly<Record<string, Flow>> | undefined;
  readonly approval: boolean | readonly string[] | undefined;
  readonly guardrails: readonly Guardrail<C, 'toolInput' | 'toolOutput'>[] | undefined;
  readonly project: Projection<unknown, never, C> | undefined;
  readonly trustsHints: boolean;
  /** Asked before each call: why the tool may not be called as it is now. */
  readonly stillStands: (tool: Definition, signal: AbortSignal) => Promise<RequestFailure | Error | undefined>;
}

/** An ordinary tool for a server's. Throws CONFIG_INVALID where its definition cannot be used, or what the user said of it does not fit. */
export function offerTool<C>(connection: Connection, definition: Definition, settings: OfferSettings<C>): McpTool<C> {
  const { name, input, output, hints } = definition;
  const { serverName, guardrails, project, trustsHints, stillStands } = settings;
  const schema = objectSchema(withoutSlowPatterns(input));
  const flow = flowOf(definition, settings, schema);
  const isRepeatable = flow?.effect === 'read' || flow?.effect === 'none' || (trustsHints && hints?.idempotent === true);
  const misfit = output === undefined ? undefined : checkOf(output, name);
  const check = async (signal: AbortSignal): Promise<void> => {
    const why = await stillStands(definition, signal);
    if (why) throw why instanceof RequestFailure ? toToolError(why, isRepeatable) : why;
  };
  const called = { serverName, name, isRepeatable, check, misfit };
  const { defineTool } = withContext<C>();
  return defineTool({
    name: mcpToolName(serverName, name),
    description: definition.description,
    input: schema,
    approval: needsPerson(name, settings.approval),
    ...(flow === undefined ? {} : { flow }),
    ...(isRepeatable ? { repeatable: true } : {}),
    ...(guardrails === undefined ? {} : { guardrails }),
    ...(project === undefined ? {} : { project }),
    execute: (given: JsonObject, info): Promise<unknown> => callTool(connection, called, { input: given, info }),
  }) as McpTool<C>;
}

/** Some servers leave out what goes without saying; a schema that says something else is core's to refuse. */
function objectSchema(schema: JsonObject): JsonSchema {
  return (schema.type === undefined ? { ...schema, type: 'object' } : schema) as JsonSchema;
}

function needsPerson(name: string, approval: boolean | readonly string[] | undefined): boolean {
  return typeof approval === 'boolean' ? approval : (approval ?? []).some((pattern) => fitsPattern(pattern, name));
}

function flowOf<C>({ name, hints }: Definition, { flow, trustsHints }: OfferSettings<C>, schema: JsonObject): Flow | undefined {
  const said = flow && byPattern(flow, name);
  if (said) {
    const { effect, results, authority } = said.value;
    const found =
      authority !== undefined && said.pattern !== name ? authority.filter((argument) => hasProperty(schema, argument)) : authority;
    // A pattern whose arguments the tool does not have says nothing of those it has.
    const known = found?.length === 0 && authority?.length !== 0 ? undefined : found;
    return {
      ...(effect === undefined ? {} : { effect }),
      ...(results === undefined ? {} : { results }),
      ...(known === undefined ? {} : { authority: known }),
    };
  }
  return trustsHints && hints?.readOnly === true ? { effect: 'read' } : undefined;
}

function hasProperty({ properties }: JsonObject, argument: string): boolean {
  return typeof properties === 'object' && properties !== null && Object.hasOwn(properties, argument);
}

function checkOf(output: JsonObject, name: string): CalledTool['misfit'] {
  try {
    return outputCheck(output);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : 'it cannot be read';
    throw new GuardloopError('CONFIG_INVALID', `Tool ${showName(name)} has a schema of its output that cannot be used: ${why}.`);
  }
}
