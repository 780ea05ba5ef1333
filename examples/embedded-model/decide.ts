// Decides what to do next: call tools, hand over, ask back, or answer.
import type { JsonObject, ModelRequest, ToolSpec } from '@guardloop/core';
import type { Exchange } from './exchange.js';
import { readExchange } from './exchange.js';
import { fillArguments, propertiesOf } from './fill-arguments.js';
import { findOrders } from './obey.js';
import { humanise, tellResult } from './tell.js';
import { bestTool, wordsOf } from './words.js';

/** One move of the model: calls, or a text. */
export type Move = { readonly calls: readonly { readonly name: string; readonly input: JsonObject }[] } | { readonly text: string };

interface Wish {
  readonly tool: ToolSpec;
  readonly input: JsonObject;
  readonly missing: readonly string[];
}

const isHandoff = (tool: ToolSpec): boolean => tool.name.startsWith('transfer_to_');

/** A pure function of the request: the same transcript gives the same move, in whatever process. */
export function decide(request: ModelRequest): Move {
  const exchange = readExchange(request);
  if (request.note !== undefined) return { text: 'I am sorry, I cannot tell you that.' };
  if (request.output !== undefined && exchange.results.length > 0) return { text: fillAnswer(request.output.schema, exchange) };
  const tools = request.toolChoice === 'none' ? [] : request.tools;
  const open = openWishes(wishesOf(exchange, tools), exchange);
  const ready = open.filter((wish) => wish.missing.length === 0);
  const calls = ready.filter(({ tool }) => !isHandoff(tool));
  if (calls.length > 0) return { calls: calls.map(({ tool, input }) => ({ name: tool.name, input })) };
  const handoff = ready.find(({ tool }) => isHandoff(tool) && exchange.handoffs < 2);
  if (handoff !== undefined) return { calls: [{ name: handoff.tool.name, input: handoff.input }] };
  const stuck = open.find((wish) => wish.missing.length > 0);
  if (stuck !== undefined) return lookUp(stuck, exchange, tools) ?? { text: askBack(stuck, exchange) };
  if (request.output !== undefined) return { text: fillAnswer(request.output.schema, exchange) };
  return { text: answer(exchange, request.tools) };
}

/** Everything that the request asks for, then everything that a result orders. Its order does not change as results come in. */
function wishesOf(exchange: Exchange, tools: readonly ToolSpec[]): readonly Wish[] {
  const wishes: Wish[] = [];
  const add = (tool: ToolSpec, texts: readonly string[]): void => {
    const { input, missing } = fillArguments(tool.schema, texts);
    const isKnown = wishes.some((wish) => wish.tool === tool && JSON.stringify(wish.input) === JSON.stringify(input));
    if (!isKnown) wishes.push({ tool, input, missing });
  };
  const results = exchange.results.flatMap(({ content, isError }) => (typeof content === 'string' && !isError ? [content] : []));
  let last: ToolSpec | undefined;
  for (const clause of exchange.request.split(/(?<=[.?!;])\s+|\s+(?:and|then)\s+|\n/)) {
    const words = wordsOf(clause);
    // A clause of ids alone goes on with what was asked before it: "Where is ?"
    const tool = bestTool(words, tools) ?? (words.size === 0 && /\d/.test(clause) ? last : undefined);
    if (tool === undefined) continue;
    last = tool;
    add(tool, [clause, exchange.request, ...results, ...exchange.earlier]);
  }
  for (const { tool, text } of findOrders(exchange.results, tools)) add(tool, [text]);
  return wishes;
}

/** Wishes that no call was made for yet. A tool that failed is not tried again. */
function openWishes(wishes: readonly Wish[], { calls, results }: Exchange): readonly Wish[] {
  const made = new Map(calls);
  const failed = new Set(results.filter(({ isError }) => isError).map(({ tool }) => tool));
  return wishes.filter(({ tool }) => {
    const count = made.get(tool.name) ?? 0;
    if (count > 0) made.set(tool.name, count - 1);
    return count === 0 && !failed.has(tool.name);
  });
}

/** What is missing may be found by another tool: the one that speaks of it most. */
function lookUp(stuck: Wish, exchange: Exchange, tools: readonly ToolSpec[]): Move | undefined {
  const wanted = new Set(
    propertiesOf(stuck.tool.schema)
      .filter(([name]) => stuck.missing.includes(name))
      .flatMap(([name, schema]) => [...wordsOf(`${name} ${typeof schema.description === 'string' ? schema.description : ''}`)]),
  );
  const others = tools.filter((tool) => tool !== stuck.tool && !isHandoff(tool) && !exchange.calls.has(tool.name));
  const tool = bestTool(wanted, others);
  if (tool === undefined) return undefined;
  const { input, missing } = fillArguments(tool.schema, [exchange.request, ...exchange.earlier]);
  return missing.length > 0 ? undefined : { calls: [{ name: tool.name, input }] };
}

function askBack({ tool, missing }: Wish, { results }: Exchange): string {
  const needed = propertiesOf(tool.schema)
    .filter(([name]) => missing.includes(name))
    .map(([name, { description }]) => (typeof description === 'string' ? description.replace(/\.$/, '') : humanise(name)));
  const question = `For that (${humanise(tool.name)}) I need to know: ${needed.join('; ')}.`;
  return [...results.map(tellResult), question].join(' ');
}

/** A structured answer: its fields, found in what was asked and read. */
function fillAnswer(schema: JsonObject, { request, results }: Exchange): string {
  const texts = [...results.map((result) => (typeof result.content === 'string' ? result.content : '')).reverse(), request];
  return JSON.stringify(fillArguments(schema, texts).input);
}

function answer({ results }: Exchange, tools: readonly ToolSpec[]): string {
  if (results.length > 0) return results.map(tellResult).join(' ');
  const skills = tools.map((tool) => `${tool.description.replace(/^Hand the conversation over to (\w+): /, '').replace(/\.$/, '')}`);
  return skills.length === 0
    ? 'I have no tool that could help with that.'
    : `I can help with this: ${skills.join('; ')}. What do you need?`;
}
