import { GuardloopError } from '../errors.js';

/** Throws CONFIG_INVALID for what is no report: most often a log, or a result. */
export function checkReport(owner: string, report: unknown): void {
  if (typeof report === 'object' && report !== null && Array.isArray((report as { readonly runs?: unknown }).runs)) return;
  throw new GuardloopError('CONFIG_INVALID', `${owner} was given no report. Give what guardReport(log) makes of a log.`);
}
