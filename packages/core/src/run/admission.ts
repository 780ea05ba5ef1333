import type { Breaker } from '../define/breaker.js';
import type { GuardrailSpec } from '../define/specs.js';
import type { RunHandle } from './handle.js';

/** One ask that a guardrail's breaker has let through. Its outcome is told once. */
export class Admission {
  private isOver = false;
  constructor(
    private readonly handle: RunHandle,
    private readonly guardrail: string,
    private readonly asked: { readonly breaker: Breaker; readonly era: number },
  ) {}

  settle(isFailed: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    const { breaker, era } = this.asked;
    const before = breaker.state;
    breaker.settle(era, isFailed, this.handle.root.clock.now());
    if (breaker.state !== before) tell(this.handle, this.guardrail, breaker);
  }

  /** The ask was given up: that says nothing about the guardrail. */
  release(): void {
    this.isOver = true;
    this.asked.breaker.release(this.asked.era);
  }
}

/** Undefined: the breaker is open, and the ask counts as failed. */
export function admit(handle: RunHandle, { name }: GuardrailSpec, breaker: Breaker): Admission | undefined {
  const before = breaker.state;
  const era = breaker.enter(handle.root.clock.now());
  if (breaker.state !== before) tell(handle, name, breaker);
  return era === undefined ? undefined : new Admission(handle, name, { breaker, era });
}

function tell(handle: RunHandle, guardrail: string, { state }: Breaker): void {
  handle.tell({ type: 'guard.breaker', guardrail, state });
}
