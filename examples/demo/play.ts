// Plays all scenes, one after another, and sums up.
import assert from 'node:assert/strict';
import type { Log, Model, RunResult } from '@guardloop/core';
import { auditLog } from '@guardloop/testing';
import { converse } from './converse.js';
import { Narrator } from './narrator.js';
import type { Outcome, Scene } from './scenes.js';
import { scenes } from './scenes.js';
import type { Screen } from './screen.js';
import { euros, openShop } from './shop.js';

export interface Play {
  readonly model: Model;
  readonly isGuarded: boolean;
  /** Hold the scenes to what must come of them: true for the embedded model, which always does the same. */
  readonly isStrict: boolean;
}

export async function play(screen: Screen, { model, isGuarded, isStrict }: Play): Promise<void> {
  const shop = openShop();
  const told: { readonly scene: Scene; readonly outcome: Outcome }[] = [];
  for (const [index, scene] of scenes.entries()) {
    screen.title(`${index + 1}. ${scene.title}`);
    screen.plain(isGuarded ? scene.about : `With guardrails: ${scene.about}`, 'dim');
    const narrator = new Narrator(screen, { showSwap: scene.showSwap });
    const before = shop.refunds.length;
    const result = await converse(scene.says, {
      model,
      shop,
      isGuarded,
      narrator,
      decide: async (approval) => scene.decide?.(approval) ?? { reject: 'nobody is there to decide' },
    });
    screen.line({ who: '', colour: 'dim', text: endOf(result), textColour: 'dim' });
    const outcome: Outcome = { result, shown: narrator.shown, refunds: shop.refunds.slice(before) };
    told.push({ scene, outcome });
    if (isGuarded && isStrict) scene.expect(outcome);
    if (!isGuarded && isStrict && index > 0)
      assert.notEqual(scene.harm(outcome), undefined, `Scene ${index + 1} did no harm without guardrails.`);
  }
  screen.title(isGuarded ? 'What the guardrails did' : 'What happened without guardrails');
  for (const [index, { scene, outcome }] of told.entries()) {
    const harm = scene.harm(outcome);
    const isBad = !isGuarded && harm !== undefined;
    screen.line({
      who: `${index + 1}`,
      colour: 'bold',
      text: isBad ? `✗ ${harm}` : `✓ ${scene.title}: ${deedsOf(outcome.result)}`,
      textColour: isBad ? 'red' : 'green',
    });
  }
  const paid = shop.refunds.map(({ orderId, cents }) => `${euros(cents)} for ${orderId}`).join(', ');
  screen.line({ who: 'paid out', colour: 'bold', text: paid === '' ? 'nothing' : paid });
  tellAudit(
    screen,
    told.map(({ outcome }) => outcome.result.log),
  );
}

function tellAudit(screen: Screen, logs: readonly Log[]): void {
  const findings = logs.flatMap((log) => auditLog(log));
  const events = logs.flatMap((log) => log.events);
  const verdicts = events.filter(({ type }) => type === 'guard.verdict').length;
  screen.line({
    who: 'auditLog',
    colour: 'bold',
    text:
      findings.length > 0
        ? findings.join('\n')
        : `[] (no breach in ${logs.length} logs: ${events.length} events, ${verdicts} answers of guardrails)`,
  });
  assert.deepEqual(findings, []);
}

/** How a run ended, in words. */
export function endOf(result: RunResult): string {
  switch (result.status) {
    case 'completed':
      return `completed by ${result.agent}`;
    case 'blocked':
      return `blocked on ${result.surface} by ${result.by}: ${result.reason}`;
    case 'interrupted':
      return `waits for ${result.approvals.length} decision${result.approvals.length === 1 ? '' : 's'}`;
    case 'exhausted':
      return `stopped at the limit of ${result.limit}`;
    case 'failed':
      return `failed: ${result.error.message}`;
    case 'cancelled':
      return 'cancelled';
    default:
      return result satisfies never;
  }
}

const deeds = { rewrite: 'rewrote', ask: 'asked a person on', deny: 'refused', halt: 'stopped the run on' } as const;

/** Who did more than allow, where. */
function deedsOf({ events }: RunResult): string {
  const surfaces = new Map<string, Set<string>>();
  for (const event of events) {
    if (event.type !== 'guard.verdict' || event.action === 'allow') continue;
    const deed = `${event.guardrail} ${deeds[event.action]}`;
    surfaces.set(deed, (surfaces.get(deed) ?? new Set()).add(event.surface));
  }
  const people = events.flatMap((event) => (event.type === 'approval.resolve' ? [`a person said ${event.decision}`] : []));
  const done = [...[...surfaces].map(([deed, where]) => `${deed} ${[...where].join(' and ')}`), ...people];
  const asked = events.filter(({ type }) => type === 'guard.verdict').length;
  if (done.length > 0) return done.join(', ');
  return asked > 0 ? `all ${asked} answers allowed it` : 'no guardrail was there';
}
