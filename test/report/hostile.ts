// Logs in which every word tries to get out of its place.
import type { Log } from '@guardloop/core';

/** Stands in every hostile word. */
export const marker = 'HOSTILE';

export const pieces: readonly string[] = [
  `<img src=x onerror=window.${marker}=1>`,
  `</script><script>window.${marker}=1</script>`,
  `"><svg onload="window.${marker}=1">`,
  `' onmouseover='window.${marker}=1`,
  `</code></li></ol></style></title><iframe src="javascript:window.${marker}=1">`,
  `javascript:window.${marker}=1`,
  `](javascript:${marker}) ![${marker}](http://${marker}.example/pixel.png)`,
  `<http://${marker}.example> www.${marker}.example`,
  `\u202e${marker}\u2066\u200f`,
  `\n\`\`\`\n# ${marker}\n`,
  `\`\`${marker}\``,
  `\r~~~\r${marker}`,
  `<!--${marker}`,
  `]]>${marker}<![CDATA[`,
  `&lt;${marker}&#60;`,
  `\u0000${marker}\ud800\u{e0041}\u200b\ufeff`,
  `| ${marker} | *${marker}* _${marker}_ [${marker}]: http://x`,
  `{{${marker}}} \${${marker}} <%= ${marker} %>`,
  '__proto__',
  '\\',
];

/** Names of fields that say what an event or a part is; a log without them is none. */
const kept: ReadonlySet<string> = new Set(['type', 'role']);

/** The log with a word before each of its strings, tool names and ids among them: what belonged together still does. */
export function poison(log: Log, word: string): Log {
  const walk = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') return kept.has(key) ? value : word + value;
    if (Array.isArray(value)) return value.map((each) => walk(each, key));
    if (typeof value !== 'object' || value === null) return value;
    const isMap = key === 'tools' || key === 'byModel' || key === 'input';
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [isMap ? word + name : name, walk(each, name)]));
  };
  return walk(log, '') as Log;
}
