import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { JsonObject, JsonSchema, JsonValue, Model, ModelEvent } from '@guardloop/core';
import { defineAgent, defineTool, toolError } from '@guardloop/core';
import type { EvalResult, EvalTask } from '@guardloop/evals';
import { evaluate } from '@guardloop/evals';

interface RecordedStep {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly result: JsonValue;
  readonly error: string | null;
}
interface Trace {
  readonly task: string;
  readonly steps: readonly RecordedStep[];
  readonly communicate_info: readonly string[] | null;
}
interface RecordedTool {
  readonly name: string;
  readonly type: 'read' | 'write' | 'generic' | 'think';
  readonly schema: { readonly function: { readonly description: string; readonly parameters: JsonSchema } };
}

const readLines = <T>(file: string): readonly T[] =>
  gunzipSync(readFileSync(file))
    .toString('utf8')
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as T]));

/**
 * The retail tasks of tau2-bench, as they were recorded: a model makes the recorded calls, one a turn, the tools give the recorded results, and
 * the trajectory is scored. It tells what the recordings are like, and that every call of a real tool set comes through schemas and loop.
 */
export async function evaluateRetail(directory: string): Promise<EvalResult> {
  const tools = readLines<RecordedTool>(join(directory, 'tools.jsonl.gz'));
  const traces = new Map(readLines<Trace>(join(directory, 'traces.jsonl.gz')).map((trace) => [`retail-${trace.task}`, trace]));
  const tasks = [...traces].map(
    ([id, { steps, communicate_info: told }]): EvalTask => ({
      id,
      input: 'Do what was recorded.',
      calls: steps.map(({ name, arguments: input }) => ({ tool: name, input })),
      innocent: true,
      ...(told && told.length > 0 ? { answer: { contains: told } } : {}),
    }),
  );
  return evaluate({
    name: 'retail',
    tasks,
    agent: ({ task }) => {
      const trace = traces.get(task.id) ?? { task: '', steps: [], communicate_info: null };
      let done = 0;
      return defineAgent({
        name: 'retail',
        instructions: '',
        model: recorded(trace),
        tools: tools.map(({ name, type, schema: { function: told } }) =>
          defineTool({
            name,
            description: told.description,
            input: told.parameters as JsonSchema & { readonly type: 'object' },
            flow: { effect: type === 'write' ? 'write' : 'read', results: 'trusted' },
            execute: () => {
              const step = trace.steps[done++];
              if (step?.error == null) return (step?.result ?? '') as JsonObject | string;
              throw toolError(step.error, { errorClass: /not found/i.test(step.error) ? 'not_found' : 'failed' });
            },
          }),
        ),
      });
    },
    run: { limits: { turns: 200, repeats: 50 } },
  });
}

function recorded({ steps, communicate_info: told }: Trace): Model {
  return {
    id: 'recorded',
    provider: 'recorded',
    async *stream({ turn }): AsyncGenerator<ModelEvent> {
      const step = steps[turn - 1];
      if (step) yield { type: 'tool.call', call: { name: step.name, input: step.arguments } };
      else yield { type: 'text.delta', text: ['Done.', ...(told ?? [])].join(' ') };
      yield { type: 'end', stopReason: step ? 'tools' : 'stop', usage: { requests: 1 } };
    },
  };
}
