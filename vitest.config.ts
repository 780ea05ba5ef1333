import { readdirSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const packages = readdirSync(new URL('packages', import.meta.url));

/** A project takes no timeout over from the root; the machines of CI are slow when all workers are busy. */
const testTimeout = 20_000;
const built = ['dist/**', '**/node_modules/**'];

export default defineConfig({
  test: {
    passWithNoTests: true,
    coverage: { provider: 'v8', include: ['packages/*/src/**/*.ts'], exclude: ['**/*.test.ts', '**/*.test-d.ts'] },
    projects: [
      ...packages.map((name) => ({ test: { name, root: `packages/${name}`, include: ['src/**/*.test.ts'], testTimeout } })),
      { test: { name: 'test', root: 'test', include: ['**/*.test.ts'], exclude: built, testTimeout } },
      { test: { name: 'examples', root: 'examples', include: ['**/*.test.ts'], exclude: built, testTimeout } },
      { test: { name: 'docs', root: 'docs', include: ['**/*.test.ts'], exclude: built, testTimeout } },
      { test: { name: 'scripts', root: 'scripts', include: ['*.test.mjs'], testTimeout: 120_000 } },
    ],
  },
});
