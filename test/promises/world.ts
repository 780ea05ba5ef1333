import type { GuardInfo, Guardrail, Model, ModelCall, ModelEvent, ModelRequest, Subject, Surface } from '@guardloop/core';
import { allow, ask, asTool, defineAgent, defineGuardrail, defineTool, deny, halt, handoff, rewrite } from '@guardloop/core';
import { z } from 'zod';

/** A number from 0 up to 2^32, the same for the same words. */
export function hash(...words: readonly (string | number)[]): number {
  let value = 2166136261;
  for (const character of words.join('\u0000')) {
    value ^= character.codePointAt(0) ?? 0;
    value = Math.imul(value, 16777619);
  }
  value ^= value >>> 15;
  value = Math.imul(value, 2246822507);
  value ^= value >>> 13;
  return value >>> 0;
}
const chance = (percent: number, ...words: readonly (string | number)[]): boolean => hash(...words) % 100 < percent;

const words = ['order', 'refund', 'parcel', 'näive', '😀', 'late', 'o1', 'again', 'please', '42'];
const sentence = (...seed: readonly (string | number)[]): string =>
  Array.from({ length: 1 + (hash('length', ...seed) % 6) }, (_, index) => words[hash('word', index, ...seed) % words.length]).join(' ');

/** One call: of an offered tool, mostly with arguments that fit. */
function randomCall({ tools, turn }: ModelRequest, at: readonly (string | number)[]): ModelCall {
  const tool = tools[hash('tool', ...at) % Math.max(1, tools.length)];
  const base = { name: chance(4, 'unknown', ...at) || tool === undefined ? 'nowhere' : tool.name, providerId: `p${turn}-${at.at(-1)}` };
  if (chance(5, 'broken', ...at)) return { ...base, unparsable: '{"id": ' };
  return { ...base, input: chance(5, 'misfit', ...at) ? { id: 7 } : { id: sentence('id', ...at), input: sentence('input', ...at) } };
}

/** A model whose answers are a function of the seed, the agent and the turn. Stops calling after a few turns. */
function randomModel(seed: number, requests: ModelRequest[]): Model {
  return {
    id: `random-${seed}`,
    provider: 'random',
    async *stream(request: ModelRequest): AsyncGenerator<ModelEvent> {
      requests.push({ ...request, messages: [...request.messages] });
      const place = [seed, request.agent, request.turn] as const;
      const count = request.turn >= 5 || request.toolChoice === 'none' ? 0 : hash('calls', ...place) % 4;
      const text = count > 0 && chance(50, 'silent', ...place) ? '' : sentence('text', ...place);
      for (const piece of text.match(/.{1,3}/gsu) ?? []) {
        if (chance(30, 'pause', piece, ...place)) await Promise.resolve();
        yield { type: 'text.delta', text: piece };
      }
      for (let index = 0; index < count; index += 1) yield { type: 'tool.call', call: randomCall(request, [...place, index]) };
      yield { type: 'end', stopReason: count > 0 ? 'tools' : 'stop', usage: { requests: 1, inputTokens: 5, outputTokens: 5 } };
    },
  };
}

export const surfaces: readonly Surface[] = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'];

/** How a random guardrail may misbehave. */
export interface Temper {
  /** Percent of answers that refuse, of each kind. */
  readonly refusals: number;
  /** Percent of answers that are a throw or nonsense. */
  readonly faults: number;
}

/** A guardrail whose answer, and whether it waits for it, are a function of the seed and of what it looks at. */
function randomGuardrail(seed: number, name: string, temper: Temper): Guardrail<unknown> {
  const answer = (phase: string, { surface, content }: Subject) => {
    const draw = hash(seed, name, phase, surface, content) % 1000;
    let bound = 0;
    const below = (percent: number): boolean => {
      bound += percent * 10;
      return draw < bound;
    };
    if (below(temper.faults)) throw new Error('broken');
    if (below(temper.faults)) return 'nonsense';
    if (below(temper.refusals)) return deny(`${name} says no`);
    if (below(temper.refusals / 4)) return halt(`${name} says stop`);
    if (surface !== 'input' && surface !== 'toolOutput' && below(temper.refusals)) return ask(`${name} wants a person`);
    if (phase === 'rewrite' && below(15))
      return surface === 'toolInput'
        ? rewrite({ id: `${hash(content) % 9}`, input: 'clean' }, `${name} changes it`)
        : rewrite(`${content} #${name}`, `${name} changes it`);
    return allow();
  };
  const maybeLater =
    (phase: string) =>
    (subject: Subject): never => {
      const at = [seed, name, phase, subject.surface, subject.content, 'when'] as const;
      if (chance(50, ...at)) return answer(phase, subject) as never;
      const wait = async () => {
        for (let ticks = hash('ticks', ...at) % 4; ticks > 0; ticks -= 1) await Promise.resolve();
        if (chance(20, 'timer', ...at)) await new Promise((resolve) => setTimeout(resolve, 0));
        return answer(phase, subject);
      };
      return wait() as never;
    };
  const on = surfaces.filter((surface) => chance(70, seed, name, 'on', surface));
  return defineGuardrail({
    name,
    on: on.length > 0 ? on : ['output'],
    rewrite: maybeLater('rewrite'),
    check: maybeLater('check'),
    shadow: chance(10, seed, name, 'shadow'),
  });
}

/** What the witness, a check that stands on every surface and allows everything, was shown. */
export interface Seen {
  readonly surface: Surface;
  readonly content: string;
}

export interface World {
  readonly start: ReturnType<typeof triageOf>;
  readonly guardrails: readonly Guardrail<unknown>[];
  /** The agents' own, by agent. */
  readonly own: { readonly [agent: string]: readonly Guardrail<unknown>[] };
  readonly seen: Seen[];
  /** Names of the effects that happened, with their idempotency keys. */
  readonly effects: string[];
  /** What the models were asked. */
  readonly requests: ModelRequest[];
}

const triageOf = (
  seed: number,
  temper: Temper,
  { effects, requests, own }: Pick<World, 'effects' | 'requests'> & { readonly own: Record<string, readonly Guardrail<unknown>[]> },
) => {
  const model = randomModel(seed, requests);
  const guards = (owner: string) => {
    const made = Array.from({ length: hash(seed, owner, 'guards') % 3 }, (_, index) => randomGuardrail(seed, `${owner}-${index}`, temper));
    own[owner] = made;
    return made;
  };
  const input = z.object({ id: z.string(), input: z.string() });
  const find = defineTool({
    name: 'find',
    description: 'Finds.',
    input,
    flow: { effect: 'read', results: 'trusted' },
    execute: ({ id }) => `found ${id}`,
  });
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    input,
    flow: { effect: 'read' },
    execute: async ({ id }) => {
      await Promise.resolve();
      if (chance(20, seed, id, 'throws')) throw new Error(`cannot look at ${id}`);
      return { id, list: [1, 2, 3] };
    },
  });
  const send = defineTool({
    name: 'send',
    description: 'Sends.',
    input,
    flow: { effect: 'send' },
    approval: ({ id }) => chance(30, seed, id, 'approval'),
    execute: async ({ id }, { idempotencyKey }) => {
      effects.push(`send ${idempotencyKey}`);
      await Promise.resolve();
      return `sent ${id}`;
    },
  });
  const leaf = defineAgent({ name: 'leaf', instructions: 'Leaf.', model, tools: [find, send], guardrails: guards('leaf') });
  const billing = defineAgent({
    name: 'billing',
    description: 'Bills.',
    instructions: 'Bill.',
    model,
    tools: [send, look],
    handoffs: ['triage'],
    guardrails: guards('billing'),
  });
  const transfer = defineTool({
    name: 'transfer',
    description: 'Transfers.',
    input,
    execute: ({ id }) => (chance(60, seed, id) ? handoff(billing, { brief: `about ${id}` }) : 'no transfer'),
  });
  return defineAgent({
    name: 'triage',
    instructions: 'Triage.',
    model,
    tools: [find, send, transfer, asTool(leaf, { name: 'ask_leaf', description: 'Asks.' })],
    handoffs: [billing],
    guardrails: guards('triage'),
  });
};

/** Agents, tools, handoffs, a child run and guardrails, all a function of the seed. Made anew each time: nothing is shared but the seed. */
export function makeWorld(seed: number, temper: Temper = { refusals: 3, faults: 1 }): World {
  const seen: Seen[] = [];
  const effects: string[] = [];
  const requests: ModelRequest[] = [];
  const own: Record<string, readonly Guardrail<unknown>[]> = {};
  const witness = defineGuardrail({
    name: 'witness',
    on: surfaces as ['input', 'toolInput', 'toolOutput', 'handoff', 'output'],
    check: ({ surface, content }: Subject, _: GuardInfo) => {
      seen.push({ surface, content });
      return allow();
    },
  });
  const guardrails = [
    ...Array.from({ length: hash(seed, 'run guards') % 2 }, (_, index) => randomGuardrail(seed, `run-${index}`, temper)),
    witness,
  ];
  return { start: triageOf(seed, temper, { effects, requests, own }), guardrails, own, seen, effects, requests };
}

/** Settings of a run that are a function of the seed. */
export const limitsOf = (seed: number) => ({
  turns: 3 + (hash(seed, 'turns') % 5),
  handoffs: hash(seed, 'handoffs') % 4,
  repairs: hash(seed, 'repairs') % 3,
});
