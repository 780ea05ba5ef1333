import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** The values of a file of JSON lines, gzipped or not; undefined where there is no such file. */
export function readLines<T>(path: string): readonly T[] | undefined {
  if (!existsSync(path)) return undefined;
  const bytes = readFileSync(path);
  const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as T);
}

/** The names of the suites in a folder that holds `<name>.suite.jsonl.gz` and `<name>.traces.jsonl.gz`. */
export function suitesIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((file) => /^(.+)\.suite\.jsonl(?:\.gz)?$/.exec(file)?.[1] ?? [])
    .sort()
    .filter((name) => existsSync(join(folder, `${name}.traces.jsonl.gz`)) || existsSync(join(folder, `${name}.traces.jsonl`)));
}
