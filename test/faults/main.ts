// `npm run test:faults [-- --part ci] [-- --only NAME]`: faults, tried for real. Prints a table; fails where any of them failed.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { clockJumps } from './clocks.js';
import { databaseDown } from './database-down.js';
import { frozenWorkers } from './frozen.js';
import { killMatrix } from './kill-matrix.js';
import { longTool } from './long-tool.js';
import { oldVersions } from './old-versions.js';
import { largePayload } from './payload.js';
import type { Row } from './report.js';
import { table } from './report.js';
import { postgresReadOnly, sqliteFull } from './store-full.js';
import { takeover } from './takeover.js';
import { waitingRuns } from './waiting.js';

interface Fault {
  readonly name: string;
  readonly all: () => Promise<readonly Row[]>;
  /** In `--part ci`: as it is, or with less. */
  readonly ci?: 'as it is' | (() => Promise<readonly Row[]>) | undefined;
}

const faults: readonly Fault[] = [
  {
    name: 'kill-sqlite',
    all: () => killMatrix({ store: 'sqlite', pairs: 60 }),
    ci: () => killMatrix({ store: 'sqlite', most: 48, pairs: 8 }),
  },
  {
    name: 'kill-plain',
    all: () => killMatrix({ store: 'sqlite', isPlain: true, pairs: 30 }),
    ci: () => killMatrix({ store: 'sqlite', isPlain: true, most: 12 }),
  },
  {
    name: 'kill-postgres',
    all: () => killMatrix({ store: 'postgres', most: 84, pairs: 20 }),
    ci: () => killMatrix({ store: 'postgres', most: 12 }),
  },
  { name: 'kill-redis', all: () => killMatrix({ store: 'redis', most: 60, pairs: 10 }) },
  { name: 'kill-dbos', all: () => killMatrix({ store: 'postgres', engine: 'dbos', most: 30, pairs: 6 }) },
  { name: 'kill-restate', all: () => killMatrix({ store: 'postgres', engine: 'restate', most: 30, pairs: 6 }) },
  { name: 'frozen-sqlite', all: () => frozenWorkers('sqlite') },
  { name: 'frozen-postgres', all: () => frozenWorkers('postgres') },
  { name: 'takeover-sqlite', all: () => takeover({ store: 'sqlite', times: 5 }), ci: () => takeover({ store: 'sqlite', times: 1 }) },
  { name: 'takeover-postgres', all: () => takeover({ store: 'postgres', times: 5 }) },
  { name: 'takeover-dbos', all: () => takeover({ store: 'postgres', engine: 'dbos', times: 3 }) },
  { name: 'postgres-down', all: () => databaseDown(), ci: () => databaseDown({ most: 2 }) },
  { name: 'sqlite-full', all: () => sqliteFull(), ci: () => sqliteFull({ times: 4 }) },
  { name: 'postgres-read-only', all: () => postgresReadOnly() },
  { name: 'clocks', all: () => clockJumps(), ci: 'as it is' },
  { name: 'long-tool', all: async () => [...(await longTool('sqlite')), ...(await longTool('postgres'))], ci: () => longTool('sqlite') },
  { name: 'payload', all: async () => [...(await largePayload('sqlite')), ...(await largePayload('postgres'))] },
  {
    name: 'old-versions',
    all: async () => [...(await oldVersions('sqlite')), ...(await oldVersions('postgres'))],
    ci: () => oldVersions('sqlite'),
  },
  { name: 'waiting-sqlite', all: () => waitingRuns('sqlite', 10_000) },
  { name: 'waiting-postgres', all: () => waitingRuns('postgres', 10_000) },
];

const { values } = parseArgs({ options: { part: { type: 'string' }, only: { type: 'string' } } });
if (values.part !== undefined && values.part !== 'ci') usage(`There is no part ${values.part}.`);
const chosen = faults.filter(({ name, ci }) =>
  values.only === undefined ? values.part === undefined || ci !== undefined : name === values.only,
);
if (chosen.length === 0) usage(`There is no fault ${values.only}.`);

function usage(problem: string): never {
  process.stderr.write(`${problem}\nUsage: npm run test:faults -- [--part ci] [--only ${faults.map(({ name }) => name).join('|')}]\n`);
  process.exit(2);
}

// Servers, children and folders are taken away by what listens to the end of the process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const rows: Row[] = [];
const began = performance.now();
for (const { name, all, ci } of chosen) {
  process.stdout.write(`${name} …\n`);
  try {
    const found = await (values.part === 'ci' && typeof ci === 'function' ? ci() : all());
    process.stdout.write(`${table(found)}\n`);
    rows.push(...found);
  } catch (thrown) {
    const failure = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    process.stdout.write(`${failure}\n`);
    rows.push({ fault: name, where: '', tried: 1, failures: [failure], note: '' });
  }
}
const load = loadavg()
  .map((each) => each.toFixed(1))
  .join(' ');
process.stdout.write(`\n${table(rows)}\n\nNode ${process.version}, ${Math.round((performance.now() - began) / 1_000)} s, load ${load}.\n`);
const failures = rows.flatMap(({ fault, where, failures: list }) => list.map((failure) => `${fault} (${where}): ${failure}`));
for (const failure of failures) process.stdout.write(`FAILED: ${failure}\n`);
process.stdout.write(failures.length === 0 ? 'All faults were survived.\n' : `${failures.length} failed.\n`);
process.exit(failures.length === 0 ? 0 : 1);
