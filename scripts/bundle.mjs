// Replaces what tsc wrote for the entry points of core by bundles: a process loads three files in a third of the time of ninety.
// Types stay as tsc wrote them. Without this step (`tsc -b` alone) the packages work the same, from single modules.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const entries = ['index', 'model'];
/** Stands for itself, with a copy of the little it needs, so that the others stay two files and what both share. */
const alone = 'report';

/** Consumers' bundlers keep a top-level `Object.freeze` that nobody uses, and all that it names, unless it says that it is pure. */
const pureFreeze = {
  name: 'pure-freeze',
  transform: (code) => ({ code: code.replace(/^(export )?const .*? = (?=Object\.freeze\()/gm, '$&/* @__PURE__ */ '), map: null }),
};

/** Has the next `tsc -b` write the entry points again: to its record they are as it left them, and it would never refresh them. */
function leaveToEmit(core) {
  const file = join(core, 'dist', '.tsbuildinfo');
  const record = JSON.parse(readFileSync(file, 'utf8'));
  const numbers = [...entries, alone].map((name) => record.fileNames.indexOf(`../src/${name}.ts`) + 1);
  writeFileSync(file, JSON.stringify({ ...record, affectedFilesPendingEmit: numbers }));
}

/** Bundles the core package at the path given, which tsc must have built. */
export async function bundle(core) {
  leaveToEmit(core);
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(core, 'package.json'), 'utf8'));
  const external = Object.keys({ ...dependencies, ...peerDependencies }).map((name) => new RegExp(`^${name}(/|$)`));
  for (const names of [entries, [alone]]) {
    const input = Object.fromEntries(names.map((name) => [name, `src/${name}.ts`]));
    const build = await rolldown({ cwd: core, input, external, platform: 'neutral', plugins: [pureFreeze] });
    // What the entries share has a name that no output of tsc can have.
    await build.write({ dir: 'dist', chunkFileNames: 'shared.mjs', sourcemap: true });
    await build.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle(fileURLToPath(new URL('../packages/core', import.meta.url)));
