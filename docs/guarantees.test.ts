// Every promise in guarantees.md has its limits and a command, and every command runs tests that are there.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readPage, root } from './pages.js';

const page = readPage('docs/guarantees.md');
const sections = page
  .split(/^## /m)
  .slice(1)
  .map((text) => ({ title: text.slice(0, text.indexOf('\n')), text }));
const commandsOf = (text: string): readonly string[] =>
  [...text.matchAll(/\bnpm (?:test|run) [^`\n|]+/g)].map(([command]) => command.trim());
const commands = [...new Set(commandsOf(page))];

/** Where the projects of the tests stand. */
const folderOf = (project: string): string => [`packages/${project}/src`, project].find((folder) => existsSync(join(root, folder))) ?? '';
const found = new Map<string, readonly string[]>();
function testsIn(folder: string): readonly string[] {
  const known = found.get(folder) ?? findTests(folder);
  found.set(folder, known);
  return known;
}
function findTests(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory())
      return entry.name === 'node_modules' || entry.name === 'dist'
        ? []
        : findTests(`${folder}/${entry.name}`).map((path) => `${entry.name}/${path}`);
    return entry.name.endsWith('.test.ts') ? [entry.name] : [];
  });
}
const isTask = (name: string): boolean =>
  new RegExp(`^ {2}'?${name}'?[:,(]`, 'm').test(readFileSync(join(root, 'scripts/dev.mjs'), 'utf8'));

describe('guarantees.md', () => {
  test('states the eight promises, each with its limits and a command', () => {
    expect(sections.map(({ title }) => title.replace(/^(\d).*/, '$1'))).toEqual([
      ...Array.from({ length: 8 }, (_, index) => String(index + 1)),
      'Under every order, stop and load',
    ]);
    for (const { title, text } of sections) {
      expect(commandsOf(text).length, title).toBeGreaterThan(0);
      expect(/\*\*Not promised\*\*\n\n- \S/.test(text), title).toBe(true);
    }
  });

  test.each(commands.filter((command) => command.startsWith('npm test')))('%s runs tests that are there', (command) => {
    const [, project = '', filter = ''] = /^npm test -- --project (\S+) (\S+)$/.exec(command) ?? [];
    expect(folderOf(project)).not.toBe('');
    expect(testsIn(folderOf(project)).filter((path) => path.includes(filter))).not.toEqual([]);
  });

  test.each(commands.filter((command) => command.startsWith('npm run')))('%s is a task', (command) => {
    const [, name = ''] = /^npm run (\S+)/.exec(command) ?? [];
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    expect(scripts[name]).toBe(`node scripts/dev.mjs ${name}`);
    expect(isTask(name)).toBe(true);
  });

  test('names every test of a promise', () => {
    const filters = commands.flatMap((command) => /^npm test -- --project test (\S+)$/.exec(command)?.[1] ?? []);
    const unnamed = testsIn('test').filter((path) =>
      /^(promises|canaries|interleavings|nested|aborts|concurrency|escalation|shadow|report)\//.test(path),
    );
    expect(unnamed.filter((path) => !filters.some((filter) => path.includes(filter)))).toEqual([]);
  });
});
