import type {
  Agent,
  Answer,
  Approval,
  Decisions,
  Guardrail,
  JsonValue,
  Model,
  QuarantineStore,
  RunOptions,
  Surface,
} from '@guardloop/core';
import { allow, ask, defineGuardrail, deny, halt, rewrite } from '@guardloop/core';
import type { Script, ScriptedModel, Turn } from '@guardloop/testing';
import { say, scriptedModel } from '@guardloop/testing';
import { tracesOf } from './canary.js';

/** What the guardrail does about a canary that it sees. */
export const manners = [
  'denies',
  'denies while rewriting',
  'halts',
  'rewrites',
  'throws it',
  'rejects with it',
  'answers it',
  'rewrites to what does not fit',
  'asks where nobody can be asked',
  'has failed too often',
] as const;
export type Manner = (typeof manners)[number];

/** What every second run is given. */
export const again = 'And once more?';

/** Where a scene's canary comes in, and what the run around it is. Built anew for each run. */
export interface Scene {
  readonly agent: Agent<unknown, Answer>;
  /** Default: a plain text. */
  readonly input?: RunOptionsInput | undefined;
  readonly options?: Partial<RunOptions> | undefined;
  /** What people say to the approvals of the first run. */
  decide?(approvals: readonly Approval[]): Decisions;
  /** Where answers wait for a person, to be looked into. */
  readonly quarantine?: (QuarantineStore & { readonly kept: ReadonlyMap<string, unknown> }) | undefined;
}
type RunOptionsInput = string | readonly { readonly type: 'text'; readonly text: string }[] | readonly object[];

/** What a scene is built with. */
export interface Kit {
  readonly manner: Manner;
  /** The guardrail that minds the canary on these surfaces, among the agent's own or the run's. */
  readonly watch: (...on: readonly Surface[]) => readonly Guardrail<unknown>[];
  /** A model that gives these turns, and in every later run of the session a plain answer. */
  readonly model: (...turns: readonly (Turn | ((turn: number) => Turn))[]) => Model;
  /** How often the guardrail was shown a canary. */
  readonly shown: () => number;
  /** Notes that the canary was met elsewhere than by a guardrail: by a schema, a function that threw it. */
  readonly meet: () => void;
}

/** Makes the guardrail that minds canaries. */
function watchman(manner: Manner, on: readonly Surface[], meet: () => void): Guardrail<unknown> {
  const sees = (subject: unknown): boolean => {
    if (tracesOf(subject).length === 0) return false;
    meet();
    return true;
  };
  const quote = (subject: { readonly content: string }): Error =>
    Object.assign(new Error(`will not have ${subject.content}`, { cause: subject.content }), {
      code: subject.content,
      status: subject.content,
      subject,
    });
  const cleanFor = (surface: Surface, content: string): unknown => {
    if (surface === 'toolInput') return { text: 'clean' };
    if (surface === 'toolOutput') return content.startsWith('{') ? { text: 'clean' } : 'clean';
    return content.startsWith('{"text"') ? '{"text":"clean"}' : 'clean';
  };
  const base = { name: 'watch', on: [...on] } as const;
  switch (manner) {
    case 'denies':
      return defineGuardrail({ ...base, check: (subject) => (sees(subject) ? deny('not for here') : allow()) }) as never;
    case 'denies while rewriting':
      return defineGuardrail({ ...base, rewrite: (subject) => (sees(subject) ? deny('not for here') : allow()) }) as never;
    case 'halts':
      return defineGuardrail({ ...base, check: (subject) => (sees(subject) ? halt('not for here') : allow()) }) as never;
    case 'rewrites':
      return defineGuardrail({
        ...base,
        rewrite: (subject) => (sees(subject) ? rewrite(cleanFor(subject.surface, subject.content) as never, 'cleaned') : allow()),
      }) as never;
    case 'throws it':
      return defineGuardrail({
        ...base,
        check: (subject) => {
          if (sees(subject)) throw quote(subject);
          return allow();
        },
      }) as never;
    case 'rejects with it':
      return defineGuardrail({
        ...base,
        check: async (subject) => {
          await undefined;
          if (sees(subject)) throw quote(subject);
          return allow();
        },
      }) as never;
    case 'answers it':
      return defineGuardrail({
        ...base,
        check: (subject) => (sees(subject) ? ({ action: subject.content, reason: { subject }, reply: subject.content } as never) : allow()),
      }) as never;
    case 'rewrites to what does not fit':
      return defineGuardrail({
        ...base,
        rewrite: (subject) =>
          sees(subject)
            ? ({
                action: 'rewrite',
                reason: 'cleaned',
                value: [{ start: -1, end: subject.content.length + 9, with: subject.content }],
              } as never)
            : allow(),
      }) as never;
    case 'asks where nobody can be asked':
      return defineGuardrail({ ...base, check: (subject) => (sees(subject) ? (ask('look at it') as never) : allow()) }) as never;
    case 'has failed too often':
      return defineGuardrail({
        ...base,
        breaker: { failures: 1, coolDownMs: 60_000 },
        check: (subject) => {
          if (sees(subject)) throw quote(subject);
          return allow();
        },
      }) as never;
    default:
      return manner satisfies never;
  }
}

export interface Built {
  readonly kit: Kit;
  readonly models: readonly ScriptedModel[];
}

export function makeKit(manner: Manner): Built {
  let shown = 0;
  const models: ScriptedModel[] = [];
  const meet = (): void => {
    shown += 1;
  };
  const kit: Kit = {
    manner,
    watch: (...on) => [watchman(manner, on, meet)],
    model: (...turns) => {
      const script: Script = (request) => {
        const asked = request.messages.findLast(
          (message) => message.role === 'user' && (message.via === 'user' || message.via === 'parent'),
        );
        if (JSON.stringify(asked ?? '').includes(again)) return say('Nothing new.');
        const turn = turns[request.turn - 1] ?? say('That is all.');
        return typeof turn === 'function' ? turn(request.turn) : turn;
      };
      const model = scriptedModel(script, { chunks: 3, native: true });
      models.push(model);
      return model;
    },
    shown: () => shown,
    meet,
  };
  return { kit, models };
}

/** A quarantine whose content can be looked at. */
export function openQuarantine(): QuarantineStore & { readonly kept: ReadonlyMap<string, JsonValue> } {
  const kept = new Map<string, JsonValue>();
  return {
    kept,
    put: async (key, value) => void kept.set(key, value),
    get: async (key) => kept.get(key),
    delete: async (key) => void kept.delete(key),
  };
}
