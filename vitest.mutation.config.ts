import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

const source = (path: string): string => fileURLToPath(new URL(`packages/${path}`, import.meta.url));

/** Units before scenarios before whole rules, and the short before the long: the first test that fails ends a mutant. */
class QuickestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const kinds = [
      '/packages/core/',
      '/packages/reasoning/',
      '/test/scenarios/',
      '/test/behaviours/',
      '/test/breakers/',
      '/packages/testing/',
      '/test/promises/',
    ];
    const place = ({ moduleId }: TestSpecification): number => kinds.findIndex((kind) => moduleId.includes(kind));
    const size = ({ moduleId }: TestSpecification): number => statSync(moduleId).size;
    return files.sort((one, other) => place(one) - place(other) || size(one) - size(other));
  }
}

/** `--mutate packages/NAME/…` of another package than core: its own units find its mutants. */
const mutated = process.env.GUARDLOOP_MUTATED;

/** For mutation tests: everything runs on core's sources, where the mutants are, and not on what was built of them. */
export default defineConfig({
  resolve: {
    alias: [
      { find: /^@guardloop\/core\/(model|report)$/, replacement: source('core/src/$1.ts') },
      { find: /^@guardloop\/core$/, replacement: source('core/src/index.ts') },
      { find: /^@guardloop\/testing\/conformance$/, replacement: source('testing/src/conformance.ts') },
      { find: /^@guardloop\/testing$/, replacement: source('testing/src/index.ts') },
      { find: /^@guardloop\/(openai|anthropic|reasoning|context|evals|guardrails|mcp)$/, replacement: source('$1/src/index.ts') },
    ],
  },
  test: {
    testTimeout: 20_000,
    // One load of the modules for all files: half of a mutant's time was loading them again.
    isolate: false,
    sequence: { sequencer: QuickestFirst },
    include: mutated
      ? [`packages/${mutated}/src/**/*.test.ts`]
      : [
          'packages/core/src/{define,state,run}/**/*.test.ts',
          // Modes and monitors are core's, and these are what they are for.
          'packages/reasoning/src/*.test.ts',
          'packages/testing/src/audit/*.test.ts',
          'test/{behaviours,breakers,scenarios,promises}/**/*.test.ts',
        ],
    exclude: [
      '**/node_modules/**',
      '**/dist/**',
      // Over HTTP and slow: they look at adapters, whose mutants are not made here.
      'test/scenarios/*{provider,wire,transport}*',
      'test/scenarios/k26-packaging.test.ts',
      // Half of all the time, and little that the others do not see: without them the score is a lower bound.
      'packages/testing/src/audit/real-logs.test.ts',
      'test/promises/cut-anywhere.test.ts',
    ],
  },
});
