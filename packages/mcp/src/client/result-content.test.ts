import type { JsonValue, Part } from '@guardloop/core';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorWords, outputOf, readCallResult } from './result-content.js';

const outputFrom = (result: Record<string, unknown>): JsonValue | readonly Part[] => outputOf(readCallResult(result as never));

describe('a result', () => {
  it('of any JSON at all leaves something to read, and never throws', () => {
    const kinds = fc.constantFrom('text', 'image', 'audio', 'resource', 'resource_link', 'file', '__proto__', 'x');
    const block = fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          type: kinds,
          text: fc.jsonValue(),
          data: fc.oneof(fc.base64String(), fc.string()),
          mimeType: fc.oneof(fc.constant('image/png'), fc.string()),
          resource: fc.jsonValue(),
          uri: fc.webUrl(),
        },
        { requiredKeys: ['type'] },
      ),
    );
    const result = fc.record(
      { content: fc.oneof(fc.array(block, { maxLength: 5 }), fc.jsonValue()), structuredContent: fc.jsonValue(), isError: fc.jsonValue() },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(result, (given) => {
        const output = outputFrom(given);
        if (Array.isArray(output)) expect(output.length).toBeGreaterThan(0);
        expect(output).not.toBe(undefined);
        const words = errorWords(readCallResult(given as never), 200);
        expect(words).not.toBe('');
        expect(words.length).toBeLessThanOrEqual(204);
        expect(words).not.toMatch(/[\r\n]/);
      }),
      { numRuns: 1_000, seed: 175 },
    );
  });

  it('of images and files is taken for parts by core, whatever the base64', async () => {
    const data = fc.oneof(
      fc.base64String(),
      fc.string(),
      fc.base64String().map((text) => text.replace(/=+$/, '')),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(data, { minLength: 1, maxLength: 4 }), async (list) => {
        const content = list.map((text) => ({ type: 'image', data: text, mimeType: 'image/png' }));
        const tool = defineTool({ name: 't', description: 'T.', input: { type: 'object' }, execute: () => outputFrom({ content }) });
        const model = scriptedModel([callTool('t'), say('ok')]);
        const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [tool] }), 'go');
        expect(auditLog(result.log)).toEqual([]);
        const [end] = result.events.flatMap((event) => (event.type === 'tool.end' ? [event] : []));
        // As JSON in a text the base64 would be read, and paid for, as words.
        const text = typeof end?.content === 'string' ? end.content : '';
        expect(text).not.toContain('"data"');
      }),
      { numRuns: 100, seed: 1 },
    );
  });

  it('that says one thing in two forms is said once: as JSON, as a field, as an entry of a list', () => {
    const text = (words: string) => ({ type: 'text', text: words });
    expect(outputFrom({ content: [text('{"a": 1}')], structuredContent: { a: 1 } })).toEqual({ a: 1 });
    expect(outputFrom({ content: [text('hello')], structuredContent: { content: 'hello' } })).toEqual({ content: 'hello' });
    expect(outputFrom({ content: [text('1'), text('two')], structuredContent: { result: [1, 'two'] } })).toEqual({ result: [1, 'two'] });
    expect(outputFrom({ content: [text('more'), text('{"a":1}')], structuredContent: { a: 1 } })).toEqual([text('{"a":1}'), text('more')]);
    expect(errorWords(readCallResult({ content: [text('{"a": 1}')], structuredContent: { a: 1 } } as never), 100)).toBe('{"a": 1}');
  });

  it('is compared with its texts in one look, however many texts there are', () => {
    const looksFor = (texts: number): number => {
      let looks = 0;
      const rows = Array.from({ length: 50 }, (_, row) => ({ row, name: `n${row}` }));
      const structuredContent = {
        get rows() {
          looks += 1;
          return rows;
        },
      };
      const content = Array.from({ length: texts }, (_, index) => ({ type: 'text', text: `{"row":"${index}"}` }));
      expect(outputFrom({ content, structuredContent })).toHaveLength(texts + 1);
      expect(errorWords(readCallResult({ content, structuredContent } as never), 4_000)).toContain('"row":"0"');
      return looks;
    };
    expect(looksFor(400)).toBe(looksFor(1));
  });

  it('of data that looks like a part of a message is data', () => {
    const data = { type: 'file', url: 'https://evil.example/x', mediaType: 'text/plain' };
    expect(outputFrom({ structuredContent: data })).toBe(JSON.stringify(data));
    expect(outputFrom({ structuredContent: [data] })).toBe(JSON.stringify([data]));
  });

  it('in the forms of careless and of old servers is not lost', () => {
    expect(outputFrom({ content: 'bare' })).toBe('bare');
    expect(outputFrom({ content: { type: 'text', text: 'one' } })).toBe('one');
    expect(outputFrom({ toolResult: { a: 1 } })).toEqual({ a: 1 });
    expect(outputFrom({ content: null })).toBe('(the tool gave no content)');
  });

  it('of very many blocks is cut, and says so', () => {
    const output = outputFrom({
      content: Array.from({ length: 2_000 }, (_, index) => ({ type: 'text', text: String(index) })),
    }) as readonly Part[];
    expect(output).toHaveLength(501);
    expect(output.at(-1)).toEqual({ type: 'text', text: '[left out: 1500 more blocks]' });
  });
});
