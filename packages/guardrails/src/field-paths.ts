// Paths of a type, for the compiler: `orders[].total`.

type Depth = readonly 0[];
type Deepest = 6;
type Join<P extends string, K extends string> = P extends '' ? K : `${P}.${K}`;
type Opaque = string | number | boolean | bigint | symbol | null | undefined | Date | ((...given: never[]) => unknown);
type PathsBelow<T, P extends string, D extends Depth> = D['length'] extends Deepest
  ? never
  : T extends Opaque
    ? never
    : T extends readonly (infer E)[]
      ? `${P}[]` | PathsBelow<E, `${P}[]`, [...D, 0]>
      : { [K in keyof T & string]: Join<P, K> | PathsBelow<T[K], Join<P, K>, [...D, 0]> }[keyof T & string];

/** The paths of the fields of a type, lists by `[]`. Any text where nothing is known of it. */
export type FieldPathOf<T> = unknown extends T ? string : PathsBelow<T, '', []>;

type Part<T, H extends string> = H extends `${infer K}[]`
  ? Part<T, K> extends infer L
    ? NonNullable<L> extends readonly (infer E)[]
      ? E
      : unknown
    : never
  : T extends Opaque
    ? never
    : H extends keyof T
      ? T[H]
      : never;
/** The value at a path of a type, where it is not missing. */
export type FieldAt<T, P extends string> = unknown extends T
  ? unknown
  : P extends `${infer H}.${infer R}`
    ? FieldAt<NonNullable<Part<NonNullable<T>, H>>, R>
    : NonNullable<Part<NonNullable<T>, P>>;
