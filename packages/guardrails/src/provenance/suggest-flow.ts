import type { Flow } from '@guardloop/core';
import { isActingVerb, nameWords } from './intent.js';

/** What {@link suggestFlow} reads of a tool. */
export interface DescribedTool {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema of the input, whose `properties` are read. Left out, nothing is known of the arguments, and all of them are authorities. */
  readonly schema?: { readonly properties?: unknown } | undefined;
  /** The same, as the pins of an MCP server call it. */
  readonly input?: unknown;
}

const reading = new Set(
  'get list read search find view show fetch browse visit navigate scrape crawl retrieve lookup look count check describe calculate compute browse inspect scan download preview summarize translate convert compare validate estimate'.split(
    ' ',
  ),
);
const sending = new Set(
  'send email mail message post publish share invite notify forward upload transfer pay submit tweet comment reply wire call webhook dial contact export'.split(
    ' ',
  ),
);
/** Arguments that say what is written, not where it goes: names of the last word. */
const content = new Set(
  'subject body content text message description title note notes comment comments summary caption question reply answer details reason date time day start end from_date to_date datetime timestamp duration start_time end_time start_day end_day start_date end_date location label labels color format language limit page sort order recurring all_day rating review'.split(
    ' ',
  ),
);
const opening = new Set(['browse', 'fetch', 'scrape', 'crawl', 'visit', 'navigate', 'open']);
const joining = new Set(['in', 'out', 'and', 'or', 'off', 'on', 'up']);
const outward = new Set('url uri urls link href domain host endpoint website webhook'.split(' '));

/**
 * A proposal for `flow`, made of a tool's name and its arguments' names: a start for the author, who knows the tool, to read and correct.
 * Default-deny: what it does not know is a `write`, results are always untrusted, and every argument is an authority unless its name says
 * that it is content (`subject`, `body`, `title`, `date`). A tool that reads by a URL gets that as its authority.
 */
export function suggestFlow({ name, schema, input }: DescribedTool): Flow {
  const words = nameWords(name);
  const known = propertiesOf(schema ?? input);
  const names = known ?? [];
  const verb = words.find((word) => reading.has(word) || isActingVerb(word));
  if (verb !== undefined && reading.has(verb) && !words.slice(words.indexOf(verb) + 1).some((word) => joining.has(word))) {
    const urls = names.filter((each) => outward.has(each.toLowerCase()) || outward.has(nameWords(each).at(-1) ?? ''));
    // What opens pages sends its arguments out, whatever they are called.
    const authority = urls.length === 0 && opening.has(verb) ? names : urls;
    return { effect: 'read', results: 'untrusted', ...(authority.length > 0 ? { authority } : {}) };
  }
  // `limit` of `set_limit` is what it is about, and no content.
  const authority = names.filter((each) => !isContent(each) || nameWords(each).some((word) => words.includes(word)));
  return {
    effect: words.some((word) => sending.has(word)) ? 'send' : 'write',
    results: 'untrusted',
    ...(known !== undefined && (authority.length > 0 || names.length === 0) ? { authority } : {}),
  };
}

/** The names of a schema's properties; undefined where it tells none. */
function propertiesOf(schema: unknown): readonly string[] | undefined {
  const properties = (schema as { readonly properties?: unknown } | undefined | null)?.properties;
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : undefined;
}

function isContent(name: string): boolean {
  const lower = name.toLowerCase();
  return content.has(lower) || content.has(nameWords(name).at(-1) ?? '');
}
