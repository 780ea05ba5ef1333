import type { Awaitable } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import type { Model, ModelEvent, ModelRequest, StreamOptions, ToolSpec } from '@guardloop/core/model';
import { safeCause } from '@guardloop/core/model';
import { checkModel, checkType, checkWhole } from './options.js';
import type { Offer } from './select-tools-offer.js';
import { Offers } from './select-tools-offer.js';
import type { ToolRanker } from './select-tools-ranker.js';
import { Shown } from './select-tools-shown.js';
import type { Choice } from './select-tools-stream.js';
import { SelectedCall } from './select-tools-stream.js';
import { byWords } from './select-tools-words.js';

/** Options of {@link selectTools}. */
export interface SelectToolsOptions {
  /** How many tools each message of the user, and each search, brings in at most. Default 10. */
  readonly top?: number | undefined;
  /** Tools that are shown whatever is said; they do not count in `top`. Default none. */
  readonly always?: readonly { readonly name: string }[] | undefined;
  /** How tools are ranked: `byWords()`, `byEmbeddings(embed)`, or a function of your own. Default `byWords()`. */
  readonly by?: ToolRanker | undefined;
  /** Of an agent with so many tools or fewer, all are shown, handoffs included. Default 20. */
  readonly above?: number | undefined;
}

const optionNames: readonly string[] = ['top', 'always', 'by', 'above'];

/**
 * For an agent with many tools: a function that wraps its model, so that a request shows the few that matter. Shown are: `always`, handoffs
 * and what else is none of the agent's own tools; those that best fit the words of each message of the user in this run; those that a search
 * found (`searchTools`); and those called before. The set depends on the messages alone and only grows while a run goes on. It hides, and
 * forbids nothing: a call of a tool that is not shown runs, under the same guardrails. Throws CONFIG_INVALID.
 */
export function selectTools(options: SelectToolsOptions = {}): (model: Model) => Model {
  const { top = 10, always = [], by = byWords(), above = 20 } = checked(options);
  const selection = new Selection({ top, above, by, offers: new Offers(new Set(always.map(({ name }) => name))) });
  return (model) => {
    checkModel('What selectTools(…) was given to wrap', model);
    const { id, provider, providerTools, strictRules } = model;
    return {
      id,
      provider,
      ...(providerTools === undefined ? {} : { providerTools }),
      ...(strictRules === undefined ? {} : { strictRules }),
      stream: (request, streamOptions) => selection.stream(model, request, streamOptions),
    };
  };
}

function checked(options: SelectToolsOptions): SelectToolsOptions {
  checkType('The first argument of selectTools', options, 'object');
  for (const name of Object.keys(options))
    if (!optionNames.includes(name))
      throw invalid(`selectTools has no option ${JSON.stringify(name)}. Its options are ${optionNames.join(', ')}.`);
  const { top = 10, always = [], by, above = 20 } = options;
  checkWhole('The option `top` of selectTools', top, 1);
  checkWhole('The option `above` of selectTools', above);
  if (!Array.isArray(always) || always.some((tool: unknown) => typeof (tool as { name?: unknown } | null)?.name !== 'string'))
    throw invalid('The option `always` of selectTools is no list of tools. Give the tools themselves: always: [getOrder].');
  if (by !== undefined && typeof by !== 'function')
    throw invalid('The option `by` of selectTools is no function. Give byWords(), byEmbeddings(embed), or a function that ranks.');
  return options;
}

const invalid = (message: string): GuardloopError => new GuardloopError('CONFIG_INVALID', message);

interface Rules {
  readonly top: number;
  readonly above: number;
  readonly by: ToolRanker;
  readonly offers: Offers;
}

/** What is made of one list of tools. */
interface Listed {
  readonly byName: ReadonlyMap<string, ToolSpec>;
  names: string;
  tools: readonly ToolSpec[];
}

class Selection {
  private readonly shown = new Shown();
  private readonly lists = new WeakMap<readonly ToolSpec[], Listed>();

  constructor(private readonly rules: Rules) {}

  stream(model: Model, request: ModelRequest, options: StreamOptions): AsyncIterable<ModelEvent> {
    const { above, offers } = this.rules;
    if (request.tools.length <= above) return model.stream(request, options);
    const offer = offers.of(request.tools);
    const rank = (words: string): Awaitable<readonly string[]> => this.rank(words, { offer, signal: options.signal });
    const choose = (): Awaitable<ModelRequest> => {
      const shown = this.shown.of(request.messages, { offer, rank });
      return 'then' in shown
        ? Promise.resolve(shown).then((names) => this.showing(request, offer, names))
        : this.showing(request, offer, shown as ReadonlySet<string>);
    };
    const choice: Choice = { choose, rank: offer.hasSearch ? rank : undefined };
    return new SelectedCall(model, choice, options);
  }

  private rank(words: string, { offer, signal }: { readonly offer: Offer; readonly signal: AbortSignal }): Awaitable<readonly string[]> {
    const { by, top } = this.rules;
    if (words.trim() === '' || offer.candidates.length === 0) return [];
    let ranking: Awaitable<readonly string[]>;
    try {
      ranking = by(words, offer.candidates, { limit: top, signal });
    } catch (thrown) {
      throw rankingFailure(thrown);
    }
    const read = (given: unknown): readonly string[] => namesOf(given, offer, top);
    if (!isPromise(ranking)) return read(ranking);
    return inTime(ranking, signal).then(read, (thrown: unknown) => {
      throw rankingFailure(thrown);
    });
  }

  /** The request with the tools of these names, and those that stand in it anyway. */
  private showing(request: ModelRequest, offer: Offer, shown: ReadonlySet<string>): ModelRequest {
    const { tools, toolChoice } = request;
    let listed = this.lists.get(tools);
    if (listed === undefined) {
      listed = { byName: new Map(tools.map((tool) => [tool.name, tool])), names: '', tools: [] };
      this.lists.set(tools, listed);
    }
    const names = new Set([...offer.fixed, ...shown]);
    if (typeof toolChoice === 'object') names.add(toolChoice.tool);
    const key = [...names].join('\n');
    // The same list for the same tools: adapters keep their wire form by it.
    if (listed.names !== key) {
      const { byName } = listed;
      listed.names = key;
      listed.tools = [...names].flatMap((name) => byName.get(name) ?? []);
    }
    return { ...request, tools: listed.tools };
  }
}

const isPromise = <T>(value: Awaitable<T>): value is PromiseLike<T> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';

function namesOf(given: unknown, { candidates }: Offer, top: number): readonly string[] {
  if (!Array.isArray(given)) throw invalid('The function `by` of selectTools gave no list. Have it give names of tools, best first.');
  const known = new Set(candidates.map(({ name }) => name));
  return [...new Set(given as readonly string[])].filter((name) => known.has(name)).slice(0, top);
}

function rankingFailure(thrown: unknown): GuardloopError {
  if (GuardloopError.is(thrown)) return thrown;
  return new GuardloopError(
    'MODEL_FAILED',
    `The function \`by\` of selectTools threw ${safeCause(thrown).name}, so no tools could be chosen and no model was asked. Look at the cause; resume the run to ask again.`,
    { cause: thrown, isRetryable: true, details: { usage: { requests: 0 } } },
  );
}

/** Rejects as soon as the signal is aborted: nobody waits for who does not listen to it. */
function inTime<T>(given: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    given.then(resolve, reject).then(() => signal.removeEventListener('abort', abort));
  });
}
