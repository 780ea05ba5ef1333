import type { JsonObject, JsonValue, ModelSettings, ToolChoice, ToolSpec } from '@guardloop/core/model';
import { GuardloopError, offeredSchema, wellFormed, wellFormedText, wireName } from '@guardloop/core/model';
import type { StrictBudget } from './strict-schema.js';
import { strictTools, toolRules } from './strict-schema.js';

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
  readonly offer: ToolOffer;
  readonly strict: StrictTools;
  /** What the strict schemas of the request may still have. */
  readonly budget: StrictBudget;
}

/** Which tools the model is held to: those that can be, only those that must be, or none. */
export type StrictTools = 'auto' | 'asked' | 'none';

export interface ToolFields {
  readonly tools?: readonly JsonObject[] | undefined;
  readonly tool_choice?: JsonObject | undefined;
  /** What of the schemas goes otherwise than its author would expect, in sentences; once for each tool. */
  readonly changes: readonly string[];
  /** The model is held to schemas of tools that did not ask for it. */
  readonly isEasable: boolean;
}

/** The wire form of the tools of one model, made once for each tool. */
export class ToolOffer {
  readonly #known = new WeakMap<ToolSpec, { readonly loose?: JsonObject; readonly strict?: JsonObject }>();

  encode({ tools, strict, budget }: Pick<ToolSituation, 'tools' | 'strict' | 'budget'>): ToolFields {
    const held = strict === 'none' ? new Set<ToolSpec>() : strictTools(tools, budget, strict === 'asked');
    const changes: string[] = [];
    const isEasable = [...held].some((tool) => tool.strict !== true);
    return { tools: tools.map((tool) => this.#encode(tool, held.has(tool), changes)), changes, isEasable };
  }

  #encode(tool: ToolSpec, isHeld: boolean, changes: string[]): JsonObject {
    const form = isHeld ? 'strict' : 'loose';
    const known = this.#known.get(tool);
    if (known?.[form] !== undefined) return known[form];
    const offered = offeredSchema(tool, isHeld ? toolRules : undefined);
    const encoded = {
      name: wireName(tool.name),
      ...(tool.description === '' ? {} : { description: wellFormedText(tool.description) }),
      input_schema: wellFormed(offered.schema),
      ...(offered.isStrict ? { strict: true } : {}),
    };
    this.#known.set(tool, { ...known, [form]: encoded });
    changes.push(...offered.changes);
    return encoded;
  }
}

/**
 * The fields about tools, or none where there is nothing to offer and nothing was called. The API wants definitions where the history holds
 * calls, so those of a history whose tools are gone are offered without schema and not to be called.
 */
export function toolFields(situation: ToolSituation): ToolFields {
  const { providerTools, calledTools, choice } = situation;
  const { tools: own = [], changes, isEasable } = situation.offer.encode(situation);
  const offered = [...own, ...(providerTools as readonly JsonObject[])];
  if (offered.length > 0) return { tools: offered, tool_choice: toolChoice(situation), changes, isEasable };
  if (typeof choice === 'object') throw notOffered(choice.tool);
  if (calledTools.size === 0) return { changes, isEasable };
  return {
    tools: [...calledTools].map((name) => ({ name, description: 'No longer available.', input_schema: { type: 'object' } })),
    tool_choice: { type: 'none' },
    changes,
    isEasable,
  };
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
