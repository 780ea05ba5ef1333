import type { JsonObject, JsonValue, StrictRules } from '../model/types.js';
import type { Alternatives } from './alternatives.js';
import { fieldNames, mostAlternatives, requiredOf } from './alternatives.js';
import type { At } from './strict-refusal.js';
import { refuseStrict } from './strict-refusal.js';

const tell = 'Give each a field with a constant of its own';

/** A union that is being converted. */
interface Union {
  readonly keyword: 'anyOf' | 'oneOf';
  readonly branches: readonly JsonValue[];
  readonly at: At;
}

/**
 * Refuses a union that means something else in the strict form: `oneOf` of alternatives that may overlap; and, with null for what is left
 * out, alternatives of which it could not be told whose null it is.
 */
export function refuseConfused(union: Union, alternatives: Alternatives, rules: StrictRules): void {
  const leaves = union.branches.slice(0, mostAlternatives + 1).map((branch) => alternatives.leaves(branch));
  if (leaves.flat().length > mostAlternatives)
    refuseStrict(union.at, union.keyword, `It has more than ${mostAlternatives} alternatives. Name fewer.`);
  for (const [index, ones] of leaves.entries()) {
    const others = leaves.slice(index + 1).flat();
    for (const one of ones) for (const other of others) refusePair(union, [one, other], { alternatives, rules });
  }
}

function refusePair(
  { keyword, at }: Union,
  [one, other]: readonly [JsonObject, JsonObject],
  { alternatives, rules }: { readonly alternatives: Alternatives; readonly rules: StrictRules },
): void {
  if (!rules.sameFirstField && alternatives.beginAlike(one, other))
    refuseStrict(at, keyword, 'Two of its alternatives begin with the same field. Put a field first that tells them apart.');
  if (alternatives.areDisjoint(one, other)) return;
  if (keyword === 'oneOf') refuseStrict(at, keyword, `Its alternatives may overlap. ${tell}, or make it an anyOf.`);
  if (rules.absent === 'null' && (isConfused(one, other, alternatives) || isConfused(other, one, alternatives)))
    refuseStrict(at, keyword, `With null for what is left out, its alternatives could not be told apart. ${tell}.`);
}

/** Whether what is written in the form of one, nulls and all, has just the fields that the other wants or lets in. */
function isConfused(one: JsonObject, other: JsonObject, alternatives: Alternatives): boolean {
  const [names, others] = [new Set(fieldNames(one)), new Set(fieldNames(other))];
  const isApart = others.size > 0 && ([...names].some((name) => !others.has(name)) || requiredOf(other).some((name) => !names.has(name)));
  return !isApart && alternatives.hasOptionalFields(one);
}
