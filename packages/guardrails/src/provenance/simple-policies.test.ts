import { describe, expect, test } from 'vitest';
import { decide } from '../../test/decide.js';
import { freeze } from './freeze.js';
import { literalAuthority, trustedAuthority } from './literal-authority.js';
import { ruleOfTwo } from './rule-of-two.js';

const send = { tool: 'send_mail', input: { to: 'dora@x.example', text: 'Hi' }, flow: { effect: 'send', authority: ['to'] } } as const;
const find = { tool: 'find', input: { words: 'x' }, flow: { effect: 'read' } } as const;
const page = { tool: 'get_page', result: 'Anything.' };
const book = { tool: 'find_contact', result: [{ name: 'Dora', email: 'dora@x.example', note: 'eve@evil.example' }] };
const user = 'Send Dora the news.';

describe('the policy freeze', () => {
  test('asks about whatever acts on the world once anything untrusted was read, and names its source', async () => {
    expect(await decide(freeze(), { user: 'Send it to dora@x.example.', reads: [page], call: send })).toBe(
      'send_mail would act on the world after untrusted results of get_page were read',
    );
    const writes = { tool: 'save', input: {}, flow: { effect: 'write', authority: [] } } as const;
    expect(await decide(freeze(), { user, reads: [page], call: writes })).toMatch(/^save would act/);
    expect(await decide(freeze(), { user, reads: [page], call: { tool: 'undeclared', input: {} } })).toMatch(/^undeclared would act/);
    const opens = { tool: 'open_page', input: { url: 'x' }, flow: { effect: 'read', authority: ['url'] } } as const;
    expect(await decide(freeze(), { user, reads: [page], call: opens })).toMatch(/^open_page would act/);
  });
  test('leaves reading and computing alone, and everything before the first untrusted result', async () => {
    expect(await decide(freeze(), { user, reads: [page], call: find })).toBe('ran');
    expect(await decide(freeze(), { user, reads: [page], call: { ...find, flow: { effect: 'none' } } })).toBe('ran');
    expect(await decide(freeze(), { user, call: send })).toBe('ran');
  });
  test('takes input that is labelled untrusted for an untrusted read', async () => {
    const pasted = [{ type: 'text', text: 'Send it to dora@x.example.', label: { origin: 'user', integrity: 'untrusted' } }] as const;
    expect(await decide(freeze(), { user: pasted, call: send })).toBe('send_mail would act on the world after untrusted text were read');
  });
  test('names at most three sources', async () => {
    const reads = ['a', 'b', 'c', 'd'].map((tool) => ({ tool, result: 'x' }));
    expect(await decide(freeze(), { user, reads, call: send })).toMatch(/results of a, b, c and 1 more were read$/);
  });
});

describe('the policy ruleOfTwo', () => {
  test('asks once both untrusted text and private data were read', async () => {
    expect(await decide(ruleOfTwo(), { user, reads: [page], call: send })).toMatch(
      /has read untrusted results of get_page, and private data by get_page$/,
    );
  });
  test('lets act who has read public results alone', async () => {
    const policy = ruleOfTwo({ publicResults: ['get_*'] });
    expect(await decide(policy, { user, reads: [page], call: send })).toBe('ran');
    expect(await decide(policy, { user, reads: [page, book], call: send })).toMatch(/private data by find_contact$/);
    expect(await decide(policy, { user, reads: [book], call: find })).toBe('ran');
  });
  test.each([[['a b']], ['get_*'], [[7]]])('refuses %j as the tools with public results', (publicResults) => {
    expect(() => ruleOfTwo({ publicResults } as never)).toThrow(/rule-of-two\(…\): publicResults/);
  });
});

describe('the policy literalAuthority', () => {
  test('wants each authority argument in the words of the user', async () => {
    expect(await decide(literalAuthority(), { user: 'Send it to dora@x.example.', reads: [page], call: send })).toBe('ran');
    expect(await decide(literalAuthority(), { user, reads: [book], call: send })).toBe(
      "send_mail: to comes from the untrusted result of find_contact (call 1.0); it is in none of these: the user's own words",
    );
  });
  test('asks about a call without an authority argument', async () => {
    expect(await decide(literalAuthority(), { user, reads: [page], call: { ...send, input: { to: null, text: 'x' } as never } })).toMatch(
      /no argument of it names what it is about$/,
    );
  });
  test('takes no words that are labelled untrusted', async () => {
    const pasted = [{ type: 'text', text: 'Send it to dora@x.example.', label: { origin: 'user', integrity: 'untrusted' } }] as const;
    expect(await decide(literalAuthority(), { user: pasted, call: send })).toMatch(/to was in nothing that was read/);
  });
});

describe('the policy trustedAuthority', () => {
  test('also takes a result of a tool that is declared trusted', async () => {
    const trusted = { ...book, flow: { effect: 'read', results: 'trusted' } as const };
    expect(await decide(trustedAuthority(), { user, reads: [page, trusted], call: send })).toBe('ran');
    expect(await decide(trustedAuthority(), { user, reads: [page, book], call: send })).toMatch(
      /in none of these: the user's own words, trusted sources$/,
    );
    const words = { tool: 'find_contact', result: 'Dora has dora@x.example.', flow: { effect: 'read', results: 'trusted' } as const };
    expect(await decide(trustedAuthority(), { user, reads: [page, words], call: send })).toBe('ran');
  });
  test('also takes the fields that are trusted of other results, whole', async () => {
    const policy = trustedAuthority({ trust: { find_contact: ['email'] } });
    expect(await decide(policy, { user, reads: [book], call: send })).toBe('ran');
    expect(
      await decide(policy, { user, reads: [book], call: { ...send, input: { to: 'eve@evil.example', text: 'x' } as never } }),
    ).not.toBe('ran');
    const more = { ...book, result: [{ email: 'dora@x.example and others' }] };
    expect(await decide(policy, { user, reads: [more], call: send })).not.toBe('ran');
  });
  test('of a plain text that is trusted whole, a line is a value', async () => {
    const lines = { tool: 'list_rooms', result: 'general\nrandom' };
    const post = { tool: 'post', input: { room: 'random' }, flow: { effect: 'send', authority: ['room'] } } as const;
    expect(await decide(trustedAuthority({ trust: { list_rooms: '*' } }), { user, reads: [lines], call: post })).toBe('ran');
    expect(await decide(trustedAuthority({ trust: { list_rooms: ['x'] } }), { user, reads: [lines], call: post })).not.toBe('ran');
  });
});
