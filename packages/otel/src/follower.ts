import type { RunEvent } from '@guardloop/core';
import type { Tracer } from '@opentelemetry/api';
import { metrics, trace } from '@opentelemetry/api';
import { Calls } from './calls.js';
import { Contents } from './contents.js';
import type { Means } from './means.js';
import { Metrics } from './metrics.js';
import { ModelCalls } from './model-calls.js';
import type { Settings } from './options.js';
import { People } from './people.js';
import { ProviderNames } from './provider-names.js';
import { Runs } from './runs.js';
import { safely } from './safely.js';
import type { Place } from './track.js';
import { Verdicts } from './verdicts.js';

/** Pieces of what is told whole later, or is nothing of the run's. */
const unfollowed: ReadonlySet<RunEvent['type']> = new Set<RunEvent['type']>([
  'turn.start',
  'text.delta',
  'reasoning.delta',
  'tool.delta',
  'observer.error',
]);

const scope = '@guardloop/otel';
const version = '0.1.0';

/** Makes spans and metrics of events, in the order in which they are told. Nothing here throws. */
export class Follower {
  readonly models: ModelCalls;
  readonly calls: Calls;
  private readonly runs: Runs;
  private readonly people: People;
  private readonly verdicts: Verdicts;

  constructor(settings: Settings) {
    let tracer: Tracer | undefined;
    let meters: Metrics | undefined;
    const means: Means = {
      settings,
      contents: settings.contents && new Contents(settings.contents),
      providers: new ProviderNames(settings),
      get tracer() {
        tracer ??= safely('getting a tracer', () => (settings.tracerProvider ?? trace).getTracer(scope, version));
        return tracer;
      },
      get metrics() {
        meters ??= safely('getting a meter', () => new Metrics((settings.meterProvider ?? metrics).getMeter(scope, version)));
        return meters;
      },
    };
    this.people = new People(means);
    this.runs = new Runs(means, (run) => this.people.hasAsked(run));
    this.models = new ModelCalls(means);
    this.calls = new Calls(means, this.runs);
    this.verdicts = new Verdicts(means);
  }

  tell(event: RunEvent, place: Place): void {
    if (unfollowed.has(event.type)) return;
    safely('following a run', () => this.follow(event, place));
  }

  /** Ends what is open of runs that no more will be heard of. */
  leaveAll(): void {
    safely('leaving runs', () => this.runs.leaveAll());
  }

  private follow(event: RunEvent, place: Place): void {
    const { runs } = this;
    if (event.type === 'run.start' || event.type === 'run.resume') {
      runs.enter(event, place);
      return;
    }
    const track = runs.trackOf(event, place);
    if (track === undefined) return;
    switch (event.type) {
      case 'input.accept':
        runs.takeInput(track, event);
        break;
      case 'guard.verdict':
        this.verdicts.give(track, event);
        break;
      case 'model.start':
        this.models.begin(track, event);
        break;
      case 'model.end':
        this.models.end(track, event);
        break;
      case 'approval.request':
        this.people.ask(track, event);
        break;
      case 'approval.resolve':
        this.people.answer(track, event);
        break;
      case 'tool.start':
        this.calls.begin(track, event);
        break;
      case 'tool.end':
        this.calls.end(track, event);
        break;
      case 'handoff':
      case 'handoff.refused':
        runs.handOff(track, event);
        break;
      case 'run.end':
        runs.end(track, event);
        return;
      case 'run.wait':
        runs.wait(track);
        return;
      default:
        this.notice(track, event);
    }
    runs.touch(track, 'seq' in event ? event.at : track.lastAt);
  }

  /** What is no step of a run. */
  private notice(track: Parameters<Runs['touch']>[0], event: RunEvent): void {
    switch (event.type) {
      case 'model.retry':
      case 'model.warning':
      case 'text.retract':
        this.models.notice(track, event);
        return;
      case 'tool.progress':
        this.calls.progress(track, event);
        return;
      case 'guard.breaker':
        this.verdicts.notice(track, event);
        return;
      case 'monitor.alert':
        this.runs.alert(track, event);
        return;
      default:
    }
  }
}
