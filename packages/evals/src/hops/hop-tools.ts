import type { Tool } from '@guardloop/core';
import { defineTool, toolError } from '@guardloop/core';
import { z } from 'zod';

interface Person {
  readonly name: string;
  /** Null: the register does not know it. */
  readonly birthplaceId: string | null;
}

const discoveries: { readonly [name: string]: { readonly year: number; readonly discoverer: string; readonly discovererId: string } } = {
  radium: { year: 1898, discoverer: 'Marie Curie', discovererId: 'p1' },
  polonium: { year: 1898, discoverer: 'Marie Curie', discovererId: 'p1' },
  oxygen: { year: 1774, discoverer: 'Joseph Priestley', discovererId: 'p2' },
  penicillin: { year: 1928, discoverer: 'Alexander Fleming', discovererId: 'p3' },
};
const people: { readonly [id: string]: Person } = {
  p1: { name: 'Marie Curie', birthplaceId: 'c1' },
  p2: { name: 'Joseph Priestley', birthplaceId: null },
  p3: { name: 'Alexander Fleming', birthplaceId: 'c3' },
  p4: { name: 'Wilhelm Röntgen', birthplaceId: 'c4' },
};
const cities: { readonly [id: string]: { readonly city: string; readonly country: string; readonly population: number } } = {
  c1: { city: 'Warsaw', country: 'Poland', population: 1_863_000 },
  c2: { city: 'Birstall', country: 'United Kingdom', population: 16_298 },
  c3: { city: 'Darvel', country: 'United Kingdom', population: 3_400 },
  c4: { city: 'Lennep', country: 'Germany', population: 26_000 },
  c5: { city: 'Leeds', country: 'United Kingdom', population: 812_000 },
};
const countries: { readonly [name: string]: { readonly capital: string; readonly currency: string } } = {
  Poland: { capital: 'Warsaw', currency: 'złoty' },
  'United Kingdom': { capital: 'London', currency: 'pound sterling' },
  Germany: { capital: 'Berlin', currency: 'euro' },
};
const weather: { readonly [city: string]: string } = {
  Warsaw: '4 °C, rain',
  Darvel: '9 °C, wind',
  Birstall: '7 °C, fog',
  Lennep: '2 °C, snow',
};

/** Notes of the archive. Some are of others who are called nearly the same. */
const notes = [
  { about: 'Joseph Priestley the younger', birthplace: 'Leeds', birthplaceId: 'c5' },
  { about: 'Joseph Priestley', birthplace: 'Birstall', birthplaceId: 'c2' },
  { about: 'x-rays in the cinema', discoverer: 'Ray Milland', discovererId: 'p9' },
  { about: 'x-rays', discoverer: 'Wilhelm Röntgen', discovererId: 'p4' },
] as const;

const found = <T>(entry: T | undefined, what: string): T => {
  if (entry === undefined) throw toolError(`There is no ${what} of that name or id. The archive may have it.`, { errorClass: 'not_found' });
  return entry;
};
const reads = { effect: 'read', results: 'trusted' } as const;

/**
 * Tools over a small register of discoveries: a birthplace that it does not know, a name under which it knows nothing, a service that fails the
 * first time it is asked about Darvel, and tools that lead nowhere. Made anew for each run, since the failure is counted.
 */
export function hopTools(): readonly Tool<unknown, string, unknown, never>[] {
  let failures = 0;
  return [
    defineTool({
      name: 'find_discovery',
      description: 'Finds a discovery: its discoverer and year.',
      input: z.object({ discovery: z.string() }),
      flow: reads,
      execute: ({ discovery }) => ({ discovery, ...found(discoveries[discovery.toLowerCase()], 'discovery') }),
    }),
    defineTool({
      name: 'get_person',
      description: 'Gets a person: name and birthplace.',
      input: z.object({ personId: z.string() }),
      flow: reads,
      execute: ({ personId }) => ({ personId, ...found(people[personId], 'person') }),
    }),
    defineTool({
      name: 'get_city',
      description: 'Gets a city: its name, country and population.',
      input: z.object({ cityId: z.string() }),
      flow: reads,
      execute: ({ cityId }) => ({ cityId, ...found(cities[cityId], 'city'), streets: streetsOf(cityId) }),
    }),
    defineTool({
      name: 'get_country',
      description: 'Gets a country: its capital and currency.',
      input: z.object({ country: z.string() }),
      flow: reads,
      execute: ({ country }) => ({ country, ...found(countries[country], 'country') }),
    }),
    defineTool({
      name: 'get_weather',
      description: 'Gets the weather in a city now.',
      input: z.object({ city: z.string() }),
      flow: reads,
      execute: ({ city }) => {
        if (city === 'Darvel' && failures === 0) {
          failures += 1;
          throw toolError('The station did not answer.', { errorClass: 'unavailable', retryable: true });
        }
        return { city, weather: found(weather[city], 'city') };
      },
    }),
    defineTool({
      name: 'search_archive',
      description: 'Searches all notes of the archive, for what the register does not know.',
      input: z.object({ words: z.string() }),
      flow: reads,
      execute: ({ words }) => {
        const wanted = words.toLowerCase().split(' ');
        return { notes: notes.filter((note) => wanted.every((word) => JSON.stringify(note).toLowerCase().includes(word))) };
      },
    }),
    defineTool({
      name: 'old_weather',
      description: 'Gets the weather in a city as an almanac of the year 1901 has it, which is not how it is now.',
      input: z.object({ city: z.string() }),
      flow: reads,
      execute: ({ city }) => ({ city, weather: 'fair' }),
    }),
    defineTool({
      name: 'list_discoveries',
      description: 'Lists the names of everything that was discovered in one century.',
      input: z.object({ century: z.number().int() }),
      flow: reads,
      execute: ({ century }) =>
        Object.entries(discoveries).flatMap(([name, { year }]) => (Math.ceil(year / 100) === century ? [name] : [])),
    }),
  ];
}

/** A long part of a result, which nothing needs. */
const streetsOf = (cityId: string): readonly string[] =>
  cityId === 'c4' ? Array.from({ length: 120 }, (_, index) => `Street ${index + 1}`) : ['Main Street'];
