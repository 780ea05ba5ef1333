import type { Fields, Problems } from './anthropic-fields.js';
import { hasText, isFields, isWord, listOf, show, wordRule } from './anthropic-fields.js';

const imageTypes: readonly unknown[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** How the data of each image type begins, in base64. */
const imageMarks = { 'image/png': 'iVBORw0KGgo', 'image/jpeg': '/9j/', 'image/gif': 'R0lGOD', 'image/webp': 'UklGR' } as const;
/** Ten megabytes of base64. */
const mostImageData = 10 * 1024 * 1024;
const resultBlocks: readonly unknown[] = ['text', 'image', 'document', 'search_result', 'tool_reference'];
const userBlocks: readonly unknown[] = ['text', 'image', 'document', 'search_result', 'tool_result', 'container_upload'];

/** The fields of blocks whose every field is known: the API takes no other. */
const blockFields: Readonly<Record<string, readonly string[]>> = {
  text: ['text', 'citations', 'cache_control'],
  thinking: ['thinking', 'signature'],
  redacted_thinking: ['data'],
  tool_use: ['id', 'name', 'input', 'caller', 'cache_control'],
  tool_result: ['tool_use_id', 'content', 'is_error', 'cache_control'],
  image: ['source', 'cache_control'],
  document: ['source', 'title', 'context', 'citations', 'cache_control'],
};

const otherAnswers: readonly unknown[] = ['container_upload', 'compaction', 'fallback', 'mcp_tool_listing'];

/** One block of a message, by the role of that message. */
export function* checkBlock(block: unknown, at: string, role: unknown): Problems {
  if (!isFields(block) || typeof block.type !== 'string') return yield `${at}: not a block with a type`;
  yield* checkNames(block, at);
  if (role === 'assistant') yield* checkAssistantBlock(block, at);
  else if (!userBlocks.includes(block.type)) yield `${at}.type: ${show(block.type)} is not for user messages`;
  else if (block.type === 'tool_result') yield* checkResult(block, at);
  else yield* checkShown(block, at);
}

function* checkNames(block: Fields, at: string): Problems {
  const type = String(block.type);
  const known = Object.hasOwn(blockFields, type) ? blockFields[type] : undefined;
  if (known === undefined) return;
  for (const name of Object.keys(block))
    if (name !== 'type' && block[name] !== undefined && !known.includes(name)) yield `${at}.${name}: is no field of ${type}`;
}

function* checkAssistantBlock(block: Fields, at: string): Problems {
  const type = String(block.type);
  if (type === 'text') yield* checkText(block.text, at);
  else if (type === 'tool_use') yield* checkCall(block, at);
  else if (type === 'thinking') {
    if (typeof block.thinking !== 'string') yield `${at}.thinking: missing`;
    if (typeof block.signature !== 'string' || block.signature === '') yield `${at}.signature: missing`;
  } else if (type === 'redacted_thinking') {
    if (typeof block.data !== 'string' || block.data === '') yield `${at}.data: missing`;
  } else if (type === 'server_tool_use' || type === 'mcp_tool_use') yield* checkCall(block, at);
  else if (type === 'tool_result' || (!otherAnswers.includes(type) && !/^\w+_tool_result$/.test(type))) {
    yield `${at}.type: ${show(type)} is not for assistant messages`;
  }
}

function* checkCall({ id, name, input }: Fields, at: string): Problems {
  if (!isWord(id)) yield `${at}.id: ${show(id)} does not match ${wordRule.source}`;
  if (!isWord(name)) yield `${at}.name: ${show(name)} does not match ${wordRule.source}`;
  if (!isFields(input)) yield `${at}.input: the input of call ${show(id)} is not an object`;
}

function* checkResult({ tool_use_id: id, content, is_error: isError }: Fields, at: string): Problems {
  if (!isWord(id)) yield `${at}.tool_use_id: ${show(id)} does not match ${wordRule.source}`;
  if (isError !== undefined && typeof isError !== 'boolean') yield `${at}.is_error: not a boolean`;
  const isEmpty = content === undefined || content === '' || (Array.isArray(content) && content.length === 0);
  if (isError === true && isEmpty) yield `${at}.content: the result of ${show(id)} is an error and empty`;
  if (content !== undefined && typeof content !== 'string' && !Array.isArray(content)) yield `${at}.content: neither text nor a list`;
  for (const [index, inner] of listOf(content).entries()) {
    const place = `${at}.content.${index}`;
    if (isError === true && isFields(inner) && inner.type !== 'text')
      yield `${place}: the result of ${show(id)} is an error and holds more than text`;
    if (isFields(inner) && resultBlocks.includes(inner.type)) {
      yield* checkNames(inner, place);
      yield* checkShown(inner, place);
    } else yield `${place}: not a block for a tool_result`;
  }
}

/** Text, images and documents as users and tools show them. */
function* checkShown(block: Fields, at: string): Problems {
  if (block.type === 'text') {
    yield* checkText(block.text, at);
    if (listOf(block.citations).length > 0) yield `${at}.citations: not in user messages`;
  } else if (block.type === 'image') yield* checkImage(block.source, `${at}.source`);
  else if (block.type === 'document') yield* checkDocument(block.source, `${at}.source`);
}

/** True where a document in the request is to be cited. */
export function isCited(block: Fields): boolean {
  return (isFields(block.citations) && block.citations.enabled === true) || listOf(block.content).filter(isFields).some(isCited);
}

function* checkText(text: unknown, at: string): Problems {
  if (typeof text !== 'string') yield `${at}.text: missing`;
  else if (text === '') yield `${at}.text: empty`;
  else if (!hasText(text)) yield `${at}.text: only whitespace`;
}

function* checkImage(source: unknown, at: string): Problems {
  if (!isFields(source)) return yield `${at}: missing`;
  if (source.type !== 'base64') return yield* checkReference(source, at);
  if (!imageTypes.includes(source.media_type)) yield `${at}.media_type: ${show(source.media_type)} is none of ${imageTypes.join(', ')}`;
  yield* checkData(source.data, at);
  if (typeof source.data !== 'string') return;
  const data = source.data;
  if (data.length > mostImageData) yield `${at}.data: ${data.length} bytes, and ${mostImageData} are allowed`;
  const found = Object.entries(imageMarks).find(([, mark]) => data.startsWith(mark))?.[0];
  if (found !== undefined && found !== source.media_type) yield `${at}.media_type: ${show(source.media_type)}, but the data is ${found}`;
}

function* checkDocument(source: unknown, at: string): Problems {
  if (!isFields(source)) return yield `${at}: missing`;
  if (source.type === 'base64') {
    if (source.media_type !== 'application/pdf') yield `${at}.media_type: ${show(source.media_type)} is not application/pdf`;
    yield* checkData(source.data, at);
  } else if (source.type === 'text') {
    if (source.media_type !== 'text/plain') yield `${at}.media_type: ${show(source.media_type)} is not text/plain`;
    if (typeof source.data !== 'string' || !hasText(source.data)) yield `${at}.data: missing or without text`;
  } else if (source.type !== 'content') yield* checkReference(source, at);
}

function* checkData(data: unknown, at: string): Problems {
  if (typeof data !== 'string' || data.length % 4 !== 0 || !base64.test(data)) yield `${at}.data: not base64 (without a data: prefix)`;
}

function* checkReference(source: Fields, at: string): Problems {
  if (source.type === 'url') {
    if (typeof source.url !== 'string' || !/^https:\/\/./i.test(source.url)) yield `${at}.url: not an https address`;
  } else if (source.type !== 'file' || typeof source.file_id !== 'string')
    yield `${at}.type: ${show(source.type)} is unknown, or lacks its fields`;
}
