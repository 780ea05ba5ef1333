import type { JsonObject, JsonValue, ModelSettings, ToolChoice, ToolSpec } from '@guardloop/core/model';
import { GuardloopError, wellFormed, wellFormedText, wireName } from '@guardloop/core/model';

/** A tool that Anthropic runs itself, as it stands in a request: for example `{ type: 'web_search_20250305', name: 'web_search' }`. */
export interface ProviderTool {
  readonly type: string;
  readonly name: string;
  readonly [field: string]: JsonValue | undefined;
}

export interface ToolSituation {
  readonly tools: readonly ToolSpec[];
  readonly providerTools: readonly ProviderTool[];
  /** Wire names of the tools that the history has calls of. */
  readonly calledTools: ReadonlySet<string>;
  readonly choice: ToolChoice | undefined;
  readonly parallelToolCalls: ModelSettings['parallelToolCalls'];
}

export interface ToolFields {
  readonly tools?: readonly JsonObject[] | undefined;
  readonly tool_choice?: JsonObject | undefined;
}

const wireTools = new WeakMap<readonly ToolSpec[], readonly JsonObject[]>();

/**
 * The fields about tools, or none where there is nothing to offer and nothing was called. The API wants definitions where the history holds
 * calls, so those of a history whose tools are gone are offered without schema and not to be called.
 */
export function toolFields(situation: ToolSituation): ToolFields {
  const { providerTools, calledTools, choice } = situation;
  const offered = [...encodeTools(situation.tools), ...(providerTools as readonly JsonObject[])];
  if (offered.length > 0) return { tools: offered, tool_choice: toolChoice(situation) };
  if (typeof choice === 'object') throw notOffered(choice.tool);
  if (calledTools.size === 0) return {};
  return {
    tools: [...calledTools].map((name) => ({ name, description: 'No longer available.', input_schema: { type: 'object' } })),
    tool_choice: { type: 'none' },
  };
}

function encodeTools(tools: readonly ToolSpec[]): readonly JsonObject[] {
  let encoded = wireTools.get(tools);
  if (encoded === undefined) {
    encoded = tools.map(({ name, description, schema }) => ({
      name: wireName(name),
      ...(description === '' ? {} : { description: wellFormedText(description) }),
      input_schema: wellFormed(schema.type === undefined ? { type: 'object', ...schema } : schema),
    }));
    wireTools.set(tools, encoded);
  }
  return encoded;
}

function toolChoice({ tools, providerTools, choice, parallelToolCalls }: ToolSituation): JsonObject | undefined {
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  if (choice === 'none') return { type: 'none' };
  if (choice === 'required') return { type: 'any', ...single };
  if (typeof choice === 'object') {
    if (![...tools, ...providerTools].some(({ name }) => name === choice.tool)) throw notOffered(choice.tool);
    return { type: 'tool', name: wireName(choice.tool), ...single };
  }
  return choice === undefined && parallelToolCalls !== false ? undefined : { type: 'auto', ...single };
}

function notOffered(tool: string): GuardloopError {
  return new GuardloopError(
    'CONFIG_INVALID',
    `toolChoice forces the tool ${tool}, which this request does not offer. Name one of its tools.`,
  );
}
