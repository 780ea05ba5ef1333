import { checkSettings } from '../define/agent-settings.js';
import { coverageOf } from '../define/coverage.js';
import { guardrailSpecOf } from '../define/definition.js';
import { DefinitionReader, describe, invalid, isList, isName, property, readable } from '../define/definition-reader.js';
import { readGuardrails } from '../define/guardrail.js';
import type { AgentSpec, GuardrailSpec, ProjectFunction } from '../define/specs.js';
import { suggest } from '../errors.js';
import type { Clock } from '../model/clock.js';
import { systemClock } from '../model/clock.js';
import type { AssistantMessage, Label, Model, Part, UserMessage } from '../model/types.js';
import type { LimitName, RunEvent } from '../state/events.js';
import { readSigning } from './approval-keys.js';
import type { Settings } from './handle.js';
import { deepFreeze } from './plain-output.js';
import type { HistoryItem, Observer, QuarantineStore, SessionReference, View } from './types.js';

const shared = [
  'context',
  'limits',
  'onLimit',
  'guardrails',
  'strict',
  'release',
  'reasoning',
  'quarantine',
  'approvals',
  'standing',
  'project',
  'view',
  'observers',
  'signal',
  'concurrency',
  'model',
  'settings',
  'clock',
] as const;
const ofRun = [...shared, 'session', 'history', 'unfinished', 'runId'] as const;
const ofResume = [...shared, 'decisions', 'accept', 'input', 'history'] as const;
const defaultConcurrency = 8;
type Name = (typeof ofRun)[number] | (typeof ofResume)[number];

/** What a door was given, read once and checked. */
export interface Options {
  readonly context: unknown;
  readonly limits: { readonly [K in LimitName]?: number | undefined } | undefined;
  readonly onLimit: 'stop' | 'finalize' | undefined;
  readonly guards: readonly GuardrailSpec[];
  readonly observers: readonly Observer[];
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly session: SessionReference | undefined;
  readonly history: readonly HistoryItem[];
  readonly isAbandoning: boolean;
  readonly runId: string | undefined;
  readonly decisions: unknown;
  readonly accept: 'same' | 'changed' | undefined;
  readonly input: unknown;
}

/** Reads the options of `run`, `stream` or `resume`. Throws CONFIG_INVALID. */
export function readOptions(door: 'run' | 'stream' | 'resume', given: unknown, agent: AgentSpec | undefined): Options {
  return readable(`An option of ${door}`, () => readAll(door, given, agent));
}

function readAll(door: 'run' | 'stream' | 'resume', given: unknown, agent: AgentSpec | undefined): Options {
  const names: readonly Name[] = door === 'resume' ? ofResume : ofRun;
  const reader = new DefinitionReader<Name>({ place: `The call of ${door}` }, given ?? {}, names);
  const guards = guardsOf(reader.get('guardrails'));
  if (reader.flag('strict') && agent) refuseGaps(agent, guards);
  const concurrency = reader.has('concurrency') ? reader.get('concurrency') : defaultConcurrency;
  if (
    typeof concurrency !== 'number' ||
    !(concurrency >= 1) ||
    (!Number.isInteger(concurrency) && concurrency !== Number.POSITIVE_INFINITY)
  )
    reader.refuse('concurrency', 'Give a whole number from 1.');
  const signal = reader.get('signal');
  if (signal !== undefined && typeof property(signal, 'addEventListener') !== 'function')
    reader.refuse('signal', 'Give an AbortSignal, or leave it out.');
  const settings = reader.get('settings');
  const runId = reader.get('runId');
  if (runId !== undefined && (!isName(runId) || runId.includes('/')))
    reader.refuse('runId', 'Give a text without / and control characters, or leave it out.');
  return {
    context: reader.get('context'),
    limits: ownLimits(reader.get('limits')),
    onLimit: reader.choice('onLimit', ['stop', 'finalize']),
    guards,
    observers: readObservers(reader.list('observers')),
    signal: signal as AbortSignal | undefined,
    clock: readClock(reader.get('clock')),
    settings: {
      release: reader.choice('release', ['checked', 'live']) ?? 'checked',
      reasoning: reader.choice('reasoning', ['hide', 'show']) ?? 'hide',
      project: reader.function<ProjectFunction>('project'),
      view: reader.function<View<never>>('view'),
      quarantine: withMethods<QuarantineStore>(reader.get('quarantine'), 'quarantine', ['put', 'get', 'delete']),
      signer: readSigning(reader.get('approvals')),
      ignoresStanding: reader.choice('standing', ['use', 'ignore']) === 'ignore',
      concurrency: concurrency as number,
      model: withMethods<Model>(reader.get('model'), 'model', ['stream']),
      ofModel: settings === undefined ? undefined : checkSettings(settings, 'The run'),
    },
    session: readSession(reader.get('session')),
    history: readHistory(reader.list('history')),
    isAbandoning: reader.choice('unfinished', ['abandon']) === 'abandon',
    runId: runId as string | undefined,
    decisions: reader.get('decisions'),
    accept: reader.choice('accept', ['same', 'changed']),
    input: reader.get('input'),
  };
}

const noGuards: readonly GuardrailSpec[] = Object.freeze([]);
const readLists = new WeakMap<object, readonly GuardrailSpec[]>();

function guardsOf(given: unknown): readonly GuardrailSpec[] {
  if (given === undefined) return noGuards;
  if (!isList(given)) return invalid(`The option \`guardrails\` is ${describe(given)}. Give a list of guardrails.`);
  const known = readLists.get(given);
  if (
    known &&
    known.length === given.length &&
    known.every((spec, index) => spec === guardrailSpecOf(given[index], 'An entry of the option `guardrails`'))
  )
    return known;
  const specs = Object.freeze(readGuardrails(given, 'the run'));
  readLists.set(given, specs);
  return specs;
}

/** Refuses a run where a surface has no guardrail, or a tool runs at the provider. */
function refuseGaps(agent: AgentSpec, guards: readonly GuardrailSpec[]): void {
  const gaps = coverageOf(agent, guards).flatMap((entry) =>
    entry.unguarded.map(
      (surface) =>
        `${entry.agent}${entry.tool === undefined ? '' : ` > ${entry.tool}`}${entry.isProviderTool ? ' (runs at the provider)' : ''}: ${surface}`,
    ),
  );
  if (gaps.length > 0)
    invalid(
      `The run is strict, and these surfaces have no guardrail: ${gaps.join('; ')}. Add guardrails that stand there (coverage() lists all), or leave \`strict\` out.`,
    );
}

/** Each read once; what is no object is told so by those who check it. */
function ownLimits(given: unknown): Options['limits'] {
  return (typeof given === 'object' && given !== null ? { ...given } : given) as Options['limits'];
}

function withMethods<T>(given: unknown, name: string, methods: readonly string[]): T | undefined {
  if (given === undefined) return undefined;
  const isFit = typeof given === 'object' && methods.every((method) => typeof property(given, method) === 'function');
  return isFit ? (given as T) : invalid(`The option \`${name}\` is ${describe(given)}. Give an object with ${methods.join(', ')}.`);
}

/** All events that an observer can ask for by name. */
const eventTypes = Object.keys({
  'run.start': true,
  'run.resume': true,
  'guard.verdict': true,
  'input.accept': true,
  'model.start': true,
  'model.end': true,
  'approval.request': true,
  'approval.resolve': true,
  'tool.start': true,
  'tool.end': true,
  handoff: true,
  'handoff.refused': true,
  'monitor.alert': true,
  'run.end': true,
  'turn.start': true,
  'text.delta': true,
  'text.retract': true,
  'reasoning.delta': true,
  'tool.delta': true,
  'tool.progress': true,
  'model.retry': true,
  'guard.breaker': true,
  'model.warning': true,
  'run.wait': true,
  'observer.error': true,
} satisfies Record<RunEvent['type'], true>);

function readObservers(given: readonly unknown[]): readonly Observer[] {
  return given.map((observer) => {
    if (typeof observer === 'function') return observer as Observer;
    if (typeof observer !== 'object' || observer === null || isList(observer))
      return invalid(
        `An entry of the option \`observers\` is ${describe(observer)}. Give a function, or an object of functions by event type.`,
      );
    return readListeners(observer);
  });
}

/** Functions by event type. What would never be called is no observer. */
function readListeners(observer: object): Observer {
  const listeners = { ...observer };
  for (const [type, listener] of Object.entries(listeners)) {
    if (!eventTypes.includes(type))
      invalid(
        `An observer asks for ${describe(type)}, which is no event. ${suggest(type, eventTypes)}The events are ${eventTypes.join(', ')}. Give a function to see all of them.`,
      );
    if (listener !== undefined && typeof listener !== 'function')
      invalid(`An observer has ${describe(listener)} for ${type}. Give a function of the event, or leave it out.`);
  }
  const made: unknown = Object.getPrototypeOf(observer);
  if (made !== null && made !== Object.prototype && Object.keys(listeners).length === 0)
    invalid(
      'An observer is an object of a class, whose methods are not looked at. Give a function, or a plain object of functions by event type.',
    );
  return listeners as Observer;
}

function readClock(given: unknown): Clock {
  return withMethods<Clock>(given, 'clock', ['now', 'after']) ?? systemClock;
}

const sessionNames = ['store', 'id', 'onConflict', 'waitMs'] as const;

export function readSession(given: unknown): SessionReference | undefined {
  if (given === undefined) return undefined;
  const store = property(given, 'store');
  if (store === undefined)
    invalid(
      `The option \`session\` is ${describe(given)} without a \`store\`. Give { store, id }, for example { store: memorySession(), id: 'chat-1' }.`,
    );
  withMethods(store, 'session.store', ['load', 'append']);
  const reader = new DefinitionReader({ place: 'The option `session`' }, given, sessionNames);
  const id = reader.get('id');
  if (typeof id !== 'string' || id === '') reader.refuse('id', 'Give a text that is not empty.');
  const onConflict = reader.get('onConflict');
  if (onConflict !== undefined && onConflict !== 'fail' && onConflict !== 'queue')
    reader.refuse('onConflict', "Give 'fail' or 'queue', or leave it out.");
  const waitMs = reader.get('waitMs');
  if (waitMs !== undefined && (typeof waitMs !== 'number' || !(waitMs >= 0)))
    reader.refuse('waitMs', 'Give milliseconds from 0, or leave it out.');
  if (waitMs !== undefined && onConflict !== 'queue')
    invalid("The option `session` has `waitMs` and does not queue. Add onConflict: 'queue', or leave `waitMs` out.");
  return { store, id, onConflict, waitMs } as SessionReference;
}

function readHistory(items: readonly unknown[]): readonly HistoryItem[] {
  return items.map((item) => {
    const { role, text } = (typeof item === 'object' && item !== null ? item : {}) as { role?: unknown; text?: unknown };
    if ((role === 'user' || role === 'assistant') && typeof text === 'string') return { role, text };
    return invalid(
      `An item of the option \`history\` has the role ${describe(role)} and a text that is ${typeof text}. Give { role: 'user' | 'assistant', text }: other roles, tool calls and results are not taken from elsewhere.`,
    );
  });
}

const user: Label = Object.freeze({ origin: 'user', integrity: 'trusted' });
const fromElsewhere: Label = Object.freeze({ origin: 'user', integrity: 'untrusted' });

/** The messages that a run begins with: history from elsewhere, then what the user says. Throws CONFIG_INVALID. */
export function readInput(
  input: unknown,
  history: readonly HistoryItem[],
  { run, agent }: { readonly run: string; readonly agent: string },
): readonly (UserMessage | AssistantMessage)[] {
  const parts = readable('The input of the run', () => readParts(input));
  const messages: (UserMessage | AssistantMessage)[] = history.map(({ role, text }, index) => {
    const id = `${run}/i${index + 1}`;
    return role === 'user'
      ? { role, id, via: 'session', parts: [{ type: 'text', text, label: fromElsewhere }], label: fromElsewhere }
      : { role, id, agent, text, calls: [], label: { origin: `agent:${agent}`, integrity: 'untrusted' } };
  });
  const label = parts.find((part) => part.label?.integrity === 'untrusted')?.label ?? user;
  messages.push({ role: 'user', id: `${run}/i${messages.length + 1}`, via: 'user', parts, label });
  return deepFreeze(messages);
}

function readParts(input: unknown): readonly Part[] {
  if (typeof input === 'string') return [{ type: 'text', text: input, label: user }];
  const expected =
    "Give a text, or a list of parts: { type: 'text', text }, { type: 'image', mediaType, data | url }, { type: 'file', mediaType, data | url }";
  if (!isList(input)) return invalid(`The input of the run is ${describe(input)}. ${expected}.`);
  if (input.length === 0) return invalid(`The input of the run is an empty list. ${expected}.`);
  return Array.from(input, (part) => {
    const given = (typeof part === 'object' && part !== null ? part : {}) as {
      type?: unknown;
      text?: unknown;
      data?: unknown;
      url?: unknown;
      mediaType?: unknown;
      name?: unknown;
      label?: unknown;
    };
    if ('role' in given)
      invalid(`A part of the run's input has a role. ${expected}; what was said before goes into the option \`history\`.`);
    const { type, text, data, url, mediaType, name } = given;
    const label = readLabel(given.label);
    if (type === 'text' && typeof text === 'string') return { type, text, label };
    const hasOne = (typeof data === 'string') !== (typeof url === 'string');
    if (
      (type === 'image' || type === 'file') &&
      hasOne &&
      (typeof mediaType === 'string' || (mediaType === undefined && type === 'image' && typeof url === 'string'))
    ) {
      return {
        type,
        ...(mediaType === undefined ? {} : { mediaType }),
        ...(typeof data === 'string' ? { data } : { url }),
        ...(type === 'file' && typeof name === 'string' ? { name } : {}),
        label,
      } as Part;
    }
    return invalid(`A part of the run's input has the type ${describe(type)} and does not fit. ${expected}.`);
  });
}

function readLabel(given: unknown): Label {
  if (given === undefined) return user;
  const { origin, integrity } = (typeof given === 'object' && given !== null ? given : {}) as { origin?: unknown; integrity?: unknown };
  if (typeof origin !== 'string' || (integrity !== 'trusted' && integrity !== 'untrusted'))
    return invalid("The label of an input part does not fit. Give { origin, integrity: 'trusted' | 'untrusted' }, or leave it out.");
  return { origin: origin as Label['origin'], integrity };
}
