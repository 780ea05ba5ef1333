import { guardrailSpec, surfaces } from '../define/guardrail.js';
import type { GuardrailSpec } from '../define/specs.js';
import type { Subject } from '../define/types.js';
import { allow } from '../define/verdict.js';
import type { GuardVerdictEvent } from '../state/events.js';

// No define function lets a name with this character through.
const mark = '\u0000';

/** Stands around the guardrails of a replay and keeps the subjects that they are shown. Shadows, so it has no part in any answer. */
export class Witness {
  /** Asked before all others: sees what was recorded, before any rewrite. */
  readonly first: GuardrailSpec;
  /** Asked about entries, which no rewrite sees as a whole. */
  readonly last: GuardrailSpec;
  private readonly seen: { readonly subject: Subject; readonly isEntry: boolean }[] = [];

  constructor() {
    const base = {
      version: undefined,
      timeoutMs: Number.POSITIVE_INFINITY,
      onError: 'allow',
      shadow: true,
      beside: false,
      tools: undefined,
      ruleTools: undefined,
    } as const;
    const note = (isEntry: boolean) => (subject: Subject) => {
      this.seen.push({ subject, isEntry });
      return allow();
    };
    // A window, so that texts go through windows wherever all others are.
    this.first = guardrailSpec({
      ...base,
      name: `${mark}first`,
      on: surfaces,
      window: Number.MAX_SAFE_INTEGER,
      rewrite: note(false),
      check: undefined,
    });
    this.last = guardrailSpec({ ...base, name: `${mark}last`, on: ['input'], window: undefined, rewrite: undefined, check: note(true) });
  }

  is({ guardrail }: GuardVerdictEvent): boolean {
    return guardrail.startsWith(mark);
  }

  forget(): void {
    this.seen.length = 0;
  }

  /** What was seen since, by key; `entry` and `answer` are the ids of what was asked about. */
  subjects(
    run: string,
    { entry, answer }: { readonly entry?: string | undefined; readonly answer?: string | undefined },
  ): Map<string, Subject> {
    const subjects = new Map<string, Subject>();
    for (const { subject, isEntry } of this.seen) {
      const id = isEntry ? entry : idOf(run, subject, answer);
      if (id !== undefined) subjects.set(`${subject.surface} ${id}`, subject);
    }
    return subjects;
  }
}

function idOf(run: string, subject: Subject, answer: string | undefined): string | undefined {
  switch (subject.surface) {
    case 'input':
      return subject.items[0]?.id;
    case 'toolInput':
    case 'handoff':
      return `${run}/${subject.callId}`;
    case 'toolOutput':
      return `${run}/${subject.callId}${subject.form === 'output' ? '' : `/${subject.form}`}`;
    case 'output':
      return subject.kind === 'reasoning' ? `${answer}/reasoning` : answer;
    default:
      return subject satisfies never;
  }
}
