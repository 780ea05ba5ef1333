/**
 * The page's one script: filters, search, keyboard, theme. It moves, hides and counts what stands in the page and never makes markup. Its
 * hash stands in the page's policy, so it holds nothing of a report.
 */
export const pageScript = `
(() => {
  'use strict';
  const find = (selector, within = document) => [...within.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;
  const entries = find('.entry');
  const cardOf = (entry) => entry.lastElementChild;
  const texts = new Map();
  const textOf = (entry) => {
    let text = texts.get(entry);
    if (text === undefined) {
      text = entry.textContent.toLowerCase();
      texts.set(entry, text);
    }
    return text;
  };

  const theme = byId('theme');
  const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches);
  const nameTheme = () => {
    theme.textContent = isDark() ? 'Light' : 'Dark';
    theme.setAttribute('aria-label', isDark() ? 'Switch to light colours' : 'Switch to dark colours');
  };
  theme.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    nameTheme();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', nameTheme);
  nameTheme();

  const form = byId('filters');
  const search = byId('find');
  const selects = find('select', form);
  const status = byId('count');
  let current;
  const shown = () => entries.filter((entry) => !entry.hidden);
  const setCurrent = (entry) => {
    if (current) cardOf(current).tabIndex = -1;
    current = entry;
    if (current) cardOf(current).tabIndex = 0;
  };
  const apply = () => {
    const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const wanted = selects.filter((select) => select.value !== '').map((select) => [select.dataset.field, select.value]);
    for (const entry of entries) {
      const fits = wanted.every(([field, value]) => (' ' + (entry.dataset[field] ?? '') + ' ').includes(' ' + value + ' '));
      entry.hidden = !(fits && words.every((word) => textOf(entry).includes(word)));
    }
    const isFiltered = words.length + wanted.length > 0;
    for (const gap of find('.gap')) gap.hidden = isFiltered;
    for (const run of find('.run').reverse()) run.hidden = isFiltered && !run.querySelector('.entry:not([hidden])');
    const left = shown();
    status.textContent = isFiltered
      ? 'Showing ' + left.length + ' of ' + entries.length + ' entries.' + (left.length === 0 ? ' Nothing fits; reset the filters to see all.' : '')
      : 'Showing all ' + entries.length + ' entries.';
    if (!current || current.hidden) setCurrent(left[0]);
  };
  let timer;
  search.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(apply, 120);
  });
  form.addEventListener('change', apply);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    apply();
  });
  form.addEventListener('reset', () => setTimeout(apply, 0));
  const show = (entry) => {
    if (entry.hidden) {
      form.reset();
      for (const field of [search, ...selects]) field.value = '';
      apply();
    }
    setCurrent(entry);
    cardOf(entry).focus({ preventScroll: true });
    entry.scrollIntoView({ block: 'nearest' });
  };
  const step = (by) => {
    const left = shown();
    if (left.length === 0) return;
    const at = left.indexOf(document.activeElement?.closest('.entry') ?? null);
    show(left[at < 0 ? (by > 0 ? Math.max(0, left.indexOf(current)) : left.length - 1) : Math.min(left.length - 1, Math.max(0, at + by))]);
  };
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a[href^="#e"]') : null;
    const entry = link && byId(link.getAttribute('href').slice(1))?.closest('.entry');
    if (!entry) return;
    event.preventDefault();
    show(entry);
    entry.scrollIntoView({ block: 'start' });
  });

  const help = byId('help');
  const letters = byId('letters');
  byId('help-button').addEventListener('click', () => help.showModal());
  byId('help-close').addEventListener('click', () => help.close());
  const isTyping = (target) => target instanceof Element && target.closest('input, select, textarea') !== null;
  const toggle = (entry) => {
    const details = find('details', entry);
    const isOpen = details.every((each) => each.open);
    for (const each of details) each.open = !isOpen;
  };
  const keys = {
    j: () => step(1),
    k: () => step(-1),
    '/': () => {
      search.scrollIntoView({ block: 'nearest' });
      search.focus();
      search.select();
    },
    '?': () => help.showModal(),
  };
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const onEntry = event.target instanceof Element && event.target.matches('.entry > article');
    if (event.key === 'Escape' && event.target === search) {
      search.value = '';
      apply();
      return;
    }
    let act;
    if (onEntry && event.key === 'ArrowDown') act = keys.j;
    else if (onEntry && event.key === 'ArrowUp') act = keys.k;
    else if (onEntry && event.key === 'Home') act = () => shown()[0] && show(shown()[0]);
    else if (onEntry && event.key === 'End') act = () => shown().at(-1) && show(shown().at(-1));
    else if (onEntry && event.key === 'Enter') act = () => toggle(event.target);
    else if (letters.checked && !isTyping(event.target) && Object.hasOwn(keys, event.key)) act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  document.addEventListener('focusin', (event) => {
    const entry = event.target instanceof Element ? event.target.closest('.entry') : null;
    if (entry && entry !== current) setCurrent(entry);
  });

  let opened = [];
  addEventListener('beforeprint', () => {
    opened = find('details:not([open])');
    for (const each of opened) each.open = true;
  });
  addEventListener('afterprint', () => {
    for (const each of opened) each.open = false;
  });

  for (const part of find('.scripted')) part.hidden = false;
  apply();
  const target = location.hash.startsWith('#e') ? byId(location.hash.slice(1))?.closest('.entry') : null;
  if (target) setCurrent(target);
})();
`;

/** sha256 of the script, base64, for the page's policy. */
export const pageScriptHash = 'lwU+G8hVL1rxR1K65AFxf4YWOhQetKpjwiUyzLkdAHc=';
