import { describe, expect, it } from 'vitest';
import { toolSpecOf } from './definition.js';
import { defineTool } from './tool.js';

const fits = { name: 'look', description: 'Looks.', input: { type: 'object' }, execute: () => 1 };
const define = (more: object) => toolSpecOf(defineTool({ ...fits, ...more } as never), 'It');
const message = (more: object): string => {
  try {
    define(more);
  } catch (thrown) {
    expect(thrown).toMatchObject({ code: 'CONFIG_INVALID' });
    return (thrown as Error).message;
  }
  return '';
};

describe('`retry` of a tool', () => {
  it('has defaults', () => {
    expect(define({ flow: { effect: 'read' }, retry: {} }).retry).toEqual({
      attempts: 3,
      backoffMs: 200,
      maxBackoffMs: 5_000,
      on: new Set(['timeout', 'unavailable', 'rate_limited', 'failed']),
    });
    expect(define({}).retry).toBeUndefined();
  });

  it('is for tools that may run twice: reads, those without an effect, and those that say so', () => {
    for (const more of [{ flow: { effect: 'read' } }, { flow: { effect: 'none' } }, { flow: { effect: 'write' }, repeatable: true }])
      expect(define({ ...more, retry: { attempts: 2, on: ['timeout'] } }).retry).toMatchObject({ attempts: 2, on: new Set(['timeout']) });
  });

  it.each([
    [{ flow: { effect: 'write' } }, 'it has the effect write and is not repeatable'],
    [{ flow: { effect: 'send' } }, 'it has the effect send and is not repeatable'],
    [{ flow: { effect: 'read' }, repeatable: false }, 'it has the effect read and is not repeatable'],
    [{}, 'it does not say what it does to the world and is not repeatable'],
  ])('is refused for others, in words that say why and what to do: %j', (more, why) => {
    const words = message({ ...more, retry: {} });
    expect(words).toContain(`Tool look has \`retry\`, but may not run twice for one call: ${why}.`);
    expect(words).toContain('`repeatable: true`');
  });

  it.each([
    [{ attempts: 0 }, '`retry` of tool look has 0 as `attempts`. Give a whole number from 1.'],
    [{ attempts: 1.5 }, 'Give a whole number from 1.'],
    [{ backoffMs: -1 }, 'has -1 as `backoffMs`. Give a number of milliseconds from 0.'],
    [{ maxBackoffMs: Number.POSITIVE_INFINITY }, 'as `maxBackoffMs`. Give a number of milliseconds from 0.'],
    [{ on: ['unavailble'] }, '`retry.on` of tool look names "unavailble", which is no class of failures. Did you mean unavailable?'],
    [{ on: 'timeout' }, 'Give a list'],
    [{ tries: 3 }, 'has an option "tries", which does not exist.'],
    [3, '`retry` of tool look was given 3 as its options.'],
  ])('is checked: %j', (retry, words) => {
    expect(message({ flow: { effect: 'read' }, retry })).toContain(words);
  });

  it('is refused where the caller runs the tool', () => {
    expect(message({ flow: { effect: 'read' }, execute: undefined, retry: {} })).toContain('Tool look has `retry` but no `execute`');
  });
});
