// Packs the package in the working directory as it would be published and checks its exports map, types and files.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const shell = process.platform === 'win32';
const folder = mkdtempSync(join(tmpdir(), 'guardloop-pack-'));
let isSound = true;
try {
  execFileSync('pnpm', ['pack', '--pack-destination', folder], { stdio: ['ignore', 'ignore', 'inherit'], shell });
  const tarball = join(folder, readdirSync(folder)[0]);
  const commands = [
    ['publint', 'run', tarball, '--strict'],
    ['attw', tarball, '--profile', 'esm-only', '--no-emoji'],
  ];
  for (const [command, ...parameters] of commands) {
    if (spawnSync(command, parameters, { stdio: 'inherit', shell }).status !== 0) isSound = false;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = isSound ? 0 : 1;
