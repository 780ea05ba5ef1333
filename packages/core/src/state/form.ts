// What a value that comes from outside must be like, and in words where it is not. Says nothing of what the value holds.

/** Where a value is not as expected: the place in it (empty for itself), and both in words. */
export interface FormFault {
  readonly path: string;
  readonly given: string;
  readonly expected: string;
}
/** Looks at a value; undefined where it is as expected. */
export type Form = (value: unknown) => FormFault | undefined;

const expecting =
  (expected: string, fits: (value: unknown) => boolean): Form =>
  (value) =>
    fits(value) ? undefined : { path: '', given: kindOf(value), expected };

/** What kind of value it is, never the value. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (typeof value === 'string') return 'a text';
  if (typeof value === 'number') return Number.isFinite(value) ? 'a number' : 'no finite number';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

export const text = expecting('a text', (value) => typeof value === 'string');
export const number = expecting('a number', Number.isFinite);
export const count: Form = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0
    ? undefined
    : { path: '', given: Number.isFinite(value) ? 'another number' : kindOf(value), expected: 'a whole number from 0' };
export const flag = expecting('true or false', (value) => typeof value === 'boolean');
export const json = expecting('a value', (value) => value !== undefined);
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const object = expecting('an object', isObject);

/** One of these words. */
export function oneOf(...words: readonly (string | boolean)[]): Form {
  const known: ReadonlySet<unknown> = new Set(words);
  const expected = words.length === 1 ? String(words[0]) : `one of ${words.join(', ')}`;
  return (value) =>
    known.has(value) ? undefined : { path: '', given: typeof value === 'string' ? 'another text' : kindOf(value), expected };
}

export const optional =
  (form: Form): Form =>
  (value) =>
    value === undefined ? undefined : form(value);

export const orNull =
  (form: Form): Form =>
  (value) =>
    value === null ? undefined : form(value);

export function listOf(form: Form): Form {
  return (value) => {
    if (!Array.isArray(value)) return { path: '', given: kindOf(value), expected: 'a list' };
    for (let index = 0; index < value.length; index += 1) {
      const fault = form(value[index]);
      if (fault) return within(`[${index}]`, fault);
    }
    return undefined;
  };
}

/** An object of whatever names, which are somebody's words and stand in no fault. */
export function recordOf(form: Form): Form {
  return (value) => {
    const fault = object(value);
    if (fault) return fault;
    for (const each of Object.values(value as object)) {
      const inner = form(each);
      if (inner) return within('[…]', inner);
    }
    return undefined;
  };
}

/** An object that has these fields; it may have others, which a later version may have added. */
export function fields(forms: Readonly<Record<string, Form>>): Form {
  const entries = Object.entries(forms);
  return (value) => {
    if (!isObject(value)) return { path: '', given: kindOf(value), expected: 'an object' };
    for (const [name, form] of entries) {
      const fault = form(value[name]);
      if (fault) return within(name, fault);
    }
    return undefined;
  };
}

/** Objects of several forms, told apart by the word in one of their fields. `otherwise`: the form where it is another word. */
export function byWord(name: string, forms: Readonly<Record<string, Form>>, otherwise?: Form): Form {
  const known = new Map(Object.entries(forms));
  const word = otherwise === undefined ? oneOf(...known.keys()) : text;
  return (value) => {
    if (!isObject(value)) return { path: '', given: kindOf(value), expected: 'an object' };
    const fault = word(value[name]);
    return fault ? within(name, fault) : (known.get(value[name] as string) ?? otherwise)?.(value);
  };
}

export const either =
  (fits: (value: unknown) => boolean, [yes, no]: readonly [Form, Form]): Form =>
  (value) =>
    fits(value) ? yes(value) : no(value);

export const all =
  (...forms: readonly Form[]): Form =>
  (value) => {
    for (const form of forms) {
      const fault = form(value);
      if (fault) return fault;
    }
    return undefined;
  };

function within(name: string, { path, ...rest }: FormFault): FormFault {
  const inner = path === '' || path.startsWith('[') ? path : `.${path}`;
  return { path: `${name}${inner}`, ...rest };
}
