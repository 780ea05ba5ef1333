// Writes what happened in a scene as a page that can be sent to whoever asks.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '@guardloop/core';
import { guardReport, reportHtml } from '@guardloop/core/report';
import { auditLog } from '@guardloop/testing';

export interface Story {
  readonly title: string;
  readonly about: string;
  readonly log: Log;
}

/** One page a story, in the folder given, which is made if it is not there. Gives their paths. */
export async function writeReports(folder: string, stories: readonly Story[]): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  return Promise.all(
    stories.map(async ({ title, about, log }, index) => {
      const path = join(folder, `${index + 1}-${nameOf(title)}.html`);
      await writeFile(path, reportHtml(guardReport(log, { findings: auditLog(log) }), { title, about }));
      return path;
    }),
  );
}

const nameOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/’/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
