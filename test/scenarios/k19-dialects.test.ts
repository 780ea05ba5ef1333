import { allow, defineAgent, defineGuardrail, defineTool, run } from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatAnswer, chatChunk, messagesAnswer, messagesEvent, serve } from './provider-server.js';
import { ends, ofType, sound } from './sound.js';

describe('K19', () => {
  it.each(['chat', 'claude'] as const)(
    'S030: a wrapper that the model made up is one unknown tool; nothing inside it runs (%s)',
    async (dialect) => {
      const ran: string[] = [];
      const judged: string[] = [];
      const tool = (name: string) =>
        defineTool({
          name,
          description: name,
          input: z.object({}),
          execute: () => {
            ran.push(name);
            return 'ok';
          },
        });
      const guard = defineGuardrail({
        name: 'g',
        on: ['toolInput'],
        check: ({ tool: name }) => {
          judged.push(name);
          return allow();
        },
      });
      const args = { tool_uses: [{ recipient_name: 'functions.a', parameters: { x: 1 } }] };
      const server = await serve(
        dialect === 'chat'
          ? chatAnswer({ calls: [{ id: 'c1', name: 'multi_tool_use.parallel', args }] })
          : messagesAnswer({ calls: [{ id: 'c1', name: 'multi_tool_use.parallel', args }] }),
        dialect === 'chat' ? chatAnswer({ text: 'ok' }) : messagesAnswer({ text: 'ok' }),
      );
      const agent = defineAgent({
        name: 'a',
        instructions: 'Help.',
        model: server[dialect](),
        tools: [tool('a'), tool('b')],
        guardrails: [guard],
      });
      const result = await sound(run(agent, 'a and b'));
      expect(result).toMatchObject({ status: 'completed', output: 'ok' });
      expect(ends(result.events)).toEqual(['1.0 error']);
      expect(ofType(result.events, 'tool.end')[0]).toMatchObject({ errorClass: 'unknown_tool' });
      expect([ran, judged]).toEqual([[], []]);
      // The answer to it is legal, though the name is not.
      expect(server.problems).toEqual([]);
    },
  );

  it('S122: from one provider to another and back, every request is legal, and nothing of the one goes to the other', async () => {
    const longId = 'call_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcd-and.more';
    const thought = 'private thoughts of claude';
    const server = await serve(
      {
        steps: [
          chatChunk({ role: 'assistant', reasoning_content: 'private thoughts of gpt' }),
          chatChunk({ tool_calls: [{ index: 0, id: longId, type: 'function', function: { name: 'lookup', arguments: '{}' } }] }),
          chatChunk({}, 'tool_calls'),
          'data: [DONE]\n\n',
        ],
      },
      chatAnswer({ calls: [{ id: 'h1', name: 'transfer_to_helper' }] }),
      {
        steps: [
          ...messagesAnswer({}).steps.slice(0, 1),
          messagesEvent('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }),
          messagesEvent('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: thought } }),
          messagesEvent('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } }),
          messagesEvent('content_block_stop', { index: 0 }),
          messagesEvent('content_block_start', {
            index: 1,
            content_block: { type: 'tool_use', id: 'toolu_1', name: 'transfer_to_triage', input: {} },
          }),
          messagesEvent('content_block_stop', { index: 1 }),
          messagesEvent('message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 5 } }),
          messagesEvent('message_stop', {}),
        ],
      },
      chatAnswer({ text: 'end' }),
    );
    const lookup = defineTool({ name: 'lookup', description: 'L.', input: z.object({}), execute: () => 'looked up' });
    const helper = defineAgent({
      name: 'helper',
      instructions: 'Help.',
      model: server.claude(),
      settings: { reasoning: 'high' },
      handoffs: ['triage'],
    });
    const triage = defineAgent({
      name: 'triage',
      instructions: 'Route.',
      model: server.chat(),
      tools: [lookup],
      handoffs: [helper],
    });
    const result = await sound(run(triage, 'go'));
    expect(result).toMatchObject({ status: 'completed', agent: 'triage', output: 'end' });
    expect(server.problems).toEqual([]);
    const [, second, third, fourth] = server.bodies.map((body) => JSON.stringify(body));
    for (const body of [second, third, fourth]) for (const words of ['private thoughts', 'c2ln']) expect(body).not.toContain(words);
    // The call of a tool that the helper does not have is kept with its result.
    expect(third).toContain('looked up');
    expect(third).toContain('tool_use');
    expect(server.bodies[2]).toHaveProperty('tools');
    const ids = [...(third ?? '').matchAll(/"(?:tool_use_id|id)":"([^"]+)"/g)].map(([, id]) => id ?? '');
    expect(ids.length).toBeGreaterThan(1);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(fourth).toContain('looked up');
  });
});
