// Rules that each dialect has its own words for: run over all of them, and over both transports.

import { anthropic } from '@guardloop/anthropic';
import { defineAgent, defineTool } from '@guardloop/core';
import { openaiChat, openaiResponses } from '@guardloop/openai';
import { readRecordings } from '@guardloop/testing/conformance';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ByteServer } from './byte-server.js';
import { answersOf, piecesOf } from './natives.js';
import { settle, textOf } from './settle.js';
import { witness } from './shop.js';
import type { Side } from './sides.js';
import { fetchSides, sides } from './sides.js';
import { SpokenPlace } from './spoken-place.js';
import { streamFolders } from './stream-folders.js';
import type { SpokenCall } from './stream-words.js';
import { spokenAnswer, streamWords } from './stream-words.js';

let server: ByteServer;
beforeAll(async () => {
  server = await ByteServer.start();
});
afterAll(() => server.stop());

interface Desk {
  readonly place: SpokenPlace;
  /** What the tools were given, in order. */
  readonly ran: unknown[];
  settle(input?: string): ReturnType<typeof settle>;
}

/** A desk with the tools `find` and `send`, whose model is answered with these streams. */
function deskOn(side: Side, streams: readonly string[], hasTools = true): Desk {
  const place = new SpokenPlace(server, side.dialect, streams);
  const ran: unknown[] = [];
  const tool = (name: string) =>
    defineTool({
      name,
      description: name,
      input: z.object({ id: z.string().optional(), to: z.string().optional() }),
      flow: { effect: 'read', results: 'trusted' },
      execute: (given) => {
        ran.push(given);
        return `${name} ran`;
      },
    });
  const agent = defineAgent({
    name: 'desk',
    instructions: '',
    model: side.model(place),
    tools: hasTools ? [tool('find'), tool('send')] : [],
    settings: { parallelToolCalls: true, toolChoice: 'auto' },
  });
  return {
    place,
    ran,
    settle: async (input = 'Do it.') => {
      const settled = await settle('stream', agent, { input, guardrails: [witness([], ['input', 'toolInput', 'toolOutput', 'handoff'])] });
      expect(place.problems).toEqual([]);
      return settled;
    },
  };
}

describe.each([...sides, ...fetchSides])('$name', (side) => {
  const words = streamWords[side.dialect];
  const recorded = (name: string | RegExp): readonly string[] =>
    readRecordings(streamFolders[side.dialect])
      .filter((recording) => recording.name.match(name))
      .map(({ bytes }) => new TextDecoder().decode(bytes));
  const call: SpokenCall = { id: 'call_1', name: 'find', input: '{"id":"o1"}' };

  it('S010, S013: what an answer holds beside text and calls goes back with it, in its order, byte for byte, and is not shown', async () => {
    for (const stream of recorded(/reasoning-and-two-calls|interleaved-thinking|vllm-reasoning/)) {
      const desk = deskOn(side, [stream, spokenAnswer(words, 'Done.')]);
      const { result, events } = await desk.settle();
      expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
      const [first] = answersOf(result.messages);
      const pieces = first === undefined ? [] : piecesOf(first);
      const json = desk.place.requests[1]?.json ?? '';
      const places = pieces.map((piece) => json.indexOf(piece));
      expect(pieces.length).toBeGreaterThan(0);
      expect(places.every((place) => place > 0)).toBe(true);
      expect(places).toEqual(places.toSorted((one, two) => one - two));
      expect(json.indexOf('find ran')).toBeGreaterThan(places.at(-1) ?? 0);
      expect(JSON.stringify(events.filter(({ type }) => type === 'text.delta' || type === 'reasoning.delta'))).not.toMatch(
        /TUVT|UlNQ|U0lH/,
      );
    }
  });

  it.each(['\n', '\r\n', '\r'])('S058, S059: line ends, comments, pings and unknown events change nothing (%j)', async (lineEnd) => {
    const odd = ': keep-alive\n\nevent: ping\ndata: {"type":"ping"}\n\nevent: future_event\ndata: {"type":"future_event"}\n\n';
    const whole = spokenAnswer(words, 'Hello.', [call]).replaceAll('\n\n', `\n\n${odd}`).replaceAll('\n', lineEnd);
    const desk = deskOn(side, [whole, spokenAnswer(words, 'Done.')]);
    const { result, events } = await desk.settle();
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(textOf(events)).toBe('Hello.Done.');
    expect(desk.ran).toEqual([{ id: 'o1' }]);
  });

  it('S040: calls that come in turns, or with one id, are calls of their own, in order of appearance', async () => {
    const calls = [call, { ...call, input: '{"id":"o2"}' }, { id: 'call_2', name: 'send', input: '{"to":"b"}' }];
    const pieces = calls.flatMap(({ input }, index) => [words.argument(index, input.slice(0, 4)), words.argument(index, input.slice(4))]);
    const turns = [0, 2, 4, 1, 5, 3].map((at) => pieces[at]);
    const opened = calls.map((each, index) => words.openCall(index, each));
    const closed = calls.map((each, index) => words.closeCall(index, each));
    const stream = [words.begin, words.openText, words.text('x'), ...opened, ...turns, ...closed, words.end('x', calls)].join('');
    const desk = deskOn(side, [stream, spokenAnswer(words, 'Done.')]);
    const { result } = await desk.settle();
    expect(result.status).toBe('completed');
    expect(desk.ran).toEqual([{ id: 'o1' }, { id: 'o2' }, { to: 'b' }]);
  });

  it('S043, S061: a stream that ends without its terminal event, after any of its events, runs nothing and records nothing', async () => {
    const frames = spokenAnswer(words, 'Hello.', [call]).split(/(?<=\n\n)/);
    // What says why the answer stopped counts where the dialect has it; up to there it is not whole.
    const terminal = side.dialect === 'chat' ? frames.length - 2 : frames.length - 1;
    for (let count = 0; count <= terminal; count += 1) {
      const desk = deskOn(side, [frames.slice(0, count).join('')]);
      const { result } = await desk.settle();
      expect(result, `after ${count} of ${frames.length} events`).toMatchObject({ status: 'failed', error: { code: 'MODEL_PROTOCOL' } });
      expect(desk.ran).toEqual([]);
      expect(result.messages.map(({ role }) => role)).toEqual(['user']);
    }
  });

  it('S062: an error within a stream of status 200 fails the run, and no word of it is kept', async () => {
    const streams = recorded(/^(error|failed|overloaded)/);
    expect(streams.length).toBeGreaterThan(1);
    for (const stream of streams) {
      const desk = deskOn(side, [stream]);
      const { result, events } = await desk.settle();
      expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED' } });
      expect(desk.ran).toEqual([]);
      expect(JSON.stringify([result, events])).not.toMatch(/Words of the provider|rate limit|is overloaded/);
    }
  });

  it('S045: a whole call runs, also where the answer is said to have just stopped', async () => {
    const whole = spokenAnswer(words, 'x', [call]).replace('"tool_calls"}', '"stop"}').replace('"tool_use"}}', '"end_turn"}}');
    const desk = deskOn(side, [whole, spokenAnswer(words, 'Done.')]);
    const { result } = await desk.settle();
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(desk.ran).toEqual([{ id: 'o1' }]);
  });

  it('S045: an answer that tells of calls and holds none is not whole: what was said is taken back, and it is asked for once more', async () => {
    // A stream of Responses has no word for it.
    if (side.dialect === 'responses') return;
    const lost = spokenAnswer(words, 'Let me look.').replace('"stop"}', '"tool_calls"}').replace('"end_turn"}}', '"tool_use"}}');
    const desk = deskOn(side, [lost, spokenAnswer(words, 'Done.')]);
    const { result, events } = await desk.settle();
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(events.some(({ type }) => type === 'text.retract')).toBe(true);
    expect(JSON.stringify(result.log)).not.toContain('Let me look');
    const none = deskOn(side, [lost], false);
    expect((await none.settle()).result).toMatchObject({ status: 'completed', output: 'Let me look.' });
  });

  it('S030: a wrapper around calls that a model makes up is a tool that does not exist, and what it wraps does not run', async () => {
    const input = '{"tool_uses":[{"recipient_name":"functions.find","parameters":{"id":"o1"}}]}';
    const desk = deskOn(side, [
      spokenAnswer(words, 'x', [{ id: 'call_1', name: 'multi_tool_use.parallel', input }]),
      spokenAnswer(words, 'Done.'),
    ]);
    const { result } = await desk.settle();
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(desk.ran).toEqual([]);
    expect(desk.place.requests[1]?.results.map(({ text }) => (JSON.parse(text) as { error_class: string }).error_class)).toEqual([
      'unknown_tool',
    ]);
  });

  it('S028: arguments that are no JSON, or no object, go back as an object, with an error as their result', async () => {
    const inputs = ['{bad', '[1]', '"text"', 'null', '7'];
    const calls = inputs.map((input, index) => ({ id: `call_${index}`, name: 'find', input }));
    const desk = deskOn(side, [spokenAnswer(words, 'x', calls), spokenAnswer(words, 'Done.')]);
    const { result } = await desk.settle();
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(desk.ran).toEqual([]);
    expect(desk.place.requests[1]?.calls.map(({ input }) => input)).toEqual(inputs.map(() => ({})));
    expect(desk.place.requests[1]?.results.map(({ text }) => (JSON.parse(text) as { error_class: string }).error_class)).toEqual(
      inputs.map(() => 'invalid_input'),
    );
  });

  it('S028: arguments that lose something when they are read do not run, and nothing of them is kept or sent', async () => {
    const inputs = [
      '{"id":"SWORDFISH","id":"o1"}',
      '{"id":"o1","to":{"a":1,"\\u0061":"SWORDFISH"}}',
      '{"id":"o1","to":12345678901234567890}',
    ];
    const calls = inputs.map((input, index) => ({ id: `call_${index}`, name: 'find', input }));
    const desk = deskOn(side, [spokenAnswer(words, 'x', calls), spokenAnswer(words, 'Done.')]);
    const { result } = await desk.settle();
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(desk.ran).toEqual([]);
    expect(desk.place.requests[1]?.calls.map(({ input }) => input)).toEqual(inputs.map(() => ({})));
    const told = desk.place.requests[1]?.results.map(({ text }) => (JSON.parse(text) as { summary: string }).summary);
    expect(told).toEqual([expect.stringContaining('twice'), expect.stringContaining('twice'), expect.stringContaining('more digits')]);
    expect(JSON.stringify([result.log, desk.place.requests[1]?.json])).not.toMatch(/SWORDFISH|12345678901234567890/);
  });

  it('S036: without tools nothing about tools is sent', async () => {
    const desk = deskOn(side, [spokenAnswer(words, 'Done.')], false);
    await desk.settle();
    expect(Object.keys(desk.place.requests[0]?.body ?? {}).filter((name) => /tool/.test(name))).toEqual([]);
  });

  it('S196: an answer without text and calls is asked for once more, and stands in no request as an empty message', async () => {
    const empty = recorded(/^(reasoning-alone|nothing-said)$/)[0] ?? words.begin + words.end('', []);
    const desk = deskOn(side, [empty, spokenAnswer(words, 'Now.')]);
    const { result } = await desk.settle();
    expect(result).toMatchObject({ status: 'completed', output: 'Now.' });
    expect(desk.place.requests[1]?.messages.filter(({ role }) => role === 'assistant')).toEqual([]);
    const never = deskOn(side, [empty, empty, spokenAnswer(words, 'Too late.')]);
    expect((await never.settle()).result).toMatchObject({ status: 'failed', error: { code: 'MODEL_PROTOCOL' } });
    expect(never.place.requests).toHaveLength(2);
  });
});

it.each([
  ['messages', recordedNamed('messages', 'two-answers-spliced')],
  ['responses', splicedResponses()],
  ['chat', splicedChat()],
] as const)('S072: two answers spliced into one stream are a failure, not one answer (%s)', async (dialect, stream) => {
  const side = sides.find((each) => each.dialect === dialect);
  if (side === undefined) throw new Error(dialect);
  const { result } = await deskOn(side, [stream]).settle();
  expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_PROTOCOL' } });
});

it.each([openaiChat, openaiResponses, anthropic])('S198: an empty address is refused before anything is sent (%o)', (make) => {
  for (const baseURL of ['', ' ', '/v1', 'not an address'])
    expect(() => make('a-model', { baseURL })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }) as Error);
});

function recordedNamed(dialect: Side['dialect'], name: string): string {
  const found = readRecordings(streamFolders[dialect]).find((recording) => recording.name === name);
  return new TextDecoder().decode(found?.bytes);
}

function splicedResponses(): string {
  const words = streamWords.responses;
  return words.begin + words.openText + words.text('abc') + spokenAnswer(words, 'xyz').replaceAll('resp_1', 'resp_2');
}

/** As a proxy gives it that asks again and strips the beginnings. */
function splicedChat(): string {
  const words = streamWords.chat;
  const named = (id: string, stream: string): string => stream.replaceAll('data: {', `data: {"id":"${id}",`);
  return named('c1', words.begin + words.text('abc')) + named('c2', words.text('xyz') + words.end('xyz', []));
}
