import { shortHash } from '@guardloop/core/model';

const legal = /^[a-zA-Z0-9_-]+$/;
/** Every name with a hash ends so, and no other does. */
const hashed = /_x[01][0-9a-z]{6}[01][0-9a-z]{6}$/;
const longest = 64;
const longestStem = longest - '_x'.length - 14;

/**
 * The name under which a tool of a server stands with an agent, in policies, approvals and logs: `files__read_file`. Depends on the two names
 * alone, not on other tools or on the order in which servers are connected; fits `^[a-zA-Z0-9_-]{1,64}$`. Where the two names cannot simply be
 * joined (other characters, too long, or not told apart any more), it keeps what it can and ends in a hash of both.
 */
export function mcpToolName(server: string, tool: string): string {
  const joined = `${server}__${tool}`;
  // The first `__` is then the joint: no other pair of names gives this one.
  const isPlain = legal.test(server) && legal.test(tool) && !server.includes('__') && !server.endsWith('_') && !tool.startsWith('_');
  if (isPlain && joined.length <= longest && !hashed.test(joined)) return joined;
  return `${joined.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, longestStem)}_x${shortHash(JSON.stringify([server, tool]))}`;
}
