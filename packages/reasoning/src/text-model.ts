import type {
  AssistantMessage,
  Message,
  Model,
  ModelEvent,
  ModelRequest,
  StreamOptions,
  ToolMessage,
  ToolSpec,
  UserMessage,
} from '@guardloop/core/model';
import type { TextStep } from './text-form.js';
import { hasForm, readTextStep, writeAction } from './text-form.js';

/** So that the model cannot write its own observations. */
const stopSequence = '\nObservation';

/**
 * A model without calls of its own, as one that has them: calls and results are written as text in the ReAct form, and one action is read
 * from each answer. What is in no such form is a misfit, which the loop tells the model and counts in `limits.repairs`. The tools and the
 * form stand in the instructions, which the mode writes.
 */
export function textModel(model: Model, stop: string): Model {
  const written = new WeakMap<Message, readonly Message[]>();
  return {
    id: model.id,
    provider: model.provider,
    stream: (request, options) => readTurn(model, { request, options, stop, messages: writeAll(request.messages, { written, stop }) }),
  };
}

interface Turn {
  readonly request: ModelRequest;
  readonly options: StreamOptions;
  readonly stop: string;
  readonly messages: readonly Message[];
}

async function* readTurn(model: Model, { request, options, stop, messages }: Turn): AsyncGenerator<ModelEvent> {
  const { toolChoice, tools, ...rest } = request;
  const stopSequences = [...(request.settings.stopSequences ?? []), stopSequence];
  let text = '';
  for await (const event of model.stream({ ...rest, messages, tools: [], settings: { ...request.settings, stopSequences } }, options)) {
    if (event.type === 'text.delta') text += event.text;
    else if (event.type === 'end') {
      const { native: _, ...end } = event;
      // Of an answer that was cut or refused nothing is read.
      if (end.stopReason === 'length' || end.stopReason === 'refusal') yield end;
      else yield* eventsOf(text, { end, tools, stop, isLast: toolChoice === 'none' });
    } else if (event.type !== 'tool.call' && event.type !== 'tool.delta') yield event;
  }
}

interface Reading {
  readonly end: Extract<ModelEvent, { type: 'end' }>;
  readonly tools: readonly ToolSpec[];
  readonly stop: string;
  /** No call may be made: what the text says is the answer. */
  readonly isLast: boolean;
}

function* eventsOf(text: string, { end, tools, stop, isLast }: Reading): Generator<ModelEvent> {
  if (text.trim() === '') {
    yield end;
    return;
  }
  const step = readTextStep(text, { tools, stop });
  if (isLast) {
    // Words in no form are an answer; a form that holds none is shown to nobody.
    const answer = answerOf(step) ?? (hasForm(text) ? undefined : text);
    if (answer !== undefined) yield { type: 'text.delta', text: answer };
    yield answer === undefined ? { ...end, misfit: step.kind === 'misfit' ? step.misfit : 'it calls a tool instead of answering' } : end;
    return;
  }
  if (step.kind === 'misfit') {
    yield { ...end, misfit: step.misfit };
    return;
  }
  if (step.thought !== '') yield { type: 'text.delta', text: step.thought };
  if (step.kind !== 'thought') yield { type: 'tool.call', call: { name: step.kind === 'stop' ? stop : step.name, input: step.input } };
  yield { ...end, stopReason: step.kind === 'thought' ? 'stop' : 'tools' };
}

function answerOf(step: TextStep): string | undefined {
  if (step.kind === 'thought') return step.thought;
  if (step.kind !== 'stop') return undefined;
  const { answer } = step.input;
  return typeof answer === 'string' ? answer : JSON.stringify(answer ?? step.input);
}

interface Writing {
  /** An item is written once in its life. */
  readonly written: WeakMap<Message, readonly Message[]>;
  readonly stop: string;
}

function writeAll(messages: readonly Message[], { written, stop }: Writing): readonly Message[] {
  const all: Message[] = [];
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined) continue;
    if (message.role === 'user') {
      all.push(message);
      continue;
    }
    if (message.role === 'tool') continue;
    const results = messages.slice(index + 1, index + 1 + message.calls.length) as readonly ToolMessage[];
    // Whether text is a thought or an answer, what follows it says: that cannot be kept by item.
    const known = message.calls.length > 0 ? written.get(message) : undefined;
    const made = known ?? (message.calls.length > 0 ? writeCalls(message, results) : [writeText(message, messages[index + 1], stop)]);
    if (known === undefined && message.calls.length > 0) written.set(message, made);
    all.push(...made);
  }
  return all;
}

const withText = ({ role, id, agent, label }: AssistantMessage, part: string, text: string): AssistantMessage => ({
  role,
  id: `${id}${part}`,
  agent,
  text,
  calls: [],
  label,
});

/** An answer ends a run: the next item is a person's, or there is none. */
function writeText(message: AssistantMessage, next: Message | undefined, stop: string): AssistantMessage {
  return withText(message, '/text', next?.role === 'user' ? `Action: ${stop}[${message.text}]` : `Thought: ${message.text}`);
}

/** Each call, and after it its observation. */
function writeCalls(message: AssistantMessage, results: readonly ToolMessage[]): readonly Message[] {
  return message.calls.flatMap((call, index): readonly Message[] => {
    const thought = index === 0 && message.text !== '' ? `Thought: ${message.text}\n` : '';
    const result = results.find(({ callId }) => callId === call.id);
    const action = withText(message, `/${index}`, thought + writeAction(call.name, call.input));
    return result === undefined ? [action] : [action, observation(result)];
  });
}

function observation({ id, content, note, label }: ToolMessage): UserMessage {
  const after = note === undefined ? '' : `\n${note}`;
  const parts =
    typeof content === 'string'
      ? [{ type: 'text' as const, text: `Observation: ${content}${after}` }]
      : [
          { type: 'text' as const, text: 'Observation:' },
          ...content,
          ...(after === '' ? [] : [{ type: 'text' as const, text: after.slice(1) }]),
        ];
  return { role: 'user', id: `${id}/text`, via: 'developer', parts, label };
}
