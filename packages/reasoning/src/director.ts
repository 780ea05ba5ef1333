import type { Agent, Answer, Guardrail, Tool } from '@guardloop/core';
import { defineAgent, defineMode } from '@guardloop/core';
import type { JsonObject, JsonValue, Message, Model, ModelEvent, ModelRequest, ToolMessage } from '@guardloop/core/model';
import { checkOptionNames, GuardloopError, optionFault } from '@guardloop/core/model';
import type { $ZodType } from 'zod/v4/core';

/** A call that a director has made, and its result. */
export interface DoneCall {
  readonly tool: string;
  /** The answer that made it: calls of one answer have the same number. */
  readonly answer: number;
  readonly input: JsonObject;
  /** What came of it, as the director sees it. */
  readonly text: string;
  readonly isError: boolean;
}
/** All that a director decides from. */
export interface Situation {
  /** The text of what it was told last by a person, a parent or a handoff. */
  readonly task: string;
  /** What was said since then to the running run, and how many calls had been made by then. */
  readonly said: readonly { readonly text: string; readonly after: number }[];
  /** Since then, in order. */
  readonly calls: readonly DoneCall[];
}
/** What a director does next. `why` holds no outside value. */
export type Move =
  | { readonly kind: 'call'; readonly thought: string; readonly calls: readonly { readonly name: string; readonly input: JsonObject }[] }
  | { readonly kind: 'answer'; readonly thought: string; readonly answer: JsonValue }
  | { readonly kind: 'giveUp'; readonly why: string };

/** What the agents of this package that direct others take alike. */
export interface DirectorOptions<C, N extends string, O> {
  /** Of the agent that comes of it. */
  readonly name: N;
  readonly description?: string | undefined;
  /** Of the agent that comes of it: on the task, on its calls and their results, and on the last answer. */
  readonly guardrails?: readonly Guardrail<C>[] | undefined;
  /** The answer's schema. Default: text. */
  readonly output?: $ZodType<O> | undefined;
}
const optionNames: { readonly [K in keyof DirectorOptions<unknown, string, unknown>]-?: true } = {
  name: true,
  description: true,
  guardrails: true,
  output: true,
};

/** Throws CONFIG_INVALID for options that are none: `own` are those of `where` beside those of every director. */
export function checkOptions(where: string, given: object, own: Readonly<Record<string, true>>): void {
  checkOptionNames(where, given, { ...own, ...optionNames });
}

/** Throws CONFIG_INVALID for an option that is given and of another kind. */
export function checkKind(where: string, given: Readonly<Record<string, unknown>>, kind: 'boolean' | 'function'): void {
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined && typeof value !== kind)
      throw optionFault(where, `${name} is no ${kind}. Give ${kind === 'boolean' ? 'true or false' : 'a function'}, or leave it out.`);
  }
}

interface Directing<C, N extends string, O> extends DirectorOptions<C, N, O> {
  /** Names the way of working: in logs, and as the id of the model. */
  readonly way: string;
  readonly tools: readonly Tool<C>[];
  /** Of a run that starts at the agent and has no limit of its own. */
  readonly turns: number;
  /** Pure: of the same situation it makes the same move, so that a run that was cut goes on as it would have. */
  readonly next: (situation: Situation) => Move;
}

/**
 * An agent whose model is a function of what it sees: it calls its tools in an order of its own, and answers. All else is as with any agent:
 * guardrails, limits, approvals, log. The model of a run's options does not take its place. Throws CONFIG_INVALID.
 */
export function defineDirector<C, N extends string, O>({
  way,
  tools,
  turns,
  next,
  ...options
}: Directing<C, N, O>): Agent<C, Answer<N, O>> {
  const model = directorModel(way, { next, isText: options.output === undefined });
  const define = defineAgent as unknown as (def: object) => Agent<C, Answer<N, O>>;
  return define({ ...options, instructions: '', model, tools, mode: defineMode({ name: way, turns, model: () => model }) });
}

interface Deciding {
  readonly next: (situation: Situation) => Move;
  readonly isText: boolean;
}

const stop = 'final_answer';
/** It asks nobody. */
const usage = Object.freeze({ requests: 0, inputTokens: 0, outputTokens: 0, cost: 0 });

function directorModel(way: string, { next, isText }: Deciding): Model {
  return {
    id: way,
    provider: 'guardloop',
    async *stream(request): AsyncGenerator<ModelEvent> {
      const situation = situationOf(request, way);
      if (request.toolChoice === 'none') {
        yield { type: 'text.delta', text: whatThereIs(situation) };
        yield { type: 'end', stopReason: 'stop', usage };
        return;
      }
      const move = next(situation);
      if (move.kind === 'giveUp')
        throw new GuardloopError('MODEL_FAILED', `Agent ${request.agent} (${way}) gave up: ${move.why}.`, {
          details: { gaveUp: true, usage },
        });
      yield { type: 'text.delta', text: move.thought };
      if (move.kind === 'call') for (const call of move.calls) yield { type: 'tool.call', call };
      else yield { type: 'tool.call', call: { name: stop, input: { answer: isText ? wordsOf(move.answer) : move.answer } } };
      yield { type: 'end', stopReason: 'tools', usage };
    },
  };
}

const wordsOf = (answer: JsonValue): string => (typeof answer === 'string' ? answer : JSON.stringify(answer));

/** At a limit: what the calls have given, and that it is not the whole. */
function whatThereIs({ calls }: Situation): string {
  const texts = calls.filter(({ isError }) => !isError).map(({ tool, text }) => `${tool}: ${text}`);
  return ['A limit was reached before the work was done. What there is:', ...(texts.length === 0 ? ['nothing'] : texts)].join('\n\n');
}

function situationOf({ agent, turn, messages, note }: ModelRequest, way: string): Situation {
  const from = messages.findLastIndex(startsStay);
  const first = messages[from];
  const results = new Map(messages.slice(from + 1).flatMap((each) => (each.role === 'tool' ? [[each.callId, each] as const] : [])));
  const calls: DoneCall[] = [];
  const said: { readonly text: string; readonly after: number }[] = [];
  let latest: number | undefined;
  for (const message of messages.slice(from + 1)) {
    if (message.role === 'user') {
      if (message.via !== 'user') throw hidden(agent, way);
      said.push({ text: textOf(message), after: calls.length });
    } else if (message.role === 'assistant' && message.agent === agent) {
      latest = Number(message.id.split('/').at(-1));
      for (const { id, name, input } of message.calls) calls.push(doneCall({ tool: name, answer: latest, input }, results.get(id)));
    }
  }
  // Answers are numbered; one that was refused leaves a note.
  const isFirst = latest === undefined && (turn === 1 || isHandoff(first));
  if (!isFirst && latest !== turn - 1 && note === undefined) throw hidden(agent, way);
  return { task: first === undefined ? '' : textOf(first), said, calls };
}

/** What a person says to the running run is numbered `s1`, `s2`, … and begins nothing. */
function startsStay(message: Message): boolean {
  if (message.role !== 'user') return false;
  return message.via === 'parent' || message.via === 'handoff' || (message.via === 'user' && !/\/s\d+$/.test(message.id));
}

const isHandoff = (message: Message | undefined): boolean => message?.role === 'user' && message.via === 'handoff';

const hidden = (agent: string, way: string): GuardloopError =>
  new GuardloopError(
    'CONFIG_INVALID',
    `Agent ${agent} works by ${way} and decides from its transcript, but a view of the run hides a part of that. Let the view give back all messages where info.agent is ${agent}.`,
  );

function doneCall(call: Pick<DoneCall, 'tool' | 'answer' | 'input'>, result: ToolMessage | undefined): DoneCall {
  return { ...call, text: result === undefined ? '' : textOf(result), isError: result?.isError ?? true };
}

function textOf(message: Message): string {
  if (message.role === 'assistant') return message.text;
  const parts = message.role === 'user' ? message.parts : message.content;
  return typeof parts === 'string' ? parts : parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** Throws CONFIG_INVALID for what is no whole number from `least`. */
export function checkCount(value: unknown, least: number, place: string): void {
  if (Number.isSafeInteger(value) && (value as number) >= least) return;
  throw new GuardloopError('CONFIG_INVALID', `${place} is no whole number from ${least}. Give one.`);
}

/** The value of a JSON text; undefined where it is none. */
export function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What an error observation says of its class, which is one of core's words. */
export function classOf(text: string): string {
  const value = readValue(text);
  const found = typeof value === 'object' && value !== null && 'error_class' in value ? value.error_class : undefined;
  return typeof found === 'string' && /^[a-z_]{1,20}$/.test(found) ? found : 'failed';
}
