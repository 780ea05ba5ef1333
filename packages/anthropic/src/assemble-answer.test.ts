import type { ModelEvent } from '@guardloop/core/model';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerEvents, callOf, textOf } from '../test/fake-api.js';
import { AnswerAssembly } from './assemble-answer.js';

const faults = { broken: (what: string) => new Error(what), reported: () => new Error('reported') };

function assemble(...events: readonly object[]) {
  const answer = new AnswerAssembly(new Map(), faults);
  const given: ModelEvent[] = [];
  for (const event of events) given.push(...answer.push({ event: '', data: JSON.stringify(event) }));
  return { answer, given };
}

const start = { type: 'message_start', message: { id: 'm1', usage: { input_tokens: 1 } } };
const stop = { type: 'message_stop' };
const open = (index: number | undefined, content_block: object) => ({ type: 'content_block_start', index, content_block });
const close = (index: number | undefined) => ({ type: 'content_block_stop', index });
const delta = (index: number | undefined, piece: object) => ({ type: 'content_block_delta', index, delta: piece });
const say = (index: number | undefined, text: string) => delta(index, { type: 'text_delta', text });
const argue = (index: number | undefined, partial_json: string) => delta(index, { type: 'input_json_delta', partial_json });
const call = (id: string) => ({ type: 'tool_use', id, name: 'lookup', input: {} });
const text = { type: 'text', text: '' };

describe('S040: blocks are told apart by what they are, not by their index alone', () => {
  const two = [
    { providerId: 'a', name: 'lookup', input: { key: 'P' } },
    { providerId: 'b', name: 'lookup', input: { key: 'Q' } },
  ];

  it.each([
    ['one index for all, none closed', [open(0, call('a')), argue(0, '{"key":"P"}'), open(0, call('b')), argue(0, '{"key":"Q"}')]],
    [
      'no index',
      [
        open(undefined, call('a')),
        argue(undefined, '{"key":"P"}'),
        close(undefined),
        open(undefined, call('b')),
        argue(undefined, '{"key":"Q"}'),
      ],
    ],
    [
      'an index at the beginning of a block alone',
      [open(0, call('a')), argue(undefined, '{"key":"P"}'), open(1, call('b')), argue(undefined, '{"key":"Q"}')],
    ],
    ['gaps', [open(3, call('a')), argue(3, '{"key":"P"}'), close(3), open(7, call('b')), argue(7, '{"key":"Q"}'), close(7)]],
    [
      'pieces of both in turn',
      [open(0, call('a')), open(1, call('b')), argue(1, '{"key"'), argue(0, '{"key":"P'), argue(1, ':"Q"}'), argue(0, '"}')],
    ],
    [
      'a call that is begun twice',
      [open(0, call('a')), argue(0, '{"key":'), open(0, call('a')), argue(0, '"P"}'), open(1, call('b')), argue(1, '{"key":"Q"}')],
    ],
    [
      'no arguments in the opening block, and pieces that are null',
      ['a', 'b'].flatMap((id, index) => [
        open(index, { type: 'tool_use', id, name: 'lookup' }),
        delta(index, { type: 'input_json_delta', partial_json: null }),
        argue(index, id === 'a' ? '{"key":"P"}' : '{"key":"Q"}'),
        close(index),
      ]),
    ],
    ['arguments in the opening block', [open(0, { ...call('a'), input: { key: 'P' } }), open(1, { ...call('b'), input: '{"key":"Q"}' })]],
  ])('%s', (_, events) => {
    const { answer } = assemble(start, ...events, stop);
    expect(answer.calls()).toEqual(two);
    expect(answer.blocks()).toEqual([callOf('a', 'lookup', { key: 'P' }), callOf('b', 'lookup', { key: 'Q' })]);
  });

  it('a piece of text or thinking that is null says nothing', () => {
    const thinking = { type: 'thinking', thinking: '', signature: 's' };
    const nothing = [delta(0, { type: 'thinking_delta', thinking: null }), delta(1, { type: 'text_delta', text: null })];
    const { answer } = assemble(start, open(0, thinking), open(1, text), ...nothing, say(1, 'a'), stop);
    expect(answer.blocks()).toEqual([thinking, textOf('a')]);
    expect(() => assemble(start, open(0, text), delta(0, { type: 'thinking_delta', thinking: null }))).toThrow('another type');
  });

  it('text at one index in two blocks stays two blocks', () => {
    const { answer, given } = assemble(start, open(0, text), say(0, 'a\ud83d'), open(0, text), say(0, 'b'), stop);
    expect(answer.blocks()).toEqual([textOf('a\ud83d'), textOf('b')]);
    expect(given.map((event) => event.type === 'text.delta' && event.text)).toEqual(['a', '\uFFFD', 'b']);
  });

  it('S043: nothing is a call before the message has ended, though its arguments are whole', () => {
    const { answer, given } = assemble(start, open(0, call('a')), argue(0, '{}'), close(0));
    expect([answer.isDone, given.some(({ type }) => type === 'tool.call')]).toEqual([false, false]);
  });
});

describe('what is not known', () => {
  it('blocks of types to come stand in the answer as they came, in their place', () => {
    const news = { type: 'future_block', id: 'x', payload: { a: [1] } };
    const { answer } = assemble(
      start,
      open(0, text),
      say(0, 'a'),
      close(0),
      open(1, news),
      close(1),
      open(2, text),
      say(2, 'b'),
      close(2),
      stop,
    );
    expect(answer.blocks()).toEqual([textOf('a'), news, textOf('b')]);
    expect(answer.calls()).toEqual([]);
  });

  it.each([
    ['a kind of piece to come', delta(0, { type: 'future_delta', words: 'x' })],
    ['text', say(0, 'x')],
    ['arguments', argue(0, '{}')],
  ])('a block of a type to come that grew by %s is left out: what it should be is not known', (_, piece) => {
    const { answer, given } = assemble(
      start,
      open(0, { type: 'future_block' }),
      piece,
      close(0),
      open(1, text),
      say(1, 'b'),
      close(1),
      stop,
    );
    expect(answer.blocks()).toEqual([textOf('b')]);
    expect(given).toEqual([{ type: 'text.delta', text: 'b' }]);
  });

  it('a kind of piece to come in a block that is known leaves the block as it is', () => {
    const { answer } = assemble(
      start,
      open(0, { ...text, citations: null }),
      say(0, 'a'),
      delta(0, { type: 'future_delta', x: 1 }),
      close(0),
      stop,
    );
    expect(answer.blocks()).toEqual([{ ...textOf('a'), citations: null }]);
  });

  it('fields to come in blocks, events and usage change nothing, and those of blocks stay', () => {
    const { answer } = assemble(
      { ...start, x: 1 },
      open(0, { ...call('a'), caller: { type: 'direct' }, future: true }),
      argue(0, '{"key":1}'),
      { type: 'message_delta', delta: { stop_reason: 'tool_use', future: 1 }, usage: { output_tokens: 3, future_tokens: 4 } },
      stop,
    );
    expect(answer.blocks()).toEqual([{ ...callOf('a', 'lookup', { key: 1 }), caller: { type: 'direct' }, future: true }]);
    expect(answer.counts).toMatchObject({ input: 1, output: 3 });
  });
});

it('S058: events are told by their data where the frame has no name, or the one that stands for none', () => {
  for (const event of ['', 'message']) {
    const answer = new AnswerAssembly(new Map(), faults);
    for (const each of answerEvents([textOf('a')])) answer.push({ event, data: JSON.stringify(each) });
    expect([answer.isDone, answer.blocks()]).toEqual([true, [textOf('a')]]);
  }
  const answer = new AnswerAssembly(new Map(), faults);
  for (const { type, ...rest } of answerEvents([textOf('a')]) as { type: string }[])
    answer.push({ event: type, data: JSON.stringify(rest) });
  expect([answer.isDone, answer.blocks()]).toEqual([true, [textOf('a')]]);
});

it('citations and signatures come together as the provider gives them', () => {
  const { answer } = assemble(
    start,
    open(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'hm' }),
    delta(0, { type: 'signature_delta', signature: 'SIG' }),
    close(0),
    open(1, { ...text, citations: [] }),
    delta(1, { type: 'citations_delta', citation: { type: 'char_location', cited_text: 'x' } }),
    say(1, 'so'),
    delta(1, { type: 'citations_delta', citation: { type: 'page_location' } }),
    close(1),
    stop,
  );
  expect(answer.blocks()).toEqual([
    { type: 'thinking', thinking: 'hm', signature: 'SIG' },
    { ...textOf('so'), citations: [{ type: 'char_location', cited_text: 'x' }, { type: 'page_location' }] },
  ]);
});

it('the container of code is told at the beginning or at the end', () => {
  const container = { id: 'container_1', expires_at: '2099-01-01T00:00:00Z' };
  const expected = { id: 'container_1', expiresAt: '2099-01-01T00:00:00Z' };
  const atEnd = { type: 'message_delta', delta: { container }, usage: {} };
  expect(assemble(start, atEnd, stop).answer.container).toEqual(expected);
  expect(assemble({ type: 'message_start', message: { container } }, stop).answer.container).toEqual(expected);
  expect(assemble(start, { ...atEnd, delta: { container: null } }, stop).answer.container).toBeUndefined();
});

describe('an answer in one piece, from a server that does not stream', () => {
  const blocks = [textOf('a'), callOf('t1', 'lookup', { key: 'x' })];

  it('is taken where it says why it ended', () => {
    const { answer, given } = assemble({
      type: 'message',
      id: 'm',
      content: blocks,
      stop_reason: 'tool_use',
      usage: { input_tokens: 1, output_tokens: 2 },
    });
    expect([answer.isDone, answer.stopReason, answer.blocks()]).toEqual([true, 'tool_use', blocks]);
    expect(answer.calls()).toEqual([{ providerId: 't1', name: 'lookup', input: { key: 'x' } }]);
    expect(given).toEqual([{ type: 'text.delta', text: 'a' }]);
    expect(answer.counts).toMatchObject({ input: 1, output: 2 });
  });

  it('is no answer where it does not', () => {
    expect(assemble({ type: 'message', content: blocks }).answer.isDone).toBe(false);
  });
});

describe('bounds', () => {
  it('S060: pieces without end are no answer', () => {
    const answer = new AnswerAssembly(new Map(), faults);
    answer.take(start);
    answer.take(open(0, text));
    const piece = say(0, 'x'.repeat(1024 * 1024));
    expect(() => {
      for (let count = 0; count < 100; count += 1) answer.take(piece);
    }).toThrow('without an end');
  });

  it('blocks without end are no answer', () => {
    const answer = new AnswerAssembly(new Map(), faults);
    expect(() => {
      for (let count = 0; count < 100_000; count += 1) answer.take(open(count, text));
    }).toThrow('without an end');
  });

  it('two reasons why it ended are no end', () => {
    const ended = (reason: string) => ({ type: 'message_delta', delta: { stop_reason: reason }, usage: {} });
    expect(() => assemble(start, ended('max_tokens'), ended('end_turn'), stop)).toThrow('two reasons');
    expect(assemble(start, ended('max_tokens'), ended('max_tokens'), stop).answer.stopReason).toBe('max_tokens');
  });

  it('arguments that are nested too deep are unparsable', () => {
    const deep = '['.repeat(2_000) + ']'.repeat(2_000);
    const { answer } = assemble(start, open(0, call('a')), argue(0, `{"key":${deep}}`), stop);
    expect(answer.calls()).toEqual([{ providerId: 'a', name: 'lookup', unparsable: `{"key":${deep}}` }]);
    const words = JSON.stringify({ key: '[{"'.repeat(2_000) });
    expect(assemble(start, open(0, call('a')), argue(0, words), stop).answer.calls()).toEqual([
      { providerId: 'a', name: 'lookup', input: JSON.parse(words) },
    ]);
  });
});

it('whatever events come, in whatever order, an answer comes out or a fault, and the calls have their index from 0', () => {
  const index = fc.constantFrom(undefined, 0, 1, 2);
  const block = fc.constantFrom(
    text,
    call('a'),
    call('b'),
    { type: 'thinking', thinking: '' },
    { type: 'future' },
    { type: 'server_tool_use', id: 's', input: {} },
    null,
  );
  const event = fc.oneof(
    fc.constantFrom(
      start,
      stop,
      { type: 'ping' },
      { type: 'message_delta' },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      null,
      7,
    ),
    fc.tuple(index, block).map(([at, content]) => ({ type: 'content_block_start', index: at, content_block: content })),
    index.map(close),
    fc.tuple(index, fc.constantFrom('{', '{}', '"', '')).map(([at, json]) => argue(at, json)),
    fc.tuple(index, fc.string({ unit: 'binary', maxLength: 3 })).map(([at, words]) => say(at, words)),
    index.map((at) => delta(at, { type: 'thinking_delta', thinking: 'x' })),
    index.map((at) => delta(at, { type: 'signature_delta', signature: 'S' })),
    index.map((at) => delta(at, { type: 'future_delta' })),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 20 }), (events) => {
      const answer = new AnswerAssembly(new Map(), faults);
      const given: ModelEvent[] = [];
      try {
        for (const each of events) given.push(...answer.take(each));
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
        expect(String(error)).toContain('Anthropic');
        return;
      }
      const indexes = new Set(given.flatMap((each) => (each.type === 'tool.delta' ? [each.index] : [])));
      expect(Math.max(-1, ...indexes)).toBeLessThan(answer.calls().length);
      expect(answer.blocks().every(({ type }) => typeof type === 'string')).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

it('is the same for events that come whole', () => {
  const blocks = [{ type: 'redacted_thinking', data: 'ENC' }, textOf('a'), callOf('t1', 'lookup', { key: 'ä' })];
  expect(assemble(...answerEvents(blocks)).answer.blocks()).toEqual(blocks);
});
