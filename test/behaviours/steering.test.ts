// A person says something to a run that is under way, or pauses it.
import type { RunEvent } from '@guardloop/core';
import { allow, asTool, defineAgent, defineGuardrail, defineTool, deny, memorySession, rewrite } from '@guardloop/core';
import { callTool, say } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resume, scriptedModel, stream } from './audited.js';
import { reread } from './reading.js';

/** A tool during which the test does something. */
const during = (act: () => void) =>
  defineTool({
    name: 'work',
    description: 'Works.',
    input: z.object({}),
    flow: { effect: 'read' },
    execute: () => {
      act();
      return 'worked';
    },
  });
const script = () => scriptedModel([callTool('work'), say('Done.'), say('Done anew.')]);
const texts = (messages: readonly unknown[] | undefined) =>
  (messages ?? []).flatMap((message) =>
    (message as { role: string }).role === 'user' ? [(message as { parts: [{ text: string }] }).parts[0].text] : [],
  );

describe('steering', () => {
  it('is seen by the next model call, judged as input, and in the log', async () => {
    const seen: string[] = [];
    const look = defineGuardrail({
      name: 'look',
      on: ['input'],
      check: ({ content }) => {
        seen.push(content);
        return allow();
      },
    });
    let taken: Promise<boolean> | undefined;
    const model = script();
    const events = stream(
      defineAgent({
        name: 'a',
        instructions: '',
        model,
        tools: [
          during(() => {
            taken = events.steer('Be quick.');
          }),
        ],
        guardrails: [look],
      }),
      'go',
      { runId: 'r' },
    );
    const result = await events.result;
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(await taken).toBe(true);
    expect(texts(model.requests[1]?.messages)).toEqual(['go', 'Be quick.']);
    expect(seen).toEqual(['go', 'Be quick.']);
    expect(result.events.filter(({ type }) => type === 'input.accept')).toMatchObject([
      { subject: 'r/input' },
      { subject: 'r/input/s1', items: [{ id: 'r/s1', via: 'user' }] },
    ]);
    expect(await events.steer('late')).toBe(false);
  });

  it('comes after the results of calls, several at once in their order', async () => {
    const model = script();
    const events = stream(
      defineAgent({
        name: 'a',
        instructions: '',
        model,
        tools: [
          during(() => {
            void events.steer('one');
            void events.steer([{ type: 'text', text: 'two' }]);
          }),
        ],
      }),
      'go',
    );
    expect((await events.result).status).toBe('completed');
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user', 'user']);
  });

  it('keeps a run going that has just answered', async () => {
    const model = scriptedModel([say('Done.'), say('Done anew.')]);
    const shown: RunEvent[] = [];
    const events = stream(defineAgent({ name: 'a', instructions: '', model }), 'go', {
      observers: [
        (event) => {
          shown.push(event);
          if (event.type === 'model.end' && event.turn === 1) void events.steer('And then?');
        },
      ],
    });
    expect(await events.result).toMatchObject({ status: 'completed', output: 'Done anew.' });
    expect(texts(model.requests[1]?.messages)).toEqual(['go', 'And then?']);
  });

  it('is rewritten as any input, and refused with the run', async () => {
    const mask = defineGuardrail({
      name: 'mask',
      on: ['input'],
      rewrite: ({ content }) => (content === 'my card 411-1' ? rewrite('my card ####', 'card') : allow()),
    });
    const no = defineGuardrail({
      name: 'no',
      on: ['input'],
      check: ({ content }) => (content.includes('forbidden') ? deny('not that') : allow()),
    });
    const start = (words: string) => {
      let taken: Promise<boolean> | undefined;
      const model = script();
      const events = stream(
        defineAgent({
          name: 'a',
          instructions: '',
          model,
          tools: [
            during(() => {
              taken = events.steer(words);
            }),
          ],
          guardrails: [mask, no],
        }),
        'go',
      );
      return { model, events, taken: () => taken };
    };
    const rewritten = start('my card 411-1');
    const result = await rewritten.events.result;
    expect(result.status).toBe('completed');
    expect(JSON.stringify([result.log, rewritten.model.requests])).not.toContain('411-1');
    const refused = start('forbidden canary');
    const blocked = await refused.events.result;
    expect(blocked).toMatchObject({ status: 'blocked', by: 'no' });
    expect(await refused.taken()).toBe(false);
    expect(JSON.stringify([blocked.log, refused.model.requests])).not.toContain('canary');
  });

  it('is not lost silently: where the run waits or ends, it was not taken', async () => {
    const send = defineTool({ name: 'send', description: 'S.', input: z.object({}), approval: true, execute: () => 'sent' });
    const asking: Promise<boolean>[] = [];
    const model = scriptedModel([[callTool('work'), callTool('send')], say('Done.')]);
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model,
      tools: [
        during(() => {
          asking.push(events.steer('x'));
        }),
        send,
      ],
    });
    const events = stream(agent, 'go');
    expect((await events.result).status).toBe('interrupted');
    expect(await Promise.all(asking)).toEqual([false]);
    await expect(events.steer(7 as never)).rejects.toThrow(/input/);
  });

  it('waits for the outermost run while a child run is under way', async () => {
    const child = defineAgent({
      name: 'child',
      instructions: '',
      model: scriptedModel({ child: [callTool('work'), say('below')] }),
      tools: [
        during(() => {
          void events.steer('Up here.');
        }),
      ],
    });
    const model = scriptedModel([callTool('ask_child', { input: 'x' }), say('Done.')]);
    const events = stream(
      defineAgent({ name: 'a', instructions: '', model, tools: [asTool(child, { name: 'ask_child', description: 'A.' })] }),
      'go',
    );
    expect((await events.result).status).toBe('completed');
    expect(texts(model.requests[1]?.messages)).toEqual(['go', 'Up here.']);
  });

  it('numbers on in a resumed run, whose log still audits', async () => {
    const model = scriptedModel([callTool('work'), callTool('work'), say('Done.')]);
    let words = 0;
    const act = (): void => {
      words += 1;
      void current?.steer(`word ${words}`);
      if (words === 1) current?.pause();
    };
    let current: ReturnType<typeof stream> | ReturnType<typeof resume> | undefined;
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [during(act)] });
    current = stream(agent, 'go', { runId: 'r' });
    const paused = await current.result;
    expect(paused).toMatchObject({ status: 'interrupted', approvals: [] });
    current = resume(agent, reread(paused.log));
    const done = await current.result;
    expect(done.status).toBe('completed');
    expect(done.log.events.flatMap((event) => (event.type === 'input.accept' ? [event.subject] : []))).toEqual(['r/input', 'r/input/s1']);
  });
});

describe('a pause', () => {
  it('stops before the next model call, with all calls ended, and is resumed in a session', async () => {
    const session = { store: memorySession(), id: 's' };
    const model = script();
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [during(() => events.pause())] });
    const events = stream(agent, 'go', { session });
    const paused = await events.result;
    expect(paused).toMatchObject({ status: 'interrupted', approvals: [] });
    expect(paused.events.at(-1)?.type).toBe('tool.end');
    expect(model.requests).toHaveLength(1);
    expect(await resume(agent, session)).toMatchObject({ status: 'completed', output: 'Done.' });
  });

  it('does not hold an answer that is there', async () => {
    const events: ReturnType<typeof stream> = stream(
      defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Done.')]) }),
      'go',
      {
        observers: [
          (event) => {
            if (event.type === 'model.start') events.pause();
          },
        ],
      },
    );
    expect(await events.result).toMatchObject({ status: 'completed', output: 'Done.' });
  });
});
