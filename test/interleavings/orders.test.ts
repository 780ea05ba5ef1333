import type { RunResult } from '@guardloop/core';
import { ask, asTool, defineAgent, deny, GuardloopError, handoff, memorySession, resume, rewrite, run, stream } from '@guardloop/core';
import { auditLog, callTool, exploreOrders, say } from '@guardloop/testing';
import { expect, it, vi } from 'vitest';
import { unhandled } from '../scenarios/sound.js';
import { inOrders } from './in-orders.js';
import { Scene, watched } from './scene.js';

vi.setConfig({ testTimeout: 60_000 });

const call = (name: string, id: string) => callTool(name, { id });

it('parallel tools with guardrails on both sides, effects, and a slow store, run and streamed', async () => {
  let doors = 0;
  await inOrders(250, async (scene, scheduler) => {
    const tools = [
      scene.tool('find'),
      scene.tool('fail', {
        gives: () => {
          throw new Error('not there');
        },
      }),
      scene.tool('send', { effect: 'send' }),
      scene.tool('write', { effect: 'write' }),
    ];
    const guardrails = [
      scene.guard('clean', ['toolOutput', 'output'], { as: 'rewrite', answer: ({ content }) => rewrite(`${content}!`, 'cleaner') }),
      scene.guard('own', 'toolInput', { answer: ({ content }) => (content.includes('o9') ? deny('not yours') : { action: 'allow' }) }),
      scene.guard('tone', ['toolInput', 'output']),
    ];
    const model = scene.model([
      [
        say('Let me see.'),
        call('find', 'o1'),
        call('send', 's1'),
        call('find', 'o2'),
        call('fail', 'f'),
        call('write', 'w'),
        call('find', 'o9'),
      ],
      [call('send', 's2'), call('find', 'o3'), call('find', 'o4')],
      say('All done.'),
    ]);
    const agent = defineAgent({ name: 'desk', instructions: async () => scheduler.settle('Help.', 'instructions'), model, tools });
    const door = doors++ % 2 === 0 ? 'run' : 'stream';
    const session = { store: scene.store(), id: 's' };
    const result = await scheduler.run(() => scene.through(door, agent, { ...scene.options, guardrails, session }));
    expect(result).toMatchObject({ status: 'completed', output: 'All done.!' });
    expect(scene.effects.filter((key) => key !== undefined)).toHaveLength(8);
    expect(scene.shown).toBe('Let me see.!All done.!');
    return result;
  });
});

it.each([
  ['allowed', undefined],
  ['denied', 'second'],
] as const)('guardrails beside the model: %s', async (_, denies) => {
  await inOrders(200, async (scene, scheduler) => {
    const answer = (name: string) => () => (name === denies ? deny(`${name} says no`) : { action: 'allow' as const });
    const guardrails = [
      scene.guard('before', 'input', { as: 'rewrite', answer: ({ content }) => rewrite(content.replace('secret', '…'), 'a word') }),
      scene.guard('first', 'input', { beside: 'model', answer: answer('first') }),
      scene.guard('second', 'input', { beside: 'model', answer: answer('second') }),
      scene.guard('third', 'input', { beside: 'model', answer: answer('third') }),
    ];
    const model = scene.model([[say('I look.'), call('find', 'o1')], say('Done, in many words.')], 4);
    const agent = defineAgent({ name: 'desk', instructions: 'Help.', model, tools: [scene.tool('find')], guardrails });
    const result = await scheduler.run(() => watched(scene, stream(agent, 'my secret', scene.options)));
    if (denies === undefined) {
      expect(result).toMatchObject({ status: 'completed', output: 'Done, in many words.' });
      expect(scene.shown).toBe('I look.Done, in many words.');
    } else {
      expect(result).toMatchObject({ status: 'blocked', by: 'second' });
      expect([scene.shown, scene.effects]).toEqual(['', []]);
    }
    expect(JSON.stringify([result.log, model.requests])).not.toContain('secret');
    return result;
  });
});

it('child runs side by side, two levels deep', async () => {
  await inOrders(250, async (scene, scheduler) => {
    const leafModel = scene.model(({ turn, messages }) =>
      turn === 1 ? [call('find', 'a'), call('find', 'b')] : say(`leaf saw ${messages.length}`),
    );
    const leaf = defineAgent({
      name: 'leaf',
      instructions: 'Leaf.',
      model: leafModel,
      tools: [scene.tool('find')],
      guardrails: [scene.guard('leaf-output', 'output')],
    });
    const middleModel = scene.model(({ turn }) =>
      turn === 1 ? [callTool('leaf', { input: 'x' }), call('look', 'c')] : say('middle is done'),
    );
    const middle = defineAgent({
      name: 'middle',
      instructions: 'Middle.',
      model: middleModel,
      tools: [asTool(leaf, { name: 'leaf', description: 'L.' }), scene.tool('look')],
    });
    const model = scene.model([
      [callTool('middle', { input: 'one' }), callTool('leaf', { input: 'two' }), call('find', 'd')],
      say('Everything came.'),
    ]);
    const agent = defineAgent({
      name: 'top',
      instructions: 'Top.',
      model,
      tools: [asTool(middle, { name: 'middle', description: 'M.' }), asTool(leaf, { name: 'leaf', description: 'L.' }), scene.tool('find')],
    });
    const guardrails = [scene.guard('all', ['toolInput', 'toolOutput'])];
    const result = await scheduler.run(() => run(agent, 'go', { ...scene.options, guardrails }));
    expect(result).toMatchObject({ status: 'completed', output: 'Everything came.' });
    expect(scene.effects).toHaveLength(6);
    return result;
  });
});

it('handoffs with filters, briefs and a target that looks at what it is given', async () => {
  await inOrders(200, async (scene, scheduler) => {
    const billing = defineAgent({
      name: 'billing',
      description: 'Bills.',
      instructions: 'Bill.',
      model: scene.model({ billing: [[call('look', 'b1'), callTool('transfer_to_triage')], say('never')] }),
      tools: [scene.tool('look')],
      handoffs: ['triage'],
      guardrails: [
        scene.guard('entry', 'input', { as: 'rewrite', answer: ({ content }) => rewrite(content.replaceAll('secret', '…'), 'a word') }),
        scene.guard('entry-check', ['input', 'handoff']),
      ],
    });
    const script = ({ messages }: { messages: readonly { role: string; via?: string }[] }) =>
      messages.some(({ via }) => via === 'handoff')
        ? say('Back at the desk.')
        : [call('find', 'secret 1'), callTool('to_billing', {}), call('find', 'o2')];
    const triage = defineAgent({
      name: 'triage',
      instructions: 'Triage.',
      model: scene.model(script as never),
      tools: [scene.tool('find')],
      handoffs: [
        handoff(billing, {
          name: 'to_billing',
          history: async (messages) =>
            scheduler.settle(
              messages.filter(({ role }) => role !== 'tool' && role !== 'assistant'),
              'filter',
            ),
        }),
      ],
      guardrails: [scene.guard('source', ['handoff', 'output'])],
    });
    const guardrails = [scene.guard('all', ['input', 'toolInput', 'toolOutput', 'handoff'])];
    const result = await scheduler.run(() => watched(scene, stream(triage, 'a secret', { ...scene.options, guardrails }) as never));
    expect(result).toMatchObject({ status: 'completed', agent: 'triage', output: 'Back at the desk.' });
    expect(scene.shown).toBe('Back at the desk.');
    return result;
  });
});

it('approvals in a batch, edits and an answer in quarantine, resumed from a slow store', async () => {
  await inOrders(200, async (scene, scheduler) => {
    const model = scene.model([
      [call('pay', 'p1'), call('find', 'f1'), call('pay', 'p2'), callTool('ask_leaf', { input: 'x' })],
      say('All paid.'),
    ]);
    const leaf = defineAgent({
      name: 'leaf',
      instructions: 'Leaf.',
      model: scene.model([call('pay', 'leaf'), say('leaf paid')]),
      tools: [scene.tool('pay', { effect: 'send', approval: true })],
    });
    const agent = defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model,
      tools: [
        scene.tool('pay', { effect: 'send', approval: true }),
        scene.tool('find'),
        asTool(leaf, { name: 'ask_leaf', description: 'L.' }),
      ],
      guardrails: [scene.guard('reads', 'output', { answer: () => ask('a person reads it') })],
    });
    const guardrails = [scene.guard('all', ['toolInput', 'toolOutput'])];
    const session = { store: scene.store(), id: 's' };
    const options = { ...scene.options, guardrails, quarantine: scene.quarantine() };
    const first = await scheduler.run(() => run(agent, 'go', { ...options, session }));
    if (first.status !== 'interrupted') throw new Error(first.status);
    expect(first.approvals.map(({ surface }) => surface)).toEqual(['toolInput', 'toolInput', 'toolInput']);
    expect(scene.effects).toHaveLength(1);
    const byInput = new Map(
      first.approvals.map((approval) => [approval.surface === 'toolInput' ? String(approval.input.id) : '', approval.id]),
    );
    const decisions = {
      [byInput.get('p1') ?? '']: 'approve',
      [byInput.get('p2') ?? '']: { edit: { id: 'p3' } },
      [byInput.get('leaf') ?? '']: 'approve',
    } as const;
    const second = await scheduler.run(() => watched(scene, resume(agent, session, { ...options, decisions })));
    if (second.status !== 'interrupted') throw new Error(second.status);
    expect(second.approvals.map(({ surface }) => surface)).toEqual(['output']);
    expect(scene.shown).toBe('');
    const third = await scheduler.run(() =>
      Promise.resolve(resume(agent, session, { ...options, decisions: { [second.approvals[0]?.id ?? '']: 'approve' } }).result),
    );
    expect(third).toMatchObject({ status: 'completed', output: 'All paid.' });
    expect(scene.shown).toBe('All paid.');
    expect(scene.effects).toHaveLength(4);
    return third;
  });
});

it('three runs of one session, watched by a slow reader through windows', async () => {
  await inOrders(150, async (scene, scheduler) => {
    const session = { store: scene.store(), id: 's' };
    const hide = (word: string) =>
      scene.guard(`no-${word}`, 'output', {
        as: 'rewrite',
        window: 8,
        answer: ({ content }) => {
          const start = content.indexOf(word);
          return start < 0 ? { action: 'allow' } : rewrite([{ start, end: start + word.length, with: '…' }], word);
        },
      });
    const model = scene.model(({ messages }) => say(`The canary of ${messages.length} sings in the secret garden.`), 7);
    const agent = defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model,
      guardrails: [hide('canary'), hide('secret'), scene.guard('entry', 'input')],
    });
    let last: RunResult | undefined;
    for (const input of ['one', 'two', 'three']) {
      scene.goOn();
      last = await scheduler.run(() => watched(scene, stream(agent, input, { ...scene.options, session })));
      expect(last.status).toBe('completed');
    }
    expect(scene.shown).toBe([1, 3, 5].map((count) => `The … of ${count} sings in the … garden.`).join(''));
    if (last === undefined) throw new Error('no run');
    return last;
  });
});

it('runs that queue on a session take their turns in the order in which they came', async () => {
  await inOrders(100, async (scene, scheduler) => {
    const session = { store: scene.store(), id: 's', onConflict: 'queue' } as const;
    const model = scene.model(({ turn, messages }) => (turn === 1 ? call('send', `${messages.length}`) : say(`saw ${messages.length}`)));
    const guardrails = [scene.guard('all', ['input', 'toolInput', 'output'])];
    const agent = defineAgent({ name: 'desk', instructions: 'Help.', model, tools: [scene.tool('send', { effect: 'send' })], guardrails });
    const results = await scheduler.run(() =>
      Promise.all(['one', 'two', 'three'].map((input) => run(agent, input, { clock: scene.clock, signal: scene.stop.signal, session }))),
    );
    expect(results.map((result) => result.status === 'completed' && result.output)).toEqual(['saw 3', 'saw 7', 'saw 11']);
    const [, , last] = results;
    if (last === undefined) throw new Error('no run');
    return last;
  });
});

it('runs that meet on a session without a queue: one is entered at a time, and who loses shows and does nothing', async () => {
  const rejections = unhandled();
  const codes = new Set<string>();
  await exploreOrders({ orders: 150 }, async (scheduler) => {
    const scene = new Scene(scheduler);
    const inner = memorySession();
    const session = { store: scene.store(inner), id: 's' };
    const model = scene.model(({ turn }) => (turn === 1 ? call('send', 's') : say('sent')));
    const agent = defineAgent({ name: 'desk', instructions: 'Help.', model, tools: [scene.tool('send', { effect: 'send' })] });
    const shown: string[] = [];
    const start = async (name: string): Promise<RunResult | undefined> => {
      await scheduler.pause(name);
      const observers = [(): void => void shown.push(name)];
      try {
        return await run(agent, name, { clock: scene.clock, signal: scene.stop.signal, session, observers });
      } catch (thrown) {
        if (!GuardloopError.is(thrown)) throw thrown;
        codes.add(thrown.code);
        expect(shown).not.toContain(name);
        return undefined;
      }
    };
    const results = await scheduler.run(() => Promise.all(['one', 'two', 'three'].map(start)));
    const entered = results.filter((result) => result !== undefined);
    expect(entered.length).toBeGreaterThan(0);
    for (const result of entered) expect(result).toMatchObject({ status: 'completed', output: 'sent' });
    expect(scene.effects).toHaveLength(entered.length);
    const events = await inner.load('s');
    expect(auditLog({ version: 1, events })).toEqual([]);
    expect(events.filter(({ type }) => type === 'run.end')).toHaveLength(entered.length);
    expect(scheduler.timers).toEqual([]);
  });
  expect([...codes].sort()).toEqual(['LOG_CONFLICT', 'RESUME_MISMATCH']);
  expect(rejections).toEqual([]);
});
