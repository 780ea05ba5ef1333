import type { Place } from './fault.js';
import { at, fault, flagAt, isPlainObject, told } from './fault.js';
import type { Truth } from './truth.js';
import { not } from './truth.js';
import type { TestName } from './value-tests.js';
import { testKinds, testNames } from './value-tests.js';

/** Something that is asked of one value. */
export interface FieldTest {
  /** `at most 1000`. */
  readonly expects: string;
  decide(value: unknown): Truth;
}

export const fieldTestNames: readonly string[] = [...testNames, 'noneOf', 'ignoreCase'];

/** Reads tests whose operands are written down. Throws CONFIG_INVALID. */
export function readFieldTests(given: ReadonlyMap<string, unknown>, place: Place): readonly FieldTest[] {
  const ignoreCase = given.has('ignoreCase') && flagAt(given.get('ignoreCase'), at(place, 'ignoreCase'));
  return [...testNames, 'noneOf' as const].flatMap((name) => {
    if (!given.has(name)) return [];
    const here = at(place, name);
    const kind = testKinds[name === 'noneOf' ? 'oneOf' : (name satisfies TestName)];
    const value = given.get(name);
    if (kind.mayRefer && isPlainObject(value))
      fault(here, `${told(value)} cannot be compared here: write the value down, or give a \`check\`.`);
    const operand = kind.read(value, here, ignoreCase) as never;
    const words = `${name === 'noneOf' ? 'not ' : ''}${kind.words(operand)}`;
    return [
      {
        expects: words,
        decide: (own) => (name === 'noneOf' ? not(kind.decide(own, operand, ignoreCase)) : kind.decide(own, operand, ignoreCase)),
      } satisfies FieldTest,
    ];
  });
}
