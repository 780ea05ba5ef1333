import { specBehind } from './definition.js';
import { DefinitionReader, describe, invalid, property } from './definition-reader.js';
import type { MonitorSpec } from './specs.js';
import { spec } from './specs.js';
import type { Monitor, MonitorDef } from './types.js';

/** Defines what watches how a run goes, and may say so between two turns. Throws CONFIG_INVALID. */
export function defineMonitor(def: MonitorDef): Monitor {
  const reader = new DefinitionReader({ place: 'A monitor' }, def, ['name', 'start'] as const);
  const name = reader.name();
  const start = reader.function<MonitorSpec['start']>('start');
  if (start === undefined) invalid(`Monitor ${name} has no \`start\`. Give a function that gives the function which is told each event.`);
  const monitor: MonitorSpec = Object.freeze({ kind: 'monitor', name, start });
  return Object.freeze(Object.defineProperty({ name }, spec, { value: monitor })) as unknown as Monitor;
}

/** The option `monitors` of an agent; undefined for none. */
export function readMonitors(given: readonly unknown[], owner: string): readonly MonitorSpec[] | undefined {
  if (given.length === 0) return undefined;
  const monitors = given.map((each, index) => {
    const found: unknown = property(each, spec);
    if (property(found, 'kind') === 'monitor') return found as MonitorSpec;
    const what = specBehind(each)?.kind;
    return invalid(
      `Entry ${index + 1} in \`monitors\` of ${owner} is ${what === undefined ? describe(each) : `a ${what}`}. Give what defineMonitor made, stuck() for one.`,
    );
  });
  for (const [index, { name }] of monitors.entries())
    if (monitors.findIndex((each) => each.name === name) !== index)
      invalid(`${owner} has two monitors named ${name}. Give one another name.`);
  return Object.freeze(monitors);
}
