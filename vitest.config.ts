import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

const packages = readdirSync(new URL('packages', import.meta.url));

/** A project takes no timeout over from the root; the machines of CI are slow when all workers are busy. */
const testTimeout = 60_000;
/** What is waited for by a condition takes as long as it takes; vitest gives up after a second. */
const waiting = { testTimeout, expect: { poll: { timeout: 15_000 } } };
const built = ['dist/**', '**/node_modules/**'];

/** Files that wait for servers and processes for a minute and more go first: last, one of them would run alone. */
const slow = [/scripts\/types\.test/, /test\/durable\//, /test\/stores\//, /test\/faults\//, /durable\/src\/embedded\.test/];
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification): boolean => slow.some((pattern) => pattern.test(moduleId));
    const sorted = await super.sort(files);
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: SlowFirst },
    // Many tests wait for servers and processes; the default would leave one of two cores idle.
    maxWorkers: availableParallelism() + 1,
    passWithNoTests: true,
    coverage: { provider: 'v8', include: ['packages/*/src/**/*.ts'], exclude: ['**/*.test.ts', '**/*.test-d.ts'] },
    projects: [
      ...packages.map((name) => ({ test: { name, root: `packages/${name}`, include: ['src/**/*.test.ts'], ...waiting } })),
      { test: { name: 'test', root: 'test', include: ['**/*.test.ts'], exclude: built, ...waiting } },
      { test: { name: 'examples', root: 'examples', include: ['**/*.test.ts'], exclude: built, ...waiting } },
      { test: { name: 'docs', root: 'docs', include: ['**/*.test.ts'], exclude: built, ...waiting } },
      { test: { name: 'scripts', root: 'scripts', include: ['*.test.mjs'], testTimeout: 120_000 } },
    ],
  },
});
