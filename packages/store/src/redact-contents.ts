import { GuardloopError } from '@guardloop/core';

/** Fields of events and approvals that can be left out whole, wherever they stand. */
export const leftOutFields = [
  'input',
  'content',
  'details',
  'value',
  'text',
  'parts',
  'reasoning',
  'reason',
  'reply',
  'brief',
  'note',
  'decision',
  'decidedBy',
] as const;
/** A field that a redacting export can leave out. */
export type LeftOutField = (typeof leftOutFields)[number];

/** Where a text stands that is to be redacted. */
export interface TextPlace {
  /** Type of its event; `approval` or `session` for records. */
  readonly type: string;
  /**
   * From there to the text: names of fields and positions in lists. The name of a field of a tool's input is a text too, and its own place.
   */
  readonly path: readonly string[];
}
/** What is done to contents. At least one is given. */
export interface Redaction {
  /** Whatever fits one is replaced by `[redacted]`. A pattern without the flag `g` is taken as if it had it. */
  readonly patterns?: readonly RegExp[] | undefined;
  /** Called for every text, after the patterns: gives the text as it may be shown. Throws: the export is refused. */
  readonly text?: ((text: string, place: TextPlace) => string) | undefined;
  /** Fields whose values are left out whole: a text becomes `[left out]`, an object and a list empty, anything else null. */
  readonly leaveOut?: readonly LeftOutField[] | undefined;
}

/** How many places were changed. */
export interface RedactionCount {
  texts: number;
  leftOut: number;
}

const leftOut = '[left out]';

/**
 * Fields whose texts are names, ids and kinds of Guardloop's own. Any other text, in fields to come too, is a content and is redacted.
 * Lists under them are of the same kind.
 */
const structure = new Set([
  ...['type', 'id', 'run', 'parent', 'agent', 'writer', 'answers', 'call', 'callId', 'subject', 'session', 'copyOf', 'byStanding', 'key'],
  ...['guardrail', 'version', 'level', 'surface', 'phase', 'action', 'failure', 'by', 'monitor', 'sign', 'then', 'state'],
  ...['model', 'tool', 'name', 'kind', 'role', 'via', 'origin', 'integrity', 'from', 'to', 'agentPath', 'untrustedFrom', 'judged', 'view'],
  ...['status', 'stopReason', 'errorClass', 'completeness', 'projection', 'thought', 'continues', 'limit', 'final', 'code', 'onLimit'],
  ...['effect', 'authority', 'idempotencyKey', 'mediaType'],
]);
/** Fields that hold any JSON: the names in it are contents too. */
const free = new Set(['input', 'details', 'value', 'when', 'edit', 'result']);
/** Fields that hold nothing of a conversation. */
const kept = new Set(['manifest', 'usage', 'label', 'limits', 'revisions', 'viewUsage', 'projectionUsage']);
/** What no text function can look into, or what tells a content to who guesses it. */
const dropped = new Set(['native', 'data', 'url', 'digest']);

interface Visit {
  readonly path: readonly string[];
  readonly isFree: boolean;
}

/**
 * Makes redacted copies of events and records, and counts what it changed. Throws CONFIG_INVALID, at once or where a text cannot be
 * redacted.
 */
export class Redactor {
  readonly count: RedactionCount = { texts: 0, leftOut: 0 };
  readonly #patterns: readonly RegExp[];
  readonly #leftOut: ReadonlySet<string>;

  constructor(private readonly redaction: Redaction) {
    const { patterns = [], leaveOut = [], text } = redaction;
    if (patterns.length + leaveOut.length === 0 && text === undefined)
      throw refuse('`redact` says nothing. Give `patterns`, `text` or `leaveOut`; leave `redact` out for a whole export.');
    if (!patterns.every((pattern) => pattern instanceof RegExp)) throw refuse('`redact.patterns` holds what is no RegExp.');
    if (text !== undefined && typeof text !== 'function') throw refuse('`redact.text` is no function from a text to a text.');
    const unknown = leaveOut.find((field) => !leftOutFields.includes(field));
    if (unknown !== undefined) throw refuse(`\`redact.leaveOut\` names a field that is none of: ${leftOutFields.join(', ')}.`);
    this.#patterns = patterns.map(
      ({ source, flags }) => new RegExp(source, flags.includes('g') ? flags.replace('y', '') : `${flags.replace('y', '')}g`),
    );
    this.#leftOut = new Set(leaveOut);
  }

  /** A copy of an event or a record. */
  redact<T extends object>(value: T, type: string): T {
    return this.#visit(value, type, { path: [], isFree: false }) as T;
  }

  #visit(value: unknown, type: string, visit: Visit): unknown {
    if (typeof value === 'string') return this.#text(value, { type, path: visit.path });
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value))
      return value.map((each, index) => this.#visit(each, type, { ...visit, path: [...visit.path, String(index)] }));
    const entries = Object.entries(value).map(([name, field]): readonly [string, unknown] => {
      const path = [...visit.path, name];
      if (visit.isFree) return [this.#text(name, { type, path }), this.#visit(field, type, { path, isFree: true })];
      return [name, this.#field(name, field, { type, path })];
    });
    // Not by assignment: a content may have a field `__proto__`.
    return Object.fromEntries(entries);
  }

  #field(name: string, field: unknown, { type, path }: TextPlace): unknown {
    if (this.#leftOut.has(name) || dropped.has(name)) return this.#without(field);
    if (kept.has(name)) return field;
    if (free.has(name)) return this.#visit(field, type, { path, isFree: true });
    if (structure.has(name)) {
      if (typeof field === 'string') return field;
      if (Array.isArray(field))
        return field.map((each) => (typeof each === 'string' ? each : this.#visit(each, type, { path, isFree: false })));
    }
    // As a decision of a record: a word of ours, or what a person gave.
    if (name === 'decision' && typeof field === 'string') return field;
    return this.#visit(field, type, { path, isFree: false });
  }

  #without(field: unknown): unknown {
    if (field === undefined) return undefined;
    this.count.leftOut += 1;
    if (typeof field === 'string') return leftOut;
    if (Array.isArray(field)) return [];
    return typeof field === 'object' && field !== null ? {} : null;
  }

  #text(text: string, place: TextPlace): string {
    let shown = text;
    for (const pattern of this.#patterns) shown = shown.replace(pattern, '[redacted]');
    if (this.redaction.text) shown = callText(this.redaction.text, shown, place);
    if (shown !== text) this.count.texts += 1;
    return shown;
  }
}

function callText(redact: NonNullable<Redaction['text']>, text: string, place: TextPlace): string {
  let shown: unknown;
  try {
    shown = redact(text, place);
  } catch (error) {
    throw new GuardloopError('CONFIG_INVALID', `\`redact.text\` threw at ${place.type}; nothing was exported.`, { cause: error });
  }
  if (typeof shown === 'string') return shown;
  throw refuse(`\`redact.text\` gave no text at ${place.type}; nothing was exported. Give the text as it may be shown, or an empty one.`);
}

const refuse = (message: string): GuardloopError => new GuardloopError('CONFIG_INVALID', message);
