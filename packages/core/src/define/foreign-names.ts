/** What others call an option of ours: the option, and how it is written where the name alone would not tell. */
type Ours = readonly [option: string, how?: string];

const turns: Ours = ['limits', '`limits: { turns }`'];
const surfacesOf: Ours = ['guardrails', '`guardrails`, each of which says in `on` where it stands'];
const ofModel = (name: string): Ours => ['settings', `\`settings: { ${name} }\``];
const session: Ours = ['session', '`session: { store, id }`'];

const foreign: ReadonlyMap<string, readonly Ours[]> = new Map<string, readonly Ours[]>([
  ['maxturns', [turns, ['turns']]],
  ['maxsteps', [turns, ['turns']]],
  ['maxiterations', [turns, ['turns']]],
  ['recursionlimit', [turns, ['turns']]],
  ['stopwhen', [turns, ['turns']]],
  ['maxtoolcalls', [['limits', '`limits: { toolCalls }`'], ['toolCalls']]],
  ['toolchoice', [ofModel('toolChoice')]],
  ['temperature', [ofModel('temperature')]],
  ['topp', [ofModel('topP')]],
  ['maxtokens', [ofModel('maxTokens')]],
  ['maxoutputtokens', [ofModel('maxTokens')]],
  ['modelsettings', [['settings']]],
  ['inputguardrails', [surfacesOf]],
  ['outputguardrails', [surfacesOf]],
  ['toolguardrails', [surfacesOf]],
  ['middleware', [['guardrails']]],
  ['system', [['instructions']]],
  ['systemprompt', [['instructions']]],
  ['systemmessage', [['instructions']]],
  ['prompt', [['instructions']]],
  ['handoffdescription', [['description']]],
  ['subagents', [['handoffs', '`handoffs`, or a tool made by asTool(agent, { name, description })']]],
  ['parameters', [['input']]],
  ['inputschema', [['input']]],
  ['inputtype', [['input']]],
  ['argsschema', [['input']]],
  ['schema', [['input']]],
  ['outputschema', [['output']]],
  ['outputtype', [['output']]],
  ['responseformat', [['output']]],
  ['structuredoutput', [['output']]],
  ['needsapproval', [['approval']]],
  ['requireapproval', [['approval']]],
  ['interrupt', [['approval']]],
  ['handler', [['execute']]],
  ['func', [['execute']]],
  ['run', [['execute']]],
  ['invoke', [['execute']]],
  ['callback', [['execute']]],
  ['validate', [['check']]],
  ['tripwire', [['check']]],
  ['surfaces', [['on']]],
  ['stage', [['on']]],
  ['callbacks', [['observers']]],
  ['hooks', [['observers']]],
  ['onevent', [['observers']]],
  ['onstep', [['observers']]],
  ['onstepfinish', [['observers']]],
  ['sessionid', [session]],
  ['thread', [session]],
  ['threadid', [session]],
  ['conversationid', [session]],
  ['checkpointer', [session]],
  ['memory', [session]],
  ['messages', [['history']]],
  ['message', [['reply']]],
  ['response', [['reply']]],
  ['text', [['reply']]],
  ['code', [['errorClass']]],
  ['kind', [['errorClass']]],
  ['class', [['errorClass']]],
  ['deps', [['context']]],
]);

/** `Here that is …. ` for an option that other frameworks call so, where it is among `known`; else nothing. */
export function hintAtOurs(word: string, known: readonly string[]): string {
  const found = foreign.get(word.toLowerCase().replaceAll(/[_-]/g, ''))?.find(([option]) => known.includes(option));
  return found === undefined ? '' : `Here that is ${found[1] ?? `\`${found[0]}\``}. `;
}
