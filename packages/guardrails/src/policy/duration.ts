import type { Place } from './fault.js';
import { fault, told } from './fault.js';

const longestMs = 366 * 86_400_000;

/** Milliseconds of a duration as ISO 8601 writes it, without years and months, whose length is not fixed. Throws CONFIG_INVALID. */
export function readDuration(given: unknown, place: Place): number {
  const parts =
    typeof given === 'string' && given.length <= 40 ? /^P(?:(\d+)W|(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?)$/.exec(given) : null;
  const [, weeks, days, hours, minutes, seconds] = (parts ?? []).map((part) => Number(part ?? 0));
  const total = (((((weeks ?? 0) * 7 + (days ?? 0)) * 24 + (hours ?? 0)) * 60 + (minutes ?? 0)) * 60 + (seconds ?? 0)) * 1_000;
  if (!parts || String(given).endsWith('T') || !(total > 0 && total <= longestMs))
    fault(place, `${told(given)} is neither run nor a duration of at most 366 days such as PT30S, PT1H, P1D or P1W (no years, no months).`);
  return total;
}
