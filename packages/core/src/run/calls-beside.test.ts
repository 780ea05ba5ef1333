import { describe, expect, it } from 'vitest';
import { agentOf, calls, gate, scripted, tool } from '../../test/scene.js';
import { asTool } from '../define/as-tool.js';
import { defineGuardrail } from '../define/guardrail.js';
import type { GuardInfo, ToolInputSubject } from '../define/types.js';
import { allow, ask, deny, rewrite } from '../define/verdict.js';
import { memorySession } from '../session/memory.js';
import type { LogEvent } from '../state/events.js';
import { resume, run } from './run.js';

/** A guardrail that writes down, for each call of `pay`, which other calls of it there are, and answers as it is told. */
function watching(answer: (subject: ToolInputSubject, beside: readonly string[]) => unknown = allow) {
  const seen: string[] = [];
  const guardrail = defineGuardrail({
    name: 'watch',
    on: ['toolInput'],
    tools: ['pay'],
    check: (subject, info: GuardInfo) => {
      const call = subject as ToolInputSubject;
      const beside = info.calls
        .filter((each) => each.tool === 'pay')
        .map(({ run: id, callId, isStarted, input }) => `${id}/${callId}${isStarted ? '!' : ''}=${String(input.cents)}`);
      seen.push(`${info.run}/${call.callId}: ${beside.join(' ')}`.trim());
      return answer(call, beside) as ReturnType<typeof allow>;
    },
  });
  return { guardrail, seen };
}
const pay = (cents: number) => calls('pay', { cents });
const done = () => 'Paid.';

describe('the other calls that a guardrail is told of', () => {
  it('are those before it in the same answer, and those that have run', async () => {
    const { guardrail, seen } = watching();
    const model = scripted([pay(1), pay(2)], [pay(3)], 'Done.');
    await run(agentOf({ model, tools: [tool('pay', done)], guardrails: [guardrail] }), 'hello', { runId: 'r1' });
    expect(seen).toEqual(['r1/1.0:', 'r1/1.1: r1/1.0=1', 'r1/2.0: r1/1.0!=1 r1/1.1!=2']);
  });

  it('are not those that were refused, of this answer and of earlier ones', async () => {
    const { guardrail, seen } = watching(({ raw }) => (raw.cents === 1 ? deny('no') : allow()));
    const model = scripted([pay(1), pay(2)], [pay(1)], [pay(3)], 'Done.');
    await run(agentOf({ model, tools: [tool('pay', done)], guardrails: [guardrail] }), 'hello', { runId: 'r1' });
    expect(seen).toEqual(['r1/1.0:', 'r1/1.1:', 'r1/2.0: r1/1.1!=2', 'r1/3.0: r1/1.1!=2']);
  });

  it('are not those of which the arguments did not fit, and not the copies of one', async () => {
    const { guardrail, seen } = watching();
    const model = scripted([calls('pay', 'nothing'), pay(2), pay(2)], [pay(3)], 'Done.');
    const tools = [tool('pay', done, { flow: { effect: 'send' } })];
    await run(agentOf({ model, tools, guardrails: [guardrail] }), 'hello', { runId: 'r1' });
    expect(seen).toEqual(['r1/1.1:', 'r1/1.2: r1/1.1=2', 'r1/2.0: r1/1.1!=2']);
  });

  it('come one before the other however long their guardrails take: never two that do not see each other', async () => {
    const { guardrail, seen } = watching();
    const slow = gate<void>();
    const first = defineGuardrail({
      name: 'slow',
      on: ['toolInput'],
      rewrite: async ({ raw }) => {
        if (raw.cents !== 1) return allow();
        await slow.promise;
        return rewrite({ cents: 10 }, 'ten');
      },
    });
    const model = scripted([pay(1), pay(2)], [pay(3)], 'Done.');
    const running = run(agentOf({ model, tools: [tool('pay', done)], guardrails: [first, guardrail] }), 'hello', { runId: 'r1' });
    while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    slow.resolve();
    await running;
    expect(seen).toEqual(['r1/1.1: r1/1.0=1', 'r1/1.0:', 'r1/2.0: r1/1.0!=10 r1/1.1!=2']);
  });

  it('are those that wait for a person too, after a resume as before, with what the person wrote', async () => {
    const { guardrail, seen } = watching(({ raw }) => (raw.cents === 1 ? ask('why') : allow()));
    const agent = () =>
      agentOf({ model: scripted([pay(1), pay(2)], [pay(3)], 'Done.'), tools: [tool('pay', done)], guardrails: [guardrail] });
    const store = memorySession();
    const first = await run(agent(), 'hello', { runId: 'r1', session: { store, id: 's' } });
    if (first.status !== 'interrupted') throw new Error(first.status);
    seen.length = 0;
    const [approval] = first.approvals;
    const last = await resume(agent(), { store, id: 's' }, { decisions: { [approval?.id ?? '']: { edit: { cents: 7 } } } });
    expect(last.status).toBe('completed');
    expect(seen).toEqual(['r1/1.0: r1/1.1!=2', 'r1/2.0: r1/1.0!=7 r1/1.1!=2']);
  });

  it('are not those that a person rejected, but those that a person ran', async () => {
    const { guardrail, seen } = watching(({ raw }) => ((raw.cents as number) < 3 ? ask('why') : allow()));
    const agent = () =>
      agentOf({ model: scripted([pay(1), pay(2)], [pay(3)], 'Done.'), tools: [tool('pay', done)], guardrails: [guardrail] });
    const store = memorySession();
    const first = await run(agent(), 'hello', { runId: 'r1', session: { store, id: 's' } });
    if (first.status !== 'interrupted') throw new Error(first.status);
    seen.length = 0;
    const [one, two] = first.approvals.map(({ id }) => id);
    await resume(agent(), { store, id: 's' }, { decisions: { [one ?? '']: { reject: 'no' }, [two ?? '']: { result: 'By hand.' } } });
    expect(seen).toEqual(['r1/2.0: r1/1.1!=2']);
  });

  it('are those of all runs of a tree, and none of an earlier run of the session', async () => {
    const { guardrail, seen } = watching();
    const helper = () => agentOf({ name: 'helper', model: scripted([pay(5)], 'Helped.', [pay(6)], 'Helped.'), tools: [tool('pay', done)] });
    const agent = () =>
      agentOf({
        model: scripted([calls('helper', { input: 'go' }), pay(1)], 'Done.'),
        tools: [tool('pay', done), asTool(helper(), { name: 'helper', description: 'Helps.' })],
      });
    const store = memorySession();
    await run(agent(), 'hello', { runId: 'r1', guardrails: [guardrail], session: { store, id: 's' } });
    await run(agent(), 'again', { runId: 'r2', guardrails: [guardrail], session: { store, id: 's' } });
    expect(seen).toEqual(['r1/1.1:', 'r1/1.0/1.0: r1/1.1!=1', 'r2/1.1:', 'r2/1.0/1.0: r2/1.1!=1']);
  });

  it('are forgotten as calls of an answer that was not recorded', async () => {
    const { guardrail, seen } = watching();
    const controller = new AbortController();
    const hangs = defineGuardrail({
      name: 'hangs',
      on: ['toolInput'],
      check: async () => {
        controller.abort();
        await new Promise(() => undefined);
        return allow();
      },
    });
    const store = memorySession();
    const agent = (guardrails: readonly unknown[]) =>
      agentOf({ model: scripted([pay(1), pay(2)], 'Done.'), tools: [tool('pay', done)], guardrails });
    await run(agent([guardrail, hangs]), 'hello', { runId: 'r1', signal: controller.signal, session: { store, id: 's' } });
    const events: readonly LogEvent[] = await store.load('s');
    expect(events.some((event) => event.type === 'tool.start')).toBe(false);
    seen.length = 0;
    await resume(agent([guardrail]), { store, id: 's' }, { accept: 'changed' });
    expect(seen).toEqual(['r1/1.0:', 'r1/1.1: r1/1.0=1']);
  });

  it('cannot be written to', async () => {
    let given: GuardInfo['calls'] | undefined;
    const guardrail = defineGuardrail({
      name: 'reads',
      on: ['toolInput'],
      check: (_subject, { calls: beside }) => {
        given = beside;
        return allow();
      },
    });
    const model = scripted([pay(1), pay(2)], 'Done.');
    await run(agentOf({ model, tools: [tool('pay', done)], guardrails: [guardrail] }), 'hello');
    expect(Object.isFrozen(given)).toBe(true);
    expect(given?.every((call) => Object.isFrozen(call) && Object.isFrozen(call.input))).toBe(true);
    expect(given).toHaveLength(1);
  });
});

describe('`expects`', () => {
  const guardrail = (expects: readonly string[]) => defineGuardrail({ name: 'rules', on: ['toolInput'], expects, check: () => allow() });

  it('refuses an agent and a tool that has no such tool, with what was meant', () => {
    expect(() => agentOf({ tools: [tool('pay', done)], guardrails: [guardrail(['pay', 'pax'])] })).toThrow(
      'Guardrail rules has a rule about pax, but agent desk has no such tool. Did you mean pay? Its tools are pay. Correct the rule, or remove it.',
    );
    expect(() => tool('pay', done, { guardrails: [guardrail(['refund_*'])] })).toThrow('but tool pay has no such tool.');
    expect(() => agentOf({ tools: [tool('pay', done)], guardrails: [guardrail(['p*'])] })).not.toThrow();
  });

  it('takes names and patterns only', () => {
    expect(() => guardrail(['no name'])).toThrow(
      'Guardrail rules has "no name" in `expects`. Give names of tools, or patterns such as \'refund_*\'.',
    );
  });
});
