import type { JsonObject } from '@guardloop/core/model';
import { classOf, readValue } from './director.js';
import type { PlanStep } from './plan-schema.js';
import { planSchema } from './plan-schema.js';

/** The calls of which the carrying out of a plan consists. */
export const planCalls = { plan: 'make_plan', step: 'do_step', answer: 'write_answer' } as const;
/** The id of the model of an agent that works by plan. */
export const planWay = 'plan-and-execute';

/** A call as it stands; without `text` it has not ended. */
export interface PlanCall {
  readonly tool: string;
  /** The answer that made it: calls of one answer have the same number. */
  readonly answer: number;
  readonly input: JsonObject;
  readonly text?: string | undefined;
  readonly isError: boolean;
}
/** A step of a plan, and what has become of it. */
export interface StepProgress extends PlanStep {
  /** In its plan, from 1. */
  readonly number: number;
  /** `kept`: an earlier plan had done it. `begun`: its call has not ended. */
  status: 'open' | 'begun' | 'done' | 'kept' | 'failed';
  text: string;
  /** Its place among the calls. */
  call?: number | undefined;
}
/** How far the plans of a run have come. */
export interface PlanProgress {
  /** Of each plan, in order; the last holds. */
  readonly plans: readonly (readonly StepProgress[])[];
  /** Of the plan that holds. */
  readonly steps: readonly StepProgress[];
  /** Of all steps that are done, by id. */
  readonly results: ReadonlyMap<string, { readonly goal: string; readonly text: string }>;
  /** How many calls had been made when the last plan was there. */
  readonly plannedAt: number;
  /** Plans asked for. */
  readonly asked: number;
  /** What is wrong with the plan that holds. */
  readonly fault: string | undefined;
  /** Why the last call for a plan gave none. */
  readonly isWithoutPlan: string | undefined;
  /** Places of calls whose step was made another on the way. */
  readonly changed: readonly number[];
}

/** Reads the calls of an agent that works by plan; undefined before the first plan. */
export function readProgress(calls: readonly PlanCall[]): PlanProgress | undefined {
  const reading = new Reading();
  for (const [index, call] of calls.entries()) {
    if (call.tool === planCalls.plan) reading.takePlan(call, index);
    else if (call.tool === planCalls.step) reading.takeStep(call, index);
  }
  return reading.asked === 0 ? undefined : reading;
}

class Reading implements PlanProgress {
  readonly plans: StepProgress[][] = [];
  readonly results = new Map<string, { readonly goal: string; readonly text: string }>();
  readonly changed: number[] = [];
  plannedAt = 0;
  asked = 0;
  fault: string | undefined;
  isWithoutPlan: string | undefined;
  /** Of the answer that is read: steps that were ready and have no call yet. */
  private ready: { readonly answer: number; readonly steps: StepProgress[] } = { answer: 0, steps: [] };

  get steps(): readonly StepProgress[] {
    return this.plans.at(-1) ?? [];
  }

  takePlan({ text = '', isError }: PlanCall, index: number): void {
    this.asked += 1;
    this.plannedAt = index + 1;
    const plan = isError ? undefined : planSchema.safeParse(readValue(text));
    if (!plan?.success) {
      this.isWithoutPlan = isError ? classOf(text) : 'the planner gave none in the form of planSchema';
      return;
    }
    this.isWithoutPlan = undefined;
    const steps = plan.data.steps.map((step, at) => newStep(step, at + 1, this.results.get(step.id)));
    this.fault = faultOf(steps, this.results);
    this.plans.push(steps);
  }

  takeStep(call: PlanCall, index: number): void {
    if (this.ready.answer !== call.answer) this.ready = { answer: call.answer, steps: [...readySteps(this.steps)] };
    // Calls stand in the order of the steps that were ready: a guardrail or a person may have changed what they say.
    const step = this.ready.steps.shift();
    if (step === undefined) return;
    const { id = step.id, goal = step.goal } = call.input;
    if (id !== step.id || goal !== step.goal) this.changed.push(index);
    step.call = index;
    step.status = call.text === undefined ? 'begun' : call.isError ? 'failed' : 'done';
    step.text = call.text ?? '';
    if (step.status === 'done') this.results.set(step.id, { goal: step.goal, text: step.text });
  }
}

function newStep(step: PlanStep, number: number, before: { readonly goal: string; readonly text: string } | undefined): StepProgress {
  const isKept = before?.goal === step.goal;
  return { ...step, number, status: isKept ? 'kept' : 'open', text: isKept ? before.text : '' };
}

function faultOf(steps: readonly StepProgress[], results: PlanProgress['results']): string | undefined {
  const odd = steps.find(({ needs }) => needs.some((need) => !results.has(need) && !steps.some(({ id }) => id === need)));
  return odd && `step ${odd.number} of the plan needs a step that is neither in the plan nor done`;
}

const isDone = ({ status }: StepProgress): boolean => status === 'done' || status === 'kept';

/** Open steps whose needs are done. */
export function readySteps(steps: readonly StepProgress[]): readonly StepProgress[] {
  const waiting = new Set(steps.filter((step) => !isDone(step)).map(({ id }) => id));
  return steps.filter(({ status, needs }) => status === 'open' && !needs.some((need) => waiting.has(need)));
}

/** Why a plan is given up: in words that hold nothing of its own. */
export function failureOf({ steps, fault }: PlanProgress): string {
  const failed = steps.find(({ status }) => status === 'failed');
  return failed ? `step ${failed.number} of ${steps.length} failed (${classOf(failed.text)})` : (fault ?? 'the plan failed');
}
