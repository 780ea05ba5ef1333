// Whether the user asked for something of the kind that a tool does.

interface Family {
  /** Words in tools' names. */
  readonly verbs: ReadonlySet<string>;
  /** Words of a user who asks for it. */
  readonly asked: readonly string[];
}
const words = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '');
const family = (verbs: string, asked: string): Family => ({ verbs: new Set(words(verbs)), asked: words(asked) });

const changing = family(
  'update change modify adjust edit move reschedule rename replace patch reset switch toggle enable disable rotate assign mark configure archive restore resolve escalate reopen convert upgrade downgrade extend renew',
  'update change modify adjust edit set move reschedule rename replace correct fix increase decrease raise lower reset switch turn enable disable rotate assign mark shift postpone push extend shorten add configure renew archive restore resolve escalate reopen convert upgrade downgrade label dim',
);
const removing = family(
  'delete remove cancel erase clear drop trash discard unsubscribe revoke kick ban close terminate wipe purge destroy unshare leave stop block kill disarm reject decline deny discharge deactivate uninstall',
  'delete remove cancel erase clear drop trash discard unsubscribe revoke kick ban close terminate wipe purge destroy unshare leave stop clean uninvite undo block kill disarm reject decline deny discharge deactivate uninstall bin rid',
);
const approving = family(
  'approve accept confirm sign merge commit release publish submit authorize grant permit allow',
  'approve accept confirm sign merge commit release publish submit authorize authorise grant permit allow let rsvp acknowledge',
);
/** Money: who has it in a tool's name is asked for by these words alone. */
const paying = family(
  'pay payment payments transfer money transaction transactions refund withdraw deposit purchase buy donate checkout wire trade sell charge',
  'pay transfer refund wire reimburse repay settle buy purchase donate tip withdraw deposit sell trade charge compensate checkout',
);
/** Beside them, where the user speaks of money at all. */
const payingLoosely = words('send set schedule order return give split');
const money = new Set(
  words(
    'money pay payment payments paid rent bill bills invoice invoices salary salaries fee fees debt refund refunds transaction transactions transfer euro euros eur dollar dollars usd pound pounds gbp chf amount subscription price cost',
  ),
);

const setting = family('set', `${changing.asked.join(' ')} create make put remind arrange`);

/** In the order in which a name is looked at: a word of several families is of the first. */
const families: readonly Family[] = [
  removing,
  changing,
  setting,
  family(
    'send email mail message messages post reply forward notify tweet comment respond announce contact upload dm',
    'send email e-mail mail message write reply respond answer forward tell inform notify post publish share ask text ping contact announce invite submit upload dm pass tweet comment give remind confirm thank let acknowledge rsvp drop say hand',
  ),
  family('share give access', 'share grant allow authorize authorise give permit access send forward add let hand'),
  approving,
  family(
    'create make add new insert append schedule book reserve plan register write save store put draft generate log record start open enroll subscribe include attach invite join order file print ship',
    'create make add new insert append schedule book reserve plan organize organise arrange register write save store put draft generate set log record start open upload enroll subscribe include attach invite join note remind block prepare copy compile onboard bring order file print ship want hold',
  ),
  family(
    'execute run call invoke trigger launch deploy install unlock lock turn control',
    'execute run call invoke trigger launch deploy start install unlock lock turn open close set switch play dial ring dim',
  ),
];

/** The words of a tool's name: of `sendEmail`, `send_email` and `GmailSendEmail` too. */
export function nameWords(tool: string): readonly string[] {
  return tool
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z\d]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}

/** Whether a word in a tool's name says that it acts. */
export const isActingVerb = (word: string): boolean => paying.verbs.has(word) || families.some(({ verbs }) => verbs.has(word));

/** Whether a tool's name says that it moves money. */
export const isPaying = (tool: string): boolean => readTool(tool).isPaying;

interface ToolWords {
  /** Ways to ask for it. */
  readonly ways: ReadonlySet<string>;
  readonly isPaying: boolean;
}
const mostKnown = 1_000;
const known = new Map<string, ToolWords>();

/** What a tool's name says it does: by its first verb that is known, or by money in it; else each of its words is a way to ask for it. */
function readTool(tool: string): ToolWords {
  let found = known.get(tool);
  if (found === undefined) {
    const name = nameWords(tool);
    const first = name.find((word) => families.some(({ verbs }) => verbs.has(word)));
    const kind = first === undefined ? undefined : families.find(({ verbs }) => verbs.has(first));
    const pays = kind !== removing && kind !== changing && name.some((word) => paying.verbs.has(word));
    found = { ways: new Set(pays ? paying.asked : (kind?.asked ?? name)), isPaying: pays };
    if (known.size >= mostKnown) known.clear();
    known.set(tool, found);
  }
  return found;
}

/** Whether the words of a request ask for what a tool does. `spoken` are all words of the user's. */
export function asksFor(
  tool: string,
  { asked, spoken }: { readonly asked: ReadonlySet<string>; readonly spoken: ReadonlySet<string> },
): boolean {
  const { ways, isPaying: pays } = readTool(tool);
  for (const word of asked) if (ways.has(word)) return true;
  return pays && payingLoosely.some((word) => asked.has(word)) && [...money].some((word) => spoken.has(word));
}

/** Verbs that are as often nouns: “the email”, “a tweet”, “my order”. */
const doubtful = new Set(
  words(
    'email e-mail mail message post comment tweet dm text ping contact order transfer refund wire deposit purchase trade charge book plan note record log draft block schedule set start share access call lock answer request report review update change fix switch mark shift push register store tip split buy sell copy pass play ring turn lower open close move edit ban drop leave trash cover return file label bin print ship sign release merge commit archive return hold hand say want kill',
  ),
);
export const isDoubtful = (word: string): boolean => doubtful.has(word);
