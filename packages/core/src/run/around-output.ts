import type { AroundInfo } from '../define/types.js';
import type { JsonValue, Part } from '../model/types.js';
import type { OpenCall } from './open-call.js';
import { contentText, deepFreeze } from './plain-output.js';
import type { Output } from './tool-output.js';
import { toOutput } from './tool-output.js';

/** What is put around a tool is told this of the call. */
export function aroundInfo({ handle, call }: OpenCall): AroundInfo {
  return Object.freeze({ context: handle.root.context, run: handle.state.id, agent: handle.state.agent, callId: call.call.id });
}

/**
 * The output with its texts as what is put around the tool makes them: to be called before anybody is shown it. Undefined where that threw:
 * then the result is withheld. Never rejects; an output of a tool with nothing around it is given back at once.
 */
export function aroundOutput(open: OpenCall, output: Output): Output | Promise<Output | undefined> {
  const text = open.tool.around?.text;
  if (text === undefined) return output;
  const info = aroundInfo(open);
  return mapOutput(output, async (one) => {
    const made: unknown = await text(one, info);
    if (typeof made !== 'string') throw new TypeError('no text');
    return made;
  }).catch(() => undefined);
}

type Write = (text: string) => Promise<string>;

async function mapOutput({ content, value, isStructured }: Output, write: Write): Promise<Output> {
  if (typeof content === 'string') {
    if (isStructured) return toOutput(await mapValue(value, write));
    return toOutput(await write(content));
  }
  const parts = deepFreeze(await Promise.all(content.map((part) => mapPart(part, write))));
  // A list of parts is its own value; of a structured one with media in it the text is JSON.
  const mapped =
    value === (content as unknown)
      ? (parts as unknown as JsonValue)
      : typeof value === 'string'
        ? contentText(parts)
        : await mapValue(value, write);
  return { content: parts, value: mapped, isStructured };
}

async function mapPart(part: Part, write: Write): Promise<Part> {
  if (part.type === 'text') return { ...part, text: await mapJsonText(part.text, write) };
  return part.type === 'file' && part.name !== undefined ? { ...part, name: await write(part.name) } : part;
}

async function mapJsonText(text: string, write: Write): Promise<string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return write(text);
  }
  return typeof value === 'object' && value !== null ? JSON.stringify(await mapValue(value as JsonValue, write)) : write(text);
}

/** Each string, name of a field and number of a plain value: each different one is written once. */
async function mapValue(value: JsonValue, write: Write): Promise<JsonValue> {
  const texts = new Set<string>();
  collect(value, texts);
  const written = new Map(await Promise.all([...texts].map(async (text) => [text, await write(text)] as const)));
  return rebuild(value, (text) => written.get(text) ?? text);
}

function collect(value: JsonValue | undefined, texts: Set<string>): void {
  if (typeof value === 'string') texts.add(value);
  else if (typeof value === 'number') texts.add(String(value));
  else if (typeof value === 'object' && value !== null) {
    if (Array.isArray(value)) for (const element of value as readonly JsonValue[]) collect(element, texts);
    else
      for (const [name, field] of Object.entries(value)) {
        texts.add(name);
        collect(field, texts);
      }
  }
}

function rebuild(value: JsonValue, written: (text: string) => string): JsonValue {
  if (typeof value === 'string') return written(value);
  if (typeof value === 'number') {
    const text = written(String(value));
    return text === String(value) ? value : text;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((element) => rebuild(element, written));
  const fields = Object.entries(value).map(([name, field]) => [written(name), rebuild(field ?? null, written)] as const);
  return Object.fromEntries(fields);
}
