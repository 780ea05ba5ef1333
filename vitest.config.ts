import { readdirSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const packages = readdirSync(new URL('packages', import.meta.url));

export default defineConfig({
  test: {
    testTimeout: 20_000,
    passWithNoTests: true,
    coverage: { provider: 'v8', include: ['packages/*/src/**/*.ts'], exclude: ['**/*.test.ts', '**/*.test-d.ts'] },
    projects: [
      ...packages.map((name) => ({ test: { name, root: `packages/${name}`, include: ['src/**/*.test.ts'] } })),
      { test: { name: 'test', root: 'test', include: ['**/*.test.ts'], exclude: ['dist/**', '**/node_modules/**'] } },
      { test: { name: 'examples', root: 'examples', include: ['**/*.test.ts'], exclude: ['dist/**', '**/node_modules/**'] } },
      { test: { name: 'docs', root: 'docs', include: ['**/*.test.ts'], exclude: ['dist/**', '**/node_modules/**'] } },
      { test: { name: 'scripts', root: 'scripts', include: ['*.test.mjs'], testTimeout: 120_000 } },
    ],
  },
});
