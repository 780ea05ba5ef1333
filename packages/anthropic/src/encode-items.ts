import type { AssistantMessage, JsonObject, JsonValue, ToolMessage, UserMessage } from '@guardloop/core/model';
import { hasText, isWireName, shortHash, wellFormed, wellFormedText, wireName } from '@guardloop/core/model';
import type { Block } from './blocks.js';
import { isThinking, textBlock } from './blocks.js';
import { encodeParts } from './encode-parts.js';

/** The maker of native messages of this adapter. */
export const providerName = 'anthropic.messages';

/** An assistant item as blocks, whatever stands around it. */
export interface AssistantForm {
  readonly blocks: readonly Block[];
  /** The id of each call in call order, as it is sent unless an earlier call of the request has the same one. */
  readonly ids: readonly string[];
  /** True if the blocks are the provider's own. */
  readonly isNative: boolean;
}

const userForms = new WeakMap<UserMessage, readonly Block[]>();
const assistantForms = new WeakMap<AssistantMessage, AssistantForm>();
const resultForms = new WeakMap<ToolMessage, Block>();

/** The wire form of a user item; empty where nothing can be read. Made once for an item, as the other two. */
export function userForm(item: UserMessage): readonly Block[] {
  return remember(userForms, item, () => encodeParts(item.parts));
}

export function assistantForm(item: AssistantMessage): AssistantForm {
  return remember(assistantForms, item, () => nativeForm(item) ?? neutralForm(item));
}

/** A tool item as a `tool_result` that still lacks its `tool_use_id`. */
export function resultForm(item: ToolMessage): Block {
  return remember(resultForms, item, () => ({
    type: 'tool_result',
    content: resultContent(item),
    ...(item.isError ? { is_error: true } : {}),
  }));
}

/** For a call that has no result where one must stand. */
export const missingResult: Block = { type: 'tool_result', content: 'No result of this call was recorded.', is_error: true };

function resultContent(item: ToolMessage): string | Block[] {
  const note = item.note !== undefined && hasText(item.note) ? [textBlock(wellFormedText(item.note))] : [];
  if (typeof item.content !== 'string') {
    const blocks = [...encodeParts(item.content), ...note];
    return blocks.length === 0 ? noOutput : blocks;
  }
  const text = hasText(item.content) ? wellFormedText(item.content) : noOutput;
  return note.length === 0 ? text : [textBlock(text), ...note];
}

/** In place of an empty result: the API refuses one that is an error. */
const noOutput = '(no output)';

function neutralForm(item: AssistantMessage): AssistantForm {
  const ids = item.calls.map((call, index) =>
    call.providerId !== undefined && isWireName(call.providerId) ? call.providerId : derivedId(item, index),
  );
  const calls = item.calls.map((call, index) => ({
    type: 'tool_use',
    id: ids[index],
    name: wireName(call.name),
    input: wellFormed(inputObject(call.input)),
  }));
  return { blocks: [...(hasText(item.text) ? [textBlock(wellFormedText(item.text))] : []), ...calls], ids, isNative: false };
}

/** The id for a call whose provider gave none that can be sent. Depends on nothing but the item and the call's place in it. */
export function derivedId(item: AssistantMessage, index: number): string {
  return `call_${shortHash(`${item.id}/${index}`)}`;
}

/** The API takes only objects: what a damaged history holds instead is wrapped as `{ "unparsable_input": … }`. */
function inputObject(input: JsonObject): JsonObject {
  const value: unknown = input;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return input;
  return { unparsable_input: typeof value === 'string' ? value : (JSON.stringify(value) ?? '') };
}

/** The provider's own blocks, if the API will take them back; else undefined. */
function nativeForm(item: AssistantMessage): AssistantForm | undefined {
  if (item.native?.provider !== providerName || !isBlocks(item.native.message)) return undefined;
  const blocks = replayable(item.native.message);
  const calls = blocks.filter(({ type }) => type === 'tool_use');
  const isWhole =
    calls.length === item.calls.length &&
    calls.every(
      ({ id, name, input }) => isWord(id) && isWord(name) && typeof input === 'object' && input !== null && !Array.isArray(input),
    ) &&
    blocks.every((block) => block.type !== 'thinking' || (typeof block.signature === 'string' && block.signature !== ''));
  return isWhole ? { blocks, ids: calls.map(({ id }) => String(id)), isNative: true } : undefined;
}

/** False for text blocks without a readable character: the API sends them, and refuses them. */
export function isReadable(block: Block): boolean {
  return block.type !== 'text' || (typeof block.text === 'string' && hasText(block.text));
}

/** Blocks of an answer without those that the API never takes back: text that cannot be read, and thinking that nothing follows. */
export function replayable(blocks: readonly Block[]): readonly Block[] {
  const kept = blocks.filter(isReadable);
  while (isThinking(kept.at(-1))) kept.pop();
  return (kept.length === blocks.length ? wellFormed(blocks) : wellFormed(kept)) as readonly Block[];
}

function isBlocks(message: JsonValue): message is readonly Block[] {
  return Array.isArray(message) && message.every((block) => typeof block === 'object' && block !== null && typeof block.type === 'string');
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
