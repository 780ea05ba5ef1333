// `npm run mutation` breaks core's rules one by one and looks whether a test notices.
// `npm run mutation -- --mutate packages/core/src/run/guard.ts` does so in one file.

// The tests of another package are asked about its mutants, those of core about core's: see vitest.mutation.config.ts.
const mutated = /packages\/([\w-]+)\//.exec(process.argv.join(' '))?.[1];
if (mutated !== undefined && mutated !== 'core') process.env.GUARDLOOP_MUTATED = mutated;

export default {
  plugins: ['@stryker-mutator/vitest-runner'],
  testRunner: 'vitest',
  // TypeScript 7 has no JavaScript interface to rewrite a tsconfig with, and nothing here reads one.
  tsconfigFile: 'none.json',
  vitest: { configFile: 'vitest.mutation.config.ts', related: false },
  mutate: ['packages/core/src/{state,run,define}/**/*.ts', '!**/*.test.ts', '!**/*.test-d.ts'],
  coverageAnalysis: 'perTest',
  ignoreStatic: true,
  // Words of messages are for people: tests hold what they name, not each of them.
  mutator: { excludedMutations: ['StringLiteral'] },
  // A mutant that loops is found by its time; the machines of CI are slow when all workers are busy.
  timeoutMS: 5_000,
  timeoutFactor: 1.5,
  concurrency: 2,
  // Tests start processes and read files of the repository by their place: the sandbox holds what they need.
  ignorePatterns: ['reports', 'docs/api', '**/dist/bench', 'coverage', 'reports'],
  reporters: ['clear-text', 'progress', 'json', 'html'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false, reportScoreTable: true },
  jsonReporter: { fileName: 'reports/mutation/report.json' },
  htmlReporter: { fileName: 'reports/mutation/report.html' },
  thresholds: { high: 95, low: 90, break: 90 },
  tempDirName: '.stryker-tmp',
};
