import type { JsonObject, ModelSettings } from '@guardloop/core/model';

/** What is set about a model's thinking beyond `settings.reasoning`. */
export interface ThinkingOptions {
  /**
   * How thinking is asked for: `adaptive` (Claude 4.6 and later decide how much; levels become `output_config.effort`) or `budget`
   * (`budget_tokens`, Claude 4.5 and earlier, and servers that imitate the API). Left out, it follows from the model id.
   */
  readonly style?: 'adaptive' | 'budget' | undefined;
  /** `omitted` gives thinking blocks without readable text, `summarized` with it. Left out, the model's own default holds. */
  readonly display?: 'summarized' | 'omitted' | undefined;
  /**
   * What newer models do with thinking of an earlier answer when something before it has changed, as a note that stood in one request, or
   * other instructions in a later run: `drop` (the default) goes on without that thinking, `error` fails the request with status 400.
   */
  readonly onChangedHistory?: 'drop' | 'error' | undefined;
}

/** How a model thinks, as far as its id tells. */
export interface ThinkingTraits {
  readonly style: 'adaptive' | 'budget';
  /** True if it thinks where a request says nothing of thinking. */
  readonly isDefault: boolean;
  /** What `reasoning: 'off'` becomes; `effort` is the least that a model which always thinks can be asked for. */
  readonly off: 'omit' | 'disabled' | 'between_tools' | 'effort';
  /** True if it checks that nothing before a thinking block has changed since. */
  readonly bindsHistory: boolean;
}

/** What a request says of thinking. */
export interface ThinkingPlan {
  readonly thinking?: JsonObject | undefined;
  readonly effort?: 'low' | 'medium' | 'high' | undefined;
  readonly maxTokens: number;
  readonly betas: readonly string[];
}

export interface ThinkingSituation {
  readonly reasoning: ModelSettings['reasoning'];
  /** What the caller allows; undefined where nobody has set it. */
  readonly maxTokens: number | undefined;
  readonly defaultMaxTokens: number;
  /** A call is forced, or the current turn has lost its thinking: it is off until the next user message. */
  readonly mustBeOff: boolean;
  readonly hasThinkingBlocks: boolean;
}

const budgets = { low: 2_048, medium: 8_192, high: 16_384 } as const;
/** The least that the API takes. */
const leastBudget = 1_024;
const bindingBeta = 'thinking-binding-controls-2026-08-01';

/** What the id of a model tells about its thinking. Ids that are not Claude's get the oldest form, which imitations of the API know. */
export function thinkingTraits(model: string): ThinkingTraits {
  const version = claudeVersion(model);
  if (version === undefined) {
    const isClaude = model.includes('claude');
    return { style: isClaude ? 'adaptive' : 'budget', isDefault: false, off: 'omit', bindsHistory: false };
  }
  const { family, number } = version;
  const alwaysThinks = family === 'fable' || family === 'mythos';
  if (number < 406 && !alwaysThinks) return { style: 'budget', isDefault: false, off: 'omit', bindsHistory: false };
  if (number < 500 && !alwaysThinks) return { style: 'adaptive', isDefault: false, off: 'omit', bindsHistory: false };
  return { style: 'adaptive', isDefault: true, off: offOf(family, number), bindsHistory: number > 500 };
}

function offOf(family: string, number: number): ThinkingTraits['off'] {
  if (family === 'sonnet') return number > 500 ? 'between_tools' : 'disabled';
  if (family === 'haiku') return 'disabled';
  return family === 'opus' && number === 500 ? 'disabled' : 'effort';
}

/** 4.6 is 406: minor versions can have two digits. */
function claudeVersion(model: string): { readonly family: string; readonly number: number } | undefined {
  const found =
    /claude-(?<family>opus|sonnet|haiku|fable|mythos)-(?<major>\d)(?:[-.](?<minor>\d{1,2}))?(?!\d)/.exec(model) ??
    /claude-(?<major>\d)(?:[-.](?<minor>\d))?-(?<family>opus|sonnet|haiku)/.exec(model) ??
    /claude-(?<family>mythos)-preview/.exec(model);
  if (found?.groups?.family === undefined) return undefined;
  const { family, major = '5', minor = '0' } = found.groups;
  return { family, number: Number(major) * 100 + Number(minor) };
}

/** Decides what one request says of thinking, so that the API takes it together with everything else in the request. */
export function planThinking(traits: ThinkingTraits, options: ThinkingOptions, situation: ThinkingSituation): ThinkingPlan {
  const style = options.style ?? traits.style;
  const plan = style === 'budget' ? planBudget(options, situation) : planAdaptive(traits, options, situation);
  const isBound = style === 'adaptive' && traits.bindsHistory && situation.hasThinkingBlocks && options.onChangedHistory !== 'error';
  if (!isBound || (plan.thinking !== undefined && plan.thinking.type !== 'adaptive')) return plan;
  return {
    ...plan,
    thinking: { type: 'adaptive', ...plan.thinking, block_binding: { prefix_mismatch_behavior: 'drop_block' } },
    betas: [bindingBeta],
  };
}

function planAdaptive(traits: ThinkingTraits, options: ThinkingOptions, situation: ThinkingSituation): ThinkingPlan {
  const { reasoning, mustBeOff } = situation;
  const maxTokens = situation.maxTokens ?? situation.defaultMaxTokens;
  if (reasoning === 'off') {
    if (traits.off === 'effort') return { effort: 'low', maxTokens, betas: [] };
    return { ...(traits.off === 'omit' ? {} : { thinking: { type: traits.off } }), maxTokens, betas: [] };
  }
  const effort = reasoning === undefined ? undefined : typeof reasoning === 'string' ? reasoning : effortFor(reasoning.maxTokens);
  const display = options.display === undefined ? {} : { display: options.display };
  const isAsked = reasoning !== undefined || (options.display !== undefined && traits.isDefault);
  return { ...(isAsked && !mustBeOff ? { thinking: { type: 'adaptive', ...display } } : {}), effort, maxTokens, betas: [] };
}

function effortFor(maxTokens: number): 'low' | 'medium' | 'high' {
  if (maxTokens <= budgets.low) return 'low';
  return maxTokens <= budgets.medium ? 'medium' : 'high';
}

/** A limit that the caller has set is kept: a budget that does not fit under it is lowered, and thinking is off where none fits. */
function planBudget(options: ThinkingOptions, situation: ThinkingSituation): ThinkingPlan {
  const { reasoning, maxTokens, defaultMaxTokens, mustBeOff } = situation;
  if (reasoning === undefined || reasoning === 'off' || mustBeOff) return { maxTokens: maxTokens ?? defaultMaxTokens, betas: [] };
  const wanted = Math.max(leastBudget, Math.floor(typeof reasoning === 'string' ? budgets[reasoning] : reasoning.maxTokens));
  if (maxTokens === undefined) {
    return {
      thinking: enabled(wanted, options),
      maxTokens: wanted < defaultMaxTokens ? defaultMaxTokens : wanted + defaultMaxTokens,
      betas: [],
    };
  }
  const fitting = Math.min(wanted, maxTokens - 1);
  return fitting < leastBudget ? { maxTokens, betas: [] } : { thinking: enabled(fitting, options), maxTokens, betas: [] };
}

function enabled(budget: number, options: ThinkingOptions): JsonObject {
  return { type: 'enabled', budget_tokens: budget, ...(options.display === undefined ? {} : { display: options.display }) };
}
