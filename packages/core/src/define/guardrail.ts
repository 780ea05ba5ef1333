import { GuardloopError, suggest } from '../errors.js';
import type { GuardEntry, Surface } from '../state/events.js';
import { Breaker } from './breaker.js';
import { guardrailSpecOf, publish } from './definition.js';
import { DefinitionReader, describe, invalid } from './definition-reader.js';
import type { GuardrailSpec } from './specs.js';
import { fitsPattern, isToolPattern } from './tool-pattern.js';
import type { Definers } from './types.js';

export const surfaces = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'] as const satisfies readonly Surface[];
const optionNames = [
  'name',
  'on',
  'version',
  'timeoutMs',
  'onError',
  'breaker',
  'shadow',
  'tools',
  'expects',
  'window',
  'beside',
  'check',
  'rewrite',
] as const;
type Reader = DefinitionReader<(typeof optionNames)[number]>;

export const defaultTimeoutMs = 10_000;
const breakerNames = ['failures', 'withinMs', 'coolDownMs'] as const;
const defaultCoolDownMs = 30_000;

/** Defines a guardrail: where it stands, and what it answers there. Throws CONFIG_INVALID. */
export const defineGuardrail: Definers<unknown>['defineGuardrail'] = (def) => {
  const guardrail = readGuardrail(new DefinitionReader('guardrail', def, optionNames));
  return publish({ name: guardrail.name, on: guardrail.on }, guardrail);
};

function readGuardrail(reader: Reader): GuardrailSpec {
  const name = readGuardName(reader);
  const on = readSurfaces(reader);
  const rewrite = reader.function<NonNullable<GuardrailSpec['rewrite']>>('rewrite');
  const check = reader.function<NonNullable<GuardrailSpec['check']>>('check');
  if (rewrite === undefined && check === undefined)
    invalid(`${reader.subject} has no function to ask. Give it \`check\`, \`rewrite\` or both.`);
  const tools = readTools(reader, on);
  const timeoutMs = reader.milliseconds('timeoutMs') ?? defaultTimeoutMs;
  return guardrailSpec({
    name,
    on,
    version: readVersion(reader),
    timeoutMs,
    onError: reader.choice('onError', ['deny', 'halt', 'allow']) ?? 'deny',
    breaker: readBreaker(reader, timeoutMs),
    shadow: reader.flag('shadow') ?? false,
    beside: readBeside(reader, on),
    window: readWindow(reader, on),
    tools,
    expects: readPatterns(reader, 'expects'),
    rewrite,
    check,
    ruleTools: undefined,
  });
}

/** Adds to a guardrail's settings what follows from them. */
export function guardrailSpec(
  settings: Omit<GuardrailSpec, 'kind' | 'entry' | 'matchesTool' | 'breaker' | 'expects'> &
    Partial<Pick<GuardrailSpec, 'breaker' | 'expects'>>,
): GuardrailSpec {
  const { name, version, on, tools, beside, shadow, onError, rewrite, check } = settings;
  const phases: GuardEntry['phases'] = Object.freeze([...(rewrite ? (['rewrite'] as const) : []), ...(check ? (['check'] as const) : [])]);
  const entry: GuardEntry = Object.freeze({
    name,
    ...(version === undefined ? {} : { version }),
    surfaces: on,
    phases,
    ...(tools === undefined ? {} : { tools }),
    ...(beside ? { beside } : {}),
    ...(shadow ? { shadow } : {}),
    ...(onError === 'deny' ? {} : { onError }),
  });
  const matchesTool = tools === undefined ? () => true : (tool: string) => tools.some((pattern) => fitsPattern(pattern, tool));
  return Object.freeze({ kind: 'guardrail', breaker: undefined, expects: undefined, ...settings, matchesTool, entry });
}

/** In logs, `core` and \`model\` say that no guardrail asked or refused: a guardrail of that name could not be told from them. */
export function readGuardName(reader: DefinitionReader<'name'>): string {
  const name = reader.name();
  return name === 'core' || name === 'model'
    ? reader.refuse('name', 'In logs that name stands for Guardloop itself, or for the model: give another.')
    : name;
}

export function readVersion(reader: DefinitionReader<'version'>): string | undefined {
  const version = reader.text('version');
  return version === '' ? reader.refuse('version', 'Give a text that is not empty, or leave it out.') : version;
}

function readSurfaces(reader: Reader): readonly Surface[] {
  const on = reader.list('on');
  if (on.length === 0) invalid(`${reader.subject} stands on no surface. Give \`on\` a list of ${surfaces.join(', ')}.`);
  for (const [index, surface] of on.entries()) {
    if (!surfaces.includes(surface as Surface)) {
      const hint = typeof surface === 'string' ? suggest(surface, surfaces) : '';
      invalid(`${reader.subject} stands on ${describe(surface)}, which is no surface. ${hint}The surfaces are ${surfaces.join(', ')}.`);
    }
    if (on.indexOf(surface) !== index) invalid(`${reader.subject} names the surface ${String(surface)} twice in \`on\`. Name each once.`);
  }
  return on as readonly Surface[];
}

function readBreaker(reader: Reader, timeoutMs: number): Breaker | undefined {
  if (!reader.has('breaker')) return undefined;
  const own = new DefinitionReader({ place: `The \`breaker\` of ${reader.subject}` }, reader.get('breaker'), breakerNames);
  const failures = own.get('failures');
  if (!Number.isSafeInteger(failures) || (failures as number) < 1)
    own.refuse('failures', 'Give the whole number of failures after which it opens, from 1.');
  return new Breaker({
    failures: failures as number,
    withinMs: own.milliseconds('withinMs'),
    coolDownMs: own.milliseconds('coolDownMs') ?? defaultCoolDownMs,
    timeoutMs,
  });
}

function readTools(reader: Reader, on: readonly Surface[]): readonly string[] | undefined {
  if (!reader.has('tools')) return undefined;
  const tools = reader.list('tools');
  if (!on.includes('toolInput') && !on.includes('toolOutput')) {
    invalid(`${reader.subject} has \`tools\` but looks at no tool. Add toolInput or toolOutput to \`on\`, or leave \`tools\` out.`);
  }
  if (tools.length === 0)
    invalid(`${reader.subject} has an empty list of \`tools\`, so it would look at none. Name some, or leave \`tools\` out for all.`);
  return readPatterns(reader, 'tools');
}

function readPatterns(reader: Reader, name: 'tools' | 'expects'): readonly string[] | undefined {
  if (!reader.has(name)) return undefined;
  const patterns = reader.list(name);
  for (const pattern of patterns) {
    if (!isToolPattern(pattern))
      invalid(`${reader.subject} has ${describe(pattern)} in \`${name}\`. Give names of tools, or patterns such as 'refund_*'.`);
  }
  return patterns as readonly string[];
}

function readBeside(reader: Reader, on: readonly Surface[]): boolean {
  if (reader.choice('beside', ['model']) === undefined) return false;
  if (on.length !== 1 || on[0] !== 'input') {
    invalid(
      `${reader.subject} is \`beside: 'model'\` and stands on ${on.join(', ')}. Only a guardrail on input alone can run beside the model.`,
    );
  }
  if (reader.has('rewrite')) {
    invalid(
      `${reader.subject} is \`beside: 'model'\` and rewrites. What the model already reads cannot be rewritten: give it \`check\` alone.`,
    );
  }
  return true;
}

function readWindow(reader: Reader, on: readonly Surface[]): number | undefined {
  const window = reader.get('window');
  if (window === undefined) return undefined;
  if (!Number.isSafeInteger(window) || (window as number) < 1) reader.refuse('window', 'Give a whole number of characters from 1.');
  if (!on.includes('output'))
    invalid(`${reader.subject} has \`window\` but does not stand on output. Add output to \`on\`, or leave \`window\` out.`);
  if (!reader.has('rewrite') || reader.has('check')) {
    invalid(
      `${reader.subject} has \`window\` with a \`check\`, or without \`rewrite\`. A check needs the whole text: leave \`window\` out, or give \`rewrite\` alone.`,
    );
  }
  return window as number;
}

/** Throws NAME_TAKEN where two of the guardrails that stand together share a name. `place` says where they stand. */
export function refuseSharedNames(guardrails: readonly GuardrailSpec[], place: string): void {
  const names = new Set<string>();
  for (const { name } of guardrails) {
    if (names.has(name)) {
      throw new GuardloopError('NAME_TAKEN', `Guardrail name ${name} is used twice ${place}. Give one another name, or list it once.`);
    }
    names.add(name);
  }
}

/** The specs behind a list of guardrails. Throws CONFIG_INVALID and NAME_TAKEN. */
export function readGuardrails(list: readonly unknown[], owner: string): readonly GuardrailSpec[] {
  const specs = Array.from(list, (guardrail, index) => guardrailSpecOf(guardrail, `Entry ${index + 1} in \`guardrails\` of ${owner}`));
  refuseSharedNames(specs, `by ${owner}`);
  return Object.freeze(specs);
}
