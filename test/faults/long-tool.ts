// A tool that takes longer than the lease, while another worker looks for what is free.
import type { Field, StoreKind } from './field.js';
import { openField } from './field.js';
import { readLedger } from './ledger.js';
import type { Row } from './report.js';
import { strikeWorkers } from './struck-run.js';
import { openTrial } from './trial.js';
import type { Ending } from './verdict.js';
import { judge } from './verdict.js';

/** A machine that stands still for as long as a lease loses it rightly: then a longer one is tried. */
const leases = [1_000, 3_000, 9_000];
const leasesOfTool = 4.5;

export async function longTool(store: StoreKind): Promise<readonly Row[]> {
  const field = await openField(store);
  try {
    const undisturbed = await strikeWorkers({ field, name: 'undisturbed', strikes: [] });
    const failures: string[] = [];
    const lost: number[] = [];
    let leaseMs = 0;
    for (leaseMs of leases) {
      const { flaws, entries } = await tryLease(field, { leaseMs, undisturbed });
      failures.push(...flaws);
      // Once for its approval.
      if (entries === 1) break;
      lost.push(leaseMs);
    }
    if (lost.length === leases.length) failures.push('a living worker lost the run in its tool with every lease');
    const note = `a tool of ${leaseMs * leasesOfTool} ms under a lease of ${leaseMs} ms, two workers${lost.length > 0 ? `; the machine was too slow for ${lost.join(', ')} ms` : ''}`;
    return [{ fault: 'tool longer than the lease', where: `${store}, worker`, tried: 1, failures, note }];
  } finally {
    await field.close();
  }
}

async function tryLease(
  field: Field,
  { leaseMs, undisturbed }: { readonly leaseMs: number; readonly undisturbed: Ending },
): Promise<{ readonly flaws: readonly string[]; readonly entries: number }> {
  const trial = await openTrial(field, `long-${leaseMs}`);
  try {
    const chargeMs = leaseMs * leasesOfTool;
    const workers = [trial.startWorker({ leaseMs, chargeMs }), trial.startWorker({ leaseMs, chargeMs })];
    await trial.untilEnd();
    const ending = await trial.ending(0);
    const charged = readLedger(trial.files.ledger).filter(({ tool }) => tool === 'charge');
    const hasCharged = workers.some(({ pid }) => pid === charged[0]?.pid);
    const entries = ending.events.filter(({ type }) => type === 'run.resume').length;
    return { flaws: [...judge(ending, undisturbed), ...(hasCharged ? [] : ['nobody has charged'])], entries };
  } finally {
    await trial.close();
  }
}
