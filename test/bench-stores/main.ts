// `npm run bench:stores [store …]`: what the stores cost, on this machine, with commits that wait for the disk.
import { cpus, loadavg } from 'node:os';
import { measureClaims, measureMessages, measureSteps, measureTails, measureWaiting } from './measures.js';
import { openers } from './stores.js';

const show = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 3));

async function measure(name: string): Promise<void> {
  const open = openers[name];
  if (open === undefined) throw new Error(`There is no store ${name}. There are: ${Object.keys(openers).join(', ')}.`);
  const measured = await open();
  try {
    const found = {
      ...(await measureSteps(measured, 60)),
      ...(await measureMessages(measured, 6)),
      ...(await measureTails(measured)),
      ...(await measureWaiting(measured, 500)),
      ...(await measureClaims(measured, 300)),
    };
    process.stdout.write(`\n${name}\n`);
    for (const [what, value] of Object.entries(found)) process.stdout.write(`  ${what.padEnd(18)}${show(value).padStart(10)}\n`);
  } finally {
    await measured.close();
  }
}

process.stdout.write(
  `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, load ${loadavg()[0]?.toFixed(1)} before the start.\nMilliseconds, and bytes.\n`,
);
const names = process.argv.slice(2);
for (const name of names.length > 0 ? names : Object.keys(openers)) await measure(name);
