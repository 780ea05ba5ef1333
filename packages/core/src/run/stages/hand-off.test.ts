import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { after, bare } from '../../../test/bare-events.js';
import type { Turn } from '../../../test/scene.js';
import { agentOf, answered, calls, eventsOf, HandClock, lastEvent, scripted, settle, tool } from '../../../test/scene.js';
import { defineGuardrail } from '../../define/guardrail.js';
import { handoff } from '../../define/handoff.js';
import type { Agent, HandoffSubject } from '../../define/types.js';
import { allow, ask, deny, halt, rewrite } from '../../define/verdict.js';
import type { Message } from '../../model/types.js';
import type { Decision, Log, LogEvent } from '../../state/events.js';
import type { CallState } from '../../state/state.js';
import { resume, run } from '../run.js';
import type { RunResult } from '../types.js';
import { handOff } from './hand-off.js';
import { runTools } from './run-tools.js';

const core = { origin: 'developer', integrity: 'trusted' } as const;
const byDesk = { origin: 'agent:desk', integrity: 'trusted' } as const;
const never = new Promise<never>(() => undefined);
const toBilling = calls('transfer_to_billing');

const start = (agent: Agent<unknown>, options: object = {}) => run(agent, 'hello', { runId: 'r1', clock: new HandClock(), ...options });
const goOn = (agent: Agent<unknown>, log: Log, options: object = {}) => resume(agent, log, { clock: new HandClock(), ...options });
const decide = (agent: Agent<unknown>, result: RunResult, decision: Decision = 'approve') =>
  goOn(agent, result.log, {
    decisions: Object.fromEntries(result.status === 'interrupted' ? result.approvals.map(({ id }) => [id, decision]) : []),
  });
const billing = (more: object = {}) => agentOf({ name: 'billing', model: scripted('', 'Billed.', 'Billed.', 'Billed.'), ...more });

interface Scene {
  readonly turns?: readonly Turn[];
  readonly target?: object;
  readonly edge?: object;
  readonly desk?: object;
  readonly options?: object;
}
/** An agent that hands over to billing. */
const deskOf = ({ turns = [[toBilling]], target = {}, edge = {}, desk = {} }: Scene = {}) =>
  agentOf({ model: scripted(...turns, 'Done.', 'Done.', 'Done.'), handoffs: [handoff(billing(target), edge)], ...desk });
const handedOver = (scene: Scene = {}) => start(deskOf(scene), scene.options);
/** An agent of whose tools one hands over, however that is returned. */
const returning = (given: unknown, { turns = [[calls('route')]], desk = {}, options = {} }: Scene = {}) => {
  const agent = agentOf({
    model: scripted(...turns, 'Done.', 'Done.'),
    tools: [tool('route', () => given), tool('look', () => 'Blue.')],
    ...desk,
  });
  return start(agent, options);
};

const handoffsOf = (result: { readonly events: readonly LogEvent[] }) => eventsOf(result, 'handoff').map(bare);
const brief = (text: string, more: object = {}) => ({
  role: 'user',
  id: 'r1/1.0/brief',
  via: 'handoff',
  parts: [{ type: 'text', text, label: byDesk }],
  label: byDesk,
  ...more,
});
const words = (status: string, errorClass: string, summary: string) => ({
  status,
  content: JSON.stringify({ status, error_class: errorClass, summary, retryable: false }),
  errorClass,
  retryable: false,
  label: core,
});
const failed = (why: string) => words('error', 'failed', `The handoff failed: ${why} The conversation stays here.`);
const later = words('aborted', 'aborted', 'Only the first handoff of an answer is tried, and this was a later one.');
const ended = (callId: string, name: string, more: object) => ({
  type: 'tool.end',
  callId,
  tool: name,
  id: `r1/${callId}`,
  revision: 0,
  chars: 0,
  completeness: 'empty',
  ...more,
});
const refused = (callId: string, more: object) => ({ type: 'handoff.refused', callId, ...more });

/** What guardrails on the surface `handoff` saw. */
function watching(
  answer: (subject: HandoffSubject) => ReturnType<typeof allow> | ReturnType<typeof ask> = () => allow(),
  more: object = {},
) {
  const seen: { readonly brief: string; readonly history: readonly Message[] }[] = [];
  const guard = defineGuardrail({
    name: 'border',
    on: ['handoff'],
    check: (subject) => {
      seen.push({ brief: subject.brief, history: [...subject.history] });
      return answer(subject);
    },
    ...more,
  });
  return { seen, guard };
}

describe('a handoff', () => {
  it('is recorded with what the target sees, and swaps the agent', async () => {
    const result = await handedOver();
    expect(after(result, 'model.end')).toEqual([{ type: 'run.end', status: 'completed', text: 'Billed.' }]);
    expect(handoffsOf(result)).toStrictEqual([
      {
        type: 'handoff',
        callId: '1.0',
        from: 'desk',
        to: 'billing',
        brief: 'Handed off from desk.',
        revision: 0,
        view: 'all',
        item: brief('Handed off from desk.'),
        entry: { subject: 'r1/1.0/input', revision: 0, judged: [] },
        manifest: { run: [], agent: [], tools: {}, definitions: expect.objectContaining({ tools: {} }) },
      },
    ]);
  });

  it('has its brief and the history judged by the target’s guardrails on input', async () => {
    const upper = defineGuardrail({ name: 'upper', on: ['input'], rewrite: ({ content }) => rewrite(content.toUpperCase(), 'louder') });
    const result = await handedOver({ target: { guardrails: [upper] } });
    expect(handoffsOf(result)[0]).toMatchObject({
      brief: 'Handed off from desk.',
      view: [{ id: 'r1/i1', text: 'HELLO' }],
      item: { parts: [{ text: 'HANDED OFF FROM DESK.' }] },
      revisions: { 'r1/i1': 1, 'r1/1.0/brief': 1 },
      entry: { revision: 2, judged: ['r1/i1'] },
      answers: 'rr',
    });
  });

  it('that a guardrail on the target’s input refuses ends its call, and the agent stays', async () => {
    const closed = defineGuardrail({ name: 'closed', on: ['input'], check: () => deny('closed') });
    const result = await handedOver({ target: { guardrails: [closed] } });
    expect(eventsOf(result, 'tool.end').map(bare)).toStrictEqual([
      ended('1.0', 'transfer_to_billing', {
        ...words('denied', 'denied', 'closed'),
        refusal: { action: 'deny', surface: 'input', by: 'closed', reason: 'closed' },
        answers: 'd',
      }),
    ]);
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
  });

  it('does not happen where the run is stopped while the target’s guardrails look', async () => {
    const controller = new AbortController();
    const slow = defineGuardrail({ name: 'slow', on: ['input'], check: () => never });
    const ending = handedOver({ target: { guardrails: [slow] }, options: { signal: controller.signal } });
    await settle();
    controller.abort();
    const result = await ending;
    expect(result.status).toBe('cancelled');
    expect(handoffsOf(result)).toEqual([]);
    expect(eventsOf(result, 'tool.end')).toMatchObject([{ status: 'aborted' }]);
  });

  it.each([
    ['trusted', 'trusted'],
    ['untrusted', 'untrusted'],
  ])('has a %s brief where what the agent has read is %s', async (integrity, results) => {
    const look = tool('look', () => 'Blue.', { flow: { results } });
    const result = await handedOver({ turns: [[calls('look')], [toBilling]], desk: { tools: [look] } });
    const label = { origin: 'agent:desk', integrity };
    expect(handoffsOf(result)[0]).toMatchObject({ item: { id: 'r1/2.0/brief', label, parts: [{ label }] } });
  });

  it('is refused beyond the limit, and not at it', async () => {
    const target = { model: scripted('', [calls('transfer_to_desk')]), handoffs: ['desk'] };
    const result = await handedOver({ target, options: { limits: { handoffs: 1 } } });
    expect(eventsOf(result, 'tool.end').map(bare)).toStrictEqual([
      ended('2.0', 'transfer_to_desk', {
        ...words('aborted', 'aborted', 'This call was not started: the limit handoffs of the run is reached.'),
        limit: 'handoffs',
      }),
    ]);
    expect(handoffsOf(result)).toHaveLength(1);
    expect(result).toMatchObject({ status: 'exhausted', limit: 'handoffs' });
    const returned = await returning(handoff(billing()), { options: { limits: { handoffs: 0 } } });
    expect(eventsOf(returned, 'handoff.refused').map(bare)).toStrictEqual([
      refused('1.0', {
        ...words('aborted', 'aborted', 'This call was not started: the limit handoffs of the run is reached.'),
        limit: 'handoffs',
      }),
    ]);
  });

  it('gives up what the agent before had answered in a form of its own', async () => {
    const handle = await answered(deskOf());
    handle.answer = { value: 7 };
    await handOff(handle, handle.state.calls.get('1.0') as CallState);
    expect(handle.answer).toBeUndefined();
    expect(handle.plan).toBeUndefined();
    expect(handle.stop).toBeUndefined();
  });
});

describe('several handoffs in one answer', () => {
  it('are tried in call order, the first of them alone, whether the model called them or tools returned them', async () => {
    const two = await returning(handoff('billing'), {
      turns: [[calls('route', { n: 1 }), calls('look'), toBilling, calls('route', { n: 2 })]],
      desk: { handoffs: [billing()] },
    });
    expect(handoffsOf(two)).toMatchObject([{ callId: '1.0', to: 'billing' }]);
    expect(eventsOf(two, 'tool.end').map(({ callId, status }) => `${status} ${callId}`)).toEqual([
      'ok 1.1',
      'ok 1.0',
      'ok 1.3',
      'aborted 1.2',
    ]);
    expect(eventsOf(two, 'tool.end').map(bare).at(-1)).toStrictEqual(ended('1.2', 'transfer_to_billing', later));
    expect(eventsOf(two, 'handoff.refused').map(bare)).toStrictEqual([refused('1.3', later)]);
    const one = await returning(handoff('billing'), { turns: [[toBilling, calls('route')]], desk: { handoffs: [billing()] } });
    expect(handoffsOf(one)).toMatchObject([{ callId: '1.0', to: 'billing' }]);
    expect(eventsOf(one, 'handoff.refused').map(bare)).toStrictEqual([refused('1.1', later)]);
  });
});

describe('guardrails on the border', () => {
  it('are asked once where nothing can have changed since', async () => {
    const { seen, guard } = watching();
    await handedOver({ desk: { guardrails: [guard] } });
    expect(seen.map(({ brief: text }) => text)).toEqual(['Handed off from desk.']);
  });

  it('are asked again where other calls of the answer ran, and see what they gave', async () => {
    const { seen, guard } = watching();
    const result = await handedOver({
      turns: [[toBilling, calls('look')]],
      desk: { guardrails: [guard], tools: [tool('look', () => 'Blue.')] },
    });
    expect(seen.map(({ history }) => history.map(({ id }) => id))).toEqual([['r1/i1'], ['r1/i1', 'r1/1', 'r1/1.1']]);
    expect(handoffsOf(result)).toMatchObject([{ view: 'all', answers: 'a' }]);
  });

  it('are asked again where a filter chose the history', async () => {
    const { seen, guard } = watching();
    await handedOver({ desk: { guardrails: [guard] }, edge: { history: () => [] } });
    expect(seen.map(({ history }) => history.length)).toEqual([1, 0]);
  });

  it('are asked again by their checks alone where a person approved, whose answers count no more than theirs', async () => {
    let isOpen = true;
    const rewrites: string[] = [];
    const { seen, guard } = watching(() => (isOpen ? ask('look at it') : allow()), {
      rewrite: ({ content }: HandoffSubject) => {
        rewrites.push(content);
        return rewrite(`${content}!`, 'louder');
      },
    });
    const agent = deskOf({ desk: { guardrails: [guard] } });
    const first = await start(agent);
    expect(seen.map(({ brief: text }) => text)).toEqual(['Handed off from desk.!']);
    const again = await decide(agent, first);
    expect(handoffsOf(again)).toMatchObject([{ brief: 'Handed off from desk.!', revision: 1, answers: 'k' }]);
    isOpen = false;
    expect(handoffsOf(await decide(agent, first))).toMatchObject([{ brief: 'Handed off from desk.!', answers: 'a' }]);
    expect(rewrites).toEqual(['Handed off from desk.']);
  });

  it('may refuse what they let pass before', async () => {
    let asked = 0;
    const border = defineGuardrail({
      name: 'border',
      on: ['handoff'],
      check: () => {
        asked += 1;
        return asked === 1 ? allow() : deny('closed');
      },
    });
    const result = await handedOver({ desk: { guardrails: [border] }, edge: { history: (messages: readonly Message[]) => messages } });
    expect(eventsOf(result, 'tool.end').map(bare)).toStrictEqual([
      ended('1.0', 'transfer_to_billing', {
        ...words('denied', 'denied', 'closed'),
        refusal: { action: 'deny', surface: 'handoff', by: 'border', reason: 'closed' },
        answers: 'd',
      }),
    ]);
  });

  it('put it before a person in the form that it has by then', async () => {
    let asked = 0;
    const border = defineGuardrail({
      name: 'border',
      on: ['handoff'],
      rewrite: ({ content }) => rewrite(`${content}!`, 'louder'),
      check: () => {
        asked += 1;
        return asked === 2 ? ask('look at it') : allow();
      },
    });
    const agent = deskOf({
      desk: { guardrails: [border] },
      edge: { brief: 'Refund.', history: (messages: readonly Message[]) => messages },
    });
    const first = await start(agent);
    expect(eventsOf(first, 'approval.request')).toMatchObject([
      { approval: { surface: 'handoff', to: 'billing', brief: 'Refund.!!', revision: 2, asks: [{ by: 'border', reason: 'look at it' }] } },
    ]);
    expect(handoffsOf(await decide(agent, first))).toMatchObject([
      { brief: 'Refund.!!', revision: 2, item: { parts: [{ text: 'Refund.!!' }] } },
    ]);
  });

  it('stop nothing that is being stopped already', async () => {
    let asked = 0;
    const controller = new AbortController();
    const border = defineGuardrail({
      name: 'border',
      on: ['handoff'],
      check: () => {
        asked += 1;
        return asked === 1 ? allow() : never;
      },
    });
    const ending = handedOver({
      desk: { guardrails: [border] },
      edge: { history: (messages: readonly Message[]) => messages },
      options: { signal: controller.signal },
    });
    while (asked < 2) await settle();
    controller.abort();
    const result = await ending;
    expect(result.status).toBe('cancelled');
    expect(eventsOf(result, 'tool.end')).toMatchObject([{ status: 'aborted' }]);
  });
});

describe('a handoff that a tool returned', () => {
  it('is judged once, after the tool, under a revision of its own', async () => {
    const { seen, guard } = watching();
    const fixed = defineGuardrail({ name: 'fixed', on: ['toolInput'], rewrite: () => rewrite({ n: 1 }, 'fixed') });
    const result = await returning(handoff(billing(), { brief: 'Refund.' }), { desk: { guardrails: [guard, fixed] } });
    expect(seen.map(({ brief: text }) => text)).toEqual(['Refund.']);
    expect(handoffsOf(result)).toMatchObject([{ callId: '1.0', to: 'billing', brief: 'Refund.', revision: 0, view: 'all', answers: 'a' }]);
    expect(eventsOf(result, 'guard.verdict')).toMatchObject([
      { guardrail: 'fixed' },
      { guardrail: 'border', subject: 'r1/1.0', revision: 0 },
    ]);
    expect(result).toMatchObject({ status: 'completed', output: 'Billed.' });
  });

  it('cannot wait for a person, whoever approved the call of the tool', async () => {
    const { guard } = watching(() => ask('look at it'));
    const route = tool('route', () => handoff(billing()), { approval: true });
    const agent = agentOf({ model: scripted([calls('route')], 'Done.'), tools: [route], guardrails: [guard] });
    const result = await decide(agent, await start(agent));
    expect(eventsOf(result, 'handoff.refused').map(bare)).toStrictEqual([
      refused('1.0', {
        ...failed('a person would have to allow it, and a handoff that a tool returned cannot wait.'),
        answers: 'k',
      }),
    ]);
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
  });

  it('ends the run where a guardrail halts it', async () => {
    const strict = defineGuardrail({ name: 'strict', on: ['input'], check: () => halt('no') });
    const refusal = { action: 'halt', surface: 'input', by: 'strict', reason: 'no' };
    const agent = agentOf({ model: scripted([calls('route')]), tools: [tool('route', () => handoff(billing({ guardrails: [strict] })))] });
    const handle = await answered(agent);
    await runTools(handle);
    await handOff(handle, handle.state.calls.get('1.0') as CallState);
    expect(bare(lastEvent(handle) as LogEvent)).toStrictEqual(
      refused('1.0', { ...words('denied', 'denied', 'no'), refusal, answers: 'h' }),
    );
    expect(handle.stop).toEqual({ kind: 'halt' });
    expect(await start(agent)).toMatchObject({ status: 'blocked', by: 'strict' });
  });

  it('leaves the run going where a guardrail denies it', async () => {
    const closed = defineGuardrail({ name: 'closed', on: ['input'], check: () => deny('closed') });
    const agent = agentOf({ model: scripted([calls('route')]), tools: [tool('route', () => handoff(billing({ guardrails: [closed] })))] });
    const handle = await answered(agent);
    await runTools(handle);
    await handOff(handle, handle.state.calls.get('1.0') as CallState);
    expect(handle.stop).toBeUndefined();
  });

  it('fails where nobody has the name', async () => {
    const result = await returning(handoff('nobody'));
    expect(eventsOf(result, 'handoff.refused').map(bare)).toStrictEqual([refused('1.0', failed('there is no agent nobody.'))]);
  });

  it('may lead to an agent that is known, by itself or by its name', async () => {
    const known = billing();
    const targets = { billing: known };
    for (const target of [targets.billing, 'billing'] as const)
      expect(handoffsOf(await returning(handoff(target as 'billing'), { desk: { handoffs: [known] } }))).toMatchObject([{ to: 'billing' }]);
  });

  it('fails where it leads to another agent with the name of a known one', async () => {
    const result = await returning(handoff(billing()), { desk: { handoffs: [billing()] } });
    expect(eventsOf(result, 'handoff.refused').map(bare)).toStrictEqual([
      refused('1.0', failed('two different agents are named billing.')),
    ]);
  });

  it('may lead to an agent that was not known, with those that it hands over to, beside those that were', async () => {
    const back = tool('back', () => handoff('desk'));
    const clerk = agentOf({ name: 'clerk', model: scripted('', '', [calls('back')]), tools: [back] });
    const target = billing({ model: scripted('', [calls('transfer_to_clerk')]), handoffs: [clerk] });
    const model = scripted([calls('route')], '', '', 'Home again.');
    const result = await start(agentOf({ model, tools: [tool('route', () => handoff(target))] }));
    expect(handoffsOf(result)).toMatchObject([{ to: 'billing' }, { to: 'clerk' }, { to: 'desk' }]);
    expect(result).toMatchObject({ status: 'completed', output: 'Home again.' });
  });

  it('fails where an agent that it leads to cannot stand under the run’s guardrails', async () => {
    const named = () => defineGuardrail({ name: 'same', on: ['input'], check: allow });
    const clerk = agentOf({ name: 'clerk', guardrails: [named()] });
    const result = await returning(handoff(billing({ handoffs: [clerk] })), { options: { guardrails: [named()] } });
    const [event] = eventsOf(result, 'handoff.refused');
    expect(event?.content).toContain('The handoff failed: Guardrail name same is used');
    expect(result.status).toBe('completed');
  });

  it('survives a cut, but for a filter, which was lost', async () => {
    const known = billing();
    const cut = (result: RunResult): Log => {
      const at = result.log.events.findIndex(({ type }) => type === 'tool.end');
      return { ...result.log, events: result.log.events.slice(0, at + 1) };
    };
    const desk = { handoffs: [known] };
    const plain = await returning(handoff('billing', { brief: 'Refund.' }), { desk });
    const filtered = await returning(handoff('billing', { history: () => [] }), { desk });
    expect(handoffsOf(filtered)).toMatchObject([{ view: [] }]);
    const agent = agentOf({ model: scripted('', 'Done.'), tools: [tool('route', () => 'Nothing.')], ...desk });
    expect(handoffsOf(await goOn(agent, cut(plain)))).toMatchObject([{ to: 'billing', brief: 'Refund.', view: 'all' }]);
    expect(eventsOf(await goOn(agent, cut(filtered)), 'handoff.refused').map(bare)).toStrictEqual([
      refused('1.0', failed('the run was interrupted before it, and its history filter was lost. Ask for it again.')),
    ]);
  });
});

describe('a filter of the history', () => {
  const turns: readonly Turn[] = [[{ type: 'text.delta', text: 'I look.' }, calls('look')], [toBilling]];
  const look = tool('look', () => 'Blue.', { flow: { results: 'trusted' } });
  const filtered = (history: unknown, more: Scene = {}) =>
    handedOver({ turns, ...more, desk: { tools: [look], ...more.desk }, edge: { history, ...more.edge } });
  const lost = 'its history filter threw, gave no list of the messages it was given, or parted a call from its result.';
  type History = readonly Message[];

  it('is told who hands over to whom, and given all that was said', async () => {
    const seen: unknown[] = [];
    await filtered(
      (messages: History, { context, from, to, signal }: { context: unknown; from: string; to: string; signal: AbortSignal }) => {
        seen.push(
          messages.map(({ id }) => id),
          context,
          from,
          to,
          signal.aborted,
        );
        return messages;
      },
      { options: { context: { user: 'u1' } } },
    );
    expect(seen).toEqual([['r1/i1', 'r1/1', 'r1/1.0'], { user: 'u1' }, 'desk', 'billing', false]);
  });

  it.each<[string, (messages: History) => unknown, unknown]>([
    ['all', (messages) => messages, ['r1/i1', 'r1/1', 'r1/1.0']],
    ['all, later', async (messages) => messages, ['r1/i1', 'r1/1', 'r1/1.0']],
    ['some', (messages) => messages.slice(0, 1), ['r1/i1']],
    ['none', () => [], []],
    [
      'another text',
      ([user, ...rest]) => [{ ...user, parts: [{ type: 'text', text: 'Hi.' }] }, ...rest],
      [{ id: 'r1/i1', text: 'Hi.' }, 'r1/1', 'r1/1.0'],
    ],
    [
      'another result',
      ([user, answer, result]) => [user, answer, { ...result, content: 'Grey.' }],
      ['r1/i1', 'r1/1', { id: 'r1/1.0', text: 'Grey.' }],
    ],
  ])('may choose %s', async (_what, history, view) => {
    expect(handoffsOf(await filtered(history))).toMatchObject([{ view }]);
  });

  it.each<[string, (messages: History) => unknown]>([
    ['gives no list', () => 'all'],
    ['gives no list later', async () => undefined],
    ['gives a set', (messages) => new Set(messages)],
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
    ['gives a message that nobody said', (messages) => [...messages, { role: 'user', id: 'r1/i9', parts: [] }]],
    ['gives a message another role', ([user]) => [{ ...user, role: 'assistant', text: 'Hi.', calls: [] }]],
    ['gives a message twice', ([user]) => [user, user]],
    ['gives a message no text', ([, answer, result]) => [{ ...answer, text: 7 }, result]],
    ['parts a call from its result', ([user, answer]) => [user, answer]],
    ['parts a result from its call', ([user, , result]) => [user, result]],
  ])('that %s fails the handoff', async (_what, history) => {
    const result = await filtered(history);
    expect(handoffsOf(result)).toEqual([]);
    expect(eventsOf(result, 'tool.end').map(bare).at(-1)).toStrictEqual(ended('2.0', 'transfer_to_billing', failed(lost)));
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
  });

  it('is waited for no longer than the run goes on', async () => {
    let isAsked = false;
    const controller = new AbortController();
    const slow = () => {
      isAsked = true;
      return never;
    };
    const ending = filtered(slow, { options: { signal: controller.signal } });
    while (!isAsked) await settle();
    controller.abort();
    const result = await ending;
    expect(result.status).toBe('cancelled');
    expect(eventsOf(result, 'tool.end').at(-1)).toMatchObject({ status: 'aborted' });
  });

  it('has what it wrote judged by guardrails that passed what stood there, and nothing else', async () => {
    const seen: string[][] = [];
    const calm = defineGuardrail({
      name: 'calm',
      on: ['input'],
      check: ({ items }) => {
        seen.push(items.map(({ text }) => text));
        return allow();
      },
    });
    const write = ([user, ...rest]: History) => [{ ...user, parts: [{ type: 'text', text: 'Hi.' }] }, ...rest];
    const options = { guardrails: [calm] };
    const result = await filtered(write, { options });
    expect(seen).toEqual([['hello'], ['Hi.', 'Handed off from desk.']]);
    expect(handoffsOf(result)).toMatchObject([{ entry: { judged: ['r1/i1'] } }]);
    seen.length = 0;
    expect(handoffsOf(await filtered((messages: History) => messages, { options }))).toMatchObject([{ entry: { judged: [] } }]);
    expect(seen).toEqual([['hello'], ['Handed off from desk.']]);
  });

  it('leaves messages as they are whose text it keeps', async () => {
    const { seen, guard } = watching();
    const agent = deskOf({
      desk: { guardrails: [guard] },
      edge: { history: (messages: History) => messages.map((each) => ({ ...each })) },
    });
    const parts = [
      { type: 'text', text: 'One' },
      { type: 'text', text: 'two' },
    ] as const;
    await run(agent, parts);
    expect(seen.at(-1)?.history).toMatchObject([{ parts }]);
  });

  it('and rewrites by the target’s guardrails stand together in what the log holds of the view', async () => {
    const colours = defineGuardrail({
      name: 'colours',
      on: ['input'],
      rewrite: ({ content }) => (content === 'Blue.' ? rewrite('Red.', 'colour') : allow()),
    });
    const write = ([user, ...rest]: History) => [{ ...user, parts: [{ type: 'text', text: 'Hi.' }] }, ...rest];
    expect(handoffsOf(await filtered(write, { target: { guardrails: [colours] } }))).toMatchObject([
      { view: [{ id: 'r1/i1', text: 'Hi.' }, 'r1/1', { id: 'r1/1.0', text: 'Red.' }] },
    ]);
    expect(handoffsOf(await handedOver({ turns, desk: { tools: [look] }, target: { guardrails: [colours] } }))).toMatchObject([
      { view: ['r1/i1', 'r1/1', { id: 'r1/1.0', text: 'Red.' }] },
    ]);
  });

  it('is that of the handoff which was called', async () => {
    const other = handoff(agentOf({ name: 'other' }), { history: () => [] });
    const agent = agentOf({ model: scripted([toBilling]), handoffs: [other, handoff(billing(), { input: z.object({}) })] });
    expect(handoffsOf(await start(agent))).toMatchObject([{ to: 'billing', view: 'all' }]);
  });
});
