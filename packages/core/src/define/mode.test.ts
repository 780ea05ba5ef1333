import { describe, expect, it } from 'vitest';
import type { ToolSpec as OfferedTool } from '../model/types.js';
import { compileSchema } from '../schema.js';
import { defineMode, modelInMode, readMode, stopTool, withThought } from './mode.js';
import { defineMonitor, readMonitors } from './monitor.js';
import type { AgentSpec, ModeSpec } from './specs.js';
import { defineTool } from './tool.js';

const define = defineMode as (def: unknown) => ReturnType<typeof defineMode>;
const specOf = (def: object = {}): ModeSpec => {
  const mode = readMode(define({ name: 'strict', ...def }), 'Agent a');
  if (mode === undefined) throw new Error('There is no mode.');
  return mode;
};
const invalid = (message: RegExp) => expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) });
const tool: OfferedTool = {
  name: 'look',
  description: 'L.',
  schema: { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] },
};
const agentWith = (mode: ModeSpec | undefined, output?: object): AgentSpec =>
  ({ mode, output: output && compileSchema(output, { owner: 'The output' }) }) as unknown as AgentSpec;

describe('a mode', () => {
  it('has its defaults, shows its name alone, and is frozen', () => {
    const mode = define({ name: 'strict' });
    expect({ ...mode }).toEqual({ name: 'strict' });
    expect(Object.isFrozen(mode)).toBe(true);
    expect(specOf()).toMatchObject({
      kind: 'mode',
      stop: 'final_answer',
      argument: undefined,
      turns: undefined,
      instructions: undefined,
      model: undefined,
    });
    expect(specOf().stopDescription).toContain('final answer');
    expect(specOf({ stop: { name: 'done', description: 'Ends it.' }, turns: 1, thoughtArgument: 'why' })).toMatchObject({
      stop: 'done',
      stopDescription: 'Ends it.',
      turns: 1,
      argument: 'why',
    });
  });

  it.each([
    [{ name: '' }, /name/],
    [{ name: 'm', turns: 0 }, /whole number from 1/],
    [{ name: 'm', turns: 1.5 }, /whole number from 1/],
    [{ name: 'm', stop: { name: 'not a name' } }, /`stop` of mode m is named "not a name"/],
    [{ name: 'm', thoughtArgument: 'a b' }, /`thoughtArgument` of mode m is named "a b"/],
    [{ name: 'm', stop: { label: 'x' } }, /"label"/],
    [{ name: 'm', turn: 3 }, /Did you mean turns/],
    [{ name: 'm', model: 'x' }, /`model`/],
  ])('is refused as %j', (def, message) => {
    expect(() => define(def)).toThrow(invalid(message));
  });

  it('is what an agent takes, and nothing else', () => {
    expect(readMode(undefined, 'Agent a')).toBeUndefined();
    const other = defineTool({ name: 't', description: 'T.', input: compileable, execute: () => 'x' });
    expect(() => readMode(other, 'Agent a')).toThrow(invalid(/The `mode` of Agent a is a tool\. Give what defineMode made/));
    expect(() => readMode('react', 'Agent a')).toThrow(invalid(/is "react"/));
  });

  it('adds the argument for the thought first, and only where it has one', () => {
    expect(withThought(tool, specOf())).toBe(tool);
    const { schema } = withThought(tool, specOf({ thoughtArgument: 'why' })) as unknown as {
      readonly schema: { properties: object; required: readonly string[] };
    };
    expect(Object.keys(schema.properties)).toEqual(['why', 'what']);
    expect(schema.required).toEqual(['why', 'what']);
    expect(() => withThought(tool, specOf({ thoughtArgument: 'what' }))).toThrow(
      invalid(/Tool look has an argument what, which mode strict adds/),
    );
    expect(withThought({ ...tool, schema: { type: 'object' } }, specOf({ thoughtArgument: 'why' })).schema).toMatchObject({
      required: ['why'],
    });
  });

  it('offers the call that ends the run in the form of the answer', () => {
    expect(stopTool(agentWith(undefined))).toBeUndefined();
    expect(stopTool(agentWith(specOf()))?.schema).toMatchObject({
      properties: { answer: { type: 'string' } },
      required: ['answer'],
      additionalProperties: false,
    });
    const fields = { type: 'object', properties: { year: { type: 'integer' } }, required: ['year'] };
    expect(stopTool(agentWith(specOf(), fields))?.schema).toMatchObject({ properties: { year: { type: 'integer' } } });
  });

  it('wraps each model once', () => {
    let count = 0;
    const model = { id: 'm', provider: 'p', stream: () => ({}) as never };
    const mode = specOf({
      model: (given: typeof model) => {
        count += 1;
        return { ...given, id: 'wrapped' };
      },
    });
    expect(modelInMode(undefined, model)).toBe(model);
    expect(modelInMode(specOf(), model)).toBe(model);
    expect(modelInMode(mode, model)).toBe(modelInMode(mode, model));
    expect(modelInMode(mode, model).id).toBe('wrapped');
    expect(count).toBe(1);
  });
});

describe('a monitor', () => {
  const start = () => () => undefined;

  it('shows its name alone', () => {
    expect({ ...defineMonitor({ name: 'watch', start }) }).toEqual({ name: 'watch' });
    expect(readMonitors([defineMonitor({ name: 'watch', start })], 'Agent a')).toEqual([{ kind: 'monitor', name: 'watch', start }]);
    expect(readMonitors([], 'Agent a')).toBeUndefined();
  });

  it('needs a function that starts it, and a name of its own', () => {
    expect(() => defineMonitor({ name: 'watch' } as never)).toThrow(invalid(/Monitor watch has no `start`/));
    const one = defineMonitor({ name: 'watch', start });
    expect(() => readMonitors([one, defineMonitor({ name: 'watch', start })], 'Agent a')).toThrow(invalid(/two monitors named watch/));
    expect(() => readMonitors([one, 'stuck'], 'Agent a')).toThrow(invalid(/Entry 2 in `monitors` of Agent a is "stuck"/));
  });
});

const compileable = { type: 'object', properties: {} } as const;
