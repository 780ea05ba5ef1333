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

/** What the id of a model tells about it. */
export interface ModelTraits {
  /** How it thinks; `none` for models before Claude 3.7. */
  readonly style: 'adaptive' | 'budget' | 'none';
  /** True if it takes a budget too, though it can decide itself how much it thinks. */
  readonly takesBudget: boolean;
  /** True if it thinks where a request says nothing of thinking. */
  readonly isDefault: boolean;
  /** What `reasoning: 'off'` becomes; `effort` is the least that a model which always thinks can be asked for. */
  readonly off: 'omit' | 'disabled' | 'between_tools' | 'effort';
  /** True if it checks that nothing before a thinking block has changed since. */
  readonly bindsHistory: boolean;
  /** False if it refuses `temperature`, `top_p` and `top_k`. */
  readonly takesSampling: boolean;
  /** False if it refuses a tool choice that forces a call. */
  readonly canBeForced: boolean;
  /** True if it can be held to a schema: Claude 4.5 and later. */
  readonly takesSchemas: boolean;
  /** The most that `max_tokens` can be where a thinking budget is asked for, as far as that is known. */
  readonly mostTokens: number;
}

/** What a request says of thinking. */
export interface ThinkingPlan {
  readonly thinking?: JsonObject | undefined;
  readonly effort?: 'low' | 'medium' | 'high' | undefined;
  readonly maxTokens: number;
  readonly betas: readonly string[];
  /** True if the thinking of earlier answers must be left out: it is off, and the model would check it all the same. */
  readonly isWithoutHistory: boolean;
  /** What was asked for and is not sent, in sentences. */
  readonly dropped: readonly string[];
}

export interface ThinkingSituation {
  readonly reasoning: ModelSettings['reasoning'];
  /** What the caller allows; undefined where nobody has set it. */
  readonly maxTokens: number | undefined;
  readonly defaultMaxTokens: number;
  /** A call is forced: a thinking budget is refused beside it. */
  readonly isForced: boolean;
  /** An answer of the current turn is not sent as the provider gave it: thinking is off until the next user message. */
  readonly hasLostThinking: boolean;
  /** An answer of the current turn does not begin with thinking: a thinking budget is refused until the next user message. */
  readonly lacksThinking: boolean;
  readonly hasThinkingBlocks: boolean;
}

type Planned = Omit<ThinkingPlan, 'isWithoutHistory'>;

const budgets = { low: 2_048, medium: 8_192, high: 16_384 } as const;
/** The least that the API takes. */
const leastBudget = 1_024;
const bindingBeta = 'thinking-binding-controls-2026-08-01';
const untilNext = 'Not sent until the next user message: reasoning, since an answer of this turn';

/** What the id of a model tells. Ids that are not Claude's get the oldest form, which imitations of the API know. */
export function modelTraits(model: string): ModelTraits {
  const open = {
    model,
    takesBudget: false,
    isDefault: false,
    off: 'omit',
    bindsHistory: false,
    takesSampling: true,
    canBeForced: true,
    takesSchemas: false,
  } as const;
  const version = claudeVersion(model);
  if (version === undefined)
    return {
      ...open,
      ...(model.includes('claude') ? { style: 'adaptive', takesSchemas: true } : { style: 'budget' }),
      mostTokens: Number.POSITIVE_INFINITY,
    };
  const { family, number } = version;
  const alwaysThinks = family === 'fable' || family === 'mythos';
  if (number < 406 && !alwaysThinks) {
    const mostTokens = family === 'opus' && number < 405 ? 32_000 : 64_000;
    return { ...open, style: number < 307 ? 'none' : 'budget', takesSchemas: number >= 405, mostTokens };
  }
  const newer = {
    ...open,
    style: 'adaptive',
    takesBudget: number === 406,
    takesSampling: number < 407,
    takesSchemas: true,
    mostTokens: 128_000,
  } as const;
  if (number < 500 && !alwaysThinks) return newer;
  return { ...newer, isDefault: true, off: offOf(family, number), bindsHistory: number > 500, canBeForced: canBeForced(family, number) };
}

function offOf(family: string, number: number): ModelTraits['off'] {
  if (family === 'sonnet') return number > 500 ? 'between_tools' : 'disabled';
  if (family === 'haiku') return 'disabled';
  return family === 'opus' && number === 500 ? 'disabled' : 'effort';
}

function canBeForced(family: string, number: number): boolean {
  if (family === 'mythos') return false;
  return family === 'haiku' || number < (family === 'fable' ? 501 : 505);
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
export function planThinking(traits: ModelTraits, options: ThinkingOptions, situation: ThinkingSituation): ThinkingPlan {
  const isBudget = typeof situation.reasoning === 'object' && options.style === undefined && traits.takesBudget;
  const style = isBudget ? 'budget' : (options.style ?? traits.style);
  const plan = { ...planFor(style)(traits, options, situation), isWithoutHistory: false };
  const isBound = style === 'adaptive' && traits.bindsHistory && situation.hasThinkingBlocks && options.onChangedHistory !== 'error';
  if (!isBound) return plan;
  if (plan.thinking !== undefined && plan.thinking.type !== 'adaptive') return { ...plan, isWithoutHistory: true };
  return {
    ...plan,
    thinking: { type: 'adaptive', ...plan.thinking, block_binding: { prefix_mismatch_behavior: 'drop_block' } },
    betas: [bindingBeta],
  };
}

function planFor(style: ModelTraits['style']): typeof planNone {
  if (style === 'none') return planNone;
  return style === 'budget' ? planBudget : planAdaptive;
}

function planNone(_: ModelTraits, _options: ThinkingOptions, { reasoning, maxTokens, defaultMaxTokens }: ThinkingSituation): Planned {
  const isAsked = reasoning !== undefined && reasoning !== 'off';
  return {
    maxTokens: maxTokens ?? defaultMaxTokens,
    betas: [],
    dropped: isAsked ? ['Not sent: reasoning, since this model does not think.'] : [],
  };
}

function planAdaptive(traits: ModelTraits, options: ThinkingOptions, situation: ThinkingSituation): Planned {
  const { reasoning, hasLostThinking } = situation;
  const maxTokens = situation.maxTokens ?? situation.defaultMaxTokens;
  const off = traits.off === 'omit' || traits.off === 'effort' ? {} : { thinking: { type: traits.off } };
  if (reasoning === 'off') {
    if (traits.off !== 'effort') return { ...off, maxTokens, betas: [], dropped: [] };
    return {
      effort: 'low',
      maxTokens,
      betas: [],
      dropped: ['This model always thinks: for reasoning off, the least effort is asked for.'],
    };
  }
  const effort = typeof reasoning === 'object' ? effortFor(reasoning.maxTokens) : reasoning;
  // A model that always thinks goes on thinking.
  if (hasLostThinking && traits.off !== 'effort') {
    const lost = `${untilNext} is not sent as Anthropic gave it.`;
    return { ...off, effort, maxTokens, betas: [], dropped: reasoning === undefined ? [] : [lost] };
  }
  const display = options.display === undefined ? {} : { display: options.display };
  const isAsked = reasoning !== undefined || (options.display !== undefined && traits.isDefault);
  return { ...(isAsked ? { thinking: { type: 'adaptive', ...display } } : {}), effort, maxTokens, betas: [], dropped: [] };
}

/** Where a model takes no budget, the level that would have had it. */
function effortFor(maxTokens: number): 'low' | 'medium' | 'high' {
  if (maxTokens <= budgets.low) return 'low';
  return maxTokens <= budgets.medium ? 'medium' : 'high';
}

/** A limit that the caller has set is kept: a budget that does not fit under it is lowered, and thinking is off where none fits. */
function planBudget(traits: ModelTraits, options: ThinkingOptions, situation: ThinkingSituation): Planned {
  const { reasoning, maxTokens, defaultMaxTokens } = situation;
  const without = { maxTokens: maxTokens ?? defaultMaxTokens, betas: [] };
  if (reasoning === undefined || reasoning === 'off') return { ...without, dropped: [] };
  const hindrance = hindranceOf(situation);
  if (hindrance !== undefined) return { ...without, dropped: [hindrance] };
  const wanted = Math.floor(typeof reasoning === 'string' ? budgets[reasoning] : reasoning.maxTokens);
  const most = maxTokens ?? Math.max(traits.mostTokens, defaultMaxTokens);
  const fitting = Math.min(wanted, most - 1);
  if (fitting < leastBudget)
    return {
      ...without,
      dropped: [`Not sent: reasoning, since its least budget is ${leastBudget} tokens, and ${Math.max(0, fitting)} are left for it.`],
    };
  const room = wanted < defaultMaxTokens ? defaultMaxTokens : wanted + defaultMaxTokens;
  const dropped =
    fitting < wanted ? [`The budget of reasoning is lowered from ${wanted} to ${fitting} tokens, to fit under maxTokens ${most}.`] : [];
  return { thinking: enabled(fitting, options), maxTokens: maxTokens ?? Math.min(room, most), betas: [], dropped };
}

function hindranceOf({ isForced, hasLostThinking, lacksThinking }: ThinkingSituation): string | undefined {
  if (isForced) return 'Not sent with this request: reasoning, since a call is forced.';
  if (hasLostThinking) return `${untilNext} is not sent as Anthropic gave it.`;
  return lacksThinking ? `${untilNext} was given without it.` : undefined;
}

function enabled(budget: number, options: ThinkingOptions): JsonObject {
  return { type: 'enabled', budget_tokens: budget, ...(options.display === undefined ? {} : { display: options.display }) };
}
