// Plays all scenes, one after another, and sums up.
import type { Log, Model } from '@guardloop/core';
import { auditLog } from '@guardloop/testing';
import type { Conversation } from './converse.js';
import { converse } from './converse.js';
import { deedsOf, endOf } from './describe-result.js';
import { Narrator } from './narrator.js';
import type { Outcome, Scene } from './scenes.js';
import { scenes } from './scenes.js';
import type { Line, Screen } from './screen.js';
import type { Shop } from './shop.js';
import { euros, openShop } from './shop.js';
import { writeReports } from './write-reports.js';

export interface Play {
  readonly model: Model;
  readonly isGuarded: boolean;
  /** The scenes must come out as they say: so with the embedded model, which always does the same. */
  readonly isStrict: boolean;
  /** The folder for a page on each scene. */
  readonly reports: string;
}

/** Gives the exit code: 1 if a scene went wrong, or the audit found anything. */
export async function play(screen: Screen, { model, isGuarded, isStrict, reports }: Play): Promise<number> {
  const shop = openShop();
  const told: { readonly scene: Scene; readonly outcome: Outcome }[] = [];
  for (const [index, scene] of scenes.entries()) {
    screen.title(`${index + 1}. ${scene.title}`);
    screen.plain(isGuarded ? scene.about : `With guardrails: ${scene.about}`, 'dim');
    const narrator = new Narrator(screen, { showSwap: scene.showSwap });
    const before = shop.refunds.length;
    const decide: Conversation['decide'] = async (approval) => scene.decide?.(approval) ?? { reject: 'nobody is there' };
    const result = await converse(scene.says, { model, shop, isGuarded, narrator, decide });
    screen.line({ who: '', colour: 'dim', text: endOf(result), textColour: 'dim' });
    told.push({ scene, outcome: { result, shown: narrator.shown, refunds: shop.refunds.slice(before) } });
    if (result.status === 'failed') return 1;
  }
  screen.title(isGuarded ? 'What the guardrails did' : 'What happened without guardrails');
  let isAsExpected = true;
  for (const [index, { scene, outcome }] of told.entries()) {
    const { fault, ...line } = isGuarded ? sumUpGuarded(scene, outcome) : sumUpUnguarded(scene, outcome);
    screen.line({ who: `${index + 1}`, colour: 'bold', ...line });
    if (isStrict && fault !== undefined) {
      isAsExpected = false;
      screen.line({ who: 'unexpected', colour: 'red', text: fault, textColour: 'red' });
    }
  }
  screen.line({ who: 'paid out', colour: 'bold', text: paidOut(shop) });
  const findings = tellAudit(
    screen,
    told.map(({ outcome }) => outcome.result.log),
  );
  const stories = told.map(({ scene: { title, about }, outcome }) => ({ title, about, log: outcome.result.log }));
  try {
    const paths = await writeReports(reports, stories);
    screen.line({ who: 'reports', colour: 'bold', text: `${paths.length} pages, one a scene, in ${reports}: open them in a browser` });
  } catch (error) {
    screen.line({ who: 'reports', colour: 'red', text: `not written to ${reports}: ${String(error)}. Give another folder: --reports DIR` });
  }
  return isAsExpected && findings === 0 ? 0 : 1;
}

type Sum = Pick<Line, 'text' | 'textColour'> & { readonly fault?: string | undefined };

function sumUpGuarded({ title, expect }: Scene, outcome: Outcome): Sum {
  try {
    expect(outcome);
    return { text: `✓ ${title}: ${deedsOf(outcome.result)}`, textColour: 'green' };
  } catch (error) {
    return {
      text: `~ ${title}: this time ${deedsOf(outcome.result)}, ${endOf(outcome.result)}`,
      textColour: 'yellow',
      fault: String(error),
    };
  }
}

function sumUpUnguarded({ title, harm }: Scene, outcome: Outcome): Sum {
  const done = harm?.(outcome);
  if (done !== undefined) return { text: `✗ ${done}`, textColour: 'red' };
  return { text: `✓ ${title}`, textColour: 'green', fault: harm && 'nothing bad happened without guardrails' };
}

function paidOut({ refunds }: Shop): string {
  return refunds.length === 0 ? 'nothing' : refunds.map(({ orderId, cents }) => `${euros(cents)} for ${orderId}`).join(', ');
}

/** Gives the number of findings. */
function tellAudit(screen: Screen, logs: readonly Log[]): number {
  const findings = logs.flatMap((log) => auditLog(log));
  const events = logs.flatMap((log) => log.events);
  const verdicts = events.filter(({ type }) => type === 'guard.verdict').length;
  const size = `${logs.length} logs: ${events.length} events, ${verdicts} answers of guardrails`;
  screen.line({ who: 'auditLog', colour: 'bold', text: findings.length === 0 ? `[] (no breach in ${size})` : findings.join('\n') });
  return findings.length;
}
