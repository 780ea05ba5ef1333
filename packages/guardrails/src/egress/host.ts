import ipaddr from 'ipaddr.js';

/** Names that lead into the machine or the network that runs the agent (RFC 6761, RFC 8375, RFC 6762, ICANN's `internal`). */
const privateNames = ['localhost', 'local', 'internal', 'intranet', 'lan', 'home.arpa', 'corp', 'home', 'localdomain'];
/** Azure's WireServer, which answers from a public address: https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16. */
const privateAddresses: ReadonlySet<string> = new Set(['168.63.129.16']);

/** Whether a host, as a {@link Target} has it, is an address and no name. */
export function isAddress(host: string): boolean {
  return host.startsWith('[') || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(host);
}

/** Whether a host leads to no public place: loopback, private and link-local ranges, metadata services, reserved ranges, names such as `localhost`. */
export function isPrivateHost(host: string): boolean {
  if (!isAddress(host)) return privateNames.some((name) => host === name || host.endsWith(`.${name}`));
  const plain = host.replace(/^\[|\]$/g, '');
  if (!ipaddr.isValid(plain)) return true;
  const address = ipaddr.process(plain);
  return address.range() !== 'unicast' || privateAddresses.has(address.toString());
}
