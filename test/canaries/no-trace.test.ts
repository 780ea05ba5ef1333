import { auditLog } from '@guardloop/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { tracesOf } from './canary.js';
import type { Manner } from './kit.js';
import { manners } from './kit.js';
import type { Left, Mode } from './play.js';
import { modes, play, playCuts, tracesIn } from './play.js';
import type { Source } from './scenes.js';
import { sources } from './scenes.js';

const printed: unknown[] = [];
beforeEach(() => {
  printed.length = 0;
  for (const name of ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const)
    vi.spyOn(console, name).mockImplementation((...words) => void printed.push(words));
  for (const to of [process.stdout, process.stderr]) vi.spyOn(to, 'write').mockImplementation((...words) => printed.push(words) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const expectClean = ({ result, sinks }: Left): void => {
  expect(tracesIn(sinks)).toEqual([]);
  expect(tracesOf(printed, 'printed')).toEqual([]);
  expect(auditLog(result.log)).toEqual([]);
};

/** Every manner is tried where nothing stands around the run, and under a parent. Elsewhere one of each kind tells the modes apart. */
const inEveryMode: readonly Manner[] = ['denies', 'halts', 'rewrites', 'throws it'];
const underCuts: readonly Manner[] = ['denies', 'rewrites'];
const mannersOf = (source: Source, mode: Mode): readonly Manner[] => {
  if (source.surface === undefined) return ['denies'];
  const canAsk = source.surface === 'toolInput' || source.surface === 'handoff';
  const all = (source.manners ?? manners).filter((manner) => !(canAsk && manner.startsWith('asks')));
  if (mode === 'run' || mode === 'in a child') return all;
  return all.filter((manner) => (mode === 'cut anywhere' ? underCuts : inEveryMode).includes(manner));
};

describe.each(sources.map((source) => [source.name, source] as const))('%s', (_name, source) => {
  it.each(modes.filter((mode) => !source.not?.some((each) => mode.includes(each))))('leaves no trace: %s', async (mode) => {
    for (const manner of mannersOf(source, mode)) {
      if (mode === 'cut anywhere') {
        for (const left of await playCuts(source, manner)) expectClean(left);
        continue;
      }
      const left = await play(source, manner, mode);
      try {
        expect(left.met).toBeGreaterThan(0);
        expectClean(left);
        if (manner === 'halts' && source.surface) expect(left.result.status).toBe('blocked');
      } catch (error) {
        throw new Error(`${manner}: ${(error as Error).message}\n${left.result.status}`, { cause: error });
      }
    }
  });
});
