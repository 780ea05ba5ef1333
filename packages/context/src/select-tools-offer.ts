import type { ToolSpec } from '@guardloop/core/model';
import { isSearch } from './search-tools.js';

/** The tools that an agent offers, divided. One and the same for lists that offer the same. */
export interface Offer {
  /** As they were offered first. */
  readonly tools: readonly ToolSpec[];
  /** Names of those that are always shown, in the agent's order. */
  readonly fixed: readonly string[];
  /** Those that are chosen from. */
  readonly candidates: readonly ToolSpec[];
  readonly hasSearch: boolean;
}

/** Offers that are kept: of agents, and of what their `enabled` leaves, lately asked for. */
const maxOffers = 16;

/** Knows offers again, so that what is made of one is made once. */
export class Offers {
  private readonly byList = new WeakMap<readonly ToolSpec[], Offer>();
  private readonly latest: Offer[] = [];

  constructor(private readonly always: ReadonlySet<string>) {}

  of(tools: readonly ToolSpec[]): Offer {
    let offer = this.byList.get(tools);
    if (offer === undefined) {
      offer = this.latest.find((each) => isSameList(each.tools, tools)) ?? this.divide(tools);
      this.byList.set(tools, offer);
    }
    if (this.latest[0] !== offer) {
      const at = this.latest.indexOf(offer);
      if (at !== -1) this.latest.splice(at, 1);
      this.latest.unshift(offer);
      if (this.latest.length > maxOffers) this.latest.pop();
    }
    return offer;
  }

  private divide(tools: readonly ToolSpec[]): Offer {
    const isFixed = (tool: ToolSpec): boolean => tool.kind !== undefined || this.always.has(tool.name) || isSearch(tool);
    return {
      tools: [...tools],
      fixed: tools.filter(isFixed).map(({ name }) => name),
      candidates: tools.filter((tool) => !isFixed(tool)),
      hasSearch: tools.some(isSearch),
    };
  }
}

const isSameList = (left: readonly ToolSpec[], right: readonly ToolSpec[]): boolean =>
  left.length === right.length && left.every((tool, index) => isSame(tool, right[index]));

/** Whether two tools are the same for those who look for one. */
function isSame(left: ToolSpec, right: ToolSpec | undefined): boolean {
  if (left === right) return true;
  if (right === undefined || left.name !== right.name || left.description !== right.description || left.kind !== right.kind) return false;
  return left.schema === right.schema || argumentsOf(left) === argumentsOf(right);
}

const argumentsOf = ({ schema: { properties } }: ToolSpec): string => Object.keys(properties ?? {}).join('\n');
