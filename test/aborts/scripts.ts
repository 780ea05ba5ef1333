import type { Agent, Decision, Decisions, ResumeOptions, RunOptions, RunResult, RunStream, SessionReference } from '@guardloop/core';
import { ask, asTool, defineAgent, GuardloopError, handoff, resume, rewrite, run, stream, withRetry, withTimeouts } from '@guardloop/core';
import { callTool, failWith, say } from '@guardloop/testing';
import type { Scene } from '../interleavings/scene.js';

type Options = RunOptions<unknown> & ResumeOptions<unknown>;

/** A run that waits for much: what it is made of, in one scene. */
export interface Made {
  readonly agent: Agent<unknown>;
  readonly options: Options;
  readonly session?: SessionReference | undefined;
}
export type Make = (scene: Scene) => Made;

const call = (name: string, id: string) => callTool(name, { id });

/** Runs that wait in every way there is. All complete when they are left alone, some after people have decided. */
export const scripts: { readonly [name: string]: Make } = {
  'parallel tools, effects and a slow store': (scene) => ({
    session: { store: scene.store(), id: 's' },
    options: {
      guardrails: [
        scene.guard('clean', ['input', 'toolOutput'], { as: 'rewrite', answer: ({ content }) => rewrite(`${content}!`, 'cleaner') }),
        scene.guard('all', ['input', 'toolInput', 'toolOutput', 'output']),
      ],
      concurrency: 2,
      project: async ({ content }: { content: string }) => content,
    } as never,
    agent: defineAgent({
      name: 'desk',
      instructions: async () => {
        await scene.turn('instructions');
        return 'Help.';
      },
      model: scene.model([
        [say('Let me see.'), call('find', 'o1'), call('send', 's1'), call('find', 'o2'), call('find', 'o3')],
        [call('send', 's2'), call('find', 'o4')],
        say('All done.'),
      ]),
      tools: [scene.tool('find'), scene.tool('send', { effect: 'send' })],
    }) as never,
  }),
  'text through windows, guardrails beside the model': (scene) => ({
    options: {},
    agent: defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model: scene.model(
        [[say('I look for the order.'), call('find', 'o1')], say('It is on its way to you.'), say('It is on its way.')],
        4,
      ),
      tools: [scene.tool('find')],
      guardrails: [scene.guard('beside', 'input', { beside: 'model' }), scene.guard('window', 'output', { as: 'rewrite', window: 3 })],
    }) as never,
  }),
  'child runs on two levels': (scene) => {
    const leaf = defineAgent({
      name: 'leaf',
      instructions: 'Leaf.',
      model: scene.model(({ turn }) => (turn === 1 ? [call('find', 'a'), call('send', 'b')] : say('leaf is done'))),
      tools: [scene.tool('find'), scene.tool('send', { effect: 'send' })],
      guardrails: [scene.guard('leaf-output', 'output')],
    });
    const middle = defineAgent({
      name: 'middle',
      instructions: 'Middle.',
      model: scene.model(({ turn }) => (turn === 1 ? [callTool('leaf', { input: 'x' }), call('look', 'c')] : say('middle is done'))),
      tools: [asTool(leaf, { name: 'leaf', description: 'L.', stream: true }), scene.tool('look')],
    });
    return {
      session: { store: scene.store(), id: 's' },
      options: { guardrails: [scene.guard('all', ['input', 'toolInput', 'toolOutput'])] as never },
      agent: defineAgent({
        name: 'top',
        instructions: 'Top.',
        model: scene.model([[callTool('middle', { input: 'one' }), callTool('leaf', { input: 'two' })], say('Everything came.')]),
        tools: [asTool(middle, { name: 'middle', description: 'M.', stream: true }), asTool(leaf, { name: 'leaf', description: 'L.' })],
      }) as never,
    };
  },
  'handoffs with a filter, there and back': (scene) => {
    const billing = defineAgent({
      name: 'billing',
      description: 'Bills.',
      instructions: 'Bill.',
      model: scene.model(() => [call('look', 'b1'), callTool('transfer_to_triage')]),
      tools: [scene.tool('look')],
      handoffs: ['triage'],
      guardrails: [scene.guard('entry', ['input', 'handoff'])],
    });
    const history = async <T extends { role: string }>(messages: readonly T[]): Promise<readonly T[]> => {
      await scene.turn('filter');
      return messages.filter(({ role }) => role === 'user');
    };
    return {
      options: { guardrails: [scene.guard('all', ['input', 'toolInput', 'handoff', 'output'])] as never },
      agent: defineAgent({
        name: 'triage',
        instructions: 'Triage.',
        model: scene.model(({ messages }) =>
          messages.some((message) => message.role === 'user' && message.via === 'handoff')
            ? say('Back at the desk.')
            : [call('find', 'o1'), callTool('to_billing', {}), call('find', 'o2')],
        ),
        tools: [scene.tool('find')],
        handoffs: [handoff(billing, { name: 'to_billing', history: history as never })],
      }) as never,
    };
  },
  'approvals in a batch, in a child run too': (scene) => {
    const pay = scene.tool('pay', { effect: 'send', approval: true });
    const leaf = defineAgent({ name: 'leaf', instructions: '', model: scene.model([call('pay', 'leaf'), say('leaf paid')]), tools: [pay] });
    return {
      session: { store: scene.store(), id: 's' },
      options: { guardrails: [scene.guard('all', ['toolInput', 'toolOutput'])] as never },
      agent: defineAgent({
        name: 'desk',
        instructions: 'Help.',
        model: scene.model([[call('pay', 'p1'), call('find', 'f'), call('pay', 'p2'), callTool('leaf', { input: 'x' })], say('All paid.')]),
        tools: [pay, scene.tool('find'), asTool(leaf, { name: 'leaf', description: 'L.' })],
      }) as never,
    };
  },
  'an answer in quarantine': (scene) => ({
    options: { quarantine: scene.quarantine() },
    agent: defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model: scene.model([[say('I look.'), call('find', 'o1')], say('A delicate answer.')]),
      tools: [scene.tool('find')],
      guardrails: [
        scene.guard('reads', 'output', {
          answer: ({ content }) => (content.includes('delicate') ? ask('a person reads it') : { action: 'allow' }),
        }),
      ],
    }) as never,
  }),
  'a view that writes a summary': (scene) => ({
    options: {
      view: (async (messages: readonly unknown[]) => {
        await scene.turn('view');
        return [...messages, { text: 'Mind the summary.' }];
      }) as never,
      guardrails: [scene.guard('all', ['input', 'output'])] as never,
    },
    agent: defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model: scene.model([call('find', 'o1'), say('Done.')]),
      tools: [scene.tool('find')],
    }) as never,
  }),
  'a model that is asked again': (scene) => {
    const down = new GuardloopError('MODEL_FAILED', 'Down.', { isRetryable: true });
    let failed = 0;
    const model = scene.model(({ turn }) => {
      failed += 1;
      return failed % 3 === 0 ? (turn === 1 ? call('find', 'o1') : say('Done.')) : failWith(down);
    });
    const { clock } = scene;
    return {
      options: {},
      agent: defineAgent({
        name: 'desk',
        instructions: 'Help.',
        model: withRetry(withTimeouts(model, { totalMs: 60_000, clock }), { clock, baseMs: 400, jitter: 'none', attempts: 20 }),
        tools: [scene.tool('find')],
      }) as never,
    };
  },
};

/** Approves everything that waits. */
export function approveAll(result: RunResult): Decisions {
  const approvals = result.status === 'interrupted' ? result.approvals : [];
  return Object.fromEntries(approvals.map(({ id }): [string, Decision] => [id, 'approve']));
}

/** How a reader leaves a stream: out of its loop, by an error of its own, or by throwing into the stream. */
export type Leaving = 'break' | 'throw' | 'throw into';

export interface Going {
  /** The result to go on from. */
  readonly from?: RunResult | undefined;
  readonly door?: 'run' | 'stream' | undefined;
  readonly more?: Options | undefined;
  /** Asked at each event that is read. */
  readonly leave?: (() => Leaving | undefined) | undefined;
}

/** What a leaving reader throws. */
export const left = Object.assign(new Error('seen enough'), { name: 'Left', code: 'E_LEFT' });

/** Goes on until the run ends: people approve everything that waits. */
export async function goThrough(
  scene: Scene,
  { agent, options, session }: Made,
  { from, door = 'run', more = {}, leave }: Going = {},
): Promise<RunResult> {
  const all = { ...scene.options, ...options, ...more };
  const drain = (open: () => RunStream): Promise<RunResult> =>
    scene.scheduler.run(async () => {
      const watched = open();
      if (door === 'stream') await read(watched, leave);
      return watched.result;
    });
  const begin = (): Promise<RunResult> => {
    const given = (session === undefined ? all : { ...all, session }) as never;
    return door === 'stream' ? drain(() => stream(agent, 'go', given) as never) : scene.scheduler.run(() => run(agent, 'go', given));
  };
  const goOn = (last: RunResult): Promise<RunResult> => {
    scene.goOn();
    // Taken where the run was stopped before its input was accepted.
    const given = { ...all, decisions: approveAll(last), input: 'go' } as never;
    return drain(() => resume(agent, session ?? last.log, given) as never);
  };
  let result = from === undefined ? await begin() : await goOn(from);
  while (result.status === 'interrupted') result = await goOn(result);
  return result;
}

async function read(watched: AsyncIterable<unknown>, leave: Going['leave']): Promise<void> {
  const iterator = watched[Symbol.asyncIterator]();
  try {
    for await (const _ of { [Symbol.asyncIterator]: () => iterator }) {
      const how = leave?.();
      if (how === 'break') break;
      if (how === 'throw') throw left;
      if (how === 'throw into') await iterator.throw?.(left);
    }
  } catch (thrown) {
    if (thrown !== left) throw thrown;
  }
}
