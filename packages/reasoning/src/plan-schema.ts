import { z } from 'zod';

/** One step of a plan. */
export interface PlanStep {
  /** Unique in its plan. */
  readonly id: string;
  /** What is to be done, in words that are understood without the task. */
  readonly goal: string;
  /** Ids of earlier steps whose results it is given. */
  readonly needs: readonly string[];
}
/** Steps in the order in which they are done. */
export interface Plan {
  readonly steps: readonly PlanStep[];
}

const step = z.object({
  id: z.string().min(1).max(40).describe('A short name of this step, unique in the plan.'),
  goal: z
    .string()
    .min(1)
    .max(2_000)
    .describe('What is to be done. Whoever does it sees this and the results of the steps it needs, nothing else.'),
  needs: z.array(z.string()).max(50).describe('Ids of the steps before this one whose results it needs; empty for none.'),
});

/** The `output` of a planner: 1 to 50 steps, each with an id of its own, in an order in which none needs one after it. */
export const planSchema: z.ZodType<Plan> = z
  .object({ steps: z.array(step).min(1).max(50).describe('In the order in which they are to be done.') })
  .superRefine(({ steps }, { addIssue }) => {
    for (const [index, { id, needs }] of steps.entries()) {
      const path = ['steps', index];
      if (steps.findIndex((each) => each.id === id) !== index)
        addIssue({ code: 'custom', path: [...path, 'id'], message: 'expected an id that no step before has' });
      const isLater = needs.some((need) => steps.findIndex((each) => each.id === need) >= index);
      if (isLater) addIssue({ code: 'custom', path: [...path, 'needs'], message: 'expected only steps before this one' });
    }
  });
