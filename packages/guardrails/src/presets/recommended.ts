import type { Guardrail } from '@guardloop/core';
import { checkOptionNames, optionFault } from '@guardloop/core/model';
import { egress } from '../egress/egress.js';
import { injection } from '../injection/injection.js';
import { length } from '../length.js';
import type { PiiOptions } from '../pii/pii.js';
import { pii } from '../pii/pii.js';
import type { DataFlowOptions } from '../provenance/data-flow.js';
import { dataFlow } from '../provenance/data-flow.js';
import type { SecretsOptions } from '../secrets/secrets.js';
import { secrets } from '../secrets/secrets.js';
import { hiddenText } from '../unicode/hidden-text.js';

/** What {@link recommended} may be told. All of it may be left out. */
export interface RecommendedOptions {
  /**
   * Hosts to which links in answers may lead and images come from, and that may stand in what tools write: `example.com`, `*.corp.example`, `*`
   * for every public host. Default: none, and links are taken out of answers.
   */
  readonly hosts?: readonly string[] | undefined;
  /** Of the provenance policy; false: none. Its `links` are `hosts` unless given. Default: `dataFlow` as it is. */
  readonly dataFlow?: DataFlowOptions | false | undefined;
  /** Of the guardrail for secrets; false: none. Default: all kinds, redacted on every surface. */
  readonly secrets?: SecretsOptions | false | undefined;
  /** Redact personal data on every surface too. It takes away what many agents need, so it is off until asked for. Default false. */
  readonly pii?: PiiOptions | boolean | undefined;
  /** Log what looks like instructions in data, and obey none of it. Default true. */
  readonly injection?: boolean | undefined;
  /** Characters (code points) of new input together, above which a run does not start. Default 200,000. */
  readonly longestInput?: number | undefined;
}

const optionNames = { hosts: true, dataFlow: true, secrets: true, pii: true, injection: true, longestInput: true } as const satisfies {
  readonly [K in keyof RecommendedOptions]-?: true;
};
const longestInputDefault = 200_000;

/**
 * Guardrails for a run that cover every surface, in the order in which they are asked:
 *
 * 1. `length` on input: nothing endless.
 * 2. `hiddenText` everywhere: what people do not see is removed before others look.
 * 3. `secrets` everywhere, redacted; `pii` where asked for.
 * 4. `egress` on the answer: no link or image of a host that is not in `hosts` (without `dataFlow`, in tools' arguments neither).
 * 5. `injection` on tools' results, in shadow: logged, not obeyed.
 * 6. `dataFlow` on calls: what acts on the world must come from the user's words or a trusted source, else a person is asked.
 *
 * Answers are held to their end, since `egress` and `secrets` need the whole text.
 *
 * ```ts
 * const result = await run(agent, input, { guardrails: recommended({ hosts: ['shop.example'] }) });
 * ```
 *
 * Throws CONFIG_INVALID.
 */
export function recommended(options: RecommendedOptions = {}): readonly Guardrail<unknown>[] {
  const where = 'recommended(…)';
  checkOptionNames(where, options, optionNames);
  const { hosts = [], longestInput = longestInputDefault } = options;
  checkFlag(where, 'injection', options.injection);
  const flow = readPart(where, 'dataFlow', options.dataFlow);
  const hidden = readPart(where, 'secrets', options.secrets);
  const personal = options.pii === true ? {} : readPart(where, 'pii', options.pii ?? false);
  return Object.freeze([
    length({ name: 'input-length', on: ['input'], max: longestInput }),
    hiddenText(),
    ...(hidden === false ? [] : [secrets(hidden)]),
    ...(personal === false ? [] : [pii(personal)]),
    egress(flow === false ? { allow: hosts } : { allow: hosts, on: ['output'] }),
    ...(options.injection === false ? [] : [injection({ on: ['toolOutput'], then: 'deny', shadow: true })]),
    ...(flow === false ? [] : [dataFlow({ links: hosts, ...flow })]),
  ]);
}

function checkFlag(where: string, name: string, given: unknown): void {
  if (given !== undefined && typeof given !== 'boolean')
    throw optionFault(where, `${name} is neither true nor false. Give one, or leave it out.`);
}

function readPart<O extends object>(where: string, name: string, given: O | boolean | undefined): O | false {
  if (given === false) return false;
  if (given === undefined) return {} as O;
  if (typeof given !== 'object' || given === null)
    throw optionFault(where, `${name} is neither options nor false. Give the options of that guardrail, false for none, or leave it out.`);
  return given;
}
