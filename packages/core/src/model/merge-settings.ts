import type { ModelSettings } from './types.js';

/** The request's settings over an adapter's defaults. What the request leaves open is taken from the defaults; `0` and `false` are not open. */
export function mergeSettings(defaults: ModelSettings | undefined, settings: ModelSettings): ModelSettings {
  if (defaults === undefined) return settings;
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
  const merged: ModelSettings = { ...defaults, ...given };
  const headers = both(defaults.headers, settings.headers);
  const metadata = both(defaults.metadata, settings.metadata);
  const extra = both(defaults.extra, settings.extra, (one, other) => ({ ...one, ...other }));
  return {
    ...merged,
    ...(headers === undefined ? {} : { headers }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(extra === undefined ? {} : { extra }),
  };
}

type Fields<V> = { readonly [name: string]: V };

/** The fields of both, where both are given: of those with one name the later, or what `merge` makes of the two. */
function both<V>(
  one: Fields<V> | undefined,
  other: Fields<V> | undefined,
  merge: (one: V, other: V) => V = (_, later) => later,
): Fields<V> | undefined {
  if (one === undefined || other === undefined) return undefined;
  const met = Object.entries(other).map(([name, value]) => {
    const earlier = Object.hasOwn(one, name) ? one[name] : undefined;
    return [name, earlier === undefined ? value : merge(earlier, value)] as const;
  });
  return { ...one, ...Object.fromEntries(met) };
}
