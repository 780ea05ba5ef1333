import { describe, expect, it } from 'vitest';
import { heapVerdict } from './heap-verdict.js';

const megabyte = 1024 * 1024;
const flat = (count: number, at = 40): number[] => Array.from({ length: count }, (_, index) => (at + (index % 3)) * megabyte);

describe('the heap of a soak', () => {
  it('passes where it only moves about', () => {
    expect(heapVerdict(flat(30)).problem).toBeUndefined();
  });

  it('passes where it grows while it warms up', () => {
    expect(
      heapVerdict([5, 10, 20, 30, ...flat(20).map((bytes) => bytes / megabyte)].map((size) => size * megabyte)).problem,
    ).toBeUndefined();
  });

  it('fails where it keeps growing', () => {
    const growing = Array.from({ length: 30 }, (_, index) => (40 + index) * megabyte);
    expect(heapVerdict(growing).problem).toMatch(/^the heap grew by \d+\.\d MB; noise would be \d+\.\d MB$/);
  });

  it('fails where there are too few samples to tell', () => {
    expect(heapVerdict(flat(5)).problem).toBe('the soak was too short to tell whether the heap grows');
  });
});
