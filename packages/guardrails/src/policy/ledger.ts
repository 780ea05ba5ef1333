import type { LogEvent, RunCall } from '@guardloop/core';
import type { LimitStore } from './limit-store.js';

const mostRuns = 10_000;

/** The outermost run of a tree: ids of child runs begin with it. */
const rootOf = (run: string): string => run.split('/', 1)[0] ?? run;
const pathOf = (run: string, callId: string): string => `${run}/${callId}`;

/** Which calls of this process hold something in a store, so that what will not run gives it back. */
export class Ledger {
  /** Calls by the outermost run; `isStarted` as far as is known. */
  private readonly held = new Map<string, Map<string, { isStarted: boolean }>>();

  constructor(private readonly store: LimitStore) {}

  /** Gives back what calls of the run held that are not among its calls any more. */
  settle(run: string, callId: string, calls: readonly RunCall[]): void | Promise<void> {
    const held = this.held.get(rootOf(run));
    if (held === undefined || held.size === 0) return;
    const alive = new Set(calls.map((call) => pathOf(call.run, call.callId)));
    const gone = [...held.keys()].filter((path) => path !== pathOf(run, callId) && !alive.has(path));
    return this.releaseAll(held, gone);
  }

  hold(run: string, callId: string): void {
    const root = rootOf(run);
    let held = this.held.get(root);
    if (held === undefined) {
      held = new Map();
      this.held.set(root, held);
      if (this.held.size > mostRuns) this.held.delete(this.held.keys().next().value ?? '');
    }
    held.set(pathOf(run, callId), { isStarted: false });
  }

  /** The call is refused after all. */
  drop(run: string, callId: string): void | Promise<void> {
    const held = this.held.get(rootOf(run));
    if (held?.has(pathOf(run, callId))) return this.releaseAll(held, [pathOf(run, callId)]);
  }

  /** Follows a run's log. */
  take(event: LogEvent): void | Promise<void> {
    const root = rootOf(event.run);
    const held = this.held.get(root);
    if (held === undefined) return;
    switch (event.type) {
      case 'tool.start': {
        const own = held.get(pathOf(event.run, event.callId));
        if (own) own.isStarted = true;
        return;
      }
      case 'tool.end': {
        const path = pathOf(event.run, event.callId);
        const happened = event.copyOf === undefined && (event.status === 'ok' || event.status === 'unknown');
        if (held.get(path)?.isStarted === false && !happened) return this.releaseAll(held, [path]);
        return;
      }
      case 'model.end': {
        // Calls of the answer that were refused, or whose answer was.
        const kept = new Set(event.calls.flatMap(({ id, end }) => (end === undefined ? [pathOf(event.run, id)] : [])));
        const prefix = `${event.run}/${event.turn}.`;
        return this.releaseAll(
          held,
          [...held.keys()].filter((path) => path.startsWith(prefix) && !kept.has(path)),
        );
      }
      case 'run.end':
        if (event.run === root) this.held.delete(root);
        return;
      default:
    }
  }

  private releaseAll(held: Map<string, unknown>, paths: readonly string[]): void | Promise<void> {
    const waiting = paths.flatMap((path) => {
      held.delete(path);
      const given = this.store.release(path);
      return given === undefined ? [] : [given];
    });
    return waiting.length === 0 ? undefined : Promise.all(waiting).then(() => undefined);
  }
}
