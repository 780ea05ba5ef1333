// `npm run test:faults [-- --part ci] [-- --only NAME]`: faults, tried for real. Prints a table; fails where any of them failed.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { skipsPostgres } from '../servers/postgres.js';
import { skipsRedis } from '../servers/redis.js';
import { skipsRestate } from '../servers/restate.js';
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

type Server = 'postgres' | 'redis' | 'restate';
interface Fault {
  readonly name: string;
  /** Servers that it starts, beside what it needs no server for. */
  readonly needs?: readonly Server[] | undefined;
  readonly all: () => Promise<readonly Row[]>;
  /** In `--part ci`: as it is, or with less. */
  readonly ci?: 'as it is' | (() => Promise<readonly Row[]>) | undefined;
}

const postgres = ['postgres'] as const;
const faults: readonly Fault[] = [
  {
    name: 'kill-sqlite',
    all: () => killMatrix({ store: 'sqlite', pairs: 60 }),
    ci: () => killMatrix({ store: 'sqlite', most: 40, pairs: 4 }),
  },
  {
    name: 'kill-plain',
    all: () => killMatrix({ store: 'sqlite', isPlain: true, pairs: 30 }),
    ci: () => killMatrix({ store: 'sqlite', isPlain: true, most: 12 }),
  },
  {
    name: 'kill-postgres',
    needs: postgres,
    all: () => killMatrix({ store: 'postgres', pairs: 20 }),
    ci: () => killMatrix({ store: 'postgres', most: 12 }),
  },
  {
    name: 'kill-redis',
    needs: ['redis'],
    all: () => killMatrix({ store: 'redis', pairs: 20 }),
    ci: () => killMatrix({ store: 'redis', most: 6 }),
  },
  { name: 'kill-dbos', needs: postgres, all: () => killMatrix({ store: 'postgres', engine: 'dbos', most: 30, pairs: 6 }) },
  {
    name: 'kill-restate',
    needs: ['postgres', 'restate'],
    all: () => killMatrix({ store: 'postgres', engine: 'restate', most: 30, pairs: 6 }),
  },
  { name: 'frozen-sqlite', all: () => frozenWorkers('sqlite'), ci: () => frozenWorkers('sqlite', 6) },
  { name: 'frozen-postgres', needs: postgres, all: () => frozenWorkers('postgres') },
  { name: 'frozen-redis', needs: ['redis'], all: () => frozenWorkers('redis', 12) },
  {
    name: 'takeover-sqlite',
    all: () => takeover({ store: 'sqlite', times: 5 }),
    ci: () => takeover({ store: 'sqlite', times: 1, mostMs: 60_000 }),
  },
  { name: 'takeover-postgres', needs: postgres, all: () => takeover({ store: 'postgres', times: 5 }) },
  { name: 'takeover-redis', needs: ['redis'], all: () => takeover({ store: 'redis', times: 3 }) },
  { name: 'takeover-dbos', needs: postgres, all: () => takeover({ store: 'postgres', engine: 'dbos', times: 3 }) },
  { name: 'takeover-restate', needs: ['postgres', 'restate'], all: () => takeover({ store: 'postgres', engine: 'restate', times: 3 }) },
  { name: 'postgres-down', needs: postgres, all: () => databaseDown(), ci: () => databaseDown({ most: 2 }) },
  { name: 'sqlite-full', all: () => sqliteFull(), ci: () => sqliteFull({ times: 4 }) },
  { name: 'postgres-read-only', needs: postgres, all: () => postgresReadOnly() },
  { name: 'clocks', all: () => clockJumps(), ci: 'as it is' },
  { name: 'long-tool-sqlite', all: () => longTool('sqlite'), ci: 'as it is' },
  { name: 'long-tool-postgres', needs: postgres, all: () => longTool('postgres') },
  { name: 'long-tool-redis', needs: ['redis'], all: () => longTool('redis') },
  { name: 'payload-sqlite', all: () => largePayload('sqlite') },
  { name: 'payload-postgres', needs: postgres, all: () => largePayload('postgres') },
  { name: 'payload-redis', needs: ['redis'], all: () => largePayload('redis') },
  { name: 'old-versions-sqlite', all: () => oldVersions('sqlite'), ci: 'as it is' },
  { name: 'old-versions-postgres', needs: postgres, all: () => oldVersions('postgres') },
  { name: 'waiting-sqlite', all: () => waitingRuns('sqlite', 10_000) },
  { name: 'waiting-postgres', needs: postgres, all: () => waitingRuns('postgres', 10_000) },
];

/** Says which of its servers is not on this machine. In CI it is started all the same, and fails. */
function missing({ needs = [] }: Fault): Server | undefined {
  const isMissing = { postgres: skipsPostgres, redis: skipsRedis, restate: skipsRestate };
  return needs.find((server) => isMissing[server]);
}

const { values } = readArguments();
if (values.part !== undefined && values.part !== 'ci') usage(`There is no part ${values.part}.`);
const chosen = faults.filter(({ name, ci }) =>
  values.only === undefined ? values.part === undefined || ci !== undefined : name === values.only,
);
if (chosen.length === 0) usage(`There is no fault ${values.only}.`);

function readArguments() {
  try {
    return parseArgs({ options: { part: { type: 'string' }, only: { type: 'string' } } });
  } catch (thrown) {
    return usage(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function usage(problem: string): never {
  process.stderr.write(`${problem}\nUsage: npm run test:faults -- [--part ci] [--only ${faults.map(({ name }) => name).join('|')}]\n`);
  process.exit(2);
}

// Servers, children and folders are taken away by what listens to the end of the process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const rows: Row[] = [];
const began = performance.now();
for (const fault of chosen) {
  const { name, all, ci } = fault;
  const server = missing(fault);
  if (server !== undefined) {
    process.stdout.write(`${name} NOT TESTED: ${server} is not here (see above)\n`);
    continue;
  }
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
