// Whether the user asked for something of the kind that a tool does.

interface Family {
  /** Words in tools' names. */
  readonly verbs: readonly string[];
  /** Words of a user who asks for it. */
  readonly asked: readonly string[];
}
const words = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '');

/** Money: who has it in a tool's name is asked for by these words alone. */
const paying: Family = {
  verbs: words(
    'pay payment payments transfer money transaction transactions refund withdraw deposit purchase buy donate checkout wire trade sell charge',
  ),
  asked: words(
    'pay send transfer refund wire reimburse return repay settle buy purchase order donate tip split withdraw deposit sell trade charge compensate checkout schedule set',
  ),
};
/** Ways to ask for what other tools do. English. */
const families: readonly Family[] = [
  {
    verbs: words(
      'send email mail message messages post publish reply forward notify tweet comment respond announce contact submit upload dm',
    ),
    asked: words(
      'send email e-mail mail message write reply respond answer forward tell inform notify post publish share ask text ping contact announce invite submit upload dm pass tweet comment give remind confirm thank let',
    ),
  },
  {
    verbs: words(
      'create make add new insert append schedule book reserve plan register write save store put draft generate set log record start open upload enroll subscribe include attach invite join order',
    ),
    asked: words(
      'create make add new insert append schedule book reserve reservation booking plan organize organise arrange register write save store put draft generate set log record start open upload enroll subscribe include attach invite join note remind block prepare copy compile onboard bring order',
    ),
  },
  {
    verbs: words(
      'update change modify adjust edit set move reschedule rename replace patch reset switch toggle enable disable rotate assign mark configure',
    ),
    asked: words(
      'update change modify adjust edit set move reschedule rename replace correct fix increase decrease raise lower reset switch turn enable disable rotate assign mark shift postpone push extend shorten add configure renew moved',
    ),
  },
  {
    verbs: words(
      'delete remove cancel erase clear drop trash discard unsubscribe revoke kick ban close terminate wipe purge destroy unshare leave stop block',
    ),
    asked: words(
      'delete remove cancel erase clear drop trash discard unsubscribe revoke kick ban close terminate wipe purge destroy unshare leave stop clean uninvite undo block archive rid',
    ),
  },
  {
    verbs: words('share grant allow authorize give permit access'),
    asked: words('share grant allow authorize authorise give permit access send forward add let'),
  },
  {
    verbs: words('execute run call invoke trigger launch deploy install unlock lock turn control'),
    asked: words('execute run call invoke trigger launch deploy start install unlock lock turn open close set switch play dial ring'),
  },
];

/** The words of a tool's name: of `sendEmail`, `send_email` and `GmailSendEmail` too. */
export function nameWords(tool: string): readonly string[] {
  return tool
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z\d]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}

/** The ways to ask for a tool, by the words in its name; undefined where its name has none that is known. */
export function waysToAsk(tool: string): ReadonlySet<string> | undefined {
  if (!known.has(tool)) {
    if (known.size >= mostKnown) known.clear();
    known.set(tool, readWays(tool));
  }
  return known.get(tool);
}

const mostKnown = 1_000;
const known = new Map<string, ReadonlySet<string> | undefined>();

function readWays(tool: string): ReadonlySet<string> | undefined {
  const name = nameWords(tool);
  const hasAny = ({ verbs }: Family): boolean => verbs.some((verb) => name.includes(verb));
  const fitting = hasAny(paying) ? [paying, ...families.filter((family) => isChange(family) && hasAny(family))] : families.filter(hasAny);
  return fitting.length === 0 ? undefined : new Set(fitting.flatMap(({ asked }) => asked));
}

/** To change or delete a payment is asked for as any change is. */
const isChange = ({ verbs }: Family): boolean => verbs.includes('update') || verbs.includes('delete');

/** Verbs that are as often nouns: “the email”, “a tweet”, “my order”. */
const doubtful = new Set(
  words(
    'email e-mail mail message post comment tweet dm text ping contact order transfer refund wire deposit purchase trade charge book plan note record log draft block schedule set start share access call lock answer request report review update change fix switch mark shift push register store tip split buy sell copy pass play ring turn lower open close move edit ban drop leave trash cover return',
  ),
);
/** Before a verb that asks: “please …”, “and …”, “to …”, “can you …”. */
const before = new Set(
  words(
    "please to and then or also just now you i we they he she must should can could would will shall let's lets not never but kindly finally first second next don't help do so",
  ),
);

/**
 * The words of a text that may ask for something to be done to the world, in their plain form or with -ing: of those that may as well be nouns
 * only where a request has its verb, at the beginning of a sentence or after “please”, “and”, “to”, “you”; none that is said of the assistant's
 * own answer (“tell me”, “give us a summary”). Lower case.
 */
export function askingWords(text: string): readonly string[] {
  const found: string[] = [];
  let last = '';
  let lastEnd = 0;
  const all = [...text.toLowerCase().matchAll(/[\p{L}\p{M}\p{N}'’-]+/gu)];
  for (const [index, { 0: word, index: at }] of all.entries()) {
    const next = all[index + 1]?.[0];
    const opens = last === '' || before.has(last) || /[.!?:;,\n]|\d/.test(text.slice(lastEnd, at) + last.slice(-1));
    last = word;
    lastEnd = at + word.length;
    if (next === 'me' || next === 'us') continue;
    if (!doubtful.has(word) || opens) found.push(word);
    const plain = withoutIng(word);
    if (plain !== undefined) for (const each of plain) if (!doubtful.has(each)) found.push(each);
  }
  return found;
}

/** `send` of `sending`, `delet` and `delete` of `deleting`, `cancel` of `cancelling`. */
function withoutIng(word: string): readonly string[] | undefined {
  if (!word.endsWith('ing') || word.length < 6) return undefined;
  const stem = word.slice(0, -3);
  return [stem, `${stem}e`, ...(stem.at(-1) === stem.at(-2) ? [stem.slice(0, -1)] : [])];
}
