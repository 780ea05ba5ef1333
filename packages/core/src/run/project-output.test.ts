import { describe, expect, it } from 'vitest';
import { defineAgent } from '../define/agent.js';
import { defineTool } from '../define/tool.js';
import type { Projection } from '../define/types.js';
import type { Message, Model, ToolCall } from '../model/types.js';
import { resultCapChars, turnCapChars } from '../project/cap.js';
import { headTail } from '../project/head-tail.js';
import { jsonFields } from '../project/json-fields.js';
import { spill } from '../project/spill.js';
import { run } from './run.js';

const usage = { requests: 1, inputTokens: 1, outputTokens: 1 };

/** What the model is shown of the results of one answer that calls the tool `look` so often. */
async function shown(
  output: unknown,
  { project, calls = 1 }: { readonly project?: Projection<unknown, string>; readonly calls?: number } = {},
) {
  let messages: readonly Message[] = [];
  const model: Model = {
    id: 'caller',
    provider: 'test',
    async *stream(request) {
      messages = [...request.messages];
      const isFirst = request.turn === 1;
      for (let index = 0; isFirst && index < calls; index += 1) {
        const call: ToolCall = { id: `c${index}`, name: 'look', input: { index } };
        yield { type: 'tool.call', call };
      }
      if (!isFirst) yield { type: 'text.delta', text: 'Seen.' };
      yield { type: 'end', stopReason: isFirst ? 'tools' : 'stop', usage };
    },
  };
  const look = defineTool({ name: 'look', description: 'Looks.', input: { type: 'object' }, execute: () => output, project });
  const result = await run(defineAgent({ name: 'viewer', instructions: 'Look.', model, tools: [look] }), 'Look.');
  expect(result.status).toBe('completed');
  return messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
}

const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const;
const long = { type: 'text', text: 'word '.repeat(1_000) } as const;
const kept = new Map<string, string>();
const store = {
  put: async (key: string, text: string) => void kept.set(key, text),
  get: async (key: string) => kept.get(key),
};

describe('images and files in a projected result', () => {
  it.each([
    ['headTail', headTail({ maxChars: 100 })],
    ['spill', spill({ maxChars: 100, store })],
    ['jsonFields', jsonFields({ keep: ['type'], maxChars: 200 })],
  ])('stay beside the text that %s makes', async (_name, project) => {
    const [content] = await shown([long, image], { project });
    expect(content).toEqual([{ type: 'text', text: expect.any(String) }, expect.objectContaining(image)]);
    expect(JSON.stringify(content).length).toBeLessThan(800);
  });

  it('stay beside what is shown of the object that held them', async () => {
    const [content] = await shown(
      { name: 'logo', picture: new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) },
      { project: jsonFields({ keep: ['name'] }) },
    );
    expect(content).toEqual([
      { type: 'text', text: expect.stringContaining('{"name":"logo"') },
      expect.objectContaining({ type: 'image' }),
    ]);
  });

  it("are replaced by the text of an author's own projection, which is all of what it shows", async () => {
    expect(await shown([long, image], { project: () => 'a picture' })).toEqual(['a picture']);
  });
});

describe('the caps of results', () => {
  it('give each result of a turn its even share of the cap of the turn, and no more than the cap of a result', async () => {
    const text = 'x'.repeat(100_000);
    for (const calls of [1, 3, 4, 8]) {
      const most = Math.min(resultCapChars, Math.floor(turnCapChars / calls));
      const contents = await shown(text, { calls });
      expect(contents).toHaveLength(calls);
      for (const content of contents) expect((content as string).replace(/\n\[.*\]\n/, '')).toBe('x'.repeat(most));
    }
  });
});
