import type { Agent, Answer, JsonValue, Model, Surface } from '@guardloop/core';
import {
  asTool,
  defineAgent,
  defineGuardrail,
  definePolicy,
  defineTool,
  handoff,
  toolError,
  withDetails,
  withFallback,
  withRetry,
} from '@guardloop/core';
import type { Turn } from '@guardloop/testing';
import { callTool, callUnparsable, endWith, failWith, refuse, say, think } from '@guardloop/testing';
import { z } from 'zod';
import { canary } from './canary.js';
import type { Kit, Manner, Scene } from './kit.js';
import { manners, openQuarantine } from './kit.js';

/** A way for a canary to come in. To add one, add an entry. */
export interface Source {
  /** What brings it in. */
  readonly name: string;
  /** Where the guardrail stands that refuses it; none: nothing but core itself keeps it out. */
  readonly surface?: Surface | undefined;
  /** Where it is judged before, and passes: those who stand there are shown it. */
  readonly passes?: readonly Surface[] | undefined;
  /** It stands in what guardrails on its surface are told that the agent will see. */
  readonly isTold?: true | undefined;
  /** What its guardrail does about it; left out: everything. */
  readonly manners?: readonly Manner[] | undefined;
  /** Modes in which it makes no sense: an option of a run is not one of a child's. */
  readonly not?: readonly string[] | undefined;
  build(kit: Kit): Scene;
}

const text = z.object({ text: z.string() });
/** An error that holds it wherever an error can. */
const quoting = (Kind: ErrorConstructor = Error): Error =>
  Object.assign(new Kind(`it said ${canary}`, { cause: new Error(canary, { cause: { body: canary } }) }), {
    code: canary,
    status: canary,
    requestId: canary,
    body: { error: { message: canary } },
    response: { headers: new Map([['x', canary]]) },
    [canary]: canary,
  });
const throws = (kit: Kit) => (): never => {
  kit.meet();
  throw quoting();
};

const plain = (kit: Kit, more: object): Agent<unknown, Answer> =>
  defineAgent({ name: 'desk', instructions: 'Help.', model: kit.model(say('Fine.')), ...more }) as never;

/** An agent that calls `act` once with these arguments, and then answers. */
function calling(kit: Kit, given: { readonly tool?: object; readonly input?: JsonValue; readonly agent?: object; readonly calls?: Turn }) {
  const act = defineTool({
    name: 'act',
    description: 'Acts.',
    input: text,
    execute: () => 'acted',
    ...given.tool,
  } as never);
  return plain(kit, {
    model: kit.model(given.calls ?? [say('Let me see.'), callTool('act', given.input ?? { text: 'plain' }, 'c1')]),
    tools: [act],
    ...given.agent,
  });
}

const inputs: readonly Source[] = [
  {
    name: 'a message of the user',
    surface: 'input',
    build: (kit) => ({ agent: plain(kit, { guardrails: kit.watch('input') }), input: canary }),
  },
  {
    name: 'a part of the user’s message among others',
    surface: 'input',
    not: ['in a child'],
    build: (kit) => ({
      agent: plain(kit, { guardrails: kit.watch('input') }),
      input: [
        { type: 'text', text: 'one' },
        { type: 'text', text: canary },
      ],
    }),
  },
  {
    name: 'the name and the bytes of a file of the user',
    surface: 'input',
    not: ['in a child'],
    // A rewrite is about the text of a message: its files stay, or are refused.
    manners: manners.filter((manner) => manner !== 'rewrites'),
    build: (kit) => ({
      agent: plain(kit, { guardrails: kit.watch('input') }),
      input: [{ type: 'file', mediaType: 'text/plain', name: canary, data: Buffer.from(canary).toString('base64') }],
    }),
  },
  {
    name: 'history from elsewhere',
    surface: 'input',
    not: ['in a child'],
    build: (kit) => ({
      agent: plain(kit, { guardrails: kit.watch('input') }),
      options: {
        history: [
          { role: 'user', text: canary },
          { role: 'assistant', text: canary },
        ],
      },
    }),
  },
  {
    name: 'what a view writes',
    surface: 'input',
    build: (kit) => ({
      agent: calling(kit, { agent: { guardrails: kit.watch('input') } }),
      options: {
        view: (messages, { turn, agent }) => (agent === 'desk' && turn === 2 ? [{ text: canary }, ...messages.slice(-2)] : messages),
      },
    }),
  },
];

const outputs: readonly Source[] = [
  {
    name: 'an answer',
    surface: 'output',
    build: (kit) => ({ agent: plain(kit, { model: kit.model(say(canary)), guardrails: kit.watch('output') }) }),
  },
  {
    name: 'an answer twice in a row',
    surface: 'output',
    build: (kit) => ({ agent: plain(kit, { model: kit.model(say(canary), say(`and ${canary}`)), guardrails: kit.watch('output') }) }),
  },
  {
    name: 'an answer with hidden reasoning and a message of the provider',
    surface: 'output',
    build: (kit) => ({
      agent: plain(kit, {
        model: kit.model([think(canary), say(canary), endWith({ native: { all: canary } })]),
        guardrails: kit.watch('output'),
      }),
    }),
  },
  {
    name: 'text beside a call',
    surface: 'output',
    build: (kit) => ({
      agent: calling(kit, { calls: [say(canary), callTool('act', { text: 'plain' })], agent: { guardrails: kit.watch('output') } }),
    }),
  },
  {
    name: 'text beside a handoff',
    surface: 'output',
    build: (kit) => ({
      agent: plain(kit, {
        model: kit.model([say(canary), callTool('transfer_to_other', {})]),
        handoffs: [defineAgent({ name: 'other', instructions: 'Other.', model: kit.model() })],
        guardrails: kit.watch('output'),
      }),
    }),
  },
  {
    name: 'a structured answer',
    surface: 'output',
    build: (kit) => ({
      agent: plain(kit, {
        model: kit.model(say(JSON.stringify({ text: canary })), say('{"text":"fine"}')),
        output: text,
        guardrails: kit.watch('output'),
      }),
    }),
  },
  {
    name: 'reasoning that would be shown',
    surface: 'output',
    build: (kit) => ({
      agent: plain(kit, {
        model: kit.model([think(canary), say('Fine.'), endWith({ native: { thought: canary } })]),
        guardrails: kit.watch('output'),
      }),
      options: { reasoning: 'show' },
    }),
  },
  {
    name: 'the last answer after a limit',
    surface: 'output',
    build: (kit) => ({
      agent: calling(kit, {
        calls: [callTool('act', { text: 'plain' })],
        agent: {
          model: kit.model(callTool('act', { text: 'plain' }), [say(canary), callTool(canary, { text: canary })]),
          guardrails: kit.watch('output'),
        },
      }),
      options: { limits: { turns: 1 }, onLimit: 'finalize' },
    }),
  },
  {
    name: 'what a tool gives as the answer',
    surface: 'output',
    passes: ['toolOutput'],
    build: (kit) => ({
      agent: calling(kit, { tool: { endsRun: true, execute: () => canary }, agent: { guardrails: kit.watch('output') } }),
    }),
  },
];

const toolInputs: readonly Source[] = [
  {
    name: 'arguments',
    surface: 'toolInput',
    build: (kit) => ({ agent: calling(kit, { input: { text: canary }, agent: { guardrails: kit.watch('toolInput') } }) }),
  },
  {
    name: 'arguments, refused by the tool’s own guardrail',
    surface: 'toolInput',
    build: (kit) => ({ agent: calling(kit, { input: { text: canary }, tool: { guardrails: kit.watch('toolInput') } }) }),
  },
  {
    name: 'the name of an argument',
    surface: 'toolInput',
    build: (kit) => ({
      agent: calling(kit, {
        input: { text: 'x', [canary]: 1 },
        tool: { input: z.looseObject({ text: z.string() }) },
        agent: { guardrails: kit.watch('toolInput') },
      }),
    }),
  },
  {
    name: 'arguments of a call that needs an approval',
    surface: 'toolInput',
    build: (kit) => ({
      agent: calling(kit, { input: { text: canary }, tool: { approval: true }, agent: { guardrails: kit.watch('toolInput') } }),
    }),
  },
  {
    name: 'arguments of one of several calls',
    surface: 'toolInput',
    build: (kit) => ({
      agent: calling(kit, {
        calls: [
          callTool('act', { text: 'a' }),
          callTool('act', { text: canary }),
          callTool('act', { text: 'b' }),
          callTool('act', { text: canary }),
        ],
        agent: { guardrails: kit.watch('toolInput') },
      }),
    }),
  },
  {
    name: 'an edit of a person',
    surface: 'toolInput',
    not: ['in a child'],
    build: (kit) => ({
      agent: calling(kit, { tool: { approval: true }, agent: { guardrails: kit.watch('toolInput') } }),
      decide: (approvals) => Object.fromEntries(approvals.map(({ id }) => [id, { edit: { text: canary } }])),
    }),
  },
  {
    name: 'the name of a field of an edit',
    surface: 'toolInput',
    not: ['in a child'],
    build: (kit) => ({
      agent: calling(kit, {
        tool: { approval: true, input: z.looseObject({ text: z.string() }) },
        agent: { guardrails: kit.watch('toolInput') },
      }),
      decide: (approvals) => Object.fromEntries(approvals.map(({ id }) => [id, { edit: { text: 'x', [canary]: 1 } }])),
    }),
  },
  {
    name: 'an edit of a person, in a child run',
    surface: 'toolInput',
    build: (kit) => ({
      agent: plain(kit, {
        model: kit.model(callTool('ask_inner', { input: 'go' })),
        tools: [
          asTool(calling(kit, { tool: { approval: true }, agent: { name: 'inner', guardrails: kit.watch('toolInput') } }), {
            name: 'ask_inner',
            description: 'Asks.',
          }),
        ],
      }),
      decide: (approvals) => Object.fromEntries(approvals.map(({ id }) => [id, { edit: { text: canary } }])),
    }),
  },
  {
    name: 'arguments of a call of an agent',
    surface: 'toolInput',
    build: (kit) => ({
      agent: plain(kit, {
        model: kit.model(callTool('ask_inner', { input: canary })),
        tools: [asTool(plain(kit, { name: 'inner' }), { name: 'ask_inner', description: 'Asks.', brief: () => 'go' })],
        guardrails: kit.watch('toolInput').map((guardrail) => guardrail),
      }),
    }),
  },
];

class Odd {
  readonly held = canary;
  toJSON(): JsonValue {
    return { text: this.held };
  }
}

const results: readonly (readonly [string, () => unknown])[] = [
  ['a text', () => canary],
  ['an object', () => ({ text: canary, deep: [{ deeper: canary }] })],
  ['the name of a field', () => ({ text: 'x', [canary]: 1 })],
  ['a map', () => new Map([[canary, new Set([canary])]])],
  ['an object with its own JSON', () => new Odd()],
  ['parts', () => [{ type: 'text', text: canary }]],
  ['a returned error', () => quoting()],
  ['a tool error', () => toolError(`no ${canary}`, { errorClass: 'not_found' })],
  ['details', () => withDetails({ text: 'fine' }, { text: canary })],
  [
    'a thrown error',
    () => {
      throw quoting();
    },
  ],
  [
    'a thrown error of many lines',
    () => {
      throw new Error(`${canary.split('\n')[0]} is not there\n  at somewhere (${canary})`);
    },
  ],
  [
    'a thrown text',
    () => {
      throw canary;
    },
  ],
  ['a rejection', () => Promise.reject(quoting(TypeError))],
];

const toolOutputs: readonly Source[] = [
  ...results.map(
    ([name, execute]): Source => ({
      name: `a result: ${name}`,
      surface: 'toolOutput',
      build: (kit) => ({ agent: calling(kit, { tool: { execute }, agent: { guardrails: kit.watch('toolOutput') } }) }),
    }),
  ),
  {
    name: 'a result, refused by the tool’s own guardrail',
    surface: 'toolOutput',
    build: (kit) => ({ agent: calling(kit, { tool: { execute: () => canary, guardrails: kit.watch('toolOutput') } }) }),
  },
  {
    name: 'what a projection makes',
    surface: 'toolOutput',
    build: (kit) => ({ agent: calling(kit, { tool: { project: () => canary }, agent: { guardrails: kit.watch('toolOutput') } }) }),
  },
  {
    name: 'what a person says that a call gave',
    surface: 'toolOutput',
    not: ['in a child'],
    build: (kit) => ({
      agent: calling(kit, { tool: { execute: undefined }, agent: { guardrails: kit.watch('toolOutput') } }),
      decide: (approvals) => Object.fromEntries(approvals.map(({ id }) => [id, { result: { text: canary } }])),
    }),
  },
  {
    name: 'words of a tool about its progress',
    surface: 'toolOutput',
    build: (kit) => ({
      agent: calling(kit, {
        tool: {
          execute: (_input: unknown, { progress }: { progress(note: string): void }) => {
            progress(canary);
            progress(`${canary} again`);
            return canary;
          },
        },
        agent: { guardrails: kit.watch('toolOutput') },
      }),
    }),
  },
  {
    name: 'a brief that a tool returns',
    surface: 'toolOutput',
    build: (kit) => {
      const other = defineAgent({ name: 'other', instructions: 'Other.', model: kit.model() });
      return {
        agent: calling(kit, {
          tool: { execute: () => handoff(other, { brief: canary }) },
          agent: { guardrails: kit.watch('toolOutput'), handoffs: [other] },
        }),
      };
    },
  },
];

const handoffs: readonly Source[] = [
  ...(['the source', 'the target'] as const).map(
    (whose): Source => ({
      name: `a brief, with the guardrail of ${whose}`,
      surface: 'handoff',
      build: (kit) => {
        const own = kit.watch('handoff');
        const other = defineAgent({
          name: 'other',
          instructions: 'Other.',
          model: kit.model(),
          guardrails: whose === 'the target' ? [...own] : [],
        });
        return {
          agent: plain(kit, {
            model: kit.model(callTool('pass', { text: canary })),
            handoffs: [handoff(other, { name: 'pass', input: text, brief: ({ text: brief }) => brief })],
            guardrails: whose === 'the source' ? own : [],
          }),
        };
      },
    }),
  ),
  {
    name: 'a history that a filter writes',
    surface: 'input',
    isTold: true,
    passes: ['handoff'],
    build: (kit) => {
      const other = defineAgent({ name: 'other', instructions: 'Other.', model: kit.model(), guardrails: [...kit.watch('input')] });
      return {
        agent: plain(kit, {
          model: kit.model(callTool('pass', {})),
          handoffs: [
            handoff(other, {
              name: 'pass',
              history: (messages) =>
                messages.map((message) =>
                  message.role === 'user'
                    ? { ...message, parts: [{ type: 'text' as const, text: canary, label: message.label }] }
                    : message,
                ),
            }),
          ],
        }),
      };
    },
  },
];

const misfit = text.refine(() => false, { error: ({ input }) => `will not have ${JSON.stringify(input)}` });
const down = (details: object) => Object.assign(quoting(), { isRetryable: true, ...details });

/** What no guardrail is asked about: core itself lets it through nowhere. */
const unguarded: readonly Source[] = [
  {
    name: 'a tool that the model made up',
    build: (kit) => {
      kit.meet();
      return {
        agent: calling(kit, { calls: [say('Look.'), callTool(canary, { [canary]: canary }), callUnparsable(`${canary}2`, canary)] }),
      };
    },
  },
  {
    name: 'arguments that do not fit',
    build: (kit) => {
      kit.meet();
      return {
        agent: calling(kit, {
          calls: [callTool('act', { text: 7, [canary]: canary }), callTool('act', canary), callTool('act', [canary])],
        }),
      };
    },
  },
  {
    name: 'arguments that are no JSON',
    build: (kit) => {
      kit.meet();
      return {
        agent: calling(kit, {
          calls: [callUnparsable('act', `{"text": "${canary}`), callUnparsable('act', canary), callUnparsable('act', `{${canary}: 1}`)],
        }),
      };
    },
  },
  {
    name: 'a schema that quotes the arguments',
    build: (kit) => {
      kit.meet();
      return { agent: calling(kit, { input: { text: canary }, tool: { input: misfit } }) };
    },
  },
  {
    name: 'a schema that throws the arguments',
    build: (kit) => ({ agent: calling(kit, { input: { text: canary }, tool: { input: text.refine(throws(kit)) } }) }),
  },
  {
    name: 'a schema that quotes the brief’s arguments',
    build: (kit) => {
      kit.meet();
      const other = defineAgent({ name: 'other', instructions: 'Other.', model: kit.model(say('Other here.')) });
      return {
        agent: plain(kit, {
          model: kit.model(callTool('pass', { text: canary })),
          handoffs: [handoff(other, { name: 'pass', input: misfit })],
        }),
      };
    },
  },
  {
    name: 'a schema that quotes the answer',
    passes: ['output'],
    build: (kit) => {
      kit.meet();
      return { agent: plain(kit, { model: kit.model(say(JSON.stringify({ text: canary })), say(`no JSON ${canary}`)), output: misfit }) };
    },
  },
  {
    name: 'a schema that quotes a result',
    build: (kit) => {
      kit.meet();
      return { agent: calling(kit, { tool: { execute: () => ({ text: canary }), output: misfit } }) };
    },
  },
  {
    name: 'a brief function that throws',
    build: (kit) => {
      const other = defineAgent({ name: 'other', instructions: 'Other.', model: kit.model(say('Other here.')) });
      return {
        agent: plain(kit, {
          model: kit.model(callTool('pass', { text: 'x' })),
          handoffs: [handoff(other, { name: 'pass', input: text, brief: throws(kit) })],
        }),
      };
    },
  },
  {
    name: 'a history filter that throws',
    build: (kit) => {
      const other = defineAgent({ name: 'other', instructions: 'Other.', model: kit.model(say('Other here.')) });
      return {
        agent: plain(kit, { model: kit.model(callTool('pass', {})), handoffs: [handoff(other, { name: 'pass', history: throws(kit) })] }),
      };
    },
  },
  { name: 'an approval rule that throws', build: (kit) => ({ agent: calling(kit, { tool: { approval: throws(kit) } }) }) },
  { name: 'an approval rule that rejects', build: (kit) => ({ agent: calling(kit, { tool: { approval: async () => throws(kit)() } }) }) },
  {
    name: 'a rule of a policy that throws',
    build: (kit) => ({
      agent: calling(kit, {
        agent: {
          guardrails: [definePolicy({ name: 'p', rules: [{ tool: 'act', when: throws(kit), then: 'allow' }], otherwise: 'allow' })],
        },
      }),
    }),
  },
  { name: 'a projection that throws', build: (kit) => ({ agent: calling(kit, { tool: { project: throws(kit) } }) }) },
  {
    name: 'a projection that gives none',
    build: (kit) => ({
      agent: calling(kit, {
        tool: {
          project: () => {
            kit.meet();
            return { text: canary };
          },
        },
      }),
    }),
  },
  { name: 'a view that throws', build: (kit) => ({ agent: plain(kit, {}), options: { view: throws(kit) } }) },
  {
    name: 'a view that gives nonsense',
    build: (kit) => ({
      agent: plain(kit, {}),
      options: {
        view: (() => {
          kit.meet();
          return [{ [canary]: canary }];
        }) as never,
      },
    }),
  },
  { name: 'instructions that throw', build: (kit) => ({ agent: plain(kit, { instructions: throws(kit) }) }) },
  { name: 'instructions that reject', build: (kit) => ({ agent: plain(kit, { instructions: async () => throws(kit)() }) }) },
  { name: 'a choice of model that throws', build: (kit) => ({ agent: plain(kit, { model: throws(kit) }) }) },
  { name: 'settings that throw', build: (kit) => ({ agent: plain(kit, { settings: throws(kit) }) }) },
  { name: 'a tool’s `enabled` that throws', build: (kit) => ({ agent: calling(kit, { tool: { enabled: throws(kit) } }) }) },
  {
    name: 'an observer that throws',
    build: (kit) => ({ agent: plain(kit, {}), options: { observers: [throws(kit), async () => throws(kit)()] } }),
  },
  {
    name: 'a brief of an agent as a tool that throws',
    build: (kit) => ({
      agent: plain(kit, {
        model: kit.model(callTool('ask_inner', { input: 'go' })),
        tools: [asTool(plain(kit, { name: 'inner' }), { name: 'ask_inner', description: 'Asks.', brief: throws(kit) })],
      }),
    }),
  },
  {
    name: 'a model that throws',
    build: (kit) => {
      kit.meet();
      return { agent: plain(kit, { model: kit.model(failWith(quoting())) }) };
    },
  },
  {
    name: 'a model that throws at once',
    build: (kit) => ({ agent: plain(kit, { model: { id: 'm', provider: 'p', stream: throws(kit) } }) }),
  },
  {
    name: 'a model that fails in the middle',
    build: (kit) => {
      kit.meet();
      return {
        agent: plain(kit, {
          model: kit.model([think(canary), say(canary), callTool('act', { text: canary }), failWith(quoting())]),
          guardrails: kit.watch('output'),
        }),
      };
    },
  },
  {
    name: 'an answer cut by its length',
    build: (kit) => {
      kit.meet();
      return { agent: plain(kit, { model: kit.model([say(canary), endWith({ stopReason: 'length' })]), guardrails: kit.watch('output') }) };
    },
  },
  {
    name: 'a refusal of the provider, and what it says of it',
    build: (kit) => {
      kit.meet();
      return { agent: plain(kit, { model: kit.model([say(canary), refuse(canary)]), guardrails: kit.watch('output') }) };
    },
  },
  {
    name: 'attempts that failed, with retries and a fallback',
    build: (kit) => {
      kit.meet();
      let asked = 0;
      const failing: Model = {
        id: 'failing',
        provider: 'p',
        async *stream() {
          asked += 1;
          yield { type: 'tool.delta', index: 0, text: canary };
          yield { type: 'tool.call', call: { name: 'act', input: { text: canary }, providerId: canary } };
          throw down({ attempt: asked });
        },
      };
      return {
        agent: calling(kit, {
          agent: {
            model: withFallback([withRetry(failing, { attempts: 2, baseMs: 0 }), kit.model(say('In its place.'))], { when: () => true }),
          },
        }),
      };
    },
  },
  {
    name: 'the reason of the caller’s abort',
    not: ['in a child'],
    build: (kit) => {
      kit.meet();
      const controller = new AbortController();
      return {
        agent: calling(kit, {
          tool: {
            execute: () => {
              controller.abort(quoting());
              return 'acted';
            },
          },
        }),
        options: { signal: controller.signal },
      };
    },
  },
  {
    name: 'an answer of a run that is cancelled meanwhile',
    passes: ['output'],
    not: ['in a child'],
    build: (kit) => {
      kit.meet();
      const controller = new AbortController();
      const hold = defineGuardrail({
        name: 'hold',
        on: ['output'],
        check: async () => {
          controller.abort();
          await new Promise((resolve) => setTimeout(resolve, 1));
          return { action: 'allow' };
        },
      });
      return {
        agent: plain(kit, { model: kit.model([think(canary), say(canary)]), guardrails: [hold] }),
        options: { signal: controller.signal },
      };
    },
  },
  {
    name: 'a quarantine store that fails',
    passes: ['output'],
    not: ['in a child'],
    build: (kit) => {
      const asks = defineGuardrail({ name: 'asks', on: ['output'], check: () => ({ action: 'ask', reason: 'look' }) });
      return {
        agent: plain(kit, { model: kit.model(say(canary)), guardrails: [asks] }),
        options: { quarantine: { put: throws(kit), get: throws(kit), delete: throws(kit) } },
      };
    },
  },
  {
    name: 'an answer that a person rejected',
    passes: ['output'],
    build: (kit) => {
      kit.meet();
      const asks = defineGuardrail({
        name: 'asks',
        on: ['output'],
        check: ({ content }) => (content.includes(canary) ? { action: 'ask', reason: 'look' } : { action: 'allow' }),
      });
      const quarantine = openQuarantine();
      return {
        agent: plain(kit, { model: kit.model([think(canary), say(canary), endWith({ native: { all: canary } })]), guardrails: [asks] }),
        options: { quarantine },
        quarantine,
        decide: (approvals) => Object.fromEntries(approvals.map(({ id }) => [id, { reject: 'not this' }])),
      };
    },
  },
];

export const sources: readonly Source[] = [...inputs, ...outputs, ...toolInputs, ...toolOutputs, ...handoffs, ...unguarded];
