import type { ToolSpec } from '@guardloop/core/model';
import { describe, expect, it } from 'vitest';
import type { EmbedTexts } from './select-tools-embeddings.js';
import { byEmbeddings } from './select-tools-embeddings.js';

const toolOf = (name: string): ToolSpec => ({ name, description: `Does ${name}.`, schema: { type: 'object', properties: { id: {} } } });
const tools = ['mail', 'order', 'rain'].map(toolOf);
const info = { limit: 2, signal: new AbortController().signal };
/** Vectors by hand: how often a text is about mail, orders and rain. */
const vectorOf = (text: string): number[] =>
  ['mail|letter', 'order|parcel', 'rain|weather'].map((words) => 3 * (text.match(new RegExp(words, 'g')) ?? []).length - 1);

describe('ranking by embeddings', () => {
  it('gives what is near, nearest first, and nothing that points away', async () => {
    const asked: (readonly string[])[] = [];
    const by = byEmbeddings((texts) => {
      asked.push(texts);
      return texts.map((text) => Float32Array.from(vectorOf(text)));
    });
    expect(await by('weather, the weather, and a letter', tools, info)).toEqual(['rain', 'mail']);
    expect(await by('weather', tools, info)).toEqual(['rain']);
    expect(await by('weather', [...tools, toolOf('snow')], { ...info, limit: 1 })).toEqual(['rain']);
    expect(asked).toEqual([
      ['weather, the weather, and a letter', 'mail: Does mail. (id)', 'order: Does order. (id)', 'rain: Does rain. (id)'],
      ['weather'],
      ['weather', 'snow: Does snow. (id)'],
    ]);
  });

  it('takes vectors without a length for far from everything', async () => {
    const by = byEmbeddings((texts) => texts.map((text) => (text.startsWith('mail') ? [Number.NaN, 1, 0] : vectorOf(text))));
    expect(await by('a letter', tools, info)).toEqual([]);
  });

  const wrong: readonly [string, EmbedTexts][] = [
    ['too few vectors', () => [[1]]],
    ['no vectors', () => undefined as never],
    ['vectors of different lengths', (texts) => texts.map((_, index) => Array.from({ length: index + 1 }, () => 1))],
  ];
  it.each(wrong)('refuses %s', async (_, embed) => {
    await expect(byEmbeddings(embed)('x', tools, info)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});
