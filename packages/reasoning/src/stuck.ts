import type { Finding, LogEvent, ModelEndEvent, Monitor, ToolEndEvent } from '@guardloop/core';
import { canonicalJson, defineMonitor, GuardloopError } from '@guardloop/core';
import type { JsonValue } from '@guardloop/core/model';
import { checkOptionNames } from '@guardloop/core/model';
import { pairsOf, similarity } from './similarity.js';

/** What {@link stuck} sees. `same-thoughts` and `restating` are signals alone: they are recorded and never acted on. */
export type StuckSign = 'same-calls' | 'errors' | 'near-equal-failures' | 'nothing-new' | 'same-thoughts' | 'restating';

/** Options of {@link stuck}. Counts are whole numbers from 2. */
export interface StuckOptions {
  /**
   * What happens once the run is stuck. `nudge` (the default): the model is told. `ask`: a person decides about its next calls. `finalize`: it
   * gives one last answer of what it has, and says what is missing. `stop`: the run ends `exhausted`.
   */
  readonly onStuck?: 'nudge' | 'ask' | 'finalize' | 'stop' | undefined;
  /** Calls in a row with equal tool, input and result. Default 3. */
  readonly sameCalls?: number | undefined;
  /** Failed calls in a row, of any tool. Default 4. */
  readonly errors?: number | undefined;
  /** Failed calls of one tool in a row whose inputs are nearly equal. Default 3. */
  readonly nearEqual?: number | undefined;
  /** Results in a row that were all seen before. Default 4. */
  readonly nothingNew?: number | undefined;
  /** From which similarity texts count as alike, above 0 to 1. Default 0.85. */
  readonly similarity?: number | undefined;
}

const counts = { sameCalls: 3, errors: 4, nearEqual: 3, nothingNew: 4 } as const;
const optionNames = { onStuck: true, sameCalls: true, errors: true, nearEqual: true, nothingNew: true, similarity: true } as const;
const policies = ['nudge', 'ask', 'finalize', 'stop'] as const;

/**
 * A monitor that sees when a run goes in circles: equal calls with equal results, failures in a row, the same failing call in other words,
 * results that bring nothing new, and thoughts that repeat themselves or only restate the task or the last result. Each is recorded as
 * `monitor.alert` once, and again after something else has happened. Throws CONFIG_INVALID.
 */
export function stuck(options: StuckOptions = {}): Monitor {
  const settings = readOptions(options);
  return defineMonitor({
    name: 'stuck',
    start: () => {
      const watch = new Watch(settings);
      return (event) => watch.take(event);
    },
  });
}

type Settings = Required<{ readonly [K in keyof StuckOptions]: NonNullable<StuckOptions[K]> }>;

function readOptions(options: StuckOptions): Settings {
  const invalid = (what: string): never => {
    throw new GuardloopError('CONFIG_INVALID', `stuck() has ${what}`);
  };
  checkOptionNames('stuck(…)', options, optionNames);
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const settings: Settings = { onStuck: 'nudge', ...counts, similarity: 0.85, ...given };
  if (!policies.includes(settings.onStuck))
    invalid(`no policy of that name in \`onStuck\`. Give ${policies.map((each) => `'${each}'`).join(', ')}.`);
  for (const name of Object.keys(counts) as (keyof typeof counts)[])
    if (!Number.isSafeInteger(settings[name]) || settings[name] < 2) invalid(`a \`${name}\` that cannot be. Give a whole number from 2.`);
  if (!(settings.similarity > 0 && settings.similarity <= 1)) invalid('a `similarity` that cannot be. Give a number above 0, to 1.');
  return settings;
}

interface Call {
  readonly tool: string;
  readonly key: string;
  readonly pairs: ReadonlySet<string>;
}

/** The counts of one stay. Each text is looked at once. */
class Watch {
  private readonly calls = new Map<string, Call>();
  private readonly seen = new Set<string>();
  private readonly told = new Set<StuckSign>();
  private thoughts: ReadonlySet<string>[] = [];
  private task: ReadonlySet<string> = new Set();
  private result: ReadonlySet<string> = new Set();
  private last: { readonly key: string; readonly result: string } | undefined;
  private same = 0;
  private errors = 0;
  private stale = 0;
  private failing: Call[] = [];

  constructor(private readonly settings: Settings) {}

  take(event: LogEvent): Finding | undefined {
    switch (event.type) {
      case 'input.accept': {
        const text = event.items
          .map((item) => (item.role === 'user' ? item.parts.map((part) => (part.type === 'text' ? part.text : '')).join(' ') : item.text))
          .join(' ');
        this.task = pairsOf(text);
        return undefined;
      }
      case 'handoff':
        this.task = pairsOf(event.brief);
        return undefined;
      case 'model.end':
        return this.answer(event);
      case 'tool.end':
        return this.end(event);
      default:
        return undefined;
    }
  }

  private answer({ status, calls, text, reasoning, thought }: ModelEndEvent): Finding | undefined {
    if (status !== 'ok') return undefined;
    for (const { id, name, input, variant } of calls) {
      const json = canonicalJson(input);
      this.calls.set(id, { tool: name, key: `${name} ${variant ?? ''} ${json}`, pairs: pairsOf(json) });
    }
    const isAnswer = calls.length === 0 && thought === undefined;
    const said = pairsOf([text, reasoning ?? ''].join(' '));
    if (isAnswer || said.size === 0) return undefined;
    const { similarity: least } = this.settings;
    this.thoughts = [...this.thoughts.slice(-2), said];
    const [first, ...rest] = this.thoughts;
    if (first && rest.length === 2 && rest.every((each) => similarity(first, each) >= least))
      return this.signal('same-thoughts', 'The last three thoughts say the same.');
    this.told.delete('same-thoughts');
    const restates = similarity(said, this.task) >= least || similarity(said, this.result) >= least;
    if (restates) return this.signal('restating', 'The thought only restates the task or the last result.');
    this.told.delete('restating');
    return undefined;
  }

  private end({ callId, tool, status, content, polling, copyOf }: ToolEndEvent): Finding | undefined {
    const call = this.calls.get(callId) ?? { tool, key: tool, pairs: new Set<string>() };
    this.calls.delete(callId);
    if (polling || copyOf !== undefined || status === 'aborted') return undefined;
    const result = typeof content === 'string' ? content : canonicalJson(content as unknown as JsonValue);
    this.result = pairsOf(result);
    const failed = status !== 'ok';
    // The near-equal first: of several signs, the one that tells most.
    return (
      this.nearEqual(call, failed) ??
      this.sameCall(call, result) ??
      this.streak(failed) ??
      (failed ? undefined : this.news(`${tool}\n${result}`))
    );
  }

  private nearEqual(call: Call, failed: boolean): Finding | undefined {
    const [first] = this.failing;
    const belongs = first === undefined || (first.tool === call.tool && similarity(first.pairs, call.pairs) >= 0.5);
    if (!failed) this.failing = [];
    else this.failing = belongs ? [...this.failing, call] : [call];
    const isMet = this.failing.length >= this.settings.nearEqual && new Set(this.failing.map(({ key }) => key)).size > 1;
    return this.judge(
      'near-equal-failures',
      isMet,
      `The last ${this.failing.length} calls of ${call.tool} were nearly the same, and all failed. Do not try once more with other words: read the errors, do something else, or say what cannot be done.`,
    );
  }

  private sameCall({ key, tool }: Call, result: string): Finding | undefined {
    this.same = this.last?.key === key && this.last.result === result ? this.same + 1 : 1;
    this.last = { key, result };
    return this.judge(
      'same-calls',
      this.same >= this.settings.sameCalls,
      `${tool} was called ${this.same} times in a row with the same input, and gave the same result. It will not give another: do something else, or answer with what you have.`,
    );
  }

  private streak(failed: boolean): Finding | undefined {
    this.errors = failed ? this.errors + 1 : 0;
    return this.judge(
      'errors',
      this.errors >= this.settings.errors,
      `The last ${this.errors} calls failed. Do something else, or say what cannot be done.`,
    );
  }

  private news(result: string): Finding | undefined {
    this.stale = this.seen.has(result) ? this.stale + 1 : 0;
    this.seen.add(result);
    return this.judge(
      'nothing-new',
      this.stale >= this.settings.nothingNew,
      `The last ${this.stale} results had all been seen before. Answer with what you have, or look elsewhere.`,
    );
  }

  /** Found once; again only after it was over. */
  private judge(sign: StuckSign, isMet: boolean, reason: string): Finding | undefined {
    if (!isMet) {
      this.told.delete(sign);
      return undefined;
    }
    if (this.told.has(sign)) return undefined;
    this.told.add(sign);
    const { onStuck } = this.settings;
    return { sign, reason, then: onStuck === 'nudge' ? 'note' : onStuck };
  }

  private signal(sign: StuckSign, reason: string): Finding | undefined {
    if (this.told.has(sign)) return undefined;
    this.told.add(sign);
    return { sign, reason };
  }
}
