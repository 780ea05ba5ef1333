import type { Place } from './fault.js';
import { at, entriesOf, fault, listAt, told } from './fault.js';
import type { Day } from './types.js';

const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const satisfies readonly Day[];
const minutesOfDay = 1_440;
const minuteMs = 60_000;

/** A window of the week, by the clock of a zone. */
export interface Window {
  readonly days: readonly Day[];
  /** Minutes from midnight. */
  readonly from: number;
  readonly to: number;
  readonly zone: string;
  readonly key: string;
  /** `now` in milliseconds since 1970. */
  isOpen(now: number): boolean;
}

function readClock(given: unknown, place: Place, most: number): number {
  const [, hours, minutes] = (typeof given === 'string' && /^(\d\d):(\d\d)$/.exec(given)) || [];
  const total = Number(hours) * 60 + Number(minutes);
  if (hours === undefined || Number(minutes) > 59 || total > most)
    fault(place, `${told(given)} is no time of day such as 09:00, in quotes.`);
  return total;
}

/** Minute of the local day, and day of the week from monday, of an instant. */
function localClock(zone: string, place: Place): (now: number) => { readonly day: number; readonly minute: number } {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  } catch {
    return fault(place, `${told(zone)} is no time zone that is known here. Give an IANA name such as Europe/Berlin, or UTC.`);
  }
  let last: { readonly minute: number; readonly clock: { readonly day: number; readonly minute: number } } | undefined;
  return (now) => {
    // A clock shows the same within a minute: zones are whole minutes apart.
    const minute = Math.floor(now / minuteMs);
    if (last?.minute === minute) return last.clock;
    const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, value]));
    const day = days.indexOf((parts.get('weekday') ?? '').toLowerCase() as Day);
    const clock = { day, minute: Number(parts.get('hour')) * 60 + Number(parts.get('minute')) };
    last = { minute, clock };
    return clock;
  };
}

/** Throws CONFIG_INVALID. */
export function readWindow(given: unknown, place: Place): Window {
  const entries = entriesOf(given, { place, names: ['days', 'from', 'to', 'zone'], what: 'part of a time window' });
  const zone = entries.get('zone');
  if (typeof zone !== 'string' || zone === '')
    fault(at(place, 'zone'), `${told(zone)} is no time zone. Say by which clock: Europe/Berlin, UTC.`);
  const named = entries.has('days') ? listAt(entries.get('days'), at(place, 'days'), days.length) : days;
  for (const [index, day] of named.entries()) {
    if (!days.includes(day as Day)) fault(at(at(place, 'days'), index), `${told(day)} is none of ${days.join(', ')}.`);
  }
  const from = entries.has('from') ? readClock(entries.get('from'), at(place, 'from'), minutesOfDay - 1) : 0;
  const to = entries.has('to') ? readClock(entries.get('to'), at(place, 'to'), minutesOfDay) : minutesOfDay;
  if (from === to) fault(place, 'from and to are the same time. Leave both out for the whole day.');
  const clockAt = localClock(zone, at(place, 'zone'));
  const open = new Set(named.map((day) => days.indexOf(day as Day)));
  const chosen = days.filter((_, index) => open.has(index));
  return {
    days: chosen,
    from,
    to,
    zone,
    key: JSON.stringify([chosen, from, to, zone]),
    isOpen(now) {
      const { day, minute } = clockAt(now);
      if (from < to) return open.has(day) && minute >= from && minute < to;
      // Over midnight: what is left of the window that began the day before.
      return (open.has(day) && minute >= from) || (open.has((day + days.length - 1) % days.length) && minute < to);
    },
  };
}

const said = (minutes: number): string => `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
export const windowWords = ({ days: of, from, to, zone }: Window): string =>
  `${of.length === days.length ? '' : `${of.join(', ')} `}${said(from)} to ${said(to)} in ${zone}`;
