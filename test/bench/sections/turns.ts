import { interleave, median } from '../measure.js';
import type { Row } from '../row.js';
import { atMost, ratioAtMost } from '../row.js';
import { byHand, callingModel, runOf } from '../world.js';

const turns = 10;

/** CPU of a turn in this process, and how it grows with the transcript. */
export async function measureTurns(): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const { calls, most } of [
    { calls: 1, most: 20 },
    { calls: 8, most: 60 },
  ]) {
    const model = callingModel({ turns, calls });
    const found = await interleave({ ours: runOf(model), unguarded: runOf(model, []), byHand: byHand(model) }, { warmMs: 2_000 });
    const hand = found.byHand / (turns + 1);
    const name = `CPU a turn, ${calls === 1 ? '1 call' : `${calls} parallel calls`}`;
    rows.push(
      { what: `${name}, five surfaces guarded`, unit: 'µs', ours: found.ours / (turns + 1), byHand: hand, target: atMost(most) },
      { what: `${name}, no guardrail`, unit: 'µs', ours: found.unguarded / (turns + 1), byHand: hand },
    );
  }
  rows.push(await measureGrowth());
  return rows;
}

async function measureGrowth(): Promise<Row> {
  const starts: number[] = [];
  const model = callingModel({ turns: 1_060, calls: 1 });
  const watched = {
    ...model,
    stream: (...request: Parameters<typeof model.stream>) => {
      starts.push(performance.now());
      return model.stream(...request);
    },
  };
  const runOnce = runOf(watched);
  const microsAt = (turn: number): number =>
    1_000 * median(Array.from({ length: 100 }, (_, index) => (starts[turn - 49 + index] ?? 0) - (starts[turn - 50 + index] ?? 0)));
  const early: number[] = [];
  const late: number[] = [];
  for (let round = 0; round < 8; round += 1) {
    starts.length = 0;
    globalThis.gc?.();
    await runOnce();
    if (round === 0) continue;
    early.push(microsAt(100));
    late.push(microsAt(1_000));
  }
  return {
    what: 'wall of a turn at turn 1,000 (by hand: at turn 100)',
    unit: 'µs',
    ours: median(late),
    byHand: median(early),
    target: ratioAtMost(1.3),
  };
}
