import type { Surface } from '../state/events.js';
import { defineGuardrail as definePlainGuardrail } from './guardrail.js';
import type { Equal, Shop } from './shop.test-d.js';
import { defineGuardrail, expectType, is } from './shop.test-d.js';
import type { Allow, AskVerdict, Check, Deny, Guardrail, Halt, Span, Subject, UntrustedRead, Verdict } from './types.js';
import { allow, ask, deny, halt, rewrite } from './verdict.js';

declare function hasCard(text: string): boolean;
declare function maskCards(text: string): string;
declare function findCards(text: string): readonly Span[];
declare function classify(text: string, signal: AbortSignal): Promise<boolean>;
declare const isOnTopic: Check<'input'>;

// @ts-expect-error the test of equal types can fail
is<Equal<Guardrail<Shop, 'input'>, Guardrail<Shop, 'output'>>>();

// ---- one surface, several, all; rewrite, check, both
export const noCardNumbers = defineGuardrail({
  name: 'no-card-numbers',
  on: ['input', 'output'],
  window: 24,
  rewrite: ({ content }) => {
    const spans = findCards(content);
    return spans.length ? rewrite(spans, 'card number') : allow();
  },
});
is<Equal<typeof noCardNumbers, Guardrail<Shop, 'input' | 'output'>>>();
export const literalSpans = defineGuardrail({
  name: 'spans',
  on: ['output'],
  window: 24,
  rewrite: ({ content }) => rewrite([{ start: 0, end: content.length, with: '' }], 'all of it'),
});
export const judge = defineGuardrail({
  name: 'injection-judge',
  on: ['toolOutput'],
  timeoutMs: 800,
  check: async ({ content }, { signal, labels, untrustedReads }) => {
    expectType<'trusted' | 'untrusted'>()(labels.subject.integrity);
    expectType<readonly UntrustedRead[]>()(untrustedReads);
    return (await classify(content, signal)) ? halt('the tool output gives orders', { reply: 'I stop here.' }) : allow();
  },
});
export const offTopic = defineGuardrail({ name: 'off-topic', on: ['input'], beside: 'model', check: isOnTopic });
export const rewriteOne = defineGuardrail({
  name: 'one',
  on: ['toolInput'],
  tools: ['refund_*'],
  rewrite: ({ surface, raw, input }) => {
    expectType<'toolInput'>()(surface);
    expectType<unknown>()(input);
    return rewrite({ was: raw, cents: 1 }, 'capped');
  },
});
export const rewriteMany = defineGuardrail({
  name: 'many',
  on: ['input', 'toolOutput', 'output'],
  rewrite: (subject, { context }) => {
    expectType<Subject<'input' | 'toolOutput' | 'output'>>()(subject);
    expectType<Shop>()(context);
    switch (subject.surface) {
      case 'input':
        return rewrite(subject.content, 'x');
      case 'toolOutput':
        return rewrite(maskCards(subject.content), subject.tool);
      case 'output':
        return subject.final ? allow() : deny('not yet', { reply: 'One moment.' });
      default:
        return subject satisfies never;
    }
  },
});
export const checkMany = defineGuardrail({
  name: 'check',
  on: ['handoff', 'toolInput'],
  check: async (subject) => {
    if (subject.surface === 'handoff') return subject.to === 'billing' ? allow() : ask(`${subject.from} hands over to ${subject.to}`);
    expectType<string>()(subject.callId);
    return allow();
  },
});
export const both = defineGuardrail({
  name: 'both',
  on: ['input', 'output'],
  check: ({ content, surface }) => {
    expectType<'input' | 'output'>()(surface);
    return hasCard(content) ? halt('card') : allow();
  },
  rewrite: async ({ content }) => rewrite(maskCards(content), 'card'),
});
export const items = defineGuardrail({
  name: 'items',
  on: ['input'],
  check: ({ items: [first] }) => {
    expectType<'user' | 'assistant' | 'tool' | undefined>()(first?.role);
    return first?.via === 'handoff' ? deny('x') : allow();
  },
});
const allSurfaces = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'] as const;
export const everywhere = defineGuardrail({
  name: 'all',
  on: allSurfaces,
  check: (subject) => {
    expectType<Subject>()(subject);
    return allow();
  },
});

// ---- the order of the options does not matter
export const late = defineGuardrail({
  check: ({ content, surface }) => {
    expectType<'input'>()(surface);
    return content ? allow() : deny('x');
  },
  name: 'late',
  on: ['input'],
});
export const lateWindow = defineGuardrail({
  rewrite: ({ content }) => rewrite(findCards(content), 'x'),
  window: 3,
  on: ['output', 'input'],
  name: 'l',
});

// ---- guardrails of a library: generic over their surfaces
export function blockWords<S extends 'input' | 'output' | 'toolOutput'>(options: {
  readonly on: readonly S[];
  readonly words: readonly string[];
}): Guardrail<unknown, S> {
  return definePlainGuardrail({
    name: 'block-words',
    on: options.on,
    check: ({ content }) => {
      expectType<string>()(content);
      return options.words.some((word) => content.includes(word)) ? deny('a word') : allow();
    },
  });
}
export function mask<S extends Surface>(on: readonly S[]): Guardrail<unknown, S> {
  return definePlainGuardrail({ name: 'mask', on, rewrite: ({ content }) => rewrite(maskCards(content), 'card') });
}
export const sharedCheck: Check<'input' | 'output', Shop> = ({ content }, { context }) =>
  content && context.mayRefund ? allow() : deny('x');
export const usesShared = defineGuardrail({ name: 'u', on: ['input', 'output'], check: sharedCheck });
export const narrower = defineGuardrail({ name: 'u', on: ['input'], check: sharedCheck });

// ---- verdicts
is<Equal<Verdict<'input'>, Allow | Deny | Halt>>();
is<Equal<Verdict<'toolOutput'>, Allow | Deny | Halt>>();
is<Equal<Verdict<'toolInput'>, Allow | Deny | Halt | AskVerdict>>();
is<Equal<Verdict<'handoff'>, Allow | Deny | Halt | AskVerdict>>();
is<Equal<Verdict<'output'>, Allow | Deny | Halt | AskVerdict>>();
declare const plain: Guardrail<unknown>;
export const anyGuardrail: Guardrail = plain;

// ---- misuses
// @ts-expect-error 1 a check may not rewrite
defineGuardrail({ name: 'x', on: ['input'], check: () => rewrite('x', 'y') });
// @ts-expect-error 2 nor when it is async and only sometimes
defineGuardrail({ name: 'x', on: ['input'], check: async ({ content }) => (content ? allow() : rewrite('x', 'y')) });
// @ts-expect-error 3 beside: only on input
defineGuardrail({ name: 'x', on: ['output'], beside: 'model', check: () => allow() });
// @ts-expect-error 4 beside: only on input alone
defineGuardrail({ name: 'x', on: ['input', 'output'], beside: 'model', check: () => allow() });
// @ts-expect-error 5 beside: not with rewrite
defineGuardrail({ name: 'x', on: ['input'], beside: 'model', rewrite: () => allow() });
// @ts-expect-error 6 window: needs output
defineGuardrail({ name: 'x', on: ['input'], window: 10, rewrite: () => allow() });
// @ts-expect-error window: not with a check
defineGuardrail({ name: 'x', on: ['output'], window: 10, check: () => allow() });
// @ts-expect-error window: not with a check beside the rewrite
defineGuardrail({ name: 'x', on: ['output'], window: 10, rewrite: () => allow(), check: () => allow() });
// @ts-expect-error window: spans, no whole text
defineGuardrail({ name: 'x', on: ['output'], window: 10, rewrite: ({ content }) => rewrite(content, 'y') });
// @ts-expect-error window: no refusal
defineGuardrail({ name: 'x', on: ['output'], window: 10, rewrite: () => deny('y') });
// @ts-expect-error 7 a rewrite puts text in the place of text
defineGuardrail({ name: 'x', on: ['output'], rewrite: () => rewrite({ a: 1 }, 'y') });
// @ts-expect-error 8 a guardrail has at least one function
defineGuardrail({ name: 'x', on: ['output'] });
// @ts-expect-error 9 a missing answer
defineGuardrail({ name: 'x', on: ['input'], check: ({ content }) => (content ? deny('x') : undefined) });
// @ts-expect-error 10 a boolean is no verdict
defineGuardrail({ name: 'x', on: ['input'], check: ({ content }) => content.length > 3 });
// @ts-expect-error 11 the subject of input has no tool
defineGuardrail({ name: 'x', on: ['input'], check: ({ tool }) => (tool ? allow() : allow()) });
// @ts-expect-error 12 of several surfaces, only what they share until narrowed
defineGuardrail({ name: 'x', on: ['input', 'toolInput'], check: ({ tool }) => (tool ? allow() : allow()) });
// @ts-expect-error 13 no such surface
defineGuardrail({ name: 'x', on: ['inputs'], check: () => allow() });
// @ts-expect-error 14 no such field of the context
defineGuardrail({ name: 'x', on: ['input'], check: (_, { context }) => (context.userID ? allow() : deny('x')) });
// @ts-expect-error 15 a misspelt option
defineGuardrail({ name: 'x', on: ['input'], timeoutMS: 3, check: () => allow() });
// @ts-expect-error 16 a deny says why
defineGuardrail({ name: 'x', on: ['input'], check: () => deny() });
// @ts-expect-error a reply is named
defineGuardrail({ name: 'x', on: ['input'], check: () => deny('x', 'Sorry.') });
// @ts-expect-error ask: not on input
defineGuardrail({ name: 'x', on: ['input'], check: () => ask('x') });
// @ts-expect-error ask: not on toolOutput
defineGuardrail({ name: 'x', on: ['toolOutput'], check: () => ask('x') });
// @ts-expect-error ask: not where input is among the surfaces
defineGuardrail({ name: 'x', on: ['output', 'input'], check: ({ surface }) => (surface === 'output' ? ask('x') : allow()) });
// @ts-expect-error ask: not by a rewrite on input either
defineGuardrail({ name: 'x', on: ['input'], rewrite: () => ask('x') });
// @ts-expect-error tools: only where tools are looked at
defineGuardrail({ name: 'x', on: ['input', 'output'], tools: ['refund_*'], check: () => allow() });
defineGuardrail({ name: 'x', on: ['input'], breaker: { failures: 5 }, check: () => allow() });
defineGuardrail({
  name: 'x',
  on: ['output'],
  window: 3,
  breaker: { failures: 5, withinMs: 60_000, coolDownMs: 5_000 },
  rewrite: () => allow(),
});
// @ts-expect-error a breaker says after how many failures it opens
defineGuardrail({ name: 'x', on: ['input'], breaker: { coolDownMs: 5_000 }, check: () => allow() });
// @ts-expect-error a breaker is no flag
defineGuardrail({ name: 'x', on: ['input'], breaker: true, check: () => allow() });
// @ts-expect-error a misspelt option of the breaker
defineGuardrail({ name: 'x', on: ['input'], breaker: { failures: 5, cooldownMs: 5_000 }, check: () => allow() });
// @ts-expect-error no such answer to a failure
defineGuardrail({ name: 'x', on: ['input'], onError: 'ignore', check: () => allow() });
export function change(subject: Subject<'input'>) {
  // @ts-expect-error a subject cannot be changed
  subject.content = '';
}
