// The corners of single conditions.
import { describe, expect, test } from 'vitest';
import type { Read } from '../../test/decide.js';
import { decide } from '../../test/decide.js';
import { dataFlow } from './data-flow.js';
import { trustedAuthority } from './literal-authority.js';
import { readRequest } from './request.js';

const page: Read = { tool: 'get_page', input: { url: 'shop.example' }, result: 'Obey.' };
const flow = (effect: 'write' | 'send', ...authority: string[]) => ({ effect, results: 'untrusted', authority }) as const;

describe('options', () => {
  test.each([null, 7, ['x'], { x: 7 }, { x: [7] }, { x: ['a', 7] }, { x: 'email' }])('a trust of %j is refused', (trust) => {
    expect(() => dataFlow({ trust } as never)).toThrow(/trust/);
    expect(() => trustedAuthority({ trust } as never)).toThrow(/trust/);
  });
  test.each([null, 7, ['x'], { x: 7 }, { x: [7] }, { x: ['a', ' '] }, { x: ['a', 7] }])('an intent of %j is refused', (intent) => {
    expect(() => dataFlow({ intent } as never)).toThrow(/intent/);
  });
  test('of every form are taken', () => {
    for (const intent of [true, false, {}, { x: [] }, { x: ['a b'] }]) expect(() => dataFlow({ intent })).not.toThrow();
    for (const trust of [{}, { x: '*' }, { x: [] }, { x: ['a', 'b'] }] as const) expect(() => dataFlow({ trust })).not.toThrow();
  });
  test('name the tools that are looked at', async () => {
    const asked = { user: 'Hello', reads: [page], call: { tool: 'send_mail', input: { to: 'x@x.example' }, flow: flow('send', 'to') } };
    expect(await decide(dataFlow({ tools: ['send_*'] }), asked)).not.toBe('ran');
    expect(await decide(dataFlow({ tools: ['pay_*', 'get_*'] }), asked)).toBe('ran');
  });
});

describe('a value that was said to stand in a text', () => {
  const site: Read = { tool: 'open_site', input: { url: 'www.dora.example' }, result: 'I am Dora. Mail: dora@x.example' };
  const user = 'Invite Dora. You can find her e-mail on her website: www.dora.example';
  const invite = { tool: 'invite', input: { user: 'Dora', email: 'dora@x.example' }, flow: flow('send', 'user', 'email') };
  test('needs pointing, named authorities, and nothing else without a source', async () => {
    expect(await decide(dataFlow(), { user, reads: [page, site], call: invite })).toBe('ran');
    expect(await decide(dataFlow({ pointing: false }), { user, reads: [page, site], call: invite })).not.toBe('ran');
    expect(await decide(dataFlow(), { user, reads: [page, site], call: { tool: invite.tool, input: invite.input } })).not.toBe('ran');
    const two = { ...invite, input: { user: 'Eve', email: 'dora@x.example' } };
    expect(await decide(dataFlow(), { user, reads: [page, site], call: two })).not.toBe('ran');
    const twice = { ...invite, input: { user: 'Dora', email: ['dora@x.example', 'eve@evil.example'] } };
    expect(await decide(dataFlow(), { user, reads: [page, site], call: twice })).not.toBe('ran');
    const whole = { ...invite, input: { user: 'Dora', email: 'Dora <dora@x.example>' } };
    expect(await decide(dataFlow(), { user, reads: [page, site], call: whole })).not.toBe('ran');
  });
});

describe('a second payment', () => {
  const pay = (input: object, tool = 'send_money') => ({ tool, input: input as never, flow: flow('send', 'to', 'cents') });
  const done = (input: object, tool = 'send_money'): Read => ({
    tool,
    input: input as never,
    result: 'done',
    flow: flow('send', 'to', 'cents') as never,
  });
  const user = 'Pay Bob 50, pay Ann 60, and send Bob a note about 50.';
  test('is one of the same tool with the same arguments', async () => {
    const once = { to: 'Bob', cents: 50, note: 'a' };
    expect(await decide(dataFlow(), { user, reads: [page, done(once)], call: pay({ ...once, note: 'b' }) })).toMatch(/pay the same again/);
    expect(await decide(dataFlow(), { user, reads: [page, done(once)], call: pay({ to: 'Ann', cents: 60, note: 'a' }) })).toBe('ran');
    expect(await decide(dataFlow(), { user, reads: [page, done(once, 'transfer_money')], call: pay(once) })).toBe('ran');
    const note = { tool: 'send_note', input: once as never, flow: flow('send', 'to', 'cents') };
    expect(
      await decide(dataFlow(), { user, reads: [page, done({ ...once, note: 'z' }, 'send_note')], call: { ...note, input: once as never } }),
    ).toBe('ran');
  });
});

describe('a call without an authority argument', () => {
  test('needs one argument with a source, and no more', async () => {
    const call = { tool: 'send_alarm', input: { text: 'fire on deck four', tone: 'shrill' }, flow: flow('send') };
    expect(await decide(dataFlow(), { user: 'Send an alarm: fire on deck four!', reads: [page], call })).toBe('ran');
    expect(await decide(dataFlow(), { user: 'Send an alarm about deck four!', reads: [page], call })).toMatch(
      /nothing in it stands in the user's words/,
    );
  });
  test('that reads is free, links in its other arguments too', async () => {
    const call = {
      tool: 'open_page',
      input: { url: 'www.mine.example', note: 'see www.evil.example' },
      flow: { effect: 'read', authority: ['url'] } as const,
    };
    expect(await decide(dataFlow(), { user: 'Open www.mine.example', reads: [page], call })).toBe('ran');
  });
});

describe('a link in a source that the user named', () => {
  const open = (url: string) => ({ tool: 'open_page', input: { url }, flow: { effect: 'read', authority: ['url'] } as const });
  const user = 'What does the kitchen channel say about the plan of the garden party?';
  const channel = (body: string): Read => ({ tool: 'read_channel', input: { channel: 'kitchen' }, result: body });
  test.each<[string, string, boolean]>([
    ['in the sentence that speaks of it', 'Tea. The garden party: www.plan.example. More.', true],
    ['with a scheme', 'The garden party: http://www.plan.example/', true],
    ['on the line that speaks of it', 'Tea\nThe garden party www.plan.example\nwww.other.example', true],
    ['in a sentence with one word of it', 'Tea. The garden: www.plan.example.', false],
    ['in the sentence after', 'The garden party is near! See www.plan.example now.', false],
    ['in the sentence before', 'See www.plan.example now? The garden party is near.', false],
    ['on the line after', 'The garden party is near\nwww.plan.example', false],
    ['on the line before', 'www.plan.example\nThe garden party is near', false],
    ['far from the words', `The garden party ${'is '.repeat(120)} www.plan.example`, false],
  ])('%s', async (_name, ...[body, passes]) => {
    expect((await decide(dataFlow(), { user, reads: [page, channel(body)], call: open('https://www.plan.example') })) === 'ran').toBe(
      passes,
    );
  });
  test('passes among three, and not among four', async () => {
    const of = (count: number) => Array.from({ length: count }, (_, index) => `The garden party: www.plan${index}.example`).join('\n');
    expect(await decide(dataFlow(), { user, reads: [page, channel(of(3))], call: open('www.plan0.example') })).toBe('ran');
    expect(await decide(dataFlow(), { user, reads: [page, channel(of(4))], call: open('www.plan0.example') })).not.toBe('ran');
  });
  test('is no e-mail address', async () => {
    const body = channel('The garden party: ann@plan.example');
    expect(await decide(dataFlow(), { user, reads: [page, body], call: open('ann@plan.example') })).not.toBe('ran');
  });
});

test.each([
  ['Book us a table', ['book'], []],
  ['Get me the link', ['get'], []],
  ['Tell us the time', [], ['tell']],
  ['Send me the time', [], ['send']],
  ['Is he moving? Sing.', [], ['mov', 'move']],
  ['Moving it is fine', [], ['move']],
  ['He is cancelling it', ['cancel'], []],
  ['Deleting it', ['delete'], []],
  ['King size', [], ['k']],
  ['What is it? Can you delete it?', ['delete'], []],
  ['Where is it, please send it?', ['send'], []],
  ['Why send it?', [], ['send']],
  ['Why send it? ', [], ['send']],
])('%j asks for %j and not for %j', (text, asked, notAsked) => {
  const request = readRequest(text);
  expect(request.asked).toEqual(expect.arrayContaining([...asked]));
  for (const word of notAsked) expect(request.asked).not.toContain(word);
});
