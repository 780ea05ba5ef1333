// Every arrow of arrows.config.mjs can fail: a small tree of files, each with one import, is cruised with that configuration.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const cruiser = fileURLToPath(new URL('node_modules/dependency-cruiser/bin/dependency-cruise.mjs', import.meta.url));
const config = fileURLToPath(new URL('arrows.config.mjs', import.meta.url));
const tree = mkdtempSync(join(tmpdir(), 'guardloop-arrows-'));
afterAll(() => rmSync(tree, { recursive: true, force: true }));

/** Importing file, its import, and the rule that forbids it; none where it is allowed. */
const cases = [
  ['packages/core/src/define/a.ts', `import type { x } from '../state/x.js'`],
  ['packages/core/src/define/b.ts', `import { x } from '../state/x.js'`, 'core/define-imports-only-types-of-state'],
  ['packages/core/src/define/c.ts', `import { x } from '../model/x.js'`, 'core/define-imports-only-types-of-model'],
  ['packages/core/src/define/d.ts', `import type { x } from '../run/x.js'`, 'core/define-imports'],
  ['packages/core/src/define/e.ts', `export { x } from '../project/x.js'`, 'core/define-imports'],
  ['packages/core/src/define/f.ts', `import { x } from '../schema.js'`],
  ['packages/core/src/define/g.ts', `export { x } from '../state/x.js'`, 'core/define-imports-only-types-of-state'],
  ['packages/core/src/define/h.ts', `export type { x } from '../state/x.js'`],
  ['packages/core/src/define/i.ts', `import { readFile } from 'node:fs'`, 'core-imports'],
  ['packages/core/src/define/j.ts', `import { z } from 'zod'`],
  ['packages/core/src/define/k.ts', `import { z } from 'openai'`, 'core-imports'],
  ['packages/core/src/define/l.test.ts', `import { x } from '../run/x.js'`],
  ['packages/core/src/state/a.ts', `import type { x } from '../run/x.js'`, 'core/state-imports'],
  ['packages/core/src/state/b.ts', `import { x } from '../model/x.js'`],
  ['packages/core/src/state/c.ts', `import type { x } from '../define/x.js'`, 'core/state-imports'],
  ['packages/core/src/state/d.ts', `import { x } from '../errors.js'`],
  ['packages/core/src/model/a.ts', `import type { x } from '../state/x.js'`, 'core/model-imports'],
  ['packages/core/src/model/b.ts', `import { x } from '../errors.js'`],
  ['packages/core/src/session/a.ts', `import { x } from '../state/x.js'`, 'core/session-imports-only-types-of-state'],
  ['packages/core/src/session/b.ts', `import type { x } from '../model/x.js'`, 'core/session-imports'],
  ['packages/core/src/project/a.ts', `import { x } from '../define/x.js'`, 'core/project-imports-only-types-of-define'],
  ['packages/core/src/project/b.ts', `import { x } from '../model/x.js'`],
  ['packages/core/src/project/c.ts', `import type { x } from '../state/x.js'`, 'core/project-imports'],
  ['packages/core/src/run/a.ts', `import { x } from '../define/x.js'`],
  ['packages/core/src/run/b.ts', `import type { x } from '../index.js'`, 'core/run-imports'],
  ['packages/core/src/run/stages/c.ts', `import { x } from '../../state/x.js'`],
  ['packages/core/src/replay/a.ts', `import { x } from '../run/x.js'`],
  ['packages/core/src/replay/b.ts', `import { x } from '../schema.js'`, 'core/replay-imports-only-types-of-schema.ts'],
  ['packages/core/src/replay/c.ts', `import type { x } from '../session/x.js'`, 'core/replay-imports'],
  ['packages/core/src/run/g.ts', `import type { x } from '../replay/a.js'`, 'core/run-imports'],
  ['packages/core/src/report/a.ts', `import { x } from '../state/x.js'`],
  ['packages/core/src/report/b.ts', `import { x } from '../model/x.js'`, 'core/report-imports-only-types-of-model'],
  ['packages/core/src/report/c.ts', `import type { x } from '../run/x.js'`, 'core/report-imports'],
  ['packages/core/src/index.ts', `import { x } from './wire/x.js'`, 'core/index.ts-imports'],
  ['packages/core/src/model.ts', `import type { x } from './define/x.js'`, 'core/model.ts-imports'],
  ['packages/core/src/schema.ts', `import type { x } from './state/x.js'`, 'core/schema.ts-imports'],
  ['packages/core/src/errors.ts', `import type { x } from './model/x.js'`, 'core/errors.ts-imports'],
  ['packages/core/src/misc/a.ts', `import { x } from '../model/x.js'`, 'core/unknown-zone'],
  ['packages/core/src/run/d.ts', `import { x } from './missing.js'`, 'no-unresolved'],
  ['packages/core/src/run/e.ts', `import type { x } from './f.js'`, 'no-cycle'],
  ['packages/core/src/run/f.ts', `import type { x } from './e.js'`], // the other half of the cycle, which is reported once
  ['packages/openai/src/a.ts', `import { x } from '@guardloop/core/model'`],
  ['packages/openai/src/b.ts', `import type { x } from '@guardloop/core'`, 'openai-imports'],
  ['packages/openai/src/c.ts', `import OpenAI from 'openai'`],
  ['packages/openai/src/d.ts', `import fs from 'node:fs'`, 'openai-imports'],
  ['packages/openai/src/e.ts', `import { x } from '../../core/src/model.js'`, 'openai-imports'],
  ['packages/anthropic/src/a.ts', `import OpenAI from 'openai'`, 'anthropic-imports'],
  ['packages/anthropic/src/b.ts', `import type { x } from '@guardloop/core'`, 'anthropic-imports'],
  ['packages/testing/src/a.ts', `import { x } from '@guardloop/core'`],
  ['packages/testing/src/b.ts', `import { x } from 'vitest'`, 'testing-imports'],
  ['packages/testing/src/c.ts', `import { x } from './conformance.js'`, 'conformance-stays-apart'],
  ['packages/testing/src/conformance.ts', `import { x } from 'vitest'`],
  ['packages/testing/src/conformance/a.ts', `import { x } from 'openai'`, 'conformance-imports'],
  ['packages/testing/src/conformance/b.ts', `import { createServer } from 'node:http'`],
  ['packages/testing/src/conformance/c.ts', `import { fork } from 'node:child_process'`, 'conformance-imports'],
  ['examples/demo/main.ts', `import { x } from '@guardloop/core'`],
  ['examples/demo/bad.ts', `import { x } from '../../packages/core/src/index.js'`, 'published-entry-points-only'],
  ['test/bad.test.ts', `import { x } from '../packages/core/dist/index.js'`, 'published-entry-points-only'],
  ['docs/bad.ts', `import { x } from '../packages/core/src/run/x.js'`, 'published-entry-points-only'],
];

function write(path, text) {
  mkdirSync(dirname(join(tree, path)), { recursive: true });
  writeFileSync(join(tree, path), text);
}

for (const zone of ['define', 'state', 'model', 'wire', 'session', 'project', 'run'])
  write(`packages/core/src/${zone}/x.ts`, 'export const x = 1;\n');
for (const [path, line] of cases) write(path, `${line};\nexport const y = 1;\n`);
for (const name of ['zod', 'openai', 'vitest']) {
  write(`node_modules/${name}/package.json`, JSON.stringify({ name, type: 'module', exports: './index.js' }));
  write(`node_modules/${name}/index.js`, 'export const x = 1;\n');
}
for (const name of ['index', 'model']) write(`packages/core/dist/${name}.js`, 'export const x = 1;\n');
write(
  'packages/core/package.json',
  JSON.stringify({ name: '@guardloop/core', type: 'module', exports: { '.': './dist/index.js', './model': './dist/model.js' } }),
);
write('tsconfig.base.json', JSON.stringify({ compilerOptions: { module: 'nodenext', target: 'es2022' } }));
mkdirSync(join(tree, 'node_modules/@guardloop'));
symlinkSync('../../packages/core', join(tree, 'node_modules/@guardloop/core'), 'junction');

const command = [cruiser, '--config', config, '--output-type', 'json', 'packages', 'examples', 'docs', 'test'];
let report;
try {
  report = execFileSync(process.execPath, command, { cwd: tree, encoding: 'utf8', maxBuffer: 1 << 26 });
} catch (error) {
  report = error.stdout; // its exit code counts the violations
}
const { violations } = JSON.parse(report).summary;

test.each(cases)('%s: %s is judged by %s', (path, _line, rule) => {
  const found = violations.filter(({ from }) => from === path).map((violation) => violation.rule.name);
  if (rule) expect(found).toContain(rule);
  else expect(found).toEqual([]);
});
