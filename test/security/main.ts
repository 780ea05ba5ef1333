// npm run bench:security -- --data DIR: what the guardrails find, stop and cost, on public data that is no part of the project.
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { measureDecisions } from './decision-speed.js';
import { measureAnswerGuardrails } from './guardrail-speed.js';
import { measureInjecAgent } from './injecagent.js';
import { measureInjection, measureTextGuardrails } from './injection-texts.js';
import { measurePii } from './pii.js';
import { measureProvenance } from './provenance.js';
import { measureSecrets } from './secrets.js';
import type { Section } from './section.js';
import { printSection } from './section.js';

const { values } = parseArgs({ options: { data: { type: 'string' }, only: { type: 'string', multiple: true } } });
const sections: Readonly<Record<string, (data: string) => Promise<Section>>> = {
  provenance: measureProvenance,
  injecagent: measureInjecAgent,
  decisions: measureDecisions,
  secrets: measureSecrets,
  pii: measurePii,
  injection: measureInjection,
  text: measureTextGuardrails,
  answers: measureAnswerGuardrails,
};
const names = values.only ?? Object.keys(sections);

if (values.data === undefined || !existsSync(values.data)) {
  process.stderr.write(
    `Give the folder of the public data: npm run bench:security -- --data DIR. What it holds, and where each set comes from, stands in docs/security.md.\n`,
  );
  process.exitCode = 1;
} else {
  for (const name of names) {
    const measure = sections[name];
    if (measure === undefined) {
      process.stderr.write(`There is no section ${name}. The sections are ${Object.keys(sections).join(', ')}.\n`);
      process.exitCode = 1;
      break;
    }
    process.stdout.write(`${printSection(await measure(values.data))}\n`);
  }
}
