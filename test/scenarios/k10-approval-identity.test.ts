import type { Approval, Decisions, RunResult } from '@guardloop/core';
import { allow, asTool, defineAgent, defineGuardrail, definePolicy, defineTool, deny, memorySession, resume, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatAnswer, serve } from './provider-server.js';
import { ends, gate, ofType, sound, stored, unpaired } from './sound.js';

const approvalsOf = (result: RunResult): readonly Approval[] => (result.status === 'interrupted' ? result.approvals : []);
const decideAll = (result: RunResult, decide: (approval: Approval) => Decisions[string]): Decisions =>
  Object.fromEntries(approvalsOf(result).map((approval) => [approval.id, decide(approval)]));

describe('K10', () => {
  describe('S109: a guardrail and an approval around one call', () => {
    const setUp = (answer: (body: string) => ReturnType<typeof allow> | ReturnType<typeof deny>, hold?: Promise<void>) => {
      const under = gate();
      const sent: string[] = [];
      const send = defineTool({
        name: 'send',
        description: 'Sends.',
        input: z.object({ to: z.string(), body: z.string() }),
        approval: true,
        execute: ({ body }) => {
          sent.push(body);
          return 'sent';
        },
      });
      let asked = 0;
      const guard = defineGuardrail({
        name: 'words',
        on: ['toolInput'],
        check: async ({ input }) => {
          asked += 1;
          under.open();
          await hold;
          return answer((input as { readonly body: string }).body);
        },
      });
      const model = scriptedModel([callTool('send', { to: 'x', body: 'hi' }, 'c1'), say('done')]);
      return {
        sent,
        model,
        asked: () => asked,
        under: under.opened,
        agent: defineAgent({ name: 'a', instructions: '', model, tools: [send], guardrails: [guard] }),
      };
    };
    const noForbidden = (body: string) => (body.includes('forbidden') ? deny('a forbidden word') : allow());

    it('S109: a call that is refused anyway is put before nobody', async () => {
      const { agent, sent } = setUp(() => deny('never'));
      const result = await sound(run(agent, 'go'));
      expect(result.status).toBe('completed');
      expect(ends(result.events)).toEqual(['1.0 denied']);
      expect(ofType(result.events, 'approval.request')).toEqual([]);
      expect(sent).toEqual([]);
    });

    it('S109: what a person edits is looked at again', async () => {
      const { agent, sent, asked } = setUp(noForbidden);
      const first = await sound(run(agent, 'go'));
      const decisions = decideAll(first, () => ({ edit: { to: 'x', body: 'forbidden words' } }));
      const result = await sound(resume(agent, stored(first.log), { decisions }).result);
      expect(result.status).toBe('completed');
      expect(ends(result.events)).toEqual(['1.0 denied']);
      expect(sent).toEqual([]);
      expect(asked()).toBe(2);
      expect(JSON.stringify(result.log)).not.toContain('forbidden words');
    });

    it('S109: a decision that comes before the question fits nothing; after it, it counts once', async () => {
      const held = gate();
      const { agent, sent, under } = setUp(noForbidden, held.opened);
      const session = { store: memorySession(), id: 's' };
      const running = run(agent, 'go', { session, runId: 'r' });
      await under;
      await expect(resume(agent, session, { decisions: { 'r/p1': 'approve' } }).result).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
      held.open();
      const first = await sound(running);
      expect(approvalsOf(first).map(({ id }) => id)).toEqual(['r/p1']);
      const result = await sound(resume(agent, session, { decisions: { 'r/p1': 'approve' } }).result);
      expect(result.status).toBe('completed');
      expect(sent).toEqual(['hi']);
      expect(ofType(result.events, 'approval.request')).toHaveLength(1);
      await expect(resume(agent, session, { decisions: { 'r/p1': 'approve' } }).result).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
      expect(sent).toEqual(['hi']);
    });
  });

  describe('S123: an approval and a handoff in one answer', () => {
    const setUp = (isHandoffGated: boolean) => {
      const paid: string[] = [];
      const guards: string[] = [];
      const pay = defineTool({
        name: 'pay',
        description: 'Pays.',
        input: z.object({}),
        approval: true,
        execute: (_, { agent }) => {
          paid.push(agent);
          return 'paid';
        },
      });
      const witness = (name: string) =>
        defineGuardrail({
          name,
          on: ['toolInput'],
          check: () => {
            guards.push(name);
            return allow();
          },
        });
      const gate = defineGuardrail({
        name: 'gate',
        on: ['handoff'],
        check: () => (isHandoffGated ? { action: 'ask', reason: 'look' } : allow()),
      });
      const model = scriptedModel({ triage: [[callTool('pay', {}, 'c1'), callTool('transfer_to_a', {}, 'h1')]], a: [say('A here')] });
      const a = defineAgent({ name: 'a', instructions: '', model, guardrails: [witness('of-a')] });
      const triage = defineAgent({
        name: 'triage',
        instructions: '',
        model,
        tools: [pay],
        handoffs: [a],
        guardrails: [witness('of-triage'), gate],
      });
      return { triage, model, paid, guards };
    };

    it.each([false, true])(
      'S123: the call is decided first, under the agent that made it; then the handoff (gated: %s)',
      async (isGated) => {
        const { triage, model, paid, guards } = setUp(isGated);
        const first = await sound(run(triage, 'go'));
        expect(approvalsOf(first).map(({ tool, agentPath }) => [tool, agentPath])).toEqual([
          ['pay', ['triage']],
          ...(isGated ? [['transfer_to_a', ['triage']]] : []),
        ]);
        expect(first.agent).toBe('triage');
        const result = await sound(resume(triage, stored(first.log), { decisions: decideAll(first, () => 'approve') }).result);
        expect(result).toMatchObject({ status: 'completed', agent: 'a', output: 'A here' });
        expect(paid).toEqual(['triage']);
        expect(new Set(guards)).toEqual(new Set(['of-triage']));
        expect(unpaired(model.requests.at(-1)?.messages ?? [])).toEqual([]);
        expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('paid');
      },
    );

    it('S123: rejected, the call has its answer and the handoff still happens', async () => {
      const { triage, paid } = setUp(false);
      const first = await sound(run(triage, 'go'));
      const result = await sound(resume(triage, stored(first.log), { decisions: decideAll(first, () => ({ reject: 'no' })) }).result);
      expect(result).toMatchObject({ status: 'completed', agent: 'a' });
      expect(ends(result.events)).toEqual(['1.0 rejected']);
      expect(paid).toEqual([]);
    });

    it('S123: a gated handoff that is rejected leaves the agent in place', async () => {
      const { triage } = setUp(true);
      const first = await sound(run(triage, 'go'));
      const decisions = decideAll(first, ({ surface }) => (surface === 'handoff' ? { reject: 'stay' } : 'approve'));
      const result = await sound(
        resume(triage, stored(first.log), { decisions, model: scriptedModel(({ agent }) => say(`still ${agent}`)) }).result,
      );
      expect(result).toMatchObject({ status: 'completed', agent: 'triage', output: 'still triage' });
    });
  });

  describe('S143: decisions are about one call, not about an id or a tool', () => {
    const setUp = async (isStanding: boolean) => {
      const sent: string[] = [];
      const server = await serve(
        chatAnswer({
          calls: [
            { id: 'c1', name: 'send', args: { to: 'a' } },
            { id: 'c2', name: 'send', args: { to: 'b' } },
          ],
        }),
        chatAnswer({ calls: [{ id: 'c1', name: 'send', args: { to: 'evil' } }] }),
        chatAnswer({ text: 'done' }),
      );
      const send = defineTool({
        name: 'send',
        description: 'Sends.',
        input: z.object({ to: z.string() }),
        execute: ({ to }) => {
          sent.push(to);
          return `sent to ${to}`;
        },
      });
      // A permission that the author gives beforehand is a rule.
      const policy = definePolicy({
        name: 'policy',
        rules: [{ tool: send, when: ({ to }) => isStanding && to !== 'b', then: 'allow' }],
        otherwise: 'ask',
      });
      return {
        sent,
        server,
        agent: defineAgent({ name: 'a', instructions: 'Help.', model: server.chat(), tools: [send], guardrails: [policy] }),
      };
    };

    it('S143: a rejected call stays rejected beside an approved one; a reused id with other arguments asks anew, and never gets the old result', async () => {
      const { agent, sent, server } = await setUp(false);
      const first = await sound(run(agent, 'go'));
      expect(approvalsOf(first)).toHaveLength(2);
      const decisions = decideAll(first, (approval) =>
        approval.surface === 'toolInput' && approval.input.to === 'a' ? 'approve' : { reject: 'not b' },
      );
      const second = await sound(resume(agent, stored(first.log), { decisions }).result);
      expect(second.status).toBe('interrupted');
      expect(sent).toEqual(['a']);
      const [asked] = approvalsOf(second);
      expect(asked).toMatchObject({ callId: '2.0', input: { to: 'evil' } });
      expect(asked?.digest).not.toBe(approvalsOf(first)[0]?.digest);
      const last = await sound(resume(agent, stored(second.log), { decisions: decideAll(second, () => ({ reject: 'evil' })) }).result);
      expect(last.status).toBe('completed');
      expect(sent).toEqual(['a']);
      expect(server.problems).toEqual([]);
      const results = ofType(last.events, 'tool.end').map(({ callId, status }) => [callId, status]);
      expect(results).toEqual([
        ['1.0', 'ok'],
        ['1.1', 'rejected'],
        ['2.0', 'rejected'],
      ]);
    });

    it('S143: with a standing approval an exact rejection still counts, and the reused id is a new invocation that runs once', async () => {
      const { agent, sent } = await setUp(false);
      const first = await sound(run(agent, 'go'));
      const decisions = decideAll(first, (approval) =>
        approval.surface === 'toolInput' && approval.input.to === 'a' ? { approve: 'standing', when: {} } : { reject: 'not b' },
      );
      const last = await sound(resume(agent, stored(first.log), { decisions }).result);
      expect(last.status).toBe('completed');
      expect(sent).toEqual(['a', 'evil']);
      expect(ofType(last.events, 'tool.end').map(({ callId, status }) => [callId, status])).toEqual([
        ['1.0', 'ok'],
        ['1.1', 'rejected'],
        ['2.0', 'ok'],
      ]);
    });

    it('S143: with a standing rule the reused id is a new invocation that runs once', async () => {
      const { agent, sent } = await setUp(true);
      const first = await sound(run(agent, 'go'));
      expect(approvalsOf(first).map(({ input }) => input)).toEqual([{ to: 'b' }]);
      const last = await sound(resume(agent, stored(first.log), { decisions: decideAll(first, () => ({ reject: 'not b' })) }).result);
      expect(last.status).toBe('completed');
      expect(sent).toEqual(['a', 'evil']);
    });
  });

  it.each(['at once', 'one after the other'])(
    'S143: two calls that people edit into one send it once, and ask before it is sent again (%s)',
    async (how) => {
      const sent: string[] = [];
      const send = defineTool({
        name: 'send',
        description: 'Sends.',
        input: z.object({ to: z.string() }),
        flow: { effect: 'send' },
        approval: true,
        execute: ({ to }) => {
          sent.push(to);
          return 'sent';
        },
      });
      const model = scriptedModel([[callTool('send', { to: 'a' }), callTool('send', { to: 'b' })], say('ok')]);
      const agent = defineAgent({ name: 'main', instructions: '', model, tools: [send] });
      let result: RunResult = await sound(run(agent, 'go'));
      const [first, second] = approvalsOf(result);
      const edit = { edit: { to: 'c' } };
      const decided =
        how === 'at once'
          ? [{ [first?.id ?? '']: edit, [second?.id ?? '']: edit }]
          : [{ [second?.id ?? '']: edit }, { [first?.id ?? '']: edit }];
      for (const decisions of decided) result = await sound(resume(agent, stored(result.log), { decisions }).result);
      expect(sent).toEqual(['c']);
      expect(approvalsOf(result)).toMatchObject([{ tool: 'send', input: { to: 'c' }, asks: [{ by: 'core' }] }]);
      const refused = await sound(
        resume(agent, stored(result.log), { decisions: decideAll(result, () => ({ reject: 'once is enough' })) }).result,
      );
      expect(refused.status).toBe('completed');
      expect(sent).toEqual(['c']);
      const again = await sound(resume(agent, stored(result.log), { decisions: decideAll(result, () => 'approve') }).result);
      expect(again.status).toBe('completed');
      expect(sent).toEqual(['c', 'c']);
    },
  );

  describe('S152: approvals of agents within agents', () => {
    const setUp = () => {
      const wiped: string[] = [];
      const wipe = defineTool({
        name: 'wipe',
        description: 'Wipes.',
        input: z.object({}),
        approval: true,
        execute: (_, { run: runId }) => {
          wiped.push(runId);
          return 'wiped';
        },
      });
      const model = scriptedModel({
        main: [[callTool('ask_helper', { input: '1' }, 'm1'), callTool('ask_helper', { input: '2' }, 'm2')], say('main ok')],
        helper: [callTool('ask_leaf', { input: 'x' }, 'h1'), say('helper ok')],
        leaf: [callTool('wipe', {}, 'l1'), say('leaf ok')],
      });
      const leaf = defineAgent({ name: 'leaf', instructions: '', model, tools: [wipe] });
      const helper = defineAgent({
        name: 'helper',
        instructions: '',
        model,
        tools: [asTool(leaf, { name: 'ask_leaf', description: 'L.' })],
      });
      const main = defineAgent({
        name: 'main',
        instructions: '',
        model,
        tools: [asTool(helper, { name: 'ask_helper', description: 'H.' })],
      });
      return { main, model, wiped };
    };

    it('S152: each is asked by its own path; approving one runs that one, and nothing done is done again', async () => {
      const { main, model, wiped } = setUp();
      const first = await sound(run(main, 'go', { runId: 'r' }));
      expect(approvalsOf(first).map(({ agentPath, run: runId, id }) => [agentPath.join('>'), runId, id])).toEqual([
        ['main>helper>leaf', 'r/1.0/1.0', 'r/1.0/1.0/p1'],
        ['main>helper>leaf', 'r/1.1/1.0', 'r/1.1/1.0/p1'],
      ]);
      const before = model.requests.length;
      const log = stored(first.log);

      const left = await sound(resume(main, stored(log), { decisions: { 'r/1.0/1.0/p1': 'approve' } }).result);
      expect(left.status).toBe('interrupted');
      expect(approvalsOf(left).map(({ id }) => id)).toEqual(['r/1.1/1.0/p1']);
      expect(wiped).toEqual(['r/1.0/1.0']);
      expect(model.requests.slice(before).map(({ agent, turn }) => `${agent} ${turn}`)).toEqual(['leaf 2', 'helper 2']);

      // Another copy of the same log knows nothing of that decision.
      const right = await sound(resume(main, stored(log), { decisions: { 'r/1.1/1.0/p1': { reject: 'no' } } }).result);
      expect(approvalsOf(right).map(({ id }) => id)).toEqual(['r/1.0/1.0/p1']);
      expect(wiped).toEqual(['r/1.0/1.0']);

      const last = await sound(resume(main, stored(left.log), { decisions: { 'r/1.1/1.0/p1': 'approve' } }).result);
      expect(last).toMatchObject({ status: 'completed', output: 'main ok' });
      expect(wiped).toEqual(['r/1.0/1.0', 'r/1.1/1.0']);
    });
  });

  it.each<[string, Decisions[string]]>([
    ['once', 'approve'],
    ['for good', { approve: 'standing', when: {} }],
  ])('S177: tools of one name at two owners are two tools: approving one %s leaves the other waiting', async (_how, approval) => {
    const deleted: string[] = [];
    const del = (owner: string) =>
      defineTool({
        name: 'del',
        description: 'D.',
        input: z.object({}),
        approval: true,
        execute: () => {
          deleted.push(owner);
          return 'deleted';
        },
      });
    const model = scriptedModel({
      main: [[callTool('ask_a', { input: 'x' }), callTool('ask_b', { input: 'x' })], say('ok')],
      a: [callTool('del'), say('a')],
      b: [callTool('del'), say('b')],
    });
    const part = (name: 'a' | 'b') =>
      asTool(defineAgent({ name, instructions: '', model, tools: [del(name)] }), { name: `ask_${name}`, description: name });
    const main = defineAgent({ name: 'main', instructions: '', model, tools: [part('a'), part('b')] });
    const first = await sound(run(main, 'go'));
    const ofA = approvalsOf(first).find(({ agentPath }) => agentPath.at(-1) === 'a');
    const second = await sound(resume(main, stored(first.log), { decisions: { [ofA?.id ?? '']: approval } }).result);
    expect(approvalsOf(second).map(({ agentPath, tool }) => [...agentPath, tool])).toEqual([['main', 'b', 'del']]);
    expect(deleted).toEqual(['a']);
    const last = await sound(resume(main, stored(second.log), { decisions: decideAll(second, () => ({ reject: 'no' })) }).result);
    expect(last.status).toBe('completed');
    expect(deleted).toEqual(['a']);
    expect(ofType(last.events, 'approval.resolve').map(({ decision }) => decision)).toEqual(['approve', 'reject']);
  });
});
