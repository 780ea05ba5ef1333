import { expect, it } from 'vitest';
import { scriptedModel } from '../scripted-model.js';
import { streamConformance } from './stream-conformance.js';

it('a suite without a recording is refused: it would prove nothing', () => {
  expect(() => streamConformance('mine', { model: () => scriptedModel([]), recordings: [] })).toThrow(
    "streamConformance('mine') was given no recording. Put NAME.sse and NAME.json into the folder that is read.",
  );
});
