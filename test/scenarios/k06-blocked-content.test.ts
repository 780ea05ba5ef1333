import type { QuarantineStore, RunEvent } from '@guardloop/core';
import {
  allow,
  defineAgent,
  defineGuardrail,
  defineTool,
  deny,
  halt,
  memorySession,
  resume,
  rewrite,
  run,
  stream,
  withDetails,
} from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatAnswer, chatChunk, serve } from './provider-server.js';
import { ends, ofType, reaches, readAll, shownText, sound } from './sound.js';

const noSecrets = defineGuardrail({
  name: 'no-secrets',
  on: ['output'],
  check: ({ content }) => (content.includes('SECRET') ? halt('it holds a secret', { reply: 'I cannot say that.' }) : allow()),
});

describe('K6', () => {
  describe('S091: a blocked answer is in no session, and no later request', () => {
    it.each(['run', 'stream', 'live', 'resume'] as const)('S091: in mode %s', async (mode) => {
      const server = await serve(chatAnswer({ text: 'SECRET-LEAK' }), chatAnswer({ text: 'fine' }));
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat(), guardrails: [noSecrets] });
      const session = { store: memorySession(), id: 's' };
      const seen: RunEvent[] = [];
      const observers = [(event: RunEvent) => void seen.push(event)];
      const running =
        mode === 'run'
          ? run(agent, 'first', { session, observers })
          : stream(agent, 'first', { session, observers, release: mode === 'live' ? 'live' : 'checked' }).result;
      const first = await sound(mode === 'resume' ? running.then(() => resume(agent, session, { observers }).result) : running);
      expect(first).toMatchObject({ status: 'blocked', surface: 'output', by: 'no-secrets', reply: 'I cannot say that.' });
      const second = await sound(run(agent, 'again', { session, observers }));
      expect(second).toMatchObject({ status: 'completed', output: 'fine' });

      const shown = mode === 'live' ? seen.filter(({ type }) => type !== 'text.delta') : seen;
      for (const sink of [first, second, shown, await session.store.load('s'), server.bodies[1]])
        expect(reaches(sink, 'SECRET-LEAK')).toBe(false);
      const messages = server.bodies[1]?.messages as readonly { role: string; content: string }[];
      expect(messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
        'system: Help.',
        'user: first',
        'assistant: I cannot say that.',
        'user: again',
      ]);
    });
  });

  describe('S092: a blocked streamed answer cannot be read anywhere', () => {
    it.each(['checked', 'live'] as const)('S092: with release %s', async (release) => {
      const server = await serve({
        steps: [chatChunk({ content: 'SEC' }), chatChunk({ content: 'RET' }), chatChunk({}, 'stop'), 'data: [DONE]\n\n'],
      });
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat(), guardrails: [noSecrets] });
      const { events, result } = await readAll(stream(agent, 'go', { release }));
      await sound(Promise.resolve(result));
      expect(result.status).toBe('blocked');
      expect(result).not.toHaveProperty('output');
      expect(result).not.toHaveProperty('text');
      expect(reaches(result, 'SECRET')).toBe(false);
      expect(ofType(events, 'text.retract').map(({ chars }) => chars)).toEqual(release === 'live' ? [6] : []);
      if (release === 'checked') expect(shownText(events)).toBe('I cannot say that.');
    });
  });

  describe('S094: blocked text cannot be reached by any path', () => {
    const leak = defineTool({
      name: 'leak',
      description: 'Gives the answer.',
      input: z.object({}),
      endsRun: true,
      execute: () => withDetails({ text: 'SECRET-1', parts: [{ deep: 'SECRET-1' }] }, { id: 7 }),
    });
    const quarantineOf = (): QuarantineStore & { readonly kept: Map<string, unknown> } => {
      const kept = new Map<string, never>();
      return {
        kept,
        put: async (key, value) => void kept.set(key, value as never),
        get: async (key) => kept.get(key),
        delete: async (key) => void kept.delete(key),
      };
    };

    it('S094: of an answer that a tool gave, in result, log, session, error and a resumed run; what happened before stays', async () => {
      const refuse = defineGuardrail({
        name: 'g',
        on: ['output'],
        check: ({ content }) => (content.includes('SECRET') ? halt('no') : allow()),
      });
      const model = scriptedModel([[say('Let me see.'), callTool('leak', {}, 'c1')]], { native: true });
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [leak], guardrails: [refuse] });
      const session = { store: memorySession(), id: 's' };
      const result = await sound(run(agent, 'go', { session }));
      expect(result).toMatchObject({ status: 'blocked', by: 'g' });
      const again = await resume(agent, session);
      for (const sink of [result, again, await session.store.load('s'), model.requests]) expect(reaches(sink, 'SECRET')).toBe(false);
      expect(ends(result.events)).toEqual(['1.0 error']);
      expect(reaches(result.messages, 'Let me see.')).toBe(true);
    });

    it('S094: of an answer with text, calls, reasoning and a message of the provider, all discarded together', async () => {
      const refuse = defineGuardrail({
        name: 'g',
        on: ['output'],
        check: ({ content }) => (content.includes('SECRET') ? deny('no') : allow()),
      });
      const other = defineTool({ name: 'other', description: 'O.', input: z.object({ x: z.string() }), execute: () => 'ran' });
      const model = scriptedModel([[say('SECRET'), callTool('other', { x: 'SECRET' })], say('clean')], {
        native: ({ turn }) => (turn === 1 ? { all: 'SECRET' } : { all: 'clean' }),
      });
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [other], guardrails: [refuse] });
      const result = await sound(run(agent, 'go'));
      expect(result).toMatchObject({ status: 'completed', output: 'clean' });
      expect(reaches([result, model.requests[1]], 'SECRET')).toBe(false);
      expect(ofType(result.events, 'model.end').map(({ native }) => native?.message)).toEqual([undefined, { all: 'clean' }]);
      expect(ends(result.events)).toEqual([]);
    });

    it('S094: of a rejected answer in quarantine', async () => {
      const wants = defineGuardrail({ name: 'g', on: ['output'], check: () => ({ action: 'ask', reason: 'look' }) });
      const quarantine = quarantineOf();
      const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel(() => say('SECRET')), guardrails: [wants] });
      const first = await sound(run(agent, 'go', { quarantine, limits: { repairs: 0 } }));
      expect(first.status).toBe('interrupted');
      expect(reaches(first, 'SECRET')).toBe(false);
      const id = first.status === 'interrupted' ? (first.approvals[0]?.id ?? '') : '';
      const last = await sound(
        resume(agent, first.log, { quarantine, limits: { repairs: 0 }, decisions: { [id]: { reject: 'no' } } }).result,
      );
      expect(last.status).toBe('blocked');
      expect(reaches([last, quarantine.kept], 'SECRET')).toBe(false);
    });
  });

  it('S106: a redacted tool output is redacted in every sink', async () => {
    const card = /\d{4}-\d{4}/g;
    const redact = defineGuardrail({
      name: 'redact',
      on: ['toolOutput'],
      rewrite: ({ content }) => {
        const spans = [...content.matchAll(card)].map(({ index, 0: match }) => ({ start: index, end: index + match.length, with: '[R]' }));
        return spans.length > 0 ? rewrite(spans, 'a card') : allow();
      },
    });
    const tool = (name: string, execute: () => unknown) => defineTool({ name, description: name, input: z.object({}), execute });
    const tools = [
      tool('text', () => 'card 1234-5678'),
      tool('fields', () => ({ text: '1234-5678', structured: { card: '1234-5678', list: [{ card: '1234-5678' }] } })),
      tool('details', () => withDetails('fine', { card: '1234-5678' })),
      tool('parts', () => [
        { type: 'text', text: 'alt 1234-5678' },
        { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
      ]),
      tool('throws', () => {
        throw new Error('no such card 1234-5678');
      }),
    ];
    const server = await serve(
      chatAnswer({ calls: tools.map(({ name }, index) => ({ id: `c${index}`, name })) }),
      chatAnswer({ text: 'ok' }),
    );
    const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat(), tools, guardrails: [redact] });
    const seen: RunEvent[] = [];
    const session = { store: memorySession(), id: 's' };
    const { events, result } = await readAll(stream(agent, 'go', { session, observers: [(event) => void seen.push(event)] }));
    await sound(Promise.resolve(result));
    expect(result.status).toBe('completed');
    expect(server.problems).toEqual([]);
    for (const sink of [events, seen, result, await session.store.load('s'), server.bodies]) expect(reaches(sink, '1234-5678')).toBe(false);
    expect(JSON.stringify(server.bodies[1]).split('[R]').length).toBeGreaterThanOrEqual(6);
    expect(ofType(events, 'tool.end').find(({ tool: name }) => name === 'details')?.details).toEqual({ card: '[R]' });
  });
});
