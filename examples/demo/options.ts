// The demo's flags.
import { parseArgs } from 'node:util';

export const help = `The Guardloop demo: a support desk of three agents, in this terminal.

  npm run demo                            play seven scenes on an embedded model, guarded
  npm run demo -- --unguarded             the same scenes without guardrails, to see the harm
  npm run demo -- --chat                  talk to the desk yourself (with --unguarded too)
  npm run demo -- --live openai           use a real model: needs OPENAI_API_KEY
  npm run demo -- --live anthropic        use a real model: needs ANTHROPIC_API_KEY

  --reports DIR   where the report of each scene goes (demo-reports)
  --model NAME    with --live: another model than gpt-5 or claude-opus-4-8
  --help          this text

Without --live nothing leaves this process. Colours: NO_COLOR=1 turns them off.
`;

const providers = ['openai', 'anthropic'] as const;
export type Provider = (typeof providers)[number];
const flags = {
  unguarded: { type: 'boolean' },
  chat: { type: 'boolean' },
  live: { type: 'string' },
  model: { type: 'string' },
  reports: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

export interface Options {
  readonly isGuarded: boolean;
  readonly isChat: boolean;
  readonly isHelp: boolean;
  readonly live?: Provider | undefined;
  readonly model?: string | undefined;
  readonly reports?: string | undefined;
}
interface Fault {
  readonly fault: string;
}

/** Reads the flags, or says what is wrong with them. */
export function readOptions(args: readonly string[]): Options | Fault {
  const { values, tokens } = parseArgs({ args: [...args], options: flags, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    const fault = token.kind === 'option' ? faultOf(token) : token.kind === 'positional' ? unknown(token.value) : undefined;
    if (fault !== undefined) return { fault: `${fault} See --help.` };
  }
  const live = providers.find((provider) => provider === values.live);
  if (values.live !== undefined && live === undefined) return { fault: `--live knows ${providers.join(' and ')}, not ${values.live}.` };
  if (values.model !== undefined && live === undefined) return { fault: '--model goes with --live.' };
  if (values.reports !== undefined && values.chat === true) return { fault: '--reports goes with the scenes, not with --chat.' };
  return {
    isGuarded: values.unguarded !== true,
    isChat: values.chat === true,
    isHelp: values.help === true,
    live,
    model: typeof values.model === 'string' ? values.model : undefined,
    reports: typeof values.reports === 'string' ? values.reports : undefined,
  };
}

function faultOf({
  name,
  rawName,
  value,
}: {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
}): string | undefined {
  const flag = Object.hasOwn(flags, name) ? flags[name as keyof typeof flags] : undefined;
  if (flag === undefined) return unknown(rawName);
  if (flag.type === 'boolean') return value === undefined ? undefined : `${rawName} takes no value.`;
  return value ? undefined : `${rawName} needs a value: ${wanted[name as keyof typeof wanted]}.`;
}

const wanted = { live: providers.join(' or '), model: 'the name of a model', reports: 'a folder' } as const;

function unknown(given: string): string {
  const [nearest] = Object.keys(flags)
    .map((name) => ({ name, steps: distance(given.replace(/^-+/, ''), name) }))
    .sort((left, right) => left.steps - right.steps);
  const hint = nearest !== undefined && nearest.steps <= 3 ? ` Did you mean --${nearest.name}?` : '';
  return `${given.startsWith('-') ? `There is no flag ${given}.` : `Nothing is known about ${given}.`}${hint}`;
}

/** How many letters must be put in, taken out or changed. */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [at, letter] of [...left].entries()) {
    const next = [at + 1];
    for (const [index, other] of [...right].entries()) {
      next.push(Math.min((next[index] ?? 0) + 1, (row[index + 1] ?? 0) + 1, (row[index] ?? 0) + (letter === other ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
