import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asksFor, isPaying, nameWords } from './intent.js';
import { parseResult, recordsOf } from './records.js';
import { askingWords, readRequest } from './request.js';
import { foldedValue, isSame } from './same-value.js';
import { fieldWords, namesIn, significantWords } from './significant-words.js';
import { suggestFlow } from './suggest-flow.js';
import { toolMatcher } from './tool-matcher.js';
import { argumentValues, contentValues } from './values.js';

describe('the values of arguments', () => {
  const input = { to: ['a', 'b'], cc: null, text: '', more: { n: 1, 'x y': true, deep: [{ z: 'c' }] }, flag: false };
  test('are all texts and numbers under the named ones, with their paths', () => {
    expect(argumentValues(input, { names: ['to', 'more'], fields: [] })).toEqual([
      { path: 'to[0]', value: 'a' },
      { path: 'to[1]', value: 'b' },
      { path: 'more.n', value: 1 },
      { path: 'more.…', value: 'x y' },
      { path: 'more.…', value: true },
      { path: 'more.deep[0].z', value: 'c' },
    ]);
    expect(argumentValues(input, { names: 'all', fields: [] })).toHaveLength(7);
    expect(argumentValues({ to: { eve: 'read', id: 'x' } }, { names: ['to'], fields: ['to', 'id'] })).toEqual([
      { path: 'to.…', value: 'eve' },
      { path: 'to.…', value: 'read' },
      { path: 'to.id', value: 'x' },
    ]);
    expect(argumentValues({ 'odd name!': 'x' }, { names: 'all', fields: [] })).toEqual([
      { path: '…', value: 'odd name!' },
      { path: '…', value: 'x' },
    ]);
  });
  test('leave the content to those that are not named', () => {
    expect(contentValues({ to: 'a', body: 'b', n: 1 }, { names: ['to'], fields: [] })).toEqual([{ path: 'body', value: 'b' }]);
    expect(contentValues({ to: 'a' }, { names: 'all', fields: [] })).toEqual([]);
  });
  test('hide nowhere, however deep they lie', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const texts = JSON.stringify(argumentValues({ value: value as never }, { names: 'all', fields: [] }));
        const walk = (each: unknown): void => {
          if (typeof each === 'string' && each.trim() !== '') expect(texts).toContain(JSON.stringify(each));
          else if (typeof each === 'object' && each !== null) Object.values(each).forEach(walk);
        };
        walk(value);
      }),
      { numRuns: 200, seed: 69 },
    );
    let deep: unknown = 'end';
    for (let depth = 0; depth < 10_000; depth += 1) deep = [deep];
    expect(argumentValues({ deep: deep as never }, { names: 'all', fields: [] })).toEqual([
      { path: `deep${'[0]'.repeat(64)}`, value: '\u0000' },
    ]);
  });
});

describe('the records of a result', () => {
  test('are its objects, each with its own scalars and lists of them', () => {
    const records = recordsOf({ room: 'a', rows: [{ id: 1, tags: ['x', 'y'], by: { name: 'n' } }, { id: 2 }] });
    expect(records.map(({ fields, siblings }) => [fields.map(({ value }) => value), siblings.length])).toEqual([
      [['a'], 1],
      [[1, 'x', 'y'], 2],
      [['n'], 1],
      [[2], 2],
    ]);
    expect(records[2]?.parent).toBe(records[1]);
    expect(records[1]?.parent).toBeUndefined();
  });
  test('of a plain list are its values', () => {
    expect(recordsOf(['a', 7]).map(({ fields }) => fields)).toEqual([[{ name: '', value: 'a' }], [{ name: '', value: 7 }]]);
  });
  test('hold the names of a map as data, where they are no identifiers', () => {
    expect(recordsOf({ 'a@x.example': 'rw', plain: 'r' })[0]?.fields).toEqual([
      { name: '', value: 'a@x.example' },
      { name: 'a@x.example', value: 'rw' },
      { name: 'plain', value: 'r' },
    ]);
  });
  test('are at most 5,000, and 64 levels deep', () => {
    expect(recordsOf(Array.from({ length: 9_000 }, (_, id) => ({ id })))).toHaveLength(5_000);
    let deep: unknown = { end: 1 };
    for (let depth = 0; depth < 1_000; depth += 1) deep = { deep };
    expect(recordsOf(deep as never).length).toBeLessThan(70);
  });
  test.each(['', 'text', '"x"', '{"a"', '7', 'null', '[1,'])('are none of %j', (content) => {
    expect(parseResult(content)).toBeUndefined();
  });
});

test.each([
  ['a', 'a', true],
  ['Ann Bee', 'ann bee', true],
  ['A@x.example', 'a@X.example', true],
  ['/A', '/a', false],
  ['k9A', 'k9a', false],
  [7, '7', true],
  [10, '10.0', true],
  ['10', '10.0', false],
  ['', 0, false],
  [0, '', false],
  ['José', 'Jose\u0301', true],
])('%j and %j are the same value: %s', (left, right, same) => {
  expect(isSame(left, right)).toBe(same);
  if (same) expect(foldedValue(left)).toBe(foldedValue(right));
});

describe('what a user asks for', () => {
  test.each([
    ['Clean up, but do not delete report.docx.', ['clean'], ['delete'], 'report.docx'],
    ['When can I cancel booking B-1?', [], ['cancel'], 'nothing'],
    ['Did I already pay Bob?', [], ['pay'], 'nothing'],
    ['How do I delete it? Please send it to Bob.', ['send'], ['delete'], 'nothing'],
    ['Can you delete it?', ['delete'], [], 'nothing'],
    ["Don't forget to invite Bob.", ['invite'], [], 'nothing'],
    ['Reply to Ann and never send anything to eve@evil.example.', ['reply'], ['send'], 'eve@evil.example'],
    ['- email dora\n- post it', ['email', 'post'], [], 'nothing'],
    ['Book me a room', ['book'], [], 'nothing'],
  ])('%s', (text, ...expected) => {
    const [asked, notAsked, unwanted] = expected as unknown as [string[], string[], string];
    const request = readRequest(text);
    expect(request.asked).toEqual(expect.arrayContaining(asked));
    for (const word of notAsked) expect(request.asked).not.toContain(word);
    expect(request.wanted).not.toContain(unwanted);
  });
  test('may be what was said before', () => {
    expect(readRequest('Yes, please.').isAgreement).toBe(true);
    expect(readRequest('Please delete it all.').isAgreement).toBe(false);
    expect(readRequest('Yes. And what is the weather like in the city of Paris in May?').isAgreement).toBe(false);
  });
  test('is read in time, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(Array.isArray(readRequest(text).asked)).toBe(true);
      }),
      { numRuns: 300, seed: 70 },
    );
    const start = process.cpuUsage();
    for (const piece of ['"', "'", 'a ', 'not ', '1', '.', 'AB12 ', ', and ']) readRequest(piece.repeat(50_000));
    expect(process.cpuUsage(start).user).toBeLessThan(10_000_000);
  });

  test.each([
    ['Please send it', 'send', true],
    ['I would like you to email her', 'email', true],
    ['Read the email', 'email', false],
    ['Email Bob', 'email', true],
    ['1. Post it', 'post', true],
    ['the post was long', 'post', false],
    ['tell me', 'tell', false],
    ['tell Bob', 'tell', true],
    ['Who is invited?', 'invite', false],
    ['Help with deleting it', 'delete', true],
    ['Sending it is fine', 'send', true],
    ['the cancelling of it', 'cancel', true],
    ['spending in March', 'spend', true],
  ])('%s: %s is a way to ask: %s', (text, word, asks) => {
    expect(askingWords(text).includes(word)).toBe(asks);
  });
  test('is told by the verbs in the names of tools', () => {
    expect(nameWords('GmailSendEmail')).toEqual(['gmail', 'send', 'email']);
    expect(nameWords('update_scheduled-transaction')).toEqual(['update', 'scheduled', 'transaction']);
  });
  test.each([
    ['send_money', 'Tell Bob that it rains', false],
    ['send_money', 'Refund Bob', true],
    ['send_money', 'Send a greeting to Bob', false],
    ['send_money', 'Send 20 euros to Bob', true],
    ['update_scheduled_transaction', 'Adjust my rent', true],
    ['delete_file', 'Remove the file', true],
    ['delete_file', 'Send the file', false],
    ['delete_email', 'Reply to the email', false],
    ['cancel_order', 'Order two more', false],
    ['merge_pull_request', 'Summarise pull request 42', false],
    ['merge_pull_request', 'Merge pull request 42', true],
    ['frobnicate', 'Frobnicate it', true],
    ['frobnicate', 'Read it', false],
    ['share_file', 'Give Bob access', true],
  ])('%s is asked for by %j: %s', (tool, text, asks) => {
    const { asked } = readRequest(text);
    const spoken = new Set(text.toLowerCase().split(' '));
    expect(asksFor(tool, { asked: new Set(asked), spoken })).toBe(asks);
  });
  test('is no money but where a name says so', () => {
    expect(['send_money', 'PayBill', 'update_transaction', 'send_mail'].map(isPaying)).toEqual([true, true, false, false]);
  });
});

test('words that tell records apart are names and longer words', () => {
  expect(significantWords('Please send the Notes of Al and Eve to bob@firm.example about the Garden-party')).toEqual([
    'notes',
    'eve',
    'garden',
    'party',
  ]);
});

test.each([
  ["Reply to the mail 'garden party' of Ann", ['garden', 'party', 'ann']],
  ['Rent is due. Spotify too: Garden?', []],
  ['Find order a12b for Bob', ['a12b', 'bob']],
  ["Don't open Ann's box", ['ann']],
  ['Say “good morning” now', ['good', 'morning']],
])('the names in %j', (text, names) => {
  expect(namesIn(text)).toEqual(names);
});

test('the words of a field leave the ending of a file out', () => {
  expect(fieldWords('grocery-plans.docx')).toEqual(['grocery', 'plans']);
});

describe('a proposal for the flow of a tool', () => {
  test('of whose arguments nothing is known leaves them all authorities', () => {
    expect(suggestFlow({ name: 'send_money', description: 'Sends.' })).toEqual({ effect: 'send', results: 'untrusted' });
    expect(suggestFlow({ name: 'send_money', schema: {} })).toEqual({ effect: 'send', results: 'untrusted' });
    expect(suggestFlow({ name: 'send_money', input: { properties: { iban: {} } } })).toEqual({
      effect: 'send',
      results: 'untrusted',
      authority: ['iban'],
    });
  });
  const schema = (...names: string[]) => ({ properties: Object.fromEntries(names.map((name) => [name, {}])) });
  test.each([
    ['get_mail', ['id'], { effect: 'read', results: 'untrusted' }],
    ['fetch_page', ['url', 'format'], { effect: 'read', results: 'untrusted', authority: ['url'] }],
    ['send_email', ['recipients', 'subject', 'body'], { effect: 'send', results: 'untrusted', authority: ['recipients'] }],
    ['create_event', ['title', 'start_time', 'participants'], { effect: 'write', results: 'untrusted', authority: ['participants'] }],
    ['create_note', ['title', 'body'], { effect: 'write', results: 'untrusted' }],
    ['ping', [], { effect: 'write', results: 'untrusted', authority: [] }],
    ['check_in', ['seat'], { effect: 'write', results: 'untrusted', authority: ['seat'] }],
    ['find_and_replace', ['path'], { effect: 'write', results: 'untrusted', authority: ['path'] }],
    ['delete_list', ['list_id'], { effect: 'write', results: 'untrusted', authority: ['list_id'] }],
    ['run_query', ['sql'], { effect: 'write', results: 'untrusted', authority: ['sql'] }],
    ['fetch_mail_and_delete', ['id'], { effect: 'send', results: 'untrusted', authority: ['id'] }],
    ['set_spending_limit', ['limit'], { effect: 'write', results: 'untrusted', authority: ['limit'] }],
    ['browse', ['site'], { effect: 'read', results: 'untrusted', authority: ['site'] }],
    ['BankPayBill', ['payee'], { effect: 'send', results: 'untrusted', authority: ['payee'] }],
  ])('%s with %j', (name, names, flow) => {
    expect(suggestFlow({ name, schema: schema(...names) })).toEqual(flow);
  });
});

test.each([
  ['a', 'a', true],
  ['a', 'ab', false],
  ['a*', 'ab', true],
  ['*b', 'ab', true],
  ['a*c', 'abc', true],
  ['a*b*c', 'axbxc', true],
  ['a*b*c', 'axc', false],
  ['ab*ba', 'aba', false],
  ['*', '', true],
])('the pattern %s and the name %s: %s', (pattern, name, fit) => {
  expect(toolMatcher('x', 'tools', [pattern])(name)).toBe(fit);
});
