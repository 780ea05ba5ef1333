/** Words that tell nothing: they stand in most requests and most records. English; of other languages short words are left out by their length. */
const common = new Set(
  `about above account actions after again also already another answer anything around away back because been before being below between both
  calendar called channel check content could date dates day days describe description details does doing done down each else email emails
  event events every everything file files find first following from further get gets give given going have having help here hers
  high information into item items just know last later latest least less like link list look low made mail make many maybe meeting mention message
  messages mine minutes more most much name named need needs never next note number once only open order other ours over page part people
  perform perhaps please possible post project read really received recent recently same second see send sent several should show some something
  soon status such sure take task tasks tell than thank thanks that the their them then there these they thing things this those through
  time times title today tomorrow total transaction transactions true false null under until update upon user users using very want wants was
  website week weeks well were what when where which while whole will with without word words work would write year years yesterday yes your
  yours and are can for had has her him his how its let may new not now off one our out own per put she two use via who why you`
    .split(/\s+/)
    .filter((word) => word !== ''),
);

const mailHost = /(?<=[\p{L}\p{N}_])@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*/gu;
const word = /[\p{L}\p{M}\p{N}]+/gu;

const fileEnding = /\.[a-z]{2,4}$/i;

/** Words that can tell one record from others, in lower case: names, and other words of four letters or more that are not in every request. */
export function significantWords(text: string): readonly string[] {
  return wordsIn(text).map(({ lower }) => lower);
}

/** Whether a text is the name of a file: it tells one thing from others, whatever its words are. */
export const isFileName = (text: string): boolean => fileEnding.test(text) && !/\s/.test(text);

/** Of the field of a record, without the ending of a file's name. */
export const fieldWords = (field: string): readonly string[] => significantWords(field.replace(fileEnding, ''));

/** Those of a text that name something: written with a capital within a sentence, in quotes, or with digits. Lower case. */
export function namesIn(text: string): readonly string[] {
  const quoted = new Set((text.match(quotation) ?? []).flatMap(significantWords));
  return wordsIn(text)
    .filter(({ lower, isCapital, opens }) => (isCapital && !opens) || /\d/.test(lower) || quoted.has(lower))
    .map(({ lower }) => lower);
}

/** At most 200 characters between quotes that are no apostrophes. */
const quotation = /(?<![\p{L}\p{N}])'[^'\n]{2,200}'(?![\p{L}\p{N}])|"[^"\n]{2,200}"|[“„«][^”“»\n]{2,200}[”“»]|`[^`\n]{2,200}`/gu;

interface Word {
  readonly lower: string;
  readonly isCapital: boolean;
  /** It is the first of its sentence. */
  readonly opens: boolean;
}

function wordsIn(given: string): readonly Word[] {
  const found: Word[] = [];
  // Of an e-mail address the part before the host: a company's name would tell nobody from anybody.
  const text = given.replace(mailHost, ' ');
  let lastEnd = -1;
  for (const { 0: each, index } of text.matchAll(word)) {
    const opens = lastEnd < 0 || /[.!?:;\n]\s*$/.test(text.slice(Math.max(lastEnd, index - 4), index));
    lastEnd = index + each.length;
    const lower = each.toLowerCase();
    if (common.has(lower)) continue;
    const isCapital = /^\p{Lu}/u.test(each);
    if (each.length >= 4 || (isCapital && each.length >= 3)) found.push({ lower, isCapital, opens });
  }
  return found;
}
