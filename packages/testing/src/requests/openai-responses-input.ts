import type { Fields, Report } from './openai-fields.js';
import { fieldsOf } from './openai-fields.js';
import { checkItem, isFollowing, typeOf } from './openai-responses-items.js';

/** Items that answer a call, and the type of the call that they answer. */
const callOfOutput: Readonly<Record<string, string>> = {
  function_call_output: 'function_call',
  custom_tool_call_output: 'custom_tool_call',
  computer_call_output: 'computer_call',
  shell_call_output: 'shell_call',
  apply_patch_call_output: 'apply_patch_call',
  program_output: 'program',
};
const answered = new Set(Object.values(callOfOutput));

/** The items of a request: each for itself, calls and their outputs, reasoning and what it led to, and ids that are used twice. */
export function checkInput(input: unknown, report: Report): void {
  if (typeof input === 'string' && input !== '') return;
  if (!Array.isArray(input) || input.length === 0) {
    report('input', 'must be text or a list with at least one item');
    return;
  }
  const items = input.map((item) => fieldsOf(item) ?? {});
  for (const [index, item] of items.entries()) checkItem(item, { place: `input[${index}]`, report });
  checkCalls(items, report);
  checkReasoning(items, report);
  checkIds(items, report);
}

function checkCalls(items: readonly Fields[], report: Report): void {
  const places = new Map<string, number>();
  const done = new Set<string>();
  for (const [index, item] of items.entries()) {
    const type = typeOf(item);
    const id = String(item.call_id);
    const called = Object.hasOwn(callOfOutput, type) ? callOfOutput[type] : undefined;
    if (answered.has(type)) {
      if (places.has(id)) report(`input[${index}]`, `the call id ${id} is used by two calls`);
      else places.set(id, index);
    }
    if (called === undefined) continue;
    const place = places.get(id);
    if (place === undefined) report(`input[${index}]`, `answers the call ${id}, which no item before it makes`);
    else if (typeOf(items[place] ?? {}) !== called) report(`input[${index}]`, `answers the call ${id}, which is no ${called}`);
    else if (done.has(id)) report(`input[${index}]`, `answers the call ${id} a second time`);
    done.add(id);
  }
  for (const [id, index] of places) if (!done.has(id)) report(`input[${index}]`, `the call ${id} has no output`);
}

function checkReasoning(items: readonly Fields[], report: Report): void {
  for (const [index, item] of items.entries()) {
    const next = items[index + 1];
    if (typeOf(item) === 'reasoning' && (next === undefined || !isFollowing(next)))
      report(`input[${index}]`, `the reasoning ${String(item.id ?? 'item')} stands without the item that it led to`);
  }
}

function checkIds(items: readonly Fields[], report: Report): void {
  const ids = new Set<unknown>();
  for (const [index, { id }] of items.entries()) {
    if (typeof id !== 'string') continue;
    if (ids.has(id)) report(`input[${index}].id`, `${id} is the id of two items`);
    ids.add(id);
  }
}
