// Tells in the terminal what happens in a run. Everything it knows, it has from the run's events.
import type { Approval, ErrorClass, GuardVerdictEvent, HandoffEvent, Manifest, ModelEndEvent, Part, RunEvent } from '@guardloop/core';
import type { Screen } from './screen.js';

const signs = { allow: '✓', rewrite: '✎', ask: '?', deny: '✗', halt: '■' } as const;
const colours = { allow: 'green', rewrite: 'yellow', ask: 'yellow', deny: 'red', halt: 'red' } as const;
const deeds = { rewrite: 'rewrote it', ask: 'asks a person', deny: 'refused it', halt: 'stopped the run' } as const;

export class Narrator {
  /** What the customer was shown. */
  shown = '';
  /** Verdicts whose content has not crossed yet: they are told with it. */
  private waiting: GuardVerdictEvent[] = [];
  /** Subjects that a person has approved. */
  private readonly approved = new Set<string>();
  private manifest: Manifest | undefined;
  private said = '';

  constructor(
    private readonly screen: Screen,
    private readonly options: { readonly showSwap?: boolean | undefined } = {},
  ) {}

  /** The customer's own words; `isEchoed` when they stand on the screen already. */
  hear(text: string, { isEchoed = false }: { readonly isEchoed?: boolean | undefined } = {}): void {
    this.said = text;
    if (!isEchoed) this.screen.line({ who: 'customer', colour: 'cyan', text });
  }

  /** The log was stored, as so many characters of JSON. */
  store(chars: number): void {
    this.note(`the run is ${chars} characters of JSON now; any process can go on from it`);
  }

  /** Called for every event, in order. */
  see(event: RunEvent): void {
    switch (event.type) {
      case 'run.start':
      case 'run.resume':
        this.manifest = event.manifest;
        return;
      case 'guard.verdict':
        this.waiting.push(event);
        return;
      case 'input.accept': {
        this.tellVerdicts();
        const text = event.items.map((item) => ('parts' in item ? textOf(item.parts) : item.text)).join('\n');
        if (text !== this.said) this.screen.line({ who: 'model sees', colour: 'yellow', text });
        return;
      }
      case 'text.delta':
        this.tellVerdicts();
        this.shown += event.text;
        this.screen.flow(event.agent, 'magenta', event.text);
        return;
      case 'text.retract':
        this.note(`takes back what was shown: ${event.reason}`);
        return;
      case 'model.end':
        this.tellAnswer(event);
        return;
      case 'tool.end':
        this.tellVerdicts();
        this.tellEnd(event);
        return;
      case 'handoff':
        this.tellHandoff(event);
        return;
      case 'approval.request':
        this.tellVerdicts();
        this.tellRequest(event.approval);
        return;
      case 'approval.resolve':
        if (event.decision === 'approve') this.approved.add(event.subject);
        this.screen.line({ who: 'person', colour: 'cyan', text: event.reason ? `${event.decision}: ${event.reason}` : event.decision });
        return;
      case 'run.end':
        this.tellVerdicts();
        return;
      default:
        return;
    }
  }

  private note(text: string): void {
    this.screen.line({ who: '', colour: 'dim', text, textColour: 'dim' });
  }

  private tellAnswer(event: ModelEndEvent): void {
    for (const { kind, end, name, input } of event.calls) {
      if (kind === 'handoff') continue;
      this.screen.line({
        who: event.agent,
        colour: 'magenta',
        text: `calls ${name}${end === undefined ? ` ${readable(JSON.stringify(input))}` : ''}`,
      });
    }
    this.tellVerdicts();
    if (event.status === 'aborted') this.note('the model had been started beside the check: it was aborted, its answer dropped');
  }

  private tellEnd({
    status,
    content,
  }: {
    readonly status: string;
    readonly content: string | readonly Part[];
    readonly errorClass?: ErrorClass | undefined;
  }): void {
    const isOk = status === 'ok';
    this.screen.line({ who: isOk ? 'result' : status, colour: isOk ? 'dim' : 'red', text: readable(textOf(content)), textColour: 'dim' });
  }

  private tellRequest(approval: Approval): void {
    const what = approval.surface === 'output' ? 'an answer' : `${approval.tool} ${readable(JSON.stringify(approval.input))}`;
    this.screen.line({ who: 'waits', colour: 'yellow', text: `${what} has not run: a person decides` });
  }

  private tellHandoff(event: HandoffEvent): void {
    this.screen.line({ who: event.from, colour: 'magenta', text: `hands over to ${event.to}` });
    if (this.options.showSwap) {
      this.screen.line({ who: 'leave', colour: 'red', text: `- ${namesIn(this.manifest?.agent)}`, textColour: 'red' });
      this.screen.line({ who: 'come', colour: 'green', text: `+ ${namesIn(event.manifest.agent)}`, textColour: 'green' });
      this.screen.line({ who: 'stay', colour: 'dim', text: `= ${namesIn(event.manifest.run)}` });
    }
    this.manifest = event.manifest;
    this.tellVerdicts(` (what ${event.to} will see)`);
  }

  /** By surface: first who rewrote, then who allowed, on one line, then who refused. */
  private tellVerdicts(about = ''): void {
    const verdicts = this.waiting;
    this.waiting = [];
    for (const surface of new Set(verdicts.map((verdict) => verdict.surface))) {
      const here = verdicts.filter((verdict) => verdict.surface === surface);
      const stricter = here.filter(({ action }) => action !== 'allow');
      const allowing = new Set(
        here.map(({ guardrail }) => guardrail).filter((name) => stricter.every(({ guardrail }) => guardrail !== name)),
      );
      for (const verdict of stricter) if (verdict.action === 'rewrite') this.tellVerdict(verdict);
      if (allowing.size > 0)
        this.screen.line({ who: surface, colour: 'dim', text: `${signs.allow} ${[...allowing].join(', ')}${about}`, textColour: 'dim' });
      for (const verdict of stricter) if (verdict.action !== 'rewrite') this.tellVerdict(verdict);
    }
  }

  private tellVerdict({ guardrail, surface, subject, action, reason = '', failed }: GuardVerdictEvent): void {
    if (action === 'allow') return;
    const line = { who: surface, colour: colours[action], textColour: colours[action] };
    if (action === 'ask' && this.approved.has(subject)) {
      this.screen.line({ ...line, text: `${signs.ask} ${guardrail} asks again, and the approval answers` });
    } else
      this.screen.line({ ...line, text: `${signs[action]} ${guardrail} ${failed ? 'failed, which ' : ''}${deeds[action]}: ${reason}` });
  }
}

const textOf = (content: string | readonly Part[]): string =>
  typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join(' ');

const namesIn = (entries: Manifest['agent'] = []): string =>
  entries.length === 0 ? 'none' : entries.map(({ name, surfaces }) => `${name} (${surfaces.join(', ')})`).join(', ');

/** JSON for people: an object's fields, of an error its summary. */
function readable(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return text;
    if ('error_class' in value && 'summary' in value) return String(value.summary);
    return `{ ${Object.entries(value)
      .map(([name, each]) => `${name}: ${typeof each === 'string' ? each : JSON.stringify(each)}`)
      .join(', ')} }`;
  } catch {
    return text;
  }
}
