// An approval over three processes and one SQLite file: the first starts a run and is killed, the second lists and decides what it asks over
// HTTP, the third takes it to its end. No key, no network beyond this machine.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sqliteStore } from '@guardloop/store-sqlite';
import { auditLog } from '@guardloop/testing';

const children: ChildProcess[] = [];
const folder = mkdtempSync(join(tmpdir(), 'guardloop-approval-'));
const begin = (program: URL, ...parameters: readonly string[]): ChildProcess & { readonly line: Promise<string> } => {
  const child = spawn(process.execPath, [fileURLToPath(program), folder, ...parameters], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const lines = createInterface({ input: child.stdout });
  return Object.assign(child, { line: once(lines, 'line').then(([line]) => String(line)) });
};

try {
  // 1. It starts a run, which comes to wait for a person. Then the process is gone.
  const first = begin(new URL('./first-worker.js', import.meta.url));
  const [status, run = ''] = (await first.line).split(' ');
  if (first.signalCode === null) await once(first, 'exit');
  console.log(`first process: ${status}, then ${first.signalCode}`);
  assert.deepEqual([status, first.signalCode], ['interrupted', 'SIGKILL']);

  // 2. A person looks and decides over HTTP, at a process that has never seen the agent.
  const desk = begin(new URL('./front-desk.js', import.meta.url));
  const address = await desk.line;
  const as = async (token: string, path: string, body?: object): Promise<{ readonly status: number; readonly body: Answer }> => {
    const response = await fetch(`${address}${path}`, {
      headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Answer };
  };
  const { body: list } = await as('token-of-sue', '/approvals?scope=tenant&state=open');
  const [asked] = list.items ?? [];
  assert(asked !== undefined);
  console.log(`sue is asked: ${asked.approval.tool} ${JSON.stringify(asked.approval.input)}`);
  assert.deepEqual(asked.approval.input, { orderId: 'o1', cents: 12_000 });

  const decision = `/approvals/${encodeURIComponent(asked.id)}/decision`;
  const yes = { decision: 'approve', digest: asked.approval.digest };
  const attempts = {
    'who asked for it': await as('token-of-anna', decision, yes),
    'a stranger': await as('token-of-mallory', decision, yes),
    'an altered question': await as('token-of-sue', decision, { ...yes, digest: '0'.repeat(64) }),
    'another name in the body': await as('token-of-sue', decision, { ...yes, by: 'anna' }),
    sue: await as('token-of-sue', decision, yes),
    'sue, once more otherwise': await as('token-of-sue', decision, { ...yes, decision: { reject: 'After all, no.' } }),
  };
  for (const [who, answer] of Object.entries(attempts)) console.log(`${who}: ${answer.status}`);
  assert.deepEqual(
    Object.values(attempts).map((answer) => answer.status),
    [403, 404, 422, 400, 200, 409],
  );

  // 3. Another worker finds the decision, and finishes.
  const second = begin(new URL('./second-worker.js', import.meta.url), run);
  const answer = await second.line;
  console.log(`third process: ${answer}`);
  assert.equal(answer, 'Your refund is on its way.');
  await once(second, 'exit');

  // What the person who asked sees of it; and in the ledger the refund stands once.
  assert.deepEqual((await as('token-of-anna', `/runs/${run}/result`)).body, { status: 'completed', text: answer });
  const ledger = readFileSync(join(folder, 'ledger.txt'), 'utf8').trim().split('\n');
  assert.equal(ledger.length, 1);
  desk.kill();
  await once(desk, 'exit');

  const store = sqliteStore({ file: join(folder, 'guardloop.db') });
  const [session] = (await store.sessions.list()).items;
  const events = await store.load(session?.id ?? '');
  assert.equal(events.find((event) => event.type === 'approval.resolve')?.decidedBy, 'sue');
  assert.deepEqual(auditLog({ version: 1, events }), []);
  await store.close();
} finally {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true });
}

interface Answer {
  readonly items?: readonly {
    readonly id: string;
    readonly approval: { readonly tool: string; readonly input: unknown; readonly digest: string };
  }[];
}
