import { isList, property, readable } from '../define/definition-reader.js';
import type { ToolSpec } from '../define/specs.js';
import { GuardloopError } from '../errors.js';
import type { JsonObject } from '../model/types.js';
import { wellFormedText } from '../model/well-formed-text.js';
import type { Approval, CallApproval, StandingApproval } from '../state/events.js';
import { fitsStanding } from '../state/standing.js';
import type { RunState } from '../state/state.js';
import type { LogDraft, RunHandle } from './handle.js';
import { isPromise } from './is-promise.js';
import { openApprovals } from './open-approvals.js';
import { placeOfRun } from './place-of-run.js';
import { copyPlainJson } from './plain-json.js';
import { deepFreeze } from './plain-output.js';
import { checkToken } from './sign-approvals.js';

const forms =
  "Give 'approve', { approve: 'standing', when, forMs | expiresAt }, { reject: reason }, { edit: input } or { result: value } (in { decision, by } to say who decided)";
const mismatch = (message: string): GuardloopError => new GuardloopError('RESUME_MISMATCH', message);

/** The option `decisions` of `resume`, each still as it was given. Throws CONFIG_INVALID. */
export function readDecisions(given: unknown): ReadonlyMap<string, unknown> {
  if (given === undefined) return new Map();
  if (typeof given !== 'object' || given === null || isList(given))
    throw new GuardloopError(
      'CONFIG_INVALID',
      "The option `decisions` is no object. Give { [approval.id]: 'approve' | { approve: 'standing' } | { reject } | { edit } | { result } }, or { decision, by: 'who decided' }; with the `token` of the approval where approvals are signed.",
    );
  return readable('The option `decisions`', () => new Map(Object.entries(given)));
}

type DecisionDraft = Extract<LogDraft, { type: 'approval.resolve' }>;

/** What a person decided, read once. */
type Given =
  | { readonly kind: 'approve' }
  | { readonly kind: 'standing'; readonly when: unknown; readonly forMs: unknown; readonly expiresAt: unknown }
  | { readonly kind: 'reject'; readonly reason: string }
  | { readonly kind: 'edit'; readonly edit: unknown }
  | { readonly kind: 'result'; readonly result: unknown };

/** Checks all decisions before any event; edits and results stay in memory until they are judged. Throws RESUME_MISMATCH. */
export async function readAnswers(
  handle: RunHandle,
  decisions: ReadonlyMap<string, unknown>,
): Promise<readonly { readonly run: RunState; readonly draft: DecisionDraft }[]> {
  const open = new Map(openApprovals(handle.state).map((approval) => [approval.id, approval]));
  const answers: { readonly run: RunState; readonly draft: DecisionDraft }[] = [];
  for (const [id, given] of decisions) {
    const approval = open.get(id);
    if (approval === undefined)
      throw mismatch(
        `There is no open approval ${id}: it does not exist, or was decided before. Open are: ${[...open.keys()].join(', ') || 'none'}.`,
      );
    const run = handle.root.log.runs.get(approval.run);
    if (run === undefined) throw mismatch(`The approval ${id} belongs to no run of the log.`);
    const { decision, by } = await unwrap(handle, approval, given);
    const draft = await draftOf(handle, approval, readGiven(approval, decision));
    if (draft) answers.push({ run, draft: by === undefined ? draft : { ...draft, decidedBy: by } });
    else if (by !== undefined) handle.root.given?.deciders.set(id, by);
  }
  return answers;
}

/** What was decided, by whom, and where approvals are signed, with the token that was made for this one. */
async function unwrap(
  handle: RunHandle,
  approval: Approval,
  given: unknown,
): Promise<{ readonly decision: unknown; readonly by?: string }> {
  const { signer } = handle.root.settings;
  const { id } = approval;
  const fields = readFields(given, ['decision', 'by', 'token']);
  const isSigned = property(given, 'token') !== undefined;
  if (signer === undefined && isSigned)
    throw mismatch(
      `The decision for ${id} has a token, and \`resume\` was given no key to check it with. Give the option \`approvals\` with the key that the run had.`,
    );
  if (signer !== undefined) {
    if (typeof fields?.token !== 'string')
      throw mismatch(
        `The decision for ${id} has no token, and approvals are signed here. Give { decision, token: approval.token } with the token of the approval in the result.`,
      );
    await checkToken(handle, approval, fields.token);
  }
  if (fields === undefined || !('decision' in fields)) return { decision: given };
  const { decision, by } = fields;
  if (by === undefined) return { decision };
  if (typeof by !== 'string' || by === '' || by.length > 200 || wellFormedText(by) !== by)
    throw mismatch(`The decision for ${id} does not say who decided: give \`by\` as a name or an id of 1 to 200 characters.`);
  return { decision, by };
}

/** The fields of an object, each read once; undefined for one that has others, or that throws. */
function readFields<K extends string>(given: unknown, names: readonly K[]): { readonly [N in K]?: unknown } | undefined {
  if (typeof given !== 'object' || given === null || isList(given)) return undefined;
  try {
    if (Reflect.ownKeys(given).some((key) => !(names as readonly unknown[]).includes(key))) return undefined;
    const own = names.filter((name) => Object.hasOwn(given, name));
    return Object.fromEntries(own.map((name) => [name, (given as { readonly [field: string]: unknown })[name]])) as {
      readonly [N in K]?: unknown;
    };
  } catch {
    return undefined;
  }
}

const names = ['approve', 'when', 'forMs', 'expiresAt', 'reject', 'edit', 'result'] as const;

function readGiven(approval: Approval, decision: unknown): Given {
  const misfit = (): GuardloopError =>
    mismatch(
      `The decision for ${approval.id} does not fit. ${forms}, one of them alone; an answer or a handoff can be approved or rejected.`,
    );
  if (decision === 'approve') return { kind: 'approve' };
  const fields = readFields(decision, names);
  if (fields === undefined) throw misfit();
  const { approve, when, forMs, expiresAt, reject, edit, result } = fields;
  const isOfStanding = when !== undefined || forMs !== undefined || expiresAt !== undefined;
  const hasResult = 'result' in fields && (result !== undefined || (reject === undefined && edit === undefined && approve === undefined));
  const kinds = [approve !== undefined, reject !== undefined, edit !== undefined, hasResult].filter(Boolean).length;
  if (kinds !== 1 || (isOfStanding && approve === undefined)) throw misfit();
  if (approve === 'standing') return { kind: 'standing', when, forMs, expiresAt };
  if (typeof reject === 'string') return { kind: 'reject', reason: reject };
  if (edit !== undefined) return { kind: 'edit', edit };
  if (hasResult && approval.surface === 'toolInput') return { kind: 'result', result };
  throw misfit();
}

/** The event of a decision that needs no judging; of another, what was given is kept. */
async function draftOf(handle: RunHandle, approval: Approval, given: Given): Promise<DecisionDraft | undefined> {
  const { id, subject, revision, digest } = approval;
  const base = { type: 'approval.resolve', id, subject, revision, digest } as const;
  switch (given.kind) {
    case 'approve':
    case 'standing':
      if (approval.surface === 'toolInput' && approval.caller)
        throw mismatch(
          `The approval ${id} is of ${approval.tool}, which you run yourself. Answer with { result: value }, or { reject: reason }.`,
        );
      return {
        ...base,
        decision: 'approve',
        ...(given.kind === 'standing' ? { standing: readStanding(approval, given, handle.root.clock.now()) } : {}),
      };
    case 'reject':
      return { ...base, decision: 'reject', ...(given.reason === '' ? {} : { reason: given.reason }) };
    case 'edit':
      handle.root.given?.edits.set(id, await readEdit(handle, approval, given.edit));
      return undefined;
    case 'result':
      readTool(handle, approval as CallApproval, 'result');
      handle.root.given?.results.set(id, given.result);
      return undefined;
    default:
      return given satisfies never;
  }
}

/** What a standing decision is to hold for: as little as was said. */
function readStanding(approval: Approval, given: Extract<Given, { kind: 'standing' }>, now: number): StandingApproval {
  const refuse = (why: string): never => {
    throw mismatch(
      `The standing decision for ${approval.id} cannot be used: ${why} Give { approve: 'standing', when: { field: value } } for a call, with forMs or expiresAt, or neither.`,
    );
  };
  if (approval.surface !== 'toolInput') return refuse('only calls can be approved in advance.');
  const pattern = given.when === undefined ? { when: approval.input, exact: true as const } : { when: readPattern(given.when) };
  if (pattern.when === undefined) return refuse('its `when` is no object of plain JSON.');
  const standing = { agentPath: approval.agentPath, tool: approval.tool, ...pattern } as StandingApproval;
  if (!fitsStanding(standing, approval.input)) return refuse('the call that it is given for does not fit its `when`.');
  const expiresAt = readExpiry(given, now);
  if (expiresAt === 'no time') return refuse('its `forMs` or `expiresAt` is no time that is still to come, or both are given.');
  return deepFreeze(expiresAt === undefined ? standing : { ...standing, expiresAt });
}

function readPattern(when: unknown): JsonObject | undefined {
  const copy = copyPlainJson(when);
  return typeof copy === 'object' && copy !== null && !Array.isArray(copy) ? (copy as JsonObject) : undefined;
}

function readExpiry(
  { forMs, expiresAt }: { readonly forMs: unknown; readonly expiresAt: unknown },
  now: number,
): number | undefined | 'no time' {
  if (forMs === undefined && expiresAt === undefined) return undefined;
  if (forMs !== undefined && expiresAt !== undefined) return 'no time';
  const at = forMs === undefined ? expiresAt : typeof forMs === 'number' ? now + forMs : undefined;
  return typeof at === 'number' && Number.isFinite(at) && at > now ? at : 'no time';
}

async function readEdit(handle: RunHandle, approval: Approval, edit: unknown): Promise<JsonObject> {
  const refuse = (why: string, instead = 'Give { edit: input } with an input that fits the tool.'): never => {
    throw mismatch(`The edit for ${approval.id} cannot be used: ${why} ${instead}`);
  };
  if (approval.surface !== 'toolInput')
    return refuse('only the input of a call can be edited.', "Give 'approve' or { reject: reason } for what is asked on this surface.");
  if (approval.caller) return refuse('you run this tool yourself;', 'answer with { result: value }.');
  if (typeof edit !== 'object' || edit === null || isList(edit)) return refuse('it is no object.');
  let copy: JsonObject;
  try {
    copy = deepFreeze(JSON.parse(JSON.stringify(edit)) as JsonObject);
  } catch {
    return refuse('it is not plain JSON.');
  }
  const tool = readTool(handle, approval, 'edit');
  const parsing = tool.input.parse(copy);
  const parsed = isPromise(parsing) ? await parsing : parsing;
  return parsed.ok ? copy : refuse('it does not fit the schema of the tool.');
}

/** The tool whose call was answered: where it cannot be judged for it, what was given would be dropped. Throws RESUME_MISMATCH. */
function readTool(handle: RunHandle, { id, run, tool: name }: CallApproval, given: 'edit' | 'result'): ToolSpec {
  const place = placeOfRun(handle, run);
  const tool = place?.agent.tools.find((each) => each.name === name);
  if (tool !== undefined && tool.enabled !== false) return tool;
  const agent = place === undefined ? '' : ` of agent ${place.agent.name}`;
  const why =
    tool === undefined
      ? `the tool ${name}${agent} is not there. Resume with an agent that has it`
      : `the tool ${name}${agent} is disabled (\`enabled: false\`). Enable it`;
  throw mismatch(`The ${given} for ${id} cannot be used: ${why}, or give { reject: reason }. Nothing was changed.`);
}
