import { expect, it } from 'vitest';
import {
  byEmbeddings,
  dropObservations,
  evaluateSummariser,
  lastTurns,
  selectTools,
  summarise,
  summariseObservation,
  tokenBudget,
  views,
} from './index.js';

const model = { id: 'm', provider: 'p', stream: () => [] } as never;
const when = { messages: 1 };
/** What people give by mistake: nothing, a name, what makes a model in place of the model, one that was not awaited. */
const wrong = [undefined, null, 7, 'gpt-5', [], {}, Promise.resolve(model)];
const invalid = expect.objectContaining({ name: 'GuardloopError', code: 'CONFIG_INVALID' });

it.each(wrong.map((given) => [String(given), given] as const))(
  'what is no model, view or function is refused when it is given: %s',
  async (_what, any) => {
    const given = any as never;
    const makes: readonly (() => unknown)[] = [
      () => selectTools()(given),
      () => byEmbeddings(given),
      () => views(given),
      () => views(lastTurns(2), given, dropObservations({ olderThan: 1 })),
      () => summarise({ model: given, when }),
      () => summarise(given),
      () => summariseObservation({ model: given, maxChars: 300 }),
    ];
    for (const make of makes) expect(make).toThrow(invalid);
    await expect(evaluateSummariser([{ name: 'a', output: 'o1' }], given)).rejects.toEqual(invalid);
  },
);

it('what makes a model is none, and neither is a function', () => {
  const makesModel = (() => model) as never;
  expect(() => summarise({ model: makesModel, when })).toThrow(/summarise: model is no model/);
  expect(() => selectTools()(makesModel)).toThrow(invalid);
});

it('options of another type are refused when they are given', async () => {
  for (const given of [null, 7, [], 'x'] as never[]) {
    expect(() => selectTools(given)).toThrow(invalid);
    expect(() => tokenBudget(100, given)).toThrow(invalid);
    expect(() => summarise({ model, when, onError: given })).toThrow(invalid);
    expect(() => summarise({ model, when, settings: given })).toThrow(invalid);
    expect(() => summariseObservation({ model, maxChars: 300, onError: given })).toThrow(invalid);
  }
  for (const given of [null, 7, ['x']] as never[]) {
    expect(() => summarise({ model, when, instructions: given })).toThrow(invalid);
    expect(() => summariseObservation({ model, maxChars: 300, instructions: given })).toThrow(invalid);
  }
  for (const cases of [undefined, 'x', [null], [{}], [{ name: 'a' }]] as never[])
    await expect(evaluateSummariser(cases, () => '')).rejects.toEqual(invalid);
});
