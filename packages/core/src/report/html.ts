import { visible } from './visible.js';

/** Markup. Only the template below makes it, of literals and of what it has escaped. */
export class Html {
  constructor(readonly markup: string) {}
}
/** What may stand in a template. Anything that is no markup is text. */
export type HtmlValue = Html | string | number | undefined | false | readonly HtmlValue[];

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text for markup, within elements and within quoted attributes. */
export const escapeHtml = (text: string): string => visible(text).replace(/[&<>"']/g, (sign) => entities[sign] ?? sign);

function markupOf(value: HtmlValue): string {
  if (value instanceof Html) return value.markup;
  if (Array.isArray(value)) return (value as readonly HtmlValue[]).map(markupOf).join('');
  return value === undefined || value === false ? '' : escapeHtml(String(value));
}

/** Markup with values in it, each escaped unless it is markup itself. */
export function html(literals: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let markup = literals[0] ?? '';
  for (const [index, value] of values.entries()) markup += markupOf(value) + (literals[index + 1] ?? '');
  return new Html(markup);
}
