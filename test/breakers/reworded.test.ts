import { allow, defineAgent, defineGuardrail, defineTool, deny, jsonFields, partial, rewrite, run, stream } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

// JSON may say each of its characters in another way: what a guardrail reads must be what the model or the person reads.
const escaped = '{"note":"the \\u0053ECRET\\/1 is out","status":"ok","account":4.2424242424242e13}';
const names = ['SECRET/1', '42424242424242'];

const noSecrets = defineGuardrail({
  name: 'no-secrets',
  on: ['toolOutput', 'output'],
  check: ({ content }) => (names.some((name) => content.includes(name)) ? deny('a secret') : allow()),
});
const masked = defineGuardrail({
  name: 'masked',
  on: ['toolOutput', 'output'],
  rewrite: ({ content }) => {
    const text = names.reduce((left, name) => left.replaceAll(name, '0'), content);
    return text === content ? allow() : rewrite(text, 'a secret was masked');
  },
});

/** What the model is shown of a page that `jsonFields` makes short. */
async function shownOf(guardrail: typeof noSecrets, execute: () => unknown) {
  const page = defineTool({
    name: 'page',
    description: 'Reads a page.',
    input: z.object({}),
    flow: { effect: 'read' },
    project: jsonFields({ keep: ['note', 'account'] }),
    execute,
  });
  const model = scriptedModel([callTool('page'), say('Read.')]);
  const result = await run(defineAgent({ name: 'reader', instructions: '', model, tools: [page], guardrails: [guardrail] }), 'Read.');
  expect(auditLog(result.log)).toEqual([]);
  const told = model.requests[1]?.messages.at(-1);
  return { result, content: told?.role === 'tool' ? String(told.content) : '' };
}

describe.each([
  ['a text', () => escaped],
  ['a part of a text', () => partial(escaped, { summary: 'the first' })],
  ['a value', () => ({ page: 1, ...JSON.parse(escaped) })],
])('what jsonFields makes of %s', (_what, execute) => {
  it('is refused where a guardrail refuses what it says', async () => {
    const { result, content } = await shownOf(noSecrets, execute);
    expect(JSON.parse(content)).toMatchObject({ status: 'error', error_class: 'denied' });
    for (const name of names) expect(JSON.stringify(result.log)).not.toContain(name);
  });

  it('is rewritten where a guardrail rewrites what it says', async () => {
    const { result, content } = await shownOf(masked as typeof noSecrets, execute);
    expect(content).toContain('the 0 is out');
    for (const name of names) expect(JSON.stringify(result.log)).not.toContain(name);
  });
});

it('a result of JSON that says nothing in other characters is looked at once', async () => {
  const { result } = await shownOf(noSecrets, () => '{ "note": "a \\"b\\"\\n", "status": "ok", "price": 12.50, "hash": "3e5\\\\u0041" }');
  expect(result.events.filter(({ type }) => type === 'guard.verdict')).toHaveLength(2);
});

describe('a structured answer', () => {
  const output = z.object({ note: z.string(), status: z.string(), account: z.number() });

  it.each(['the whole', 'within a fence'])('is refused where a guardrail refuses what it says (%s)', async (form) => {
    const given = form === 'the whole' ? escaped : `\`\`\`json\n${escaped}\n\`\`\``;
    const model = scriptedModel([say(given), say('{"note":"none","status":"ok","account":1}')]);
    const watched = stream(defineAgent({ name: 'desk', instructions: '', model, output, guardrails: [noSecrets] }), 'Say it.');
    let shown = '';
    for await (const event of watched) if (event.type === 'text.delta') shown += event.text;
    const result = await watched.result;
    expect(result).toMatchObject({ status: 'completed', output: { note: 'none' } });
    expect(shown).toBe('{"note":"none","status":"ok","account":1}');
    expect(auditLog(result.log)).toEqual([]);
  });

  it('is rewritten where a guardrail rewrites what it says', async () => {
    const model = scriptedModel([say(escaped)]);
    const result = await run(defineAgent({ name: 'desk', instructions: '', model, output, guardrails: [masked] }), 'Say it.');
    expect(result).toMatchObject({ status: 'completed', output: { note: 'the 0 is out', account: 0 } });
    expect(auditLog(result.log)).toEqual([]);
  });

  it('keeps the words of the model where nothing is said in other characters', async () => {
    const text = '{ "note": "a \\"b\\"", "status": "ok", "account": 12.50 }';
    const model = scriptedModel([say(text)]);
    const result = await run(defineAgent({ name: 'desk', instructions: '', model, output, guardrails: [noSecrets] }), 'Say it.');
    expect(result).toMatchObject({ status: 'completed', text });
  });
});
