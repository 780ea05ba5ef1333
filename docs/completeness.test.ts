// The guides name everything that is public.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as context from '@guardloop/context';
import type {
  CallStatus,
  ErrorClass,
  GuardFailure,
  LimitName,
  LogEvent,
  ResumeOptions,
  RunOptions,
  RunStatus,
  WatchEvent,
} from '@guardloop/core';
import * as core from '@guardloop/core';
import * as report from '@guardloop/core/report';
import * as durable from '@guardloop/durable';
import * as durableConformance from '@guardloop/durable/conformance';
import * as dbos from '@guardloop/durable/dbos';
import * as restate from '@guardloop/durable/restate';
import * as evals from '@guardloop/evals';
import * as guardrails from '@guardloop/guardrails';
import * as mcp from '@guardloop/mcp';
import * as otel from '@guardloop/otel';
import * as reasoning from '@guardloop/reasoning';
import * as server from '@guardloop/server';
import * as store from '@guardloop/store';
import * as storeConformance from '@guardloop/store/conformance';
import * as storeKit from '@guardloop/store/kit';
import * as storePostgres from '@guardloop/store-postgres';
import * as storeRedis from '@guardloop/store-redis';
import * as storeSqlite from '@guardloop/store-sqlite';
import * as testing from '@guardloop/testing';
import * as conformance from '@guardloop/testing/conformance';
import { describe, expect, test } from 'vitest';
import { linksOf } from './markdown.js';
import { markdownFiles, readPage, root } from './pages.js';

const guides = markdownFiles()
  .filter((path) => /^docs\/[^/]+\.md$/.test(path))
  .map(readPage)
  .join('\n');
const named = (names: object): readonly string[] => Object.keys(names);
const missing = (names: readonly string[], text: string): readonly string[] =>
  names.filter((name) => !new RegExp(`\\b${name.replaceAll('.', '\\.')}\\b`).test(text));

describe('the guides', () => {
  test.each(
    Object.entries({
      context,
      core,
      durable,
      durableConformance,
      dbos,
      restate,
      evals,
      guardrails,
      mcp,
      otel,
      report,
      reasoning,
      server,
      store,
      storeConformance,
      storeKit,
      storePostgres,
      storeRedis,
      storeSqlite,
      testing,
      conformance,
    }),
  )('name every function of %s', (_name, module) => {
    expect(missing(named(module), guides)).toEqual([]);
  });

  test('name every option of a run in the list of start.md', () => {
    const options = {
      concurrency: true,
      history: true,
      accept: true,
      approvals: true,
      standing: true,
      decisions: true,
      input: true,
      guardrails: true,
      limits: true,
      model: true,
      settings: true,
      observers: true,
      onLimit: true,
      project: true,
      quarantine: true,
      reasoning: true,
      release: true,
      runId: true,
      session: true,
      signal: true,
      strict: true,
      unfinished: true,
      view: true,
      clock: true,
    } satisfies Record<keyof RunOptions | keyof ResumeOptions, true>;
    const start = readPage('docs/start.md');
    const lists = start.slice(start.indexOf('## Options of a run'));
    expect(named(options).filter((name) => !lists.includes(`\`${name}\``))).toEqual([]);
  });

  test('guardrails.md says how a guardrail can fail', () => {
    const failures = { threw: true, late: true, misfit: true, unasked: true } satisfies Record<GuardFailure, true>;
    const page = readPage('docs/guardrails.md');
    expect(named(failures).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  test('errors.md has a row for every code, outcome, status, class and limit', () => {
    const statuses = { completed: true, interrupted: true, blocked: true, exhausted: true, cancelled: true, failed: true } satisfies Record<
      RunStatus,
      true
    >;
    const calls = { ok: true, error: true, denied: true, rejected: true, aborted: true, unknown: true } satisfies Record<CallStatus, true>;
    const classes = {
      invalid_input: true,
      unknown_tool: true,
      denied: true,
      rejected: true,
      timeout: true,
      aborted: true,
      rate_limited: true,
      not_found: true,
      unavailable: true,
      bad_result: true,
      failed: true,
    } satisfies Record<ErrorClass, true>;
    const limits = {
      turns: true,
      toolCalls: true,
      tokens: true,
      cost: true,
      ms: true,
      handoffs: true,
      repairs: true,
      repeats: true,
    } satisfies Record<LimitName, true>;
    const rows = readPage('docs/errors.md')
      .split('\n')
      .flatMap((line) => /^\| (`[^|]+) \|/.exec(line)?.[1] ?? [])
      .join('\n');
    for (const names of [core.errorCodes, statuses, calls, classes, limits]) expect(missing(named(names), rows)).toEqual([]);
  });

  test('README.md lists every example', () => {
    const examples = readdirSync(join(root, 'examples'), { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && existsSync(join(root, 'examples', entry.name, 'main.ts')),
    );
    const links = linksOf(readPage('docs/README.md'));
    expect(examples.filter(({ name }) => !links.includes(`../examples/${name}/main.ts`)).map(({ name }) => name)).toEqual([]);
  });

  test('streaming.md names every event', () => {
    const events = {
      'run.start': true,
      'run.resume': true,
      'guard.verdict': true,
      'input.accept': true,
      'model.start': true,
      'model.end': true,
      'approval.request': true,
      'approval.resolve': true,
      'tool.start': true,
      'tool.end': true,
      handoff: true,
      'handoff.refused': true,
      'monitor.alert': true,
      'run.end': true,
      'turn.start': true,
      'text.delta': true,
      'text.retract': true,
      'reasoning.delta': true,
      'tool.delta': true,
      'tool.progress': true,
      'model.retry': true,
      'guard.breaker': true,
      'model.warning': true,
      'run.wait': true,
      'observer.error': true,
    } satisfies Record<(LogEvent | WatchEvent)['type'], true>;
    expect(missing(named(events), readPage('docs/streaming.md'))).toEqual([]);
  });
});
