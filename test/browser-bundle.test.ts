import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { build } from 'vite';
import { afterAll, beforeAll, expect, it } from 'vitest';

const here = dirname(fileURLToPath(import.meta.url));
let folder: string;

// Beside the packages, so that they are found as a user's bundler finds them.
beforeAll(async () => {
  folder = await mkdtemp(join(here, 'node_modules', '.browser-bundle-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Bundle {
  readonly code: string;
  /** What the bundle would load at run time. */
  readonly imports: readonly string[];
  /** Modules of Node that something in it asks for; bundlers replace them by empty stand-ins for a browser. */
  readonly builtins: readonly string[];
}

async function bundle(name: string, source: string, external: readonly RegExp[] = []): Promise<Bundle> {
  const entry = join(folder, `${name}.js`);
  await writeFile(entry, source);
  const builtins: string[] = [];
  const output = await build({
    root: folder,
    configFile: false,
    logLevel: 'silent',
    plugins: [
      {
        name: 'note-builtins',
        enforce: 'pre',
        resolveId(id, importer) {
          if (isBuiltin(id)) builtins.push(`${id} from ${importer}`);
        },
      },
    ],
    build: {
      write: false,
      target: 'es2022',
      minify: false,
      lib: { entry, formats: external.length > 0 ? ['es'] : ['iife'], name: 'bundle', fileName: name },
      rolldownOptions: { external: [...external] },
    },
  });
  const [first] = Array.isArray(output) ? output : [output];
  if (first === undefined || !('output' in first)) throw new Error('nothing was built');
  const chunks = first.output.filter((file) => file.type === 'chunk');
  const own = new Set(chunks.map(({ fileName }) => fileName));
  const imports = chunks.flatMap((chunk) => [...chunk.imports, ...chunk.dynamicImports]).filter((path) => !own.has(path));
  return { code: chunks.map(({ code }) => code).join('\n'), imports, builtins };
}

/** The globals that every browser has and this program needs; no `process`, no `Buffer`, no `require`. */
const browserGlobals = () => ({
  console,
  AbortController,
  AbortSignal,
  DOMException,
  TextEncoder,
  TextDecoder,
  URL,
  atob,
  btoa,
  crypto,
  performance,
  queueMicrotask,
  setTimeout,
  clearTimeout,
  structuredClone,
});

const program = `
import { allow, defineAgent, defineGuardrail, defineTool, deny, memorySession, resume, run } from '@guardloop/core';
import { z } from 'zod';

export async function main() {
  const usage = { requests: 1, inputTokens: 1, outputTokens: 1 };
  const model = {
    id: 'browser',
    provider: 'browser',
    async *stream({ turn }) {
      if (turn === 1) yield { type: 'tool.call', call: { name: 'open_door', input: { door: 'gate' } } };
      else yield { type: 'text.delta', text: 'It is open.' };
      yield { type: 'end', stopReason: turn === 1 ? 'tools' : 'stop', usage };
    },
  };
  const openDoor = defineTool({
    name: 'open_door',
    description: 'Opens a door.',
    input: z.object({ door: z.string() }),
    approval: true,
    execute: ({ door }) => 'opened ' + door,
  });
  const noCellars = defineGuardrail({
    name: 'no-cellars',
    on: ['toolInput', 'output'],
    timeoutMs: 1000,
    check: async ({ content }) => (content.includes('cellar') ? deny('no') : allow()),
  });
  const porter = defineAgent({ name: 'porter', instructions: '', model, tools: [openDoor], guardrails: [noCellars] });
  const session = { store: memorySession(), id: 's' };
  const asked = await run(porter, 'Open the gate.', { session });
  const decisions = Object.fromEntries(asked.approvals.map(({ id }) => [id, 'approve']));
  const result = await resume(porter, session, { decisions });
  return asked.status + ', ' + result.status + ': ' + result.text;
}
`;

it('core bundles for a browser, and a guarded run with an approval works there', async () => {
  const { code, imports, builtins } = await bundle('core', program);
  expect({ imports, builtins }).toEqual({ imports: [], builtins: [] });
  const sandbox = createContext(browserGlobals());
  const answer: unknown = await runInContext(`${code}\nbundle.main();`, sandbox);
  expect(answer).toBe('interrupted, completed: It is open.');
});

it.each([
  ['@guardloop/openai', 'openai', /^openai(?:\/|$)/],
  ['@guardloop/anthropic', 'anthropic', /^@anthropic-ai\/sdk(?:\/|$)/],
])('%s itself asks for nothing of Node', async (name, exported, sdk) => {
  const { imports, builtins } = await bundle(exported, `export { ${exported} } from '${name}';`, [sdk]);
  expect(builtins).toEqual([]);
  expect(imports.filter((path) => !sdk.test(path))).toEqual([]);
});

it('finds an import of Node where there is one', async () => {
  const { builtins } = await bundle('node', `import { readFileSync } from 'node:fs';\nexport const read = () => readFileSync('/');`);
  expect(builtins).toEqual([expect.stringMatching(/^node:fs from /)]);
});
