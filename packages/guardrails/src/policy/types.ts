import type { PolicyAction } from '@guardloop/core';

/** A value that conditions compare: no list, no object, and no null, which counts as missing. */
export type Scalar = string | number | boolean;
/** The value of a context field, as `policyFrom`'s `context` gives it. */
export interface ContextValue {
  readonly context: string;
}
/** The value of another argument of the same call. */
export interface FieldValue {
  readonly field: string;
}
/** What a value is compared with: written down, or taken from the context or from another argument. */
export type Operand<T> = T | ContextValue | FieldValue;

/** Which URLs a value may be. */
export interface UrlData {
  /** Host names in lower case (`api.shop.example`), or `*.shop.example` for every host below one. A host is compared as a browser reads it. */
  readonly hosts: readonly string[];
  /** Default: `['https']`. */
  readonly schemes?: readonly string[] | undefined;
  /** Default: the port that the scheme has by itself. */
  readonly ports?: readonly number[] | undefined;
}

/** What is asked of one value. All that is written must hold. A value that is missing, null or of another kind decides nothing. */
export interface Tests {
  readonly equals?: Operand<Scalar> | undefined;
  readonly oneOf?: Operand<readonly Scalar[]> | undefined;
  readonly noneOf?: Operand<readonly Scalar[]> | undefined;
  readonly atMost?: Operand<number> | undefined;
  readonly atLeast?: Operand<number> | undefined;
  readonly above?: Operand<number> | undefined;
  readonly below?: Operand<number> | undefined;
  /** An expression of RE2 that the whole text fits. Texts over 10,000 characters decide nothing. */
  readonly matches?: string | undefined;
  /** An expression of RE2 that a piece of the text fits. Texts over 10,000 characters decide nothing. */
  readonly finds?: string | undefined;
  /** One text, or several of which one is enough. */
  readonly startsWith?: Operand<string | readonly string[]> | undefined;
  readonly endsWith?: Operand<string | readonly string[]> | undefined;
  readonly contains?: Operand<string | readonly string[]> | undefined;
  /** An absolute path that is this folder or stands in it, `..` and doubled slashes resolved. Links are not followed: nobody looks at a disk. */
  readonly within?: Operand<string | readonly string[]> | undefined;
  /** A whole URL without user name and password, to one of these hosts. */
  readonly url?: UrlData | undefined;
  /** Of a text (UTF-16 units) or a list. */
  readonly lengthAtMost?: number | undefined;
  readonly lengthAtLeast?: number | undefined;
  /** Whether there is a value that is not null. The one test that a missing value decides. */
  readonly present?: boolean | undefined;
  /** For `equals`, `oneOf`, `noneOf`, `startsWith`, `endsWith`, `contains`, `matches` and `finds`. Default false. */
  readonly ignoreCase?: boolean | undefined;
}

type None<K extends PropertyKey> = { readonly [P in K]?: undefined };
/** A value that is looked at, and what is asked of it. */
type TestedValue = Tests &
  (
    | ({
        /** A path in the arguments: `cents`, `to.address`, `items[0].id`; `\.` for a dot in a name. */
        readonly field: string;
      } & None<'every' | 'some' | 'context'>)
    | ({
        /** A path through lists, `orders[].total`: each value must pass. True of an empty list, undecided without one. */
        readonly every: string;
      } & None<'field' | 'some' | 'context'>)
    | ({
        /** As `every`: one value must pass. False of an empty list. */
        readonly some: string;
      } & None<'field' | 'every' | 'context'>)
    | ({
        /** A path in what `policyFrom`'s `context` gives. */
        readonly context: string;
      } & None<'field' | 'every' | 'some'>)
  );
type Untested = None<keyof Tests | 'field' | 'every' | 'some' | 'context'>;

type Effect = 'none' | 'read' | 'write' | 'send';
type Integrity = 'trusted' | 'untrusted';
/** A day of the week. */
export type Day = 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun';
/** When something holds, by the clock of a place. */
export interface DuringData {
  /** Days on which the window begins. Default: all. */
  readonly days?: readonly Day[] | undefined;
  /** `HH:MM`. Default `00:00`. */
  readonly from?: string | undefined;
  /** `HH:MM`, exclusive. Default `24:00`. Not after `from`: the window goes over midnight. */
  readonly to?: string | undefined;
  /** An IANA zone: `Europe/Berlin`, `UTC`. */
  readonly zone: string;
}
/** What is asked of the call itself, and how conditions are put together. All that is written must hold. */
export interface CallTests {
  /** What the tool declares that it does; undeclared tools count as `write`. */
  readonly effect?: Effect | readonly Effect[] | undefined;
  /** What the tool declares of its results; undeclared: `untrusted`. */
  readonly results?: Integrity | undefined;
  /** Whether the tool's author declared its `flow`. */
  readonly declared?: boolean | undefined;
  /** The running label of what the agent sees. */
  readonly view?: Integrity | undefined;
  /** The label of the call. */
  readonly call?: Integrity | undefined;
  /** Whether the agent has read an untrusted result, of any tool (`true`, `false`) or of these (names or patterns). */
  readonly untrustedReads?: boolean | string | readonly string[] | undefined;
  /** Names or patterns of the agent that calls. */
  readonly agent?: string | readonly string[] | undefined;
  /** The call has no other arguments than these. */
  readonly only?: readonly string[] | undefined;
  readonly during?: DuringData | undefined;
  /** An expression of CEL over `input`, `flow`, `labels`, `untrustedReads`, `tool`, `agent` and `context`. Needs `policyFrom`'s `cel`. */
  readonly cel?: string | undefined;
  readonly all?: readonly Condition[] | undefined;
  readonly any?: readonly Condition[] | undefined;
  readonly not?: Condition | undefined;
}
/** A condition of a rule, as data. All that is written in one object must hold. */
export type Condition = (TestedValue | Untested) & CallTests;

/** What is answered once a limit is reached; `next`: the rule does not fit, and the next ones are tried. */
export type OverAction = 'deny' | 'ask' | 'halt' | 'next';
interface LimitBase {
  /** `run`: in one run with its child runs, as its log tells. Or a time that slides, as in ISO 8601: `PT1H`, `P1D`. */
  readonly per: 'run' | (string & {});
  /** Default `deny`. */
  readonly over?: OverAction | undefined;
  /** Of a limit over time: counted by this context field, for example by user. Default: all together. */
  readonly by?: string | undefined;
}
/** How many calls of the rule's tools there may be. */
export interface LimitData extends LimitBase {
  readonly calls: number;
}
/** What the calls of the rule's tools may come to. */
export interface SpendData extends LimitBase {
  /** A path to a number of 0 or more. */
  readonly field: string;
  readonly atMost: number;
}
/** A rule, as data. */
export interface PolicyRuleData {
  /** For people, and in the keys of limits over time. Unique in its policy. */
  readonly name?: string | undefined;
  /** A tool's name, a pattern (`find_*`), or several. */
  readonly tool: string | readonly string[];
  /** Left out: it always fits. */
  readonly when?: Condition | undefined;
  /** As the same condition in `when`. */
  readonly during?: DuringData | undefined;
  /** Not with `deny` and `halt`. */
  readonly limit?: LimitData | readonly LimitData[] | undefined;
  readonly spend?: SpendData | readonly SpendData[] | undefined;
  readonly then: PolicyAction;
  /** Read by the model and by people. Default: which rule it was. */
  readonly reason?: string | undefined;
}
/** A policy, as data: rules are tried in order, the first that fits answers, else `otherwise`. {@link policySchema} is its JSON Schema. */
export interface PolicyData {
  /** For editors; not looked at. */
  readonly $schema?: string | undefined;
  readonly name: string;
  readonly description?: string | undefined;
  /** Default: made of the data, so that it changes with the rules. */
  readonly version?: string | undefined;
  readonly rules: readonly PolicyRuleData[];
  readonly otherwise: PolicyAction | { readonly then: PolicyAction; readonly reason?: string | undefined };
}
