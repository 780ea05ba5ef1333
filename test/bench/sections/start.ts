import { execFileSync } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median } from '../measure.js';
import type { Row } from '../row.js';
import { atMost } from '../row.js';

const here = dirname(fileURLToPath(import.meta.url));

/** Milliseconds to import a module in a fresh process. */
function importMs(name: string): number {
  const code = `const t = performance.now(); await import(${JSON.stringify(import.meta.resolve(name))}); process.stdout.write(String(performance.now() - t)); process.exit();`;
  return Number(execFileSync(process.execPath, ['--input-type=module', '-e', code]).toString());
}

/** The packages that installing this one brings along, peers not counted. */
function dependenciesOf(packageJson: string, found = new Set<string>()): ReadonlySet<string> {
  const { dependencies = {} } = JSON.parse(readFileSync(packageJson, 'utf8')) as { readonly dependencies?: Record<string, string> };
  for (const name of Object.keys(dependencies)) {
    if (found.has(name)) continue;
    found.add(name);
    dependenciesOf(findPackageJson(name, packageJson), found);
  }
  return found;
}

function findPackageJson(name: string, from: string): string {
  for (const folder of createRequire(realpathSync(from)).resolve.paths(name) ?? []) {
    try {
      return realpathSync(join(folder, name, 'package.json'));
    } catch {}
  }
  throw new Error(`${name} is not installed beside ${from}.`);
}

/** What it takes to begin: time to import, and how much is installed. */
export async function measureStart(): Promise<readonly Row[]> {
  const core: number[] = [];
  const zod: number[] = [];
  const empty: number[] = [];
  for (let round = 0; round < 11; round += 1) {
    core.push(importMs('@guardloop/core'));
    zod.push(importMs('zod'));
    empty.push(importMs('node:events'));
  }
  const root = join(here, '..', '..', '..', '..', 'packages');
  const counts = ['core', 'openai', 'anthropic'].map((name) => dependenciesOf(join(root, name, 'package.json')).size);
  return [
    { what: 'import of @guardloop/core (by hand: of zod alone)', unit: 'ms', ours: median(core), byHand: median(zod), target: atMost(25) },
    { what: '… of a module that Node has already', unit: 'ms', ours: median(empty) },
    { what: 'packages that core brings, its own dependencies and theirs', unit: 'count', ours: counts[0] ?? Number.NaN },
    { what: '… the OpenAI adapter (core included, SDK a peer)', unit: 'count', ours: counts[1] ?? Number.NaN },
    { what: '… the Anthropic adapter', unit: 'count', ours: counts[2] ?? Number.NaN },
  ];
}
