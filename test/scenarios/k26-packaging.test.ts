import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';

const require = createRequire(import.meta.url);
const core = require.resolve('@guardloop/core');

describe('K26', () => {
  describe('S220: errors are known across copies of the package', () => {
    const inNode = async (script: string): Promise<unknown> => {
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=commonjs', '-e', script]);
      return JSON.parse(stdout);
    };
    const url = JSON.stringify(pathToFileURL(core).href);
    /** The package once more, as another dependency would bring it. */
    const secondCopy = async (): Promise<string> => {
      const home = dirname(dirname(core));
      const place = await mkdtemp(join(tmpdir(), 'core-'));
      onTestFinished(() => rm(place, { recursive: true }));
      await cp(dirname(core), join(place, 'dist'), { recursive: true });
      await cp(join(home, 'package.json'), join(place, 'package.json'));
      await symlink(join(home, 'node_modules'), join(place, 'node_modules'));
      return join(place, 'dist', basename(core));
    };

    it('S220: by their brand, where instanceof is not; an adapter with another copy fails as itself', async () => {
      const copied = JSON.stringify(pathToFileURL(await secondCopy()).href);
      const seen = await inNode(`
        Promise.all([import(${url}), import(${copied})]).then(async ([own, copy]) => {
          const foreign = new copy.GuardloopError('MODEL_FAILED', 'Lost.', { isRetryable: true });
          const others = [new Error('x'), { code: 'MODEL_FAILED' }, null, undefined, 'x', { name: 'GuardloopError' }];
          const model = { id: 'm', provider: 'test', async *stream() { throw foreign; } };
          const result = await own.run(own.defineAgent({ name: 'a', instructions: '', model }), 'go');
          console.log(JSON.stringify({
            isSameClass: own.GuardloopError === copy.GuardloopError,
            isInstance: foreign instanceof own.GuardloopError,
            isKnown: [own.GuardloopError.is(foreign), copy.GuardloopError.is(new own.GuardloopError('INTERNAL', 'x'))],
            others: others.filter((other) => own.GuardloopError.is(other)),
            result: [result.status, result.error.code, result.error.message, result.error.isRetryable, own.GuardloopError.is(result.error)],
          }));
        });`);
      expect(seen).toEqual({
        isSameClass: false,
        isInstance: false,
        isKnown: [true, true],
        others: [],
        result: ['failed', 'MODEL_FAILED', 'Lost.', true, true],
      });
    });

    it('S220: a program of either module system can load it, and sees the same class', async () => {
      const seen = await inNode(`
        const required = require(${JSON.stringify(core)});
        import(${url}).then((imported) => {
          const error = new required.GuardloopError('INTERNAL', 'x');
          console.log(JSON.stringify([imported.GuardloopError === required.GuardloopError, imported.GuardloopError.is(error), error.name]));
        });`);
      expect(seen).toEqual([true, true, 'GuardloopError']);
    });

    it('S220: nothing that it ships imports a module of Node', async () => {
      const dist = new URL('.', pathToFileURL(core));
      const files = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith('.js') && !name.includes('.test.'));
      expect(files.length).toBeGreaterThan(0);
      for (const name of files) {
        const text = await readFile(new URL(name, dist), 'utf8');
        expect(text, name).not.toMatch(/(?:from|import|require)\s*\(?\s*['"]node:/);
      }
    });
  });
});
