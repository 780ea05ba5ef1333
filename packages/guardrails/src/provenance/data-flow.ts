import type { GuardInfo, Guardrail, ToolInputSubject } from '@guardloop/core';
import { optionFault } from '@guardloop/core/model';
import type { AllowList } from '../egress/allow-list.js';
import { readAllowList } from '../egress/allow-list.js';
import type { Evidence } from './evidence.js';
import { EvidenceReader } from './evidence.js';
import type { TrustedFields } from './grounds.js';
import { isInTrusted, readTrust, ungrounded } from './grounds.js';
import { waysToAsk } from './intent.js';
import type { Link } from './links.js';
import { isLinkPointedTo, linksIn } from './links.js';
import { isPointedTo } from './pointed-records.js';
import { areOnlyOnesOf } from './pointed-texts.js';
import type { ProvenanceOptions } from './policy-options.js';
import { isActing, isUntouched, provenanceGuardrail, sourcesOf } from './policy-options.js';
import type { ArgumentValue } from './values.js';
import { argumentValues, contentValues } from './values.js';

/** Options of {@link dataFlow}. */
export interface DataFlowOptions extends ProvenanceOptions {
  /** Fields of untrusted results that may be trusted, by tool: `{ search_contacts: ['email'] }`, or `'*'`. Default: none. */
  readonly trust?: TrustedFields | undefined;
  /**
   * Whether fields of a record that the user named may be arguments: “the same participants as the ‘Kick-off’ event” licenses the
   * participants of that event. Default true; false: the user's own words and trusted sources only.
   */
  readonly pointing?: boolean | undefined;
  /**
   * Whether the user must have asked for something of the kind: `delete_file` needs a user who spoke of deleting, removing, and so on. By the
   * verbs in the tool's name, in English; for other languages and other names give the words by tool, `{ delete_file: ['lösche'] }`, which
   * stand beside the built-in ones. False: not asked. Default true.
   */
  readonly intent?: boolean | { readonly [tool: string]: readonly string[] } | undefined;
  /** Hosts that may stand in what is written or sent, whoever wrote them: `example.com`, `*.corp.example` for all below it. Default: none. */
  readonly links?: readonly string[] | undefined;
}

/**
 * The recommended policy. Once the agent has read anything untrusted, a call that acts on the world runs without a person only if
 *
 * 1. the user asked for something of the kind (`intent`),
 * 2. each argument that decides where something goes or how much (`flow.authority`) comes from the user's own words, from a trusted source
 *    (`flow.results`, `trust`), or is a whole field of a record that the user's words pick out (`pointing`),
 * 3. at least one argument of the call does, where none is declared an authority,
 * 4. links and addresses in its other arguments come from such a source too, or are of `links`.
 *
 * A tool that only reads but declares authority arguments (`get_webpage` and its `url`) may also follow a link as it stands in what the user
 * pointed to: such an address carries nothing out that its writer did not know. What nobody vouches for is refused, however it is written:
 * nothing is looked for in untrusted text to decide that a call is bad.
 */
export function dataFlow(options: DataFlowOptions = {}): Guardrail<unknown, 'toolInput'> {
  const where = 'data-flow(…)';
  const reader = new EvidenceReader();
  const guardrail = provenanceGuardrail('data-flow', { options, more: ['trust', 'pointing', 'intent', 'links'] }, (call, info) =>
    isActing(call) && !isUntouched(info) ? new Question(rules, { call, info, evidence: reader.of(info) }).objection() : undefined,
  );
  const rules = readRules(where, options);
  return guardrail;
}

interface Rules {
  readonly trust: TrustedFields;
  readonly pointing: boolean;
  readonly intent: boolean;
  readonly words: ReadonlyMap<string, readonly string[]>;
  readonly links: AllowList;
}

function readRules(where: string, { trust, pointing = true, intent = true, links = [] }: DataFlowOptions): Rules {
  if (typeof pointing !== 'boolean') throw optionFault(where, 'pointing is neither true nor false. Give one, or leave it out for true.');
  const isList = (value: unknown): value is readonly string[] =>
    Array.isArray(value) && value.every((each) => typeof each === 'string' && each.trim() !== '');
  if (typeof intent !== 'boolean') {
    const isTable = typeof intent === 'object' && intent !== null && !Array.isArray(intent) && Object.values(intent).every(isList);
    if (!isTable)
      throw optionFault(where, "intent is neither true, false, nor lists of words by tool. Give for example { delete_file: ['lösche'] }.");
  }
  return {
    trust: readTrust(where, trust),
    pointing,
    intent: intent !== false,
    words: new Map(typeof intent === 'object' ? Object.entries(intent) : []),
    links: readAllowList(where, 'links', links),
  };
}

/** One call to be decided. */
class Question {
  private readonly call: ToolInputSubject;
  private readonly info: GuardInfo;
  private readonly evidence: Evidence;

  constructor(
    private readonly rules: Rules,
    { call, info, evidence }: { readonly call: ToolInputSubject; readonly info: GuardInfo; readonly evidence: Evidence },
  ) {
    this.call = call;
    this.info = info;
    this.evidence = evidence;
  }

  objection(): string | undefined {
    const { tool, raw, flow } = this.call;
    const isReading = flow.effect === 'read';
    if (!isReading && !this.isAskedFor())
      return `${tool} was not asked for: nothing of its kind stands in the user's words, and ${sourcesOf(this.info)} were read`;
    const authority = argumentValues(raw, flow.authority);
    const left = authority.filter((value) => !this.isVouched(value) && !(isReading && this.isLink(value)));
    if (left.length > 0 && !(!isReading && this.areInNamedText(left, authority.length - left.length))) {
      const sources = this.rules.pointing
        ? "the user's own words, a trusted source, or a record that the user named"
        : "the user's own words or a trusted source";
      return ungrounded(this.call, { values: left, evidence: this.evidence, sources });
    }
    const content = contentValues(raw, flow.authority);
    if (authority.length === 0 && !isReading && !argumentValues(raw, 'all').some((value) => this.isVouched(value)))
      return `${tool} would act on the world after ${sourcesOf(this.info)} were read, and nothing in it stands in the user's words`;
    const linked = content.find((value) => linksIn(String(value.value)).some((link) => !this.isVouchedLink(link)));
    if (linked === undefined) return undefined;
    return `${tool}: ${linked.path} holds a link or an address that comes neither from the user's own words nor from a source that they named, after ${sourcesOf(this.info)} were read`;
  }

  private isAskedFor(): boolean {
    if (!this.rules.intent) return true;
    const { tool } = this.call;
    const own = this.rules.words.get(tool) ?? [];
    if (own.some((words) => this.evidence.user.has(words))) return true;
    const ways = waysToAsk(tool);
    if (ways === undefined) return own.length === 0;
    for (const way of ways) if (this.evidence.asked.has(way)) return true;
    return false;
  }

  private areInNamedText(values: readonly ArgumentValue[], others: number): boolean {
    return this.rules.pointing && this.call.flow.authority !== 'all' && areOnlyOnesOf(this.evidence, { values, others });
  }

  private isVouched(value: ArgumentValue): boolean {
    return (
      this.evidence.user.has(value.value) ||
      isInTrusted(this.evidence, this.rules.trust, value) ||
      (this.rules.pointing && isPointedTo(this.evidence, value))
    );
  }

  /** A link as it stands in what the user pointed to. */
  private isLink({ value }: ArgumentValue): boolean {
    return this.rules.pointing && typeof value === 'string' && isLinkPointedTo(this.evidence, value);
  }

  private isVouchedLink({ text, host, port }: Link): boolean {
    return this.rules.links.isOpen || this.rules.links.has(host, port) || this.isVouched({ path: '', value: text });
  }
}
