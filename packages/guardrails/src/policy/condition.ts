// Conditions as they are asked: read from data, with nothing left to check.
import type { FieldPath } from './field-path.js';
import type { TestName } from './value-tests.js';
import type { Window } from './window.js';

/** What a call says by itself, beside its arguments. */
export type CallFact = 'effect' | 'results' | 'declared' | 'view' | 'call';
/** Which value, or which values, are looked at. */
export type Selector =
  | { readonly of: 'field' | 'every' | 'some' | 'context'; readonly path: FieldPath }
  | { readonly of: 'fact'; readonly fact: CallFact };
export type Reference = { readonly from: 'context' | 'field'; readonly path: FieldPath };
export interface TestNode {
  readonly kind: 'test';
  readonly path: string;
  readonly selector: Selector;
  readonly test: TestName;
  readonly operand: unknown;
  /** In the place of `operand`. */
  readonly reference: Reference | undefined;
  readonly ignoreCase: boolean;
}
/** A compiled expression of CEL. Throws where it cannot be evaluated. */
export type CelProgram = (variables: { readonly [name: string]: unknown }) => unknown;

export type Node =
  | { readonly kind: 'all'; readonly path: string; readonly of: readonly Node[] }
  | { readonly kind: 'any'; readonly path: string; readonly of: readonly Node[] }
  | { readonly kind: 'not'; readonly path: string; readonly of: Node }
  | TestNode
  | { readonly kind: 'present'; readonly path: string; readonly selector: Selector; readonly expected: boolean }
  | { readonly kind: 'reads'; readonly path: string; readonly of: boolean | readonly string[] }
  | { readonly kind: 'agent'; readonly path: string; readonly of: readonly string[] }
  | { readonly kind: 'only'; readonly path: string; readonly of: readonly string[] }
  | { readonly kind: 'during'; readonly path: string; readonly window: Window }
  | { readonly kind: 'cel'; readonly path: string; readonly source: string; readonly run: CelProgram };
