import { describe, expect, it, vi } from 'vitest';
import { enterRun, modelOf, recordAnswer, recordedCall } from '../../test/enter-run.js';
import { defineAgent } from '../define/agent.js';
import { toolSpecOf } from '../define/definition.js';
import { defineGuardrail } from '../define/guardrail.js';
import { defineTool } from '../define/tool.js';
import type { Projection, ToolOutputSubject } from '../define/types.js';
import { allow, deny, halt, rewrite } from '../define/verdict.js';
import type { Label, Message, Model, ToolCall } from '../model/types.js';
import { resultCapChars, turnCapChars } from '../project/cap.js';
import { headTail } from '../project/head-tail.js';
import { jsonFields } from '../project/json-fields.js';
import { spill } from '../project/spill.js';
import type { CallState } from '../state/state.js';
import { usageBy } from '../state/usage-by.js';
import { budget, project } from './project-output.js';
import { run } from './run.js';
import { textOutput, toOutput } from './tool-output.js';

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

const label: Label = { origin: 'tool:look', integrity: 'untrusted' };

interface Shown {
  readonly own?: Projection<unknown, string> | undefined;
  readonly ofRun?: Projection<unknown, string> | undefined;
  readonly judge?: ((subject: ToolOutputSubject) => unknown) | undefined;
  readonly calls?: number | undefined;
}

/** A call of the tool `look`, one of so many, that has given something. */
async function looked({ own, ofRun, judge = () => allow(), calls = 1 }: Shown = {}) {
  const guardrail = defineGuardrail({ name: 'words', on: ['toolOutput'], rewrite: judge as never });
  const tool = defineTool({ name: 'look', description: 'Looks.', input: { type: 'object' }, execute: () => '', project: own });
  const agent = defineAgent({ name: 'a', instructions: '', model: modelOf(), tools: [tool], guardrails: [guardrail] });
  const entered = await enterRun(agent, { context: 'the context', ...(ofRun === undefined ? {} : { project: ofRun }) });
  const { handle } = entered;
  recordAnswer(
    handle,
    Array.from({ length: calls }, (_, index) => recordedCall('look', { id: `1.${index}` })),
  );
  return { ...entered, open: { handle, call: handle.state.calls.get('1.0') as CallState, tool: toolSpecOf(tool, 'look') } };
}
const made = async (output: unknown, shown?: Shown) => project((await looked(shown)).open, { output: toOutput(output), label });
const failed = {
  end: {
    status: 'error',
    content:
      '{"status":"error","error_class":"failed","summary":"look ran, but its result could not be shown: its projection failed.","retryable":false}',
    errorClass: 'failed',
    retryable: false,
    label,
  },
};
const never = () => new Promise<never>(() => undefined);

describe('the budget of a result', () => {
  it('is an even share of the turn, and at most that of a result', async () => {
    const { handle } = (await looked({ calls: 4 })).open;
    expect(budget(handle)).toBe(turnCapChars / 4);
    expect(budget((await looked({ calls: 3 })).open.handle)).toBe(resultCapChars);
    expect(budget((await looked({ calls: 7 })).open.handle)).toBe(Math.floor(turnCapChars / 7));
    expect(budget((await enterRun()).handle)).toBe(resultCapChars);
  });
});

describe('a projection', () => {
  it('is told the output, its text and the call', async () => {
    const own = vi.fn((_output: unknown, _info: object) => 'seen');
    const { open, handle } = await looked({ own });
    expect(await project(open, { output: toOutput({ a: 1 }), label })).toStrictEqual({
      content: 'seen',
      isWhole: false,
      note: 'This is a shorter form of the result: 4 of its 7 characters.',
      by: 'user',
    });
    expect(own.mock.calls).toEqual([
      [
        { a: 1 },
        {
          context: 'the context',
          run: 'r',
          tool: 'look',
          callId: '1.0',
          content: '{"a":1}',
          arguments: new Set(),
          signal: handle.signal,
          used: expect.any(Function),
        },
      ],
    ]);
  });

  it("is the tool's, else the run's, else the cap alone", async () => {
    const [own, ofRun] = [() => 'own', () => 'run'];
    expect(await made('a', { own, ofRun })).toMatchObject({ content: 'own' });
    expect(await made('a', { ofRun })).toMatchObject({ content: 'run' });
    const { open } = await looked();
    expect(project(open, { output: textOutput('a'), label })).toStrictEqual({ content: 'a', isWhole: true });
  });

  it('may take its time', async () => {
    expect(await made('a', { own: async () => 'later' })).toStrictEqual({ content: 'later', isWhole: true, by: 'user' });
  });

  it('that throws, rejects or gives no text fails, and nothing of it is told', async () => {
    const throwing = (): never => {
      throw new Error('secret');
    };
    for (const own of [throwing, () => Promise.reject(new Error('secret')), () => 5, async () => undefined])
      expect(await made('a', { own: own as never })).toStrictEqual(failed);
  });

  it('is waited for a while after the run was stopped', async () => {
    const { open, handle, clock } = await looked({ own: never });
    const projecting = project(open, { output: textOutput('a'), label });
    handle.abort({ kind: 'halt' });
    clock.pass(2_000);
    expect(await projecting).toMatchObject({
      end: {
        status: 'unknown',
        content: expect.stringContaining('look was started, but the run was stopped before its result could be shown;'),
      },
    });
    let give: (text: string) => void = () => undefined;
    const other = await looked({
      own: () =>
        new Promise<string>((resolve) => {
          give = resolve;
        }),
    });
    const late = project(other.open, { output: textOutput('a'), label });
    other.handle.abort({ kind: 'halt' });
    other.clock.pass(1_999);
    give('in time');
    expect(await late).toStrictEqual({ content: 'in time', isWhole: true, by: 'user' });
  });

  it('is guarded where it is not one of core', async () => {
    const own = () => 'projected';
    const judge = ({ form, content, isError }: ToolOutputSubject) =>
      form === 'projected' && content === 'projected' && !isError ? deny('Not that.') : allow();
    expect(await made('a', { own, judge })).toMatchObject({
      end: { status: 'error', errorClass: 'denied', content: expect.stringContaining('look ran; its result was withheld: Not that.') },
    });
    expect(await made('a', { own, judge: () => rewrite('rewritten', 'Why.') })).toStrictEqual({
      content: 'rewritten',
      isWhole: true,
      by: 'user',
    });
    expect(await made('x'.repeat(500), { own: headTail({ maxChars: 100 }), judge })).toMatchObject({ by: 'core' });
  });

  it('that is halted stops the run, and one that is denied does not', async () => {
    const halted = await looked({ own: () => 'x', judge: () => halt('Stop.') });
    expect(await project(halted.open, { output: textOutput('a'), label })).toMatchObject({ end: { refusal: { action: 'halt' } } });
    expect(halted.handle.stop).toEqual({ kind: 'halt' });
    const denied = await looked({ own: () => 'x', judge: () => deny('No.') });
    await project(denied.open, { output: textOutput('a'), label });
    expect(denied.handle.stop).toBeUndefined();
  });

  it('whose guardrails do not answer before the run is over has an unknown end', async () => {
    const { open, handle, clock } = await looked({ own: () => 'x', judge: never });
    const projecting = project(open, { output: textOutput('a'), label });
    handle.abort({ kind: 'halt' });
    await new Promise((resolve) => setImmediate(resolve));
    clock.pass(2_000);
    expect(await projecting).toMatchObject({
      end: { status: 'unknown', content: expect.stringContaining('the run was stopped before its result was judged') },
    });
  });

  it('that gives too much is cut like any result', async () => {
    expect(await made('a', { own: () => 'x'.repeat(resultCapChars + 1) })).toStrictEqual({
      content: expect.stringContaining('characters left out') as string,
      note: expect.stringContaining('The result was too long and was cut') as string,
      isWhole: false,
      by: 'user',
    });
  });

  it('of core that leaves the text as it was has changed nothing', async () => {
    expect(await made('short', { own: headTail({ maxChars: 100 }) })).toStrictEqual({ content: 'short', isWhole: true, note: undefined });
    expect(await made('x'.repeat(500), { own: headTail({ maxChars: 100 }) })).toStrictEqual({
      content: expect.stringContaining('left out') as string,
      isWhole: false,
      note: undefined,
      by: 'core',
    });
  });

  it('of core keeps images beside its text, frozen', async () => {
    const projected = await made([{ type: 'text', text: 'See.' }, image], { own: headTail({ maxChars: 100 }) });
    expect(projected).toStrictEqual({
      content: [{ type: 'text', text: expect.stringContaining('See.') as string }, image],
      isWhole: true,
      note: undefined,
      by: 'core',
    });
    expect(Object.isFrozen((projected as { readonly content: unknown }).content)).toBe(true);
  });
});

describe('what a projection used', () => {
  const usage = { requests: 1, inputTokens: 7, outputTokens: 3 };
  const model = (): Model => ({
    id: 'caller',
    provider: 'test',
    async *stream({ turn }) {
      if (turn === 1) yield { type: 'tool.call', call: { name: 'look', input: {} } };
      else yield { type: 'text.delta', text: 'Seen.' };
      yield { type: 'end', stopReason: turn === 1 ? 'tools' : 'stop', usage: { requests: 1, inputTokens: 1, outputTokens: 1 } };
    },
  });
  const ran = (project: Projection<string>, limits = {}) => {
    const look = defineTool({ name: 'look', description: 'Looks.', input: { type: 'object' }, execute: () => 'a', project });
    return run(defineAgent({ name: 'viewer', instructions: 'Look.', model: model(), tools: [look] }), 'Look.', { limits });
  };
  const told: Projection<string> = (output, { used }) => {
    used({ model: 'small', usage });
    used({ model: 'small', usage });
    return output;
  };

  it('stands with the end of the call and counts with the run, by its model', async () => {
    const result = await ran(told);
    const share = { model: 'small', usage };
    expect(result.events.find((event) => event.type === 'tool.end')).toMatchObject({ projectionUsage: [share, share] });
    expect(result.usage).toMatchObject({ requests: 4, inputTokens: 16, outputTokens: 8 });
    expect(usageBy(result.log).byModel.small).toMatchObject({ requests: 2, inputTokens: 14 });
    expect(usageBy(result.log).total).toEqual(result.usage);
  });

  it('counts for the limits, also where the projection then fails', async () => {
    const result = await ran(
      (_output, { used }) => {
        used({ model: 'small', usage: { ...usage, inputTokens: 5_000 } });
        throw new Error('no');
      },
      { tokens: 1_000 },
    );
    expect(result).toMatchObject({ status: 'exhausted', limit: 'tokens' });
    expect(result.events.find((event) => event.type === 'tool.end')).toMatchObject({
      errorClass: 'failed',
      projectionUsage: [{ model: 'small' }],
    });
  });

  it('that does not fit fails the projection, and one that comes too late is not heard', async () => {
    const misfit = await ran((output, { used }) => {
      used({ model: 'small' } as never);
      return output;
    });
    expect(misfit.events.find((event) => event.type === 'tool.end')).toMatchObject({ errorClass: 'failed' });
    let late: () => void = () => undefined;
    const result = await ran((output, { used }) => {
      late = () => used({ model: 'small', usage });
      return output;
    });
    expect(late).not.toThrow();
    expect(result.events.find((event) => event.type === 'tool.end')).not.toHaveProperty('projectionUsage');
  });
});

describe('the cap', () => {
  const text = (count: number, sign = 'x') => ({ type: 'text', text: sign.repeat(count) }) as const;

  it('leaves a text alone that has room', async () => {
    expect(await made('x'.repeat(resultCapChars))).toStrictEqual({ content: 'x'.repeat(resultCapChars), isWhole: true });
    expect(await made('x'.repeat(resultCapChars + 1))).toStrictEqual({
      content: expect.stringContaining('1 of 16001 characters left out') as string,
      note: expect.stringContaining('The result was too long and was cut') as string,
      isWhole: false,
    });
  });

  it('leaves parts alone whose texts have room together', async () => {
    const content = [text(resultCapChars - 5), image, text(5, 'y')];
    const output = toOutput(content);
    const projected = await project((await looked()).open, { output, label });
    expect(projected).toEqual({ content, isWhole: true });
    expect((projected as { readonly content: unknown }).content).toBe(output.content);
  });

  it('gives texts of parts what those before them have left, and keeps images', async () => {
    const projected = await made([text(resultCapChars - 100), image, text(150, 'y'), text(5, 'z'), image, text(0)]);
    const { content, note } = projected as {
      readonly content: readonly { readonly type: string; readonly text?: string }[];
      readonly note: string;
    };
    expect(content.map(({ type }) => type)).toEqual(['text', 'image', 'text', 'text', 'image', 'text']);
    expect(content[0]).toEqual(text(resultCapChars - 100));
    expect(content[2]?.text).toMatch(/^y{50}\n\[… 50 of 150 characters left out …\]\ny{50}$/);
    expect(content[3]?.text).toContain('5 of 5 characters left out');
    expect(note).toContain('The result was too long and was cut');
    expect(Object.isFrozen(content) && Object.isFrozen(content[2])).toBe(true);
  });
});
