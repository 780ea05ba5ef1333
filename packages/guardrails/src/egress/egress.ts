import type { Guardrail, Surface } from '@guardloop/core';
import { optionFault } from '@guardloop/core/model';
import type { SearchInText } from '../text/finding.js';
import { searchAlone } from '../text/finding.js';
import type { TextGuardrailOptions } from '../text/text-guardrail.js';
import { textGuardrail } from '../text/text-guardrail.js';
import { readAllowList } from './allow-list.js';
import { codeIn } from './code.js';
import { egressIn } from './find-egress.js';

/** What {@link egress} takes. */
export interface EgressOptions<S extends Surface = Surface> extends TextGuardrailOptions<S> {
  /**
   * Hosts that links may lead to: `example.com` (that host alone), `*.corp.example` (all names below it, not itself), `example.com:8443` (that
   * port alone), `*` (every public host). Private addresses and IP addresses only where they stand here themselves. Default: none.
   */
  readonly allow?: readonly string[] | undefined;
  /**
   * Hosts from which images, frames, styles and other content may come, which load without a click; by `https:` only. Default: the hosts that
   * `allow` names without a pattern.
   */
  readonly images?: readonly string[] | undefined;
  /** Schemes of links beside `https`, `http`, `mailto` and `tel`, without the colon: `sms`, `ftp`. Default: none more. */
  readonly schemes?: readonly string[] | undefined;
  /**
   * Judge bare names (`evil.com/x`) and bare IPv4 addresses in running text as links, as some programs make links of them. Those with `www.`
   * always are. Default false.
   */
  readonly bareDomains?: boolean | undefined;
  /** `skip`: what stands in fenced code and code spans is not looked at. For texts that a Markdown renderer shows. Default `look`. */
  readonly code?: 'look' | 'skip' | undefined;
}

/**
 * Stops what would send data out: images, links, frames, styles, scripts and forms in Markdown and HTML, bare URLs, terminal hyperlinks, and
 * addresses in tools' arguments, whose host is not allowed. Also URLs with credentials, private, link-local and metadata addresses, look-alike
 * hosts, schemes that run or read (`javascript:`, `data:`, `file:`), URLs that programs read differently, and URLs within the path or query of
 * an allowed one, which a redirect would follow. Encoded schemes and hosts are decoded first.
 *
 * Stands on `toolInput` (default there: `deny`) and `output` (default: `redact`, which replaces the target and keeps the words). It needs the
 * whole text, so answers do not flow through it. It cannot see what a name resolves to, nor where an allowed host redirects. Kinds, for
 * `placeholder`: `external-link`, `external-image`, `external-content`, `private-address`, `credentials-in-url`, `look-alike-host`, `script`,
 * `unusual-scheme`, `unreadable-url`. Throws CONFIG_INVALID.
 */
export function egress<const S extends Surface = 'toolInput' | 'output'>(options: EgressOptions<S> = {}): Guardrail<unknown, S> {
  const { find } = findEgress(options);
  return textGuardrail<S>(
    {
      name: 'egress',
      find,
      on: ['toolInput', 'output'],
      then: { input: 'redact', toolInput: 'deny', toolOutput: 'redact', handoff: 'redact', output: 'redact' },
      options: ownOptions,
    },
    options,
  );
}

const ownOptions = ['allow', 'images', 'schemes', 'bareDomains', 'code'] as const satisfies readonly (keyof EgressOptions)[];
const ordinarySchemes = ['https', 'http', 'mailto', 'tel'];

/** Of {@link egress}: its search alone. Throws CONFIG_INVALID. */
export function findEgress(options: Pick<EgressOptions, (typeof ownOptions)[number]> = {}): { readonly find: SearchInText } {
  const where = 'egress(…)';
  const { allow = [], images, schemes = [], bareDomains = false, code = 'look' } = options;
  const links = readAllowList(where, 'allow', allow);
  const loads = readAllowList(where, 'images', images ?? allow.filter((entry) => !entry.includes('*')));
  if (!Array.isArray(schemes) || schemes.some((scheme) => typeof scheme !== 'string' || !/^[a-z][a-z0-9+.-]*$/.test(scheme)))
    throw optionFault(where, "schemes is no list of schemes. Give them in small letters and without the colon: ['sms'].");
  if (schemes.some((scheme) => scheme === 'javascript' || scheme === 'vbscript'))
    throw optionFault(where, 'schemes holds one that runs programs. Leave it out: such links are always refused.');
  if (typeof bareDomains !== 'boolean') throw optionFault(where, 'bareDomains is neither true nor false. Give one, or leave it out.');
  if (code !== 'look' && code !== 'skip') throw optionFault(where, "code is neither 'look' nor 'skip'. Give one, or leave it out.");
  const rules = { links, loads, schemes: new Set([...ordinarySchemes, ...schemes]), bareDomains };
  return {
    find: searchAlone((text, place) => {
      const found = egressIn(text, place, rules);
      if (code === 'look' || found.length === 0 || place.surface === 'toolInput') return found;
      const isCode = codeIn(text);
      return found.filter(({ start, end }) => !isCode(start, end));
    }),
  };
}
