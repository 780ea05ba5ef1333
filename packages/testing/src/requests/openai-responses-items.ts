import type { Fields, Where } from './openai-fields.js';
import { checkFieldNames, fieldsOf, isBase64, isGiven, isObjectText, namePattern } from './openai-fields.js';

interface ItemRule {
  /** Left out for items of the provider's own tools: they are not looked into. */
  readonly fields?: readonly string[];
  /** How its id begins, if it has one. */
  readonly prefix?: string;
  readonly needsId?: boolean;
  check?(item: Fields, where: Where): void;
}

const callId = /^[a-zA-Z0-9_-]{1,64}$/;
const statuses = ['completed', 'incomplete'];
const inputParts = ['input_text', 'input_image', 'input_file'];

const rules: Readonly<Record<string, ItemRule>> = {
  message: { fields: ['type', 'role', 'content', 'id', 'status', 'phase'], prefix: 'msg', check: checkMessage },
  function_call: {
    fields: ['type', 'id', 'call_id', 'name', 'arguments', 'status', 'namespace', 'caller'],
    prefix: 'fc',
    check: checkCall,
  },
  function_call_output: { fields: ['type', 'id', 'call_id', 'output', 'status', 'name', 'namespace', 'caller'], check: checkOutput },
  reasoning: { fields: ['type', 'id', 'summary', 'content', 'encrypted_content', 'status'], prefix: 'rs', check: checkReasoningItem },
  custom_tool_call: {
    fields: ['type', 'id', 'call_id', 'name', 'input', 'status', 'namespace', 'caller'],
    prefix: 'ctc',
    check: checkCallId,
  },
  custom_tool_call_output: { fields: ['type', 'id', 'call_id', 'output', 'status', 'caller'], check: checkOutput },
  web_search_call: { prefix: 'ws', needsId: true },
  file_search_call: { prefix: 'fs', needsId: true },
  code_interpreter_call: { prefix: 'ci', needsId: true },
  mcp_list_tools: { prefix: 'mcpl', needsId: true },
  mcp_call: { prefix: 'mcp', needsId: true },
  compaction: { fields: ['type', 'id', 'encrypted_content', 'created_by'], prefix: 'cmp', check: checkEncrypted },
};
/** Items of other tools: legal, and not looked into. */
const otherItems = new Set(
  `computer_call computer_call_output shell_call shell_call_output local_shell_call local_shell_call_output apply_patch_call
   apply_patch_call_output tool_search_call tool_search_output additional_tools program program_output`.split(/\s+/),
);
const refusedItems: Readonly<Record<string, string>> = {
  item_reference: 'refers to an item that the provider has not stored',
  image_generation_call: 'is not taken without state at the provider',
  mcp_approval_request: 'waits for an approval that is not there',
};

/** The type of an item; a message may leave it out. */
export function typeOf(item: Fields): string {
  if (typeof item.type === 'string') return item.type;
  return typeof item.role === 'string' ? 'message' : '';
}

/** True for what a model's reasoning can lead to: more of the same answer. */
export function isFollowing(item: Fields): boolean {
  const type = typeOf(item);
  if (type === 'message') return item.role === 'assistant';
  return !/_output$|^item_reference$|^additional_tools$/.test(type);
}

/** One item, for itself. */
export function checkItem(item: Fields, { place, report }: Where): void {
  const type = typeOf(item);
  if (Object.hasOwn(refusedItems, type)) {
    report(place, `the item ${String(item.id ?? type)} ${refusedItems[type]}`);
    return;
  }
  const rule = Object.hasOwn(rules, type) ? rules[type] : undefined;
  if (rule === undefined) {
    if (!otherItems.has(type)) report(place, `has the unknown type ${JSON.stringify(item.type)}`);
    return;
  }
  if (rule.fields !== undefined) checkFieldNames(item, rule.fields, { place, report });
  checkId(item.id, rule, { place, report });
  if (rule.fields !== undefined && isGiven(item.status) && !statuses.includes(String(item.status)))
    report(`${place}.status`, `must be ${statuses.join(' or ')}`);
  rule.check?.(item, { place, report });
}

function checkId(id: unknown, { prefix, needsId }: ItemRule, { place, report }: Where): void {
  if (!isGiven(id)) {
    if (needsId === true) report(`${place}.id`, 'is missing');
    return;
  }
  if (typeof id !== 'string' || id === '' || id.length > 64)
    report(`${place}.id`, `${JSON.stringify(id)} must be text of 1 to 64 characters`);
  else if (prefix !== undefined && !id.startsWith(prefix)) report(`${place}.id`, `${JSON.stringify(id)} must begin with ${prefix}`);
}

function checkMessage(item: Fields, { place, report }: Where): void {
  const { role, content } = item;
  if (role !== 'user' && role !== 'assistant' && role !== 'system' && role !== 'developer') {
    report(place, `has the unknown role ${JSON.stringify(role)}`);
    return;
  }
  if (isGiven(item.phase) && !(role === 'assistant' && ['commentary', 'final_answer'].includes(String(item.phase))))
    report(`${place}.phase`, 'must be commentary or final_answer, of an assistant');
  if (role === 'user' && typeof content === 'string') return;
  checkContent(content, role === 'assistant' ? ['output_text', 'refusal'] : inputParts, { place: `${place}.content`, report });
}

function checkContent(content: unknown, types: readonly string[], { place, report }: Where): void {
  if (typeof content === 'string') {
    if (content === '') report(place, 'is empty');
  } else if (!Array.isArray(content)) report(place, 'must be text or a list of parts');
  else if (content.length === 0) report(place, 'is an empty list');
  else for (const [index, part] of content.entries()) checkPart(fieldsOf(part) ?? {}, types, { place: `${place}[${index}]`, report });
}

function checkPart(part: Fields, types: readonly string[], { place, report }: Where): void {
  if (typeof part.type !== 'string' || !types.includes(part.type)) {
    report(place, `the part type ${JSON.stringify(part.type)} is not taken here: ${types.join(', ')}`);
    return;
  }
  checkFieldNames(part, ['type', 'prompt_cache_breakpoint', ...(partFields[part.type] ?? [])], { place, report });
  const problem = partChecks[part.type]?.(part);
  if (problem !== undefined) report(place, problem);
}

const partFields: Readonly<Record<string, readonly string[]>> = {
  input_text: ['text'],
  input_image: ['image_url', 'file_id', 'detail'],
  input_file: ['file_data', 'file_id', 'file_url', 'filename', 'detail'],
  output_text: ['text', 'annotations', 'logprobs'],
  refusal: ['refusal'],
};

const partChecks: Readonly<Record<string, (part: Fields) => string | undefined>> = {
  input_text: ({ text }) => (typeof text === 'string' && text !== '' ? undefined : 'a text part needs text'),
  output_text: ({ text, annotations }) => {
    if (typeof text !== 'string') return 'a text part needs text';
    return annotations === undefined || Array.isArray(annotations) ? undefined : 'annotations must be a list';
  },
  refusal: ({ refusal }) => (typeof refusal === 'string' && refusal !== '' ? undefined : 'a refusal part needs text'),
  input_image: ({ image_url: url, file_id: file, detail }) => {
    if (isGiven(detail) && !['auto', 'low', 'high', 'original'].includes(String(detail))) return 'detail is unknown';
    if (typeof file === 'string' && !isGiven(url)) return undefined;
    return isImageUrl(url) ? undefined : 'image_url must be an http address or a base64 data URL of a png, jpeg, gif or webp image';
  },
  input_file: ({ file_data: data, file_id: file, file_url: url, filename }) => {
    if ([data, file, url].filter(isGiven).length !== 1) return 'a file needs one of file_data, file_id and file_url';
    if (isGiven(url))
      return typeof url === 'string' && /^https?:\/\//.test(url) && URL.canParse(url) ? undefined : 'file_url must be an http address';
    if (isGiven(file)) return undefined;
    const match = typeof data === 'string' ? /^data:[\w.+-]+\/[\w.+-]+;base64,(.*)$/s.exec(data) : null;
    if (!isBase64(match?.[1])) return 'file_data must be a base64 data URL';
    return typeof filename === 'string' && filename !== '' ? undefined : 'file_data needs a filename';
  },
};

function isImageUrl(url: unknown): boolean {
  if (typeof url !== 'string') return false;
  if (/^https?:\/\//.test(url)) return URL.canParse(url);
  return isBase64(/^data:image\/(?:png|jpeg|gif|webp);base64,(.*)$/s.exec(url)?.[1]);
}

function checkCallId({ call_id: id }: Fields, { place, report }: Where): void {
  if (typeof id !== 'string' || !callId.test(id))
    report(`${place}.call_id`, `${JSON.stringify(id)} must be 1 to 64 characters of [a-zA-Z0-9_-]`);
}

function checkCall(item: Fields, where: Where): void {
  const { place, report } = where;
  checkCallId(item, where);
  if (typeof item.name !== 'string' || !namePattern.test(item.name))
    report(`${place}.name`, `${JSON.stringify(item.name)} is no legal name`);
  if (!isObjectText(item.arguments)) report(`${place}.arguments`, `of call ${String(item.call_id)} must be the JSON text of an object`);
}

function checkOutput(item: Fields, where: Where): void {
  checkCallId(item, where);
  if (typeof item.output === 'string') return;
  checkContent(item.output, inputParts, { place: `${where.place}.output`, report: where.report });
}

function checkReasoningItem(item: Fields, where: Where): void {
  const { place, report } = where;
  checkEncrypted(item, where);
  const isList = (value: unknown, type: string): boolean =>
    Array.isArray(value) && value.every((part) => fieldsOf(part)?.type === type && typeof fieldsOf(part)?.text === 'string');
  if (!isList(item.summary, 'summary_text')) report(`${place}.summary`, 'must be a list of summary_text parts; it may be empty');
  if (isGiven(item.content) && !isList(item.content, 'reasoning_text'))
    report(`${place}.content`, 'must be a list of reasoning_text parts, or left out');
}

function checkEncrypted({ id, type, encrypted_content: content }: Fields, { place, report }: Where): void {
  if (typeof content !== 'string' || content === '')
    report(place, `the ${String(type)} ${String(id ?? 'item')} has no encrypted_content, and the provider has not stored it`);
}
