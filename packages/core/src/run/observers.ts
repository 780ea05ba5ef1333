import { EventEmitter } from 'eventemitter3';
import { safeCause } from '../errors.js';
import type { ObserverErrorEvent, RunEvent } from '../state/events.js';
import { isPromise } from './is-promise.js';
import type { Observer } from './types.js';

type Listener = (event: RunEvent) => unknown;

/** Tells observers of every event. What they throw, or how long they take, changes nothing. */
export class Observers {
  private readonly emitter = new EventEmitter<string>();

  constructor(
    observers: readonly Observer[],
    private readonly onError: (event: ObserverErrorEvent) => void,
  ) {
    for (const observer of observers) {
      if (typeof observer === 'function') this.emitter.on('*', this.contain(observer as Listener));
      else
        for (const [type, listener] of Object.entries(observer))
          if (typeof listener === 'function') this.emitter.on(type, this.contain(listener as Listener));
    }
  }

  tell(event: RunEvent): void {
    this.emitter.emit('*', event);
    this.emitter.emit(event.type, event);
  }

  private contain(listener: Listener): (event: RunEvent) => void {
    const fail = (event: RunEvent, thrown: unknown): void => {
      // An observer that fails over its own failure is left alone.
      if (event.type === 'observer.error') return;
      const { at, run, agent } = event;
      this.onError(Object.freeze({ type: 'observer.error', at, run, agent, event: event.type, cause: safeCause(thrown) }));
    };
    return (event) => {
      try {
        const given = listener(event);
        if (isPromise(given)) given.then(undefined, (thrown) => fail(event, thrown));
      } catch (thrown) {
        fail(event, thrown);
      }
    };
  }
}
