import type { JsonObject, JsonValue, ToolSpec } from '@guardloop/core/model';

/** What a text in the ReAct form says: exactly one of these. `misfit` holds nothing of the text. */
export type TextStep =
  | { readonly kind: 'thought'; readonly thought: string }
  | { readonly kind: 'action'; readonly thought: string; readonly name: string; readonly input: JsonValue }
  | { readonly kind: 'stop'; readonly thought: string; readonly input: JsonObject }
  | { readonly kind: 'misfit'; readonly misfit: string };

const label = /^[ \t]*\**(thought|action input|action|observation)(?:[ \t]+\d+)?[ \t]*:\**[ \t]*/i;
/** Whether any line of it has a label of the form. */
export const hasForm = (text: string): boolean => text.split('\n').some((line) => label.test(line));

const misfit = (why: string): TextStep => ({ kind: 'misfit', misfit: why });

interface Block {
  readonly label: string;
  text: string;
}

/**
 * Reads one turn in the ReAct form: a thought, an action, or both in that order. `Thought:`, `Action:` and `Action Input:` may have numbers.
 * All else is a misfit: text before the first of them, two of one kind, an observation that the model wrote itself.
 */
export function readTextStep(text: string, { tools, stop }: { readonly tools: readonly ToolSpec[]; readonly stop: string }): TextStep {
  const blocks = readBlocks(text, stop);
  if (typeof blocks === 'string') return misfit(blocks);
  const order = blocks.map((block) => block.label).join(' ');
  if (order.includes('observation')) return misfit('it holds an Observation, which is given to you and never written by you');
  const [first, ...rest] = blocks;
  const thought = first?.label === 'thought' ? first.text : '';
  const [action, input] = first?.label === 'thought' ? rest : blocks;
  switch (order) {
    case 'thought':
      return thought === '' ? misfit('its Thought is empty') : { kind: 'thought', thought };
    case 'thought action':
    case 'thought action action input':
    case 'action':
    case 'action action input':
      return readAction(thought, { action: action?.text ?? '', input: input?.text }, { tools, stop });
    default:
      return misfit('it is not one Thought and then one Action, with one Action Input at most');
  }
}

/** The labelled pieces, in order; or what is wrong. A line `Finish[…]` is an action without its label. */
function readBlocks(text: string, stop: string): readonly Block[] | string {
  const blocks: Block[] = [];
  for (const line of text.replaceAll('\r\n', '\n').split('\n')) {
    const found = label.exec(line);
    const last = blocks.at(-1);
    if (found?.[1]) blocks.push({ label: found[1].toLowerCase(), text: line.slice(found[0].length) });
    else if (last?.label !== 'action' && line.trimStart().startsWith(`${stop}[`)) blocks.push({ label: 'action', text: line });
    else if (last) last.text += `\n${line}`;
    else if (line.trim() !== '') return 'it begins with neither Thought: nor Action:';
  }
  for (const block of blocks) block.text = block.text.trim();
  return blocks.length === 0 ? 'it holds neither a Thought: nor an Action:' : blocks;
}

interface Written {
  readonly action: string;
  readonly input: string | undefined;
}
interface Offer {
  readonly tools: readonly ToolSpec[];
  readonly stop: string;
}

function readAction(thought: string, { action, input }: Written, { tools, stop }: Offer): TextStep {
  const open = action.indexOf('[');
  const isBracketed = open > 0 && action.endsWith(']');
  const name = (isBracketed ? action.slice(0, open) : action).trim();
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return misfit('its Action is neither the name of a tool nor name[argument]');
  if (isBracketed && input !== undefined) return misfit('its Action has an argument in brackets and an Action Input too: give one of them');
  const argument = isBracketed ? action.slice(open + 1, -1) : input;
  const tool = tools.find((each) => each.name === name);
  // The loop tells the model what tools there are.
  if (tool === undefined) return { kind: 'action', thought, name, input: {} };
  const read = readArgument(argument, tool, isBracketed);
  if (typeof read === 'string') return misfit(read);
  return name === stop ? { kind: 'stop', thought, input: read } : { kind: 'action', thought, name, input: read };
}

/** The arguments as an object, or what is wrong with them. */
function readArgument(argument: string | undefined, { name, schema }: ToolSpec, isBracketed: boolean): JsonObject | string {
  const { required = [], properties = {} } = schema as {
    required?: readonly string[];
    properties?: { readonly [name: string]: JsonObject };
  };
  const given = argument?.trim() ?? '';
  if (given === '') return required.length === 0 ? {} : `its Action ${name} needs an Action Input with ${required.join(', ')}`;
  const value = readJson(unfenced(given));
  if (isObject(value) && (!isBracketed || required.length !== 1 || Object.keys(value).every((key) => Object.hasOwn(properties, key))))
    return value;
  const [field] = required;
  if (required.length === 1 && field !== undefined) {
    const isText = properties[field]?.type === 'string';
    if (isText && !isBracketed && value === undefined && given.startsWith('{')) return `the Action Input of ${name} is not one JSON object`;
    // Written as text, whatever it looks like: a number in brackets is what a text field holds too.
    if (isText) return { [field]: typeof value === 'string' && !isBracketed ? value : given };
    if (value !== undefined) return { [field]: value };
    return `the argument of its Action ${name} is not JSON, which ${field} needs`;
  }
  return isBracketed
    ? `its Action ${name} has ${required.length === 0 ? 'no required argument' : 'several required arguments'}: give an Action Input with one JSON object`
    : `the Action Input of ${name} is not one JSON object`;
}

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

function readJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

const unfenced = (text: string): string => /^```(?:json)?\s*\n([\s\S]*?)\n\s*```$/.exec(text)?.[1] ?? text;

/** An action as the model writes it. */
export function writeAction(name: string, input: JsonObject): string {
  return `Action: ${name}\nAction Input: ${JSON.stringify(input)}`;
}
