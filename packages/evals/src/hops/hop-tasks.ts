import type { EvalTask } from '../task.js';

const discovery = (name: string) => ({ tool: 'find_discovery', input: { discovery: name } });
const person = (personId: string) => ({ tool: 'get_person', input: { personId } });
const city = (cityId: string) => ({ tool: 'get_city', input: { cityId } });
const country = (name: string) => ({ tool: 'get_country', input: { country: name } });
const weather = (name: string) => ({ tool: 'get_weather', input: { city: name } });

/** Five tasks of several hops over the tools of `hopTools`, each with the calls that it takes. */
export const hopTasks: readonly EvalTask[] = [
  {
    id: 'four-hops',
    input: 'What is the weather in the birthplace of the discoverer of radium?',
    calls: [discovery('radium'), person('p1'), city('c1'), weather('Warsaw')],
    answer: { contains: ['4 °C'], lacks: ['fair'] },
    evidence: [{ tool: 'get_weather', contains: 'Warsaw' }],
    innocent: true,
    tags: ['hops'],
  },
  {
    id: 'null-identifier',
    input: 'What is the population of the birthplace of the discoverer of oxygen?',
    calls: [discovery('oxygen'), person('p2'), { tool: 'search_archive' }, city('c2')],
    answer: { contains: ['16298'] },
    evidence: ['search_archive', { tool: 'get_city', contains: 'Birstall' }],
    innocent: true,
    tags: ['hops', 'null'],
  },
  {
    id: 'failing-service',
    input: 'What is the weather in the birthplace of the discoverer of penicillin?',
    calls: [discovery('penicillin'), person('p3'), city('c3'), weather('Darvel'), weather('Darvel')],
    answer: { contains: ['9 °C'] },
    evidence: [{ tool: 'get_weather', contains: '9 °C' }],
    innocent: true,
    tags: ['hops', 'failure'],
  },
  {
    id: 'long-chain',
    input: 'What is the currency of the country of the birthplace of the discoverer of polonium?',
    calls: [discovery('polonium'), person('p1'), city('c1'), country('Poland')],
    answer: { contains: ['złoty'] },
    evidence: [{ tool: 'get_country', contains: 'Poland' }],
    innocent: true,
    tags: ['hops'],
  },
  {
    id: 'unknown-name',
    input: 'What is the capital of the country of the birthplace of the discoverer of x-rays?',
    calls: [discovery('x-rays'), { tool: 'search_archive' }, person('p4'), city('c4'), country('Germany')],
    answer: { contains: ['Berlin'] },
    evidence: [{ tool: 'get_country', contains: 'Germany' }],
    innocent: true,
    tags: ['hops', 'failure', 'distractor'],
  },
];
