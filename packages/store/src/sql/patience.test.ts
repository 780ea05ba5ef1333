import { describe, expect, it } from 'vitest';
import { patiently } from './patience.js';

const pauses = { firstMs: 1, growth: 1.5, longestMs: 4 };
const busy = new Error('busy');

describe('patiently', () => {
  it('tries again what passes, until it works', async () => {
    let tries = 0;
    const work = async (): Promise<string> => {
      tries += 1;
      if (tries < 5) throw busy;
      return 'done';
    };
    expect(await patiently(work, { patienceMs: 60_000, isPassing: (error) => error === busy, pauses })).toBe('done');
    expect(tries).toBe(5);
  });

  it('tells at once what does not pass', async () => {
    let tries = 0;
    const work = async (): Promise<never> => {
      tries += 1;
      throw new Error('broken');
    };
    await expect(patiently(work, { patienceMs: 60_000, isPassing: (error) => error === busy, pauses })).rejects.toThrow('broken');
    expect(tries).toBe(1);
  });

  it('tries once without patience, and ends with the last error', async () => {
    let tries = 0;
    const work = async (): Promise<never> => {
      tries += 1;
      throw new Error(`busy ${tries}`);
    };
    await expect(patiently(work, { patienceMs: 0, isPassing: () => true, pauses })).rejects.toThrow('busy 1');
    await expect(patiently(work, { patienceMs: 30, isPassing: () => true, pauses })).rejects.toThrow(/busy/);
    expect(tries).toBeGreaterThan(2);
  });
});
