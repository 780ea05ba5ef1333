import { GuardloopError } from '../errors.js';
import { eventForms, everyEvent, tellableForms } from './event-forms.js';
import type { Log, LogEvent } from './events.js';
import { kindOf } from './form.js';

/** The version of the log format that this package writes. */
export const logVersion = 1;

/** The events of a log, checked so far that a fold makes sense of them. Throws LOG_INVALID; says nothing of what the log holds. */
export function readLog(log: unknown, check?: EventCheck): readonly LogEvent[] {
  return readDamaged(() => readEvents(log, check));
}

function readEvents(log: unknown, check: EventCheck | undefined): readonly LogEvent[] {
  if (typeof log === 'string') {
    throw new GuardloopError('LOG_INVALID', 'The log is a text. Give it parsed, as it was in `result.log`: JSON.parse(text).');
  }
  const { version, events } = (typeof log === 'object' && log !== null ? log : {}) as { version?: unknown; events?: unknown };
  if (version !== logVersion) {
    throw new GuardloopError(
      'LOG_INVALID',
      `The log has the version ${typeof version === 'number' ? version : 'none'}; this package reads version ${logVersion}. Give \`result.log\`, or a session { store, id }.`,
    );
  }
  if (!Array.isArray(events)) throw new GuardloopError('LOG_INVALID', 'The log has no list of events. Give `result.log` as it was.');
  return readTail(events, 0, check);
}

/** Events that follow the first `before` of a log, checked like {@link readLog}. */
export function readTail(events: readonly unknown[], before: number, check?: EventCheck): readonly LogEvent[] {
  for (let index = 0; index < events.length; index += 1) {
    const expected = before + index + 1;
    const event = events[index];
    checkEvent(event, expected, check);
    const { seq } = event as LogEvent;
    if (seq !== expected)
      throw damagedEvent(
        expected,
        `its number is ${Number.isFinite(seq) ? seq : kindOf(seq)}. The log must hold every event, in order, as it was written.`,
      );
  }
  return events as readonly LogEvent[];
}

/** How an event is looked at. */
export interface EventCheck {
  /** Left out: a type that this version does not know is a fault. `listed`: it has what every event has. `watched`: it need not be of a log. */
  readonly unknown?: 'listed' | 'watched' | undefined;
  /** Whether other words than this version knows are taken where one of a few stands: by who only tells what a log holds. */
  readonly words?: AssertLogOptions['words'];
}

/** Throws LOG_INVALID for what does not have the form of an event of its type. Its number is left to the caller. */
export function checkEvent(event: unknown, place: number, { unknown, words }: EventCheck = {}): void {
  if (typeof event !== 'object' || event === null) throw damagedEvent(place, `it is ${kindOf(event)}. ${asWritten}`);
  const { type } = event as { readonly type?: unknown };
  if (typeof type !== 'string') throw damagedEvent(place, `its type is ${kindOf(type)}. ${asWritten}`);
  const own = (words === 'any' ? tellableForms : eventForms).get(type);
  if (own === undefined && unknown === undefined)
    throw damagedEvent(
      place,
      'it has a type that this version does not know. Read the log with the version that wrote it, and leave out events that are only watched.',
    );
  if (own === undefined && unknown === 'watched') return;
  const fault = everyEvent(event) ?? own?.(event);
  if (fault)
    throw damagedEvent(place, `\`${fault.path}\` is ${fault.given}, and ${fault.expected} was expected. ${asWritten}`, own && type);
}

export const asWritten = 'Give the log as it was written.';

/** `type`: one that is known, since it stands in the message. */
export function damagedEvent(place: number, what: string, type?: string): GuardloopError {
  const named = type === undefined ? `Event ${place} of the log` : `Event ${place} of the log (${type})`;
  return new GuardloopError('LOG_INVALID', `${named} is damaged: ${what}`, { details: { event: place } });
}

/** Options of {@link assertLog}. */
export interface AssertLogOptions {
  /**
   * `any`: where one of a few words stands (a status, a surface, an action), others are taken too. For programs that only tell what a log holds,
   * also of a later version. Default `known`.
   */
  readonly words?: 'known' | 'any' | undefined;
}

/**
 * Throws LOG_INVALID unless this is a whole log: of a version that this package reads, with every event from the first on, in order, each in
 * the form of its type. The message names the event and the field, and nothing that the log holds.
 */
export function assertLog(log: unknown, options: AssertLogOptions = {}): asserts log is Log {
  readLog(log, { words: options.words });
}

/** What a log comes to. Throws LOG_INVALID where reading it throws anything else than a GuardloopError: an event of it is damaged. */
export function readDamaged<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw GuardloopError.is(thrown) ? thrown : damagedLog();
  }
}

export function damagedLog(): GuardloopError {
  return new GuardloopError(
    'LOG_INVALID',
    'An event of the log is damaged: something in it is missing or has another form. The log must hold every event, in order, as it was written.',
  );
}
