import { GuardloopError, suggest } from '../errors.js';

/** What is made of a report. Throws CONFIG_INVALID for what is none, most often a log or a result, and for one that has been changed. */
export function fromReport<T>(owner: string, report: unknown, make: () => T): T {
  if (typeof report !== 'object' || report === null || !Array.isArray((report as { readonly runs?: unknown }).runs))
    throw new GuardloopError('CONFIG_INVALID', `${owner} was given no report. Give what guardReport(log) makes of a log.`);
  try {
    return make();
  } catch (thrown) {
    if (GuardloopError.is(thrown)) throw thrown;
    throw new GuardloopError(
      'CONFIG_INVALID',
      `${owner} was given a report in which something is missing or has another form. Give what guardReport(log) made, unchanged.`,
    );
  }
}

/** Throws CONFIG_INVALID for an option that does not exist, and for one of `texts` that is no text. */
export function checkOptions(
  owner: string,
  given: unknown,
  { names, texts = [] }: { readonly names: readonly string[]; readonly texts?: readonly string[] },
): void {
  if (given === undefined) return;
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new GuardloopError('CONFIG_INVALID', `The options of ${owner} are no object. Give { ${names.join(', ')} }, or leave them out.`);
  for (const [name, value] of Object.entries(given)) {
    if (!names.includes(name))
      throw new GuardloopError(
        'CONFIG_INVALID',
        `${owner} has no option ${JSON.stringify(name.slice(0, 60))}. ${suggest(name, names)}The options are ${names.join(', ')}.`,
      );
    if (texts.includes(name) && value !== undefined && typeof value !== 'string')
      throw new GuardloopError('CONFIG_INVALID', `\`${name}\` of ${owner} is no text. Give one, or leave it out.`);
  }
}
