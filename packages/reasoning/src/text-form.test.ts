import type { ToolSpec } from '@guardloop/core/model';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTextStep, writeAction } from './text-form.js';

const text = { type: 'string' } as const;
const tools: readonly ToolSpec[] = [
  {
    name: 'search',
    description: 'S.',
    schema: { type: 'object', properties: { query: text, limit: { type: 'integer' } }, required: ['query'] },
  },
  { name: 'add', description: 'A.', schema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } },
  {
    name: 'pay',
    description: 'P.',
    schema: { type: 'object', properties: { to: text, cents: { type: 'integer' } }, required: ['to', 'cents'] },
  },
  { name: 'now', description: 'N.', schema: { type: 'object', properties: {} } },
  { name: 'Finish', description: 'F.', schema: { type: 'object', properties: { answer: text }, required: ['answer'] } },
];
const read = (given: string) => readTextStep(given, { tools, stop: 'Finish' });
const action = (name: string, input: object, thought = '') => ({ kind: 'action', thought, name, input });

describe('a turn in the ReAct form', () => {
  it.each([
    ['Thought: I look.\nAction: search\nAction Input: {"query": "x"}', action('search', { query: 'x' }, 'I look.')],
    ['Thought 1: I look.\nAction 1: search[x]', action('search', { query: 'x' }, 'I look.')],
    ['  thought 12 :  I look.\n**Action:** search[x]', action('search', { query: 'x' }, 'I look.')],
    ['Thought: one\ntwo\n\nAction: now', action('now', {}, 'one\ntwo')],
    ['Action: now[]', action('now', {})],
    ['Action: search[a[0] and b[1]]', action('search', { query: 'a[0] and b[1]' })],
    ['Action: search[{"query":"x","limit":2}]', action('search', { query: 'x', limit: 2 })],
    ['Action: search[1898]', action('search', { query: '1898' })],
    ['Action: search["quoted"]', action('search', { query: '"quoted"' })],
    ['Action: search\nAction Input: plain words', action('search', { query: 'plain words' })],
    ['Action: search\nAction Input: "quoted"', action('search', { query: 'quoted' })],
    ['Action: add[2.5]', action('add', { n: 2.5 })],
    ['Action: pay\nAction Input: ```json\n{"to": "a",\n "cents": 1}\n```', action('pay', { to: 'a', cents: 1 })],
    ['Action: unheard_of[x]', action('unheard_of', {})],
    ['Thought: hm\r\nAction: now\r\n', action('now', {}, 'hm')],
  ])('is an action: %j', (given, step) => {
    expect(read(given)).toEqual(step);
  });

  it.each([
    ['Thought: Done.\nAction: Finish[In 1898.]', 'Done.', 'In 1898.'],
    ['Thought: Done.\nFinish[In 1898.]', 'Done.', 'In 1898.'],
    ['Thought 3: Done.\nAction 3: Finish[one\ntwo [sic]\nthree]', 'Done.', 'one\ntwo [sic]\nthree'],
    ['Action: Finish\nAction Input: {"answer": "ok"}', '', 'ok'],
    ['Finish[ok]', '', 'ok'],
  ])('is a stop: %j', (given, thought, answer) => {
    expect(read(given)).toEqual({ kind: 'stop', thought, input: { answer } });
  });

  it('is a thought', () => {
    expect(read('Thought: I wonder.\nAnd wonder.')).toEqual({ kind: 'thought', thought: 'I wonder.\nAnd wonder.' });
  });

  it.each([
    ['The answer is 5.', 'begins with neither'],
    ['Sure!\nThought: x', 'begins with neither'],
    ['   ', 'neither a Thought: nor an Action:'],
    ['Thought:', 'Thought is empty'],
    ['Thought: a\nThought: b', 'not one Thought'],
    ['Action: now\nAction: now', 'not one Thought'],
    ['Action: now\nThought: late', 'not one Thought'],
    ['Action Input: {}', 'not one Thought'],
    ['Thought: a\nAction: now\nObservation: made up', 'never written by you'],
    ['Observation: x', 'never written by you'],
    ['Thought: a\nAction: call the search', 'neither the name of a tool'],
    ['Action: ', 'neither the name of a tool'],
    ['Action: [x]', 'neither the name of a tool'],
    ['Action: search', 'needs an Action Input with query'],
    ['Action: search[x]\nAction Input: {}', 'give one of them'],
    ['Action: pay[a]', 'several required arguments'],
    ['Action: now[x]', 'no required argument'],
    ['Action: pay\nAction Input: a, 1', 'not one JSON object'],
    ['Action: pay\nAction Input: [1]', 'not one JSON object'],
    ['Action: add[two]', 'not JSON, which n needs'],
  ])('is none of these: %j', (given, why) => {
    const step = read(given);
    expect(step.kind).toBe('misfit');
    expect(step.kind === 'misfit' && step.misfit).toContain(why);
  });

  it('tells a misfit without a word of the text', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 8 }).filter((word) => /^[A-Z]{8,}$/i.test(word) || word.length > 12),
        (word) => {
          const step = read(`Action: pay\nAction Input: ${word}`);
          if (step.kind === 'misfit') expect(step.misfit).not.toContain(word);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('has exactly one outcome for any text, and never throws', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'Thought: ',
        'Action: ',
        'Action Input: ',
        'Observation: ',
        'Finish[',
        'search[',
        'pay',
        'now',
        ']',
        '[',
        '{"query":"x"}',
        '\n',
        '\r\n',
        '```',
      ),
      fc.string({ unit: 'binary', maxLength: 8 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        expect(['thought', 'action', 'stop', 'misfit']).toContain(read(pieces.join('')).kind);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is read back as it was written, whatever the arguments', () => {
    fc.assert(
      fc.property(fc.record({ to: fc.string({ unit: 'binary' }), cents: fc.integer() }), (input) => {
        expect(read(`Thought: t\n${writeAction('pay', input)}`)).toEqual(action('pay', input, 't'));
      }),
      { numRuns: 500 },
    );
  });

  it('takes time in proportion to the text', () => {
    for (const hostile of [
      '['.repeat(200_000),
      `Action: ${'a['.repeat(100_000)}`,
      'Thought'.repeat(50_000),
      '\n'.repeat(200_000),
      `Action: search[${' '.repeat(200_000)}x`,
    ])
      expect(read(hostile).kind).toMatch(/misfit|action/);
  });
});
