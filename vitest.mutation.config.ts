import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(`packages/${path}`, import.meta.url));

/** For mutation tests: everything runs on core's sources, where the mutants are, and not on what was built of them. */
export default defineConfig({
  resolve: {
    alias: [
      { find: /^@guardloop\/core\/(model|report)$/, replacement: source('core/src/$1.ts') },
      { find: /^@guardloop\/core$/, replacement: source('core/src/index.ts') },
      { find: /^@guardloop\/testing\/conformance$/, replacement: source('testing/src/conformance.ts') },
      { find: /^@guardloop\/testing$/, replacement: source('testing/src/index.ts') },
      { find: /^@guardloop\/(openai|anthropic)$/, replacement: source('$1/src/index.ts') },
    ],
  },
  test: {
    testTimeout: 20_000,
    include: [
      'packages/core/src/{define,state,run}/**/*.test.ts',
      'packages/testing/src/audit/*.test.ts',
      'test/{behaviours,breakers,scenarios,promises}/**/*.test.ts',
    ],
    // Over HTTP and slow: they look at adapters, whose mutants are not made here.
    exclude: ['**/node_modules/**', '**/dist/**', 'test/scenarios/*{provider,wire,transport}*'],
  },
});
