import type { GuardInfo, Guardrail, ToolInputSubject } from '@guardloop/core';
import { optionFault } from '@guardloop/core/model';
import type { AllowList } from '../egress/allow-list.js';
import { readAllowList } from '../egress/allow-list.js';
import type { Evidence } from './evidence.js';
import { EvidenceReader } from './evidence.js';
import type { TrustedFields } from './grounds.js';
import { isSaid, isTrustedValue, readTrust, ungrounded } from './grounds.js';
import { asksFor, isPaying } from './intent.js';
import type { Link } from './links.js';
import { isLinkPointedTo, linksIn } from './links.js';
import { isPointedTo } from './pointed-records.js';
import { isBill, isToldToBeIn } from './pointed-texts.js';
import type { ProvenanceOptions } from './policy-options.js';
import { isActing, isUntouched, provenanceGuardrail, sourcesOf } from './policy-options.js';
import { namesOfSchema } from './schema-names.js';
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
 * 1. the user's latest request asked for something of the kind (`intent`),
 * 2. each argument that decides where something goes or how much (`flow.authority`) comes from the user's own words, from a trusted source
 *    (`flow.results`, `trust`), is a whole field of a record that the user's words pick out, or is the account and amount of a bill, or an
 *    address, that the user said stands in a text (`pointing`),
 * 3. at least one argument of the call does, where none is declared an authority,
 * 4. links and addresses in its other arguments stand in the user's words or a trusted source, or are of `links`,
 * 5. it is no second payment with the same arguments in one run.
 *
 * A tool that only reads but declares authority arguments (`get_webpage` and its `url`) may also follow a link as it stands in what the user
 * pointed to, where that holds at most three. What nobody vouches for is refused, however it is written: nothing is looked for in untrusted
 * text to decide that a call is bad. Throws CONFIG_INVALID.
 */
export function dataFlow(options: DataFlowOptions = {}): Guardrail<unknown, 'toolInput'> {
  const rules = readRules('data-flow(…)', options);
  const reader = new EvidenceReader();
  return provenanceGuardrail('data-flow', { options, more: ['trust', 'pointing', 'intent', 'links'] }, (call, info) =>
    isActing(call) && !isUntouched(info) ? new Question(rules, { call, info, evidence: reader.of(info) }).objection() : undefined,
  );
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
    const { tool, raw, flow, schema } = this.call;
    const fields = namesOfSchema(schema);
    const isReading = flow.effect === 'read';
    if (!isReading && !this.isAskedFor())
      return `${tool} was not asked for: nothing of its kind stands in the user's words, and ${sourcesOf(this.info)} were read`;
    const authority = argumentValues(raw, { names: flow.authority, fields });
    const left = authority.filter((value) => !this.isVouched(value) && !(isReading && this.isLink(value)));
    if (left.length > 0 && !this.isBill(left) && !this.isToldToBeIn(left)) {
      const sources = this.rules.pointing
        ? "the user's own words, trusted sources, records that the user named"
        : "the user's own words, trusted sources";
      return ungrounded(this.call, { values: left, evidence: this.evidence, sources });
    }
    if (isReading) return undefined;
    if (authority.length === 0 && !argumentValues(raw, { names: 'all', fields }).some((value) => this.isVouched(value)))
      return `${tool} would act on the world after ${sourcesOf(this.info)} were read, and nothing in it stands in the user's words`;
    if (isPaying(tool) && this.hasRun(authority))
      return `${tool} would pay the same again in this run, after ${sourcesOf(this.info)} were read`;
    const linked = contentValues(raw, { names: flow.authority, fields }).find(({ value }) =>
      linksIn(value).some((link) => !this.isVouchedLink(link)),
    );
    if (linked === undefined) return undefined;
    return `${tool}: ${linked.path} holds a link or an address that comes neither from the user's own words nor from a trusted source, after ${sourcesOf(this.info)} were read`;
  }

  private isAskedFor(): boolean {
    if (!this.rules.intent) return true;
    const { tool } = this.call;
    const { user } = this.evidence;
    const own = this.rules.words.get(tool) ?? [];
    return own.some((word) => (unspaced.test(word) ? user.includes(word) : user.has(word))) || asksFor(tool, this.evidence);
  }

  /** A bill is paid for whoever asks to pay: sending something is another matter. */
  private isBill(values: readonly ArgumentValue[]): boolean {
    const { tool, flow } = this.call;
    return (
      this.rules.pointing && flow.authority !== 'all' && isPaying(tool) && this.evidence.asked.has('pay') && isBill(this.evidence, values)
    );
  }

  private isToldToBeIn([value, ...others]: readonly ArgumentValue[]): boolean {
    return (
      this.rules.pointing &&
      this.call.flow.authority !== 'all' &&
      value !== undefined &&
      others.length === 0 &&
      isToldToBeIn(this.evidence, value)
    );
  }

  /** Whether a call with the same authority arguments has begun in this run. */
  private hasRun(authority: readonly ArgumentValue[]): boolean {
    const { tool, flow, schema, callId } = this.call;
    const fields = namesOfSchema(schema);
    const same = JSON.stringify(authority);
    return this.info.calls.some(
      (call) =>
        call.tool === tool &&
        !(call.callId === callId && call.run === this.info.run) &&
        JSON.stringify(argumentValues(call.input, { names: flow.authority, fields })) === same,
    );
  }

  private isVouched(each: ArgumentValue): boolean {
    if (isSaid(this.evidence, each) || isTrustedValue(this.evidence, this.rules.trust, each)) return true;
    const { value } = each;
    return this.rules.pointing && value !== true && value !== '' && isPointedTo(this.evidence, value);
  }

  /** A link as it stands in what the user pointed to. */
  private isLink({ value }: ArgumentValue): boolean {
    return this.rules.pointing && typeof value === 'string' && isLinkPointedTo(this.evidence, value);
  }

  private isVouchedLink({ text, host, port }: Link): boolean {
    const value = { path: '', value: text };
    return (
      this.rules.links.isOpen ||
      this.rules.links.has(host, port) ||
      isSaid(this.evidence, value) ||
      isTrustedValue(this.evidence, this.rules.trust, value)
    );
  }
}

/** Words of scripts that put no spaces between them stand anywhere. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
