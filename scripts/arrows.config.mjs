// The import arrows between packages and between the folders of core (see AGENTS.md), for dependency-cruiser.
// `types` marks an arrow that only `import type` may take. A cycle is a fault even when only types take part.

const core = '^packages/core/src/';
const isTest = String.raw`\.(test|test-d)\.ts$`;

/** Folder or file of core → what it may import within core. Its own folder and `errors.ts` are always allowed. */
const zones = {
  'index.ts': { values: ['define', 'run', 'replay', 'session', 'project', 'model', 'state'] },
  run: { values: ['state', 'model', 'session', 'project', 'define', 'schema.ts'] },
  replay: { values: ['run', 'state', 'define', 'model'], types: ['schema.ts'] },
  define: { values: ['schema.ts'], types: ['state', 'model'] },
  state: { values: ['model'] },
  'model.ts': { values: ['model', 'wire', 'schema'] },
  'report.ts': { values: ['report'] },
  report: { values: ['state'], types: ['model'] },
  model: {},
  wire: { values: ['model', 'schema'] },
  session: { types: ['state'] },
  project: { values: ['model'], types: ['define'] },
  'schema.ts': { values: ['schema'], types: ['model'] },
  schema: { types: ['model'] },
  'errors.ts': {},
};

const target = (name) => `${core}${name.endsWith('.ts') ? `${name.replace('.', '\\.')}$` : `${name}/`}`;

const zoneRules = Object.entries(zones).flatMap(([zone, { values = [], types = [] }]) => {
  const own = zone === 'errors.ts' ? [zone] : [zone, 'errors.ts'];
  const from = { path: target(zone), pathNot: isTest };
  return [
    {
      name: `core/${zone}-imports`,
      severity: 'error',
      comment: `${zone} may import only: ${[...own, ...values, ...types.map((name) => `${name} (types)`)].join(', ')}`,
      from,
      to: { path: core, pathNot: [...own, ...values, ...types].map(target) },
    },
    ...types.map((name) => ({
      name: `core/${zone}-imports-only-types-of-${name}`,
      severity: 'error',
      comment: `${zone} may import only types of ${name}: write \`import type\``,
      from,
      to: { path: target(name), dependencyTypesNot: ['type-only'] },
    })),
  ];
});

/** Package → the packages and entry points that its source may import. */
const packages = {
  core: ['node_modules/(zod|p-limit|eventemitter3)/'],
  openai: [String.raw`^packages/core/dist/model\.(d\.ts|js)$`, 'node_modules/openai/'],
  anthropic: [String.raw`^packages/core/dist/model\.(d\.ts|js)$`, 'node_modules/@anthropic-ai/sdk/'],
  testing: [String.raw`^packages/core/dist/(index|model)\.(d\.ts|js)$`, 'node_modules/zod/'],
  reasoning: [String.raw`^packages/core/dist/(index|model)\.(d\.ts|js)$`, 'node_modules/zod/'],
  context: [String.raw`^packages/core/dist/(index|model)\.(d\.ts|js)$`, 'node_modules/(zod|gpt-tokenizer|minisearch)/'],
  guardrails: [
    String.raw`^packages/core/dist/(index|model)\.(d\.ts|js)$`,
    'node_modules/(zod|@marcbachmann/cel-js|entities|franc-min|ipaddr\\.js|libphonenumber-js|re2js|smol-toml|yaml)/',
  ],
  mcp: [
    String.raw`^packages/core/dist/(index|model)\.(d\.ts|js)$`,
    'node_modules/(zod|@modelcontextprotocol/sdk)/',
    '^(child_process|crypto|fs|http|stream|url)$',
  ],
  store: [
    String.raw`^packages/core/dist/(index|model)\.(d\.ts|js)$`,
    String.raw`^packages/testing/dist/(index|conformance)\.(d\.ts|js)$`,
    'node_modules/(kysely|vitest)/',
  ],
  'store-sqlite': [
    String.raw`^packages/core/dist/(index|model)\.(d\.ts|js)$`,
    String.raw`^packages/store/dist/(index|kit|sql)\.(d\.ts|js)$`,
    'node_modules/(kysely|libsql)/',
    '^(fs|path)$',
  ],
  'store-postgres': [
    String.raw`^packages/core/dist/(index|model)\.(d\.ts|js)$`,
    String.raw`^packages/store/dist/(index|kit|sql)\.(d\.ts|js)$`,
    'node_modules/(kysely|pg|@types/pg)/',
  ],
  'store-redis': [
    String.raw`^packages/core/dist/(index|model)\.(d\.ts|js)$`,
    String.raw`^packages/store/dist/(index|kit)\.(d\.ts|js)$`,
    'node_modules/ioredis/',
  ],
  durable: [
    String.raw`^packages/(core|store|store-sqlite|testing)/dist/(index|model)\.(d\.ts|js)$`,
    'node_modules/(@dbos-inc/dbos-sdk|@restatedev/restate-sdk|@restatedev/restate-sdk-clients|vitest|zod)/',
    '^(async_hooks|crypto|http2|net|os)$',
  ],
  server: [String.raw`^packages/(core|store|durable)/dist/(index|model)\.(d\.ts|js)$`, 'node_modules/(zod|hono)/'],
  otel: [String.raw`^packages/core/dist/(index|model)\.(d\.ts|js)$`, 'node_modules/@opentelemetry/api/', '^crypto$'],
  evals: [String.raw`^packages/(core|reasoning)/dist/(index|model)\.(d\.ts|js)$`, 'node_modules/zod/'],
};

const packageRules = Object.entries(packages).map(([name, allowed]) => ({
  name: `${name}-imports`,
  severity: 'error',
  comment: `packages/${name} may import only itself and: ${allowed.join(', ')}`,
  from: { path: `^packages/${name}/src/`, pathNot: [isTest, ...(name === 'testing' ? ['^packages/testing/src/conformance'] : [])] },
  to: { path: '.', pathNot: [`^packages/${name}/src/`, ...allowed] },
}));

export default {
  forbidden: [
    ...zoneRules,
    ...packageRules,
    {
      name: 'core/unknown-zone',
      severity: 'error',
      comment: 'a new folder of core needs its arrows written down in scripts/arrows.config.mjs',
      from: { path: core, pathNot: [...Object.keys(zones).map(target), isTest] },
      to: {},
    },
    {
      name: 'conformance-imports',
      severity: 'error',
      comment: 'only the conformance suites may import vitest and what they need of Node',
      from: { path: '^packages/testing/src/conformance', pathNot: isTest },
      to: { path: '.', pathNot: ['^packages/testing/src/', ...packages.testing, 'node_modules/vitest/', '^(events|fs|http|net|url)$'] },
    },
    {
      name: 'conformance-stays-apart',
      severity: 'error',
      comment: 'the root entry point of testing must load without vitest',
      from: { path: '^packages/testing/src/', pathNot: [isTest, '^packages/testing/src/conformance'] },
      to: { path: '^packages/testing/src/conformance' },
    },
    {
      name: 'engines-stay-apart',
      severity: 'error',
      comment: 'durable must load without DBOS and Restate',
      from: { path: '^packages/durable/src/', pathNot: [isTest, '^packages/durable/src/(dbos|restate)(/|\\.)'] },
      to: { path: ['^packages/durable/src/(dbos|restate)(/|\\.)', 'node_modules/(@dbos-inc|@restatedev)/'] },
    },
    {
      name: 'published-entry-points-only',
      severity: 'error',
      comment: 'examples, docs and cross-package tests import packages by their name, never by a path into them',
      from: { path: '^(examples|docs|test)/' },
      to: { path: '^packages/', dependencyTypes: ['local'] },
    },
    {
      name: 'no-cycle',
      severity: 'error',
      comment: 'no file may lead back to itself, by type imports neither',
      from: { path: '^packages/[^/]+/src/', pathNot: isTest },
      to: { circular: true },
    },
    {
      name: 'no-unresolved',
      severity: 'error',
      comment: 'an import that leads nowhere escapes every other rule: build first, or correct the path',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    combinedDependencies: true,
    doNotFollow: { path: ['node_modules', '(^|/)dist/'] },
    // The peer's worker runs in a folder of its own, where its packages are installed on demand.
    exclude: { path: ['^(examples|docs|test)/dist/', '^docs/api/', String.raw`^test/bench-durable/langgraph-worker\.mjs$`] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['types', 'import', 'default'],
      extensions: ['.ts', '.js', '.d.ts', '.json'],
    },
  },
};
