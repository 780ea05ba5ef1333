import { describe, expect, it } from 'vitest';
import { byAgent, idsIn, trusted, untrusted, user } from '../../test/log-events.js';
import type { AssistantMessage, Message, ToolMessage } from '../model/types.js';
import type { Activation } from './conversation.js';
import {
  acceptActivation,
  activate,
  addMessage,
  changeTexts,
  closeActivation,
  hasPassed,
  idsOf,
  isUntrustedView,
  newConversation,
  passKey,
  resolveView,
  setView,
  withoutCall,
  withoutNative,
  withText,
} from './conversation.js';
import type { GuardEntry, Manifest, Surface } from './events.js';

const native = { provider: 'p', message: 'raw' };
const answer = (id: string, more: Partial<AssistantMessage> = {}): AssistantMessage => ({
  role: 'assistant',
  id,
  agent: 'a',
  text: 'I look.',
  calls: [],
  label: byAgent,
  ...more,
});
const call = (id: string, input = {}) => ({ id, name: 'look', input });
const result = (id: string, more: Partial<ToolMessage> = {}): ToolMessage => ({
  role: 'tool',
  id: `r/${id}`,
  callId: id,
  tool: 'look',
  content: 'seen',
  isError: false,
  label: trusted,
  ...more,
});
const entry = (name: string, surface: Surface, more: Partial<GuardEntry> = {}): GuardEntry => ({
  name,
  surfaces: [surface],
  phases: ['check'],
  ...more,
});

describe('the key of a guardrail', () => {
  it.each<[Parameters<typeof passKey>[0], string | undefined, string]>([
    [{ name: 'g' }, undefined, 'run:g@'],
    [{ name: 'g', version: '2' }, undefined, 'run:g@2'],
    [{ name: 'g', shadow: true }, undefined, 'run:g@~shadow'],
    [{ name: 'g', version: '2' }, 'b', 'agent:b:g@2'],
  ])('of %j of %s is %s', (guard, agent, key) => {
    expect(passKey(guard, agent)).toBe(key);
  });
});

describe('the stay of an agent', () => {
  const manifest: Manifest = {
    run: [entry('r', 'input'), entry('other', 'output')],
    agent: [entry('a', 'input', { version: '2', shadow: true }), entry('other', 'toolInput')],
    tools: {},
  };

  it('begins where the conversation stands, with the guardrails that look at its input', () => {
    const conversation = newConversation();
    addMessage(conversation, user('r/i1'));
    activate(conversation, { agent: 'a', manifest, view: 'all', brief: 'r/1.0/brief' });
    expect(conversation.agent).toBe('a');
    expect(conversation.activations).toEqual([
      {
        agent: 'a',
        guards: new Set(['run:r@', 'agent:a:a@2~shadow']),
        view: 'all',
        brief: 'r/1.0/brief',
        start: 1,
        isAccepted: false,
        end: undefined,
      },
    ]);
  });

  it('ends when the next begins, once', () => {
    const conversation = newConversation();
    activate(conversation, { agent: 'a', manifest, view: 'all' });
    addMessage(conversation, user('r/i1'));
    closeActivation(conversation);
    addMessage(conversation, user('r/i2'));
    activate(conversation, { agent: 'b', manifest, view: 'all' });
    expect(conversation.activations).toMatchObject([
      { agent: 'a', start: 0, end: 1 },
      { agent: 'b', start: 2, end: undefined },
    ]);
  });

  it('is accepted alone, and not those before', () => {
    const conversation = newConversation();
    activate(conversation, { agent: 'a', manifest, view: 'all' });
    activate(conversation, { agent: 'b', manifest, view: 'all' });
    acceptActivation(conversation);
    expect(conversation.activations.map(({ isAccepted }) => isAccepted)).toEqual([false, true]);
  });

  it('cannot end or be accepted before the first begins', () => {
    const conversation = newConversation();
    acceptActivation(conversation);
    closeActivation(conversation);
    expect(conversation).toEqual(newConversation());
  });

  it('shares its guardrails with the stays of the same agent under the same manifest', () => {
    const conversation = newConversation();
    for (const agent of ['a', 'a', 'b', 'a']) activate(conversation, { agent, manifest, view: 'all' });
    const [first, second, third, last] = conversation.activations.map(({ guards }) => guards);
    expect(second).toBe(first);
    expect(third).toEqual(new Set(['run:r@', 'agent:b:a@2~shadow']));
    expect(last).toEqual(first);
  });
});

describe('what a guardrail has passed', () => {
  const stay = (more: Partial<Activation> = {}): Activation => ({
    agent: 'a',
    guards: new Set(['run:g@']),
    view: 'all',
    brief: undefined,
    start: 2,
    isAccepted: true,
    end: 4,
    ...more,
  });
  const at = (index: number, id = 'r/1') => ({ index, id });

  it('is everything before and during its stay, and nothing after', () => {
    expect([0, 1, 2, 3, 4, 5].map((index) => hasPassed([stay()], 'run:g@', at(index)))).toEqual([true, true, true, true, false, false]);
    expect(hasPassed([stay({ end: undefined })], 'run:g@', at(99))).toBe(true);
  });

  it('is nothing where it did not stand, and nothing of a stay that was not accepted', () => {
    expect(hasPassed([], 'run:g@', at(2))).toBe(false);
    expect(hasPassed([stay()], 'run:h@', at(2))).toBe(false);
    expect(hasPassed([stay({ isAccepted: false })], 'run:g@', at(2))).toBe(false);
  });

  it('is nothing that came after a stay in which nothing came', () => {
    expect([1, 2].map((index) => hasPassed([stay({ end: 2 })], 'run:g@', at(index)))).toEqual([true, false]);
  });

  it('is what any of the stays has passed', () => {
    const stays = [stay({ start: 0, end: 2 }), stay({ start: 2, end: 4, view: new Set() }), stay({ start: 4, end: 6, view: new Set() })];
    expect([1, 3, 5, 6].map((index) => hasPassed(stays, 'run:g@', at(index)))).toEqual([true, true, true, false]);
    expect(hasPassed(stays.slice(1), 'run:g@', at(1))).toBe(false);
  });

  it('is, of what came before, what its agent was shown', () => {
    const shown = stay({ view: new Set(['r/1']) });
    expect(hasPassed([shown], 'run:g@', at(0, 'r/1'))).toBe(true);
    expect(hasPassed([shown], 'run:g@', at(0, 'r/2'))).toBe(false);
    expect(hasPassed([shown], 'run:g@', at(4, 'r/1'))).toBe(false);
  });

  it('is, of briefs, its own and those it was shown', () => {
    const brief = { index: -1, id: 'r/1.0/brief' };
    expect(hasPassed([stay({ brief: 'r/1.0/brief' })], 'run:g@', brief)).toBe(true);
    expect(hasPassed([stay({ view: new Set(['r/1.0/brief']) })], 'run:g@', brief)).toBe(true);
    expect(hasPassed([stay()], 'run:g@', brief)).toBe(false);
    expect(hasPassed([stay({ brief: 'r/2.0/brief', view: new Set(['r/1']) })], 'run:g@', brief)).toBe(false);
    expect(hasPassed([stay({ brief: 'r/1.0/brief' }), stay()], 'run:g@', brief)).toBe(true);
  });

  it('is not the call by which its agent was handed the conversation: its result, and an answer that was nothing else', () => {
    const target = stay({ brief: 'r/1.0/brief' });
    expect(hasPassed([target], 'run:g@', at(1, 'r/1.0'))).toBe(false);
    expect(hasPassed([target], 'run:g@', at(1, 'r/1.1'))).toBe(true);
    expect(hasPassed([target], 'run:g@', { index: 0, id: 'r/1', only: '1.0' })).toBe(false);
    expect(hasPassed([target], 'run:g@', { index: 0, id: 'r/1', only: '1.1' })).toBe(true);
    expect(hasPassed([target], 'run:g@', { index: 0, id: 's/1', only: '1.0' })).toBe(true);
    expect(hasPassed([target], 'run:g@', at(0, 'r/1'))).toBe(true);
    expect(hasPassed([stay(), target], 'run:g@', at(1, 'r/1.0'))).toBe(true);
    const nested = stay({ brief: 'r/1.0/2.0/brief' });
    expect(hasPassed([nested], 'run:g@', { index: 0, id: 'r/1.0/2', only: '2.0' })).toBe(false);
  });
});

describe('a conversation', () => {
  it('is empty, trusted and of no agent at first', () => {
    const conversation = newConversation();
    expect(conversation).toEqual({ messages: [], view: [], agent: undefined, activations: [], isUntrusted: false, untrustedReads: [] });
    expect(conversation.view).toBe(conversation.messages);
  });

  it('takes a message once where its view is everything, and into both where it is not', () => {
    const conversation = newConversation();
    addMessage(conversation, user('r/i1'));
    expect(idsIn(conversation.view)).toEqual(['r/i1']);
    setView(conversation, []);
    addMessage(conversation, user('r/i2'));
    expect(idsIn(conversation.messages)).toEqual(['r/i1', 'r/i2']);
    expect(idsIn(conversation.view)).toEqual(['r/i2']);
    expect(conversation.view[0]).toBe(conversation.messages[1]);
  });

  it('is untrusted once anything in its view is, and tells which reads brought it', () => {
    const conversation = newConversation();
    addMessage(conversation, result('1.0'));
    expect(isUntrustedView(conversation)).toBe(false);
    addMessage(conversation, answer('r/1', { label: untrusted }));
    expect(isUntrustedView(conversation)).toBe(true);
    expect(conversation.untrustedReads).toEqual([]);
    addMessage(conversation, result('2.0', { label: untrusted, tool: 'fetch' }));
    addMessage(conversation, user('r/i2'));
    expect(conversation).toMatchObject({ isUntrusted: true, untrustedReads: [{ tool: 'fetch', callId: '2.0' }] });
  });

  it('is as untrusted as the view that it is given', () => {
    const conversation = newConversation();
    addMessage(conversation, result('1.0', { label: untrusted }));
    setView(conversation, [user('r/i1')]);
    expect(conversation).toMatchObject({ isUntrusted: false, untrustedReads: [], messages: [{ id: 'r/1.0' }] });
    setView(conversation, [result('1.0', { label: untrusted })]);
    expect(conversation).toMatchObject({ isUntrusted: true, untrustedReads: [{ tool: 'look', callId: '1.0' }] });
  });

  it.each<[string, Message, (message: Message) => unknown]>([
    ['the parts of an item', user('r/i1'), (message) => message.role === 'user' && [message.parts, ...message.parts]],
    [
      'the calls of an answer',
      answer('r/1', { calls: [call('1.0')] }),
      (message) => message.role === 'assistant' && [message.calls, ...message.calls],
    ],
    ['a result', result('1.0'), () => []],
  ])('keeps %s from being changed', (_what, message, inner) => {
    const conversation = newConversation();
    addMessage(conversation, message);
    const [recorded = message] = conversation.messages;
    for (const each of [recorded, ...(inner(recorded) as object[])]) expect(Object.isFrozen(each)).toBe(true);
  });
});

describe('a message', () => {
  it('without what only its maker may read is the same where there is no such thing', () => {
    const kept = [user('r/i1'), answer('r/1'), result('1.0')];
    for (const message of kept) expect(withoutNative(message)).toBe(message);
    const stripped = withoutNative(answer('r/1', { calls: [call('1.0')], native }));
    expect(stripped).toStrictEqual(answer('r/1', { calls: [call('1.0')] }));
    expect(Object.isFrozen(stripped)).toBe(true);
  });

  it('of a user takes other text in place of all it had, before its other parts', () => {
    const image = { type: 'image', url: 'https://example.com/a.png' } as const;
    const parts = [{ type: 'text', text: 'one' } as const, image, { type: 'text', text: 'two' } as const];
    const changed = withText(user('r/i1', '', { parts, label: untrusted }), '***');
    expect(changed).toStrictEqual(user('r/i1', '', { parts: [{ type: 'text', text: '***', label: untrusted }, image], label: untrusted }));
    expect(Object.isFrozen(changed)).toBe(true);
  });

  it('of a tool takes other text as its content', () => {
    const changed = withText(result('1.0', { isError: true, note: 'Call 3.' }), '***');
    expect(changed).toStrictEqual(result('1.0', { isError: true, note: 'Call 3.', content: '***' }));
    expect(Object.isFrozen(changed)).toBe(true);
  });

  it('of an agent takes other text, keeps its calls, and loses what only its maker may read', () => {
    const calls = [call('1.0', { q: 1 }), call('1.1', { q: 2 })];
    const changed = withText(answer('r/1', { calls, native }), '***');
    expect(changed).toStrictEqual(answer('r/1', { calls, text: '***' }));
    expect(Object.isFrozen(changed)).toBe(true);
    expect(withText(answer('r/1', { calls }), '***', true)).toStrictEqual(
      answer('r/1', { calls: [call('1.0', {}), call('1.1', {})], text: '***' }),
    );
    expect(withText(answer('r/1', { calls }), '***', false)).toStrictEqual(answer('r/1', { calls, text: '***' }));
  });
});

describe('a view', () => {
  const messages = [user('r/i1', 'secret'), answer('r/1', { calls: [call('1.0', { q: 1 })] }), result('1.0')];

  it('with no changed texts is the same', () => {
    expect(changeTexts(messages, [])).toBe(messages);
  });

  it('with changed texts has those, and all other messages as they were', () => {
    const changed = changeTexts(messages, [
      { id: 'r/i1', text: '***' },
      { id: 'r/1', text: 'I.', dropsInputs: true },
      { id: 'r/9', text: 'nowhere' },
    ]);
    expect(changed).toEqual([
      user('r/i1', '', { parts: [{ type: 'text', text: '***', label: trusted }] }),
      answer('r/1', { text: 'I.', calls: [call('1.0')] }),
      result('1.0'),
    ]);
    expect(changed[2]).toBe(messages[2]);
    expect(changeTexts(messages, [{ id: 'r/1', text: 'I.' }])[1]).toMatchObject({ calls: [{ input: { q: 1 } }] });
  });

  it('is made of references, changed texts, and whole items, in its own order; what is not recorded is left out', () => {
    const written = user('r/2/v1', 'So far: nothing.');
    const made = resolveView(messages, [
      'r/1.0',
      written,
      'r/9',
      { id: 'r/1', text: 'I.', dropsInputs: true },
      { id: 'r/9', text: 'nowhere' },
      { id: 'r/i1', text: '***' },
    ]);
    expect(made).toEqual([
      result('1.0'),
      written,
      answer('r/1', { text: 'I.', calls: [call('1.0')] }),
      user('r/i1', '', { parts: [{ type: 'text', text: '***', label: trusted }] }),
    ]);
    expect(made[0]).toBe(messages[2]);
    expect(made[1]).toBe(written);
  });

  it('is known by the ids of its messages', () => {
    expect(idsOf(messages)).toEqual(new Set(['r/i1', 'r/1', 'r/1.0']));
  });
});

describe('a transcript without one call', () => {
  const both = answer('r/1', { calls: [call('1.0'), call('1.1')], native });

  it('has neither the call nor its result, and all else in order', () => {
    const messages = [user('r/i1'), both, result('1.0'), result('1.1'), user('r/i2'), answer('r/2')];
    const kept = withoutCall(messages, 'r/1.0', '1.0');
    expect(kept).toStrictEqual([user('r/i1'), answer('r/1', { calls: [call('1.1')] }), result('1.1'), user('r/i2'), answer('r/2')]);
    expect(Object.isFrozen(kept[1])).toBe(true);
    expect(messages).toHaveLength(6);
  });

  it('keeps an answer that said something besides, and leaves out one that was nothing else', () => {
    const alone = { calls: [call('1.0')] };
    expect(withoutCall([user('r/i1'), answer('r/1', alone), result('1.0')], 'r/1.0', '1.0')).toStrictEqual([user('r/i1'), answer('r/1')]);
    expect(withoutCall([user('r/i1'), answer('r/1', { ...alone, text: '' }), result('1.0'), user('r/i2')], 'r/1.0', '1.0')).toStrictEqual([
      user('r/i1'),
      user('r/i2'),
    ]);
    const silent = answer('r/1', { text: '', calls: [call('1.0'), call('1.1')] });
    expect(withoutCall([silent, result('1.0'), result('1.1')], 'r/1.0', '1.0')).toStrictEqual([
      answer('r/1', { text: '', calls: [call('1.1')] }),
      result('1.1'),
    ]);
  });

  it('takes the call from the nearest answer before its result: a call of the same id in another turn stays', () => {
    const earlier = answer('r/1', { calls: [call('1.0')] });
    const messages = [earlier, result('1.0'), answer('s/1', { calls: [call('1.0')] }), result('1.0', { id: 's/1.0' })];
    expect(withoutCall(messages, 's/1.0', '1.0')).toStrictEqual([earlier, result('1.0'), answer('s/1')]);
  });

  it('leaves out a result that has no answer before it, and is the same where there is no such result', () => {
    expect(withoutCall([result('1.0'), user('r/i1')], 'r/1.0', '1.0')).toStrictEqual([user('r/i1')]);
    expect(withoutCall([both], 'r/1.0', '1.0')).toEqual([both]);
  });
});
