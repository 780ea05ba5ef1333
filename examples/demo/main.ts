// `npm run demo`: the desk in the terminal. See `--help`.
import { fileURLToPath } from 'node:url';
import type { Model } from '@guardloop/core';
import { embeddedModel } from '../embedded-model/embedded-model.js';
import { chat } from './chat.js';
import { liveModel } from './live-model.js';
import { help, readOptions } from './options.js';
import { choosePaint } from './paint.js';
import { play } from './play.js';
import { Screen } from './screen.js';

/** In the repository, where git leaves it alone. */
const ownReports = fileURLToPath(new URL('../../../demo-reports', import.meta.url));

async function main(): Promise<number> {
  const { argv, env, stdout, stderr } = process;
  const options = readOptions(argv.slice(2));
  if ('fault' in options) {
    stderr.write(`${options.fault}\n`);
    return 2;
  }
  if (options.isHelp) {
    stdout.write(help);
    return 0;
  }
  const { isGuarded, live, reports } = options;
  const isTerminal = stdout.isTTY === true;
  const model: Model | { readonly fault: string } =
    live === undefined ? embeddedModel({ wordMs: isTerminal ? 12 : 0 }) : await liveModel(live, options.model, env);
  if ('fault' in model) {
    stderr.write(`${model.fault}\n`);
    return 2;
  }
  const screen = new Screen((text) => stdout.write(text), choosePaint(stdout, env), Math.min(110, Math.max(60, stdout.columns ?? 100)));
  screen.plain(`Guardloop: a support desk of three agents, ${isGuarded ? 'guarded' : 'WITHOUT GUARDRAILS'}`, 'bold');
  screen.plain(
    live === undefined
      ? 'Model: embedded. It lives in this process and obeys whoever speaks to it, tools included. Nothing leaves this machine.'
      : `Model: ${model.id} of ${live}. What it says is its own; the guardrails are the same.`,
    'dim',
  );
  if (options.isChat) return chat(screen, { model, isGuarded });
  const code = await play(screen, { model, isGuarded, isStrict: live === undefined, reports: reports ?? ownReports });
  if (code !== 0) return code;
  screen.plain();
  screen.plain(
    isGuarded ? 'Now see the harm: npm run demo -- --unguarded   Or talk to it: npm run demo -- --chat' : 'With guardrails: npm run demo',
    'dim',
  );
  return 0;
}

// Whoever reads the output may leave early: `npm run demo | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
process.exitCode = await main();
