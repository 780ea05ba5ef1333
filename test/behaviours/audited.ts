// The doors and the scripted model, watched: whatever a test does with them is audited when it is over.
import type { Log, ModelRequest } from '@guardloop/core';
import { resume as coreResume, run as coreRun, stream as coreStream } from '@guardloop/core';
import type { Script, ScriptedModel, ScriptedModelOptions } from '@guardloop/testing';
import { auditLog, scriptedModel as scripted } from '@guardloop/testing';
import { afterEach, expect } from 'vitest';
import { findBrokenPairs } from '../promises/pairs.js';

let logs: Promise<Log | undefined>[] = [];
let models: ScriptedModel[] = [];

function note<T extends PromiseLike<{ readonly log: Log }>>(result: T): T {
  logs.push(
    Promise.resolve(result).then(
      ({ log }) => log,
      () => undefined,
    ),
  );
  return result;
}

export const run = ((...given: Parameters<typeof coreRun>) => note(coreRun(...given))) as typeof coreRun;
export const stream = ((...given: Parameters<typeof coreStream>) => watched(coreStream(...given))) as typeof coreStream;
export const resume = ((...given: Parameters<typeof coreResume>) => watched(coreResume(...given))) as typeof coreResume;

/** Looks at a stream's result only when the test is over: awaiting it would lift the limit on unread text. */
function watched<T extends { readonly result: Promise<{ readonly log: Log }> }>(stream: T): T {
  later.push(() => note(stream.result));
  return stream;
}
let later: (() => unknown)[] = [];

/** A scripted model whose requests must all be legal. */
export function scriptedModel(script: Script, options?: ScriptedModelOptions): ScriptedModel {
  const model = scripted(script, options);
  models.push(model);
  return model;
}

/** What a request holds that no provider would take. */
export const illegal = (request: ModelRequest): readonly string[] => findBrokenPairs(request.messages);

afterEach(async () => {
  for (const look of later) look();
  const [noted, asked] = [logs, models];
  logs = [];
  models = [];
  later = [];
  for (const log of await Promise.all(noted)) if (log) expect(auditLog(log)).toEqual([]);
  for (const model of asked) expect(model.requests.flatMap(illegal)).toEqual([]);
});
