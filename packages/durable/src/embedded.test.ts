import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore } from '@guardloop/store';
import { sqliteStore } from '@guardloop/store-sqlite';
import { durableConformance } from './conformance.js';
import { embeddedEngine } from './embedded.js';

durableConformance('embedded, memory', () => {
  const store = memoryStore();
  return { openStore: () => store, openEngine: () => embeddedEngine({ pollMs: 50 }) };
});

durableConformance('embedded, SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'guardloop-durable-'));
  return {
    openStore: () => sqliteStore({ file: join(folder, 'runs.db'), pollMs: 20 }),
    openEngine: () => embeddedEngine({ pollMs: 50 }),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
});
