import type { Model, RunEvent } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, deny, memorySession, run, stream } from '@guardloop/core';
import { auditLog } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ProviderServer, WireAnswer } from '../scenarios/provider-server.js';
import {
  chatAnswer,
  chatChunk,
  messagesAnswer,
  messagesEvent,
  responsesAnswer,
  responsesEvent,
  serve,
} from '../scenarios/provider-server.js';
import { canary, tracesOf } from './canary.js';

/** What a provider may answer that quotes the canary in a place of its own. */
type Wire = 'chat' | 'responses' | 'claude';
const wires: readonly Wire[] = ['chat', 'responses', 'claude'];

const errorBody = (wire: Wire): string => {
  const error = { message: `will not have ${canary}`, type: canary, code: canary, param: canary, innererror: { revised_prompt: canary } };
  return JSON.stringify(wire === 'claude' ? { type: 'error', error, request_id: canary } : { error });
};
const event = (wire: Wire, data: string, type = 'message'): string =>
  wire === 'chat' ? `data: ${data}\n\n` : `event: ${type}\ndata: ${data}\n\n`;
const text = (wire: Wire, words: string, finish?: string): WireAnswer => {
  if (wire === 'chat') return chatAnswer({ text: words, ...(finish === undefined ? {} : { finish }) });
  if (wire === 'claude') return messagesAnswer({ text: words, ...(finish === undefined ? {} : { finish }) });
  return responsesAnswer({
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: words, annotations: [] }],
  });
};
const calls = (wire: Wire, name: string, args: string): WireAnswer => {
  if (wire === 'chat') return chatAnswer({ text: 'Look.', calls: [{ id: 'call_1', name, args }] });
  if (wire === 'claude') return messagesAnswer({ text: 'Look.', calls: [{ id: 'toolu_1', name, args }] });
  return responsesAnswer({ type: 'function_call', id: 'fc_1', call_id: 'call_1', name, arguments: args, status: 'completed' });
};
const begun = (wire: Wire): string[] => {
  const words = JSON.stringify(canary);
  if (wire === 'chat') return [chatChunk({ role: 'assistant', content: canary })];
  if (wire === 'claude') return text('claude', canary).steps.slice(0, 3) as string[];
  return [
    responsesEvent('response.created', { response: { object: 'response', status: 'in_progress', output: [] } }),
    event(
      'responses',
      `{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"m","delta":${words}}`,
      'response.output_text.delta',
    ),
  ];
};

const faults: { readonly [name: string]: (wire: Wire) => readonly WireAnswer[] } = {
  ...Object.fromEntries(
    [400, 401, 429, 500].map((status) => [
      `an error ${status} that quotes it`,
      (wire: Wire) => [{ status, headers: { 'content-type': 'application/json' }, steps: [errorBody(wire)] }],
    ]),
  ),
  'an error page that quotes it': () => [{ status: 502, headers: { 'content-type': 'text/html' }, steps: [`<html>${canary}</html>`] }],
  'a page in place of a stream': () => [{ headers: { 'content-type': 'text/html' }, steps: [`<html>${canary}</html>`] }],
  'an event that is no JSON': (wire) => [{ steps: [...begun(wire), event(wire, `{"${canary}`)] }],
  'an error in the middle of the stream': (wire) => [{ steps: [...begun(wire), event(wire, errorBody(wire), 'error')] }],
  'events of another kind': (wire) => [
    { steps: [event(wire, JSON.stringify({ type: canary, [canary]: canary }), canary.split('\n')[0]), ...text(wire, 'Fine.').steps] },
  ],
  'a connection that is cut': (wire) => [{ steps: [...begun(wire), 'cut'] }],
  'a stream that ends too early': (wire) => [{ steps: begun(wire) }],
  'an end of another kind': (wire) => [text(wire, canary, canary)],
  'an end by its content filter': (wire) => [text(wire, canary, wire === 'chat' ? 'content_filter' : 'refusal')],
  'a text that is refused': (wire) => [text(wire, canary), text(wire, 'Fine.')],
  'a tool that it made up': (wire) => [calls(wire, 'nowhere', JSON.stringify({ [canary]: canary })), text(wire, 'Fine.')],
  'a tool with a name that no provider lets through': (wire) => [
    calls(wire, canary, JSON.stringify({ text: canary })),
    text(wire, 'Fine.'),
  ],
  'arguments that are no JSON': (wire) => [calls(wire, 'act', `{"text": "${canary}`), text(wire, 'Fine.')],
  'arguments that are refused': (wire) => [calls(wire, 'act', JSON.stringify({ text: canary })), text(wire, 'Fine.')],
  'arguments that do not fit': (wire) => [calls(wire, 'act', JSON.stringify({ text: 7, [canary]: canary })), text(wire, 'Fine.')],
};

const modelOf = (server: ProviderServer, wire: Wire, transport: 'sdk' | 'fetch'): Model => {
  const options = transport === 'fetch' ? { transport: 'fetch' as const } : {};
  if (wire === 'chat') return server.chat(options);
  return wire === 'claude' ? server.claude(options) : server.responses(options);
};

describe.each(wires.flatMap((wire) => (['sdk', 'fetch'] as const).map((transport) => [wire, transport] as const)))(
  '%s by %s',
  (wire, transport) => {
    it.each(Object.entries(faults))('leaves no trace of what the provider quotes: %s', async (_name, answers) => {
      for (const release of ['checked', 'live'] as const) {
        const server = await serve(...answers(wire), text(wire, 'Later.'), text(wire, 'Later.'));
        const act = defineTool({ name: 'act', description: 'Acts.', input: z.object({ text: z.string() }), execute: () => 'acted' });
        const watch = defineGuardrail({
          name: 'watch',
          on: ['output', 'toolInput'],
          check: (subject) => (tracesOf(subject).length > 0 ? deny('not for here') : allow()),
        });
        const agent = defineAgent({
          name: 'desk',
          instructions: 'Help.',
          model: modelOf(server, wire, transport),
          tools: [act],
          guardrails: [watch],
        });
        const session = { store: memorySession(), id: 's' };
        const observed: RunEvent[] = [];
        const watched = stream(agent, 'go', { session, release, observers: [(each) => void observed.push(each)] });
        const events: RunEvent[] = [];
        for await (const each of watched) events.push(each);
        const result = await watched.result;
        const next = await run(agent, 'again', { session });
        const isShown = ({ type }: RunEvent): boolean => release === 'checked' || type !== 'text.delta';
        const sinks = {
          result,
          next,
          events: events.filter(isShown),
          observed: observed.filter(isShown),
          stored: await session.store.load('s'),
          sent: server.bodies,
        };
        expect(tracesOf(sinks)).toEqual([]);
        const shown = events.flatMap((each) => (each.type === 'text.delta' ? [each.text.length] : [])).reduce((sum, size) => sum + size, 0);
        const back = events.flatMap((each) => (each.type === 'text.retract' ? [each.chars] : [])).reduce((sum, size) => sum + size, 0);
        const kept =
          result.status === 'completed'
            ? result.messages.flatMap((each) => (each.role === 'assistant' ? [each.text.length] : [])).reduce((sum, size) => sum + size, 0)
            : shown - back;
        expect(shown - back).toBe(kept);
        expect(auditLog(result.log)).toEqual([]);
      }
    });
  },
);

it('the events that the faults are made of are read as such', async () => {
  const server = await serve(messagesAnswer({ text: canary }), { steps: [messagesEvent('ping', {})] });
  const agent = defineAgent({ name: 'desk', instructions: 'Help.', model: server.claude() });
  expect(await run(agent, 'go')).toMatchObject({ status: 'completed', output: canary });
});
