import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { readOptions } from './options.js';
import { choosePaint } from './paint.js';
import { Screen } from './screen.js';

const main = fileURLToPath(new URL('../dist/demo/main.js', import.meta.url));
const reports = mkdtempSync(join(tmpdir(), 'guardloop-demo-'));
afterAll(() => rmSync(reports, { recursive: true, force: true }));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The demo as it was built, with a piped terminal and no keys. */
function demo(flags: readonly string[], input = '', environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const { OPENAI_API_KEY: _openai, ANTHROPIC_API_KEY: _anthropic, FORCE_COLOR: _colour, ...env } = process.env;
    const child = execFile(
      process.execPath,
      [main, ...flags, ...(flags.includes('--chat') || flags.includes('--reports') ? [] : ['--reports', reports])],
      { env: { ...env, ...environment } },
      (error, stdout, stderr) => resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}

it('plays all scenes as they should come out, in plain text where there is no terminal', async () => {
  const { code, stdout, stderr } = await demo([]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('auditLog │ [] (no breach');
  expect(stdout).toContain('paid out │ €120.00 for A-1002, €12.50 for A-1001\n');
  expect(stdout).not.toContain('\u001b');
});

it('writes a page on each scene that holds what happened and not what was refused, and says where', async () => {
  const { stdout } = await demo([]);
  expect(stdout.replaceAll(/\n +│ /g, ' ')).toContain(`7 pages, one a scene, in ${reports}`);
  const pages = readdirSync(reports)
    .filter((name) => name.endsWith('.html'))
    .sort();
  expect(pages).toHaveLength(7);
  expect(pages[1]).toBe('2-a-card-number-is-taken-out.html');
  const texts = pages.map((name) => readFileSync(join(reports, name), 'utf8'));
  for (const text of texts) expect(text).toContain('no breach of mediation found');
  expect(texts[1]).toContain('[card number]');
  expect(texts.join('')).not.toMatch(/\d{4} \d{4} \d{4} \d{4}|A-1004/);
});

it('plays on where the reports cannot be written, and says so', async () => {
  const file = join(mkdtempSync(join(reports, 'taken-')), 'file');
  writeFileSync(file, '');
  const { code, stdout } = await demo(['--reports', file]);
  expect(code).toBe(0);
  expect(stdout).toContain('not written to');
});

it('shows the harm without guardrails', async () => {
  const { code, stdout } = await demo(['--unguarded']);
  expect(code).toBe(0);
  expect(stdout).toContain('✗ the card number 4111 1111 1111 1111 was shown');
  expect(stdout).toContain('✗ €890.00 for A-1004 was paid because a note said so');
});

it('talks to who types, asks at the prompt, and ends with the input', async () => {
  const { code, stdout } = await demo(['--chat'], 'Refund €80 for order A-1002.\nperhaps\ny\nRefund €70 for order A-1002.\nn\n');
  expect(code).toBe(0);
  expect(stdout).toContain('Please answer y or n.');
  expect(stdout).toContain('Status refunded, order A-1002, amount €80.00.');
  expect(stdout).toContain('reject: The person in charge said no.');
  expect(stdout).toContain('auditLog finds no breach');
});

it('leaves a refund unpaid when the input ends at the question', async () => {
  const { code, stdout } = await demo(['--chat'], 'Refund €80 for order A-1002.\n');
  expect(code).toBe(0);
  expect(stdout).toContain('waits for 1 decision');
  expect(stdout).not.toContain('Status refunded');
});

it.each([
  ['openai', 'OPENAI_API_KEY'],
  ['anthropic', 'ANTHROPIC_API_KEY'],
])('says what to set for --live %s', async (provider, key) => {
  const { code, stdout, stderr } = await demo(['--live', provider]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(`set ${key}`);
});

it('says where the provider cannot be reached that it failed', async () => {
  const { code, stdout } = await demo(['--live', 'openai'], '', { OPENAI_API_KEY: 'none', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' });
  expect(code).toBe(1);
  expect(stdout).toContain('could not be reached');
});

it.each([
  [['--ungarded'], 'There is no flag --ungarded. Did you mean --unguarded? See --help.'],
  [['chat'], 'Nothing is known about chat. Did you mean --chat? See --help.'],
  [['--verbose'], 'There is no flag --verbose. See --help.'],
  [['-x'], 'There is no flag -x. See --help.'],
  [['--live'], '--live needs a value: openai or anthropic. See --help.'],
  [['--live', 'mistral'], '--live knows openai and anthropic, not mistral.'],
  [['--model', 'x'], '--model goes with --live.'],
  [['--reports'], '--reports needs a value: a folder. See --help.'],
  [['--chat', '--reports', 'x'], '--reports goes with the scenes, not with --chat.'],
  [['--chat=yes'], '--chat takes no value. See --help.'],
])('refuses %j', (flags, fault) => {
  expect(readOptions(flags)).toEqual({ fault });
});

it('reads flags in any order', () => {
  expect(readOptions(['--chat', '--model=m', '--unguarded', '--live', 'anthropic'])).toEqual({
    isGuarded: false,
    isChat: true,
    isHelp: false,
    live: 'anthropic',
    reports: undefined,
    model: 'm',
  });
});

it.each([
  [{ isTTY: true }, {}, true],
  [{ isTTY: true }, { NO_COLOR: '1' }, false],
  [{ isTTY: true }, { NO_COLOR: '' }, true],
  [{ isTTY: true }, { TERM: 'dumb' }, false],
  [{}, {}, false],
  [{}, { FORCE_COLOR: '1' }, true],
  [{}, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
])('colours %j with %j: %s', (terminal, environment, isColoured) => {
  expect(choosePaint(terminal, environment)('red', 'x') !== 'x').toBe(isColoured);
});

it('wraps a flowing text at words, however it comes in pieces', () => {
  const text = 'one two three four five six seven eight nine ten eleven twelve';
  const show = (pieces: readonly string[]): string => {
    let shown = '';
    const screen = new Screen(
      (written) => {
        shown += written;
      },
      (_colour, plain) => plain,
      40,
    );
    for (const piece of pieces) screen.flow('agent', 'magenta', piece);
    screen.close();
    return shown;
  };
  const whole = show([text]);
  expect(show([...text])).toBe(whole);
  expect(show(text.split(/(?<=e)/))).toBe(whole);
  expect(whole.split('\n').every((row) => row.length <= 40 && row === row.trimEnd())).toBe(true);
  expect(whole.replaceAll(/\n +│ /g, ' ').trim()).toBe(`agent │ ${text}`);
});
