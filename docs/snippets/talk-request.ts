// #region request
import type { JsonObject, Message, ModelEvent, ModelRequest, ModelSettings, ToolMessage } from '@guardloop/core/model';
import { answerInWords, GuardloopError, OpenCalls, wellFormed, wireName } from '@guardloop/core/model';

/** A made-up API: `POST /talk` with turns; what tools gave stands behind the turn that called them, in its order. */
export interface TalkBody {
  readonly model: string;
  readonly system?: string;
  readonly turns: readonly JsonObject[];
  readonly tools?: readonly JsonObject[];
  readonly choose?: 'any' | 'none' | { readonly name: string };
  readonly most?: number;
  readonly heat?: number;
}

export const provider = 'talk';
type Warning = Extract<ModelEvent, { type: 'warning' }>;
const warning = (about: string, message: string, item?: string): Warning => ({ type: 'warning', about, message, ...(item && { item }) });

/** Makes the requests of one model. An item is encoded once in its life, and warned about then. */
export class Requests {
  readonly #model: string;
  readonly #forms = new WeakMap<Message, JsonObject>();

  constructor(model: string) {
    this.#model = model;
  }

  make(request: ModelRequest): { readonly body: TalkBody; readonly warnings: readonly Warning[] } {
    const warnings: Warning[] = [];
    const { tools, toolChoice = 'auto', settings } = request;
    const system = [request.system, ...(request.output ? [answerInWords(request.output.schema)] : [])].join('\n').trim();
    const choose = toolChoice === 'required' ? 'any' : typeof toolChoice === 'object' ? { name: wireName(toolChoice.tool) } : toolChoice;
    const body: TalkBody = {
      ...settings.extra?.[provider],
      model: this.#model,
      ...(system && { system: wellFormed(system) }),
      turns: [...this.#turns(request.messages, warnings), ...(request.note ? [{ who: 'user', text: wellFormed(request.note) }] : [])],
      ...(tools.length > 0 && {
        tools: tools.map(({ name, description, schema }) => wellFormed({ name: wireName(name), about: description, schema })),
        ...(choose !== 'auto' && { choose }),
      }),
      ...(settings.maxTokens !== undefined && { most: settings.maxTokens }),
      ...(settings.temperature !== undefined && { heat: settings.temperature }),
    };
    return { body, warnings: [...settingsLeftOut(settings), ...warnings] };
  }

  #turns(messages: readonly Message[], warnings: Warning[]): JsonObject[] {
    const turns: JsonObject[] = [];
    const calls = new OpenCalls(); // throws where a call has no result, or a result no call
    let results: JsonObject[] = [];
    for (const message of messages) {
      const form = this.#form(message, warnings);
      if (message.role === 'tool') {
        results[calls.answer(message)] = form;
        if (!calls.areWaiting) turns.push({ who: 'tools', results });
        continue;
      }
      if (message.role === 'assistant') calls.open(message);
      else calls.close();
      results = [];
      turns.push(form);
    }
    calls.close();
    return turns;
  }

  #form(message: Message, warnings: Warning[]): JsonObject {
    const known = this.#forms.get(message);
    if (known !== undefined) return known;
    const form = encode(message, warnings);
    this.#forms.set(message, form);
    return form;
  }
}

function encode(message: Message, warnings: Warning[]): JsonObject {
  if (message.role === 'user') return wellFormed({ who: 'user', text: textOf(message.parts, message.id, warnings) });
  if (message.role === 'tool') {
    const text = [textOf(message.content, message.id, warnings), ...(message.note ? [message.note] : [])].join('\n');
    return wellFormed({ text, ...(message.isError && { failed: true }) });
  }
  const { native } = message;
  if (native?.provider === provider && isTurn(native.message, message.calls.length)) return native.message; // as it came
  if (native !== undefined) warnings.push(warning('native', `A message of ${native.provider} was said in neutral words.`, message.id));
  const calls = message.calls.map(({ name, input }) => ({ name: wireName(name), input: JSON.stringify(wellFormed(input)) }));
  return { who: 'model', text: wellFormed(message.text), calls };
}

function textOf(content: ToolMessage['content'], item: string, warnings: Warning[]): string {
  if (typeof content === 'string') return content;
  if (content.some(({ type }) => type !== 'text')) warnings.push(warning('part', 'This API takes text only: a part was left out.', item));
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type} left out]`)).join('\n');
}

/** What is read from a log may be anything. */
function isTurn(value: unknown, calls: number): value is JsonObject {
  const { who, text, calls: made } = (value ?? {}) as { who?: unknown; text?: unknown; calls?: unknown };
  return who === 'model' && typeof text === 'string' && Array.isArray(made) && made.length === calls;
}

/** What this API lacks: refused where leaving it out would lift a bound, warned about otherwise. */
function settingsLeftOut(settings: ModelSettings): readonly Warning[] {
  const { stopSequences, reasoning } = settings;
  if (stopSequences !== undefined || typeof reasoning === 'object')
    throw new GuardloopError('CONFIG_INVALID', 'The talk API has neither stopSequences nor a bound on reasoning. Leave them out.');
  return (['topP', 'parallelToolCalls', 'reasoning', 'seed', 'metadata'] as const)
    .filter((name) => settings[name] !== undefined)
    .map((name) => warning('setting', `settings.${name} was left out: the talk API does not have it.`));
}
// #endregion
