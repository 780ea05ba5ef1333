// `npm run bench [section …]`: what Guardloop costs, beside the same loop written by hand in the same process.
import { cpus, loadavg } from 'node:os';
import { inFreshProcess } from './fresh-process.js';
import type { Row } from './row.js';
import { cellsOf, headings } from './row.js';
import { measureBigResult } from './sections/big-result.js';
import { measureHttp } from './sections/http.js';
import { loadOnce, measureLoad } from './sections/load.js';
import { measureRules } from './sections/rules.js';
import { measureStart } from './sections/start.js';
import { measureStreaming } from './sections/streaming.js';
import { measureTurns } from './sections/turns.js';
import { measureViews } from './sections/views.js';
import { measureWaiting } from './sections/waiting.js';

const sections: Readonly<Record<string, () => Promise<readonly Row[]>>> = {
  turns: measureTurns,
  http: measureHttp,
  streaming: measureStreaming,
  load: measureLoad,
  waiting: measureWaiting,
  'big-result': measureBigResult,
  start: measureStart,
  rules: measureRules,
  views: measureViews,
};

/** What is measured in a process of its own; its value is sent to the parent. */
const parts: Readonly<Record<string, () => Promise<unknown>>> = {
  ...sections,
  'load-ours': () => loadOnce('ours'),
  'load-by-hand': () => loadOnce('by-hand'),
};

function printTable(rows: readonly (readonly string[])[]): void {
  const widths = headings.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) => (column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  ');
  for (const cells of rows) process.stdout.write(`${line(cells).trimEnd()}\n`);
}

async function printAll(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !(name in sections));
  if (unknown.length > 0) {
    process.stderr.write(`Unknown section ${unknown.join(', ')}. There are: ${Object.keys(sections).join(', ')}.\n`);
    return 2;
  }
  process.stdout.write(
    `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, load ${loadavg()[0]?.toFixed(1)} before the start.\n` +
      'CPU times count all threads; medians of interleaved rounds.\n\n',
  );
  const rows: Row[] = [];
  for (const name of names.length > 0 ? names : Object.keys(sections)) {
    process.stderr.write(`${name} …\n`);
    rows.push(...(await inFreshProcess<readonly Row[]>(name)));
  }
  printTable([headings, ...rows.map(cellsOf)]);
  return 0;
}

const [first, second] = process.argv.slice(2);
if (first === '--part') {
  const part = parts[second ?? ''];
  if (part === undefined) throw new Error(`There is no part ${second}.`);
  const value = await part();
  process.send?.(value, () => process.exit());
} else process.exitCode = await printAll(process.argv.slice(2));
