import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { agentOf, calls, eventsOf, scripted, tool } from '../../test/scene.js';
import { withDetails } from '../define/detailed.js';
import { defineGuardrail } from '../define/guardrail.js';
import { partial } from '../define/partial.js';
import type { Subject, ToolOutputSubject } from '../define/types.js';
import { allow, rewrite } from '../define/verdict.js';
import { headTail } from '../project/head-tail.js';
import { jsonFields } from '../project/json-fields.js';
import { compareVerdicts } from '../replay/compare-verdicts.js';
import { run } from './run.js';

interface Making {
  readonly more?: object;
  readonly agent?: object;
  readonly options?: object;
}

/** What became of one call of the tool `look`, and what the model was told. */
async function looked(execute: () => unknown, { more = {}, agent = {}, options = {} }: Making = {}) {
  const model = scripted([calls('look')], 'Done.');
  const desk = agentOf({ model, tools: [tool('look', execute, more)], ...agent });
  const result = await run(desk, 'hello', options);
  const [end] = eventsOf(result, 'tool.end');
  const told = model.requests[1]?.messages.find((message) => message.role === 'tool');
  return { result, end, told };
}

const words = { summary: 'The 2 newest of 312.', more: 'Call again with page: 2.' };
const rows = [
  { id: 1, note: 'x' },
  { id: 2, note: 'y' },
];
const enclosed = (result: unknown) => ({ completeness: 'partial', ...words, result });

describe('how much of a result the model sees', () => {
  it.each<[string, unknown]>([
    ['a text', 'Blue.'],
    ['an object', { a: 1 }],
    ['zero', 0],
    ['false', false],
    ['a list of nothing', [null]],
    ['an object with an empty list', { rows: [] }],
  ])('is all of %s, and nothing is said of that', async (_what, output) => {
    const { end, told } = await looked(() => output);
    expect(end).toMatchObject({ status: 'ok', completeness: 'full' });
    expect(told).not.toHaveProperty('note');
  });

  it.each<[string, unknown, string]>([
    ['null', null, 'null'],
    ['an empty list', [], '[]'],
    ['an empty object', {}, '{}'],
    ['an object of fields without values', { a: undefined }, '{}'],
    ['an empty set', new Set(), '[]'],
    ['an empty list as text', '[ ]', '[ ]'],
    ['blanks', ' \n ', ' \n '],
    ['many blanks', ' '.repeat(100), ' '.repeat(100)],
  ])('is nothing of %s, and the model is told so', async (_what, output, content) => {
    const { end, told } = await looked(() => output);
    expect(end).toMatchObject({ status: 'ok', completeness: 'empty', content });
    expect(told).toMatchObject({ content, note: 'The result is empty.' });
  });

  it.each<[string, unknown, string]>([
    ['undefined', undefined, '(no result)'],
    ['an empty text', '', '(empty result)'],
  ])('is nothing of %s, whose content says it already', async (_what, output, content) => {
    const { end, told } = await looked(() => output);
    expect(end).toMatchObject({ completeness: 'empty', content });
    expect(told).not.toHaveProperty('note');
  });

  it('is nothing where a projection gives words for it, which are the author’s', async () => {
    const { end, told } = await looked(() => [], { more: { project: () => 'No orders were found.' } });
    expect(end).toMatchObject({ completeness: 'empty', content: 'No orders were found.' });
    expect(told).not.toHaveProperty('note');
  });

  it('is a part where a cap or one of core’s projections cut it, and that is said once', async () => {
    const capped = await looked(() => 'x'.repeat(20_000));
    expect(capped.end).toMatchObject({ completeness: 'partial', note: expect.stringContaining('was too long and was cut') });
    const cut = await looked(() => 'x'.repeat(500), { more: { project: headTail({ maxChars: 100 }) } });
    expect(cut.end).toMatchObject({ completeness: 'partial', content: expect.stringContaining('400 of 500 characters left out') });
    expect(cut.end).not.toHaveProperty('note');
    const fields = await looked(() => rows, { more: { project: jsonFields({ keep: [] }) } });
    expect(fields.end).toMatchObject({ completeness: 'partial', content: '[{"id":1},{"id":2}]', note: '[left out: 2 fields]' });
    const whole = await looked(() => '{ "id": 1 }', { more: { project: jsonFields({ keep: [] }) } });
    expect(whole.end).toMatchObject({ completeness: 'full', content: '{"id":1}', projection: 'core' });
    expect(whole.end).not.toHaveProperty('note');
  });

  it('is a part where an author’s projection says less, and the model is told how much', async () => {
    const { end } = await looked(() => rows, { more: { project: () => '2 rows' } });
    expect(end).toMatchObject({
      completeness: 'partial',
      content: '2 rows',
      note: 'This is a shorter form of the result: 6 of its 41 characters.',
    });
    const longer = await looked(() => 'a', { more: { project: () => 'An a.' } });
    expect(longer.end).toMatchObject({ completeness: 'full' });
  });

  it('is nothing of a call that came to none', async () => {
    const failed = await looked(() => Promise.reject(new Error('no net')));
    expect(failed.end).toMatchObject({ status: 'error', completeness: 'empty' });
    const denied = await looked(() => 1, { more: { input: { type: 'object', required: ['at'], properties: { at: {} } } } });
    expect(denied.end).toMatchObject({ status: 'error', errorClass: 'invalid_input', completeness: 'empty' });
  });

  it('is shared by a copy of the call, with what is missing', async () => {
    const send = tool('look', () => rows, { flow: { effect: 'send' }, project: jsonFields({ keep: [] }) });
    const result = await run(agentOf({ model: scripted([calls('look'), calls('look')], 'Done.'), tools: [send] }), 'hello');
    expect(eventsOf(result, 'tool.end')).toMatchObject([
      { completeness: 'partial', note: '[left out: 2 fields]' },
      { completeness: 'partial', note: expect.stringMatching(/^\[left out: 2 fields\] The same call stands earlier/), copyOf: '1.0' },
    ]);
  });
});

describe('a result that says it is a part', () => {
  it('is shown with its words, guarded as one', async () => {
    const seen: unknown[] = [];
    const sees = defineGuardrail({
      name: 'sees',
      on: ['toolOutput'],
      check: ({ form, content, output }: ToolOutputSubject) => {
        seen.push([form, content, output]);
        return allow();
      },
    });
    const { end, told } = await looked(() => partial(rows, words), { agent: { guardrails: [sees] } });
    const content = JSON.stringify(enclosed(rows));
    expect(seen).toEqual([['output', content, enclosed(rows)]]);
    expect(end).toMatchObject({ status: 'ok', completeness: 'partial', content, chars: content.length, structured: true });
    expect(told).toMatchObject({ content });
    expect(told).not.toHaveProperty('note');
  });

  it('is shown with its words where its projection makes something else of the part alone', async () => {
    const fields = await looked(() => partial(rows, words), { more: { project: jsonFields({ keep: [] }) } });
    expect(fields.end).toMatchObject({
      content: JSON.stringify(enclosed([{ id: 1 }, { id: 2 }])),
      note: '[left out: 2 fields]',
      projection: 'core',
    });
    const seen: unknown[] = [];
    const project = (output: unknown, { content }: { readonly content: string }) => {
      seen.push([output, content]);
      return `${content.length} characters`;
    };
    const own = await looked(() => partial('a page', words), { more: { project } });
    expect(seen).toEqual([['a page', 'a page']]);
    expect(own.end).toMatchObject({ completeness: 'partial', content: JSON.stringify(enclosed('6 characters')), projection: 'user' });
    const same = await looked(() => partial(rows, words), { more: { project: headTail({ maxChars: 500 }) } });
    expect(same.end).toMatchObject({ content: JSON.stringify(enclosed(rows)), completeness: 'partial' });
    expect(same.end).not.toHaveProperty('projection');
  });

  it('is checked against the declared form of the result alone', async () => {
    const more = { output: z.array(z.object({ id: z.number() })) };
    expect((await looked(() => partial(rows, words), { more })).end).toMatchObject({ status: 'ok' });
    expect((await looked(() => partial([{ id: null }], words), { more })).end).toMatchObject({ errorClass: 'bad_result' });
  });

  it('may have details, put around it in either order', async () => {
    for (const given of [withDetails(partial(rows, words), { page: 1 }), partial(withDetails(rows, { page: 1 }), words)])
      expect((await looked(() => given)).end).toMatchObject({ content: JSON.stringify(enclosed(rows)), details: { page: 1 } });
  });

  it('is the answer without its words where the tool ends the run', async () => {
    const { result } = await looked(() => partial('Half a report.', words), { more: { endsRun: true } });
    expect(result).toMatchObject({ status: 'completed', output: 'Half a report.' });
  });

  it('keeps what a guardrail made of it', async () => {
    const masks = defineGuardrail({
      name: 'masks',
      on: ['toolOutput'],
      rewrite: ({ content }: Subject) => (content.includes('x') ? rewrite(content.replaceAll('x', '#'), 'mask') : allow()),
    });
    const masked = await looked(() => partial([{ id: 'x', note: 1 }], words), {
      more: { project: jsonFields({ keep: [] }) },
      agent: { guardrails: [masks] },
    });
    expect(masked.end).toMatchObject({ content: JSON.stringify(enclosed([{ id: '#' }])), revision: 1 });
    const other = defineGuardrail({ name: 'other', on: ['toolOutput'], rewrite: () => rewrite({ withheld: true }, 'other') });
    const { end } = await looked(() => partial(rows, words), {
      more: { project: headTail({ maxChars: 500 }) },
      agent: { guardrails: [other] },
    });
    expect(end).toMatchObject({ content: '{"withheld":true}', completeness: 'partial' });
  });

  it('keeps images beside it', async () => {
    const image = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    const { end } = await looked(() => partial({ image }, words), { more: { project: headTail({ maxChars: 500 }) } });
    expect(end).toMatchObject({
      completeness: 'partial',
      content: [{ type: 'text', text: expect.stringContaining('The 2 newest') }, { type: 'image' }],
    });
  });

  it('says null where there is nothing', async () => {
    expect((await looked(() => partial(undefined, words))).end).toMatchObject({ content: JSON.stringify(enclosed(null)) });
  });

  it.each([{}, { summary: '' }, { summary: 5 }, { summary: 'A part.', more: 5 }, undefined])('needs its words: %j', (given) => {
    expect(() => partial(1, given as never)).toThrowError(/^partial was given .* Give one sentence/);
  });
});

it('what an author’s projection said in fewer words is judged again by a replay', async () => {
  const quiet = defineGuardrail({ name: 'quiet', on: ['toolOutput'], check: () => allow() });
  const look = tool('look', () => rows, { project: () => '2 rows' });
  const desk = agentOf({ model: scripted([calls('look')], 'Done.'), tools: [look], guardrails: [quiet] });
  const { log } = await run(desk, 'hello');
  const { surfaces } = await compareVerdicts(log, [quiet]);
  // The whole output is not in the log, what was made of it is.
  expect(surfaces.toolOutput).toMatchObject({ subjects: 2, same: 1, unknown: 1 });
});

it('what partial is told has no other fields', () => {
  expect(() => partial(1, { summary: 'A part.', mor: 'Ask again.' } as never)).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: 'What partial was told has an option "mor", which does not exist. Did you mean more? The options are summary, more.',
    }),
  );
});
