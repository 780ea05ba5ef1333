import type { JsonObject, StrictForm, StrictRules, ToolSpec } from '@guardloop/core/model';
import { GuardloopError, strictForm } from '@guardloop/core/model';

/**
 * What the API takes for a structured answer (https://platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema
 * limitations"). Of `pattern` it takes some, which it does not tell apart, and of `minItems` only 0 and 1: both are said in words. Of size it
 * says only that it refuses what is too complex; these limits are ours.
 */
export const answerRules: StrictRules = {
  provider: 'Anthropic',
  root: 'any',
  absent: 'optional',
  recursive: false,
  sameFirstField: true,
  keywords: ['default'],
  formats: ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'],
  limits: { depth: 20, properties: 500, enumValues: 500, chars: 50_000, longEnum: [250, 15_000] },
};

/** For the input of a tool. */
export const toolRules: StrictRules = { ...answerRules, root: 'object' };

/** What all schemas of one request may have together (same page, "Schema complexity limits"). */
const most = { tools: 20, optional: 24, unions: 16 };

type Strict = Extract<StrictForm, { readonly isStrict: true }>;

/** What is left of it in one request. */
export class StrictBudget {
  #tools = most.tools;
  #optional = most.optional;
  #unions = most.unions;

  /** Takes it if it is there. */
  takeAnswer({ optional, unions }: Strict): boolean {
    if (optional > this.#optional || unions > this.#unions) return false;
    this.#optional -= optional;
    this.#unions -= unions;
    return true;
  }

  takeTool(form: Strict): boolean {
    if (this.#tools === 0 || !this.takeAnswer(form)) return false;
    this.#tools -= 1;
    return true;
  }
}

/** The schema of a structured answer as the API takes it; undefined where it cannot be said so, or has too much for one request. */
export function answerSchema(schema: JsonObject, budget: StrictBudget): JsonObject | undefined {
  const form = strictForm(schema, answerRules);
  return form.isStrict && budget.takeAnswer(form) ? form.schema : undefined;
}

/**
 * The tools that a request can hold the model to: first those that must be, then those for which it may be so, in their order, as far as the
 * budget goes. Throws `CONFIG_INVALID` where it does not go as far as it must.
 */
export function strictTools(tools: readonly ToolSpec[], budget: StrictBudget, isOnlyAsked: boolean): ReadonlySet<ToolSpec> {
  const held = new Set<ToolSpec>();
  for (const tool of tools.filter(({ strict }) => strict === true)) {
    const form = strictForm(tool.schema, toolRules);
    held.add(tool);
    if (form.isStrict && !budget.takeTool(form))
      throw new GuardloopError(
        'CONFIG_INVALID',
        `Tool ${tool.name} has \`strict: true\`, but with it the strict schemas of one request would be more than Anthropic takes: ${most.tools} tools, ${most.optional} fields that may be left out, ${most.unions} unions. Leave \`strict\` out on some tools.`,
      );
  }
  for (const tool of isOnlyAsked ? [] : tools) {
    if (tool.strict === true || tool.strict === false) continue;
    const form = strictForm(tool.schema, toolRules);
    if (form.isStrict && budget.takeTool(form)) held.add(tool);
  }
  return held;
}
