import { describe, invalid } from './read-options.js';

const ofWorker = 'A worker gives it to each run itself. Leave it out.';
const beside = (name: string) => `Give \`${name}\` beside \`options\`, not in it.`;
const atDecide = 'People decide with `runs.approvals.decide`, in any process.';

/** What `run` or `resume` takes, and a registered agent does not, with what to do instead. */
const elsewhere: { readonly [name: string]: string } = {
  session: ofWorker,
  runId: ofWorker,
  unfinished: "It is an option of `submit`: give `unfinished: 'abandon'` there.",
  signal: 'End a run with `runs.cancel`.',
  history: 'Put it into the input, or into the log of the session before the first run.',
  context: beside('context'),
  accept: beside('accept'),
  input: 'It is what `submit` is given.',
  decisions: atDecide,
  approvals: `Approvals of durable runs are not signed: they are looked up in the store by their id, and carry no token. ${atDecide} Give it the \`digest\` of what was seen, and the store an \`encryption\` key, without which nobody can write a decision. Reminders and expiry are given beside \`options\`.`,
};

/** The options of a run, as `durableAgent` was given them or its function has made them. Throws CONFIG_INVALID. */
export function checkRunOptions(agent: string, options: unknown): asserts options is object | undefined {
  if (options === undefined) return;
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    invalid(`The durable agent ${agent}: \`options\` has made ${describe(options)}. Give an object of options of \`run\`.`);
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && Object.hasOwn(elsewhere, name))
      invalid(`The durable agent ${agent}: \`options\` has \`${name}\`, which durable runs do not take there. ${elsewhere[name]}`);
}
