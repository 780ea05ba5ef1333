export interface HeapVerdict {
  /** For people, in MB. */
  readonly text: string;
  /** Why it is too much, if it is. */
  readonly problem?: string | undefined;
}

/** A heap that is measured right after a collection moves about by so much without any leak. */
const noise = { share: 0.1, bytes: 4 * 1024 * 1024 };

/** Compares the end of a soak with its beginning, after a fifth of it for warming up. `samples` are heap sizes in bytes, oldest first. */
export function heapVerdict(samples: readonly number[]): HeapVerdict {
  const warm = samples.slice(Math.ceil(samples.length / 5));
  if (warm.length < 6)
    return { text: `${warm.length} samples, too few to tell`, problem: 'the soak was too short to tell whether the heap grows' };
  const third = Math.floor(warm.length / 3);
  const before = median(warm.slice(0, third));
  const after = median(warm.slice(-third));
  const allowed = before * noise.share + noise.bytes;
  const text = `${megabytes(before)} MB in the first third, ${megabytes(after)} MB in the last (${samples.length} samples)`;
  if (after - before <= allowed) return { text };
  return { text, problem: `the heap grew by ${megabytes(after - before)} MB; noise would be ${megabytes(allowed)} MB` };
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

const megabytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1);
