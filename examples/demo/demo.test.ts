import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { readOptions } from './options.js';
import { choosePaint } from './paint.js';
import { Screen } from './screen.js';

const main = fileURLToPath(new URL('../dist/demo/main.js', import.meta.url));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The demo as it was built, with a piped terminal and no keys. */
function demo(flags: readonly string[], input = '', environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const { OPENAI_API_KEY: _openai, ANTHROPIC_API_KEY: _anthropic, FORCE_COLOR: _colour, ...env } = process.env;
    const child = execFile(process.execPath, [main, ...flags], { env: { ...env, ...environment } }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
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
