// A process that is struck: `node child.js CONFIG.json`. Says `ready` on stdout once it works.
import { readFileSync } from 'node:fs';
import type { Decisions, SessionReference } from '@guardloop/core';
import { resume, run } from '@guardloop/core';
import { durable, durableAgent } from '@guardloop/durable';
import type { Store } from '@guardloop/store';
import type { ChildConfig } from './child-config.js';
import { machineClock } from './machine-clock.js';
import { openEngine, openStore } from './open-store.js';
import { openPlaces, withPlaces } from './places.js';
import type { Scene } from './scene.js';
import { makeScene, sceneInput } from './scene.js';

const config = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as ChildConfig;
const { does } = config;
const places = openPlaces(config.files.places, config.strike);
const now = machineClock(config.clockFile, does.kind === 'worker' ? does.aheadMs : 0);
const store = withPlaces(await openStore(config.store, now), places);
const scene = makeScene(config.files, places, config.chargeMs);

if (does.kind === 'plain') {
  await takeOn(store, scene, does);
  await places.settled();
  await store.close();
} else {
  const engine = await openEngine(does.engine);
  const desk = durableAgent(scene.start, { options: { guardrails: scene.guardrails } });
  const runs = durable({ store, engine, agents: { desk }, upkeepMs: 200, retry: { firstMs: 100 }, onError: complain });
  await runs.worker({ name: does.name, leaseMs: does.leaseMs });
  process.stdout.write('ready\n');
}

/** The session's run, from where it stands until it ends or asks. */
async function takeOn(
  place: Store,
  { start, guardrails }: Scene,
  { run: id, decisions }: { readonly run: string; readonly decisions: object },
): Promise<void> {
  const session: SessionReference = { store: place, id };
  const events = await place.load(id);
  process.stdout.write('ready\n');
  if (events.length === 0) await run(start, sceneInput, { session, runId: id, guardrails });
  else await resume(start, session, { guardrails, input: sceneInput, decisions: decisions as Decisions });
}

function complain(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : typeof error}\n`);
}
