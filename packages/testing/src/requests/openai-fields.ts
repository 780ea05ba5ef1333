// Reading of values that are not trusted to have any shape, for the checks of OpenAI requests.

export type Fields = Readonly<Record<string, unknown>>;

/** Collects what is wrong; every finding starts with the place in the body. */
export type Report = (place: string, what: string) => void;

/** A place in a body, and where its faults go. */
export interface Where {
  readonly place: string;
  readonly report: Report;
}

export const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;

export function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

export function isBase64(data: unknown): boolean {
  return typeof data === 'string' && data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}

/** True for the JSON text of an object. */
export function isObjectText(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  try {
    return fieldsOf(JSON.parse(text)) !== undefined;
  } catch {
    return false;
  }
}

/** The API refuses fields that it does not know, at every depth. A field that is `undefined` is not sent. */
export function checkFieldNames(fields: Fields, known: readonly string[], { place, report }: Where): void {
  for (const name of Object.keys(fields)) {
    if (!known.includes(name) && fields[name] !== undefined) report(`${place}.${name}`, 'is no parameter of the API');
  }
}

/** A lone surrogate anywhere in the body: strict JSON readers refuse it. */
export function checkSurrogates(value: unknown, place: string, report: Report): void {
  if (typeof value === 'string') {
    if (/\p{Surrogate}/u.test(value)) report(place, 'holds a lone surrogate');
    else if (/(^|\.)arguments$/.test(place) && isObjectText(value)) checkSurrogates(JSON.parse(value), `${place} (parsed)`, report);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [key, entry] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${place}[${key}]` : place === '' ? key : `${place}.${key}`;
    if (/\p{Surrogate}/u.test(key)) report(place, 'has a key with a lone surrogate');
    checkSurrogates(entry, at, report);
  }
}
