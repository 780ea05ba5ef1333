import type { Model, ModelEvent, ModelWarningEvent } from '@guardloop/core';
import { asTool, defineAgent, resume, run, stream, withFallback } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { ofType, readAll, sound } from '../scenarios/sound.js';
import { broken, end, plays, text } from './takes.js';

const warning = (more: object = {}): ModelEvent => ({ type: 'warning', about: 'setting', message: 'seed was left out.', ...more });
const desk = (model: Model) => defineAgent({ name: 'desk', instructions: '', model });

describe('model.warning', () => {
  it('reaches the stream and observers with turn and item, before the text, and is no part of the log', async () => {
    const model = plays([[warning(), warning({ about: 'native', message: 'Left out.', item: 'r1/1' }), text('ok'), end()]]);
    const seen: ModelWarningEvent[] = [];
    const { events, result } = await readAll(stream(desk(model), 'go', { observers: [{ 'model.warning': (event) => seen.push(event) }] }));
    await sound(Promise.resolve(result));
    const warnings = ofType(events, 'model.warning');
    expect(warnings).toEqual([
      {
        type: 'model.warning',
        at: expect.any(Number),
        run: result.runId,
        agent: 'desk',
        turn: 1,
        about: 'setting',
        message: 'seed was left out.',
      },
      {
        type: 'model.warning',
        at: expect.any(Number),
        run: result.runId,
        agent: 'desk',
        turn: 1,
        about: 'native',
        message: 'Left out.',
        item: 'r1/1',
      },
    ]);
    expect(seen).toEqual(warnings);
    expect(events.findIndex(({ type }) => type === 'model.warning')).toBeLessThan(events.findIndex(({ type }) => type === 'text.delta'));
    expect(JSON.stringify(result.log)).not.toContain('warning');
  });

  it('fails no run where an adapter gives one that is none, and is cut where it has no end', async () => {
    const model = plays([
      [warning({ message: 5 }), warning({ about: undefined }), warning({ item: 7, message: 'x'.repeat(5_000) }), text('ok'), end()],
    ]);
    const { events, result } = await readAll(stream(desk(model), 'go'));
    expect(result.status).toBe('completed');
    const [only, ...others] = ofType(events, 'model.warning');
    expect(others).toEqual([]);
    expect(only?.message).toHaveLength(1_000);
    expect(only).not.toHaveProperty('item');
  });

  it('tells of a fallback, in a child run too where that is streamed', async () => {
    const model = withFallback([plays([[broken({ status: 503 })]], { id: 'a' }), plays([[text('h'), end()]], { id: 'b' })]);
    const helper = defineAgent({ name: 'helper', instructions: '', model });
    const main = defineAgent({
      name: 'main',
      instructions: '',
      model: scriptedModel([callTool('ask', { input: 'x' }), say('done')]),
      tools: [asTool(helper, { name: 'ask', description: 'A.', stream: true })],
    });
    const { events, result } = await readAll(stream(main, 'go'));
    expect(result.status).toBe('completed');
    expect(ofType(events, 'model.warning')).toMatchObject([{ agent: 'helper', parent: result.runId, about: 'fallback' }]);
  });
});

describe('a limit on what a model does not tell', () => {
  const priced = { requests: 1, inputTokens: 10, outputTokens: 5, cost: 1 };
  const unpriced = { requests: 1, inputTokens: 10, outputTokens: 5 };
  const calls: ModelEvent = { type: 'tool.call', call: { name: 'nothing', input: {} } };

  it('of cost fails the run before the next call, and says what to do', async () => {
    const model = plays([
      [calls, end(unpriced)],
      [text('never'), end(unpriced)],
    ]);
    const { events, result } = await readAll(stream(desk(model), 'go', { limits: { cost: 5 } }));
    await sound(Promise.resolve(result));
    expect(model.calls).toHaveLength(1);
    const message =
      "The limit cost is 5, and what an answer of model m1 cost is not known: the limit cannot hold. Give `prices` to the model's adapter; where it has them, its provider tells no usage. Else take the limit off, or use `turns` or `ms`.";
    expect(result).toMatchObject({ status: 'failed', error: { code: 'CONFIG_INVALID', message, isRetryable: false } });
    expect(ofType(events, 'model.warning')).toMatchObject([{ about: 'limit', message, turn: 1 }]);
  });

  it('of tokens does so too', async () => {
    const model = plays([[calls, end({ requests: 1, inputTokens: 3 })]]);
    const result = await sound(run(desk(model), 'go', { limits: { tokens: 500 } }));
    expect(result).toMatchObject({ status: 'failed', error: { code: 'CONFIG_INVALID' } });
    expect(result.status === 'failed' && result.error.message).toContain('The limit tokens is 500, and model m1 does not tell');
  });

  it.each([Number.NaN, -1, '1', null])('takes a number that is none (%s) for one that is not told', async (none) => {
    const cost = plays([[calls, end({ ...priced, cost: none as number })]]);
    expect(await sound(run(desk(cost), 'go', { limits: { cost: 5 } }))).toMatchObject({ error: { code: 'CONFIG_INVALID' } });
    const tokens = plays([[calls, end({ ...priced, inputTokens: none as number })]]);
    expect(await sound(run(desk(tokens), 'go', { limits: { tokens: 500 } }))).toMatchObject({ error: { code: 'CONFIG_INVALID' } });
  });

  it('leaves an answer alone that ends the run, and warns', async () => {
    const { events, result } = await readAll(stream(desk(plays([[text('ok'), end(unpriced)]])), 'go', { limits: { cost: 5 } }));
    expect(result).toMatchObject({ status: 'completed', output: 'ok' });
    expect(result.usage).not.toHaveProperty('cost');
    expect(ofType(events, 'model.warning')).toMatchObject([{ about: 'limit' }]);
  });

  it('holds where failed attempts tell nothing, and where no limit asks', async () => {
    const model = () =>
      plays([
        [calls, end(priced)],
        [text('ok'), end(priced)],
      ]);
    expect(await sound(run(desk(model()), 'go', { limits: { cost: 5, tokens: 100 } }))).toMatchObject({
      status: 'completed',
      usage: { cost: 2 },
    });
    const lost = () => withFallback([plays([[broken()], [broken()]], { id: 'a' }), model()]);
    expect(await sound(run(desk(lost()), 'go', { limits: { cost: 5 } }))).toMatchObject({
      status: 'completed',
      usage: { cost: 2, requests: 4 },
    });
    const { events, result } = await readAll(
      stream(
        desk(
          plays([
            [calls, end(unpriced)],
            [text('ok'), end(unpriced)],
          ]),
        ),
        'go',
      ),
    );
    expect(result.status).toBe('completed');
    expect(ofType(events, 'model.warning')).toEqual([]);
  });

  it('counts what is known, and stops there', async () => {
    const model = plays([
      [calls, end({ ...priced, cost: 3 })],
      [calls, end({ ...priced, cost: 3 })],
      [text('never'), end(priced)],
    ]);
    expect(await sound(run(desk(model), 'go', { limits: { cost: 5 } }))).toMatchObject({
      status: 'exhausted',
      limit: 'cost',
      usage: { cost: 6 },
    });
  });

  it('fails where one model of a fallback has prices and the other has none', async () => {
    const first = plays([[broken({ usage: priced })]], { id: 'a' });
    const model = withFallback([first, plays([[calls, end(unpriced)]], { id: 'b' })]);
    const result = await sound(run(desk(model), 'go', { limits: { cost: 5 } }));
    expect(result.status === 'failed' && result.error.message).toContain('an answer of model b cost is not known');
  });

  it('of a parent fails the parent, for what its child used', async () => {
    const helper = defineAgent({ name: 'helper', instructions: '', model: plays([[text('h'), end(unpriced)]], { id: 'h' }) });
    const main = defineAgent({
      name: 'main',
      instructions: '',
      model: plays([
        [{ type: 'tool.call', call: { name: 'ask', input: { input: 'x' } } }, end(priced)],
        [text('never'), end(priced)],
      ]),
      tools: [asTool(helper, { name: 'ask', description: 'A.' })],
    });
    const result = await sound(run(main, 'go', { limits: { cost: 5 } }));
    expect(result.status === 'failed' && result.error.message).toContain('an answer of model h cost is not known');
  });

  it('is no more in the way when a person resumes', async () => {
    const model = plays([
      [calls, end(unpriced)],
      [calls, end(priced)],
      [text('ok'), end(priced)],
    ]);
    const failed = await sound(run(desk(model), 'go', { limits: { cost: 5 } }));
    expect(failed.status).toBe('failed');
    expect(await sound(resume(desk(model), failed.log).result)).toMatchObject({ status: 'completed', output: 'ok', usage: { cost: 2 } });
  });
});
