// A tool that takes longer than the lease, while another worker looks for what is free.
import type { StoreKind } from './field.js';
import { openField } from './field.js';
import { readLedger } from './ledger.js';
import type { Row } from './report.js';
import { strikeWorkers } from './struck-run.js';
import { openTrial } from './trial.js';
import { judge } from './verdict.js';

const leaseMs = 1_000;
const chargeMs = 4_500;

export async function longTool(store: StoreKind): Promise<readonly Row[]> {
  const field = await openField(store);
  try {
    const undisturbed = await strikeWorkers({ field, name: 'undisturbed', strikes: [] });
    const trial = await openTrial(field, 'long');
    try {
      const workers = [trial.startWorker({ leaseMs, chargeMs }), trial.startWorker({ leaseMs, chargeMs })];
      await trial.untilEnd();
      const ending = await trial.ending(0);
      const failures = [...judge(ending, undisturbed)];
      const resumes = ending.events.filter(({ type }) => type === 'run.resume').length;
      if (resumes > 1) failures.push(`the run was entered ${resumes} times again, not once for its approval`);
      const charged = readLedger(trial.files.ledger).filter(({ tool }) => tool === 'charge');
      if (!workers.some(({ pid }) => pid === charged[0]?.pid)) failures.push('nobody has charged');
      const note = `a tool of ${chargeMs} ms under a lease of ${leaseMs} ms, two workers`;
      return [{ fault: 'tool longer than the lease', where: `${store}, worker`, tried: 1, failures, note }];
    } finally {
      await trial.close();
    }
  } finally {
    await field.close();
  }
}
