// Every root script starts here, on Node alone: it installs what is missing, then runs the tools of this repository.
// `node scripts/dev.mjs <task> [arguments]`; arguments go on to the task.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const isWindows = process.platform === 'win32';
const stamp = join(root, 'node_modules', '.guardloop-install');

const environment = {
  ...process.env,
  PATH: [join(root, 'node_modules', '.bin'), join(root, 'scripts', 'node_modules', '.bin'), process.env.PATH].join(delimiter),
  TURBO_TELEMETRY_DISABLED: '1',
  DO_NOT_TRACK: '1',
};

/** Runs one command in the repository's root and gives its exit code. */
function run(command, ...parameters) {
  const done = spawnSync(command, parameters, {
    cwd: root,
    stdio: 'inherit',
    env: environment,
    shell: isWindows && command !== process.execPath,
  });
  if (done.error) process.stderr.write(`${command} could not be started: ${done.error.message}\n`);
  return done.status ?? 1;
}

const node = (...parameters) => run(process.execPath, ...parameters);
const say = (text) => process.stdout.write(`${text}\n`);

/** Installs when the lock file or Node's major version changed since the last time. */
function install() {
  const lock = readFileSync(join(root, 'pnpm-lock.yaml'));
  const wanted = `${createHash('sha256').update(lock).digest('hex')} node${process.versions.node.split('.')[0]}`;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return 0;
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  say(`Installing dependencies with ${packageManager} (the first time, or since the lock file or Node changed) …`);
  const code = run(
    'npm',
    'exec',
    '--yes',
    `--package=${packageManager}`,
    '--',
    'pnpm',
    'install',
    '--frozen-lockfile',
    '--loglevel=warn',
    '--config.confirm-modules-purge=false',
  );
  if (code === 0) {
    mkdirSync(dirname(stamp), { recursive: true });
    writeFileSync(stamp, wanted);
  }
  return code;
}

/** Removes what an earlier build left of a source file that is gone. */
function prune(directory, source = directory) {
  const output = join(root, directory, 'dist');
  if (!existsSync(output)) return;
  for (const entry of readdirSync(output, { recursive: true, withFileTypes: true })) {
    const match = entry.isFile() && /^(.+?)(\.d\.ts|\.js)(\.map)?$/.exec(entry.name);
    if (!match) continue;
    const file = join(entry.parentPath ?? entry.path, entry.name);
    const origin = join(root, source, relative(output, dirname(file)), `${match[1]}.ts`);
    if (!existsSync(origin) && !existsSync(`${origin}x`)) rmSync(file);
  }
}

function build(...parameters) {
  for (const name of readdirSync(join(root, 'packages'))) prune(join('packages', name), join('packages', name, 'src'));
  for (const name of ['docs', 'examples', 'test']) prune(name);
  return run('tsc', '-b', ...parameters) || (parameters.includes('--clean') ? 0 : node('scripts/bundle.mjs'));
}

/** What `check` runs, in this order; `check <name>` runs one of them. */
const checks = {
  lint: () => run('biome', 'check', '.'),
  arrows: () => run('depcruise', '--config', 'scripts/arrows.config.mjs', 'packages', 'examples', 'docs', 'test'),
  types: () => run('turbo', 'run', 'types', '--output-logs=errors-only'),
  unused: () => run('knip', '--no-config-hints'),
  exports: () => run('turbo', 'run', 'exports', '--output-logs=errors-only'),
  docs: () => run('typedoc', '--options', 'typedoc.json'),
};

function check(...names) {
  const unknown = names.filter((name) => !(name in checks));
  if (unknown.length > 0) {
    process.stderr.write(`Unknown check ${unknown.join(', ')}. There are: ${Object.keys(checks).join(', ')}.\n`);
    return 2;
  }
  const failed = (names.length > 0 ? names : Object.keys(checks)).filter((name) => {
    say(`\n── ${name}`);
    return checks[name]() !== 0;
  });
  say(failed.length > 0 ? `\nFailed: ${failed.join(', ')}` : '\nAll checks passed.');
  return failed.length > 0 ? 1 : 0;
}

const tasks = {
  build,
  demo: (...parameters) => build('examples') || node('--enable-source-maps', 'examples/dist/demo/main.js', ...parameters),
  test: (...parameters) => build() || run('vitest', 'run', ...parameters),
  lint: (...parameters) => run('biome', 'check', ...(parameters.length > 0 ? parameters : ['.'])) || checks.arrows(),
  docs: () => build() || checks.docs(),
  bench: (...parameters) => build('test') || node('--enable-source-maps', '--expose-gc', 'test/dist/bench/main.js', ...parameters),
  'bench:stores': (...parameters) => build('test') || node('--enable-source-maps', 'test/dist/bench-stores/main.js', ...parameters),
  'bench:security': (...parameters) => build('test') || node('--enable-source-maps', 'test/dist/security/main.js', ...parameters),
  evals: (...parameters) => build('test') || node('--enable-source-maps', 'test/dist/evals/main.js', ...parameters),
  soak: (...parameters) => build('test') || node('--enable-source-maps', '--expose-gc', 'test/dist/soak/main.js', ...parameters),
  'test:faults': (...parameters) => build('test') || node('--enable-source-maps', 'test/dist/faults/main.js', ...parameters),
  'bench:durable': (...parameters) => build('test') || node('--enable-source-maps', 'test/dist/bench-durable/main.js', ...parameters),
  mutation: (...parameters) => build() || run('stryker', 'run', ...parameters),
  check: (...names) => build() || check(...names),
};

const [task, ...parameters] = process.argv.slice(2);
if (!(task in tasks)) {
  process.stderr.write(`Usage: node scripts/dev.mjs <task> [arguments]\nTasks: ${Object.keys(tasks).join(', ')}\n`);
  process.exit(2);
}
process.exitCode = install() || tasks[task](...parameters);
