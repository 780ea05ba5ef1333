import { fork } from 'node:child_process';

/** What a part of the benchmark sends, measured in a process of its own. Rejects with what that process said if it sends nothing. */
export function inFreshProcess<T>(part: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const child = fork(new URL('main.js', import.meta.url), ['--part', part], {
      execArgv: ['--expose-gc', '--enable-source-maps'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let words = '';
    child.stderr?.on('data', (piece: Buffer) => {
      words += piece.toString();
    });
    child.on('message', (value) => resolve(value as T));
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`Part ${part} ended with code ${code} and no result. ${words}`)));
  });
}
