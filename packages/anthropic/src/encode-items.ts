import type { AssistantMessage, JsonObject, JsonValue, Part, ToolMessage, UserMessage } from '@guardloop/core/model';
import { hasText, isWireName, safeWord, shortHash, wellFormed, wellFormedText, wireName } from '@guardloop/core/model';
import type { Block } from './blocks.js';
import { isObject, textBlock, withoutLastThinking } from './blocks.js';
import { encodeParts, textOnly } from './encode-parts.js';
import type { Container } from './native-message.js';
import { readNative } from './native-message.js';

/** The maker of native messages of this adapter. */
export const providerName = 'anthropic.messages';

/** Something of an item that the API does not take, and so was left out or changed. */
export interface Dropped {
  readonly about: 'native' | 'part';
  readonly message: string;
}

/** A user item as blocks; none where nothing can be read. */
export interface UserForm {
  readonly blocks: readonly Block[];
  readonly dropped: readonly Dropped[];
}

/** An assistant item as blocks, whatever stands around it. */
export interface AssistantForm {
  readonly blocks: readonly Block[];
  /** The id of each call in call order, as it is sent unless an earlier call of the request has the same one. */
  readonly ids: readonly string[];
  /** True if the blocks are the provider's own. */
  readonly isNative: boolean;
  /** Where the provider's own tools ran. */
  readonly container?: Container | undefined;
  readonly dropped: readonly Dropped[];
}

/** A tool item as a `tool_result` that still lacks its `tool_use_id`. */
export interface ResultForm {
  readonly block: Block;
  readonly dropped: readonly Dropped[];
}

const userForms = new WeakMap<UserMessage, UserForm>();
const assistantForms = new WeakMap<AssistantMessage, AssistantForm>();
/** Of answers that another server made. */
const foreignForms = new WeakMap<AssistantMessage, AssistantForm>();
const resultForms = new WeakMap<ToolMessage, ResultForm>();

/** The wire form of a user item. Made once for an item, as the other two. */
export function userForm(item: UserMessage): UserForm {
  return remember(userForms, item, () => {
    const { blocks, dropped } = encodeParts(item.parts);
    return { blocks, dropped: dropped.map(ofPart) };
  });
}

/** `server` is that of the request, undefined for Claude: thinking, and fields of its own, go back to their maker alone. */
export function assistantForm(item: AssistantMessage, server: string | undefined): AssistantForm {
  if (isForeign(item, server)) return remember(foreignForms, item, () => neutralForm(item, [ofOtherServer]));
  return remember(assistantForms, item, () => {
    const { native } = item;
    if (native === undefined) return neutralForm(item, []);
    if (native.provider === providerName) return nativeForm(item) ?? neutralForm(item, [unreplayable]);
    return neutralForm(item, [ofOtherMaker(native.provider)]);
  });
}

export function resultForm(item: ToolMessage): ResultForm {
  return remember(resultForms, item, () => {
    const { blocks, dropped } = typeof item.content === 'string' ? { blocks: item.content, dropped: [] } : resultBlocks(item.content, item);
    return {
      block: { type: 'tool_result', content: withNote(blocks, item.note), ...(item.isError ? { is_error: true } : {}) },
      dropped: dropped.map(ofPart),
    };
  });
}

/** The same result as code takes it that called the tool itself: text alone. */
export function resultForCode({ block, dropped }: ResultForm): ResultForm {
  if (!Array.isArray(block.content)) return { block, dropped };
  const words = textOnly(block.content as readonly Block[], 'code that calls a tool takes text alone');
  return { block: { ...block, content: words.blocks }, dropped: [...dropped, ...words.dropped.map(ofPart)] };
}

/** The API refuses anything but text in a result that is an error. */
function resultBlocks(parts: readonly Part[], { isError }: ToolMessage): { blocks: readonly Block[]; dropped: readonly string[] } {
  const encoded = encodeParts(parts);
  if (!isError) return encoded;
  const words = textOnly(encoded.blocks, 'Anthropic takes text alone in a result that is an error');
  return { blocks: words.blocks, dropped: [...encoded.dropped, ...words.dropped] };
}

function withNote(content: string | readonly Block[], note: string | undefined): string | readonly Block[] {
  const noteBlocks = note !== undefined && hasText(note) ? [textBlock(wellFormedText(note))] : [];
  if (typeof content !== 'string') return content.length + noteBlocks.length === 0 ? noOutput : [...content, ...noteBlocks];
  const text = hasText(content) ? wellFormedText(content) : noOutput;
  return noteBlocks.length === 0 ? text : [textBlock(text), ...noteBlocks];
}

/** In place of an empty result: the API refuses one that is an error. */
const noOutput = '(no output)';

const ofPart = (message: string): Dropped => ({ about: 'part', message });

function ofOtherMaker(provider: string): Dropped {
  const maker = safeWord(provider) ?? 'another provider';
  return {
    about: 'native',
    message: `The message that ${maker} gave is not sent to Anthropic: its text and calls are, without reasoning.`,
  };
}

const ofOtherServer: Dropped = {
  about: 'native',
  message: 'The message as another server gave it is not sent to this one: its text and calls are, without reasoning.',
};

function isForeign({ native }: AssistantMessage, server: string | undefined): boolean {
  if (native?.provider !== providerName) return false;
  const made = readNative(native.message);
  return made !== undefined && made.server !== server;
}

const unreplayable: Dropped = {
  about: 'native',
  message: 'The message as Anthropic gave it is not whole and is not sent back: its text and calls are, without reasoning.',
};

function neutralForm(item: AssistantMessage, dropped: readonly Dropped[]): AssistantForm {
  const ids = item.calls.map((call, index) =>
    call.providerId !== undefined && isWireName(call.providerId) ? call.providerId : derivedId(item, index),
  );
  const calls = item.calls.map((call, index) => ({
    type: 'tool_use',
    id: ids[index],
    name: wireName(call.name),
    input: wellFormed(inputObject(call.input)),
  }));
  const text = hasText(item.text) ? [textBlock(wellFormedText(item.text))] : [];
  return { blocks: [...text, ...calls], ids, isNative: false, dropped };
}

/** The id for a call whose provider gave none that can be sent. Depends on nothing but the item and the call's place in it. */
export function derivedId(item: AssistantMessage, index: number): string {
  return `call_${shortHash(`${item.id}/${index}`)}`;
}

/** The API takes only objects: what a damaged history holds instead is wrapped as `{ "unparsable_input": … }`. */
function inputObject(input: JsonObject): JsonObject {
  const value: unknown = input;
  if (isObject(value)) return input;
  return { unparsable_input: typeof value === 'string' ? value : (JSON.stringify(value) ?? '') };
}

/** The provider's own blocks, if the API will take them back; else undefined. */
function nativeForm(item: AssistantMessage): AssistantForm | undefined {
  const native = readNative(item.native?.message);
  if (native === undefined) return undefined;
  const blocks = replayable(native.blocks);
  const calls = blocks.filter(({ type }) => type === 'tool_use');
  if (calls.length !== item.calls.length || !blocks.every(isWhole)) return undefined;
  return { blocks, ids: calls.map(({ id }) => String(id)), isNative: true, container: native.container, dropped: [] };
}

/** Blocks of the user's role: no answer of the API holds them, and none is taken in one. */
const onlyUsers = new Set(['image', 'document', 'tool_result', 'search_result']);

/** False for a block that the API would not have given so, and refuses. Types that are not known are taken to be whole. */
function isWhole(block: Block): boolean {
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string';
    case 'thinking':
      return typeof block.thinking === 'string' && isGiven(block.signature);
    case 'redacted_thinking':
      return isGiven(block.data);
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      return isWord(block.id) && isWord(block.name) && isObject(block.input);
    default:
      return !onlyUsers.has(block.type);
  }
}

/** False for text blocks without a readable character: the API sends them, and refuses them. */
export function isReadable(block: Block): boolean {
  return block.type !== 'text' || (typeof block.text === 'string' && hasText(block.text));
}

/** Blocks of an answer without those that the API never takes back: text that cannot be read, and thinking that nothing follows. */
export function replayable(blocks: readonly Block[]): readonly Block[] {
  const kept = withoutLastThinking(blocks.filter(isReadable));
  return (kept.length === blocks.length ? wellFormed(blocks) : wellFormed(kept)) as readonly Block[];
}

function isGiven(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && value !== '';
}

function isWord(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && isWireName(value);
}

function remember<K extends object, V>(forms: WeakMap<K, V>, item: K, make: () => V): V {
  let form = forms.get(item);
  if (form === undefined) {
    form = make();
    forms.set(item, form);
  }
  return form;
}
